import { contiguousStrides, numelOf, Tensor } from '@cresset/tensor';
import { PIECE_SIZE, type Pieces, repeat } from '../../kernels/loops/pieces.ts';

/**
 * Sums of float32 numbers in the order in which PyTorch adds them up on one thread of a processor with AVX2 (at::TensorIterator,
 * ATen/native/cpu/SumKernel.cpp): what is rounded to an integer afterwards shows which order that was.
 */

/** Floats in a vector register. */
const LANES = 8;
/** Rows that are added up beside each other. */
const ROWS = 4;
const LEVELS = 4;

/** One dimension as both operands are walked along it; it is reduced where the output stays in its place. */
interface Dimension {
  readonly size: number;
  readonly output: number;
  readonly input: number;
}

/** The sums over some dimensions, which are left out of the result unless `keepdim`. */
export function* cascadeSum(self: Tensor, dims: readonly number[], keepdim: boolean): Pieces<Tensor> {
  const isReduced = self.sizes.map((_, dim) => dims.includes(dim));
  const kept = self.sizes.map((size, dim) => (isReduced[dim] ? 1 : size));
  const outputStrides = contiguousStrides(kept);
  const sums = new Float32Array(numelOf(kept));
  const values = self.storageArray() as Float32Array;
  const [first = point, second = point, ...outer] = inOrder(
    self.sizes.map((size, dim) => ({
      size,
      output: isReduced[dim] ? 0 : outputStrides[dim],
      input: self.strides[dim],
    })),
  );
  const index = outer.map(() => 0);
  const atOnce = Math.max(1, Math.floor(PIECE_SIZE / Math.max(1, first.size * second.size)));
  for (let left = numelOf(outer.map(({ size }) => size)); left > 0; left--) {
    if (left % atOnce === 0) yield;
    const at = (operand: 'output' | 'input'): number =>
      outer.reduce((offset, dimension, dim) => offset + dimension[operand] * index[dim], 0);
    yield* addBlock(values, self.storageOffset + at('input'), sums, at('output'), first, second);
    for (let dim = 0; dim < outer.length && ++index[dim] === outer[dim].size; dim++) index[dim] = 0;
  }
  const sizes = keepdim ? kept : self.sizes.filter((_, dim) => !isReduced[dim]);
  return Tensor.fromArray(sums, sizes, 'float32');
}

const point: Dimension = { size: 1, output: 0, input: 0 };

/** Dimensions with what is reduced first and then by their strides, the fastest first; neighbours that are walked as one are one. */
function inOrder(dimensions: readonly Dimension[]): Dimension[] {
  const order = dimensions.filter(({ size }) => size !== 1).reverse();
  for (let from = 1; from < order.length; from++) {
    for (let at = from; at > 0 && isBehind(order[at - 1], order[at]); at--) {
      [order[at - 1], order[at]] = [order[at], order[at - 1]];
    }
  }
  const merged: Dimension[] = [];
  for (const next of order) {
    const last = merged.at(-1);
    const isOne = last && last.size * last.output === next.output && last.size * last.input === next.input;
    if (isOne) merged[merged.length - 1] = { ...last, size: last.size * next.size };
    else merged.push(next);
  }
  return merged;
}

function isBehind(a: Dimension, b: Dimension): boolean {
  if ((a.output === 0) !== (b.output === 0)) return b.output === 0;
  if (a.output !== b.output) return a.output > b.output;
  return a.input !== b.input ? a.input > b.input : a.size > b.size;
}

/** Adds two dimensions of the input to what they are summed up in. */
function* addBlock(
  values: Float32Array,
  from: number,
  sums: Float32Array,
  to: number,
  first: Dimension,
  second: Dimension,
): Pieces {
  const [inner, across] = first.output !== 0 && second.output === 0 ? [second, first] : [first, second];
  if (inner.output !== 0) {
    yield* repeat(across.size, inner.size, (row) => {
      for (let at = 0; at < inner.size; at++) {
        sums[to + row * across.output + at * inner.output] += values[from + row * across.input + at * inner.input];
      }
    });
    return;
  }
  const sumOf = chosenSum(values, inner, across);
  yield* repeat(across.size, inner.size, (row) => {
    sums[to + row * across.output] += sumOf(from + row * across.input, row);
  });
}

/** How one row is added up: along memory, or with others that lie beside it. */
function chosenSum(values: Float32Array, inner: Dimension, across: Dimension): (at: number, row: number) => number {
  const whole = (at: number): number => rowSum(values, at, inner.input, inner.size);
  if (inner.input === 1 && inner.size >= LANES) return (at) => vectorSum(values, at, inner.size);
  const isInVectors = across.input === 1 && across.size >= LANES;
  if (!isInVectors && inner.input < across.input) return whole;
  const together = isInVectors ? ROWS * LANES : ROWS;
  const grouped = across.size - (across.size % together);
  return (at, row) => (row < grouped ? columnSum(values, at, inner.input, inner.size) : whole(at));
}

/** Chunks of numbers are added up, then their sums in chunks, and so on. */
function columnSum(values: Float32Array, at: number, stride: number, size: number): number {
  const power = Math.max(4, Math.floor(Math.ceil(Math.log2(Math.max(size, 2))) / LEVELS));
  const step = 2 ** power;
  const levels = new Float32Array(LEVELS);
  let done = 0;
  while (done + step <= size) {
    for (const end = done + step; done < end; done++) levels[0] += values[at + done * stride];
    for (let level = 1; level < LEVELS; level++) {
      levels[level] += levels[level - 1];
      levels[level - 1] = 0;
      if (Math.floor(done / step ** level) % step !== 0) break;
    }
  }
  for (; done < size; done++) levels[0] += values[at + done * stride];
  for (let level = 1; level < LEVELS; level++) levels[0] += levels[level];
  return levels[0];
}

/** Every fourth number together, and what is left with the first of them. */
function rowSum(values: Float32Array, at: number, stride: number, size: number): number {
  const count = Math.floor(size / ROWS);
  const partial = Float32Array.from({ length: ROWS }, (_, row) =>
    columnSum(values, at + row * stride, ROWS * stride, count),
  );
  for (let rest = count * ROWS; rest < size; rest++) partial[0] += values[at + rest * stride];
  for (let row = 1; row < ROWS; row++) partial[0] += partial[row];
  return partial[0];
}

/** Each lane of the vectors together; what fills none is added up first. */
function vectorSum(values: Float32Array, at: number, size: number): number {
  const count = Math.floor(size / LANES);
  let sum = 0;
  for (let rest = count * LANES; rest < size; rest++) sum = Math.fround(sum + values[at + rest]);
  for (let lane = 0; lane < LANES; lane++) sum = Math.fround(sum + rowSum(values, at + lane, LANES, count));
  return sum;
}
