import { Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  param,
  select,
  TensorView,
  unary,
  type Expr,
  type Store,
} from '@cresset/tensorexpr';
import { expand } from '../../kernels/broadcast.ts';
import { lowerCopy } from '../../kernels/copy.ts';
import { lowerFill, lowerGenerated } from '../../kernels/fill.ts';
import { lowerSort } from './sort-lowering.ts';
import { scalarParam } from '../../kernels/pointwise.ts';
import type { LoweringContext, Scalar } from '../../table/row.ts';
import { deviceTensor } from '../indexing/flagged-elements.ts';
import { lastElement, lowerScanAlong } from '../reductions/scan-lowering.ts';

/** Looking for values among values on a device. */

const index = (value: number): Expr => constant('i32', value);

/**
 * How many elements of an ascending line come before `value`, equal ones included where `right` is set: halves of the line are
 * left out one after the other. NaN is largest.
 */
function placeIn(length: number, element: (at: Expr) => Expr, value: Expr, right: boolean): Expr {
  const isNaN = (x: Expr): Expr => (x.type === 'float' ? unary('isnan', x) : constant('bool', false));
  const comesBefore = (x: Expr): Expr => {
    const plain = binary(right ? 'le' : 'lt', x, value);
    if (x.type !== 'float') return plain;
    return select(isNaN(value), right ? constant('bool', true) : unary('not', isNaN(x)), plain);
  };
  const end = param('i32', length);
  let place = index(0);
  for (let step = 2 ** Math.floor(Math.log2(Math.max(length, 1))); step >= 1; step /= 2) {
    const next = binary('add', place, index(step));
    const isThere = binary('and', binary('le', next, end), comesBefore(element(binary('sub', next, index(1)))));
    place = select(isThere, next, place);
  }
  return place;
}

/** torch.searchsorted and bucketize: `sorted` is one line, or one for each line of `values`. */
export function lowerSearch(
  sorted: Tensor,
  values: Tensor | Scalar,
  right: boolean,
  sorter: Tensor | null,
  output: Tensor,
  context: LoweringContext,
): void {
  const label = 'aten::searchsorted';
  const length = sorted.sizes.at(-1) ?? 1;
  if (length === 0) {
    lowerFill(output, 0n, context, label);
    return;
  }
  const lines = new TensorView(sorted.dim === 0 ? sorted.asStrided([1], [1]) : sorted);
  const order = sorter && new TensorView(sorter);
  const given = values instanceof Tensor ? new TensorView(values) : null;
  lowerGenerated(
    output,
    (axes) => {
      const outer = sorted.dim <= 1 ? [] : axes.slice(0, -1);
      const element = (at: Expr): Expr => lines.at([...outer, order ? cast('i32', order.at([...outer, at])) : at]);
      const value = given ? given.at(axes) : scalarParam(values as Scalar, sorted.dtype);
      return placeIn(length, element, value, right);
    },
    context,
    label,
  );
}

/** torch.isin: tests are put in order, and each element looked for. */
export function lowerIsIn(
  elements: Tensor,
  tests: Tensor,
  invert: boolean,
  output: Tensor,
  context: LoweringContext,
): void {
  const label = 'aten::isin';
  if (tests.numel === 0) {
    lowerFill(output, invert, context, label);
    return;
  }
  const flat = context.temporary(tests.sizes, tests.dtype);
  lowerCopy(flat, tests, context, label);
  const line = flat.asStrided([tests.numel], [1]);
  const [sorted, places] = [context.temporary([tests.numel], tests.dtype), context.temporary([tests.numel], 'int64')];
  lowerSort(label, line, 0, false, 0, sorted, places, context);
  const [view, given] = [new TensorView(sorted), new TensorView(expand(elements, output.sizes))];
  lowerGenerated(
    output,
    (axes) => {
      const value = given.at(axes);
      const place = placeIn(tests.numel, (at) => view.at([at]), value, false);
      const last = binary('min', place, param('i32', tests.numel - 1));
      const isThere = binary('eq', view.at([last]), value);
      return invert ? unary('not', isThere) : isThere;
    },
    context,
    label,
  );
}

/** Elements in C order, one of each run of equal ones; the run each element is in; how long the runs are. */
export async function deviceUnique(self: Tensor, consecutive: boolean, context: LoweringContext): Promise<Tensor[]> {
  const label = consecutive ? 'aten::unique_consecutive' : 'aten::unique';
  const count = self.numel;
  if (count === 0)
    return [Tensor.empty([0], self.dtype), Tensor.empty(self.sizes, 'int64'), Tensor.empty([0], 'int64')];
  const whole = context.temporary(self.sizes, self.dtype);
  lowerCopy(whole, self, context, label);
  let line = whole.asStrided([count], [1]);
  let order: Tensor | null = null;
  if (!consecutive) {
    const sorted = context.temporary([count], self.dtype);
    order = context.temporary([count], 'int64');
    lowerSort(label, line, 0, false, 0, sorted, order, context);
    line = sorted;
  }
  const [starts, runs] = [context.temporary([count], 'int32'), context.temporary([count], 'int32')];
  const [values, isStart, run] = [line, starts, runs].map((tensor) => new TensorView(tensor));
  const at = axis('i', param('i32', count));
  const launch = (...stores: Store[]): void =>
    context.launch({ kind: 'nest', label, axes: [at], innerAxes: [], stores });
  const storing = (view: TensorView, place: Expr, value: Expr, guard?: Expr): Store => ({
    operand: view.operand,
    offset: view.offsetAt([place]),
    value,
    guard,
  });
  const previous = values.at([binary('max', binary('sub', at, index(1)), index(0))]);
  const differs = binary('or', binary('eq', at, index(0)), binary('ne', previous, values.at([at])));
  launch(storing(isStart, at, cast('i32', differs)));
  lowerScanAlong(starts, 0, runs, 'sum', label, context);
  const found = await lastElement(runs, label, context);
  const output = deviceTensor([found], self.dtype, context);
  const inverse = deviceTensor(self.sizes, 'int64', context);
  const counts = deviceTensor([found], 'int64', context);
  const firsts = context.temporary([found], 'int32');
  const number = binary('sub', run.at([at]), index(1));
  const guard = cast('bool', isStart.at([at]));
  const flatInverse = new TensorView(inverse.asStrided([count], [1]));
  launch(
    storing(new TensorView(output), number, values.at([at]), guard),
    storing(new TensorView(firsts), number, at, guard),
    storing(flatInverse, order ? cast('i32', new TensorView(order).at([at])) : at, cast('i64', number)),
  );
  const [first, own] = [new TensorView(firsts), axis('j', param('i32', found))];
  const next = binary('add', own, index(1));
  const isLast = binary('ge', next, param('i32', found));
  const end = select(isLast, param('i32', count), first.at([binary('min', next, param('i32', found - 1))]));
  const stores = [storing(new TensorView(counts), own, cast('i64', binary('sub', end, first.at([own]))))];
  context.launch({ kind: 'nest', label, axes: [own], innerAxes: [], stores });
  return [output, inverse, counts];
}

/** Each slice of `self` along `dim` as often as `repeats` says (torch.repeat_interleave). */
export async function deviceRepeat(
  repeats: Tensor,
  label: string,
  context: LoweringContext,
  slices: { readonly self: Tensor; readonly dim: number } | null,
): Promise<Tensor> {
  const ends = context.temporary(repeats.sizes, 'int32');
  if (repeats.numel > 0) {
    lowerScanAlong(repeats, 0, ends, 'sum', label, context);
    const view = new TensorView(repeats);
    const [at] = view.axes();
    const given = cast('i32', view.at([at]));
    const fault = context.fault(binary('lt', given, index(0)), given, 'repeats can not be negative', 'RuntimeError');
    context.launch({ kind: 'nest', label, axes: [at], innerAxes: [], stores: [fault] });
  }
  const total = await lastElement(ends, label, context);
  const ending = new TensorView(ends);
  const sourceAt = (place: Expr): Expr => placeIn(repeats.numel, (at) => ending.at([at]), place, true);
  if (!slices) {
    const output = deviceTensor([total], repeats.dtype, context);
    lowerGenerated(output, ([at]) => sourceAt(at), context, label);
    return output;
  }
  const { self, dim } = slices;
  const output = deviceTensor(self.sizes.with(dim, total), self.dtype, context);
  const source = new TensorView(self);
  // A vector of one number repeats every slice alike, and has been expanded.
  lowerGenerated(
    output,
    (axes) => source.at(axes.with(dim, sourceAt(axes[dim]) as (typeof axes)[number])),
    context,
    label,
  );
  return output;
}
