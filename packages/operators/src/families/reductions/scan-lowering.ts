import { symAdd, symCeilDiv, symEq, symLe, symSub, type ScalarType, type SymInt, type Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  exprTypeOf,
  param,
  reduce,
  select,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
  type ExprType,
  type Store,
} from '@cresset/tensorexpr';
import type { LoweringContext } from '../../table/row.ts';
import { computedFloat } from '../../kernels/type-promotion.ts';

/** Running sums, products and extremes on a device, of lines as long as there is memory. */

export type ScanFunction = 'sum' | 'prod' | 'max' | 'min';

/** Lines to be scanned: `element` is the value at a place of the line, of any type. */
export interface ScanLines {
  /** Axes that number the lines. */
  readonly axes: readonly AxisExpr[];
  readonly sizes: readonly SymInt[];
  readonly length: SymInt;
  element(lines: readonly Expr[], at: Expr): Expr;
}

/** Elements that one thread looks at for one result, and the length of a block of those that are scanned in turn. */
const block = 32;

const combining: Record<ScanFunction, 'add' | 'mul' | 'max' | 'min'> = {
  sum: 'add',
  prod: 'mul',
  max: 'max',
  min: 'min',
};

const index = (value: number): Expr => constant('i32', value);

function neutralOf(fn: ScanFunction, type: ExprType): Expr {
  if (fn === 'sum' || fn === 'prod') {
    const value = fn === 'prod' ? 1 : 0;
    return constant(type, type === 'i64' ? BigInt(value) : type === 'bool' ? value === 1 : value);
  }
  const isMax = fn === 'max';
  if (type === 'float') return constant(type, isMax ? -Infinity : Infinity);
  if (type === 'i64') return constant(type, isMax ? -(2n ** 63n) : 2n ** 63n - 1n);
  return constant(type, type === 'bool' ? !isMax : isMax ? -(2 ** 31) : 2 ** 31 - 1);
}

/**
 * Gives `store` the running value at each place of each line. The host goes along the lines; elsewhere short lines are summed up to every
 * place, and longer ones in blocks, whose totals are scanned first.
 */
export function lowerScanLines(
  lines: ScanLines,
  fn: ScanFunction,
  dtype: ScalarType,
  label: string,
  context: LoweringContext,
  store: (lines: readonly Expr[], at: Expr, value: Expr) => Store,
): void {
  const type = exprTypeOf(dtype);
  const { axes, length } = lines;
  const neutral = neutralOf(fn, type);
  const element = (at: Expr): Expr => cast(type, lines.element(axes, at));
  if (context.device.capabilities.host) {
    lowerScanInSteps(lines, fn, type, label, context, store);
    return;
  }
  if (symLe(length, 2 * block)) {
    const at = axis('i', param('i32', length));
    const earlier = axis('k', param('i32', length));
    const value = reduce(fn, [earlier], select(binary('le', earlier, at), element(earlier), neutral));
    context.launch({ kind: 'nest', label, axes: [...axes, at], innerAxes: [], stores: [store(axes, at, value)] });
    return;
  }
  const blocks = symCeilDiv(length, block);
  const end = param('i32', length);
  const place = (number: Expr, within: Expr): Expr => binary('add', binary('mul', number, index(block)), within);
  const totals = context.temporary([...lines.sizes, blocks], dtype);
  const own = axis('b', param('i32', blocks));
  const within = axis('w', index(block));
  const inBlock = place(own, within);
  const total = reduce(fn, [within], select(binary('lt', inBlock, end), element(inBlock), neutral));
  const target = new TensorView(totals);
  context.launch({
    kind: 'nest',
    label: `${label} (blocks)`,
    axes: [...axes, own],
    innerAxes: [],
    stores: [{ operand: target.operand, offset: target.offsetAt([...axes, own]), value: total }],
  });
  const sums = context.temporary([...lines.sizes, blocks], dtype);
  const running = new TensorView(sums);
  lowerScanLines(
    { axes, sizes: lines.sizes, length: blocks, element: (outer, at) => target.at([...outer, at]) },
    fn,
    dtype,
    label,
    context,
    (outer, at, value) => ({ operand: running.operand, offset: running.offsetAt([...outer, at]), value }),
  );
  const number = axis('b', param('i32', blocks));
  const last = axis('w', index(block));
  const earlier = axis('k', index(block));
  const isNeeded = binary('le', earlier, last);
  const at = place(number, last);
  const previous = binary('max', binary('sub', number, index(1)), index(0));
  const before = select(binary('gt', number, index(0)), running.at([...axes, previous]), neutral);
  const here = reduce(fn, [earlier], select(isNeeded, element(place(number, earlier)), neutral));
  const value =
    type === 'bool' ? binary(fn === 'max' ? 'or' : 'and', before, here) : binary(combining[fn], before, here);
  const stores = [{ ...store(axes, at, value), guard: binary('lt', at, end) }];
  context.launch({ kind: 'nest', label, axes: [...axes, number, last], innerAxes: [], stores });
}

/** Types that running values are kept in. */
const runningTypes = { i32: 'int32', i64: 'int64', bool: 'bool' } as const;

/** A step for each place of all lines: what is running lies beside them, with what was rounded off of a sum of floats, as PyTorch's sums are double. */
function lowerScanInSteps(
  { axes, sizes, length, element }: ScanLines,
  fn: ScanFunction,
  type: ExprType,
  label: string,
  context: LoweringContext,
  store: (lines: readonly Expr[], at: Expr, value: Expr) => Store,
): void {
  const time = axis('i', param('i32', length));
  const isFirst = binary('eq', time, index(0));
  const neutral = neutralOf(fn, type);
  const { operand: target } = store(axes, time, neutral);
  const state = () => {
    const dtype = type === 'float' ? computedFloat(target.dtype) : runningTypes[type];
    const view = new TensorView(context.temporary(sizes, dtype));
    return {
      before: select(isFirst, neutral, view.at(axes)),
      becomes: (value: Expr): Store => ({ operand: view.operand, offset: view.offsetAt(axes), value }),
    };
  };
  const running = state();
  const { before } = running;
  const here = cast(type, element(axes, time));
  const next =
    type === 'bool' ? binary(fn === 'max' ? 'or' : 'and', before, here) : binary(combining[fn], before, here);
  const stores = [running.becomes(next)];
  let value = next;
  if (fn === 'sum' && type === 'float') {
    const rest = state();
    const added = binary('sub', next, before);
    const lost = binary('add', binary('sub', before, binary('sub', next, added)), binary('sub', here, added));
    const rests = binary('add', rest.before, lost);
    // Past infinity and NaN nothing was rounded off.
    value = select(unary('isfinite', next), binary('add', next, rests), next);
    stores.push(rest.becomes(rests));
  }
  context.launch({
    kind: 'recurrence',
    label,
    time,
    axes,
    innerAxes: [],
    stores: [...stores, store(axes, time, value)],
  });
}

/** Lines of a tensor along one of its dimensions, a tensor without any being a line of one element. */
export function linesOf(self: Tensor, dim: number): ScanLines & { readonly view: TensorView; readonly dim: number } {
  const shown = self.dim === 0 ? self.asStrided([1], [1]) : self;
  const view = new TensorView(shown);
  const axes = view.axes().filter((_, at) => at !== dim);
  return {
    view,
    dim,
    axes,
    sizes: shown.symSizes.filter((_, at) => at !== dim),
    length: shown.symSizes[dim],
    element: (lines, at) => view.at(lines.toSpliced(dim, 0, at)),
  };
}

/** A scan of `self` along `dim` into `output`, which has its sizes. */
export function lowerScanAlong(
  self: Tensor,
  dim: number,
  output: Tensor,
  fn: ScanFunction,
  label: string,
  context: LoweringContext,
): void {
  if (symEq(output.symNumel, 0)) return;
  const lines = linesOf(self, dim);
  const target = new TensorView(output.dim === 0 ? output.asStrided([1], [1]) : output);
  lowerScanLines(lines, fn, output.dtype, label, context, (outer, at, value) => ({
    operand: target.operand,
    offset: target.offsetAt(outer.toSpliced(dim, 0, at)),
    value,
  }));
}

/** How many elements of a mask hold up to each, in C order: int32, contiguous, of the sizes of the mask. */
export function flagCounts(mask: Tensor, label: string, context: LoweringContext): Tensor {
  const flags = context.temporary(mask.symSizes, 'int32');
  const counts = context.temporary(mask.symSizes, 'int32');
  if (symEq(mask.symNumel, 0)) return counts;
  const [source, target] = [mask, flags].map((tensor) => new TensorView(tensor));
  const axes = target.axes();
  const flag = cast('i32', cast('bool', source.at(axes)));
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value: flag }];
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
  const flat = (tensor: Tensor): Tensor => tensor.asStrided([mask.symNumel], [1]);
  lowerScanAlong(flat(flags), 0, flat(counts), 'sum', label, context);
  return counts;
}

/** The last element of a contiguous int32 tensor, once the device has computed it; 0 where there is none. */
export async function lastElement(counts: Tensor, label: string, context: LoweringContext): Promise<number> {
  if (symEq(counts.symNumel, 0)) return 0;
  const total = context.temporary([], 'int32');
  const last = new TensorView(counts.asStrided([], [], symAdd(counts.symStorageOffset, symSub(counts.symNumel, 1))));
  const sum = new TensorView(total);
  const stores = [{ operand: sum.operand, offset: sum.offsetAt([]), value: cast('i32', last.at([])) }];
  context.launch({ kind: 'nest', label, axes: [], innerAxes: [], stores });
  await context.fetch(total);
  return (total.storageArray() as Int32Array)[0];
}
