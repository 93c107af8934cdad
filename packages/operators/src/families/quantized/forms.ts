import { numelOf, Tensor } from '@cresset/tensor';
import { boxingOf, tensorsOf } from '../../table/boxing.ts';
import { check } from '../../kernels/errors.ts';
import { overloadOf } from '../../table/variants.ts';
import type { OperatorRow, Results, Scalar, Unboxed } from '../../table/row.ts';
import { clamp, hardsigmoid, leakyRelu, relu, sigmoid, tanh, threshold, writeInto } from './activations.ts';
import {
  channelsLastStrides,
  denseElements,
  dequantized,
  emptyQuantized,
  isChannelsLast,
  mapIntegers,
  quantized,
  quantizerOf,
  Rounding,
  roundHalfToEven,
  tensorQuantizerOf,
} from './affine.ts';
import { join } from './arithmetic.ts';
import { bilinearIntegers } from './bilinear.ts';
import { cascadeSum } from './cascade-sum.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { expand } from '../../kernels/broadcast.ts';
import { mapped } from '../../kernels/loops/mapped.ts';
import { type Pieces, filled } from '../../kernels/loops/pieces.ts';
import { elementsInPieces } from '../../kernels/numbers/numbers.ts';

/** What operators that know plain tensors do with quantised ones (the kernels that PyTorch registers for QuantizedCPU). */

type Arguments = Record<string, Unboxed>;

interface Call {
  readonly args: Arguments;
  /** The first quantised tensor among the arguments, and its quantiser. */
  readonly source: Tensor;
  /** Runs the operator itself, on plain tensors. */
  compute(args: Arguments): Pieces<Results>;
}

type Form = (call: Call) => Pieces<Results>;

/** Arguments with another tensor in the place of each quantised one. */
function* replaceQuantized(args: Arguments, replace: (tensor: Tensor) => Pieces<Tensor>): Pieces<Arguments> {
  function* replaced(value: Unboxed): Pieces<Unboxed> {
    if (Array.isArray(value)) return (yield* mapped(value as Unboxed[], replaced)) as Unboxed;
    return value instanceof Tensor && value.quantizer ? yield* replace(value) : value;
  }
  const entries = yield* mapped(Object.entries(args), function* ([name, value]): Pieces<[string, Unboxed]> {
    return [name, yield* replaced(value)];
  });
  return Object.fromEntries(entries);
}

/** Integers as float64 numbers, which every operator takes, in the memory order of the tensor. */
function* integerNumbers(tensor: Tensor): Pieces<Tensor> {
  const { elements, strides } = yield* denseElements(tensor);
  const numbers = Tensor.empty(tensor.sizes, 'float64');
  yield* filled(numbers.storageArrayForWriting() as Float64Array, 2, (at) => elements[at] as number);
  numbers.strides = strides;
  return numbers;
}

/** Such numbers as integers again, quantised as the source is. */
function* fromNumbers(numbers: Tensor, source: Tensor): Pieces<Tensor> {
  const { elements, strides } = yield* denseElements(numbers);
  const result = emptyQuantized(numbers.sizes, source.dtype, quantizerOf(source), strides);
  yield* filled(result.storageArrayForWriting() as Int32Array, 2, (at) => elements[at] as number);
  return result;
}

/** Integers that the operator only moves, or of which it takes the largest. */
function* moving({ args, source, compute }: Call): Pieces<Results> {
  function* wrap(result: Unboxed): Pieces<Unboxed> {
    return result instanceof Tensor && result.dtype === 'float64' ? yield* fromNumbers(result, source) : result;
  }
  const results = yield* compute(yield* replaceQuantized(args, integerNumbers));
  return Array.isArray(results) ? yield* mapped(results as Unboxed[], wrap) : yield* wrap(results as Unboxed);
}

/** As `moving`, for what keeps the memory format of its argument. */
function* movingInFormat(call: Call): Pieces<Results> {
  const results = yield* moving(call);
  return results instanceof Tensor ? yield* inFormatOf(call.source, results) : results;
}

/** Another dtype would be one of numbers. */
const converting: Form = (call) => {
  const dtype = call.args.dtype ?? (call.args.other as Tensor | undefined)?.dtype ?? call.source.dtype;
  check(dtype === call.source.dtype, 'Creation of quantized tensor requires quantized dtype like torch.quint8');
  return moving({ ...call, args: { ...call.args, dtype: 'float64' } });
};

/** As `moving`, with a number that becomes an integer of the tensor's quantiser. */
function movingWith(name: string): Form {
  return function* (call) {
    const rounding = new Rounding(tensorQuantizerOf(call.source), call.source.dtype);
    const given = call.args[name];
    const number =
      given instanceof Tensor ? Number((yield* dequantized(given)).contiguousArray()[0]) : Number(given ?? 0);
    const value = rounding.single(Math.fround(number));
    const inTensor = (): Tensor => Tensor.fromArray(new Float32Array([value]), [], 'float32');
    return yield* moving({ ...call, args: { ...call.args, [name]: given instanceof Tensor ? inTensor() : value } });
  };
}

/** Computed with numbers, which are quantised once more as the first argument is. */
function* computing({ args, source, compute }: Call): Pieces<Results> {
  const numbers = (yield* compute(yield* replaceQuantized(args, dequantized))) as Tensor;
  return yield* quantized(numbers, tensorQuantizerOf(source), source.dtype);
}

/** Says something of numbers. */
function* comparing({ args, compute }: Call): Pieces<Results> {
  return yield* compute(yield* replaceQuantized(args, dequantized));
}

/** Computed with integers as float64 numbers, less the zero point where `centred`; each result becomes an integer by `round`. */
function averaging(
  round: (value: number, index: number, result: Tensor, call: Call) => number,
  centred: boolean,
): Form {
  return function* (call) {
    const { args, source, compute } = call;
    const quantizer = tensorQuantizerOf(source);
    const shift = centred ? quantizer.zeroPoint : 0;
    const given = yield* replaceQuantized(args, function* (tensor) {
      const integers = yield* elementsInPieces(tensor);
      const numbers = Tensor.empty(tensor.sizes, 'float64');
      yield* filled(numbers.storageArrayForWriting() as Float64Array, 2, (at) => (integers[at] as number) - shift);
      return numbers;
    });
    const result = (yield* compute(given)) as Tensor;
    const rounding = new Rounding(quantizer, source.dtype);
    const integers = emptyQuantized(result.sizes, source.dtype, quantizer);
    const values = yield* elementsInPieces(result);
    yield* filled(integers.storageArrayForWriting() as Int32Array, 16, (index) =>
      rounding.clamp(round(values[index] as number, index, result, call)),
    );
    return yield* inFormatOf(source, integers);
  };
}

/** Whether an element of a result, by its place in C order, is in a channel that a kernel takes in vectors, and not in what is left. */
function isInVectors(index: number, sizes: readonly number[], length: number): boolean {
  const channel = Math.floor(index / numelOf(sizes.slice(2))) % sizes[1];
  return channel < sizes[1] - (sizes[1] % length);
}

/**
 * The mean of a window, rounded with the zero point in it. Where channels lie beside each other, as they are laid for windows of three
 * dimensions, they are taken in vectors, whose zero points are added afterwards.
 */
const windowed = (rank: number): Form =>
  averaging((exact, index, { sizes }, { source }) => {
    const { zeroPoint } = tensorQuantizerOf(source);
    const value = Math.fround(exact);
    const isLastChannels = (isChannelsLast(source) && !source.isContiguous()) || (rank === 3 && source.dim === 5);
    return isLastChannels && isInVectors(index, sizes, 16)
      ? roundHalfToEven(value) + zeroPoint
      : roundHalfToEven(Math.fround(value + zeroPoint));
  }, true);

/** The mean of the integers. */
const averageOf = averaging((value) => roundHalfToEven(Math.fround(value)), false);

/**
 * The mean of a window that follows from the size asked for: the sum of its integers times what is, in float32, one over its size. That is worked
 * out dimension by dimension or, where channels lie beside each other, as a scale, which numbers less the zero point are divided by.
 */
const adaptive = (rank: number): Form =>
  averaging((value, index, { sizes }, { source }) => {
    const lengths = windowAt(index, sizes.slice(-rank), source.sizes.slice(-rank));
    const count = numelOf(lengths);
    const sum = Math.round(value * count);
    if (!isChannelsLast(source)) {
      const inverse = lengths.reduce((product, length) => Math.fround(product / length), 1);
      return roundHalfToEven(Math.fround(sum * inverse));
    }
    const { zeroPoint } = tensorQuantizerOf(source);
    const inverse = Math.fround(1 / Math.fround(1 / Math.fround(1 / count)));
    const scaled = (sum - zeroPoint * count) * inverse;
    // In vectors a fused multiplication and addition.
    return roundHalfToEven(Math.fround((isInVectors(index, sizes, 8) ? scaled : Math.fround(scaled)) + zeroPoint));
  }, false);

/** The lengths of the window that an element of the result is the mean of. */
function windowAt(index: number, sizes: readonly number[], from: readonly number[]): number[] {
  const lengths: number[] = [];
  let rest = index;
  for (let dim = sizes.length - 1; dim >= 0; dim--) {
    const at = rest % sizes[dim];
    rest = Math.floor(rest / sizes[dim]);
    lengths.unshift(Math.ceil(((at + 1) * from[dim]) / sizes[dim]) - Math.floor((at * from[dim]) / sizes[dim]));
  }
  return lengths;
}

function* interpolating({ args, source, compute }: Call): Pieces<Results> {
  const { sizes } = (yield* compute(yield* replaceQuantized(args, integerNumbers))) as Tensor;
  const quantizer = tensorQuantizerOf(source);
  const rounding = new Rounding(quantizer, source.dtype);
  const integers = yield* bilinearIntegers(source, args, sizes);
  const result = emptyQuantized(sizes, source.dtype, quantizer);
  yield* filled(result.storageArrayForWriting() as Int32Array, 4, (at) => rounding.clamp(integers[at]));
  return yield* inFormatOf(source, result);
}

function* mean(call: Call): Pieces<Results> {
  const { args } = call;
  if ((args.dtype ?? null) !== null) return yield* computing(call);
  return yield* meanOver(call, (args.dim ?? []) as readonly number[], args.keepdim === true);
}

/** The innermost dimensions of a contiguous tensor have a kernel of integers; elsewhere numbers are added up as they lie in memory. */
function* meanOver(call: Call, given: readonly number[], keepdim: boolean): Pieces<Results> {
  const { source } = call;
  const quantizer = tensorQuantizerOf(source);
  const dims = given.length > 0 ? given.map((dim) => wrapDim(dim, source.dim)) : source.sizes.map((_, dim) => dim);
  const isInner = [...dims].sort((a, b) => a - b).every((dim, at) => dim === source.dim - dims.length + at);
  if (given.length > 0 && isInner && source.isContiguous()) return yield* averageOf(call);
  const sums = yield* cascadeSum(yield* dequantized(source), dims, keepdim);
  const count = numelOf(dims.map((dim) => source.sizes[dim]));
  const numbers = sums.storageArrayForWriting() as Float32Array;
  for (let at = 0; at < numbers.length; at++) numbers[at] /= count;
  return yield* quantized(sums, quantizer, source.dtype);
}

/** One window of three dimensions is a mean to PyTorch, in numbers. */
function* adaptiveInSpace(call: Call): Pieces<Results> {
  const isWhole = (call.args.output_size as readonly number[]).every((size) => size === 1);
  return yield* isWhole ? meanOver(call, [-1, -2, -3], true) : adaptive(3)(call);
}

/** The result in the memory format of the argument, where it has the same number of dimensions. */
function* inFormatOf(source: Tensor, result: Tensor): Pieces<Tensor> {
  if (source.dim !== result.dim || !isChannelsLast(source) || source.isContiguous()) return result;
  const target = emptyQuantized(result.sizes, result.dtype, quantizerOf(result), channelsLastStrides(result.sizes));
  yield* writeInto(target, result);
  return target;
}

const self = ({ args }: Call): Tensor => args.self as Tensor;
function* joining({ args }: Call): Pieces<Results> {
  const tensors = args.tensors as readonly Tensor[];
  for (const each of tensors) {
    check(each.quantizer !== null, "Could not run 'aten::qscheme' with arguments from the 'CPU' backend.");
  }
  return yield* join(tensors, args.dim as number, tensorQuantizerOf(tensors[0]), false);
}

function* stacking(call: Call): Pieces<Results> {
  const tensors = call.args.tensors as readonly Tensor[];
  const rank = tensors[0].dim + 1;
  const dim = (((call.args.dim as number) % rank) + rank) % rank;
  const wider = tensors.map((each) =>
    each.asStrided(each.sizes.toSpliced(dim, 0, 1), each.strides.toSpliced(dim, 0, 0)),
  );
  return yield* joining({ ...call, args: { ...call.args, tensors: wider, dim } });
}

/** Integers of one quantised tensor, or numbers of a plain one, written over another's. */
function* copying({ args }: Call): Pieces<Results> {
  const [target, other] = [args.self, args.src] as Tensor[];
  check(
    target.quantizer !== null,
    'Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float Tensor from a quantized Tensor',
  );
  check(
    !other.quantizer || other.dtype === target.dtype,
    'Quantized Copy only works with same data type for both Tensors',
  );
  return other.quantizer ? other : yield* quantized(expand(other, target.sizes), target.quantizer!, target.dtype);
}

function* filling({ args }: Call): Pieces<Results> {
  const target = args.self as Tensor;
  const quantizer = tensorQuantizerOf(target);
  const number = args.value instanceof Tensor ? args.value.contiguousArray()[0] : args.value;
  const value = new Rounding(quantizer, target.dtype).single(Math.fround(Number(number)));
  return yield* mapIntegers(target, quantizer, () => value);
}

/** Places that are written get numbers quantised as the tensor is. */
function* putting(call: Call): Pieces<Results> {
  const { self: target, values } = call.args as { self: Tensor; values: Tensor };
  const written = values.quantizer ? values : yield* quantized(values, tensorQuantizerOf(target), target.dtype);
  return yield* moving({ ...call, args: { ...call.args, values: written } });
}

function* emptyLike({ source }: Call): Pieces<Results> {
  return emptyQuantized(source.sizes, source.dtype, quantizerOf(source), (yield* denseElements(source)).strides);
}

const windowNames =
  'max_pool1d max_pool2d max_pool3d quantized_max_pool1d quantized_max_pool2d upsample_nearest2d upsample_nearest3d ' +
  '_upsample_nearest_exact2d _upsample_nearest_exact3d';
const movingNames =
  'flip index_select index topk sort max min channel_shuffle reflection_pad1d reflection_pad2d repeat clone contiguous ' +
  'reshape flatten pixel_shuffle pixel_unshuffle unfold amax amin masked_select tile rot90';
const comparingNames = 'eq ne lt le gt ge equal item __contains__ isnan isinf';

const FORMS: ReadonlyMap<string, Form> = new Map<string, Form>([
  ...windowNames.split(' ').map((name) => [name, movingInFormat] as const),
  ...movingNames.split(' ').map((name) => [name, moving] as const),
  ...comparingNames.split(' ').map((name) => [name, comparing] as const),
  ...[1, 2, 3].map((rank) => [`avg_pool${rank}d`, windowed(rank)] as const),
  ...[1, 2, 3].flatMap((rank) =>
    ['', '_'].map((prefix) => [`${prefix}adaptive_avg_pool${rank}d`, adaptive(rank)] as const),
  ),
  ['adaptive_avg_pool3d', adaptiveInSpace],
  ['mean', mean],
  ['gelu', computing],
  ['std', computing],
  ['upsample_bilinear2d', interpolating],
  ['constant_pad_nd', movingWith('value')],
  [
    'pad',
    (call) => {
      check(call.args.mode !== 'replicate', () => refusal('aten::replication_pad2d.out'));
      return call.args.mode === 'constant' ? movingWith('value')(call) : moving(call);
    },
  ],
  ['to', converting],
  ['empty_like', emptyLike],
  ['masked_fill', movingWith('value')],
  ['cat', joining],
  ['stack', stacking],
  ['copy', copying],
  ['fill', filling],
  ['index_put', putting],
  ['relu', (call) => relu(self(call))],
  ['relu6', (call) => clamp(self(call), 0, 6)],
  ['sigmoid', (call) => sigmoid(self(call))],
  ['tanh', (call) => tanh(self(call))],
  ['hardsigmoid', (call) => hardsigmoid(self(call))],
  ['leaky_relu', (call) => leakyRelu(self(call), call.args.negative_slope as Scalar)],
  ['threshold', (call) => threshold(self(call), call.args.threshold as Scalar, call.args.value as Scalar)],
  ['hardtanh', (call) => clamp(self(call), call.args.min_val as Scalar, call.args.max_val as Scalar)],
  ['clamp', (call) => clamp(self(call), call.args.min as Scalar | null, call.args.max as Scalar | null)],
  ['clamp_min', (call) => clamp(self(call), call.args.min as Scalar, null)],
  ['clamp_max', (call) => clamp(self(call), null, call.args.max as Scalar)],
]);

/** Those that PyTorch lets write to a quantised tensor. */
const IN_PLACE: ReadonlySet<string> = new Set(
  'relu relu6 hardtanh hardsigmoid leaky_relu clamp clamp_min clamp_max threshold masked_fill copy fill index_put'.split(
    ' ',
  ),
);

/**
 * Runs an operator on quantised tensors, whose row knows plain ones. Throws PyTorch's error where it has no such form.
 *
 * @param compute runs the operator on plain tensors
 */
export function* runQuantizedForm(
  row: OperatorRow,
  args: Readonly<Arguments>,
  compute: (args: Arguments) => Pieces<Results>,
): Pieces<Results> {
  const from = row.derived?.from ?? row;
  const name = boxingOf(from).signature.name.replace('aten::', '');
  const form = FORMS.get(name);
  const source = tensorsOf(args).find(({ quantizer }) => quantizer)!;
  const isTaken =
    form !== undefined && (row.derived === undefined || (row.derived.form === 'in-place' && IN_PLACE.has(name)));
  check(isTaken, () => refusal(kernelName(from)));
  const result = yield* form!({ args: { ...args }, source, compute });
  if (!row.derived) return result;
  yield* writeInto(args.self as Tensor, result as Tensor);
  return args.self;
}

const refusal = (kernel: string): string => `Could not run '${kernel}' with arguments from the 'QuantizedCPU' backend.`;

/** Operators that are said in terms of others, whose kernel is missing first, and those without an `out=` kernel. */
const KERNELS: Readonly<Record<string, string>> = {
  hardswish: 'hardswish',
  nonzero: 'nonzero',
  where: 'where.self',
  celu: 'elu.out',
  selu: 'elu.out',
  softmax: '_softmax.out',
  log_softmax: '_log_softmax.out',
  sum: 'sum.IntList_out',
  matmul: 'mm.out',
  linear: 'mm.out',
  batch_norm: 'native_batch_norm',
  layer_norm: 'native_batch_norm',
  zeros_like: 'zero_',
  rand_like: 'uniform_',
  adaptive_max_pool1d: 'adaptive_max_pool2d.out',
};

/** The name under which PyTorch looks for a kernel: most operators are said in terms of their `out=` form. */
function kernelName(row: OperatorRow): string {
  const { name } = boxingOf(row).signature;
  const kernel = KERNELS[name.replace('aten::', '')];
  if (kernel !== undefined) return `aten::${kernel}`;
  const overload = row.out === undefined ? overloadOf(row.schema) : row.out.replace(/\(.*/, '');
  if (overload === 'vec') return `${name}.out`;
  return overload === '' ? name : `${name}.${overload}`;
}
