import { packingOf } from '@cresset/operators';
import { register as registerOperators } from '@cresset/operators/parts/quantized';
import { setObjectPreparation } from '../object-preparation.ts';
import { registerQuantizedClasses } from '../quantized/quantized-classes.ts';

/** Quantised tensors, and the classes of layers with packed weights. */
export function register(): void {
  registerOperators();
  registerQuantizedClasses();
  setObjectPreparation(packingOf);
}
