import { isFloatingPoint, symEq, type Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  param,
  reduce,
  select,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
  type Store,
} from '@cresset/tensorexpr';
import { lowerCopy } from '../../kernels/copy.ts';
import { index, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { lowerSort } from './sort-lowering.ts';
import type { LoweringContext } from '../../table/row.ts';
import { movedim } from '../views/view-functions.ts';

/** Medians and quantiles on a device: lines are sorted, NaN last and equal elements in their order, and places in them read. */

/** Sorted lines of `self` along `dim`, or one line of all its elements, as `[lines…, length]`. */
interface SortedLines {
  readonly values: Tensor;
  readonly places: Tensor;
  /** How many NaN a line has. */
  missing(axes: readonly AxisExpr[]): Expr;
}

function sortedLines(self: Tensor, dim: number | null, label: string, context: LoweringContext): SortedLines {
  let lines = self;
  if (dim === null || self.dim === 0) {
    const flat = context.temporary(self.symSizes, self.dtype);
    lowerCopy(flat, self, context, label);
    lines = flat.asStrided([self.symNumel], [1]);
  } else lines = movedim(self, [dim], [-1]);
  const values = context.temporary(lines.symSizes, lines.dtype);
  const places = context.temporary(lines.symSizes, 'int64');
  lowerSort(label, lines, lines.dim - 1, false, 0, values, places, context);
  const read = new TensorView(lines);
  return {
    values,
    places,
    missing(axes) {
      if (!isFloatingPoint(self.dtype)) return index(0);
      const at = axis('n', param('i32', lines.symSizes.at(-1)!));
      return reduce('sum', [at], select(unary('isnan', read.at([...axes, at])), index(1), index(0)));
    },
  };
}

/** Views of results without the dimension that was reduced and kept. */
const withoutKept = (output: Tensor, lines: number, dim: number | null): Tensor =>
  dim === null || output.dim === lines
    ? output.asStrided(dim === null ? [] : output.symSizes, dim === null ? [] : output.symStrides)
    : output.asStrided(output.symSizes.toSpliced(dim, 1), output.symStrides.toSpliced(dim, 1));

/** The lower one of the two in the middle; NaN where there is one, the first, unless those are left out. */
export function lowerMedian(
  label: string,
  self: Tensor,
  dim: number | null,
  ignoresNaN: boolean,
  [values, indices]: readonly Tensor[],
  context: LoweringContext,
): void {
  if (symEq(values.symNumel, 0)) return;
  const sorted = sortedLines(self, dim, label, context);
  const length = sorted.values.symSizes.at(-1)!;
  const outputs = [values, ...(indices ? [indices] : [])].map((output) =>
    withoutKept(output, sorted.values.dim - 1, self.dim === 0 ? null : dim),
  );
  const targets = outputs.map((output) => new TensorView(output));
  const axes = targets[0].axes();
  const missing = sorted.missing(axes);
  const last = sub(indexParam(length), missing);
  // All of a line may be NaN: what is rounded towards zero is then its first.
  const middle = binary('truncdiv', sub(ignoresNaN ? last : indexParam(length), index(1)), index(2));
  const at = ignoresNaN ? middle : select(binary('gt', missing, index(0)), last, middle);
  const stores = targets.map((target, which): Store => {
    const source = new TensorView(which === 0 ? sorted.values : sorted.places);
    return { operand: target.operand, offset: target.offsetAt(axes), value: source.at([...axes, at]) };
  });
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
}

/** A quantile of each line for every one of `points`, which come first among the result's dimensions where they are many. */
export function lowerQuantile(
  label: string,
  self: Tensor,
  dim: number | null,
  ignoresNaN: boolean,
  points: Tensor | number,
  interpolation: string,
  output: Tensor,
  context: LoweringContext,
): void {
  if (symEq(output.symNumel, 0)) return;
  const sorted = sortedLines(self, dim, label, context);
  const lead = typeof points !== 'number' && points.dim === 1 ? 1 : 0;
  const shown = output.asStrided(output.symSizes.slice(lead), output.symStrides.slice(lead));
  const kept = withoutKept(shown, sorted.values.dim - 1, self.dim === 0 ? null : dim);
  const target = new TensorView(
    output.asStrided(
      [...output.symSizes.slice(0, lead), ...kept.symSizes],
      [...output.symStrides.slice(0, lead), ...kept.symStrides],
    ),
  );
  const axes = target.axes();
  const lines = axes.slice(lead);
  const q =
    typeof points === 'number' ? param('float', points) : cast('float', new TensorView(points).at(axes.slice(0, lead)));
  const missing = sorted.missing(lines);
  const count = sub(indexParam(sorted.values.symSizes.at(-1)!), missing);
  const rank = mul(q, cast('float', sub(ignoresNaN ? count : indexParam(sorted.values.symSizes.at(-1)!), index(1))));
  const view = new TensorView(sorted.values);
  const valueAt = (place: Expr): Expr => view.at([...lines, binary('max', cast('i32', place), index(0))]);
  const [below, above] = [unary('floor', rank), unary('ceil', rank)];
  const isUndefined = ignoresNaN ? binary('eq', count, index(0)) : binary('gt', missing, index(0));
  const value = select(
    isUndefined,
    constant('float', NaN),
    between(valueAt(below), valueAt(above), sub(rank, below), rank, interpolation, valueAt),
  );
  context.launch({
    kind: 'nest',
    label,
    axes,
    innerAxes: [],
    stores: [{ operand: target.operand, offset: target.offsetAt(axes), value }],
  });
}

function between(
  low: Expr,
  high: Expr,
  weight: Expr,
  rank: Expr,
  interpolation: string,
  valueAt: (place: Expr) => Expr,
): Expr {
  switch (interpolation) {
    case 'lower':
      return low;
    case 'higher':
      return high;
    case 'nearest':
      return valueAt(unary('round', rank));
    default: {
      const part = interpolation === 'midpoint' ? constant('float', 0.5) : weight;
      const mixed = binary('add', low, mul(sub(high, low), part));
      // Between a number and itself lies nothing, infinities included.
      return select(binary('eq', low, high), low, mixed);
    }
  }
}
