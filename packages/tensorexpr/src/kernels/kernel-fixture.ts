import { Tensor } from '@cresset/tensor';
import { accumulator, axis, param } from '../expressions/builders.ts';
import type { AxisExpr } from '../expressions/expr.ts';
import type { Contraction } from './kernel.ts';
import { TensorView } from '../expressions/operand.ts';

/** What tests of kernels have in common. */

export const tensor = (...sizes: number[]): Tensor => Tensor.empty(sizes, 'float32');

export const axes = (...extents: number[]): AxisExpr[] =>
  extents.map((extent, at) => axis(`i${at}`, param('i32', extent)));

/** The matrix product of two tensors. */
export function product(left: Tensor, right: Tensor, out: Tensor): Contraction {
  const [m, n, k] = axes(left.sizes[0], right.sizes[1], left.sizes[1]);
  const target = new TensorView(out);
  return {
    kind: 'contraction',
    label: 'aten::mm',
    batch: [],
    m,
    n,
    k,
    left: new TensorView(left).at([m, k]),
    right: new TensorView(right).at([k, n]),
    stores: [{ operand: target.operand, offset: target.offsetAt([m, n]), value: accumulator }],
  };
}
