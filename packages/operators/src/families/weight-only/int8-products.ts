import { scratch, Tensor } from '@cresset/tensor';
import { cast, TensorView } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { mul } from '../../kernels/expressions.ts';
import { filled, type Pieces } from '../../kernels/loops/pieces.ts';
import { numbersInPieces } from '../../kernels/numbers/numbers.ts';
import { transposeView } from '../../kernels/views.ts';
import { lowerProduct } from '../products/product-lowering.ts';
import { matrices } from '../products/product.ts';
import { checkActivations, checkScaleType, multiplyRows } from './activations.ts';

/** Products with weights of eight bits (ATen/native/LinearAlgebra.cpp, cpu/int8mm_kernel.cpp). */

interface Product {
  /** `[m, k]`. */
  readonly self: Tensor;
  /** `[n, k]`. */
  readonly mat2: Tensor;
  /** `[n]`: what a row of weights is multiplied with. */
  readonly scales: Tensor;
}

function productShape({ self, mat2, scales }: Product): TensorMeta {
  const name = '_weight_int8pack_mm_cpu :';
  checkActivations(name, self, mat2);
  check(self.dim === 2, `${name} expect A to be 2D tensor.`);
  check(self.strides[1] === 1, `${name} A must be contiguous on the last dimension.`);
  check(mat2.dtype === 'int8', `${name} expect B to be int8 tensor.`);
  check(mat2.isContiguous(), `${name} expect B to be contiguous.`);
  const [[rows, inner], [columns]] = [self.sizes, mat2.sizes];
  wrapDimOfRanked(1, mat2.dim);
  check(mat2.sizes[1] === inner, () => `${name} expect B.size(1) == ${inner}`);
  check(
    scales.dim === 1 && scales.sizes[0] === columns,
    () => `${name} expect scales to be 1d tensor with size ${columns}`,
  );
  checkScaleType(self, scales);
  return { sizes: [rows, columns], dtype: self.dtype };
}

/** Rows of weights that are worked out at a time. */
const ROWS = 64;

function* hostProduct({ self, mat2, scales }: Product, [out]: readonly Tensor[]): Pieces {
  const [columns, inner] = [mat2.sizes[0], self.sizes[1]];
  const bytes = mat2.contiguousArray() as Int8Array;
  const factors = yield* numbersInPieces(scales);
  for (let first = 0; first < columns; first += ROWS) {
    const count = Math.min(ROWS, columns - first);
    const weights = scratch(Float32Array, count * inner);
    yield* filled(weights, 2, (at) => bytes[first * inner + at] * factors[first + Math.floor(at / inner)]);
    yield* multiplyRows(self, Tensor.fromArray(weights, [count, inner], 'float32'), out, first);
  }
}

function lower({ self, mat2, scales }: Product, [out]: readonly Tensor[], context: LoweringContext): void {
  const [columns, inner] = [mat2.sizes[0], self.sizes[1]];
  const right = transposeView(mat2.asStrided([columns, inner], [inner, 1]), 0, 1);
  const factors = new TensorView(scales);
  lowerProduct('aten::_weight_int8pack_mm', { left: self, right, out }, context, matrices, (sum, [, n]) =>
    mul(sum, cast('float', factors.at([n]))),
  );
}

export const int8ProductRows: readonly OperatorRow[] = [
  kernel<Product>('aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor', {
    shape: productShape,
    host: hostProduct,
    lower,
  }),
];
