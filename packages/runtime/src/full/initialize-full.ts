import { readLegacyModule, setLegacyReader } from '@cresset/archive';
import { packingOf, registerAllOperators } from '@cresset/operators';
import { setObjectPreparation } from '../object-preparation.ts';
import { registerQuantizedClasses } from './quantized-classes.ts';

/** Makes a host of the full edition: all operators, classes of quantised layers, and files of all ages. To be called before it starts. */
export function initializeFullRuntime(): void {
  registerAllOperators();
  setLegacyReader(readLegacyModule);
  registerQuantizedClasses();
  setObjectPreparation(packingOf);
}
