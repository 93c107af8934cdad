/**
 * The order in which PyTorch's `topk` leaves equal elements. It hangs on the algorithms of the C++ library that PyTorch is built with
 * (libstdc++: introselect, introsort, heap selection), so these are the same ones: the same comparisons and the same moves.
 */

/** Whether the element at position `a` of a line comes before the one at `b`. */
export type IsBefore = (a: number, b: number) => boolean;

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
function heapSelect(order: Int32Array, first: number, middle: number, last: number, isBefore: IsBefore): void {
  const length = middle - first;
  for (let parent = (length - 2) >> 1; parent >= 0; parent--) {
    adjustHeap(order, first, parent, length, order[first + parent], isBefore);
  }
  for (let at = middle; at < last; at++) {
    if (isBefore(order[at], order[first])) popHeap(order, first, length, at, isBefore);
  }
}

/** Sorts what comes first in [first, last) to [first, middle). */
export function partialSort(order: Int32Array, first: number, middle: number, last: number, isBefore: IsBefore): void {
  heapSelect(order, first, middle, last, isBefore);
  for (let length = middle - first - 1; length > 0; length--) {
    popHeap(order, first, length, first + length, isBefore);
  }
}

/** Parts [first, last) at the median of three of its elements; gives the first place of the upper part. */
function partition(order: Int32Array, first: number, last: number, isBefore: IsBefore): number {
  const places = [first + 1, (first + last) >> 1, last - 1];
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
  const pivot = order[first];
  let low = first + 1;
  let high = last;
  for (;;) {
    while (isBefore(order[low], pivot)) low++;
    high--;
    while (isBefore(pivot, order[high])) high--;
    if (low >= high) return low;
    swap(order, low++, high);
  }
}

/** What belongs first goes there at once, where `isBefore` is no order (of NaN) as anywhere else; further on nothing should. */
function insertionSort(order: Int32Array, first: number, last: number, isBefore: IsBefore): void {
  for (let at = first + 1; at < last; at++) {
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
  }
}

/** Sorts [first, last); equal elements in no order of their own. */
export function sortRange(order: Int32Array, first: number, last: number, isBefore: IsBefore): void {
  quicksort(first, last, depthLimit(last - first));
  insertionSort(order, first, last, isBefore);

  function quicksort(from: number, to: number, depth: number): void {
    while (to - from > insertionSize) {
      if (depth === 0) return partialSort(order, from, to, to, isBefore);
      depth--;
      const cut = partition(order, from, to, isBefore);
      quicksort(cut, to, depth);
      to = cut;
    }
  }
}

/** Puts the element that belongs at `nth` there, those that come before it below, the others above. */
export function selectNth(order: Int32Array, nth: number, isBefore: IsBefore): void {
  let first = 0;
  let last = order.length;
  for (let depth = depthLimit(last); last - first > 3; depth--) {
    if (depth === 0) {
      heapSelect(order, first, nth + 1, last, isBefore);
      return swap(order, first, nth);
    }
    const cut = partition(order, first, last, isBefore);
    if (cut <= nth) first = cut;
    else last = cut;
  }
  insertionSort(order, first, last, isBefore);
}

/** The positions of the first `k` elements of a line, as `topk` finds them. */
export function topOf(size: number, k: number, sorted: boolean, isBefore: IsBefore): Int32Array {
  const order = Int32Array.from({ length: size }, (_, at) => at);
  if (k === 0) return order.subarray(0, 0);
  if (k * 64 <= size) {
    partialSort(order, 0, k, size, isBefore);
  } else {
    selectNth(order, k - 1, isBefore);
    if (sorted) sortRange(order, 0, k - 1, isBefore);
  }
  return order.subarray(0, k);
}
