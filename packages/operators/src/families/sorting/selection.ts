import { symLe, type SymInt } from '@cresset/tensor';
import { filled, repeat, type Pieces } from '../../kernels/loops/pieces.ts';

/**
 * The order in which PyTorch's `topk` leaves equal elements. It hangs on the algorithms of the C++ library that PyTorch is built with
 * (libstdc++: introselect, introsort, heap selection), so these are the same ones: the same comparisons and the same moves.
 */

/** Whether the element at position `a` of a line comes before the one at `b`. */
export type IsBefore = (a: number, b: number) => boolean;

/** Elements that a range is parted by between two stops. */
const PART = 1 << 16;

/** Ranges up to this size are left to insertion sort by `sort`. */
const insertionSize = 16;

/** The depth at which quicksort gives up: twice the binary logarithm. */
const depthLimit = (count: number): number => 2 * (31 - Math.clz32(count));

function swap(order: Int32Array, a: number, b: number): void {
  const value = order[a];
  order[a] = order[b];
  order[b] = value;
}

/** Puts `value` where it belongs in the heap, whose place `hole` is free. */
function adjustHeap(
  order: Int32Array,
  first: number,
  hole: number,
  length: number,
  value: number,
  isBefore: IsBefore,
): void {
  const top = hole;
  let child = hole;
  while (child < (length - 1) >> 1) {
    child = 2 * (child + 1);
    if (isBefore(order[first + child], order[first + child - 1])) child--;
    order[first + hole] = order[first + child];
    hole = child;
  }
  if (length % 2 === 0 && child === (length - 2) >> 1) {
    child = 2 * child + 1;
    order[first + hole] = order[first + child];
    hole = child;
  }
  let parent = (hole - 1) >> 1;
  while (hole > top && isBefore(order[first + parent], value)) {
    order[first + hole] = order[first + parent];
    hole = parent;
    parent = (hole - 1) >> 1;
  }
  order[first + hole] = value;
}

/** Moves the heap's top to `to` and what was there into the heap. */
function popHeap(order: Int32Array, first: number, length: number, to: number, isBefore: IsBefore): void {
  const value = order[to];
  order[to] = order[first];
  adjustHeap(order, first, 0, length, value, isBefore);
}

/** Makes [first, middle) a heap of what comes first in [first, last), its last one on top. */
function* heapSelect(order: Int32Array, first: number, middle: number, last: number, isBefore: IsBefore): Pieces {
  const length = middle - first;
  const parents = length >> 1;
  yield* repeat(parents, 64, (at) => {
    const parent = parents - 1 - at;
    adjustHeap(order, first, parent, length, order[first + parent], isBefore);
  });
  yield* repeat(last - middle, 64, (index) => {
    const at = middle + index;
    if (isBefore(order[at], order[first])) popHeap(order, first, length, at, isBefore);
  });
}

/** Sorts what comes first in [first, last) to [first, middle). */
export function* partialSort(
  order: Int32Array,
  first: number,
  middle: number,
  last: number,
  isBefore: IsBefore,
): Pieces {
  yield* heapSelect(order, first, middle, last, isBefore);
  const length = middle - first;
  yield* repeat(length - 1, 256, (at) => popHeap(order, first, length - 1 - at, first + length - 1 - at, isBefore));
}

/** A range on its way to be parted: what lies before `low` does not come after the pivot, what lies behind `high` not before. */
interface Partition {
  readonly pivot: number;
  low: number;
  high: number;
}

/** Parts [first, last) at the median of three of its elements. */
function beginPartition(order: Int32Array, first: number, last: number, isBefore: IsBefore): Partition {
  const places = [first + 1, (first + last) >>> 1, last - 1];
  const [a, b, c] = places.map((place) => order[place]);
  const median = isBefore(a, b)
    ? isBefore(b, c)
      ? 1
      : isBefore(a, c)
        ? 2
        : 0
    : isBefore(a, c)
      ? 0
      : isBefore(b, c)
        ? 2
        : 1;
  swap(order, first, places[median]);
  return { pivot: order[first], low: first + 1, high: last - 1 };
}

/** Goes on for some elements; true where it came to the end, with the first place of the upper part in `low`. */
function goOn(order: Int32Array, partition: Partition, isBefore: IsBefore): boolean {
  const { pivot } = partition;
  let { low, high } = partition;
  const [lowEnd, highEnd] = [low + PART, high - PART];
  for (;;) {
    while (low < lowEnd && isBefore(order[low], pivot)) low++;
    while (high > highEnd && isBefore(pivot, order[high])) high--;
    const isOver = low < lowEnd && high > highEnd;
    if (!isOver || low >= high) {
      [partition.low, partition.high] = [low, high];
      return isOver;
    }
    swap(order, low++, high--);
  }
}

/** What belongs first goes there at once, where `isBefore` is no order (of NaN) as anywhere else; further on nothing should. */
function* insertionSort(order: Int32Array, first: number, last: number, isBefore: IsBefore): Pieces {
  yield* repeat(last - first - 1, 64, (index) => {
    const at = first + 1 + index;
    const value = order[at];
    let to = at;
    if (at < first + insertionSize && isBefore(value, order[first])) {
      order.copyWithin(first + 1, first, at);
      to = first;
    }
    while (to > first && isBefore(value, order[to - 1])) {
      order[to] = order[to - 1];
      to--;
    }
    order[to] = value;
  });
}

/** Sorts [first, last); equal elements in no order of their own. */
export function* sortRange(order: Int32Array, first: number, last: number, isBefore: IsBefore): Pieces {
  // Upper parts are sorted before lower ones: where `isBefore` is no order, one part has to do with the other.
  const lower: (readonly [from: number, to: number, depth: number])[] = [];
  let [from, to, depth] = [first, last, depthLimit(last - first)];
  let done = 0;
  for (;;) {
    while (to - from > insertionSize) {
      if (depth === 0) {
        yield* partialSort(order, from, to, to, isBefore);
        break;
      }
      depth--;
      done += to - from;
      const partition = beginPartition(order, from, to, isBefore);
      while (!goOn(order, partition, isBefore)) yield;
      lower.push([from, partition.low, depth]);
      from = partition.low;
      if (done < PART) continue;
      done = 0;
      yield;
    }
    const next = lower.pop();
    if (!next) break;
    [from, to, depth] = next;
  }
  yield* insertionSort(order, first, last, isBefore);
}

/** Puts the element that belongs at `nth` there, those that come before it below, the others above. */
export function* selectNth(order: Int32Array, nth: number, isBefore: IsBefore): Pieces {
  let first = 0;
  let last = order.length;
  for (let depth = depthLimit(last); last - first > 3; depth--) {
    if (depth === 0) {
      yield* heapSelect(order, first, nth + 1, last, isBefore);
      return swap(order, first, nth);
    }
    const partition = beginPartition(order, first, last, isBefore);
    while (!goOn(order, partition, isBefore)) yield;
    if (partition.low <= nth) first = partition.low;
    else last = partition.low;
  }
  yield* insertionSort(order, first, last, isBefore);
}

/** Whether `topk` finds so few elements of a line with a heap. */
export const isHeap = (k: number, size: SymInt): boolean => symLe(k * 64, size);

/** The positions of the first `k` elements of a line, as `topk` finds them, in an array that has room for all. */
export function* topOf(order: Int32Array, k: number, sorted: boolean, isBefore: IsBefore): Pieces<Int32Array> {
  const size = order.length;
  yield* filled(order, 1, (at) => at);
  if (k === 0) return order.subarray(0, 0);
  if (isHeap(k, size)) {
    yield* partialSort(order, 0, k, size, isBefore);
  } else {
    yield* selectNth(order, k - 1, isBefore);
    if (sorted) yield* sortRange(order, 0, k - 1, isBefore);
  }
  return order.subarray(0, k);
}
