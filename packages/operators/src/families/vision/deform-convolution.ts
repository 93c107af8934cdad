import { numelOf, promoteTypes, Tensor } from '@cresset/tensor';
import { binary, cast, select, TensorView, unary, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { lowerCopy, contiguousInPieces } from '../../kernels/copy.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { add, and, float, index, indexParam, mul, sub, within } from '../../kernels/expressions.ts';
import { checkScalarType } from '../products/matrix-product.ts';
import { evaluateLaunches } from '../../kernels/nests/by-lowering.ts';
import { numbersInPieces, fillInPieces } from '../../kernels/numbers/numbers.ts';
import { lowerProduct } from '../products/product-lowering.ts';
import { productPieces } from '../products/product.ts';
import { narrowView } from '../../kernels/views.ts';
import type { HostContext, LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { pixel, roundedTo, zero } from './regions.ts';
import { type Pieces, filled } from '../../kernels/loops/pieces.ts';

/**
 * Convolutions whose kernel elements are moved, at each place of the result, by offsets that are part of the input (torchvision's
 * deform_conv2d): samples between pixels are gathered to columns, and filters are multiplied with those.
 */

interface DeformArgs {
  /** `[N, C, H, W]`. */
  readonly input: Tensor;
  /** `[out channels, C / groups, kernel height, kernel width]`. */
  readonly weight: Tensor;
  /** `[N, 2 × offset groups × kernel height × kernel width, out height, out width]`: y and x in turn. */
  readonly offset: Tensor;
  /** What each sample counts: as `offset`, with one number in the place of two. */
  readonly mask: Tensor;
  readonly bias: Tensor;
  readonly stride_h: number;
  readonly stride_w: number;
  readonly pad_h: number;
  readonly pad_w: number;
  readonly dilation_h: number;
  readonly dilation_w: number;
  readonly groups: number;
  readonly offset_groups: number;
  readonly use_mask: boolean;
}

const label = 'torchvision::deform_conv2d';

/** What holds of the arguments as C++ says it, which is all that torchvision's message has. */
function expectTrue(condition: boolean, text: string): void {
  check(
    condition,
    `Expected ${text} to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)`,
  );
}

/** Height and width of the result. */
function outputSize(args: DeformArgs): [number, number] {
  const { input, weight } = args;
  const size = (dim: 0 | 1, stride: number, padding: number, dilation: number): number => {
    const extent = dilation * (weight.sizes[2 + dim] - 1) + 1;
    return Math.trunc((input.sizes[2 + dim] + 2 * padding - extent) / stride) + 1;
  };
  return [size(0, args.stride_h, args.pad_h, args.dilation_h), size(1, args.stride_w, args.pad_w, args.dilation_w)];
}

function deformShape(args: DeformArgs): TensorMeta {
  const { input, weight, offset, mask, bias, groups, offset_groups: offsetGroups, use_mask: usesMask } = args;
  expectTrue(input.dim === 4, 'input_c.ndimension() == 4');
  expectTrue(offset.dim === 4, 'offset_c.ndimension() == 4');
  expectTrue(!usesMask || mask.dim === 4, '!use_mask || mask_c.ndimension() == 4');
  expectTrue(weight.dim === 4, 'weight_c.ndimension() == 4');
  const [batch, channels] = input.sizes;
  const [filters, , kernelHeight, kernelWidth] = weight.sizes;
  const taps = kernelHeight * kernelWidth;
  const pair = (name: string, height: number, width: number): string => `${name}_h: ${height} ${name}_w: ${width}`;
  check(kernelHeight > 0 && kernelWidth > 0, () => pair('weight', kernelHeight, kernelWidth));
  check(args.stride_h > 0 && args.stride_w > 0, () => pair('stride', args.stride_h, args.stride_w));
  check(args.pad_h >= 0 && args.pad_w >= 0, () => pair('pad', args.pad_h, args.pad_w));
  check(args.dilation_h > 0 && args.dilation_w > 0, () => pair('dilation', args.dilation_h, args.dilation_w));
  expectTrue(weight.sizes[1] * groups === channels, 'weight_c.size(1) * n_weight_grps == input_c.size(1)');
  expectTrue(filters % groups === 0, 'weight_c.size(0) % n_weight_grps == 0');
  const checkChannels = (name: string, tensor: Tensor, expected: number): void =>
    check(
      tensor.sizes[1] === expected,
      () => `${name}.shape[1] is not valid: got: ${tensor.sizes[1]} expected: ${expected}`,
    );
  const [height, width] = outputSize(args);
  const checkPlaces = (name: string, tensor: Tensor): void =>
    check(
      tensor.sizes[2] === height && tensor.sizes[3] === width,
      () =>
        `${name} output dims: (${tensor.sizes[2]}, ${tensor.sizes[3]}) - computed output dims: (${height}, ${width})`,
    );
  checkChannels('offset', offset, offsetGroups * 2 * taps);
  if (usesMask) checkChannels('mask', mask, offsetGroups * taps);
  expectTrue(channels % offsetGroups === 0, 'input_c.size(1) % n_offset_grps == 0');
  check(offset.sizes[0] === batch, 'invalid batch size of offset');
  checkPlaces('offset', offset);
  check(mask.sizes[0] === batch, 'invalid batch size of mask');
  if (usesMask) checkPlaces('mask', mask);
  check(height > 0 && width > 0, () => `Calculated output size too small - ${pair('out', height, width)}`);
  if (batch === 0) return { sizes: [batch, filters, height, width], dtype: input.dtype };
  checkDtypes(args);
  const biasSizes = [1, filters, 1, 1];
  check(bias.numel === filters, () => `shape '${sizesText(biasSizes)}' is invalid for input of size ${bias.numel}`);
  return { sizes: [batch, filters, height, width], dtype: promoteTypes(input.dtype, bias.dtype) };
}

function checkDtypes({ input, weight, offset, mask }: DeformArgs): void {
  if (!['float16', 'float32', 'float64'].includes(input.dtype))
    throw notImplementedFor('deformable_im2col', dtypeName(input.dtype));
  checkScalarType(input, offset);
  checkScalarType(input, mask);
  check(
    weight.dtype === input.dtype,
    () => `mat1 and mat2 must have the same dtype, but got ${dtypeName(weight.dtype)} and ${dtypeName(input.dtype)}`,
  );
}

/** The filters of each group as a matrix: `[groups, out channels / groups, C / groups × kernel elements]`. */
function filterMatrices(contiguousWeight: Tensor, groups: number): Tensor {
  const [filters, ...inner] = contiguousWeight.sizes;
  const length = numelOf(inner);
  return contiguousWeight.asStrided([groups, filters / groups, length], [(filters / groups) * length, length, 1]);
}

function* hostDeform(args: DeformArgs, out: Tensor, { generator }: HostContext): Pieces {
  if (out.numel === 0) return;
  const { input, groups } = args;
  const [batch, filters, height, width] = out.sizes;
  const places = height * width;
  const matrices = filterMatrices(yield* contiguousInPieces(args.weight), groups);
  const inner = matrices.sizes[2];
  const sums = Tensor.empty([batch * groups, filters / groups, places], input.dtype);
  const columns = Tensor.empty([groups, inner, places], input.dtype);
  const ofImage = columns.asStrided([1, ...columns.sizes], [0, ...columns.strides]);
  for (let image = 0; image < batch; image++) {
    yield* evaluateLaunches((context) => launchColumns(args, image, ofImage, context), generator);
    yield* productPieces(matrices, columns, narrowView(sums, 0, image * groups, groups));
    yield;
  }
  const products = yield* numbersInPieces(sums);
  const bias = yield* numbersInPieces(args.bias);
  yield* fillInPieces(out, (values) =>
    filled(values, 4, (at) => products[at] + bias[Math.trunc(at / places) % filters]),
  );
}

/** A tensor with its elements in C order, on a device. */
function deviceContiguous(tensor: Tensor, context: LoweringContext): Tensor {
  if (tensor.isContiguous()) return tensor;
  const copy = context.temporary(tensor.sizes, tensor.dtype);
  lowerCopy(copy, tensor, context, label);
  return copy;
}

/**
 * The samples of as many images as `columns` has room for, from number `first` on:
 * `[images, groups, C / groups × kernel elements, out height × out width]`.
 */
function launchColumns(args: DeformArgs, first: number, columns: Tensor, context: LoweringContext): void {
  const { input, weight } = args;
  const channels = input.sizes[1];
  const [, kernelWidth] = weight.sizes.slice(2);
  const taps = numelOf(weight.sizes.slice(2));
  const [height, width] = outputSize(args);
  const round = roundedTo(input.dtype);
  const source = new TensorView(input);
  const [offsets, masks] = [args.offset, args.mask].map((tensor) => new TensorView(tensor));
  const images = columns.sizes[0];
  const places = height * width;
  const target = new TensorView(
    columns.asStrided(
      [images, channels, taps, height, width],
      [channels * taps * places, taps * places, places, width, 1],
    ),
  );
  const [number, channel, tap, row, column] = target.axes();
  const image = add(number, indexParam(first));
  const kernelColumns = indexParam(kernelWidth);
  const perOffset = indexParam(channels / args.offset_groups);
  const move = add(mul(binary('truncdiv', channel, perOffset), indexParam(taps)), tap);
  const placeAlong = (out: Expr, own: Expr, dim: 0 | 1): Expr => {
    const [stride, padding, dilation] =
      dim === 0 ? [args.stride_h, args.pad_h, args.dilation_h] : [args.stride_w, args.pad_w, args.dilation_w];
    const whole = add(sub(mul(out, indexParam(stride)), indexParam(padding)), mul(own, indexParam(dilation)));
    const moved = offsets.at([image, add(mul(move, index(2)), index(dim)), row, column]);
    return round(add(cast('float', whole), moved));
  };
  const y = placeAlong(row, binary('truncdiv', tap, kernelColumns), 0);
  const x = placeAlong(column, binary('fmod', tap, kernelColumns), 1);
  const [inHeight, inWidth] = source.sizes.slice(2);
  const isBetween = (place: Expr, size: Expr): Expr =>
    and(binary('gt', place, float(-1)), binary('lt', place, cast('float', size)));
  const [y0, x0] = [y, x].map((place) => cast('i32', unary('floor', place)));
  const [dy, dx] = [y, x].map((place) => round(sub(place, unary('floor', place))));
  const at = (r: Expr, c: Expr): Expr =>
    select(and(within(r, inHeight), within(c, inWidth)), pixel(source, [image, channel, r, c]), zero);
  const blend = (fraction: Expr, near: Expr, far: Expr): Expr =>
    add(mul(sub(float(1), fraction), near), mul(fraction, far));
  const [x1, y1] = [add(x0, index(1)), add(y0, index(1))];
  const sample = round(blend(dy, blend(dx, at(y0, x0), at(y0, x1)), blend(dx, at(y1, x0), at(y1, x1))));
  const weighted = args.use_mask ? mul(masks.at([image, move, row, column]), sample) : sample;
  const value = select(and(isBetween(y, inHeight), isBetween(x, inWidth)), weighted, zero);
  const axes = [number, channel, tap, row, column];
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }];
  context.launch({ kind: 'nest', label: `${label} (columns)`, axes, innerAxes: [], stores });
}

/** Elements of columns that are made at a time: their memory is bounded, however many images there are. */
const mostElements = 2 ** 25;

function lowerDeform(args: DeformArgs, out: Tensor, context: LoweringContext): void {
  if (out.numel === 0) return;
  const { input, groups } = args;
  const [batch, filters, height, width] = out.sizes;
  const places = height * width;
  const matrices = filterMatrices(deviceContiguous(args.weight, context), groups);
  const [, own, inner] = matrices.sizes;
  const bias = new TensorView(deviceContiguous(args.bias, context).asStrided([groups, own], [own, 1]));
  const together = Math.max(1, Math.min(batch, Math.floor(mostElements / (groups * inner * places))));
  const round = roundedTo(input.dtype);
  for (let first = 0; first < batch; first += together) {
    const count = Math.min(together, batch - first);
    const columns = context.temporary([count, groups, inner, places], input.dtype);
    launchColumns(args, first, columns, context);
    const products = {
      left: matrices.asStrided([count, ...matrices.sizes], [0, ...matrices.strides]),
      right: columns,
      out: out.asStrided(
        [count, groups, own, places],
        [filters * places, own * places, places, 1],
        first * filters * places,
      ),
    };
    lowerProduct(label, products, context, undefined, (sum, [, group, filter]) =>
      add(round(sum), pixel(bias, [group, filter])),
    );
  }
}

export const deformConvolutionRows: readonly OperatorRow[] = [
  kernel<DeformArgs>(
    'torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor',
    {
      shape: deformShape,
      host: (args, [out], context) => hostDeform(args, out, context),
      lower: (args, [out], context) => lowerDeform(args, out, context),
    },
  ),
];
