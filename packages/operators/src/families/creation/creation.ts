import { Complex } from '@cresset/ir';
import {
  complexType,
  contiguousStrides,
  elementSize,
  isFloatingPoint,
  isComplex,
  isIntegral,
  Storage,
  Tensor,
  type ScalarType,
  settleAll,
  settle,
  symEq,
  symFloorDiv,
  symGe,
  symSub,
  textOf,
  type SymInt,
  SymNode,
} from '@cresset/tensor';
import {
  binary,
  cast,
  constant,
  param,
  select,
  TensorView,
  type AxisExpr,
  type Expr,
  exprTypeOf,
} from '@cresset/tensorexpr';
import { kernel, type Forms, type KernelRule } from '../../table/builders.ts';
import { copyPieces } from '../../kernels/copy.ts';
import { channelsLastStrides, checkSizes, denseStridesLike, stridesInOrder } from '../../kernels/dimensions.ts';
import { readScalar, scalarToBigint, scalarToNumber } from '../../kernels/elements.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { lowerFill, lowerGenerated, fillPieces, writeInPieces } from '../../kernels/fill.ts';
import { argumentParam, scalarParam } from '../../kernels/loops/pointwise.ts';
import { roundingTo } from '../../kernels/numbers/rounding.ts';
import type { LoweringContext, OperatorRow, Scalar, TensorMeta } from '../../table/row.ts';
import { defaultDtype, dtypeName, scalarDtype } from '../../kernels/type-promotion.ts';

/** Tensors made from sizes and numbers (ATen/native/TensorFactories.cpp, RangeFactories.cpp). */

const options = 'ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None';
const likeOptions = `${options}, MemoryFormat? memory_format=None`;

interface Options {
  readonly dtype: ScalarType | null;
  readonly memory_format?: number | null;
}

interface Like extends Options {
  readonly self: Tensor;
}

interface Sized extends Options {
  readonly size: readonly SymInt[];
}

/** c10::MemoryFormat by its numbers; 0 is C order. */
const Format = { Preserve: 1, ChannelsLast: 2, ChannelsLast3d: 3 } as const;

/** Strides for a memory format's number; undefined for C order. */
export function stridesForFormat(sizes: readonly SymInt[], format: number | null | undefined): number[] | undefined {
  if (format === Format.ChannelsLast || format === Format.ChannelsLast3d) {
    const rank = format === Format.ChannelsLast ? 4 : 5;
    check(sizes.length === rank, `required rank ${rank} tensor to use channels_last format`);
    return channelsLastStrides(settleAll(sizes));
  }
  return undefined;
}

/** The layout of a copy of `tensor`: the format asked for, its own where there is none. */
export function metaLike(tensor: Tensor, dtype: ScalarType, format: number | null | undefined): TensorMeta {
  const { symSizes: sizes } = tensor;
  const strides =
    format === null || format === undefined || format === Format.Preserve
      ? denseStridesLike(tensor)
      : stridesForFormat(sizes, format);
  return strides ? { sizes, dtype, strides } : { sizes, dtype };
}

function sizedMeta({ size, dtype, memory_format: format }: Sized, defaulted: ScalarType = defaultDtype): TensorMeta {
  checkSizes(size);
  const strides = stridesForFormat(size, format);
  return { sizes: size, dtype: dtype ?? defaulted, ...(strides && { strides }) };
}

/** Elements all equal to `value`. @param at which argument the value is; -1 where it is none */
function filled<Args>(
  schema: string,
  shape: (args: Args) => TensorMeta,
  value: (args: Args) => Scalar,
  forms: Forms & Pick<KernelRule<Args>, 'onExpanded'> = {},
  at = -1,
): OperatorRow {
  return kernel<Args>(schema, {
    shape,
    *host(args, [output]) {
      const number = value(args);
      // New memory is zero already.
      if (number !== 0n) yield* fillPieces(output, number);
    },
    lower: (args, [output], context) =>
      lowerFill(output, value(args), context, schema.slice(0, schema.search(/[.(]/)), at),
    readsNoData: true,
    takesSizes: true,
    ...forms,
  });
}

const newMeta = (args: Like & Sized): TensorMeta => sizedMeta(args, args.self.dtype);
const likeMeta = ({ self, dtype, memory_format: format }: Like): TensorMeta =>
  metaLike(self, dtype ?? self.dtype, format);

interface Filled {
  readonly fill_value: Scalar;
}

const filledBy = ({ fill_value: value }: Filled): Scalar => value;

/** `zeros` has words of its own for a negative size. */
function zerosMeta(args: Sized): TensorMeta {
  check(
    args.size.every((size) => symGe(size, 0)),
    'zeros: Dimension size must be non-negative.',
  );
  return sizedMeta(args);
}

/** `zeros`, `zeros_like` and `new_zeros`, and the same for another value. */
const constants = (name: string, value: Scalar): OperatorRow[] => [
  filled<Sized>(
    `aten::${name}(SymInt[] size, *, ${options}) -> Tensor`,
    name === 'zeros' ? zerosMeta : sizedMeta,
    () => value,
  ),
  filled<Like>(`aten::${name}_like(Tensor self, *, ${likeOptions}) -> Tensor`, likeMeta, () => value),
  filled<Like & Sized>(`aten::new_${name}(Tensor self, SymInt[] size, *, ${options}) -> Tensor`, newMeta, () => value),
];

interface Range extends Options {
  readonly start?: Scalar;
  readonly end: Scalar;
  readonly step?: Scalar;
}

function rangeDtype({ start, end, step, dtype }: Range): ScalarType {
  if (dtype) return dtype;
  return [start, end, step].some((value) => typeof value === 'number') ? defaultDtype : 'int64';
}

function rangeBounds(args: Range): { start: number; end: number; step: number } {
  const { start = 0n, end, step = 1n } = settledRange(args);
  // For int64 the numbers are integers before anything else is asked of them.
  const whole = rangeDtype(args) === 'int64';
  const [from, to, by] = [start, end, step].map((value) =>
    Number(whole ? scalarToBigint(value) : scalarToNumber(value)),
  );
  check(by !== 0, 'step must be nonzero');
  check(
    Number.isFinite(from) && Number.isFinite(to),
    `unsupported range: ${from} -> ${to}`.replaceAll('Infinity', 'inf'),
  );
  check((by > 0 && to >= from) || (by < 0 && to <= from), 'upper bound and lower bound inconsistent with step sign');
  return { start: from, end: to, step: by };
}

/** A bound that is worked out of sizes; those of whole numbers only. */
const isSize = (value: unknown): value is SymNode => value instanceof SymNode;

/** How many numbers there are from one size to another, one by one; null where a bound is no size, or a step is another. */
function sizeOfRange(args: Range, inclusive: boolean): SymInt | null {
  const { start = 0n, end, step = 1n } = args as { start?: unknown; end: unknown; step?: unknown };
  const [from, to] = [start, end].map((value) =>
    typeof value === 'bigint' ? Number(value) : isSize(value) ? value : null,
  );
  if (inclusive || step !== 1n || from === null || to === null || rangeDtype(args) !== 'int64') return null;
  check(symGe(to, from), 'upper bound and lower bound inconsistent with step sign');
  return symSub(to, from);
}

function rangeCount(args: Range, inclusive: boolean): SymInt {
  const size = [args.start, args.end].some(isSize) ? sizeOfRange(args, inclusive) : null;
  if (size !== null) return size;
  const { start, end, step } = rangeBounds(args);
  if (inclusive) return Math.floor((end - start) / step) + 1;
  if (rangeDtype(args) === 'int64') {
    const { start: first, end: last, step: by } = settledRange(args);
    const [from, to, each] = [first ?? 0n, last, by ?? 1n].map(scalarToBigint);
    const distance = to - from;
    return Number(distance / each + (distance % each === 0n ? 0n : 1n));
  }
  return Math.ceil((end - start) / step);
}

function rangeRow(schema: string, inclusive = false): OperatorRow {
  const dtypeOf = (args: Range): ScalarType => (inclusive ? (args.dtype ?? defaultDtype) : rangeDtype(args));
  return kernel<Range>(schema, {
    shape: (args) => ({ sizes: [rangeCount(args, inclusive)], dtype: dtypeOf(args) }),
    *host(args, [output]) {
      if (isIntegral(output.dtype, true)) {
        const from = scalarToBigint(args.start ?? 0n);
        const by = scalarToBigint(args.step ?? 1n);
        yield* writeInPieces(output, (at) => from + BigInt(at) * by);
      } else {
        const { start, step } = rangeBounds(args);
        yield* writeInPieces(output, (at) => start + at * step);
      }
    },
    lower: (args, [output], context) => lowerProgression(output, args.start ?? 0n, args.step ?? 1n, context),
    readsNoData: true,
    takesSizes: 'scalars',
  });
}

/** A range with numbers in the place of expressions of sizes. */
function settledRange({ start, end, step, ...rest }: Range): Range {
  const settled = (value: Scalar): Scalar => (isSize(value) ? BigInt(settle(value)) : value);
  return {
    ...rest,
    end: settled(end),
    ...(start !== undefined && { start: settled(start) }),
    ...(step !== undefined && { step: settled(step) }),
  };
}

/** A size as an element of that dtype; of narrower integers than 32 bits it would wrap. */
function sizeParam(size: SymNode, dtype: ScalarType): Expr {
  const type = exprTypeOf(dtype);
  const isWide = dtype === 'int64' || dtype === 'int32' || type === 'float';
  return isWide ? param(type, size) : scalarParam(BigInt(settle(size)), dtype);
}

/** start + i · step, in the dtype of the output. */
function lowerProgression(output: Tensor, start: Scalar, step: Scalar, context: LoweringContext): void {
  const from = isSize(start) ? sizeParam(start, output.dtype) : scalarParam(start, output.dtype);
  const by = scalarParam(isSize(step) ? BigInt(settle(step)) : step, output.dtype);
  lowerGenerated(output, ([i]) => binary('add', from, binary('mul', cast(from.type, i), by)), context, 'aten::arange');
}

interface Steps extends Options {
  readonly start: Scalar | Tensor;
  readonly end: Scalar | Tensor;
  readonly steps: SymInt;
  readonly base?: number;
  /** Of the form with `out=`. */
  readonly out?: Tensor;
}

function boundsComplaint(name: string, ends: readonly (Scalar | Tensor)[]): string {
  const [start, end] = ends.map((value) => (value instanceof Tensor ? value.dim : 0));
  return `${name} only supports 0-dimensional start and end tensors, but got start with ${start} dimension(s) and end with ${end} dimension(s).`;
}

/** Where the steps begin and end. */
function boundsOf({ start, end }: Steps, name: string): Scalar[] {
  const isNumber = (value: Scalar | Tensor): boolean => !(value instanceof Tensor) || value.dim === 0;
  check(isNumber(start) && isNumber(end), () => boundsComplaint(name, [start, end]));
  return [start, end].map((value) => (value instanceof Tensor ? readScalar(value, value.storageOffset) : value));
}

function stepsDtype({ start, end, dtype }: Steps): ScalarType {
  if (dtype) return dtype;
  const isComplexValue = [start, end].some(
    (value) => value instanceof Complex || (value instanceof Tensor && value.dtype.startsWith('complex')),
  );
  return isComplexValue ? complexType(defaultDtype) : defaultDtype;
}

/** Points at equal distances, both ends included; the second half is counted from the end, as PyTorch does. */
function pointAt(start: Scalar, end: Scalar, steps: number, at: number, whole: boolean): Scalar {
  if (start instanceof Complex || end instanceof Complex) {
    const [a, b] = [start, end].map((value) => (value instanceof Complex ? value : new Complex(Number(value), 0)));
    const part = (x: number, y: number): number => Number(pointAt(x, y, steps, at, false));
    return new Complex(part(a.re, b.re), part(a.im, b.im));
  }
  const [from, to] = [Number(start), Number(end)];
  if (steps === 1) return from;
  const step = (to - from) / (steps - 1);
  const value = at < Math.floor(steps / 2) ? from + step * at : to - step * (steps - at - 1);
  return whole ? Math.trunc(value) : value;
}

/** The points of `linspace` as PyTorch rounds them: ends and step to the dtype, halves after each operation. */
function roundedPoints(start: number, end: number, steps: number, dtype: ScalarType): (at: number) => number {
  const round = roundingTo(dtype);
  const [from, to] = [round(start), round(end)];
  if (steps === 1) return () => from;
  const step = round(round(to - from) / (steps - 1));
  // Of float32 the product is not rounded: it goes into a fused multiplication and addition.
  const times =
    dtype === 'float32'
      ? (count: number): number => step * count
      : (count: number): number => round(step * round(count));
  const half = Math.floor(steps / 2);
  return (at) => (at < half ? from + times(at) : to - times(steps - at - 1));
}

function stepsRows(name: string, extra: string, value: (point: Scalar, args: Steps) => Scalar): OperatorRow[] {
  const tail = `int steps${extra}, *, ${options}) -> Tensor`;
  return [
    ['', 'Scalar start, Scalar end'],
    ['.Tensor_Tensor', 'Tensor start, Tensor end'],
    ['.Tensor_Scalar', 'Tensor start, Scalar end'],
    ['.Scalar_Tensor', 'Scalar start, Tensor end'],
  ].map(([overload, ends]) =>
    kernel<Steps>(`aten::${name}${overload}(${ends}, ${tail}`, {
      shape: (args) => {
        check(symGe(args.steps, 0), 'number of steps must be non-negative');
        return { sizes: [args.steps], dtype: stepsDtype(args) };
      },
      *host(args, [output]) {
        const [start, end] = boundsOf(args, name);
        const steps = settle(args.steps);
        const isWhole = isIntegral(output.dtype, true);
        // The only point of a power is its first bound as it was given.
        const cuts = isWhole && !(name === 'logspace' && steps === 1);
        const [a, b] = cuts ? [start, end].map(scalarToBigint) : [start, end];
        const whole = isWhole && name === 'linspace';
        const point =
          name === 'linspace' && isFloatingPoint(output.dtype)
            ? roundedPoints(Number(a), Number(b), steps, output.dtype)
            : (at: number): Scalar => pointAt(a, b, steps, at, whole);
        // Points between complex numbers are objects, and a power of one takes a logarithm.
        yield* writeInPieces(output, (at) => value(point(at), args), isComplex(output.dtype) ? 256 : 16);
      },
      lower: (args, [output], context) => lowerSteps(name, args, output, context),
      // Whole numbers are cut off points in double precision, those of an `out` argument too.
      lowerable: (args) => !isIntegral(args.out?.dtype ?? stepsDtype(args), true),
      readsNoData: overload === '',
      takesSizes: true,
    }),
  );
}

/** As `pointAt`, with ends that may be tensors which only the device has. */
function lowerSteps(name: string, args: Steps, output: Tensor, context: LoweringContext): void {
  const { start, end, steps, base = 10 } = args;
  const [from, to] = [start, end].map((value, at): Expr => {
    if (!(value instanceof Tensor)) return argumentParam(context, at, value, 'float32');
    check(value.dim === 0, () => boundsComplaint(name, [start, end]));
    return cast('float', new TensorView(value).at([]));
  });
  const isOne = symEq(steps, 1);
  const distance = binary('div', binary('sub', to, from), param('float', isOne ? 1 : symSub(steps, 1)));
  lowerGenerated(
    output,
    ([i]) => {
      const at = cast('float', i);
      const left = binary('sub', param('float', symSub(steps, 1)), at);
      const isFirstHalf = binary('lt', at, param('float', symFloorDiv(steps, 2)));
      const point = select(
        isFirstHalf,
        binary('add', from, binary('mul', distance, at)),
        binary('sub', to, binary('mul', distance, left)),
      );
      const value = isOne ? from : point;
      return name === 'linspace' ? value : binary('pow', param('float', base), value);
    },
    context,
    `aten::${name}`,
  );
}

function powerOfBase(point: Scalar, { base = 10 }: Steps): Scalar {
  if (!(point instanceof Complex)) return base ** Number(point);
  const magnitude = base ** point.re;
  const phase = point.im * Math.log(base);
  return new Complex(magnitude * Math.cos(phase), magnitude * Math.sin(phase));
}

interface Eye extends Options {
  readonly n: SymInt;
  readonly m?: SymInt;
}

const eyeRow = (schema: string): OperatorRow =>
  kernel<Eye>(schema, {
    shape: ({ n, m = n, dtype }) => {
      Object.entries({ n, m }).forEach(([name, size]) =>
        check(symGe(size, 0), () => `${name} must be greater or equal to 0, got ${textOf(size)}`),
      );
      return { sizes: [n, m], dtype: dtype ?? defaultDtype };
    },
    host: (_, [output]) =>
      fillPieces(output.asStrided([Math.min(...output.sizes)], [output.strides[0] + output.strides[1]]), 1n),
    lower: (_, [output], context) => lowerGenerated(output, ([i, j]) => binary('eq', i, j), context, 'aten::eye'),
    readsNoData: true,
    takesSizes: true,
  });

interface Triangle {
  readonly self: Tensor;
  readonly diagonal: number;
}

/** The part of matrices on one side of a diagonal, the rest 0. */
function triangleRow(name: 'tril' | 'triu'): OperatorRow {
  const isLower = name === 'tril';
  return kernel<Triangle>(`aten::${name}(Tensor self, SymInt diagonal=0) -> Tensor`, {
    shape: ({ self }) => {
      check(self.dim >= 2, `${name}: input tensor must have at least 2 dimensions`);
      return { sizes: self.symSizes, dtype: self.dtype };
    },
    *host({ self, diagonal }, [output]) {
      yield* copyPieces(output, self);
      const [rows, columns] = output.sizes.slice(-2);
      const array = output.storageArrayForWriting();
      const width = output.dtype.startsWith('complex') ? 2 : 1;
      const zero = array instanceof BigInt64Array ? 0n : 0;
      for (let row = 0; row < output.numel / Math.max(columns, 1); row++) {
        const limit = Math.min(Math.max((row % rows) + diagonal + (isLower ? 1 : 0), 0), columns);
        const [from, to] = isLower ? [limit, columns] : [0, limit];
        (array as Float32Array).fill(zero as number, (row * columns + from) * width, (row * columns + to) * width);
      }
    },
    lower: ({ self, diagonal }, [output], context) => {
      lowerMapped(output, self, context, `aten::${name}`, (axes, value) => {
        const [i, j] = axes.slice(-2);
        const edge = binary('add', i, param('i32', diagonal));
        return select(binary(isLower ? 'le' : 'ge', j, edge), value, zeroOf(value));
      });
    },
    takesSizes: true,
    inPlace: true,
    out: true,
  });
}

const zeroOf = (value: Expr): Expr =>
  constant(value.type, value.type === 'i64' ? 0n : value.type === 'bool' ? false : 0);

/** Each element a function of the one at the same place and its indices. */
function lowerMapped(
  output: Tensor,
  self: Tensor,
  context: LoweringContext,
  label: string,
  map: (axes: readonly AxisExpr[], value: Expr) => Expr,
): void {
  const source = new TensorView(self);
  lowerGenerated(output, (axes) => map(axes, source.at(axes)), context, label);
}

interface TriangleIndices {
  readonly row: number;
  readonly col: number;
  readonly offset: number;
  readonly dtype: ScalarType | null;
}

function triangleIndices({ row, col, offset }: TriangleIndices, isLower: boolean): number[][] {
  check(row >= 0, `row must be non-negative, got${row}`);
  check(col >= 0, `col must be non-negative, got${col}`);
  const places: number[][] = [[], []];
  for (let i = 0; i < row; i++) {
    for (let j = 0; j < col; j++) {
      if (isLower ? j - i > offset : j - i < offset) continue;
      places[0].push(i);
      places[1].push(j);
    }
  }
  return places;
}

const triangleIndicesRow = (name: string, isLower: boolean): OperatorRow =>
  kernel<TriangleIndices>(
    `aten::${name}(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor`,
    {
      shape: (args) => {
        const sizes = [2, triangleIndices(args, isLower)[0].length];
        const dtype = args.dtype ?? 'int64';
        if (dtype !== 'int64' && dtype !== 'int32') throw notImplementedFor(name, dtypeName(dtype));
        return { sizes, dtype };
      },
      *host(args, [output]) {
        const places = triangleIndices(args, isLower).flat();
        yield* writeInPieces(output, (at) => BigInt(places[at]));
      },
      readsNoData: true,
    },
  );

/** Memory whose contents nobody counts on. */
const emptyRow = <Args>(schema: string, shape: (args: Args) => TensorMeta): OperatorRow =>
  kernel<Args>(schema, { shape, host: () => undefined, lower: () => undefined, readsNoData: true });

interface Strided extends Sized {
  readonly stride: readonly number[];
}

function stridedMeta({ size, stride, dtype }: Strided, defaulted: ScalarType): TensorMeta {
  checkSizes(size);
  check(
    size.length === stride.length,
    `dimensionality of sizes (${size.length}) must match dimensionality of strides (${stride.length})`,
  );
  return { sizes: size, dtype: dtype ?? defaulted, strides: stride };
}

interface Permuted extends Sized {
  readonly physical_layout: readonly number[];
}

function permutedMeta({ size, physical_layout: layout, dtype }: Permuted): TensorMeta {
  check(
    layout.length === size.length,
    `Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = ${size.length} is not equal to len(physical_layout) = ${layout.length}`,
  );
  layout.forEach((dim, at) =>
    check(
      dim >= 0 && dim < size.length,
      `Dimension out of range (expected to be between 0 and ${size.length - 1}, but got ${dim} at index ${at}).  NB: negative dims not currently supported; file an issue if you want it.`,
      'IndexError',
    ),
  );
  const order = [...layout];
  check(new Set(order).size === order.length, 'Duplicate dim not allowed');
  return { sizes: size, dtype: dtype ?? defaultDtype, strides: stridesInOrder(size, order.toReversed()) };
}

/** Strided memory may have gaps and overlaps: the storage is as long as its last element asks for. */
const stridedRow = <Args>(schema: string, shape: (args: Args) => TensorMeta): OperatorRow =>
  kernel<Args>(schema, {
    host: (args) => {
      const meta = shape(args);
      const { dtype } = meta;
      const sizes = settleAll(meta.sizes);
      const strides = settleAll(meta.strides ?? contiguousStrides(sizes));
      const last = sizes.includes(0) ? 0 : sizes.reduce((sum, size, dim) => sum + (size - 1) * strides[dim], 1);
      return new Tensor(Storage.onHost(new ArrayBuffer(last * elementSize(dtype))), dtype, sizes, strides);
    },
    readsNoData: true,
  });

export const creationRows: readonly OperatorRow[] = [
  ...constants('zeros', 0n),
  ...constants('ones', 1n),
  filled<Sized & Filled>(
    `aten::full(SymInt[] size, Scalar fill_value, *, ${options}) -> Tensor`,
    (args) => sizedMeta(args, scalarDtype(args.fill_value)),
    filledBy,
    {},
    1,
  ),
  filled<Like & Filled>(
    `aten::full_like(Tensor self, Scalar fill_value, *, ${likeOptions}) -> Tensor`,
    likeMeta,
    filledBy,
    {},
    1,
  ),
  filled<Like & Sized & Filled>(
    `aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ${options}) -> Tensor`,
    newMeta,
    filledBy,
    {},
    2,
  ),
  emptyRow<Sized>(`aten::empty.memory_format(SymInt[] size, *, ${likeOptions}) -> Tensor`, sizedMeta),
  emptyRow<Like>(`aten::empty_like(Tensor self, *, ${likeOptions}) -> Tensor`, likeMeta),
  emptyRow<Like & Sized>(`aten::new_empty(Tensor self, SymInt[] size, *, ${options}) -> Tensor`, newMeta),
  stridedRow<Strided>(`aten::empty_strided(SymInt[] size, SymInt[] stride, *, ${options}) -> Tensor`, (args) =>
    stridedMeta(args, defaultDtype),
  ),
  stridedRow<Strided & Like>(
    `aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ${options}) -> Tensor`,
    (args) => stridedMeta(args, args.self.dtype),
  ),
  stridedRow<Permuted>(
    `aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ${options}) -> Tensor`,
    permutedMeta,
  ),
  filled<Like>(
    'aten::zero(Tensor self) -> Tensor',
    ({ self }) => metaLike(self, self.dtype, null),
    () => 0n,
    { inPlace: true, onExpanded: ({ self }) => fillPieces(self, 0n) },
  ),
  filled<Options & { s: Scalar }>(
    `aten::scalar_tensor(Scalar s, *, ${options}) -> Tensor`,
    ({ dtype }) => ({ sizes: [], dtype: dtype ?? defaultDtype }),
    ({ s }) => s,
  ),
  rangeRow(`aten::arange(Scalar end, *, ${options}) -> Tensor`),
  rangeRow(`aten::arange.start(Scalar start, Scalar end, *, ${options}) -> Tensor`),
  rangeRow(`aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ${options}) -> Tensor`),
  rangeRow(`aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ${options}) -> Tensor`, true),
  rangeRow(`aten::range(Scalar start, Scalar end, *, ${options}) -> Tensor`, true),
  ...stepsRows('linspace', '', (point) => point),
  ...stepsRows('logspace', ', float base=10.', powerOfBase),
  eyeRow(`aten::eye(SymInt n, *, ${options}) -> Tensor`),
  eyeRow(`aten::eye.m(SymInt n, SymInt m, *, ${options}) -> Tensor`),
  triangleRow('tril'),
  triangleRow('triu'),
  triangleIndicesRow('tril_indices', true),
  triangleIndicesRow('triu_indices', false),
];
