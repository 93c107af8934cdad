import {
  bitsToNumber,
  elementSize,
  isComplex,
  newHostArray,
  numberToBits,
  scratch,
  takeScratch,
  type HostArray,
  type Tensor,
} from '@cresset/tensor';
import { eachOffset, filled, finish, type Pieces } from '../loops/pieces.ts';

/** What host kernels of this family compute with: float32 data as it is, everything else converted. */
export type FloatArray = Float32Array | Float64Array;

/**
 * The elements of a tensor in C order as numbers; of a complex one the real parts. float32 and float64 that lie contiguous are a window onto the
 * storage (do not write to it); int64 beyond 2^53 is rounded.
 */
export function* numbersInPieces(tensor: Tensor): Pieces<FloatArray> {
  const { dtype, numel } = tensor;
  const elements = yield* elementsInPieces(tensor);
  const toNumber = isComplex(dtype) ? undefined : bitsToNumber(dtype);
  if (toNumber) {
    const bits = elements as Uint16Array;
    return yield* filled(scratch(Float32Array, numel), 4, (at) => toNumber(bits[at]));
  }
  if (dtype === 'float32' || dtype === 'float64') return elements as FloatArray;
  const width = isComplex(dtype) ? 2 : 1;
  return yield* filled(scratch(Float64Array, numel), costOf(elements), (at) => Number(elements[width * at]));
}

/** As `numbersInPieces`, at once. */
export const readNumbers = (tensor: Tensor): FloatArray => finish(numbersInPieces(tensor));

/** As `numbersInPieces`, of one's own. */
export function* copiedNumbers(tensor: Tensor): Pieces<Float64Array> {
  const numbers = yield* numbersInPieces(tensor);
  const copy = scratch(Float64Array, numbers.length);
  copy.set(numbers);
  return copy;
}

/** The elements of a tensor in C order: a window onto the storage where they lie in it like that (`Tensor.contiguousArray`). */
export function* elementsInPieces(tensor: Tensor): Pieces<HostArray> {
  if (tensor.isContiguous()) return tensor.contiguousArray();
  const { dtype, sizes, strides, storageOffset, numel } = tensor;
  const source = tensor.storageArray();
  const width = isComplex(dtype) ? 2 : 1;
  takeScratch(numel * elementSize(dtype));
  const result = newHostArray(dtype, numel);
  let position = 0;
  yield* eachOffset(sizes, strides, storageOffset, 2 * width, (offset) => {
    for (let part = 0; part < width; part++) result[position++] = source[offset * width + part];
  });
  return result;
}

/** Writes numbers, in C order, to a real tensor of any layout, rounded or wrapped to its dtype. */
export const writeNumbers = (out: Tensor, values: ArrayLike<number>): void => finish(storeInPieces(out, values));

/** As `writeNumbers`, in pieces. */
export function* storeInPieces(out: Tensor, values: ArrayLike<number>): Pieces {
  const target = out.storageArrayForWriting();
  const convert = conversionTo(out, target);
  if (convert === null && out.isContiguous()) {
    (target as Float32Array).set(values, out.storageOffset);
    return;
  }
  let position = 0;
  yield* eachOffset(out.sizes, out.strides, out.storageOffset, isOfBigints(target) ? 64 : 4, (offset) => {
    const value = values[position++];
    (target as unknown as Record<number, number | bigint>)[offset] = convert ? convert(value) : value;
  });
}

/** What it takes to convert an element, in operations: bigints are read one by one, and made one by one. */
const costOf = (array: HostArray): number => (isOfBigints(array) ? 16 : 4);

const isOfBigints = (array: HostArray): array is BigInt64Array | BigUint64Array =>
  array instanceof BigInt64Array || array instanceof BigUint64Array;

/** `null` where assigning to the typed array converts as it should. */
function conversionTo(out: Tensor, target: HostArray): ((value: number) => number | bigint) | null {
  const toBits = isComplex(out.dtype) ? undefined : numberToBits(out.dtype);
  if (toBits) return toBits;
  if (out.dtype === 'bool') return (value) => (value !== 0 ? 1 : 0);
  if (isOfBigints(target)) return (value) => (Number.isFinite(value) ? BigInt(Math.trunc(value)) : -(2n ** 63n));
  return null;
}

/**
 * Has `compute` fill an array of `out.numel` zeros in C order, and leaves the values in `out`: for contiguous float32 and
 * float64 the array is the storage itself (with what it held before), for everything else a double array converted after.
 */
export function* fillInPieces(out: Tensor, compute: (values: FloatArray) => Pieces<unknown>): Pieces {
  const inPlace = windowOnto(out);
  const values = inPlace ?? scratch(Float64Array, out.numel);
  yield* compute(values);
  if (!inPlace) yield* storeInPieces(out, values);
}

/** The elements of a tensor that can be written as they are; null where they have to be converted or put in their places. */
function windowOnto(out: Tensor): FloatArray | null {
  if ((out.dtype !== 'float32' && out.dtype !== 'float64') || !out.isContiguous()) return null;
  const storage = out.storageArrayForWriting() as FloatArray;
  const { storageOffset, numel } = out;
  // A window is an object that costs more than little work does.
  if (storage.length === numel) return storage;
  return storage.subarray(storageOffset, storageOffset + numel) as FloatArray;
}

/** A matrix somewhere in an array, by strides. */
export interface Matrix {
  readonly data: FloatArray;
  readonly offset: number;
  readonly rowStride: number;
  readonly columnStride: number;
}

/** A real tensor as an array with strides, without a copy where it is float32 or float64. */
export interface StridedNumbers {
  readonly data: FloatArray;
  readonly offset: number;
  readonly strides: readonly number[];
}

export function* stridedNumbers(tensor: Tensor): Pieces<StridedNumbers> {
  if (tensor.dtype === 'float32' || tensor.dtype === 'float64') {
    return { data: tensor.storageArray() as FloatArray, offset: tensor.storageOffset, strides: tensor.strides };
  }
  const strides = new Array<number>(tensor.dim);
  let stride = 1;
  for (let dim = tensor.dim - 1; dim >= 0; dim--) {
    strides[dim] = stride;
    stride *= tensor.sizes[dim];
  }
  return { data: yield* numbersInPieces(tensor), offset: 0, strides };
}
