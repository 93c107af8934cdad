import { scalarTypeIrName } from '@cresset/ir';
import {
  contiguousStrides,
  newHostArray,
  numelOf,
  scratch,
  Storage,
  Tensor,
  type HostArray,
  type Quantizer,
  type ScalarType,
} from '@cresset/tensor';
import { check } from '../../kernels/errors.ts';
import { numberReader } from '../../kernels/elements.ts';
import { type Pieces, eachOffset, filled, repeat } from '../../kernels/loops/pieces.ts';
import { elementsInPieces } from '../../kernels/numbers/numbers.ts';

/** The integers of a quantised tensor are of this dtype, and within these bounds. */
const INTEGERS: Partial<Record<ScalarType, readonly [dtype: ScalarType, min: number, max: number]>> = {
  qint8: ['int8', -128, 127],
  quint8: ['uint8', 0, 255],
  qint32: ['int32', -(2 ** 31), 2 ** 31 - 1],
};

/** Scale and zero point of a whole tensor. */
export interface TensorQuantizer extends Quantizer {
  readonly scale: number;
  readonly zeroPoint: number;
  readonly axis: null;
}

export function tensorQuantizer(scale: number, zeroPoint: number): TensorQuantizer {
  return { scale, zeroPoint, axis: null };
}

/** The bounds of a quantised dtype. Throws PyTorch's error for any other. */
export function rangeOf(dtype: ScalarType): readonly [min: number, max: number] {
  const integers = INTEGERS[dtype];
  check(integers !== undefined, () => `ScalarType ${scalarTypeIrName(dtype)} is not supported in new_qtensor.`);
  const [, min, max] = integers!;
  return [min, max];
}

export function quantizerOf(self: Tensor): Quantizer {
  check(self.quantizer !== null, 'this tensor is not quantized');
  return self.quantizer!;
}

/** The quantiser of a tensor with one for all its elements; throws what PyTorch does for one with several. */
export function tensorQuantizerOf(self: Tensor, otherwise = perTensorExpected): TensorQuantizer {
  const quantizer = quantizerOf(self);
  check(quantizer.axis === null, otherwise);
  return quantizer as TensorQuantizer;
}

const perTensorExpected =
  'Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)';

/** Scale and zero point for each index of the elements in C order. */
export function parametersOf(
  { scale, zeroPoint, axis }: Quantizer,
  sizes: readonly number[],
): (index: number) => [number, number] {
  if (axis === null) return () => [Math.fround(scale as number), zeroPoint as number];
  const scales = numberReader(scale as Tensor);
  const zeroPoints = numberReader(zeroPoint as Tensor);
  const inner = numelOf(sizes.slice(axis + 1));
  return (index) => {
    const channel = Math.floor(index / inner) % sizes[axis];
    return [Math.fround(scales(channel)), zeroPoints(channel)];
  };
}

/** Whether all zero points are 0. */
export function isSymmetric({ zeroPoint }: Quantizer): boolean {
  if (!(zeroPoint instanceof Tensor)) return zeroPoint === 0;
  const zeroPointOf = numberReader(zeroPoint);
  return Array.from({ length: zeroPoint.numel }, (_, channel) => zeroPointOf(channel)).every((each) => each === 0);
}

export function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

/**
 * Makes integers of numbers within the bounds of a dtype. PyTorch's kernels round in two ways: those that take elements one by one
 * add the zero point before (at::native::quantize_val), those that take vectors of them after (Vectorized::quantize), which is another
 * integer for a number in the middle between two.
 */
export class Rounding {
  readonly #inverse: number;
  readonly #zeroPoint: number;
  readonly #min: number;
  readonly #max: number;

  /** @param inverse of the scale, which kernels work out in float32, and a few in float64 */
  constructor({ scale, zeroPoint }: TensorQuantizer, dtype: ScalarType, inverse = 1 / Math.fround(scale)) {
    this.#inverse = Math.fround(inverse);
    this.#zeroPoint = zeroPoint;
    [this.#min, this.#max] = rangeOf(dtype);
  }

  single(value: number): number {
    // A fused multiplication and addition.
    return this.clamp(roundHalfToEven(Math.fround(value * this.#inverse + this.#zeroPoint)));
  }

  inVector(value: number): number {
    return this.clamp(roundHalfToEven(Math.fround(value * this.#inverse)) + this.#zeroPoint);
  }

  clamp(integer: number): number {
    // No number is the smallest integer, as the processor has it.
    return integer > this.#max ? this.#max : integer >= this.#min ? integer : this.#min;
  }
}

/** The numbers that integers of one quantiser stand for, in float32, and in both ways that {@link Rounding} has. */
export class Reading {
  readonly #scale: number;
  readonly #zeroPoint: number;
  readonly #premultiplied: number;

  constructor({ scale, zeroPoint }: TensorQuantizer) {
    this.#scale = Math.fround(scale);
    this.#zeroPoint = zeroPoint;
    this.#premultiplied = Math.fround(this.#scale * -zeroPoint);
  }

  single(integer: number): number {
    return Math.fround((integer - this.#zeroPoint) * this.#scale);
  }

  /** A fused multiplication and addition. */
  inVector(integer: number): number {
    return Math.fround(integer * this.#scale + this.#premultiplied);
  }
}

/** How many of `count` elements a kernel takes in vectors: pairs of AVX-512 registers, and the rest one by one. */
export function countInVectors(count: number, dtype: ScalarType): number {
  return count - (count % (dtype === 'qint32' ? 32 : 128));
}

export interface DenseElements {
  /** In the order in which they lie in memory. */
  readonly elements: HostArray;
  readonly strides: readonly number[];
}

/** Elements in memory order with the strides they have, where there are no gaps and no overlaps; in C order otherwise. */
export function* denseElements(tensor: Tensor): Pieces<DenseElements> {
  const { sizes, strides, storageOffset, numel } = tensor;
  let expected = 1;
  const isDense = sizes
    .map((_, dim) => dim)
    .filter((dim) => sizes[dim] !== 1)
    .sort((a, b) => strides[a] - strides[b])
    .every((dim) => {
      const fits = strides[dim] === expected;
      expected *= sizes[dim];
      return fits;
    });
  if (!isDense || numel === 0) return { elements: yield* elementsInPieces(tensor), strides: contiguousStrides(sizes) };
  return { elements: tensor.storageArray().subarray(storageOffset, storageOffset + numel) as HostArray, strides };
}

/** A quantised tensor whose elements are yet to be written, in memory of its own. */
export function emptyQuantized(
  sizes: readonly number[],
  dtype: ScalarType,
  quantizer: Quantizer,
  strides: readonly number[] = contiguousStrides(sizes),
): Tensor {
  const tensor = Tensor.empty(sizes, dtype);
  tensor.strides = strides;
  tensor.quantizer = quantizer;
  return tensor;
}

/** The strides of a tensor whose channels, dimension 1, lie beside each other (torch.channels_last and channels_last_3d). */
export function channelsLastStrides(sizes: readonly number[]): number[] {
  const [batch, channels, ...spatial] = sizes;
  const [batchStride, ...others] = contiguousStrides([batch, ...spatial, channels]);
  return [batchStride, others.at(-1)!, ...others.slice(0, -1)];
}

export function isChannelsLast({ dim, sizes, strides }: Tensor): boolean {
  if (dim < 4) return false;
  const expected = channelsLastStrides(sizes);
  return sizes.every((size, at) => size === 1 || strides[at] === expected[at]);
}

/**
 * An element-wise kernel of ATen/native/quantized/cpu/kernels: numbers of integers, then a function of them in float32, then integers.
 *
 * @param inputs of one quantiser each, and of equal shapes
 */
export function* mapNumbers(
  inputs: readonly Tensor[],
  output: TensorQuantizer,
  number: (...values: number[]) => number,
): Pieces<Tensor> {
  const [{ sizes, dtype }] = inputs;
  const dense: DenseElements[] = [];
  for (const input of inputs) dense.push(yield* denseElements(input));
  const [{ strides }] = dense;
  const inOneOrder = dense.every((each) => each.strides.every((stride, dim) => stride === strides[dim]));
  const arrays: HostArray[] = [];
  for (let at = 0; at < inputs.length; at++)
    arrays.push(inOneOrder ? dense[at].elements : yield* elementsInPieces(inputs[at]));
  const readings = inputs.map((each) => new Reading(tensorQuantizerOf(each)));
  const rounding = new Rounding(output, dtype);
  const result = emptyQuantized(sizes, dtype, output, inOneOrder ? strides : undefined);
  const target = result.storageArrayForWriting();
  const inVectors = inOneOrder ? countInVectors(target.length, dtype) : 0;
  const values = new Array<number>(inputs.length);
  yield* repeat(target.length, 16, (index) => {
    const isVector = index < inVectors;
    for (let at = 0; at < values.length; at++) {
      const integer = arrays[at][index] as number;
      values[at] = isVector ? readings[at].inVector(integer) : readings[at].single(integer);
    }
    const value = Math.fround(number(...values));
    target[index] = isVector ? rounding.inVector(value) : rounding.single(value);
  });
  return result;
}

/** As {@link mapNumbers}, on the integers of one tensor; the bounds of the dtype are kept. */
export function* mapIntegers(
  input: Tensor,
  output: TensorQuantizer,
  integer: (value: number) => number,
): Pieces<Tensor> {
  const { elements, strides } = yield* denseElements(input);
  const rounding = new Rounding(output, input.dtype);
  const result = emptyQuantized(input.sizes, input.dtype, output, strides);
  const target = result.storageArrayForWriting();
  yield* filled(target as Int32Array, 8, (index) => rounding.clamp(integer(elements[index] as number)));
  return result;
}

/** The numbers of a quantised tensor, in C order; any other tensor is itself (Tensor.dequantize). */
export function* dequantized(self: Tensor): Pieces<Tensor> {
  if (!self.quantizer) return self;
  const parameters = parametersOf(self.quantizer, self.sizes);
  const result = Tensor.empty(self.sizes, 'float32');
  if (isChannelsLast(self)) result.strides = channelsLastStrides(self.sizes);
  const target = result.storageArrayForWriting();
  const source = yield* elementsInPieces(self);
  const isFloating = self.quantizer.axis !== null && (self.quantizer.zeroPoint as Tensor).dtype === 'float32';
  let index = 0;
  yield* eachOffset(self.sizes, result.strides, 0, 16, (offset) => {
    const [scale, zeroPoint] = parameters(index);
    const integer = Number(source[index++]);
    // Zero points that are no integers are multiplied by themselves.
    target[offset] = isFloating
      ? Math.fround(integer * scale) - Math.fround(zeroPoint * scale)
      : (integer - zeroPoint) * scale;
  });
  return result;
}

/** A quantised tensor of the numbers of a float32 one, in the memory order of those (quantize_per_tensor and its like). */
export function* quantized(self: Tensor, quantizer: Quantizer, dtype: ScalarType): Pieces<Tensor> {
  check(self.dtype === 'float32', () => `Quantize only works on Float Tensor, got ${scalarTypeIrName(self.dtype)}`);
  const [min, max] = rangeOf(dtype);
  const result = emptyQuantized(self.sizes, dtype, quantizer);
  if (isChannelsLast(self)) result.strides = channelsLastStrides(self.sizes);
  const values = (yield* elementsInPieces(self)) as Float32Array;
  const target = result.storageArrayForWriting();
  const parameters = parametersOf(quantizer, self.sizes);
  let index = 0;
  yield* eachOffset(self.sizes, result.strides, 0, 16, (offset) => {
    const [scale, zeroPoint] = parameters(index);
    // A fused multiplication and addition.
    const integer = roundHalfToEven(Math.fround(values[index++] * Math.fround(1 / scale) + zeroPoint));
    target[offset] = integer > max ? max : integer >= min ? integer : min;
  });
  return result;
}

/** The integers as a tensor of their own, in the same order (Tensor.int_repr). */
export function* integersOf(self: Tensor): Pieces<Tensor> {
  const [dtype] = INTEGERS[self.dtype]!;
  const { elements, strides } = yield* denseElements(self);
  return new Tensor(Storage.onHost(elements.slice().buffer as ArrayBuffer), dtype, self.sizes, strides);
}

/** Integers of a tensor's own as a quantised one over the same memory. */
export function asQuantized(integers: Tensor, quantizer: Quantizer, dtype: ScalarType): Tensor {
  const result = new Tensor(integers.storage, dtype, integers.sizes, integers.strides, integers.storageOffset);
  result.quantizer = quantizer;
  return result;
}

/** The quantised dtype whose integers are of this dtype; undefined where there is none. */
export function quantizedTypeOf(integers: ScalarType): ScalarType | undefined {
  return (Object.keys(INTEGERS) as ScalarType[]).find((dtype) => INTEGERS[dtype]![0] === integers);
}

/** A tensor of scales or zero points, as its quantiser keeps it. */
export function* copyAs(tensor: Tensor, dtype: ScalarType): Pieces<Tensor> {
  const read = numberReader(tensor);
  const array = newHostArray(dtype, tensor.numel);
  yield* repeat(tensor.numel, 16, (index) => {
    const value = read(tensor.storageOffset + index * tensor.strides[0]);
    array[index] = dtype === 'int64' ? BigInt(value) : value;
  });
  return Tensor.fromArray(array, tensor.sizes, dtype);
}

/** Integers less their zero points, in C order. */
export function* centred(tensor: Tensor): Pieces<Int32Array> {
  const quantizer = quantizerOf(tensor);
  const elements = (yield* elementsInPieces(tensor)) as Int32Array;
  const result = scratch(Int32Array, elements.length);
  result.set(elements);
  if (isSymmetric(quantizer)) return result;
  const parameters = parametersOf(quantizer, tensor.sizes);
  const [, only] = quantizer.axis === null ? parameters(0) : [0, null];
  return yield* filled(result, 8, (index) => result[index] - (only ?? parameters(index)[1]));
}
