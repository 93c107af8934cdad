import { scratch, symGt, symNe, Tensor, type ScalarType, type SymInt } from '@cresset/tensor';
import { binary, constant, TensorView, unary } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { contiguousInPieces } from '../../kernels/copy.ts';
import { reducedSizes, wrapDim } from '../../kernels/dimensions.ts';
import { numberReader } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import { writeInPieces } from '../../kernels/fill.ts';
import { numbersInPieces } from '../../kernels/numbers/numbers.ts';
import type { Lowering, LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { sortRange } from './selection.ts';
import { lowerMedian, lowerQuantile } from './order-statistics-lowering.ts';
import { movedim } from '../views/view-functions.ts';
import { mapped } from '../../kernels/loops/mapped.ts';
import { type Pieces, filled, repeat } from '../../kernels/loops/pieces.ts';
import { positionsFor } from '../../kernels/positions.ts';
import { isLess, stableOrder } from './sort.ts';

/** Medians, modes and quantiles (ATen/native/Sorting.cpp). */

interface Along {
  readonly self: Tensor;
  readonly dim?: number | null;
  readonly keepdim?: boolean;
}

/** What it takes to make a group of elements that are there, in operations. */
const GROUP_COST = 64;
/** What it takes to read an element that lies anywhere. */
const LOOKUP_COST = 8;

/** The elements along a dimension, one group for each of the others; all of them in one group where there is none. */
function* groupsOf({ self, dim }: Along): Pieces<Float64Array[]> {
  const flat = yield* contiguousInPieces(
    dim === undefined || dim === null || self.dim === 0 ? self : movedim(self, [dim], [-1]),
  );
  const read = numberReader(flat);
  const size = dim === undefined || dim === null || self.dim === 0 ? flat.numel : flat.sizes.at(-1)!;
  const count = size === 0 ? 0 : flat.numel / size;
  const numbers = yield* filled(scratch(Float64Array, flat.numel), 4, (at) => read(flat.storageOffset + at));
  const groups: Float64Array[] = [];
  yield* repeat(count, GROUP_COST, (group) => void groups.push(numbers.subarray(group * size, (group + 1) * size)));
  return groups;
}

/** How many elements of a group are numbers. */
function* numbersIn(group: Float64Array): Pieces<number> {
  let count = 0;
  yield* repeat(group.length, 2, (at) => {
    if (!Number.isNaN(group[at])) count++;
  });
  return count;
}

function groupSizes({ self, dim, keepdim }: Along): SymInt[] {
  if (dim === undefined || dim === null) return keepdim ? self.symSizes.map(() => 1) : [];
  return self.dim === 0 ? [] : reducedSizes(self.symSizes, [wrapDim(dim, self.dim)], keepdim === true);
}

/** A value of a group and where it is. */
interface Found {
  readonly value: number;
  readonly index: number;
}

/** The lower one of the two in the middle; NaN where there is one, unless those are left out. */
function* medianOf(group: Float64Array, ignoresNaN: boolean): Pieces<Found> {
  const count = yield* numbersIn(group);
  if (!ignoresNaN && count < group.length) return { value: NaN, index: group.findIndex(Number.isNaN) };
  const order = yield* stableOrder(group.length, (a, b) => isLess(group[a], group[b]));
  const index = order[Math.max(Math.floor((count - 1) / 2), 0)] ?? 0;
  return { value: group[index] ?? NaN, index };
}

/** The smallest of the values that occur most often, and where that one of them is that sorting puts last. */
function* modeOf(group: Float64Array): Pieces<Found> {
  const order = yield* filled(positionsFor(group.length), 1, (at) => at);
  // NaN is neither before nor after anything here: runs of one value may be torn apart by it, as they are in PyTorch.
  yield* sortRange(order, 0, order.length, (a, b) => group[a] < group[b]);
  let best = { last: 0, count: 0 };
  let count = 0;
  yield* repeat(order.length, LOOKUP_COST, (at) => {
    count++;
    if (at + 1 < order.length && group[order[at]] === group[order[at + 1]]) return;
    if (count > best.count) best = { last: at, count };
    count = 0;
  });
  const index = order[best.last];
  return { value: group[index], index };
}

function alongMeta(name: string, args: Along): TensorMeta[] {
  const { self, dim } = args;
  const at = wrapDim(dim!, self.dim);
  check(
    self.dim === 0 || symNe(self.symSizes[at], 0),
    `${name}(): Expected reduction dim ${at} to have non-zero size.`,
    'IndexError',
  );
  const sizes = groupSizes(args);
  return [
    { sizes, dtype: self.dtype },
    { sizes, dtype: 'int64' },
  ];
}

const alongRow = (
  name: string,
  args: string,
  find: (group: Float64Array) => Pieces<Found>,
  out: string,
  lower?: Lowering<Along>,
): OperatorRow =>
  kernel<Along>(`aten::${name}(Tensor self, ${args}, bool keepdim=False) -> (Tensor values, Tensor indices)`, {
    shape: (given) => alongMeta(name.split('.')[0], given),
    *host(given, [values, indices]) {
      const found = yield* mapped(yield* groupsOf(given), find);
      yield* writeInPieces(values, (at) => found[at].value);
      yield* writeInPieces(indices, (at) => found[at].index);
    },
    lower,
    out: `${out}(values, indices)`,
  });

/** What NaN, the median of nothing, is where it is cast to an integer, as on x86. */
const nanAsInteger: Partial<Record<ScalarType, number>> = { int32: -(2 ** 31), int64: -(2 ** 63) };

const medianRows = (name: 'median' | 'nanmedian'): OperatorRow[] => {
  const [label, ignoresNaN] = [`aten::${name}`, name === 'nanmedian'];
  const find = (group: Float64Array): Pieces<Found> => medianOf(group, ignoresNaN);
  return [
    kernel<Along>(`aten::${name}(Tensor self) -> Tensor`, {
      shape: ({ self }) => ({ sizes: [], dtype: self.dtype }),
      *host(args, [output]) {
        const [group] = yield* groupsOf(args);
        const found = group && (yield* find(group));
        yield* writeInPieces(output, () => found?.value ?? nanAsInteger[output.dtype] ?? NaN);
      },
      lower: ({ self }, outputs, context) => lowerMedian(label, self, null, ignoresNaN, outputs, context),
      lowerable: ({ self }) => symGt(self.symNumel, 0),
      out: true,
    }),
    alongRow(`${name}.dim`, 'int dim', find, 'dim_values', ({ self, dim }, outputs, context) =>
      lowerMedian(label, self, wrapDim(dim!, self.dim), ignoresNaN, outputs, context),
    ),
  ];
};

interface Quantile extends Along {
  readonly q: Tensor | number;
  readonly interpolation: string;
}

const interpolations = ['linear', 'lower', 'higher', 'midpoint', 'nearest'];

function checkQuantile(name: string, { self, q, interpolation }: Quantile): void {
  check(symGt(self.symNumel, 0), `${name}() input tensor must be non-empty`);
  check(
    self.dtype === 'float32' || self.dtype === 'float64',
    `${name}() input tensor must be either float or double dtype`,
  );
  if (q instanceof Tensor) {
    check(q.dim <= 1, `${name}() q must be a scalar or 1D tensor`);
    check(q.dtype === self.dtype, `${name}() q tensor must be same dtype as the input tensor`);
  }
  check(
    interpolations.includes(interpolation),
    `${name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ${interpolation}`,
  );
}

function quantileOf(sorted: Float64Array, count: number, q: number, interpolation: string): number {
  const rank = q * (count - 1);
  const below = Math.floor(rank);
  const above = Math.ceil(rank);
  switch (interpolation) {
    case 'lower':
      return sorted[below];
    case 'higher':
      return sorted[above];
    case 'nearest':
      return sorted[rank - below < 0.5 ? below : rank - below > 0.5 ? above : below % 2 === 0 ? below : above];
    case 'midpoint':
      return sorted[below] + (sorted[above] - sorted[below]) * (below === above ? 0 : 0.5);
    default:
      return sorted[below] + (sorted[above] - sorted[below]) * (rank - below);
  }
}

function quantileRow(name: 'quantile' | 'nanquantile', form: '' | '.scalar'): OperatorRow {
  const q = form === '' ? 'Tensor q' : 'float q';
  return kernel<Quantile>(
    `aten::${name}${form}(Tensor self, ${q}, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor`,
    {
      shape: (args) => {
        checkQuantile(name, args);
        const lead = args.q instanceof Tensor && args.q.dim === 1 ? [args.q.symNumel] : [];
        return { sizes: [...lead, ...groupSizes(args)], dtype: args.self.dtype };
      },
      *host(args, [output]) {
        const points = args.q instanceof Tensor ? yield* numbersInPieces(args.q) : [args.q];
        yield* repeat(points.length, 2, (at) =>
          check(
            points[at] >= 0 && points[at] <= 1,
            () =>
              `${name}() q ${form === '' ? 'values ' : ''}must be in the range [0, 1]${form === '' ? '' : ` but got ${points[0]}`}`,
          ),
        );
        const groups = yield* mapped(yield* groupsOf(args), function* (group) {
          const order = yield* stableOrder(group.length, (a, b) => isLess(group[a], group[b]));
          return yield* filled(scratch(Float64Array, group.length), LOOKUP_COST, (at) => group[order[at]]);
        });
        const counts = yield* mapped(groups, numbersIn);
        yield* writeInPieces(output, (at) => {
          const group = groups[at % groups.length];
          const count = counts[at % groups.length];
          if (count === 0 || (name === 'quantile' && count < group.length)) return NaN;
          return quantileOf(group, count, points[Math.floor(at / groups.length)], args.interpolation);
        });
      },
      lower: ({ self, dim, q: points, interpolation }, [output], context) => {
        if (points instanceof Tensor) launchPointCheck(name, points, context);
        const along = dim === null || dim === undefined ? null : wrapDim(dim, self.dim);
        lowerQuantile(`aten::${name}`, self, along, name === 'nanquantile', points, interpolation, output, context);
      },
      lowerable: ({ q: points }) => points instanceof Tensor || (points >= 0 && points <= 1),
      out: true,
    },
  );
}

/** Notes a point that is no part of a whole. */
function launchPointCheck(name: string, points: Tensor, context: LoweringContext): void {
  const view = new TensorView(points);
  const axes = view.axes();
  const point = view.at(axes);
  const isInside = binary('and', binary('ge', point, constant('float', 0)), binary('le', point, constant('float', 1)));
  const complaint = `${name}() q values must be in the range [0, 1]`;
  const stores = context.faults(unary('not', isInside), constant('i32', 0), complaint);
  context.launch({ kind: 'nest', label: `aten::${name}`, axes, innerAxes: [], stores });
}

export const orderStatisticRows: readonly OperatorRow[] = [
  ...medianRows('median'),
  ...medianRows('nanmedian'),
  alongRow('mode', 'int dim=-1', modeOf, 'values'),
  quantileRow('quantile', ''),
  quantileRow('quantile', '.scalar'),
  quantileRow('nanquantile', ''),
  quantileRow('nanquantile', '.scalar'),
];
