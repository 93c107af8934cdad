import type { Pieces } from '../../kernels/loops/pieces.ts';
import {
  hint,
  isFloatingPoint,
  isIntegral,
  scratch,
  settle,
  settleAll,
  symEq,
  symGe,
  symGt,
  symProduct,
  textOf,
  type ScalarType,
  type SymInt,
  type Tensor,
} from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  exprTypeOf,
  extentOf,
  reduce,
  TensorView,
  type AxisExpr,
  type Expr,
  type ExprType,
} from '@cresset/tensorexpr';
import { kernel, type Forms } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { add, div, floatParam, index, indexParam, mul, sub, where } from '../../kernels/expressions.ts';
import { fillInPieces, numbersInPieces, storeInPieces } from '../../kernels/numbers/numbers.ts';
import { adaptiveWindows, forEachWindow, pooledSize, slidingWindows, type PoolWindows } from './pool-windows.ts';

/** Pools (ATen/native/Pool.h, MaxPooling.cpp, AveragePool*.cpp, AdaptiveAveragePooling*.cpp). */

/** What a pool is made of: how many trailing dimensions are pooled, and by which windows. */
interface Pool {
  readonly input: Tensor;
  readonly windows: readonly PoolWindows[];
}

function pooledSizes({ input, windows }: Pool): SymInt[] {
  return [...input.symSizes.slice(0, input.dim - windows.length), ...windows.map(({ outputSize }) => outputSize)];
}

/** For the host: elements of one plane of the input, and of the output. */
const planeSizes = ({ windows }: Pool): { readonly size: number; readonly outputSize: number } => ({
  size: windows.reduce((product, { inputSize }) => product * settle(inputSize), 1),
  outputSize: windows.reduce((product, window) => product * settle(window.outputSize), 1),
});

const planesOf = (pool: Pool): number => {
  const { size } = planeSizes(pool);
  return size === 0 ? 0 : pool.input.numel / size;
};

/** Axes over the output, and the index of a window's element in the input. */
interface DeviceWindows {
  readonly axes: readonly AxisExpr[];
  readonly taps: readonly AxisExpr[];
  readonly at: readonly Expr[];
  readonly conditions: readonly Expr[];
}

function deviceWindows({ input, windows }: Pool, out: TensorView): DeviceWindows {
  const axes = out.axes();
  const batch = input.dim - windows.length;
  const taps = windows.map((window, dim) => axis(`k${dim}`, window.taps));
  const places = windows.map((window, dim) => window.place(axes[batch + dim], taps[dim]));
  return {
    axes,
    taps,
    at: [...axes.slice(0, batch), ...places.map(({ at }) => at)],
    conditions: places.flatMap(({ conditions }) => conditions),
  };
}

/**
 * The pool of an input with its border, whose elements are worked out once. The host asks of each element of each window whether it lies inside otherwise,
 * and windows that share elements ask of each more than once.
 */
function withBorder(pool: Pool, border: Expr, label: string, context: LoweringContext): Pool {
  const { input, windows } = pool;
  const all = windows.map((window) => window.bordered ?? { border: 0, windows: window });
  if (!context.device.capabilities.host || windows.every(({ bordered }) => !bordered)) return pool;
  // Either way is right: what pays for the sizes of now is taken.
  const read = windows.reduce(
    (product, window) => product * hint(window.outputSize) * extentOf(axis('k', window.taps)),
    1,
  );
  const size = all.reduce((product, { windows: { inputSize } }) => product * hint(inputSize), 1);
  if (read < 2 * size) return pool;
  const batch = input.dim - windows.length;
  const target = context.temporary(
    [...input.symSizes.slice(0, batch), ...all.map((each) => each.windows.inputSize)],
    input.dtype,
  );
  const view = new TensorView(target);
  const axes = view.axes();
  const at = axes.map((own, dim) => (dim < batch ? own : sub(own, indexParam(all[dim - batch].border))));
  const conditions = windows.flatMap(({ inputSize }, dim) => [
    binary('ge', at[batch + dim], index(0)),
    binary('lt', at[batch + dim], indexParam(inputSize)),
  ]);
  const value = where(conditions, new TensorView(input).at(at), border);
  const stores = [{ operand: view.operand, offset: view.offsetAt(axes), value }];
  context.launch({ kind: 'nest', label: `${label}, border`, axes, innerAxes: [], stores });
  return { input: target, windows: all.map((each) => each.windows) };
}

function lowest(dtype: ScalarType, type: ExprType): Expr {
  if (type === 'float') return constant('float', -Infinity);
  if (type === 'i64') return constant('i64', -(2n ** 63n));
  const values: Partial<Record<ScalarType, number>> = { uint8: 0, int8: -128, int16: -32768 };
  return constant('i32', values[dtype] ?? -(2 ** 31));
}

function* hostMaxPool(pool: Pool, [out, indices]: readonly Tensor[]): Pieces {
  const input = yield* numbersInPieces(pool.input);
  const positions = indices ? scratch(Float64Array, indices.numel) : null;
  const { size, outputSize } = planeSizes(pool);
  yield* fillInPieces(out, (values) =>
    forEachWindow(pool.windows, planesOf(pool), ({ position, offsets, count, isFirst, from, to }) => {
      for (let plane = from; plane < to; plane++) {
        const start = plane * size;
        const place = plane * outputSize + position;
        let best = isFirst ? -Infinity : values[place];
        let bestAt = isFirst ? (count > 0 ? offsets[0] : 0) : (positions?.[place] ?? 0);
        for (let at = 0; at < count; at++) {
          const value = input[start + offsets[at]];
          if (value > best || Number.isNaN(value)) {
            best = value;
            bestAt = offsets[at];
          }
        }
        values[place] = best;
        if (positions) positions[place] = bestAt;
      }
    }),
  );
  if (positions) yield* storeInPieces(indices, positions);
}

function lowerMaxPool(label: string, pool: Pool, [out, indices]: readonly Tensor[], context: LoweringContext): void {
  if (symEq(out.symNumel, 0)) return;
  const target = new TensorView(out);
  const border = lowest(pool.input.dtype, exprTypeOf(pool.input.dtype));
  const bordered = indices ? pool : withBorder(pool, border, label, context);
  const { axes, taps, at, conditions } = deviceWindows(bordered, target);
  const value = where(conditions, new TensorView(bordered.input).at(at), border);
  const stores = [
    { operand: target.operand, offset: target.offsetAt(axes), value: reduce('max', taps, value) as Expr },
  ];
  if (indices) {
    const places = new TensorView(indices);
    const winner = cast('i32', reduce('argmax', taps, value));
    stores.push({
      operand: places.operand,
      offset: places.offsetAt(axes),
      value: cast('i64', planePosition(pool, axes, winner)),
    });
  }
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
}

/** From the number of a window's element to its place in the plane. */
function planePosition({ input, windows }: Pool, axes: readonly Expr[], element: Expr): Expr {
  const batch = input.dim - windows.length;
  const sizes = new TensorView(input).sizes.slice(batch);
  let rest = element;
  const places: Expr[] = [];
  for (let dim = windows.length - 1; dim >= 0; dim--) {
    const tap = dim === 0 ? rest : binary('fmod', rest, windows[dim].taps);
    rest = binary('truncdiv', rest, windows[dim].taps);
    places.unshift(windows[dim].place(axes[batch + dim], tap).at);
  }
  return places.reduce((position, place, dim) => add(mul(position, sizes[dim]), place));
}

/** How an average divides: by the elements in the window, with or without padding, or by a given number. */
interface Divisor {
  readonly padded: boolean;
  readonly override: number | null;
}

function* hostAveragePool(pool: Pool, { padded, override }: Divisor, out: Tensor): Pieces {
  const input = yield* numbersInPieces(pool.input);
  const integral = isIntegral(out.dtype, false);
  const { size, outputSize } = planeSizes(pool);
  const planes = planesOf(pool);
  const lengthOf = (window: PoolWindows, o: number): number => (padded ? window.paddedLength(o) : window.count(o));
  /** Of windows that are added up in parts. */
  const sums = scratch(Float64Array, planes);
  yield* fillInPieces(out, (values) =>
    forEachWindow(pool.windows, planes, ({ position, at, offsets, count, isFirst, isLast, from, to }) => {
      const length = pool.windows.reduce((product, window, dim) => product * lengthOf(window, at[dim]), 1);
      const divisor = override ?? length;
      for (let plane = from; plane < to; plane++) {
        const start = plane * size;
        let sum = isFirst ? 0 : sums[plane];
        for (let tap = 0; tap < count; tap++) sum += input[start + offsets[tap]];
        if (!isLast) {
          sums[plane] = sum;
          continue;
        }
        const average = divisor === 0 ? 0 : sum / divisor;
        values[plane * outputSize + position] = integral ? Math.trunc(average) : average;
      }
    }),
  );
}

function lowerAveragePool(
  label: string,
  pool: Pool,
  { padded, override }: Divisor,
  out: Tensor,
  context: LoweringContext,
): void {
  if (symEq(out.symNumel, 0)) return;
  const target = new TensorView(out);
  const bordered = withBorder(pool, cast(exprTypeOf(pool.input.dtype), constant('float', 0)), label, context);
  const { axes, taps, at, conditions } = deviceWindows(bordered, target);
  const element = where(conditions, cast('float', new TensorView(bordered.input).at(at)), constant('float', 0));
  const batch = pool.input.dim - pool.windows.length;
  const divisor =
    override === null
      ? pool.windows.map((window, dim) => window.length(axes[batch + dim], padded)).reduce(mul)
      : floatParam(override);
  const value = cast(exprTypeOf(out.dtype), div(reduce('sum', taps, element), divisor));
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }];
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
}

/** One number a dimension: one for all, as many as dimensions, or none where a default stands in. */
function perDimension(values: readonly number[], rank: number, name: string, argument: string): readonly number[] {
  const words = ['', 'an int', 'two ints', 'three ints'];
  check(
    values.length === 1 || values.length === rank,
    () =>
      `${name}: ${argument} must ${rank === 3 && argument === 'kernel_size' && name.startsWith('avg') ? '' : 'either '}be a single int, or a tuple of ${words[rank]}`,
  );
  return values.length === rank ? values : new Array<number>(rank).fill(values[0]);
}

interface SlidingArgs {
  readonly self: Tensor;
  readonly kernel_size: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation?: readonly number[];
  readonly ceil_mode: boolean;
}

/** Checks a sliding pool's arguments (pool2d_shape_check and its kin) and places its windows. */
function slidingPool(name: string, rank: number, args: SlidingArgs): Pool {
  const { self } = args;
  if (name === 'max_pool1d') checkMaxPool1d(args);
  if (name === 'avg_pool1d') {
    check(
      self.dim === 2 || self.dim === 3,
      () =>
        `Expected 2 to 3 dimensions, but got ${self.dim}-dimensional tensor for argument #1 'self' (while checking arguments for avg_pool1d)`,
    );
  }
  const kernelSize = perDimension(args.kernel_size, rank, name, 'kernel_size');
  const stride = args.stride.length === 0 ? kernelSize : perDimension(args.stride, rank, name, 'stride');
  const padding = perDimension(args.padding, rank, name, 'padding');
  const dilation = perDimension(args.dilation ?? [1], rank, name, 'dilation');
  check(
    stride.every((value) => value > 0),
    'stride should not be zero',
  );
  check(
    self.dim === rank + 1 || self.dim === rank + 2,
    () => `non-empty ${rank + 1}D or ${rank + 2}D (batch mode) tensor expected for input`,
  );
  check(
    kernelSize.every((value) => value > 0),
    () => `kernel size should be greater than zero, but got ${kernelText('kernel', kernelSize)}`,
  );
  check(
    dilation.every((value) => value > 0),
    () => `dilation should be greater than zero, but got ${kernelText('dilation', dilation)}`,
  );
  padding.forEach((value, dim) => {
    check(value >= 0, () => `pad must be non-negative, but got pad: ${value}`);
    check(
      value <= Math.floor(((kernelSize[dim] - 1) * dilation[dim] + 1) / 2),
      () =>
        `pad should be at most half of effective kernel size, but got pad=${value}, kernel_size=${kernelSize[dim]} and dilation=${dilation[dim]}`,
    );
  });
  checkNotEmpty(self, rank, name);
  const image = self.symSizes.slice(-rank);
  check(
    name !== 'avg_pool3d' || image.every((size, dim) => symGe(size, kernelSize[dim])),
    () => `input image (${kernelText('', settleAll(image))}) smaller than kernel size (${kernelText('k', kernelSize)})`,
  );
  const windows = kernelSize.map((size, dim) => {
    const inputSize = self.symSizes[self.dim - rank + dim];
    const outputSize = pooledSize(inputSize, size, stride[dim], padding[dim], dilation[dim], args.ceil_mode);
    return slidingWindows(inputSize, outputSize, size, stride[dim], padding[dim], dilation[dim]);
  });
  check(
    windows.every(({ outputSize }) => symGe(outputSize, 1)),
    () => {
      const channels = self.sizes[self.dim - rank - 1];
      const shown = (sizes: readonly SymInt[]): string =>
        `(${[channels, ...(rank === 1 ? [1] : []), ...settleAll(sizes)].join('x')})`;
      return `Given input size: ${shown(windows.map(({ inputSize }) => inputSize))}. Calculated output size: ${shown(windows.map(({ outputSize }) => outputSize))}. Output size is too small`;
    },
  );
  return { input: self, windows };
}

const kernelText = (name: string, values: readonly number[]): string =>
  values.map((value, dim) => `${name}${['T', 'H', 'W'].slice(-values.length)[dim]}: ${value}`).join(' ');

function checkNotEmpty(self: Tensor, rank: number, name: string): void {
  const empty = self.symSizes.slice(-(rank + 1)).findIndex((size) => symEq(size, 0));
  if (rank === 3) {
    const kernelName = name.startsWith('max') ? 'max_pool3d_with_indices_out_cpu_template()' : `${name}()`;
    check(
      empty === -1,
      () =>
        `${kernelName}: Expected input's non-batch dimensions to have positive length, but input has a shape of ${sizesText(self.sizes)} and non-batch dimension ${empty} has length zero!`,
    );
    return;
  }
  check(empty === -1, () => {
    const shown = rank === 1 ? [...self.sizes.slice(0, -1), 1, ...self.sizes.slice(-1)] : self.sizes;
    return `Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:${sizesText(shown)}`;
  });
}

function checkMaxPool1d({ self, kernel_size, stride, padding, dilation = [1], ceil_mode }: SlidingArgs): void {
  const ranked = self.dim === 2 || self.dim === 3;
  check(
    ranked && self.symSizes.slice(-2).every((size) => !symEq(size, 0)),
    () =>
      `max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:${sizesText(self.sizes)}`,
  );
  const size = kernel_size[0];
  const step = stride[0] ?? size;
  check(size > 0, () => `max_pool1d() kernel_size must be greater than zero, but got ${size}`);
  check(step > 0, () => `max_pool1d() stride must be greater than zero, but got ${step}`);
  check(padding[0] >= 0, () => `max_pool1d() padding must be non-negative, but got ${padding[0]}`);
  check(
    padding[0] <= size / 2,
    () =>
      `max_pool1d() padding should be at most half of kernel size, but got padding=${padding[0]} and kernel_size=${size}`,
  );
  check(dilation[0] > 0, () => `max_pool1d() dilation must be greater than zero, but got ${dilation[0]}`);
  const output = pooledSize(self.symSizes[self.dim - 1], size, step, padding[0], dilation[0], ceil_mode);
  check(symGt(output, 0), () => `max_pool1d() Invalid computed output size: ${textOf(output)}`);
}

interface AdaptiveArgs {
  readonly self: Tensor;
  readonly output_size: readonly number[];
}

function adaptivePool(name: string, rank: number, { self, output_size }: AdaptiveArgs): Pool {
  const ranked = self.dim === rank + 1 || self.dim === rank + 2;
  const isMax = name.includes('max');
  if (rank === 1) {
    check(
      ranked,
      () =>
        `Expected 2 to 3 dimensions, but got ${self.dim}-dimensional tensor for argument #1 'self' (while checking arguments for ${name})`,
    );
  }
  check(
    ranked,
    () =>
      `${name}(): Expected ${rank + 1}D or ${rank + 2}D tensor, but got${isMax ? ':' : ''} ${sizesText(self.sizes)}`,
  );
  const outputs = output_size.length === 1 && rank > 1 ? new Array<number>(rank).fill(output_size[0]) : output_size;
  check(outputs.length === rank, () =>
    rank === 1
      ? `${name}() argument 'output_size' should contain one int (got ${outputs.length})`
      : isMax
        ? `${name}(): internal error: output_size.size() must be ${rank}`
        : `${name}: output_size must be ${rank}`,
  );
  check(!isMax || outputs.every((size) => size >= 0), () => {
    const sizes = [...self.sizes.slice(0, -rank), ...(rank === 1 ? [1] : []), ...outputs];
    return `Trying to create tensor with negative dimension ${outputs.find((size) => size < 0)}: ${sizesText(sizes)}`;
  });
  // An average over everything is a mean, of nothing as well.
  const isMean = !isMax && outputs.every((size) => size === 1);
  self.symSizes.forEach((size, dim) => {
    check(
      symGt(size, 0) || dim < self.dim - rank || outputs.every((value) => value === 0) || isMean,
      () =>
        `${name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ${sizesText(self.sizes)} with dimension ${dim} being empty`,
    );
  });
  // PyTorch leaves the last blank of three sizes out.
  const listed = (sizes: readonly number[]): string => sizes.join(', ').replace(/^(.*, .*), /, '$1,');
  check(
    outputs.every((value) => value >= 0),
    () =>
      `${rank === 1 ? name.replace('1', '2') : name}: elements of output_size must be greater than or equal to 0 but received {${listed(rank === 1 ? [1, ...outputs] : outputs)}}`,
  );
  return {
    input: self,
    windows: outputs.map((size, dim) => adaptiveWindows(self.symSizes[self.dim - rank + dim], size)),
  };
}

function refuse(dtype: ScalarType, name: string, integers: boolean): void {
  if (isFloatingPoint(dtype) || (integers && isIntegral(dtype, false))) return;
  throw notImplementedFor(name, dtypeName(dtype));
}

/** An average over everything is a mean; else nothing looks at the dtype of planes there are none of, but in three dimensions. */
function refuseAdaptiveAverage(name: string, rank: number, pool: Pool): void {
  const { dtype } = pool.input;
  const sizes = pooledSizes(pool);
  const isMean = !name.startsWith('_') && sizes.slice(-rank).every((size) => symEq(size, 1));
  check(
    !isMean || !isIntegral(dtype, true),
    () =>
      `mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ${dtypeName(dtype)}`,
  );
  if (rank === 3) refuse(dtype, 'adaptive_avg_pool3d_cpu', false);
  else if (symGt(symProduct(sizes), 0)) refuse(dtype, 'adaptive_avg_pool2d', false);
}

function maxPoolRow<Args>(
  schema: string,
  kernelName: string,
  makePool: (args: Args) => Pool,
  integers: boolean,
  forms: Forms = {},
): OperatorRow {
  const label = schema.slice(0, schema.indexOf('('));
  const withIndices = schema.endsWith('(Tensor, Tensor)');
  return kernel<Args>(schema, {
    ...forms,
    shape(args): TensorMeta[] {
      const pool = makePool(args);
      refuse(pool.input.dtype, kernelName, integers);
      const sizes = pooledSizes(pool);
      const values: TensorMeta = { sizes, dtype: pool.input.dtype };
      return withIndices ? [values, { sizes, dtype: 'int64' }] : [values];
    },
    host: (args, outputs) => hostMaxPool(makePool(args), outputs),
    lower: (args, outputs, context) => lowerMaxPool(label, makePool(args), outputs, context),
  });
}

function averagePoolRow<Args>(
  schema: string,
  makePool: (args: Args) => Pool,
  divisor: (args: Args) => Divisor,
  refuseDtype: (pool: Pool) => void,
): OperatorRow {
  const label = schema.slice(0, schema.indexOf('('));
  return kernel<Args>(schema, {
    out: true,
    shape(args): TensorMeta {
      const pool = makePool(args);
      refuseDtype(pool);
      return { sizes: pooledSizes(pool), dtype: pool.input.dtype };
    },
    host: (args, [out]) => hostAveragePool(makePool(args), divisor(args), out),
    lower: (args, [out], context) => lowerAveragePool(label, makePool(args), divisor(args), out, context),
  });
}

interface AverageArgs extends SlidingArgs {
  readonly count_include_pad: boolean;
  readonly divisor_override?: number | null;
}

function averageDivisor({ count_include_pad, divisor_override = null }: AverageArgs): Divisor {
  check(divisor_override !== 0, 'divisor must be not zero');
  return { padded: count_include_pad, override: divisor_override };
}

const poolsOfRank = (rank: 1 | 2 | 3): OperatorRow[] => {
  const list = `int[${rank}]`;
  const [zero, one] = rank === 1 ? ['[0]', '[1]'] : ['0', '1'];
  const common = `Tensor self, ${list} kernel_size, ${list} stride=[], ${list} padding=${zero}`;
  const maxArgs = `(${common}, ${list} dilation=${one}, bool ceil_mode=False)`;
  const averageArgs = `(${common}, bool ceil_mode=False, bool count_include_pad=True${rank === 1 ? '' : ', int? divisor_override=None'})`;
  const maxName = `max_pool${rank}d`;
  const averageName = `avg_pool${rank}d`;
  const adaptiveMax = `adaptive_max_pool${rank}d`;
  const adaptiveAverage = `adaptive_avg_pool${rank}d`;
  const maxKernel = rank === 1 ? 'max_pool1d_impl' : maxName;
  const sliding = (args: SlidingArgs): Pool => slidingPool(maxName, rank, args);
  const indexed = (args: SlidingArgs): Pool => slidingPool(`${maxName}_with_indices`, rank, args);
  const averaging = (args: AverageArgs): Pool => {
    averageDivisor(args);
    return slidingPool(averageName, rank, args);
  };
  const whole: Divisor = { padded: false, override: null };
  const outputType = rank === 1 ? list : `SymInt[${rank}]`;
  const averageAdaptive = (name: string): OperatorRow =>
    averagePoolRow(
      `aten::${name}(Tensor self, ${outputType} output_size) -> Tensor`,
      (args: AdaptiveArgs) => adaptivePool(adaptiveAverage, rank, args),
      () => whole,
      (pool) => refuseAdaptiveAverage(name, rank, pool),
    );
  const pair = rank === 1 ? {} : { out: 'out(out, indices)' };
  return [
    maxPoolRow(`aten::${maxName}${maxArgs} -> Tensor`, maxKernel, sliding, rank > 1),
    maxPoolRow(
      `aten::${maxName}_with_indices${maxArgs} -> (Tensor, Tensor)`,
      rank === 1 ? 'max_pool2d' : maxKernel,
      indexed,
      true,
      pair,
    ),
    averagePoolRow(`aten::${averageName}${averageArgs} -> Tensor`, averaging, averageDivisor, ({ input }) =>
      refuse(input.dtype, rank === 3 ? 'avg_pool3d_out_frame' : 'avg_pool2d', true),
    ),
    maxPoolRow(
      `aten::${adaptiveMax}(Tensor self, ${list} output_size) -> (Tensor, Tensor)`,
      rank === 3 ? 'adaptive_max_pool3d_cpu' : 'adaptive_max_pool2d',
      (args: AdaptiveArgs) => adaptivePool(adaptiveMax, rank, args),
      false,
      pair,
    ),
    averageAdaptive(adaptiveAverage),
    ...(rank === 1 ? [] : [averageAdaptive(`_${adaptiveAverage}`)]),
  ];
};

export const poolingRows: readonly OperatorRow[] = ([1, 2, 3] as const).flatMap(poolsOfRank);
