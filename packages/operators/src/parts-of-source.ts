import type { PartName } from './part-table.ts';
import { lookUp, partsOf } from './parts-of.ts';
import { SOURCE_NAMES } from './source-part-table.ts';

const ofSource: typeof partsOf = /* @__PURE__ */ lookUp(SOURCE_NAMES);

/**
 * All names in a Python source, for `partsOfSource`. What is taken of a module whose operators have its name before theirs is such an operator:
 * `torch.linalg.inv` is `linalg_inv`.
 */
export function namesInSource(source: string): Set<string> {
  const found = source.matchAll(/\b(?:(linalg|special|fft)\s*\.\s*)?([A-Za-z_]\w*)/g);
  const names = new Set([...found].map(([, module, name]) => (module ? `${module}_${name}` : name)));
  // A subscript of more than numbers may hold a tensor, which no name tells.
  if (/\[[^\]]*[A-Za-z_[]/.test(source)) names.add('index');
  return names;
}

/** As `partsOf`, for a Python source, which also names modules, functions and layers of PyTorch that come to operators. */
export function partsOfSource(identifiers: Iterable<string>): Set<PartName> {
  const names = [...identifiers];
  return new Set([...partsOf(names), ...ofSource(names)]);
}
