import { numelOf, symEq, symMul, type SymInt, type Tensor } from '@cresset/tensor';
import { strideOrder } from '../dimensions.ts';

/** The strides (in elements) and the first offset with which one operand is walked. */
export interface Walk<Size extends SymInt = number> {
  readonly strides: readonly Size[];
  readonly offset: number;
}

/** A common index space for several operands, dimensions merged where all of them allow it, the fastest last. */
export interface IterationSpace<Size extends SymInt = number> {
  readonly sizes: readonly Size[];
  readonly walks: readonly Walk<Size>[];
}

/**
 * The index space `sizes`, over which each operand is walked with its own strides (0 where it is broadcast), in the order
 * of memory of the first ones (at::TensorIterator: reorder, then coalesce).
 */
export function iterationSpace<Size extends SymInt>(
  sizes: readonly Size[],
  walks: readonly Walk<Size>[],
): IterationSpace<Size> {
  const order = strideOrder(
    sizes,
    walks.map((walk) => walk.strides),
  )
    .filter((dim) => !symEq(sizes[dim], 1))
    .reverse();
  return coalesce({
    sizes: order.map((dim) => sizes[dim]),
    walks: walks.map(({ strides, offset }) => ({ offset, strides: order.map((dim) => strides[dim]) })),
  });
}

/** Merges neighbouring dimensions that every operand walks as one; their order, and so the order of elements, stays. */
export function coalesce<Size extends SymInt>({ sizes, walks }: IterationSpace<Size>): IterationSpace<Size> {
  const merged: Size[] = [];
  const strides: Size[][] = walks.map(() => []);
  for (let dim = 0; dim < sizes.length; dim++) {
    const size = sizes[dim];
    if (symEq(size, 1)) continue;
    const last = merged.length - 1;
    const fits = last >= 0 && walks.every((walk, at) => symEq(strides[at][last], symMul(walk.strides[dim], size)));
    if (fits) merged[last] = symMul(merged[last], size) as Size;
    else merged.push(size);
    walks.forEach((walk, at) => (strides[at][fits ? last : last + 1] = walk.strides[dim]));
  }
  return { sizes: merged, walks: walks.map(({ offset }, at) => ({ offset, strides: strides[at] })) };
}

/** A walk over the whole of a tensor. */
export const walkOf = (tensor: Tensor): Walk => ({ strides: tensor.strides, offset: tensor.storageOffset });

/** `count` elements at `offset`, `offset + stride`, …; they are elements `at`, `at + 1`, … of what is being visited. */
export type VisitRun = (offset: number, stride: number, count: number, at: number) => void;

/** Goes through an index space in C order, any number of elements at a time. */
export class StridedCursor {
  readonly #sizes: readonly number[];
  readonly #strides: readonly number[];
  readonly #index: number[];
  readonly #inner: number;
  readonly #innerStride: number;
  #position = 0;
  #rowOffset: number;

  constructor(sizes: readonly number[], { strides, offset }: Walk) {
    const outer = Math.max(sizes.length - 1, 0);
    this.#sizes = sizes;
    this.#strides = strides;
    this.#index = new Array<number>(outer).fill(0);
    this.#inner = sizes.length === 0 ? 1 : sizes[outer];
    this.#innerStride = sizes.length === 0 ? 0 : strides[outer];
    this.#rowOffset = offset;
  }

  /** The next `count` elements, as runs of equal stride; there must be as many left. */
  advance(count: number, visit: VisitRun): void {
    let done = 0;
    while (done < count) {
      const run = Math.min(count - done, this.#inner - this.#position);
      visit(this.#rowOffset + this.#position * this.#innerStride, this.#innerStride, run, done);
      done += run;
      this.#position += run;
      if (this.#position === this.#inner) this.#nextRow();
    }
  }

  #nextRow(): void {
    this.#position = 0;
    for (let dim = this.#index.length - 1; dim >= 0; dim--) {
      this.#rowOffset += this.#strides[dim];
      if (++this.#index[dim] < this.#sizes[dim]) return;
      this.#rowOffset -= this.#strides[dim] * this.#sizes[dim];
      this.#index[dim] = 0;
    }
  }
}

/** Visits all runs of an index space for one operand. */
export function forEachRun(sizes: readonly number[], walk: Walk, visit: VisitRun): void {
  const count = numelOf(sizes);
  if (count > 0) new StridedCursor(sizes, walk).advance(count, visit);
}
