import { useComplexLowering } from '../dispatch/invoke.ts';
import { lowerComplex, takesComplex } from '../families/complex/complex-lowering.ts';

/** Complex numbers on a device. */
export function register(): void {
  useComplexLowering({ takes: takesComplex, lower: lowerComplex });
}
