import { namesInSource, partsOfSource } from '@cresset/operators';
import type { ProgramParts } from '../worker/program-parts.ts';

/** Fetches the parts of the library that source text needs, with those of PyTorch's functions and layers that it names. */
export function needForSource(parts: ProgramParts, source: string): Promise<void> {
  return parts.needForCode(source, namesInSource(source), partsOfSource);
}
