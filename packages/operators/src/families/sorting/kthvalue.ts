import { giveUpScratch, symGe, symGt, symLe, type HostArray, type Tensor } from '@cresset/tensor';
import { decomposed, kernel } from '../../table/builders.ts';
import { reducedSizes, wrapDim } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { unsqueeze } from '../views/view-functions.ts';
import { lowerSort } from './sort-lowering.ts';
import { isLess, keysOf, linesOf } from './sort.ts';
import { filled, type Pieces } from '../../kernels/loops/pieces.ts';
import { positionsFor } from '../../kernels/positions.ts';
import { elementsInPieces } from '../../kernels/numbers/numbers.ts';

/** The k-th smallest element of a line, and sorting by the first dimension (ATen/native/Sorting.cpp). */

/** Elements that are gone over between two stops. */
const PART = 1 << 16;

/**
 * Puts the position that belongs at `nth` of the sorted order there. Which of several equal elements that is hangs on the algorithm:
 * Hoare's selection with the median of three (Sedgewick, "Implementing Quicksort Programs", 1978), as PyTorch has it.
 */
function* quickSelect(order: Int32Array, nth: number, isAfter: (a: number, b: number) => boolean): Pieces {
  const swap = (a: number, b: number): void => {
    [order[a], order[b]] = [order[b], order[a]];
  };
  const swapIfAfter = (a: number, b: number): void => {
    if (isAfter(order[a], order[b])) swap(a, b);
  };
  let left = 0;
  let right = order.length - 1;
  while (right > left + 1) {
    swap((left + right) >>> 1, left + 1);
    swapIfAfter(left + 1, right);
    swapIfAfter(left, right);
    swapIfAfter(left + 1, left);
    const pivot = order[left];
    let low = left + 2;
    let high = right - 1;
    for (let isOver = false; !isOver;) {
      const [lowEnd, highEnd] = [low + PART, high - PART];
      for (;;) {
        while (low < lowEnd && isAfter(pivot, order[low])) low++;
        while (high > highEnd && isAfter(order[high], pivot)) high--;
        isOver = low < lowEnd && high > highEnd && high < low;
        if (isOver || low === lowEnd || high === highEnd) break;
        swap(low++, high--);
      }
      if (!isOver) yield;
    }
    swap(left, high);
    if (high <= nth) left = low;
    if (high >= nth) right = high - 1;
  }
  if (right === left + 1) swapIfAfter(left, right);
}

interface KthvalueArgs {
  readonly self: Tensor;
  readonly k: number;
  readonly dim: number;
  readonly keepdim: boolean;
}

const kthvalue = kernel<KthvalueArgs>(
  'aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)',
  {
    out: 'values(values, indices)',
    mayShare: () => ({ self: 'nothing' }),
    shape({ self, k, dim, keepdim }) {
      const at = wrapDim(dim, self.dim);
      const size = self.symSizes[at] ?? 1;
      check(symGt(size, 0), () => `kthvalue(): Expected reduction dim ${at} to have non-zero size.`, 'IndexError');
      check(symGe(k, 1) && symLe(k, size), () => `kthvalue(): selected number k out of range for dimension ${at}`);
      const sizes = self.dim === 0 ? [] : reducedSizes(self.symSizes, [at], keepdim);
      return [
        { sizes, dtype: self.dtype },
        { sizes, dtype: 'int64' },
      ];
    },
    *host({ self, k, dim }, [values, indices]) {
      const at = wrapDim(dim, self.dim);
      const keys = yield* keysOf(self);
      const source = (yield* elementsInPieces(self)) as unknown as number[];
      const target = values.storageArrayForWriting() as HostArray as unknown as number[];
      const places = indices.storageArrayForWriting() as BigInt64Array;
      for (const [start, step, line] of linesOf(self.sizes, at)) {
        const order = yield* filled(positionsFor(self.sizes[at] ?? 1), 1, (position) => position);
        yield* quickSelect(order, k - 1, (a, b) => isLess(keys[start + b * step], keys[start + a * step]));
        const place = order[k - 1];
        target[line] = source[start + place * step];
        places[line] = BigInt(place);
        giveUpScratch(order);
        yield;
      }
    },
    lower({ self, k, dim, keepdim }, outputs, context) {
      const at = wrapDim(dim, self.dim);
      const [values, indices] = outputs.map((out) => (keepdim || self.dim === 0 ? out : unsqueeze(out, at)));
      lowerSort('aten::kthvalue', self, at, false, k - 1, values, indices, context, 'quickselect');
    },
  },
);

export const kthvalueRows: readonly OperatorRow[] = [
  decomposed(
    'aten::msort(Tensor self) -> Tensor',
    `
def msort(self: Tensor) -> Tensor:
    return torch.sort(self, 0)[0]
`,
    { out: true },
  ),
  kthvalue,
];
