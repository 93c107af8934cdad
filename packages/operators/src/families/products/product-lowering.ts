import { isFloatingPoint, type ScalarType, type Tensor, symEq, symMul, symProduct, type SymInt } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  cast,
  exprTypeOf,
  param,
  reduce,
  TensorView,
  type AxisExpr,
  type Expr,
  symIndexValue,
} from '@cresset/tensorexpr';
import type { LoweringContext } from '../../table/row.ts';
import { matrices, realScalar, type Addend, type ProductDims } from './product.ts';

/**
 * Describes matrix products to a device: `out` (`[…batch, …rows, …columns]`) from `left` (`[…batch, …rows, …inner]`) and
 * `right` (`[…batch, …inner, …columns]`), strides may be 0. `finish` makes the stored value from the finished sum and the
 * index of the element in `out`.
 */
export function lowerProduct(
  label: string,
  { left, right, out }: Omit<ProductTensors, 'added'>,
  context: LoweringContext,
  dims: ProductDims = matrices,
  finish: (sum: Expr, index: readonly Expr[]) => Expr = (sum) => sum,
): void {
  if (symEq(out.symNumel, 0)) return;
  const target = new TensorView(out);
  const batch = target.sizes.slice(0, out.dim - dims.rows - dims.columns).map((size, dim) => axis(`b${dim}`, size));
  const rows = indexOf('m', target.sizes.slice(batch.length, batch.length + dims.rows));
  const columns = indexOf('n', target.sizes.slice(batch.length + dims.rows));
  const a = new TensorView(left);
  const b = new TensorView(right);
  const inner = indexOf('k', a.sizes.slice(batch.length + dims.rows));
  const type = exprTypeOf(out.dtype);
  const x = cast(type, a.at([...batch, ...rows.index, ...inner.index]));
  const y = cast(type, b.at([...batch, ...inner.index, ...columns.index]));
  const index = [...batch, ...rows.index, ...columns.index];
  const offset = target.offsetAt(index);
  if (symEq(rows.count, 1) || symEq(columns.count, 1) || !isFloatingPoint(out.dtype)) {
    // One row or column has nothing to share in tiles, and integers do not go through float sums.
    const value = finish(reduce('sum', [inner.axis], binary('mul', x, y)), index);
    const axes = [...batch, rows.axis, columns.axis];
    context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: [{ operand: target.operand, offset, value }] });
    return;
  }
  const stores = [{ operand: target.operand, offset, value: finish(accumulator, index) }];
  context.launch({
    kind: 'contraction',
    label,
    batch,
    m: rows.axis,
    n: columns.axis,
    k: inner.axis,
    left: x,
    right: y,
    stores,
  });
}

/** One axis over a group of dimensions, and the index in each of them. */
export function indexOf(
  name: string,
  sizes: readonly Expr[],
): { axis: AxisExpr; index: readonly Expr[]; count: SymInt } {
  if (sizes.length === 1) {
    const single = axis(name, sizes[0]);
    return { axis: single, index: [single], count: sizeOf(sizes[0]) };
  }
  const count = symProduct(sizes.map(sizeOf));
  const flat = axis(name, param('i32', count));
  let rest: Expr = flat;
  const index = new Array<Expr>(sizes.length);
  for (let dim = sizes.length - 1; dim > 0; dim--) {
    index[dim] = binary('fmod', rest, sizes[dim]);
    rest = binary('truncdiv', rest, sizes[dim]);
  }
  if (sizes.length > 0) index[0] = rest;
  return { axis: flat, index, count };
}

function sizeOf(extent: Expr): SymInt {
  const size = symIndexValue(extent);
  if (size === null) throw new TypeError('an extent that is no number');
  return size;
}

/** `beta * self + alpha * sum`, leaving out what is 0 or 1. */
export function addendFinish(addend: Addend, dtype: ScalarType): (sum: Expr, index: readonly Expr[]) => Expr {
  const type = exprTypeOf(dtype);
  const integral = type !== 'float';
  const scaled = (value: Addend['beta'], x: Expr): Expr => {
    const factor = realScalar(value, integral);
    return factor === 1 ? x : binary('mul', param(type, integral ? BigInt(factor) : factor), x);
  };
  if (realScalar(addend.beta, integral) === 0) return (sum) => scaled(addend.alpha, sum);
  const self = new TensorView(addend.self);
  return (sum, index) => binary('add', scaled(addend.beta, cast(type, self.at(index))), scaled(addend.alpha, sum));
}

/** The tensors of a product of matrices. */
export interface ProductTensors {
  readonly left: Tensor;
  readonly right: Tensor;
  readonly out: Tensor;
  /** Added to it, of the sizes of `out`. */
  readonly added: Tensor | null;
}

/**
 * Leading dimensions of a batch of products joined where all tensors lie in memory like one, and joined with the rows
 * where `right` is the same matrix for all: fewer axes, fewer kernels, larger tiles.
 */
export function joinBatch({ left, right, out, added }: ProductTensors): ProductTensors {
  const rank = out.dim;
  const sizes = out.symSizes.slice(0, -1);
  // Strides by dimension, batch first, then rows; `right` has no rows, so it is as if they all were the same.
  const rightRows = { symStrides: right.symStrides.with(rank - 2, 0) };
  const strides = [left, rightRows, out, added ?? out].map((tensor) => tensor.symStrides.slice(0, -1));
  for (let dim = sizes.length - 2; dim >= 0; dim--) {
    const isOne = symEq(sizes[dim], 1);
    const within = symEq(sizes[dim + 1], 1) && (dim + 1 < sizes.length - 1 || symEq(strides[1][dim], 0));
    const joins = isOne || within || strides.every((own) => symEq(own[dim], symMul(own[dim + 1], sizes[dim + 1])));
    if (!joins) continue;
    const dropped = within && !isOne ? dim + 1 : dim;
    sizes[dim + 1] = symMul(sizes[dim + 1], sizes[dim]);
    sizes.splice(dim, 1);
    for (const own of strides) own.splice(dropped, 1);
  }
  const batch = sizes.slice(0, -1);
  const [a, b, c, d] = strides;
  return {
    left: left.asStrided([...sizes, left.symSizes[rank - 1]], [...a, left.symStrides[rank - 1]]),
    right: right.asStrided([...batch, ...right.symSizes.slice(-2)], [...b.slice(0, -1), ...right.symStrides.slice(-2)]),
    out: out.asStrided([...sizes, out.symSizes[rank - 1]], [...c, out.symStrides[rank - 1]]),
    added: added && added.asStrided([...sizes, out.symSizes[rank - 1]], [...d, added.symStrides[rank - 1]]),
  };
}
