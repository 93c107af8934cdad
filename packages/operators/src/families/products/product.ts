import { Complex } from '@cresset/ir';
import { forEachOffset, isComplex, isIntegral, numelOf, scratch, Tensor, type HostArray } from '@cresset/tensor';
import type { Scalar } from '../../table/row.ts';
import { gemm, gemmPieces } from './gemm.ts';
import {
  fillInPieces,
  stridedNumbers,
  type FloatArray,
  type StridedNumbers,
  numbersInPieces,
  elementsInPieces,
} from '../../kernels/numbers/numbers.ts';
import { eachOffset, filled, PIECE_SIZE, repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { StridedCursor, walkOf } from '../../kernels/loops/tensor-iterator.ts';
import { reshapeView } from '../../kernels/views.ts';

/** What is added to a product: `beta * self + alpha * product`; `self` has the product's shape (strides may be 0). */
export interface Addend {
  readonly self: Tensor;
  readonly beta: Scalar;
  readonly alpha: Scalar;
}

/** How many dimensions make the rows, the columns and the summed side of a product; the rest are a batch. */
export interface ProductDims {
  readonly rows: number;
  readonly columns: number;
  readonly inner: number;
}

/** Matrices proper. */
export const matrices: ProductDims = { rows: 1, columns: 1, inner: 1 };

/**
 * Fills `out` (`[…batch, …rows, …columns]`) with the matrix products of `left` (`[…batch, …rows, …inner]`) and `right`
 * (`[…batch, …inner, …columns]`). Floating-point sums are kept in doubles; integers wrap as PyTorch's do.
 */
export function* productPieces(
  lhs: Tensor,
  rhs: Tensor,
  out: Tensor,
  addend?: Addend,
  dims: ProductDims = matrices,
): Pieces {
  const left = asMatrices(lhs, dims.rows, dims.inner);
  const right = asMatrices(rhs, dims.inner, dims.columns);
  if (isComplex(out.dtype)) yield* complexProduct(left, right, out, addend);
  else if (isIntegral(out.dtype, true) && !(yield* fitsDouble(left, right, addend)))
    yield* exactProduct(left, right, out, addend);
  else yield* realProduct(left, right, out, addend);
}

/** Row and column dimensions flattened to one each; a copy where strides ask for it. */
function asMatrices(tensor: Tensor, rows: number, columns: number): Tensor {
  if (rows === 1 && columns === 1) return tensor;
  const batch = tensor.dim - rows - columns;
  const middle = batch + rows;
  const sizes = [
    ...tensor.sizes.slice(0, batch),
    numelOf(tensor.sizes.slice(batch, middle)),
    numelOf(tensor.sizes.slice(middle)),
  ];
  return (
    reshapeView(tensor, sizes) ?? Tensor.fromArray(tensor.contiguousArray().slice() as HostArray, sizes, tensor.dtype)
  );
}

function* realProduct(left: Tensor, right: Tensor, out: Tensor, addend?: Addend): Pieces {
  const a = yield* stridedNumbers(left);
  const b = yield* stridedNumbers(right);
  if (!addend) {
    yield* fillInPieces(out, (values) => multiplyBatches(left, a, right, b, values));
    return;
  }
  const integral = isIntegral(out.dtype, true);
  const alpha = realScalar(addend.alpha, integral);
  const beta = realScalar(addend.beta, integral);
  // `self` may be what is written to: it is read before.
  const added = beta === 0 ? null : yield* numbersInPieces(addend.self);
  const product = scratch(Float64Array, out.numel);
  yield* multiplyBatches(left, a, right, b, product);
  yield* fillInPieces(out, (values) =>
    filled(values, 2, (i) => (added === null ? alpha * product[i] : beta * added[i] + alpha * product[i])),
  );
}

/** A Scalar as the computing type has it: integers take it truncated. */
export function realScalar(value: Scalar, integral: boolean): number {
  const number = value instanceof Complex ? value.re : Number(value);
  return integral ? Math.trunc(number) : number;
}

/** Products of all matrices of two batches, in C order. */
function* multiplyBatches(
  left: Tensor,
  a: StridedNumbers,
  right: Tensor,
  b: StridedNumbers,
  values: FloatArray,
): Pieces {
  const rank = left.dim;
  const batch = left.sizes.slice(0, -2);
  const m = left.sizes[rank - 2];
  const k = left.sizes[rank - 1];
  const n = right.sizes[rank - 1];
  const [lefts, rights] = [a, b].map(({ strides, offset }) => {
    if (rank === 2) return [offset];
    const offsets: number[] = [];
    forEachOffset(batch, strides.slice(0, -2), offset, (at) => offsets.push(at));
    return offsets;
  });
  let done = 0;
  for (let index = 0; index < lefts.length; index++) {
    const lhs = {
      data: a.data,
      offset: lefts[index],
      rowStride: a.strides[rank - 2],
      columnStride: a.strides[rank - 1],
    };
    const rhs = {
      data: b.data,
      offset: rights[index],
      rowStride: b.strides[rank - 2],
      columnStride: b.strides[rank - 1],
    };
    const size = m * n * k;
    if (size > PIECE_SIZE) yield* gemmPieces(m, n, k, lhs, rhs, values, index * m * n, n);
    else gemm(m, n, k, lhs, rhs, values, index * m * n, n);
    done += size;
    if (done < PIECE_SIZE) continue;
    done = 0;
    yield;
  }
}

function* largest(tensor: Tensor): Pieces<number> {
  let most = 0;
  const values = yield* numbersInPieces(tensor);
  yield* repeat(values.length, 2, (at) => {
    most = Math.max(most, Math.abs(values[at]));
  });
  return most;
}

/** Whether all sums of an integer product are exact in doubles. */
function* fitsDouble(left: Tensor, right: Tensor, addend?: Addend): Pieces<boolean> {
  let bound = (yield* largest(left)) * (yield* largest(right)) * left.sizes[left.dim - 1];
  if (addend) {
    bound =
      bound * Math.abs(realScalar(addend.alpha, true)) +
      (yield* largest(addend.self)) * Math.abs(realScalar(addend.beta, true));
  }
  // Written through 32-bit conversions, sums that leave the type wrap; 64-bit ones must not be rounded before.
  return bound < 2 ** 53;
}

function* bigintsOf(tensor: Tensor): Pieces<BigInt64Array> {
  const elements = yield* elementsInPieces(tensor);
  return yield* filled(scratch(BigInt64Array, tensor.numel), 4, (at) => BigInt(elements[at]));
}

/** Products of bigints between two stops: they take some twenty times as long as those of numbers. */
const mostExactProducts = 1 << 17;

/** Integers of any size, wrapped to 64 bits. */
function* exactProduct(left: Tensor, right: Tensor, out: Tensor, addend?: Addend): Pieces {
  const a = yield* bigintsOf(left);
  const b = yield* bigintsOf(right);
  const added = addend ? yield* bigintsOf(addend.self) : null;
  const alpha = addend ? BigInt(realScalar(addend.alpha, true)) : 1n;
  const beta = addend ? BigInt(realScalar(addend.beta, true)) : 0n;
  const rank = left.dim;
  const m = left.sizes[rank - 2];
  const k = left.sizes[rank - 1];
  const n = right.sizes[rank - 1];
  const target = out.storageArrayForWriting() as unknown as Record<number, bigint | number>;
  const wide = out.dtype === 'int64';
  const cursor = new StridedCursor(out.sizes, walkOf(out));
  let offset = 0;
  let done = 0;
  for (let position = 0; position < out.numel; position++) {
    cursor.advance(1, (at) => (offset = at));
    const column = position % n;
    const row = Math.floor(position / n) % m;
    const matrix = Math.floor(position / (m * n));
    let sum = 0n;
    for (let i = 0; i < k; i++) {
      sum += a[(matrix * m + row) * k + i] * b[(matrix * k + i) * n + column];
      if (++done < mostExactProducts) continue;
      done = 0;
      yield;
    }
    const value = BigInt.asIntN(64, alpha * sum + (added ? beta * added[position] : 0n));
    target[offset] = wide ? value : Number(BigInt.asIntN(32, value));
  }
}

function* complexProduct(left: Tensor, right: Tensor, out: Tensor, addend?: Addend): Pieces {
  const count = numelOf(out.sizes);
  const re = scratch(Float64Array, count);
  const im = scratch(Float64Array, count);
  const part = scratch(Float64Array, count);
  const multiply = function* (a: StridedNumbers, b: StridedNumbers, sum: Float64Array, sign: number): Pieces {
    yield* multiplyBatches(left, a, right, b, part);
    yield* filled(sum, 2, (i) => sum[i] + sign * part[i]);
  };
  const [aRe, aIm] = complexParts(left);
  const [bRe, bIm] = complexParts(right);
  yield* multiply(aRe, bRe, re, 1);
  yield* multiply(aIm, bIm, re, -1);
  yield* multiply(aRe, bIm, im, 1);
  yield* multiply(aIm, bRe, im, 1);
  if (addend) {
    const alpha = complexScalar(addend.alpha);
    const beta = complexScalar(addend.beta);
    const added = (yield* elementsInPieces(addend.self)) as FloatArray;
    const skip = beta.re === 0 && beta.im === 0;
    yield* repeat(count, 8, (i) => {
      const x = re[i];
      re[i] = alpha.re * x - alpha.im * im[i];
      im[i] = alpha.re * im[i] + alpha.im * x;
      if (skip) return;
      re[i] += beta.re * added[2 * i] - beta.im * added[2 * i + 1];
      im[i] += beta.re * added[2 * i + 1] + beta.im * added[2 * i];
    });
  }
  yield* writeComplex(out, re, im);
}

function complexScalar(value: Scalar): Complex {
  return value instanceof Complex ? value : new Complex(Number(value), 0);
}

/** Real and imaginary parts of a complex tensor, without a copy. */
export function complexParts(tensor: Tensor): [StridedNumbers, StridedNumbers] {
  const data = tensor.storageArray() as FloatArray;
  const strides = tensor.strides.map((stride) => 2 * stride);
  const offset = 2 * tensor.storageOffset;
  return [
    { data, offset, strides },
    { data, offset: offset + 1, strides },
  ];
}

export function* writeComplex(out: Tensor, re: ArrayLike<number>, im: ArrayLike<number>): Pieces {
  const target = out.storageArrayForWriting() as FloatArray;
  let position = 0;
  yield* eachOffset(out.sizes, out.strides, out.storageOffset, 4, (offset) => {
    target[2 * offset] = re[position];
    target[2 * offset + 1] = im[position];
    position++;
  });
}
