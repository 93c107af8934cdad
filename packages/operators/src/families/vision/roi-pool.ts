import { type Tensor, scratch, settleAll } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  reduce,
  select,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
  type Store,
} from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { add, and, div, float, floatParam, index, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { numbersInPieces, storeInPieces, fillInPieces } from '../../kernels/numbers/numbers.ts';
import { roundingTo } from '../../kernels/numbers/rounding.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
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
 * Regions of an image rounded to whole pixels and cut into cells: the largest pixel of each (torchvision's roi_pool), or their average,
 * every cell having channels of its own (ps_roi_pool). A cell without pixels is 0.
 */

interface PoolOperator extends RegionOperator {
  /** Rows and columns at the far border that no cell reaches, and pixels that a region has beyond the difference of its corners. */
  readonly border: 0 | 1;
}

const poolsMaximum: PoolOperator = {
  name: 'roi_pool',
  byPosition: false,
  shapeComplaint: 'rois must have shape as Tensor[K, 5]',
  border: 0,
};

const averages: PoolOperator = {
  name: 'ps_roi_pool',
  byPosition: true,
  shapeComplaint: 'Tensor rois should have shape as Tensor[K, 5]',
  border: 1,
};

/** What a maximum starts with: no pixel that is not larger is found. */
const lowest = (dtype: Tensor['dtype']): number => (dtype === 'float16' ? -Infinity : -3.4028234663852886e38);

/** To the nearest whole number, halves away from zero. */
const roundAway = (value: number): number => Math.sign(value) * Math.round(Math.abs(value));

/** From the first pixel of a cell up to, and without, the last. */
type Span<Value = number> = readonly [Value, Value];

function spansOf({ border }: PoolOperator, args: RegionArgs, dim: 0 | 1, { start, end }: Corners): Span[] {
  const round = roundingTo(args.input.dtype);
  const pooled = dim === 0 ? args.pooled_height : args.pooled_width;
  const first = roundAway(start[dim]);
  const length = Math.max(roundAway(end[dim]) - first + 1 - border, 1);
  const cell = round(length / pooled);
  const limit = args.input.sizes[2 + dim] - border;
  const clipped = (place: number): number => Math.min(Math.max(place + first, 0), limit);
  return Array.from({ length: pooled }, (_, number) => [
    clipped(Math.floor(round(number * cell))),
    clipped(Math.ceil(round((number + 1) * cell))),
  ]);
}

/** Calls `visit` with each element of the result, where its channel starts in the input and which pixels its cell has. */
function* forEachCell(
  operator: PoolOperator,
  args: RegionArgs,
  channels: number,
  visit: (element: number, plane: number, channel: number, rows: Span, columns: Span) => void,
): Pieces {
  const { input, pooled_height: height, pooled_width: width } = args;
  const [, inChannels, inHeight, inWidth] = input.sizes;
  yield* forEachRegion(args, function* (region, image, corners) {
    const rows = spansOf(operator, args, 0, corners);
    const columns = spansOf(operator, args, 1, corners);
    const cost = columns.reduce((sum, [left, right]) => sum + 2 * (right - left), 16);
    const tallest = rows.reduce((most, [top, bottom]) => Math.max(most, bottom - top), 1);
    yield* repeat(channels * height, cost * tallest, (line) => {
      const [channel, row] = [Math.floor(line / height), line % height];
      for (let column = 0; column < width; column++) {
        const from = channelOf(operator, args, channel, row, column);
        const element = ((region * channels + channel) * height + row) * width + column;
        visit(element, (image * inChannels + from) * inHeight * inWidth, from, rows[row], columns[column]);
      }
    });
  });
}

function* hostPool(operator: PoolOperator, args: RegionArgs, [out, second]: readonly Tensor[]): Pieces {
  if (out.numel === 0) return;
  const values = yield* numbersInPieces(args.input);
  const width = args.input.sizes[3];
  const places = scratch(Float64Array, second.numel);
  const start = lowest(out.dtype);
  yield* fillInPieces(out, (result) =>
    forEachCell(operator, args, out.sizes[1], (element, plane, channel, [top, bottom], [left, right]) => {
      const isEmpty = bottom <= top || right <= left;
      let sum = 0;
      let largest = isEmpty ? 0 : start;
      let place = -1;
      for (let y = top; y < bottom; y++) {
        for (let x = left; x < right; x++) {
          const value = values[plane + y * width + x];
          sum += value;
          if (value > largest) {
            largest = value;
            place = y * width + x;
          }
        }
      }
      const average = isEmpty ? 0 : sum / ((bottom - top) * (right - left));
      result[element] = operator.byPosition ? average : largest;
      places[element] = operator.byPosition ? channel : place;
    }),
  );
  yield* storeInPieces(second, places);
}

/** As `roundAway`, as an index. */
function deviceRoundAway(value: Expr): Expr {
  const size = unary('abs', value);
  const whole = unary('floor', size);
  const rounded = add(whole, select(binary('ge', sub(size, whole), float(0.5)), float(1), zero));
  return cast('i32', mul(unary('sign', value), rounded));
}

/** Where a region starts along one dimension, and how many pixels it has. */
function deviceExtent({ border }: PoolOperator, dim: 0 | 1, { start, end }: Corners<Expr>): readonly [Expr, Expr] {
  const first = deviceRoundAway(start[dim]);
  const length = add(sub(deviceRoundAway(end[dim]), first), index(1 - border));
  return [first, binary('max', length, index(1))];
}

/** As `spansOf`, for one cell. */
function deviceSpan(
  operator: PoolOperator,
  args: RegionArgs,
  dim: 0 | 1,
  corners: Corners<Expr>,
  number: Expr,
): Span<Expr> {
  const round = roundedTo(args.input.dtype);
  const pooled = floatParam(dim === 0 ? args.pooled_height : args.pooled_width);
  const [first, length] = deviceExtent(operator, dim, corners);
  const cell = round(div(cast('float', length), pooled));
  const limit = sub(new TensorView(args.input).sizes[2 + dim], index(operator.border));
  const clipped = (place: Expr): Expr => binary('min', binary('max', add(cast('i32', place), first), index(0)), limit);
  const edge = (at: Expr): Expr => round(mul(cast('float', at), cell));
  return [clipped(unary('floor', edge(number))), clipped(unary('ceil', edge(add(number, index(1)))))];
}

function launchPool(
  operator: PoolOperator,
  args: RegionArgs,
  [out, second]: readonly Tensor[],
  steps: readonly [number, number],
  context: LoweringContext,
): void {
  const label = `torchvision::${operator.name}`;
  checkImages(args, label, context);
  const [target, places, input] = [out, second, args.input].map((tensor) => new TensorView(tensor));
  const axes = target.axes();
  const { image, corners } = deviceRegion(args, axes[0]);
  const channel = deviceChannel(operator, target, axes);
  const loops: [AxisExpr, AxisExpr] = [axis('y', indexParam(steps[0])), axis('x', indexParam(steps[1]))];
  const [top, bottom] = deviceSpan(operator, args, 0, corners, axes[2]);
  const [left, right] = deviceSpan(operator, args, 1, corners, axes[3]);
  const [y, x] = [add(top, loops[0]), add(left, loops[1])];
  const isInside = and(binary('lt', y, bottom), binary('lt', x, right));
  const value = pixel(input, [image, channel, y, x]);
  const rows = sub(bottom, top);
  const columns = sub(right, left);
  const isEmpty = binary('or', binary('le', rows, index(0)), binary('le', columns, index(0)));
  const results = operator.byPosition ? average() : maximum();
  function average(): readonly [Expr, Expr] {
    const sum = reduce('sum', loops, select(isInside, value, zero));
    return [select(isEmpty, zero, div(sum, cast('float', mul(rows, columns)))), channel];
  }
  function maximum(): readonly [Expr, Expr] {
    const start = float(lowest(out.dtype));
    const counts = and(isInside, unary('not', unary('isnan', value)));
    const element = select(counts, value, start);
    const largest = binary('max', reduce('max', loops, element), start);
    const winner = cast('i32', reduce('argmax', loops, element));
    const extent = indexParam(steps[1]);
    const row = add(top, binary('truncdiv', winner, extent));
    const place = add(mul(row, input.sizes[3]), add(left, binary('fmod', winner, extent)));
    return [select(isEmpty, zero, largest), select(binary('gt', largest, start), place, index(-1))];
  }
  const stores: Store[] = [target, places].map((view, at) => ({
    operand: view.operand,
    offset: view.offsetAt(axes),
    value: results[at],
  }));
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
}

async function devicePool(operator: PoolOperator, args: RegionArgs, context: LoweringContext): Promise<Tensor[]> {
  const outputs = shapesOf(operator, args).map(({ sizes, dtype }) => deviceTensor(settleAll(sizes), dtype, context));
  if (outputs[0].numel === 0) return outputs;
  const lengths = (region: AxisExpr): [Expr, Expr] => {
    const { corners } = deviceRegion(args, region);
    return [deviceExtent(operator, 0, corners)[1], deviceExtent(operator, 1, corners)[1]];
  };
  const largest = await largestOverRegions(args, lengths, `torchvision::${operator.name}`, context);
  const pooled = [args.pooled_height, args.pooled_width];
  // A cell that starts within a pixel reaches into one more, and none reaches further than the image.
  const [rows, columns] = largest.map((length, dim) =>
    Math.max(1, Math.min(Math.ceil(length / pooled[dim]) + 2, args.input.sizes[2 + dim])),
  );
  launchPool(operator, args, outputs, [rows, columns], context);
  return outputs;
}

function shapesOf(operator: PoolOperator, args: RegionArgs): TensorMeta[] {
  const out = regionSizes(operator, args);
  return [out, { sizes: out.sizes, dtype: 'int32' }];
}

const poolRow = (operator: PoolOperator): OperatorRow =>
  kernel<RegionArgs>(
    `torchvision::${operator.name}(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)`,
    {
      shape: (args) => shapesOf(operator, args),
      host: (args, outputs) => hostPool(operator, args, outputs),
      device: (args, context) => devicePool(operator, args, context),
    },
  );

export const roiPoolRows: readonly OperatorRow[] = [poolRow(poolsMaximum), poolRow(averages)];
