import { settleAll } from '@cresset/tensor';
import type { Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  TensorView,
  unary,
  reduce,
  select,
  type AxisExpr,
  type Expr,
  type Store,
} from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { add, and, div, float, floatParam, index, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { numbersInPieces, storeInPieces, fillInPieces } from '../../kernels/numbers/numbers.ts';
import { roundingTo } from '../../kernels/numbers/rounding.ts';
import type { LoweringContext, OperatorRow, Results, TensorMeta } from '../../table/row.ts';
import { deviceTensor } from '../indexing/flagged-elements.ts';
import {
  channelOf,
  checkImages,
  deviceChannel,
  deviceRegion,
  forEachRegion,
  largestOverRegions,
  pixel,
  regionSizes,
  roundedTo,
  zero,
  type Corners,
  type RegionArgs,
  type RegionOperator,
} from './regions.ts';
import { type Pieces, repeat } from '../../kernels/loops/pieces.ts';

/**
 * Regions of an image cut into cells, each the average of samples at places between pixels (torchvision's roi_align and
 * ps_roi_align).
 */

interface AlignArgs extends RegionArgs {
  /** Samples of a cell along each dimension; where it is not positive, as many as there are pixels. */
  readonly sampling_ratio: number;
  /** Whether pixels are points in the middle of their squares. */
  readonly aligned?: boolean;
}

interface AlignOperator extends RegionOperator {
  /** Whether an average over no samples is 0, and not a division by 0. */
  readonly countsOne: boolean;
}

/** Pixels along one dimension that a cell is made of, and what each counts. */
interface Taps {
  readonly at: number[];
  readonly weights: number[];
}

/** A region along one dimension: where it starts, how long each of its cells is, how many samples a cell has. */
interface Line<Value = number> {
  readonly start: Value;
  readonly cell: Value;
  readonly samples: Value;
}

const isAligned = ({ aligned }: AlignArgs): boolean => aligned ?? true;

function lineOf(args: AlignArgs, dim: 0 | 1, { start, end }: Corners): Line {
  const round = roundingTo(args.input.dtype);
  const pooled = dim === 0 ? args.pooled_height : args.pooled_width;
  const shift = isAligned(args) ? 0.5 : 0;
  const first = round(start[dim] - shift);
  const length = round(round(end[dim] - shift) - first);
  const cell = round((isAligned(args) ? length : Math.max(length, 1)) / pooled);
  return { start: first, cell, samples: args.sampling_ratio > 0 ? args.sampling_ratio : Math.ceil(cell) };
}

/** The pixels of each cell. A sample more than one pixel outside counts nothing, one that is nearer is the border's. */
function tapsOf(args: AlignArgs, dim: 0 | 1, { start, cell, samples }: Line): Taps[] {
  const round = roundingTo(args.input.dtype);
  const size = args.input.sizes[2 + dim];
  const pooled = dim === 0 ? args.pooled_height : args.pooled_width;
  return Array.from({ length: pooled }, (_, number) => {
    const taps: Taps = { at: [], weights: [] };
    const first = round(start + round(number * cell));
    for (let i = 0; i < samples; i++) {
      const place = round(first + round(round((i + 0.5) * cell) / samples));
      if (place < -1 || place > size || size === 0) continue;
      const inside = place <= 0 ? 0 : place;
      const low = Number.isNaN(inside) ? 0 : Math.min(Math.trunc(inside), size - 1);
      const fraction = low >= size - 1 ? inside - inside : round(inside - low);
      taps.at.push(low, Math.min(low + 1, size - 1));
      taps.weights.push(round(1 - fraction), fraction);
    }
    return taps;
  });
}

function* hostAlign(operator: AlignOperator, args: AlignArgs, [out, mapping]: readonly Tensor[]): Pieces {
  if (out.numel === 0) return;
  const { input, pooled_height: height, pooled_width: width } = args;
  const values = yield* numbersInPieces(input);
  const [, inChannels, inHeight, inWidth] = input.sizes;
  const channels = out.sizes[1];
  const plane = inHeight * inWidth;
  yield* fillInPieces(out, (result) =>
    forEachRegion(args, function* (region, image, corners) {
      const lines = [lineOf(args, 0, corners), lineOf(args, 1, corners)];
      const rows = tapsOf(args, 0, lines[0]);
      const columns = tapsOf(args, 1, lines[1]);
      const product = lines[0].samples * lines[1].samples;
      const count = operator.countsOne ? Math.max(product, 1) : product;
      const cost = columns.reduce((sum, taps) => sum + 2 * taps.at.length, 16);
      yield* repeat(channels * height, cost * (rows[0]?.at.length ?? 1), (line) => {
        const [channel, row] = [Math.floor(line / height), line % height];
        for (let column = 0; column < width; column++) {
          const from = (image * inChannels + channelOf(operator, args, channel, row, column)) * plane;
          const sum = weightedSum(values, from, inWidth, rows[row], columns[column]);
          result[((region * channels + channel) * height + row) * width + column] = sum / count;
        }
      });
    }),
  );
  if (mapping) yield* storeInPieces(mapping, channelMapping(out.sizes));
}

function weightedSum(values: ArrayLike<number>, from: number, rowLength: number, rows: Taps, columns: Taps): number {
  let sum = 0;
  for (let y = 0; y < rows.at.length; y++) {
    let line = 0;
    const start = from + rows.at[y] * rowLength;
    for (let x = 0; x < columns.at.length; x++) line += columns.weights[x] * values[start + columns.at[x]];
    sum += rows.weights[y] * line;
  }
  return sum;
}

/** The channel that each cell read: they are dealt out in order, region by region. */
export function channelMapping([regions, ...rest]: readonly number[]): Float64Array {
  const cells = rest.reduce((product, size) => product * size, 1);
  return Float64Array.from({ length: regions * cells }, (_, at) => at % cells);
}

/** As `lineOf`. */
function deviceLine(args: AlignArgs, dim: 0 | 1, { start, end }: Corners<Expr>): Line<Expr> {
  const round = roundedTo(args.input.dtype);
  const pooled = floatParam(dim === 0 ? args.pooled_height : args.pooled_width);
  const shift = (place: Expr): Expr => (isAligned(args) ? round(sub(place, float(0.5))) : place);
  const first = shift(start[dim]);
  const length = round(sub(shift(end[dim]), first));
  const cell = round(div(isAligned(args) ? length : binary('max', length, float(1)), pooled));
  const samples = args.sampling_ratio > 0 ? indexParam(args.sampling_ratio) : cast('i32', unary('ceil', cell));
  return { start: first, cell, samples };
}

/** A sample along one dimension: the pixels beside it, what the second counts, and whether the sample counts at all. */
interface DeviceSample {
  readonly low: Expr;
  readonly high: Expr;
  readonly fraction: Expr;
  readonly counts: Expr;
}

/** From which sample of a cell on those lie that may be inside the image, where there are more than anybody would go through. */
function firstSample({ start, cell, samples }: Line<Expr>, number: Expr): Expr {
  const first = add(start, mul(cast('float', number), cell));
  const step = div(cell, cast('float', samples));
  // Two less than it should be, for what rounding there is.
  const before = sub(unary('floor', div(sub(float(-1), first), step)), float(2));
  return cast('i32', binary('fmin', binary('fmax', before, zero), float(2 ** 30)));
}

function deviceSample(args: AlignArgs, dim: 0 | 1, line: Line<Expr>, number: Expr, step: Expr): DeviceSample {
  const round = roundedTo(args.input.dtype);
  const size = new TensorView(args.input).sizes[2 + dim];
  const last = sub(size, index(1));
  const isBounded = args.sampling_ratio <= 0;
  const i = isBounded ? add(firstSample(line, number), step) : step;
  const first = round(add(line.start, round(mul(cast('float', number), line.cell))));
  const within = round(mul(add(cast('float', i), float(0.5)), line.cell));
  const place = round(add(first, round(div(within, cast('float', line.samples)))));
  const isOutside = binary('or', binary('lt', place, float(-1)), binary('gt', place, cast('float', size)));
  const inside = binary('max', place, zero);
  const low = binary('max', binary('min', cast('i32', inside), last), index(0));
  const counts = unary('not', isOutside);
  return {
    low,
    high: binary('min', add(low, index(1)), last),
    fraction: select(binary('ge', low, last), sub(inside, inside), round(sub(inside, cast('float', low)))),
    counts: isBounded ? and(binary('lt', i, line.samples), counts) : counts,
  };
}

function launchAlign(
  operator: AlignOperator,
  args: AlignArgs,
  [out, mapping]: readonly Tensor[],
  steps: readonly [number, number],
  context: LoweringContext,
): void {
  const label = `torchvision::${operator.name}`;
  checkImages(args, label, context);
  const round = roundedTo(out.dtype);
  const target = new TensorView(out);
  const input = new TensorView(args.input);
  const axes = target.axes();
  const { image, corners } = deviceRegion(args, axes[0]);
  const channel = deviceChannel(operator, target, axes);
  const loops: [AxisExpr, AxisExpr] = [axis('y', indexParam(steps[0])), axis('x', indexParam(steps[1]))];
  const lines = [deviceLine(args, 0, corners), deviceLine(args, 1, corners)];
  const y = deviceSample(args, 0, lines[0], axes[2], loops[0]);
  const x = deviceSample(args, 1, lines[1], axes[3], loops[1]);
  const between = (row: Expr): Expr => {
    const [left, right] = [x.low, x.high].map((column) => pixel(input, [image, channel, row, column]));
    return add(mul(round(sub(float(1), x.fraction)), left), mul(x.fraction, right));
  };
  const sample = add(mul(round(sub(float(1), y.fraction)), between(y.low)), mul(y.fraction, between(y.high)));
  const sum = reduce('sum', loops, select(and(y.counts, x.counts), sample, zero));
  const product = mul(lines[0].samples, lines[1].samples);
  const count = operator.countsOne ? binary('max', product, index(1)) : product;
  const stores: Store[] = [
    { operand: target.operand, offset: target.offsetAt(axes), value: div(sum, cast('float', count)) },
  ];
  if (mapping) {
    const places = new TensorView(mapping);
    stores.push({ operand: places.operand, offset: places.offsetAt(axes), value: channel });
  }
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
}

/** Steps through a cell's samples that reach every one inside an image of this size: they lie half a pixel apart or more. */
const mostSteps = (size: number): number => 2 * size + 8;

function deviceAlign(operator: AlignOperator, args: AlignArgs, context: LoweringContext): Results | Promise<Results> {
  const outputs = shapesOf(operator, args).map(({ sizes, dtype }) => deviceTensor(settleAll(sizes), dtype, context));
  const results = operator.byPosition ? outputs : outputs[0];
  if (outputs[0].numel === 0) return results;
  const { sampling_ratio: ratio, input } = args;
  if (ratio > 0) {
    launchAlign(operator, args, outputs, [ratio, ratio], context);
    return results;
  }
  const samples = (region: AxisExpr): [Expr, Expr] => {
    const { corners } = deviceRegion(args, region);
    return [deviceLine(args, 0, corners).samples, deviceLine(args, 1, corners).samples];
  };
  return largestOverRegions(args, samples, `torchvision::${operator.name}`, context).then((largest) => {
    const [rows, columns] = largest.map((count, dim) => Math.max(0, Math.min(count, mostSteps(input.sizes[2 + dim]))));
    launchAlign(operator, args, outputs, [rows, columns], context);
    return results;
  });
}

function shapesOf(operator: AlignOperator, args: AlignArgs): TensorMeta[] {
  const out = regionSizes(operator, args);
  return operator.byPosition ? [out, { sizes: out.sizes, dtype: 'int32' }] : [out];
}

const alignRow = (schema: string, operator: AlignOperator): OperatorRow =>
  kernel<AlignArgs>(schema, {
    shape: (args) => shapesOf(operator, args),
    host: (args, outputs) => hostAlign(operator, args, outputs),
    device: (args, context) => deviceAlign(operator, args, context),
  });

const regions = 'Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width';

export const roiAlignRows: readonly OperatorRow[] = [
  alignRow(`torchvision::roi_align(${regions}, int sampling_ratio, bool aligned) -> Tensor`, {
    name: 'roi_align',
    byPosition: false,
    shapeComplaint: 'rois must have shape as Tensor[K, 5]',
    countsOne: true,
  }),
  alignRow(`torchvision::ps_roi_align(${regions}, int sampling_ratio) -> (Tensor, Tensor)`, {
    name: 'ps_roi_align',
    byPosition: true,
    shapeComplaint: 'Tensor rois should have shape as Tensor[K, 5]',
    countsOne: false,
  }),
];
