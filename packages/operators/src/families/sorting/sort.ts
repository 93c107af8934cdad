import { isComplex, symLe, type HostArray, type Tensor } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { check, OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { numbersInPieces, elementsInPieces } from '../../kernels/numbers/numbers.ts';
import { type Pieces, repeat } from '../../kernels/loops/pieces.ts';
import { positionsFor } from '../../kernels/positions.ts';
import { isHeap, topOf, type IsBefore } from './selection.ts';
import { lowerSort } from './sort-lowering.ts';

/** Sorting along a dimension (ATen/native/Sorting.cpp, TopKImpl.h). NaN counts as the largest number; ties keep their order, but
 * for those of `topk`, which has them on the host as PyTorch has and on a GPU in the order they stand in. */

type Keys = ArrayLike<number> | ArrayLike<bigint>;

/** Elements in C order to compare by; int64 stay exact. */
export function* keysOf(self: Tensor): Pieces<Keys> {
  return self.dtype === 'int64' ? ((yield* elementsInPieces(self)) as BigInt64Array) : yield* numbersInPieces(self);
}

/** Whether `x` comes before `y` in ascending order; NaN comes last. */
export function isLess(x: number | bigint, y: number | bigint): boolean {
  return x < y || (Number.isNaN(y) && !Number.isNaN(x));
}

/** Each line along `dim`: where its first element lies in C order, how far apart its elements are, and its number. */
export function* linesOf(
  sizes: readonly number[],
  dim: number,
): Generator<readonly [start: number, step: number, line: number], void> {
  const size = sizes[dim] ?? 1;
  const step = sizes.slice(dim + 1).reduce((product, length) => product * length, 1);
  const total = sizes.reduce((product, length) => product * length, 1);
  let line = 0;
  for (let block = 0; block < total; block += size * step) {
    for (let start = block; start < block + step; start++) yield [start, step, line++];
  }
}

/** The order of one line, given by which of two positions comes before the other: positions along it, first to last. */
type LineOrder = (size: number, isBefore: IsBefore) => Pieces<Int32Array>;

/** Equal elements in the order they stand in. */
const orderAtOnce = (size: number, isBefore: IsBefore): Int32Array =>
  Int32Array.from({ length: size }, (_, at) => at).sort((a, b) => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : a - b));

/** Longer lines are sorted in parts of this length, which are then merged. */
const SORTED_PART = 1 << 16;

/** As `orderAtOnce`, in pieces. `cost` is that of a comparison, in operations. */
export function* stableOrder(size: number, isBefore: IsBefore, cost = 1): Pieces<Int32Array> {
  const atOnce = Math.max(16, Math.floor(SORTED_PART / cost));
  if (size <= atOnce) return orderAtOnce(size, isBefore);
  let order = positionsFor(size);
  for (let start = 0; start < size; start += atOnce) {
    const length = Math.min(atOnce, size - start);
    const part = orderAtOnce(length, (a, b) => isBefore(start + a, start + b));
    for (let at = 0; at < length; at++) order[start + at] = start + part[at];
    yield;
  }
  let merged = positionsFor(size);
  for (let width = atOnce; width < size; width *= 2) {
    for (let start = 0; start < size; start += 2 * width) {
      const middle = Math.min(start + width, size);
      const end = Math.min(middle + width, size);
      let left = start;
      let right = middle;
      for (let at = start; at < end; at++) {
        const takesRight = left === middle || (right < end && isBefore(order[right], order[left]));
        merged[at] = order[takesRight ? right++ : left++];
        if (at % atOnce === 0) yield;
      }
    }
    [order, merged] = [merged, order];
  }
  return order;
}

/** Fills contiguous `values` and `indices` with the first elements of every line in its order, as many as they have room for. */
function* hostSort(
  self: Tensor,
  dim: number,
  descending: boolean,
  values: Tensor | null,
  indices: Tensor,
  orderOf: LineOrder = stableOrder,
): Pieces {
  const keys = yield* keysOf(self);
  const source = (yield* elementsInPieces(self)) as unknown as number[];
  const size = self.sizes[dim] ?? 1;
  const kept = indices.sizes[dim] ?? 1;
  const places = indices.storageArrayForWriting() as BigInt64Array;
  const target = values && (values.storageArrayForWriting() as HostArray as unknown as number[]);
  let done = 0;
  for (const [start, step, line] of linesOf(self.sizes, dim)) {
    const isBefore: IsBefore = (a, b) => {
      const x = keys[start + a * step];
      const y = keys[start + b * step];
      return descending ? isLess(y, x) : isLess(x, y);
    };
    const order = yield* orderOf(size, isBefore);
    const outer = Math.floor(line / step);
    const first = outer * kept * step + (line % step);
    yield* repeat(kept, 8, (at) => {
      places[first + at * step] = BigInt(order[at]);
      if (target) target[first + at * step] = source[start + order[at] * step];
    });
    done += size;
    if (done < SORTED_PART) continue;
    done = 0;
    yield;
  }
}

interface SortArgs {
  readonly self: Tensor;
  readonly dim?: number;
  readonly descending?: boolean;
}

function refuseComplex(self: Tensor): void {
  if (isComplex(self.dtype)) throw new OperatorError(' Sort does not support complex dtypes on CPU');
}

function sortRow(schema: string, wants: 'both' | 'indices', out?: string): OperatorRow {
  const label = schema.slice(0, schema.search(/[.(]/));
  const dimOf = ({ self, dim = -1 }: SortArgs): number => wrapDim(dim, self.dim);
  return kernel<SortArgs>(schema, {
    out,
    shape(args): TensorMeta[] {
      const { self } = args;
      dimOf(args);
      refuseComplex(self);
      const values: TensorMeta = { sizes: self.symSizes, dtype: self.dtype };
      const indices: TensorMeta = { sizes: self.symSizes, dtype: 'int64' };
      return wants === 'both' ? [values, indices] : [indices];
    },
    host(args, outputs) {
      const [values, indices] = wants === 'indices' ? [null, outputs[0]] : outputs;
      return hostSort(args.self, dimOf(args), args.descending ?? false, values, indices);
    },
    lower(args, outputs, context) {
      const [values, indices] = wants === 'indices' ? [null, outputs[0]] : outputs;
      lowerSort(label, args.self, dimOf(args), args.descending ?? false, 0, values, indices, context);
    },
  });
}

interface TopkArgs {
  readonly self: Tensor;
  readonly k: number;
  readonly dim: number;
  readonly largest: boolean;
  readonly sorted: boolean;
}

const topk = kernel<TopkArgs>(
  'aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)',
  {
    out: 'values(values, indices)',
    shape({ self, k, dim }) {
      const at = wrapDim(dim, self.dim);
      check(k >= 0 && symLe(k, self.symSizes[at] ?? 1), 'selected index k out of range');
      const sizes = self.dim === 0 ? [] : self.symSizes.with(at, k);
      return [
        { sizes, dtype: self.dtype },
        { sizes, dtype: 'int64' },
      ];
    },
    host({ self, k, dim, largest, sorted }, [values, indices]) {
      const at = wrapDim(dim, self.dim);
      const order = positionsFor(self.sizes[at] ?? 1);
      return hostSort(self, at, largest, values, indices, (_, isBefore) => topOf(order, k, sorted, isBefore));
    },
    lower({ self, k, dim, largest, sorted }, [values, indices], context) {
      const at = wrapDim(dim, self.dim);
      const way = isHeap(k, self.symSizes[at] ?? 1) ? 'heap' : sorted ? 'select and sort' : 'select';
      lowerSort('aten::topk', self, at, largest, 0, values, indices, context, way);
    },
  },
);

export const sortRows: readonly OperatorRow[] = [
  sortRow(
    'aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)',
    'both',
    'values(values, indices)',
  ),
  sortRow(
    'aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)',
    'both',
    'values_stable(values, indices)',
  ),
  sortRow('aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor', 'indices'),
  sortRow('aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor', 'indices'),
  topk,
];
