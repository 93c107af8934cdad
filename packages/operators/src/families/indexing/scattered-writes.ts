import { isIntegral, type ScalarType, type SymInt, type Tensor } from '@cresset/tensor';
import {
  binary,
  cast,
  constant,
  exprTypeOf,
  param,
  select,
  TensorView,
  type AxisExpr,
  type Expr,
  type Store,
} from '@cresset/tensorexpr';
import { lowerCopy } from '../../kernels/copy.ts';
import { lowerFill } from '../../kernels/fill.ts';
import type { LoweringContext } from '../../table/row.ts';
import type { Combination } from './element-moves.ts';

/**
 * Writes at places that an index names, made by whoever has something to write: work grows with the writes, not with writes
 * times results. Several that meet are combined in no order, so that float sums may differ in their last digits from run to
 * run; of several that overwrite, any may stay, as PyTorch leaves it.
 */
export interface ScatteredWrites {
  /** One point a write. */
  readonly axes: readonly AxisExpr[];
  /** The element of the result that is written, one index a dimension. */
  readonly place: readonly Expr[];
  /** Whether the place is one of the result's; writes elsewhere are left out. */
  readonly isInside: Expr;
  readonly value: Expr;
  readonly how: Combination | 'mean' | null;
  readonly includesSelf: boolean;
}

const functions = { sum: 'sum', mean: 'sum', prod: 'prod', amax: 'max', amin: 'min' } as const;

/** Whether a device can combine elements of this dtype so. */
export function isScatterable(dtype: ScalarType, how: ScatteredWrites['how']): boolean {
  return how === null || how === 'sum' || how === 'mean' || exprTypeOf(dtype) !== 'i64';
}

function neutralOf(how: Combination | 'mean', dtype: ScalarType): Expr {
  const type = exprTypeOf(dtype);
  const fn = functions[how];
  if (fn === 'sum' || fn === 'prod') {
    const value = fn === 'prod' ? 1 : 0;
    return constant(type, type === 'i64' ? BigInt(value) : type === 'bool' ? value === 1 : value);
  }
  const isMax = fn === 'max';
  if (type === 'float') return constant(type, isMax ? -Infinity : Infinity);
  return constant(type, type === 'bool' ? !isMax : isMax ? -(2 ** 31) : 2 ** 31 - 1);
}

export function lowerScatteredWrites(
  self: Tensor,
  output: Tensor,
  writes: ScatteredWrites,
  context: LoweringContext,
  label: string,
): void {
  lowerCopy(output, self, context, label);
  const { axes, place, isInside, value, how, includesSelf } = writes;
  const store = (tensor: Tensor, stored: Expr, combine?: Store['combine']): void => {
    const view = new TensorView(tensor);
    const type = exprTypeOf(tensor.dtype);
    const written = { operand: view.operand, offset: view.offsetAt(place), value: cast(type, stored), guard: isInside };
    context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: [{ ...written, combine }] });
  };
  if (how === null) {
    store(output, value);
    return;
  }
  if (!includesSelf) store(output, neutralOf(how, output.dtype));
  store(output, value, functions[how]);
  if (how !== 'mean') return;
  const counts = context.temporary(output.symSizes, 'int32');
  lowerFill(counts, 0n, context, label);
  store(counts, constant('i32', 1), 'sum');
  const [target, hits] = [output, counts].map((tensor) => new TensorView(tensor));
  const all = target.axes();
  const terms = binary('add', hits.at(all), constant('i32', includesSelf ? 1 : 0));
  const sum = target.at(all);
  const divisor = binary('max', terms, constant('i32', 1));
  const mean = isIntegral(output.dtype, true)
    ? binary('floordiv', sum, cast(sum.type, divisor))
    : binary('div', sum, cast('float', divisor));
  const stores = [{ operand: target.operand, offset: target.offsetAt(all), value: mean }];
  context.launch({ kind: 'nest', label, axes: all, innerAxes: [], stores });
}

/** A position as an index holds it, in the range of the dimension; and whether it was one of its positions at all. */
export function wrappedPlace(position: Expr, size: SymInt, mayBeNegative: boolean): { at: Expr; isInside: Expr } {
  const narrow = cast('i32', position);
  const [zero, end] = [constant('i32', 0), param('i32', size)];
  const at = mayBeNegative ? select(binary('lt', narrow, zero), binary('add', narrow, end), narrow) : narrow;
  return { at, isInside: binary('and', binary('ge', at, zero), binary('lt', at, end)) };
}

/** A tensor without dimensions as a line of one element. */
export const asLine = (tensor: Tensor): Tensor => (tensor.dim === 0 ? tensor.asStrided([1], [1]) : tensor);
