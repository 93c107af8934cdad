import { filled, repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { giveUpScratch, isComplex, scratch, type ScalarType, type Tensor } from '@cresset/tensor';
import { elementsInPieces, numbersInPieces, storeInPieces, writeNumbers } from '../../kernels/numbers/numbers.ts';
import type { TensorMeta } from '../../table/row.ts';

/** What an element takes that a function gives, in operations. */
const ELEMENT_COST = 16;
/** What it takes to make a matrix of elements that are there. */
const MATRIX_COST = 64;
/** What the magnitude of one element takes. */
const MAGNITUDE_COST = 8;

/**
 * A dense matrix of complex numbers in rows, computed with in double precision. Real matrices have imaginary parts of zero,
 * so that each factorisation is written once.
 */
export class Matrix {
  constructor(
    readonly rows: number,
    readonly columns: number,
    readonly re: Float64Array = scratch(Float64Array, rows * columns),
    readonly im: Float64Array = scratch(Float64Array, rows * columns),
  ) {}

  static identity(size: number): Matrix {
    const result = new Matrix(size, size);
    for (let i = 0; i < size; i++) result.re[i * size + i] = 1;
    return result;
  }

  static build(rows: number, columns: number, element: (i: number, j: number) => readonly [number, number]): Matrix {
    const result = new Matrix(rows, columns);
    for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) result.set(i, j, ...element(i, j));
    return result;
  }

  /** As `build`, row by row. */
  static *inRows(
    rows: number,
    columns: number,
    element: (i: number, j: number) => readonly [number, number],
  ): Pieces<Matrix> {
    const result = new Matrix(rows, columns);
    yield* repeat(rows, ELEMENT_COST * columns, (i) => {
      for (let j = 0; j < columns; j++) result.set(i, j, ...element(i, j));
    });
    return result;
  }

  set(i: number, j: number, re: number, im: number): void {
    this.re[i * this.columns + j] = re;
    this.im[i * this.columns + j] = im;
  }

  at(i: number, j: number): readonly [number, number] {
    return [this.re[i * this.columns + j], this.im[i * this.columns + j]];
  }

  clone(): Matrix {
    const result = new Matrix(this.rows, this.columns);
    result.re.set(this.re);
    result.im.set(this.im);
    return result;
  }

  transpose(): Matrix {
    const result = new Matrix(this.columns, this.rows);
    for (let i = 0, from = 0; i < this.rows; i++) {
      for (let j = 0, to = i; j < this.columns; j++, from++, to += this.rows) {
        result.re[to] = this.re[from];
        result.im[to] = this.im[from];
      }
    }
    return result;
  }

  /** The conjugate transpose. */
  adjoint(): Matrix {
    const result = this.transpose();
    for (let i = 0; i < result.im.length; i++) result.im[i] = -result.im[i];
    return result;
  }

  conjugate(): Matrix {
    const result = this.clone();
    for (let i = 0; i < result.im.length; i++) result.im[i] = -result.im[i];
    return result;
  }

  /** Rows [0, rows) and columns [0, columns). */
  leading(rows: number, columns: number): Matrix {
    const result = new Matrix(rows, columns);
    for (let i = 0; i < rows; i++) {
      const from = i * this.columns;
      result.re.set(this.re.subarray(from, from + columns), i * columns);
      result.im.set(this.im.subarray(from, from + columns), i * columns);
    }
    return result;
  }

  /** What lies on and above (`upper`) or below the diagonal; `unit` puts ones on the diagonal. */
  triangle(upper: boolean, unit = false): Matrix {
    const result = this.clone();
    for (let i = 0; i < this.rows; i++) {
      const row = i * this.columns;
      const [start, end] = upper ? [row, row + Math.min(i, this.columns)] : [row + i + 1, row + this.columns];
      for (const part of [result.re, result.im]) if (start < end) part.fill(0, start, end);
      if (unit && i < this.columns) result.set(i, i, 1, 0);
    }
    return result;
  }

  /** How large each element is. */
  *magnitudes(): Pieces<Float64Array> {
    const { re, im } = this;
    return yield* filled(scratch(Float64Array, re.length), MAGNITUDE_COST, (i) => Math.hypot(re[i], im[i]));
  }

  /** Sums of the magnitudes in each column, or each row. */
  *sums(byColumn: boolean): Pieces<Float64Array> {
    const { rows, columns } = this;
    const magnitudes = yield* this.magnitudes();
    const sums = new Float64Array(byColumn ? columns : rows);
    yield* repeat(rows, columns, (i) => {
      for (let j = 0, at = i * columns; j < columns; j++, at++) sums[byColumn ? j : i] += magnitudes[at];
    });
    giveUpScratch(magnitudes);
    return sums;
  }

  *multiply(other: Matrix): Pieces<Matrix> {
    const result = new Matrix(this.rows, other.columns);
    yield* repeat(this.rows, this.columns * other.columns, (i) => this.#multiplyRow(i, other, result));
    return result;
  }

  #multiplyRow(i: number, other: Matrix, result: Matrix): void {
    const width = other.columns;
    for (let k = 0; k < this.columns; k++) {
      const [re, im] = this.at(i, k);
      if (re === 0 && im === 0) continue;
      for (let j = 0, to = i * width, from = k * width; j < width; j++, to++, from++) {
        result.re[to] += re * other.re[from] - im * other.im[from];
        result.im[to] += re * other.im[from] + im * other.re[from];
      }
    }
  }

  /** Adds `factor` times another one to this one. */
  accumulate(other: Matrix, factor: number): void {
    for (let i = 0; i < this.re.length; i++) {
      this.re[i] += factor * other.re[i];
      this.im[i] += factor * other.im[i];
    }
  }

  add(other: Matrix, factor = 1): Matrix {
    const result = this.clone();
    result.accumulate(other, factor);
    return result;
  }

  scale(factor: number): Matrix {
    const result = this.clone();
    for (let i = 0; i < result.re.length; i++) {
      result.re[i] *= factor;
      result.im[i] *= factor;
    }
    return result;
  }

  /** Nobody needs it any more: it counts no longer as what the operator works in. */
  giveUp(): void {
    giveUpScratch(this.re, this.im);
  }

  /** The diagonal's real parts. */
  diagonal(): Float64Array {
    return Float64Array.from({ length: Math.min(this.rows, this.columns) }, (_, i) => this.re[i * this.columns + i]);
  }

  swapRows(a: number, b: number): void {
    if (a === b) return;
    for (const part of [this.re, this.im]) {
      for (let j = 0, i = a * this.columns, k = b * this.columns; j < this.columns; j++, i++, k++) {
        [part[i], part[k]] = [part[k], part[i]];
      }
    }
  }
}

/** The elements of a tensor in C order, real and imaginary parts apart. */
export function* readParts(tensor: Tensor): Pieces<{ re: Float64Array; im: Float64Array }> {
  if (!isComplex(tensor.dtype)) {
    const numbers = yield* numbersInPieces(tensor);
    const re = scratch(Float64Array, tensor.numel);
    re.set(numbers);
    return { re, im: scratch(Float64Array, tensor.numel) };
  }
  const elements = (yield* elementsInPieces(tensor)) as Float64Array;
  yield;
  const re = scratch(Float64Array, tensor.numel);
  yield;
  const im = scratch(Float64Array, tensor.numel);
  yield* repeat(re.length, 4, (i) => {
    re[i] = elements[2 * i];
    im[i] = elements[2 * i + 1];
  });
  return { re, im };
}

/** The matrices in the last two dimensions, batch by batch. */
export function* readMatrices(tensor: Tensor): Pieces<Matrix[]> {
  const [rows, columns] = tensor.sizes.slice(-2);
  const { re, im } = yield* readParts(tensor);
  yield;
  const size = rows * columns;
  const count = tensor.sizes.slice(0, -2).reduce((product, length) => product * length, 1);
  const matrices: Matrix[] = [];
  yield* repeat(count, MATRIX_COST, (b) => {
    const [start, end] = [b * size, (b + 1) * size];
    matrices.push(new Matrix(rows, columns, re.subarray(start, end), im.subarray(start, end)));
  });
  return matrices;
}

/** Fills a contiguous tensor with matrices, one after the other. */
export function* writeMatrices(out: Tensor, matrices: readonly Matrix[]): Pieces {
  const re = yield* joined(matrices, 're', out.numel);
  yield* writeParts(out, re, isComplex(out.dtype) ? yield* joined(matrices, 'im', out.numel) : null);
}

/** One part of all matrices. */
function* joined(matrices: readonly Matrix[], part: 're' | 'im', count: number): Pieces<Float64Array> {
  yield;
  const values = scratch(Float64Array, count);
  let at = 0;
  yield* repeat(matrices.length, count / Math.max(1, matrices.length), (b) => {
    values.set(matrices[b][part], at);
    at += matrices[b][part].length;
  });
  yield;
  return values;
}

export function* writeParts(out: Tensor, re: Float64Array, im: Float64Array | null): Pieces {
  if (!isComplex(out.dtype)) return yield* storeInPieces(out, re);
  const target = out.storageArrayForWriting();
  yield* repeat(re.length, 4, (i) => {
    target[2 * (out.storageOffset + i)] = re[i];
    target[2 * (out.storageOffset + i) + 1] = im?.[i] ?? 0;
  });
}

/** Fills a contiguous real tensor with vectors or single numbers, one after the other. */
export function writeVectors(out: Tensor, vectors: readonly (ArrayLike<number> | number)[]): void {
  const values = scratch(Float64Array, out.numel);
  let at = 0;
  for (const vector of vectors) {
    if (typeof vector === 'number') values[at++] = vector;
    else {
      values.set(vector, at);
      at += vector.length;
    }
  }
  writeNumbers(out, values);
}

/** a / b of complex numbers in parts, scaled against overflow. */
export function quotient(are: number, aim: number, bre: number, bim: number): [number, number] {
  if (bim === 0) return [are / bre, aim / bre];
  if (Math.abs(bre) >= Math.abs(bim)) {
    const ratio = bim / bre;
    const scale = bre + bim * ratio;
    return [(are + aim * ratio) / scale, (aim - are * ratio) / scale];
  }
  const ratio = bre / bim;
  const scale = bre * ratio + bim;
  return [(are * ratio + aim) / scale, (aim * ratio - are) / scale];
}

/** Sizes of the dimensions before those of the matrices. */
export const batchOf = (tensor: Tensor): readonly number[] => tensor.sizes.slice(0, -2);

/** What a result is that has `sizes` for each matrix of a batch. */
export const batchMeta = (batch: readonly number[], sizes: readonly number[], dtype: ScalarType): TensorMeta => ({
  sizes: [...batch, ...sizes],
  dtype,
});
