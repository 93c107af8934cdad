import { checkOptions, CressetError } from '@cresset/ir';
import {
  bitsToNumber,
  elementSize,
  hostArray,
  isIntegral,
  numberToBits,
  numelOf,
  type HostArray,
  type ScalarType,
} from '@cresset/tensor';

/** The element types a tensor can have, by PyTorch's names. */
export type DType =
  | 'float16'
  | 'bfloat16'
  | 'float32'
  | 'float64'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'bool'
  | 'complex64'
  | 'complex128'
  | StorageDType;

/** Element types that files hold and programs convert, but hardly compute with. */
export type StorageDType =
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'float8_e4m3fn'
  | 'float8_e5m2'
  | 'float8_e4m3fnuz'
  | 'float8_e5m2fnuz'
  | 'complex32'
  | 'qint8'
  | 'quint8'
  | 'qint32';

/** How the integers of a quantised tensor stand for numbers: `(q - zeroPoint) * scale`, one pair of them for each index of `axis`. */
export interface Quantizer {
  readonly scales: readonly number[];
  readonly zeroPoints: readonly number[];
  /** Null where there is one pair for the whole tensor. */
  readonly axis: number | null;
}

/** Numbers, bigints or booleans, in arrays nested as deep as the tensor has dimensions. */
export type NestedArray = number | bigint | boolean | readonly NestedArray[];

/** The arrays that hold a tensor's elements. float16 and bfloat16 lie in a `Uint16Array` as their bits, bool as bytes, complex
 * numbers as pairs. */
export type TensorData = HostArray;

/** What a tensor can be made of. */
export type TensorInput =
  | NestedArray
  | TensorData
  | Uint8ClampedArray
  | Uint32Array
  | BigUint64Array
  // Float16Array is not in every browser, nor in the type library.
  | (ArrayBufferView & { readonly length: number });

/** What a tensor is made up of, and what arrives of one that was posted or cloned. */
export interface TensorParts {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: TensorData;
  readonly quantizer?: Quantizer | null;
}

export interface TensorOptions {
  /** Sizes of the dimensions; by default those of the nesting, or one dimension for a typed array. */
  readonly shape?: readonly number[];
  /**
   * Element type. By default what the data is: `bigint` gives int64, booleans bool, a typed array its own type. JavaScript does not
   * tell 1.0 from 1, so plain numbers are float32 unless this says otherwise.
   */
  readonly dtype?: DType;
}

/** A tensor as JSON has it. */
export interface TensorJson {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In C order, complex numbers as two each. What JSON has no number for (NaN, infinities, ints beyond 2^53) is text. */
  readonly data: readonly (number | boolean | string)[];
  readonly quantizer?: Quantizer;
}

const DTYPES: ReadonlySet<string> = new Set<DType>([
  'float16',
  'bfloat16',
  'float32',
  'float64',
  'int8',
  'uint8',
  'int16',
  'int32',
  'int64',
  'bool',
  'complex64',
  'complex128',
  'uint16',
  'uint32',
  'uint64',
  'float8_e4m3fn',
  'float8_e5m2',
  'float8_e4m3fnuz',
  'float8_e5m2fnuz',
  'complex32',
]);

/** The method by which every copy of this library that a page may have knows a tensor, and gives it other contents. */
const REPLACE = Symbol.for('cresset.tensor');

const throwDisposed = (): never => {
  throw new CressetError('TENSOR_DISPOSED', 'this tensor was disposed of');
};

/**
 * A tensor on the page: shape, dtype and elements, contiguous in C order. Given to a model, its elements are copied once, into a
 * buffer that the worker gets; those that a model returns are handed over without a copy. Where a model writes to a tensor it was
 * given (`x.add_(1)`, `out=`), that tensor has the new elements when the call has ended. Of a copy that `structuredClone` or `postMessage`
 * makes, a plain object with `dtype`, `shape` and `data`, {@link tensor} makes a tensor again.
 */
export class Tensor {
  // Cloning takes what is an object's own: these are fields, and what they hold can be cloned.
  readonly dtype: DType;
  /** Sizes of the dimensions. */
  readonly shape: readonly number[];
  /** The elements, not copied: what is written here is in the tensor. Throws `TENSOR_DISPOSED` after `dispose`. */
  readonly data: TensorData;
  /** Of a quantised tensor, whose `data` are integers: what they stand for, which is what `tolist()` gives. */
  readonly quantizer: Quantizer | null;

  #buffer: ArrayBuffer | null;
  readonly #release: ((buffer: ArrayBuffer) => void) | null;

  /**
   * Used by {@link tensor}; the buffer is kept, not copied.
   *
   * @param release given the buffer when the tensor is disposed of
   */
  constructor(
    buffer: ArrayBuffer,
    shape: readonly number[],
    dtype: DType,
    quantizer: Quantizer | null = null,
    release: ((buffer: ArrayBuffer) => void) | null = null,
  ) {
    this.dtype = dtype;
    this.shape = Object.freeze([...shape]);
    this.data = hostArray(dtype as ScalarType, buffer, 0, numelOf(shape));
    this.quantizer = quantizer;
    this.#buffer = buffer;
    this.#release = release;
  }

  /** A tensor of any copy of the library is one. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && REPLACE in value;
  }

  /** The tensor of what {@link toJSON} gave. Throws as {@link tensor} does. */
  static fromJSON({ data, dtype, shape, quantizer }: TensorJson): Tensor {
    const isWide = dtype.endsWith('int64');
    const elements = data.map((each) => (typeof each === 'string' ? (isWide ? BigInt(each) : Number(each)) : each));
    const count = elements.length / (isComplexType(dtype) ? 2 : 1);
    return fromElements(elements, checkedShape(shape, count), dtype, quantizer);
  }

  /** Gives a tensor what a model made of it. */
  static replace(tensor: Tensor, buffer: ArrayBuffer, shape: readonly number[]): void {
    tensor[REPLACE](buffer, shape);
  }

  /** @internal */
  [REPLACE](buffer: ArrayBuffer, shape: readonly number[]): void {
    this.#buffer = buffer;
    Object.defineProperties(this, {
      shape: { value: Object.freeze([...shape]) },
      data: { value: hostArray(this.dtype as ScalarType, buffer, 0, numelOf(shape)) },
    });
  }

  /** Number of elements. */
  get numel(): number {
    return numelOf(this.shape);
  }

  /** Number of dimensions. */
  get ndim(): number {
    return this.shape.length;
  }

  /**
   * The elements as nested arrays of numbers (torch.Tensor.tolist). An int64 beyond 2^53 is a bigint, a bool a boolean, a complex
   * number `[re, im]`; a tensor without dimensions gives its one element.
   */
  tolist(): NestedArray {
    const { shape } = this;
    const read = this.#reader();
    const strides = shape.map((_, dim) => numelOf(shape.slice(dim + 1)));
    const build = (dim: number, offset: number): NestedArray =>
      dim === shape.length
        ? read(offset)
        : Array.from({ length: shape[dim] }, (_, index) => build(dim + 1, offset + index * strides[dim]));
    return build(0, 0);
  }

  #reader(): (index: number) => NestedArray {
    const { data, dtype, quantizer, shape } = this;
    return quantizer ? dequantizer(quantizer, shape, data) : elementReader(dtype, data);
  }

  /** The one element of a tensor of one element (torch.Tensor.item). Throws `TENSOR_ITEM` for any other. */
  item(): NestedArray {
    if (this.numel !== 1) {
      throw new CressetError('TENSOR_ITEM', `a Tensor with ${this.numel} elements cannot be converted to Scalar`);
    }
    return this.#reader()(0);
  }

  /** What JSON.stringify writes of it; `Tensor.fromJSON` reads that. */
  toJSON(): TensorJson {
    const { data, dtype, numel, quantizer, shape } = this;
    const read = elementReader(dtype, data);
    const elements = Array.from({ length: numel }, (_, index) => read(index)).flat() as (number | bigint | boolean)[];
    const isJson = (value: unknown): value is number | boolean => typeof value !== 'bigint' && isFinite(Number(value));
    return {
      dtype,
      shape,
      data: elements.map((value) => (isJson(value) ? value : String(value))),
      ...(quantizer && { quantizer }),
    };
  }

  /** Gives up the elements. Those of a result of a call may become memory for results of the next one: arrays that `data` gave are empty then. */
  dispose(): void {
    const buffer = this.#buffer;
    if (!buffer) return;
    this.#buffer = null;
    Object.defineProperty(this, 'data', { get: throwDisposed });
    this.#release?.(buffer);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  toString(): string {
    return `Tensor(shape=[${this.shape.join(', ')}], dtype=${this.dtype})`;
  }
}

/**
 * Makes a tensor (torch.tensor); the data is copied. What arrives of a tensor that was posted or cloned, or another tensor, has its own shape and
 * dtype.
 *
 * Throws a CressetError: `TENSOR_SHAPE` for data that does not fill the shape or is nested unevenly, `TENSOR_DTYPE` for an element
 * type that is unknown or that the data does not fit.
 */
export function tensor(data: TensorInput, options?: TensorOptions | readonly number[]): Tensor;
export function tensor(parts: TensorParts): Tensor;
export function tensor(data: TensorInput | TensorParts, options: TensorOptions | readonly number[] = {}): Tensor {
  if (isParts(data)) return fromParts(data, options);
  const { shape, dtype }: TensorOptions = Array.isArray(options)
    ? { shape: options as readonly number[] }
    : (options as TensorOptions);
  if (!Array.isArray(options)) checkOptions('tensor', options, { shape: 'array', dtype: 'string' });
  if (dtype !== undefined && !DTYPES.has(dtype)) throw unknownDtype(dtype);
  return ArrayBuffer.isView(data)
    ? fromTypedArray(data as ArrayBufferView & { readonly length: number }, shape, dtype)
    : fromNested(data as NestedArray, shape, dtype);
}

const isParts = (data: TensorInput | TensorParts): data is TensorParts =>
  typeof data === 'object' && data !== null && 'dtype' in data;

function fromParts({ dtype, shape, data, quantizer = null }: TensorParts, options: object): Tensor {
  if (Object.keys(options).length > 0) {
    throw new CressetError(
      'ARGUMENT',
      'what is a tensor already has a shape and a dtype: tensor takes no options with it',
    );
  }
  if (!DTYPES.has(dtype) && !quantizer) throw unknownDtype(dtype);
  const bytes = ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : null;
  const count = bytes ? bytes.length / elementSize(dtype) : 0;
  if (!bytes || !Array.isArray(shape)) {
    throw new CressetError('TENSOR_SHAPE', 'a tensor is made up of dtype, shape, an array, and data, a typed array');
  }
  return new Tensor(bytes.slice().buffer, checkedShape(shape as readonly number[], count), dtype, quantizer);
}

const unknownDtype = (dtype: string): CressetError =>
  new CressetError('TENSOR_DTYPE', `there is no dtype '${dtype}'; there are ${[...DTYPES].join(', ')}`);

const TYPED_ARRAYS: Readonly<Record<string, DType>> = {
  Float32Array: 'float32',
  Float64Array: 'float64',
  Float16Array: 'float16',
  Int8Array: 'int8',
  Uint8Array: 'uint8',
  Uint8ClampedArray: 'uint8',
  Int16Array: 'int16',
  Int32Array: 'int32',
  BigInt64Array: 'int64',
};

function fromTypedArray(
  array: ArrayBufferView & { readonly length: number },
  shape: readonly number[] | undefined,
  dtype: DType | undefined,
): Tensor {
  const name = array.constructor.name;
  const isBits =
    (name === 'Uint16Array' && (dtype === 'float16' || dtype === 'bfloat16' || dtype === 'uint16')) ||
    (name === 'Uint8Array' && dtype !== undefined && dtype.startsWith('float8')) ||
    (name === 'Uint32Array' && dtype === 'uint32') ||
    (name === 'BigUint64Array' && dtype === 'uint64');
  const own = isBits ? dtype : TYPED_ARRAYS[name];
  if (own === undefined && dtype === undefined) {
    const hint =
      name === 'Uint16Array' ? "'float16' or 'bfloat16' for bits of such numbers, or 'int32'" : "for instance 'int64'";
    throw new CressetError(
      'TENSOR_DTYPE',
      `PyTorch has no dtype that a ${name} could be: say which one is meant, ${hint}`,
    );
  }
  const target = dtype ?? own!;
  const width = isComplexType(target) ? 2 : 1;
  const sizes = checkedShape(shape ?? [array.length / width], array.length / width);
  const isRaw = own === target || (width === 2 && name === (target === 'complex64' ? 'Float32Array' : 'Float64Array'));
  if (isRaw || (target === 'bool' && own === 'uint8')) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength).slice();
    if (target === 'bool') bytes.forEach((value, index) => (bytes[index] = value === 0 ? 0 : 1));
    return new Tensor(bytes.buffer, sizes, target);
  }
  return fromElements(array as unknown as ArrayLike<number | bigint>, sizes, target);
}

function fromNested(data: NestedArray, shape: readonly number[] | undefined, dtype: DType | undefined): Tensor {
  const flat: (number | bigint | boolean)[] = [];
  const nesting: number[] = [];
  for (let level: NestedArray = data; Array.isArray(level); level = (level as readonly NestedArray[])[0]) {
    nesting.push((level as readonly NestedArray[]).length);
    if (nesting.at(-1) === 0) break;
  }
  flatten(data, nesting, 0, flat);
  const target = dtype ?? dtypeOf(flat);
  const width = isComplexType(target) ? 2 : 1;
  const natural = width === 2 ? nesting.slice(0, -1) : nesting;
  return fromElements(flat, checkedShape(shape ?? natural, flat.length / width), target);
}

function flatten(
  data: NestedArray,
  nesting: readonly number[],
  depth: number,
  into: (number | bigint | boolean)[],
): void {
  if (depth === nesting.length) {
    if (typeof data !== 'number' && typeof data !== 'bigint' && typeof data !== 'boolean') throw uneven(nesting, depth);
    into.push(data);
    return;
  }
  if (!Array.isArray(data) || data.length !== nesting[depth]) throw uneven(nesting, depth);
  for (const item of data as readonly NestedArray[]) flatten(item, nesting, depth + 1, into);
}

function uneven(nesting: readonly number[], depth: number): CressetError {
  return new CressetError(
    'TENSOR_SHAPE',
    depth < nesting.length
      ? `expected sequence of length ${nesting[depth]} at dim ${depth}`
      : `expected a number, bigint or boolean at depth ${depth}`,
  );
}

function dtypeOf(elements: readonly (number | bigint | boolean)[]): DType {
  if (elements.length > 0 && elements.every((element) => typeof element === 'boolean')) return 'bool';
  return elements.length > 0 && elements.every((element) => typeof element !== 'number') ? 'int64' : 'float32';
}

function checkedShape(shape: readonly number[], count: number): readonly number[] {
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0) || numelOf(shape) !== count) {
    throw new CressetError('TENSOR_SHAPE', `shape [${shape.join(', ')}] is invalid for input of size ${count}`);
  }
  return shape;
}

function isComplexType(dtype: DType): boolean {
  return dtype.startsWith('complex');
}

function fromElements(
  elements: ArrayLike<number | bigint | boolean>,
  shape: readonly number[],
  dtype: DType,
  quantizer?: Quantizer,
): Tensor {
  const buffer = new ArrayBuffer(numelOf(shape) * elementSize(dtype));
  const target = hostArray(dtype, buffer, 0, numelOf(shape));
  const convert = elementWriter(dtype);
  for (let at = 0; at < elements.length; at++) target[at] = convert(elements[at]);
  return new Tensor(buffer, shape, dtype, quantizer);
}

function elementWriter(dtype: DType): (value: number | bigint | boolean) => number | bigint {
  if (dtype === 'bool') return (value) => (value ? 1 : 0);
  if (isIntegral(dtype, false)) return integerWriter(dtype);
  const toBits = numberToBits(dtype);
  return toBits ? (value) => toBits(Number(value)) : Number;
}

/** Refuses what would not be the same number as an element. */
function integerWriter(dtype: DType): (value: number | bigint | boolean) => number | bigint {
  const bits = 8 * elementSize(dtype);
  const isUnsigned = /^q?u/.test(dtype);
  const convert: (value: number | bigint | boolean) => number | bigint = bits === 64 ? BigInt : Number;
  const count = 2n ** BigInt(isUnsigned ? bits : bits - 1);
  const min = convert(isUnsigned ? 0n : -count);
  const max = convert(count - 1n);
  return (value) => {
    if (typeof value === 'number' && !Number.isInteger(value)) {
      throw new CressetError('TENSOR_DTYPE', `${value} is no integer, so it does not fit a tensor of dtype ${dtype}`);
    }
    const element = convert(value);
    if (element >= min && element <= max) return element;
    throw new CressetError(
      'TENSOR_DTYPE',
      `value cannot be converted to type ${dtype} without overflow: ${value} is not between ${min} and ${max}`,
    );
  };
}

function elementReader(dtype: DType, data: TensorData): (index: number) => NestedArray {
  switch (dtype) {
    case 'bool':
      return (index) => data[index] !== 0;
    case 'int64':
    case 'uint64':
      return (index) => fromInt64(data[index] as bigint);
    default: {
      const number = bitsToNumber(dtype) ?? ((value: number) => value);
      const read = (index: number): number => number(data[index] as number);
      return isComplexType(dtype) ? (index) => [read(2 * index), read(2 * index + 1)] : read;
    }
  }
}

function dequantizer(
  { scales, zeroPoints, axis }: Quantizer,
  shape: readonly number[],
  data: TensorData,
): (index: number) => number {
  const inner = axis === null ? 1 : numelOf(shape.slice(axis + 1));
  return (index) => {
    const at = axis === null ? 0 : Math.floor(index / inner) % shape[axis];
    return Math.fround((Number(data[index]) - zeroPoints[at]) * scales[at]);
  };
}

/** A 64-bit integer as a number where that is exact, as a bigint elsewhere. */
export function fromInt64(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
