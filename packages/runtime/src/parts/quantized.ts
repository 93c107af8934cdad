import { extendServices } from '@cresset/ir';
import { packingOf } from '@cresset/operators';
import { register as registerOperators } from '@cresset/operators/parts/quantized';
import { registerQuantizedClasses } from '../quantized/quantized-classes.ts';
import type { RuntimeServices } from '../services.ts';

/** Quantised tensors, and the classes of layers with packed weights. */
export function register(): void {
  registerOperators();
  registerQuantizedClasses();
  extendServices<RuntimeServices>({ preparationOf: packingOf });
}
