import { Complex, CressetError, formatTensorText } from '@cresset/ir';
import { bitsToNumber } from './float16.ts';
import { elementSize, isComplex, newHostArray, numelOf, type HostArray, type ScalarType } from './scalar-type.ts';
import type { ShapeEnv } from './shape-env.ts';
import { Storage, takeScratch } from './storage.ts';
import {
  hadSymbols,
  hasSymbols,
  hint,
  isSymbolic,
  settle,
  settleAll,
  symEq,
  symMax,
  symMul,
  symProduct,
  type SymInt,
} from './sym-int.ts';

/** Strides, in elements, of a tensor of these sizes in C order. */
export function contiguousStrides(sizes: readonly number[]): number[];
export function contiguousStrides(sizes: readonly SymInt[]): SymInt[];
export function contiguousStrides(sizes: readonly SymInt[]): SymInt[] {
  const strides = new Array<SymInt>(sizes.length);
  let stride: SymInt = 1;
  for (let dim = sizes.length - 1; dim >= 0; dim--) {
    strides[dim] = stride;
    const size = sizes[dim];
    stride =
      typeof stride === 'number' && typeof size === 'number'
        ? stride * Math.max(size, 1)
        : symMul(stride, symMax(size, 1));
  }
  return strides;
}

/** A layout some of whose numbers are expressions. */
interface SymbolicLayout {
  readonly env: ShapeEnv;
  readonly sizes: readonly SymInt[];
  readonly strides: readonly SymInt[];
  readonly offset: SymInt;
}

/** An element `q` stands for `(q - zeroPoint) * scale` (at::Quantizer), with one pair for the tensor or one for each index of `axis`. */
export interface Quantizer {
  readonly scale: number | Tensor;
  readonly zeroPoint: number | Tensor;
  /** Null where there is one pair for all. */
  readonly axis: number | null;
}

/** The tensors of a quantiser: none where it has one pair of numbers. */
export function quantizerTensors({ scale, zeroPoint }: Quantizer): Tensor[] {
  return [scale, zeroPoint].filter((each) => each instanceof Tensor);
}

/** A number that stays open in what is recorded of work on a device: where a tensor begins, a scalar, what is drawn next. */
export class OpenNumber {
  /** Its place among those that a replay is given. */
  index = -1;
  /** Whether something went by the number itself: what was recorded then holds for it alone. */
  isRead = false;
  /** The recording is over: the number is a number like others. */
  isClosed = false;

  constructor(
    /** What it is while it is recorded. */
    readonly value: number | bigint,
  ) {}
}

/**
 * A view of a storage: sizes, strides and an offset, all in elements (at::Tensor).
 *
 * This class says where elements lie and nothing about what can be computed with them; that is the operators' business.
 */
export class Tensor {
  /** Set by `requires_grad_`; propagated by the executor where gradients are recorded. */
  requiresGrad = false;
  /** How the integers of a quantised tensor (dtype `qint8`, `quint8`, `qint32`) stand for numbers. */
  quantizer: Quantizer | null = null;
  /** The accumulated gradient of a leaf. */
  grad: Tensor | null = null;
  #openOffset: OpenNumber | null = null;
  #sizes: readonly number[];
  #strides: readonly number[];
  #storageOffset: number;
  #symbolic: SymbolicLayout | null = null;

  constructor(
    public storage: Storage,
    public dtype: ScalarType,
    sizes: readonly SymInt[],
    strides: readonly SymInt[],
    storageOffset: SymInt = 0,
  ) {
    this.#sizes = sizes as readonly number[];
    this.#strides = strides as readonly number[];
    this.#storageOffset = storageOffset as number;
    // What was asked for while a recording went on may come when that is over.
    if (hadSymbols() && (hasSymbols() || isSymbolic(sizes))) this.setLayout(sizes, strides, storageOffset);
  }

  /** Gives it sizes, strides and an offset, some of which may be expressions. */
  setLayout(sizes: readonly SymInt[], strides: readonly SymInt[], offset: SymInt): void {
    const symbol = [...sizes, ...strides, offset].find((each) => typeof each !== 'number');
    this.#symbolic = symbol === undefined ? null : { env: symbol.env, sizes, strides, offset };
    this.#sizes = symbol === undefined ? (sizes as readonly number[]) : sizes.map(hint);
    this.#strides = symbol === undefined ? (strides as readonly number[]) : strides.map(hint);
    this.#storageOffset = hint(offset);
  }

  /** Its layout as expressions, while what is recorded has some. */
  #layout(): SymbolicLayout | null {
    if (this.#symbolic?.env.isClosed) this.#symbolic = null;
    return this.#symbolic;
  }

  /** The sizes as numbers: what is recorded holds for these alone. */
  get sizes(): readonly number[] {
    if (this.#symbolic !== null) settleAll(this.#layout()?.sizes ?? []);
    return this.#sizes;
  }

  set sizes(sizes: readonly number[]) {
    this.setLayout(sizes, this.symStrides, this.#layout()?.offset ?? this.#storageOffset);
  }

  /** As `sizes`, each stride. */
  get strides(): readonly number[] {
    if (this.#symbolic !== null) settleAll(this.#layout()?.strides ?? []);
    return this.#strides;
  }

  set strides(strides: readonly number[]) {
    this.setLayout(this.symSizes, strides, this.#layout()?.offset ?? this.#storageOffset);
  }

  /** Whether some of its sizes, strides and offset may be other numbers the next time. */
  get isSymbolic(): boolean {
    return this.#symbolic !== null && this.#layout() !== null;
  }

  /** The sizes, expressions where they may be other numbers the next time. */
  get symSizes(): readonly SymInt[] {
    return this.#symbolic === null ? this.#sizes : (this.#layout()?.sizes ?? this.#sizes);
  }

  get symStrides(): readonly SymInt[] {
    return this.#symbolic === null ? this.#strides : (this.#layout()?.strides ?? this.#strides);
  }

  /** Where its first element lies, in elements from the start of the storage. */
  get storageOffset(): number {
    return settle(this.symStorageOffset);
  }

  set storageOffset(offset: number) {
    if (this.#layout()) this.setLayout(this.symSizes, this.symStrides, offset);
    else this.#storageOffset = offset;
  }

  /** As `storageOffset`, an expression where that may be another number the next time. */
  get symStorageOffset(): SymInt {
    const open = this.openOffset;
    if (open) open.isRead = true;
    return this.#symbolic === null ? this.#storageOffset : (this.#layout()?.offset ?? this.#storageOffset);
  }

  /** Set while work with it is recorded that is to serve for other offsets too. */
  get openOffset(): OpenNumber | null {
    return this.#openOffset?.isClosed === false ? this.#openOffset : null;
  }

  set openOffset(open: OpenNumber | null) {
    this.#openOffset = open;
  }

  /** As `storageOffset`, for who does not go by the number but hands it on with its `openOffset`. */
  get handedOnOffset(): number {
    return this.#storageOffset;
  }

  /** As `handedOnOffset`, an expression where there is one. */
  get symHandedOnOffset(): SymInt {
    return this.#symbolic === null ? this.#storageOffset : (this.#layout()?.offset ?? this.#storageOffset);
  }

  /** A contiguous tensor over new host memory, filled with zeros. */
  static empty(sizes: readonly number[], dtype: ScalarType): Tensor {
    return new Tensor(Storage.zeros(dtype, numelOf(sizes)), dtype, sizes, contiguousStrides(sizes));
  }

  /** A contiguous tensor over memory that a plan has of the device: it has no elements itself. */
  static planned(sizes: readonly number[], dtype: ScalarType): Tensor {
    return new Tensor(Storage.planned(dtype, numelOf(sizes)), dtype, sizes, contiguousStrides(sizes));
  }

  /** A contiguous tensor over the given elements, which are not copied where they are the whole of their buffer. */
  static fromArray(data: HostArray, sizes: readonly number[], dtype: ScalarType): Tensor {
    const expected = numelOf(sizes) * elementSize(dtype);
    if (data.byteLength !== expected) {
      throw new CressetError(
        'TENSOR_DATA_SIZE',
        `a ${dtype} tensor of shape [${sizes.join(', ')}] takes ${expected} bytes, but ${data.byteLength} were given`,
      );
    }
    const whole = data.byteLength === data.buffer.byteLength && data.buffer instanceof ArrayBuffer;
    const buffer = whole
      ? (data.buffer as ArrayBuffer)
      : new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice().buffer;
    return new Tensor(Storage.onHost(buffer), dtype, sizes, contiguousStrides(sizes));
  }

  get dim(): number {
    return this.#sizes.length;
  }

  get numel(): number {
    return numelOf(this.sizes);
  }

  get symNumel(): SymInt {
    return this.#symbolic === null ? numelOf(this.#sizes) : symProduct(this.symSizes);
  }

  /** Another view of the same storage. */
  asStrided(sizes: readonly SymInt[], strides: readonly SymInt[], storageOffset?: SymInt): Tensor {
    const view = new Tensor(this.storage, this.dtype, sizes, strides, storageOffset ?? this.symHandedOnOffset);
    if (storageOffset === undefined) view.openOffset = this.openOffset;
    view.requiresGrad = this.requiresGrad;
    view.quantizer = this.quantizer;
    return view;
  }

  /** Whether elements lie in C order without gaps; strides of dimensions of size 1 do not count. */
  isContiguous(): boolean {
    const layout = this.#symbolic === null ? null : this.#layout();
    if (layout) return isContiguousSymbolic(layout);
    const [sizes, strides] = [this.#sizes, this.#strides];
    let expected = 1;
    for (let dim = sizes.length - 1; dim >= 0; dim--) {
      const size = sizes[dim];
      if (size === 0) return true;
      if (size !== 1) {
        if (strides[dim] !== expected) return false;
        expected *= size;
      }
    }
    return true;
  }

  /**
   * The whole storage as an array of this dtype, for reading: element `[i, j]` is at `storageOffset + i*strides[0] +
   * j*strides[1]` (times two for complex). Throws where the elements are on the device only.
   */
  storageArray(): HostArray {
    return this.storage.hostArray(this.dtype);
  }

  /** As `storageArray`, for writing: a device copy becomes stale. */
  storageArrayForWriting(): HostArray {
    return this.storage.hostArrayForWriting(this.dtype);
  }

  /**
   * The elements in C order. A contiguous tensor gives a window onto its storage, any other a copy: do not write to it.
   * Throws where the elements are on the device only.
   */
  contiguousArray(): HostArray {
    const source = this.storageArray();
    const width = isComplex(this.dtype) ? 2 : 1;
    if (this.isContiguous()) {
      // A window is an object that costs more than little work does.
      if (source.length === this.numel * width) return source;
      return source.subarray(this.storageOffset * width, (this.storageOffset + this.numel) * width) as HostArray;
    }
    takeScratch(this.numel * elementSize(this.dtype));
    const result = newHostArray(this.dtype, this.numel);
    let position = 0;
    forEachOffset(this.sizes, this.strides, this.storageOffset, (offset) => {
      for (let part = 0; part < width; part++) result[position++] = source[offset * width + part];
    });
    return result;
  }

  /** How graphs show this tensor as a constant: its elements where they are few, and on the host. */
  graphText(): string {
    return this.storage.isOnHost ? formatTensorText(this.dtype, this.sizes, () => this.#elements()) : '<Tensor>';
  }

  #elements(): ArrayLike<number | bigint | Complex> {
    const array = this.contiguousArray();
    const toNumber = bitsToNumber(this.dtype);
    const parts = toNumber ? Array.from(array as Uint16Array, toNumber) : array;
    if (!isComplex(this.dtype)) return parts;
    return Array.from(
      { length: this.numel },
      (_, index) => new Complex(Number(parts[2 * index]), Number(parts[2 * index + 1])),
    );
  }

  dispose(): void {
    this.storage.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function isContiguousSymbolic({ sizes, strides }: SymbolicLayout): boolean {
  let expected: SymInt = 1;
  for (let dim = sizes.length - 1; dim >= 0; dim--) {
    const size = sizes[dim];
    if (symEq(size, 0)) return true;
    if (symEq(size, 1)) continue;
    if (!symEq(strides[dim], expected)) return false;
    expected = symMul(expected, size);
  }
  return true;
}

/** Calls `visit` with the storage offset of every element, in C order. */
export function forEachOffset(
  sizes: readonly number[],
  strides: readonly number[],
  storageOffset: number,
  visit: (offset: number) => void,
): void {
  const rank = sizes.length;
  if (numelOf(sizes) === 0) return;
  if (rank === 0) {
    visit(storageOffset);
    return;
  }
  const inner = sizes[rank - 1];
  const innerStride = strides[rank - 1];
  const index = new Array<number>(rank).fill(0);
  let offset = storageOffset;
  for (;;) {
    for (let i = 0, at = offset; i < inner; i++, at += innerStride) visit(at);
    let dim = rank - 2;
    for (; dim >= 0; dim--) {
      offset += strides[dim];
      if (++index[dim] < sizes[dim]) break;
      offset -= strides[dim] * sizes[dim];
      index[dim] = 0;
    }
    if (dim < 0) return;
  }
}
