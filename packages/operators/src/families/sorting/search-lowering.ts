import { symEq, symSub, Tensor } from '@cresset/tensor';
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
import { scalarParam } from '../../kernels/loops/pointwise.ts';
import { placeIn } from '../../kernels/sorted-line.ts';
import type { LoweringContext, Scalar } from '../../table/row.ts';
import { deviceTensor } from '../indexing/flagged-elements.ts';
import { lastElement, lowerScanAlong } from '../reductions/scan-lowering.ts';

/** Looking for values among values on a device. */

const index = (value: number): Expr => constant('i32', value);

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
  const length = sorted.symSizes.at(-1) ?? 1;
  if (symEq(length, 0)) {
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
  const count = tests.symNumel;
  if (symEq(count, 0)) {
    lowerFill(output, invert, context, label);
    return;
  }
  const flat = context.temporary(tests.symSizes, tests.dtype);
  lowerCopy(flat, tests, context, label);
  const line = flat.asStrided([count], [1]);
  const [sorted, places] = [context.temporary([count], tests.dtype), context.temporary([count], 'int64')];
  lowerSort(label, line, 0, false, 0, sorted, places, context);
  const [view, given] = [new TensorView(sorted), new TensorView(expand(elements, output.symSizes))];
  lowerGenerated(
    output,
    (axes) => {
      const value = given.at(axes);
      const place = placeIn(count, (at) => view.at([at]), value, false);
      const last = binary('min', place, param('i32', symSub(count, 1)));
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
