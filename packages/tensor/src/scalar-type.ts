import { CressetError, scalarTypeIrName, type ScalarTypeName } from '@cresset/ir';

/** The element type of a tensor, by PyTorch's name without the `torch.` prefix. */
export type ScalarType = ScalarTypeName;

/** A JavaScript array that can hold a tensor's elements: float16 and bfloat16 lie in a `Uint16Array` and float8 in a `Uint8Array` as
 * their bits, complex numbers as pairs of floats, bool as one byte each. */
export type HostArray =
  | Uint8Array
  | Int8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

interface ScalarTypeTraits {
  /** Bytes an element, in host storage and in files. */
  readonly size: number;
  /** Position in the promotion order of its category. */
  readonly category: 'bool' | 'integral' | 'floating' | 'complex';
  readonly array: {
    new (length: number): HostArray;
    new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): HostArray;
  };
}

const traits: Partial<Record<ScalarType, ScalarTypeTraits>> = {
  bool: { size: 1, category: 'bool', array: Uint8Array },
  uint8: { size: 1, category: 'integral', array: Uint8Array },
  int8: { size: 1, category: 'integral', array: Int8Array },
  int16: { size: 2, category: 'integral', array: Int16Array },
  int32: { size: 4, category: 'integral', array: Int32Array },
  int64: { size: 8, category: 'integral', array: BigInt64Array },
  float16: { size: 2, category: 'floating', array: Uint16Array },
  bfloat16: { size: 2, category: 'floating', array: Uint16Array },
  float32: { size: 4, category: 'floating', array: Float32Array },
  float64: { size: 8, category: 'floating', array: Float64Array },
  complex32: { size: 4, category: 'complex', array: Uint16Array },
  complex64: { size: 8, category: 'complex', array: Float32Array },
  complex128: { size: 16, category: 'complex', array: Float64Array },
  uint16: { size: 2, category: 'integral', array: Uint16Array },
  uint32: { size: 4, category: 'integral', array: Uint32Array },
  uint64: { size: 8, category: 'integral', array: BigUint64Array },
  float8_e4m3fn: { size: 1, category: 'floating', array: Uint8Array },
  float8_e5m2: { size: 1, category: 'floating', array: Uint8Array },
  float8_e4m3fnuz: { size: 1, category: 'floating', array: Uint8Array },
  float8_e5m2fnuz: { size: 1, category: 'floating', array: Uint8Array },
  qint8: { size: 1, category: 'integral', array: Int8Array },
  quint8: { size: 1, category: 'integral', array: Uint8Array },
  qint32: { size: 4, category: 'integral', array: Int32Array },
};

function traitsOf(dtype: ScalarType): ScalarTypeTraits {
  const found = traits[dtype];
  if (!found) throw new TypeError(`tensors of dtype ${dtype} cannot be held in memory`);
  return found;
}

/** Bytes an element of `dtype` takes in host storage. */
export function elementSize(dtype: ScalarType): number {
  return traitsOf(dtype).size;
}

/** A typed array over `buffer` that sees `length` elements of `dtype` (two array entries an element for complex). */
export function hostArray(dtype: ScalarType, buffer: ArrayBufferLike, byteOffset: number, length: number): HostArray {
  const { array, category } = traitsOf(dtype);
  return new array(buffer, byteOffset, category === 'complex' ? 2 * length : length);
}

/** An array of `length` elements of `dtype`, all zero. Throws `OUT_OF_MEMORY`, in PyTorch's words, where there is no memory for it. */
export function newHostArray(dtype: ScalarType, length: number): HostArray {
  const { array: HostArrayOf, category, size } = traitsOf(dtype);
  try {
    return new HostArrayOf(category === 'complex' ? 2 * length : length);
  } catch (cause) {
    throw new CressetError(
      'OUT_OF_MEMORY',
      `DefaultCPUAllocator: can't allocate memory: you tried to allocate ${length * size} bytes.`,
      { cause },
    );
  }
}

export function isFloatingPoint(dtype: ScalarType): boolean {
  return traitsOf(dtype).category === 'floating';
}

export function isComplex(dtype: ScalarType): boolean {
  return traitsOf(dtype).category === 'complex';
}

/** Dtypes that programs store and convert, and devices do not compute with. */
export function isStorageType(dtype: ScalarType): boolean {
  return /^(uint(16|32|64)|float8|q)/.test(dtype);
}

/** Dtypes of which a device would keep a float32's precision only. */
export function isDouble(dtype: ScalarType): boolean {
  return dtype === 'float64' || dtype === 'complex128';
}

/** Integral types; bool counts only where `includeBool` is set, as in `c10::isIntegralType`. */
export function isIntegral(dtype: ScalarType, includeBool: boolean): boolean {
  const { category } = traitsOf(dtype);
  return category === 'integral' || (includeBool && category === 'bool');
}

/** The dtype of the real and imaginary part of a complex dtype; any other dtype is its own. */
export function realType(dtype: ScalarType): ScalarType {
  if (dtype === 'complex128') return 'float64';
  if (dtype === 'complex64') return 'float32';
  return dtype === 'complex32' ? 'float16' : dtype;
}

/** The complex dtype whose parts have `dtype`. */
export function complexType(dtype: ScalarType): ScalarType {
  if (dtype === 'float64') return 'complex128';
  if (dtype === 'float16') return 'complex32';
  return isComplex(dtype) ? dtype : 'complex64';
}

const integralOrder: readonly ScalarType[] = ['int8', 'int16', 'int32', 'int64'];
const complexOrder: readonly ScalarType[] = ['complex32', 'complex64', 'complex128'];
const realPartOrder: readonly ScalarType[] = ['float16', 'float32', 'float64'];

/** The dtype that holds the values of both, as `c10::promoteTypes` has it. */
export function promoteTypes(a: ScalarType, b: ScalarType): ScalarType {
  if (a === b) return a;
  if (isStorageType(a) || isStorageType(b)) return promoteStorageTypes(a, b);
  const categoryA = traitsOf(a).category;
  const categoryB = traitsOf(b).category;
  if (categoryA === 'complex' || categoryB === 'complex') return promoteComplex(a, b);
  if (categoryA === 'floating' || categoryB === 'floating') {
    if (categoryA !== 'floating') return b;
    if (categoryB !== 'floating') return a;
    if (a === 'float64' || b === 'float64') return 'float64';
    // float16 with bfloat16 needs the range of one and the precision of the other.
    return 'float32';
  }
  if (categoryA === 'bool') return b;
  if (categoryB === 'bool') return a;
  // uint8 fits no int8: the next wider signed type holds both.
  if (a === 'uint8') return b === 'int8' ? 'int16' : b;
  if (b === 'uint8') return a === 'int8' ? 'int16' : a;
  return integralOrder[Math.max(integralOrder.indexOf(a), integralOrder.indexOf(b))];
}

/** What is stored only has hardly any rules; a number type is given by the other operand, or PyTorch refuses. */
function promoteStorageTypes(a: ScalarType, b: ScalarType): ScalarType {
  const isAny = (pattern: RegExp): boolean => pattern.test(a) || pattern.test(b);
  const kinds = isAny(/^q/) ? 'quantized' : isAny(/^float8/) ? 'Float8 Types' : 'uint16, uint32, uint64 types';
  if (kinds.startsWith('uint')) for (const dtype of [a, b]) if (isFloatingPoint(dtype)) return dtype;
  throw new CressetError(
    'OPERATOR',
    `Promotion for ${kinds} is not supported, attempted to promote ${scalarTypeIrName(a)} and ${scalarTypeIrName(b)}`,
  );
}

function promoteComplex(a: ScalarType, b: ScalarType): ScalarType {
  const rank = (dtype: ScalarType): number => {
    if (isComplex(dtype)) return complexOrder.indexOf(dtype);
    if (dtype === 'bfloat16') return 1;
    return isFloatingPoint(dtype) ? realPartOrder.indexOf(dtype) : 0;
  };
  return complexOrder[Math.max(rank(a), rank(b))];
}

/** Number of elements of a tensor of these sizes. */
export function numelOf(sizes: readonly number[]): number {
  let count = 1;
  for (const size of sizes) count *= size;
  return count;
}
