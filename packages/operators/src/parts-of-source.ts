import type { PartName } from './part-table.ts';
import { lookUp, partsOf } from './parts-of.ts';
import { SOURCE_NAMES } from './source-part-table.ts';

const ofSource: typeof partsOf = /* @__PURE__ */ lookUp(SOURCE_NAMES);

/** As `partsOf`, for a Python source, which also names modules, functions and layers of PyTorch that come to operators. */
export function partsOfSource(identifiers: Iterable<string>): Set<PartName> {
  const names = [...identifiers];
  return new Set([...partsOf(names), ...ofSource(names)]);
}
