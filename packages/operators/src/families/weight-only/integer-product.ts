import { symEq, textOf, type Tensor } from '@cresset/tensor';
import { check } from '../../kernels/errors.ts';
import { cppTypeName } from '../../kernels/type-names.ts';
import { kernel } from '../../table/builders.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { lowerProduct } from '../products/product-lowering.ts';
import { productPieces } from '../products/product.ts';

interface IntegerProductArgs {
  readonly self: Tensor;
  readonly mat2: Tensor;
}

function shape({ self, mat2 }: IntegerProductArgs): TensorMeta {
  const name = 'int_mm_out_cpu';
  check(self.dim === 2, () => `${name}: Expected self to be of dimension 2 but got ${self.dim}`);
  check(mat2.dim !== 1, 'Dimension out of range (expected to be in range of [-1, 0], but got 1)');
  check(mat2.dim === 2, () => `${name}: Expected mat2 to be of dimension 2 but got ${mat2.dim}`);
  check(
    symEq(self.symSizes[1], mat2.symSizes[0]),
    () =>
      `${name}: self.size(1) needs to match mat2.size(0) but got ${textOf(self.symSizes[1])} and ${textOf(mat2.symSizes[0])}`,
  );
  check(
    self.dtype === 'int8' || self.dtype === 'uint8',
    () => `${name}: Expected self dtype to be int8 or uint8 but got ${cppTypeName(self.dtype)}`,
  );
  check(
    mat2.dtype === 'int8',
    () => `${name}: Expected mat2 dtype to be of type int8 but got ${cppTypeName(mat2.dtype)}`,
  );
  return { sizes: [self.symSizes[0], mat2.symSizes[1]], dtype: 'int32' };
}

/** Products of bytes, exact sums of 32 bits (ATen/native/LinearAlgebra.cpp, _int_mm_cpu). */
export const integerProductRows: readonly OperatorRow[] = [
  kernel<IntegerProductArgs>('aten::_int_mm(Tensor self, Tensor mat2) -> Tensor', {
    shape,
    host: ({ self, mat2 }, [out]) => productPieces(self, mat2, out),
    lower: ({ self, mat2 }, [out], context) => lowerProduct('aten::_int_mm', { left: self, right: mat2, out }, context),
    out: true,
  }),
];
