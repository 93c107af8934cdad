import type { ScalarType, Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  exprTypeOf,
  reduce,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
} from '@cresset/tensorexpr';
import { wrapDim } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { float, floatParam, index, mul, sub } from '../../kernels/expressions.ts';
import { type FloatArray, numbersInPieces } from '../../kernels/numbers/numbers.ts';
import { roundingTo } from '../../kernels/numbers/rounding.ts';
import type { LoweringContext, TensorMeta } from '../../table/row.ts';
import { outOfBounds, outOfBoundsAt, positionFault } from '../indexing/position-faults.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import type { Pieces } from '../../kernels/loops/pieces.ts';

/** What operators that pool regions of an image have in common (torchvision/csrc/ops): regions and the cells they are cut into. */

export interface RegionArgs {
  /** `[N, C, H, W]`. */
  readonly input: Tensor;
  /** `[K, 5]`: the number of an image, then x and y of two corners in units of which `spatial_scale` make a pixel. */
  readonly rois: Tensor;
  readonly spatial_scale: number;
  readonly pooled_height: number;
  readonly pooled_width: number;
}

/** How an operator takes regions. */
export interface RegionOperator {
  /** As torchvision names its kernel: `roi_align`. */
  readonly name: string;
  /** Every cell reads a channel of its own, so that there are as many fewer channels in the result (position sensitive). */
  readonly byPosition: boolean;
  /** What is said of regions that are not five numbers. */
  readonly shapeComplaint: string;
}

/** Sizes of the result, once the arguments are found to fit. */
export function regionSizes({ name, byPosition, shapeComplaint }: RegionOperator, args: RegionArgs): TensorMeta {
  const { input, rois, pooled_height: height, pooled_width: width } = args;
  check(rois.sizes[wrapDim(1, rois.dim)] === 5, shapeComplaint);
  const kernel = `${name}_forward_kernel`;
  check(
    input.dtype === rois.dtype,
    () =>
      `Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'rois'; but type torch.${dtypeName(input.dtype)}Tensor does not equal torch.${dtypeName(rois.dtype)}Tensor (while checking arguments for ${kernel})`,
  );
  const channels = input.sizes[wrapDim(1, input.dim)];
  wrapDim(3, input.dim);
  if (byPosition) {
    check(
      height !== 0 && width !== 0 && channels % (height * width) === 0,
      'input channels must be a multiple of pooling height * pooling width',
    );
  }
  check(height >= 0 && width >= 0, 'zeros: Dimension size must be non-negative.');
  const sizes = [rois.sizes[0], byPosition ? channels / (height * width) : channels, height, width];
  if (!sizes.includes(0) && !['float16', 'float32', 'float64'].includes(input.dtype)) {
    throw notImplementedFor(kernel, dtypeName(input.dtype));
  }
  return { sizes, dtype: input.dtype };
}

/** The channel that a cell reads. */
export function channelOf(
  { byPosition }: RegionOperator,
  { pooled_height: height, pooled_width: width }: RegionArgs,
  channel: number,
  row: number,
  column: number,
): number {
  return byPosition ? (channel * height + row) * width + column : channel;
}

/** Calls `visit` with every region's image and corners, rounded to the dtype as torchvision scales them. */
export function* forEachRegion(
  { input, rois, spatial_scale: scale }: RegionArgs,
  visit: (region: number, image: number, corners: Corners) => Pieces,
): Pieces {
  const numbers: FloatArray = yield* numbersInPieces(rois);
  const round = roundingTo(input.dtype);
  const factor = round(scale);
  for (let region = 0; region < rois.sizes[0]; region++) {
    const [image, x1, y1, x2, y2] = numbers.subarray(region * 5, region * 5 + 5);
    const at = Math.trunc(image);
    check(at >= 0 && at < input.sizes[0], () => outOfBoundsAt(at, 0, input.sizes[0]), 'IndexError');
    const scaled = (place: number): number => round(place * factor);
    yield* visit(region, at, { start: [scaled(y1), scaled(x1)], end: [scaled(y2), scaled(x2)] });
    yield;
  }
}

/** Two corners of a region in pixels: y, x. */
export interface Corners<Value = number> {
  readonly start: readonly [Value, Value];
  readonly end: readonly [Value, Value];
}

/** An expression rounded to a dtype as its arithmetic is on the host; float64 is float32 on a device. */
export function roundedTo(dtype: ScalarType): (value: Expr) => Expr {
  return dtype === 'float16' ? (value) => unary('half', value) : (value) => value;
}

/** A region as kernels for a device see it. */
export interface DeviceRegion {
  /** The number of its image, within bounds. */
  readonly image: Expr;
  /** The number as it is given. */
  readonly givenImage: Expr;
  readonly corners: Corners<Expr>;
}

export function deviceRegion({ input, rois, spatial_scale: scale }: RegionArgs, region: Expr): DeviceRegion {
  const view = new TensorView(rois);
  const round = roundedTo(input.dtype);
  const factor = floatParam(roundingTo(input.dtype)(scale));
  const corner = (column: number): Expr => round(mul(view.at([region, index(column)]), factor));
  const givenImage = cast('i32', view.at([region, index(0)]));
  const last = sub(new TensorView(input).sizes[0], index(1));
  return {
    givenImage,
    image: binary('max', binary('min', givenImage, last), index(0)),
    corners: { start: [corner(2), corner(1)], end: [corner(4), corner(3)] },
  };
}

/** The channel that a cell reads, on a device. */
export function deviceChannel({ byPosition }: RegionOperator, target: TensorView, cell: readonly Expr[]): Expr {
  const [, channel, row, column] = cell;
  if (!byPosition) return channel;
  const [, , height, width] = target.sizes;
  return binary('add', mul(binary('add', mul(channel, height), row), width), column);
}

/** Notes regions of images that there are not. */
export function checkImages(args: RegionArgs, label: string, context: LoweringContext): void {
  const region = axis('r', new TensorView(args.rois).sizes[0]);
  const images = args.input.sizes[0];
  const { givenImage } = deviceRegion(args, region);
  const stores = positionFault(givenImage, 0, images, outOfBounds(0, images), context, 'IndexError');
  context.launch({ kind: 'nest', label, axes: [region], innerAxes: [], stores });
}

/**
 * The largest value over all regions that two numbers, of rows and of columns, have: what loops of a kernel are as long as has to
 * be known before it is launched. This waits for the device where it is the device that knows the regions.
 */
export async function largestOverRegions(
  { rois }: RegionArgs,
  extents: (region: AxisExpr) => readonly [Expr, Expr],
  label: string,
  context: LoweringContext,
): Promise<readonly [number, number]> {
  const region = axis('r', new TensorView(rois).sizes[0]);
  const largest = context.temporary([2], 'int32');
  const target = new TensorView(largest);
  const stores = extents(region).map((extent, dim) => ({
    operand: target.operand,
    offset: target.offsetAt([index(dim)]),
    value: reduce('max', [region], extent),
  }));
  context.launch({ kind: 'nest', label: `${label} (extents)`, axes: [], innerAxes: [], stores });
  await context.fetch(largest);
  const [rows, columns] = largest.storageArray() as Int32Array;
  return [rows, columns];
}

/** An element of the input as a float, at indices within it. */
export function pixel(input: TensorView, at: readonly Expr[]): Expr {
  return cast(exprTypeOf('float32'), input.at(at));
}

export const zero = float(0);
