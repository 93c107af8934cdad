import { readLegacyModule, setLegacyReader } from '@cresset/archive';
import { registerAllOperators } from '@cresset/operators';
import { registerQuantizedClasses } from './quantized-classes.ts';

/** Makes a host of the full edition: all operators, classes of quantised layers, and files of all ages. To be called before it starts. */
export function initializeFullRuntime(): void {
  registerAllOperators();
  setLegacyReader(readLegacyModule);
  registerQuantizedClasses();
}
