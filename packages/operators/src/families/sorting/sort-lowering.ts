import {
  isDouble,
  isFloatingPoint,
  symEq,
  symFloorDiv,
  symGt,
  symMul,
  symSub,
  type SymInt,
  type Tensor,
} from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  exprTypeOf,
  param,
  reduce,
  select,
  TensorView,
  unary,
  type Expr,
  type OrderWay,
} from '@cresset/tensorexpr';
import { lowerCopy } from '../../kernels/copy.ts';
import type { LoweringContext } from '../../table/row.ts';
import { asLine } from '../indexing/scattered-writes.ts';
import { add, and, float, index, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { narrowView } from '../../kernels/views.ts';
import { movedim } from '../views/view-functions.ts';

/**
 * Sorting on a device: the host has a routine for it; elsewhere short lines are sorted by counting, longer ones by a bitonic network. Ties keep their order,
 * but where a `way` says otherwise, which only the host listens to; NaN is largest.
 */

/** Longest line that is sorted by comparing every element with every other, and how many comparisons that may take. */
const longestCounted = 1024;
const mostComparisons = 2 ** 24;
/** Comparisons that take the host less than three launches do. */
const fewComparisons = 2 ** 10;

/**
 * The elements of every line of `self` along `dim` in order, from number `start` on as many as `indices` has room for, and
 * where they were.
 */
export function lowerSort(
  label: string,
  self: Tensor,
  dim: number,
  descending: boolean,
  start: number,
  values: Tensor | null,
  indices: Tensor,
  context: LoweringContext,
  way: OrderWay = 'stable',
): void {
  if (symEq(indices.symNumel, 0)) return;
  const line = asLine(self);
  const outputs = [indices, values].flatMap((out) => (out ? [asLine(out)] : []));
  const length = line.symSizes[dim];
  const isWhole = symEq(outputs[0].symSizes[dim], length);
  const comparisons = symMul(line.symNumel, length);
  const isHost = context.device.launchRoutine !== undefined;
  if (isHost && (way !== 'stable' || symGt(comparisons, fewComparisons))) {
    lowerOrder(label, line, dim, descending, start, outputs, way, context);
    return;
  }
  if (symGt(length, longestCounted) || symGt(comparisons, mostComparisons)) {
    lowerBitonicSort(label, line, dim, descending, start, outputs, context);
    return;
  }
  // With room for some only, all are sorted aside and those copied.
  const sorted = isWhole ? outputs : outputs.map(({ dtype }) => context.temporary(line.symSizes, dtype));
  lowerCountingSort(label, line, dim, descending, sorted, context);
  if (isWhole) return;
  outputs.forEach((out, at) => lowerCopy(out, narrowView(sorted[at], dim, start, out.symSizes[dim]), context, label));
}

/** A routine finds where elements go, by keys that lie line after line. */
function lowerOrder(
  label: string,
  self: Tensor,
  dim: number,
  descending: boolean,
  first: number,
  outputs: readonly Tensor[],
  way: OrderWay,
  context: LoweringContext,
): void {
  const lines = movedim(self, [dim], [-1]);
  const [length, count] = [self.symSizes[dim], outputs[0].symSizes[dim]];
  const isFloat = isFloatingPoint(self.dtype);
  const dtype = isDouble(self.dtype) ? 'float64' : isFloat ? 'float32' : self.dtype === 'int64' ? 'int64' : 'int32';
  const keys = context.temporary(lines.symSizes, dtype);
  const places = context.temporary([...lines.symSizes.slice(0, -1), count], 'int32');
  const [source, key] = [lines, keys].map((tensor) => new TensorView(tensor));
  const axes = key.axes();
  const element = cast(exprTypeOf(dtype), source.at(axes));
  // Zeros are equal, and so are all NaN.
  const value = isFloat ? select(unary('isnan', element), float(NaN), add(element, float(0))) : element;
  const stores = [{ operand: key.operand, offset: key.offsetAt(axes), value }];
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
  const inLines = (tensor: Tensor, width: SymInt): Tensor =>
    tensor.asStrided([symFloorDiv(tensor.symNumel, width), width], [width, 1]);
  const [ordered, found] = [inLines(keys, length), inLines(places, count)];
  context.launchRoutine!({ kind: 'ordering', label, keys: ordered, places: found, first, descending, way });
  const views = outputs.map((output) => new TensorView(movedim(output, [dim], [-1])));
  const all = views[0].axes();
  const place = new TensorView(places).at(all);
  const values = [cast('i64', place), source.at([...all.slice(0, -1), place])];
  context.launch({
    kind: 'nest',
    label,
    axes: all,
    innerAxes: [],
    stores: views.map((view, at) => ({ operand: view.operand, offset: view.offsetAt(all), value: values[at] })),
  });
}

/** Whether `x` comes before `y` where they differ. */
function isBefore(x: Expr, y: Expr, descending: boolean): Expr {
  if (descending) return isBefore(y, x, false);
  if (x.type === 'bool') return and(unary('not', x), y);
  const smaller = binary('lt', x, y);
  return x.type === 'float' ? binary('or', smaller, and(unary('isnan', y), unary('not', unary('isnan', x)))) : smaller;
}

/** Each element goes to the place given by how many come before it. */
function lowerCountingSort(
  label: string,
  self: Tensor,
  dim: number,
  descending: boolean,
  [indices, values]: readonly Tensor[],
  context: LoweringContext,
): void {
  const input = new TensorView(self);
  const axes = input.axes();
  const line = axes[dim];
  const other = axis('j', line.extent);
  const element = input.at(axes);
  const rival = input.at(axes.with(dim, other));
  const tied = and(unary('not', isBefore(element, rival, descending)), binary('lt', other, line));
  const comesFirst = binary('or', isBefore(rival, element, descending), tied);
  const rank = reduce('sum', [other], select(comesFirst, index(1), index(0)));
  const at = axes.map((own) => (own === line ? rank : own));
  const store = (out: Tensor, value: Expr) => {
    const view = new TensorView(out);
    return { operand: view.operand, offset: view.offsetAt(at), value };
  };
  const stores = [store(indices, cast('i64', line))];
  if (values) stores.push(store(values, element));
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
}

/**
 * Lines filled up to a power of two and put in order by comparing pairs, in log² passes: in each block of `2 step` elements the
 * first pass compares those that lie opposite each other, the others those that are `step` apart.
 */
function lowerBitonicSort(
  label: string,
  self: Tensor,
  dim: number,
  descending: boolean,
  start: number,
  outputs: readonly Tensor[],
  context: LoweringContext,
): void {
  const length = self.symSizes[dim];
  let padded = 1;
  while (symGt(length, padded)) padded *= 2;
  const lines = self.symSizes.toSpliced(dim, 1);
  const [keys, places] = [
    context.temporary([...lines, padded], self.dtype),
    context.temporary([...lines, padded], 'int32'),
  ];
  const [source, key, place] = [self, keys, places].map((tensor) => new TensorView(tensor));
  const storing = (view: TensorView, at: readonly Expr[], value: Expr) => ({
    operand: view.operand,
    offset: view.offsetAt(at),
    value,
  });
  const axes = key.axes();
  const outer = axes.slice(0, -1);
  const own = axes.at(-1)!;
  const given = binary('min', own, indexParam(symSub(length, 1)));
  const first = [
    storing(key, axes, source.at(outer.toSpliced(dim, 0, given as typeof own))),
    storing(place, axes, own),
  ];
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: first });
  const compare = (step: number, opposite: boolean): void => {
    const pair = axis('p', param('i32', padded / 2));
    const width = indexParam(step);
    const within = binary('fmod', pair, width);
    const low = add(mul(binary('truncdiv', pair, width), indexParam(2 * step)), within);
    const high = add(
      add(low, width),
      mul(indexParam(opposite ? 1 : 0), sub(indexParam(step - 1), mul(index(2), within))),
    );
    const [lowAt, highAt] = [low, high].map((at) => [...outer, at]);
    const [x, y] = [lowAt, highAt].map((at) => ({ key: key.at(at), place: place.at(at) }));
    const isFilling = (each: Expr): Expr => binary('ge', each, indexParam(length));
    const tied = and(unary('not', isBefore(x.key, y.key, descending)), binary('lt', y.place, x.place));
    const isLess = and(unary('not', isFilling(y.place)), binary('or', isBefore(y.key, x.key, descending), tied));
    const swaps = binary('or', isFilling(x.place), isLess);
    const stores = [
      storing(key, lowAt, select(swaps, y.key, x.key)),
      storing(key, highAt, select(swaps, x.key, y.key)),
      storing(place, lowAt, select(swaps, y.place, x.place)),
      storing(place, highAt, select(swaps, x.place, y.place)),
    ];
    context.launch({ kind: 'nest', label, axes: [...outer, pair], innerAxes: [], stores });
  };
  for (let run = 1; run < padded; run *= 2) {
    compare(run, true);
    for (let step = run / 2; step >= 1; step /= 2) compare(step, false);
  }
  const target = new TensorView(outputs[0]);
  const all = target.axes();
  const at = [...all.toSpliced(dim, 1), add(all[dim], indexParam(start))];
  const last = [storing(target, all, cast('i64', place.at(at)))];
  if (outputs[1]) last.push(storing(new TensorView(outputs[1]), all, key.at(at)));
  context.launch({ kind: 'nest', label, axes: all, innerAxes: [], stores: last });
}
