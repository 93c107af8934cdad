import { registerAllOperators } from '@cresset/operators';
import { register as registerAuthoring } from './parts/authoring.ts';
import { register as registerInspection } from './parts/inspection.ts';
import { register as registerLegacy } from './parts/legacy.ts';
import { register as registerQuantized } from './parts/quantized.ts';
import { register as registerSaving } from './parts/saving.ts';

/** Makes known all that the runtime has in parts, and every operator: for who carries everything at once. */
export function registerAllParts(): void {
  registerAllOperators();
  for (const register of [registerAuthoring, registerInspection, registerLegacy, registerQuantized, registerSaving]) {
    register();
  }
}
