import { finish, repeat, type Pieces } from './loops/pieces.ts';
import { isComplex, numelOf, type ScalarType, type Tensor, symEq } from '@cresset/tensor';
import { cast, exprTypeOf, TensorView, type AxisExpr, type Expr, type ParamExpr } from '@cresset/tensorexpr';
import { scalarWriter } from './elements.ts';
import { deviceViews, evaluationPieces, scalarParam } from './loops/pointwise.ts';
import { checkScalarFits } from './numbers/scalar-range.ts';
import type { LoweringContext, Scalar } from '../table/row.ts';
import { StridedCursor, walkOf } from './loops/tensor-iterator.ts';
import { scalarDtype } from './type-promotion.ts';

/** A Scalar as what it is before it is converted to the dtype it is written to. */
const paramFor =
  (dtype: ScalarType) =>
  (value: Scalar): ParamExpr =>
    scalarParam(value, dtype === 'bool' ? dtype : typeof value === 'number' ? 'float64' : scalarDtype(value));

/** Writes one value to every element, on the host. */
export function fillInto(tensor: Tensor, value: Scalar): void {
  finish(fillPieces(tensor, value));
}

/** As `fillInto`, in pieces. */
export function* fillPieces(tensor: Tensor, value: Scalar): Pieces {
  checkScalarFits(value, tensor.dtype);
  // To lay out a loop over one element takes ten times as long as to write it.
  if (tensor.numel === 1) scalarWriter(tensor)(tensor.storageOffset, value);
  else if (isComplex(tensor.dtype)) yield* writeInPieces(tensor, () => value);
  else yield* evaluationPieces(tensor, cast(exprTypeOf(tensor.dtype), paramFor(tensor.dtype)(value)), [], true);
}

/**
 * Writes one value to every element, on a device.
 *
 * @param at which argument of the operator the value is; -1 where it is none
 */
export function lowerFill(tensor: Tensor, value: Scalar, context: LoweringContext, label: string, at = -1): void {
  const { dtype } = tensor;
  const paramOf = paramFor(dtype);
  checkScalarFits(value, dtype);
  const open = at < 0 ? null : context.openParam?.(at, paramOf, (number) => checkScalarFits(number, dtype));
  const param = open ?? paramOf(value);
  lowerGenerated(tensor, () => param, context, label, true);
}

/** Writes `value(position)` to every element in C order, on the host. `cost` is that of a value, in operations. */
export function writeInPieces(tensor: Tensor, value: (position: number) => Scalar, cost = 8): Pieces {
  const write = scalarWriter(tensor);
  const cursor = new StridedCursor(tensor.sizes, walkOf(tensor));
  return repeat(numelOf(tensor.sizes), cost, (position) =>
    cursor.advance(1, (offset) => write(offset, value(position))),
  );
}

/**
 * Writes a value worked out from the indices to every element, on a device. `anyOrder` merges dimensions: for values that
 * do not depend on indices.
 */
export function lowerGenerated(
  tensor: Tensor,
  value: (indices: readonly AxisExpr[]) => Expr,
  context: LoweringContext,
  label: string,
  anyOrder = false,
): void {
  if (symEq(tensor.symNumel, 0)) return;
  const { axes, target } = anyOrder ? deviceViews(tensor, []) : indexViews(tensor);
  const stored = cast(exprTypeOf(tensor.dtype), value(axes));
  context.launch({
    kind: 'nest',
    label,
    axes,
    innerAxes: [],
    stores: [{ operand: target.operand, offset: target.offsetAt(axes), value: stored }],
  });
}

function indexViews(tensor: Tensor): { axes: AxisExpr[]; target: TensorView } {
  const target = new TensorView(tensor);
  return { axes: target.axes(), target };
}
