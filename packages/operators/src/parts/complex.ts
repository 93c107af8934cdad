import { extendServices } from '@cresset/ir';
import type { DispatchServices } from '../dispatch/invoke.ts';
import { lowerComplex, takesComplex } from '../families/complex/complex-lowering.ts';

/** Complex numbers on a device. */
export function register(): void {
  extendServices<DispatchServices>({ complexLowering: { takes: takesComplex, lower: lowerComplex } });
}
