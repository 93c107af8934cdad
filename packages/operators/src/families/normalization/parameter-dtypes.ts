import type { Tensor } from '@cresset/tensor';
import { check } from '../../kernels/errors.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';

/** Throws unless parameters have the input's dtype, or are all float32 beside an input of half precision (ATen: is_mixed_type). */
export function checkParameterDtypes(input: Tensor, parameters: readonly (Tensor | null)[]): void {
  const dtypes = parameters.flatMap((tensor) => (tensor ? [tensor.dtype] : []));
  const own = input.dtype;
  if ((dtypes[0] ?? own) !== own) {
    const mixed = 'mixed dtype (CPU): ';
    check(
      dtypes.every((dtype) => dtype === 'float32'),
      `${mixed}expect parameter to have scalar type of Float`,
    );
    check(own === 'float16' || own === 'bfloat16', `${mixed}all inputs must share same datatype.`);
  } else {
    const other = dtypes.find((dtype) => dtype !== own) ?? own;
    check(other === own, () => `expected scalar type ${dtypeName(own)} but found ${dtypeName(other)}`);
  }
}
