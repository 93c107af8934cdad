import { Complex } from '@cresset/ir';
import { isComplex, isFloatingPoint, numelOf, scratch, type Tensor } from '@cresset/tensor';
import { numberReader, numberWriter, readScalar, scalarWriter } from '../../kernels/elements.ts';
import { eachOffset, finish, type Pieces } from '../../kernels/loops/pieces.ts';
import type { Scalar } from '../../table/row.ts';

/** Work on single elements by their offsets, which the indexing operators have in common. */

/** Copies an element of `source` into `target`; both have one dtype. */
export function elementMover(target: Tensor, source: Tensor): (to: number, from: number) => void {
  const into = target.storageArrayForWriting();
  const out = source.storageArray();
  if (!isComplex(target.dtype)) return (to, from) => void (into[to] = out[from]);
  return (to, from) => {
    into[2 * to] = out[2 * from];
    into[2 * to + 1] = out[2 * from + 1];
  };
}

/** How a value is combined with the element it meets. */
export type Combination = 'sum' | 'prod' | 'amax' | 'amin';

/** Combines a number into an element of `target`, in the arithmetic of its dtype. */
export function elementCombiner(target: Tensor, how: Combination): (to: number, value: Scalar) => void {
  if (isFloatingPoint(target.dtype)) {
    const read = numberReader(target);
    const write = numberWriter(target);
    const combine = numberCombinations[how];
    return (to, value) => write(to, combine(read(to), Number(value)));
  }
  const write = scalarWriter(target);
  const combine = (a: Scalar, b: Scalar): Scalar => {
    if (a instanceof Complex || b instanceof Complex) return combineComplex(how, asComplex(a), asComplex(b));
    return integerCombinations[how](BigInt(a), BigInt(b));
  };
  return (to, value) => write(to, combine(readScalar(target, to), value));
}

const numberCombinations: Record<Combination, (a: number, b: number) => number> = {
  sum: (a, b) => a + b,
  prod: (a, b) => a * b,
  amax: Math.max,
  amin: Math.min,
};

const integerCombinations: Record<Combination, (a: bigint, b: bigint) => bigint> = {
  sum: (a, b) => BigInt.asIntN(64, a + b),
  prod: (a, b) => BigInt.asIntN(64, a * b),
  amax: (a, b) => (a > b ? a : b),
  amin: (a, b) => (a < b ? a : b),
};

const asComplex = (value: Scalar): Complex => (value instanceof Complex ? value : new Complex(Number(value), 0));

function combineComplex(how: Combination, a: Complex, b: Complex): Complex {
  if (how === 'sum') return new Complex(a.re + b.re, a.im + b.im);
  return new Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

/** Reads elements as the arithmetic of their dtype wants them: numbers for floats, else as a program has them. */
export function operandReader(tensor: Tensor): (offset: number) => Scalar {
  return isFloatingPoint(tensor.dtype) ? numberReader(tensor) : (offset) => readScalar(tensor, offset);
}

/** The offsets of all elements in C order. */
export function* offsetsInPieces(
  sizes: readonly number[],
  strides: readonly number[],
  storageOffset: number,
): Pieces<Float64Array> {
  const offsets = scratch(Float64Array, numelOf(sizes));
  let at = 0;
  yield* eachOffset(sizes, strides, storageOffset, 2, (offset) => (offsets[at++] = offset));
  return offsets;
}

/** As `offsetsInPieces`, at once. */
export const offsetsOf = (sizes: readonly number[], strides: readonly number[], storageOffset: number): Float64Array =>
  finish(offsetsInPieces(sizes, strides, storageOffset));
