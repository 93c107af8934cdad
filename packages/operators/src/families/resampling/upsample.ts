import {
  isDouble,
  isFloatingPoint,
  scratch,
  settle,
  symFunction,
  symEq,
  symGt,
  symLe,
  symMul,
  textOf,
  type ScalarType,
  type Tensor,
  type SymInt,
} from '@cresset/tensor';
import { exprTypeOf, TensorView, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { antialiasedExpr, antialiasedTaps, type AntialiasFilter } from './antialias.ts';
import { byteTaps } from './byte-resampling.ts';
import { add, mul } from '../../kernels/expressions.ts';
import { type FloatArray, numbersInPieces, storeInPieces } from '../../kernels/numbers/numbers.ts';
import { PIECE_SIZE, type Pieces, filled } from '../../kernels/loops/pieces.ts';
import {
  exactPixelScale,
  pixelScale,
  tapExprs,
  tapsAt,
  type ResamplingDimension,
  type ResamplingMode,
  type Tap,
} from './resampling-weights.ts';

/** Resizing (ATen/native/UpSample*.cpp): separable, one dimension after the other. */

interface UpsampleArgs {
  readonly self?: Tensor;
  readonly input?: Tensor;
  readonly output_size: readonly number[] | null;
  readonly align_corners?: boolean;
  readonly scale_factors?: readonly number[] | null;
  readonly scales?: number | null;
  readonly scales_d?: number | null;
  readonly scales_h?: number | null;
  readonly scales_w?: number | null;
}

interface Method {
  readonly name: string;
  readonly mode: ResamplingMode;
  readonly rank: 1 | 2 | 3;
  readonly antialias?: AntialiasFilter;
}

const inputOf = ({ self, input }: UpsampleArgs): Tensor => (self ?? input)!;

const axisNames = ['D', 'H', 'W'];

function dimensionsOf(method: Method, args: UpsampleArgs): ResamplingDimension[] {
  const { mode, rank } = method;
  const input = inputOf(args);
  const factors = args.scale_factors ?? null;
  if (args.input) {
    check(
      (args.output_size === null) !== (factors === null),
      'Must specify exactly one of output_size and scale_factors',
    );
  }
  const spatial = input.symSizes.slice(2);
  const outputs = args.output_size ?? spatial.map((size, dim) => scaled(size, factors![dim]));
  check(outputs.length === rank, () => `It is expected output_size equals to ${rank}, but got size ${outputs.length}`);
  check(input.dim === rank + 2, () => `It is expected input_size equals to ${rank + 2}, but got size ${input.dim}`);
  const shown = (sizes: readonly SymInt[]): string =>
    sizes.map((size, dim) => `${axisNames.slice(-rank)[dim]}: ${textOf(size)}`).join(', ');
  check(
    [...spatial, ...outputs].every((size) => symGt(size, 0)),
    () =>
      `Input and output sizes should be greater than 0, but got input (${shown(spatial)})${rank === 1 ? ' and' : ''} output (${shown(outputs)})`,
  );
  const given = rank === 1 ? [args.scales] : [args.scales_d, args.scales_h, args.scales_w].slice(-rank);
  return outputs.map((outputSize, dim) => ({
    mode,
    inputSize: spatial[dim],
    outputSize,
    alignCorners: args.align_corners ?? false,
    scale: factors?.[dim] ?? given[dim] ?? null,
  }));
}

/** A size times a factor, rounded down; a factor that is no whole number goes by the number of the size. */
const scaled = (size: SymInt, factor: number): SymInt =>
  Number.isInteger(factor)
    ? symMul(size, factor)
    : symFunction('int', 'floor', [size, factor], (own, by) => Math.floor(own * by));

/** What PyTorch calls the kernel that lacks a dtype. */
function kernelName({ mode, rank, antialias }: Method): string {
  if (antialias) return 'compute_index_ranges_weights';
  const kind = mode.startsWith('nearest') ? 'nearest' : mode;
  if (rank !== 2 || kind === 'cubic') return `compute_indices_weights_${kind}`;
  return `upsample_${kind === 'linear' ? 'bilinear' : kind}2d_channels_last`;
}

/** Of the integers there are bytes, and of these no weighted means but for images. */
function refuse(method: Method, { dtype }: Tensor): void {
  const isForBytes = method.rank === 2 || method.mode.startsWith('nearest');
  if (isFloatingPoint(dtype) || (dtype === 'uint8' && isForBytes)) return;
  throw notImplementedFor(kernelName(method), dtypeName(dtype));
}

/** One dimension resampled: `count` planes of `size · inner` become planes of `taps.length · inner`. */
function* resampleDimension(
  input: FloatArray,
  taps: readonly (readonly Tap[])[],
  size: number,
  inner: number,
): Pieces<Float64Array> {
  const planes = input.length / (size * inner);
  const output = scratch(Float64Array, planes * taps.length * inner);
  let done = 0;
  for (let plane = 0; plane < planes; plane++) {
    for (let o = 0; o < taps.length; o++) {
      const to = (plane * taps.length + o) * inner;
      for (const { at, weight } of taps[o]) {
        const from = (plane * size + at) * inner;
        for (let i = 0; i < inner; i++) output[to + i] += weight * input[from + i];
        done += 4 * inner + 8;
      }
      if (done < PIECE_SIZE) continue;
      done = 0;
      yield;
    }
  }
  return output;
}

function tapsOf({ antialias }: Method, dimension: ResamplingDimension, scale: number): Tap[][] {
  if (antialias) return antialiasedTaps(dimension, antialias, scale);
  return Array.from({ length: settle(dimension.outputSize) }, (_, o) => tapsAt(dimension, o, scale));
}

function* hostUpsample(method: Method, args: UpsampleArgs, out: Tensor): Pieces {
  const input = inputOf(args);
  const dimensions = dimensionsOf(method, args);
  let values = yield* numbersInPieces(input);
  if (input.dtype === 'uint8' && !method.mode.startsWith('nearest')) {
    // The last dimension is the first, and one that keeps its size is left alone.
    let inner = 1;
    for (const dimension of dimensions.toReversed()) {
      const [inputSize, outputSize] = [dimension.inputSize, dimension.outputSize].map(settle);
      if (inputSize !== outputSize) {
        const { taps, round } = byteTaps(tapsOf(method, dimension, settle(exactPixelScale(dimension))));
        const exact = yield* resampleDimension(values, taps, inputSize, inner);
        values = yield* filled(scratch(Float64Array, exact.length), 4, (at) => round(exact[at]));
      }
      inner *= outputSize;
    }
  } else {
    for (const [at, dimension] of dimensions.entries()) {
      const inner = input.sizes.slice(3 + at).reduce((product, size) => product * size, 1);
      const taps = tapsOf(method, dimension, settle(pixelScale(dimension, input.dtype)));
      values = yield* resampleDimension(values, taps, settle(dimension.inputSize), inner);
    }
  }
  yield* storeInPieces(out, values);
}

function lowerUpsample(method: Method, args: UpsampleArgs, out: Tensor, context: LoweringContext): void {
  if (symEq(out.symNumel, 0)) return;
  const { antialias, mode, name } = method;
  const label = `aten::${name}`;
  const dimensions = dimensionsOf(method, args);
  let given = inputOf(args);
  if (antialias) {
    const [target, input] = [out, given].map((tensor) => new TensorView(tensor));
    const axes = target.axes();
    const element = (at: readonly Expr[]): Expr => input.at([axes[0], axes[1], ...at]);
    const value = antialiasedExpr(dimensions, antialias, axes.slice(2), out.dtype, element);
    const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }];
    context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
    return;
  }
  const computing = isDouble(out.dtype) ? 'float64' : 'float32';
  const rest: (ResamplingDimension | null)[] = [...dimensions];
  if (context.device.capabilities.host && !mode.startsWith('nearest')) {
    // The host gathers what lies along its lanes, so it does that once for all rows that this goes into.
    for (let dim = dimensions.length - 1; dim > 0 && isWorthAPass(dimensions, dim); dim--) {
      const resampled = context.temporary(given.symSizes.with(2 + dim, dimensions[dim].outputSize), computing);
      const alone = dimensions.map((dimension, at) => (at === dim ? dimension : null));
      lowerTaps(label, alone, out.dtype, given, resampled, context);
      given = resampled;
      rest[dim] = null;
    }
  }
  lowerTaps(label, rest, out.dtype, given, out, context);
}

/** Whether a dimension is better resampled by itself: what lies before it has no more rows than are read. */
const isWorthAPass = (dimensions: readonly ResamplingDimension[], dim: number): boolean =>
  !symEq(dimensions[dim].inputSize, dimensions[dim].outputSize) &&
  symLe(dimensions[dim - 1].inputSize, symMul(dimensions[dim - 1].outputSize, 2));

/** Resamples some dimensions; of others, where there is null, every position is taken. */
function lowerTaps(
  label: string,
  dimensions: readonly (ResamplingDimension | null)[],
  dtype: ScalarType,
  given: Tensor,
  out: Tensor,
  context: LoweringContext,
): void {
  const [target, input] = [out, given].map((tensor) => new TensorView(tensor));
  const axes = target.axes();
  const taps = dimensions.map((dimension, dim) =>
    dimension ? tapExprs(dimension, axes[2 + dim], dtype) : [{ at: axes[2 + dim], weight: null }],
  );
  // The weighted sum over all combinations of taps, innermost dimension first.
  const sample = (dim: number, at: readonly Expr[]): Expr => {
    if (dim === taps.length) return input.at([axes[0], axes[1], ...at]);
    return taps[dim]
      .map((tap) => {
        const value = sample(dim + 1, [...at, tap.at]);
        return tap.weight ? mul(tap.weight, value) : value;
      })
      .reduce(add);
  };
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value: sample(0, []) }];
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
}

function upsampleRows(method: Method): OperatorRow[] {
  const { name, mode, rank } = method;
  const align = mode.startsWith('nearest') ? '' : ', bool align_corners';
  const scales =
    rank === 1
      ? 'float? scales=None'
      : ['d', 'h', 'w']
          .slice(-rank)
          .map((axis) => `float? scales_${axis}=None`)
          .join(', ');
  const row = (schema: string, out: boolean): OperatorRow =>
    kernel<UpsampleArgs>(schema, {
      out,
      shape(args) {
        const dimensions = dimensionsOf(method, args);
        const input = inputOf(args);
        refuse(method, input);
        return {
          sizes: [...input.symSizes.slice(0, 2), ...dimensions.map(({ outputSize }) => outputSize)],
          dtype: input.dtype,
        };
      },
      host: (args, [result]) => hostUpsample(method, args, result),
      lower: (args, [result], context) => lowerUpsample(method, args, result, context),
      lowerable: (args) => exprTypeOf(inputOf(args).dtype) === 'float',
    });
  return [
    row(`aten::${name}(Tensor self, SymInt[${rank}] output_size${align}, ${scales}) -> Tensor`, true),
    row(`aten::${name}.vec(Tensor input, SymInt[]? output_size${align}, float[]? scale_factors) -> Tensor`, false),
  ];
}

export const resamplingRows: readonly OperatorRow[] = [
  ...([1, 2, 3] as const).flatMap((rank) => [
    ...upsampleRows({ name: `upsample_nearest${rank}d`, mode: 'nearest', rank }),
    ...upsampleRows({ name: `_upsample_nearest_exact${rank}d`, mode: 'nearest_exact', rank }),
  ]),
  ...upsampleRows({ name: 'upsample_linear1d', mode: 'linear', rank: 1 }),
  ...upsampleRows({ name: 'upsample_bilinear2d', mode: 'linear', rank: 2 }),
  ...upsampleRows({ name: 'upsample_trilinear3d', mode: 'linear', rank: 3 }),
  ...upsampleRows({ name: 'upsample_bicubic2d', mode: 'cubic', rank: 2 }),
  ...upsampleRows({ name: '_upsample_bilinear2d_aa', mode: 'linear', rank: 2, antialias: 'linear' }),
  ...upsampleRows({ name: '_upsample_bicubic2d_aa', mode: 'cubic', rank: 2, antialias: 'cubic' }),
  ...upsampleRows({ name: '_upsample_lanczos2d_aa', mode: 'cubic', rank: 2, antialias: 'lanczos' }),
];
