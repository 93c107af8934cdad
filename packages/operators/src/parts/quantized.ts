import { extendServices } from '@cresset/ir';
import { quantizedRows } from '../families/quantized/rows.ts';
import type { DispatchServices } from '../dispatch/invoke.ts';
import { runQuantizedForm } from '../families/quantized/forms.ts';
import { registerFamily } from '../table/register.ts';

/** Quantised tensors and layers, and what other operators do with such tensors. */
export function register(): void {
  registerFamily(quantizedRows);
  extendServices<DispatchServices>({ quantizedForm: runQuantizedForm });
}
