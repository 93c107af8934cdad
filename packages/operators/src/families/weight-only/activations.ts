import type { Tensor } from '@cresset/tensor';
import { wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { narrowView, transposeView } from '../../kernels/views.ts';
import type { Pieces } from '../../kernels/loops/pieces.ts';
import { productPieces } from '../products/product.ts';

/** What products with weights of few bits have in common. */

/** Refuses what PyTorch does not multiply such weights with; dimensions are asked for before anything is looked at. */
export function checkActivations(name: string, self: Tensor, weights: Tensor): void {
  for (const [tensor, dim] of [
    [self, 0],
    [weights, 0],
    [self, 1],
  ] as const)
    wrapDimOfRanked(dim, tensor.dim);
  check(
    ['float32', 'bfloat16', 'float16'].includes(self.dtype),
    `${name} expect A to be either 32-bit or 16-bit float tensor.`,
  );
}

export function checkScaleType({ dtype }: Tensor, scales: Tensor): void {
  check(scales.dtype === dtype, () => `expected scalar type ${dtypeName(dtype)} but found ${dtypeName(scales.dtype)}`);
}

/** Fills columns of `out` (`[m, n]`) from `first` on with products of `self` (`[m, k]`) and rows of weights (`[count, k]`) that were worked out. */
export const multiplyRows = (self: Tensor, weights: Tensor, out: Tensor, first: number): Pieces =>
  productPieces(self, transposeView(weights, 0, 1), narrowView(out, 1, first, weights.sizes[0]));
