import {
  settle,
  symEq,
  symFunction,
  symGt,
  symSub,
  type ScalarType,
  type SymFloat,
  type SymInt,
} from '@cresset/tensor';
import { binary, cast, unary, type Expr } from '@cresset/tensorexpr';
import { add, float, floatParam, indexParam, index, mul, sub } from '../../kernels/expressions.ts';

/** Where resampling reads and with what weights, along one dimension (ATen/native/UpSample.h). */

export type ResamplingMode = 'nearest' | 'nearest_exact' | 'linear' | 'cubic';

export interface ResamplingDimension {
  readonly mode: ResamplingMode;
  readonly inputSize: SymInt;
  readonly outputSize: SymInt;
  readonly alignCorners: boolean;
  /** The scale the caller gave, which counts instead of the ratio of the sizes. */
  readonly scale: number | null;
}

/** Input positions and weights of one output position. */
export interface Tap {
  readonly at: number;
  readonly weight: number;
}

const cubicA = -0.75;

const ratio = (a: SymInt, b: SymInt): SymFloat => symFunction('float', 'ratio', [a, b], (x, y) => x / y);

/** Distance in the input between neighbouring outputs (area_pixel_compute_scale), in double precision. */
export function exactPixelScale({ mode, inputSize, outputSize, alignCorners, scale }: ResamplingDimension): SymFloat {
  if (alignCorners && (mode === 'linear' || mode === 'cubic')) {
    const last = symSub(outputSize, 1);
    return symGt(last, 0) ? ratio(symSub(inputSize, 1), last) : 0;
  }
  return scale !== null && scale > 0 ? 1 / scale : ratio(inputSize, outputSize);
}

/** The same as PyTorch has it: in the precision of the elements where these are weighted, and as a float32 number where one of them is chosen. */
export function pixelScale(dimension: ResamplingDimension, dtype: ScalarType): SymFloat {
  const scale = exactPixelScale(dimension);
  return dtype === 'float64' && !dimension.mode.startsWith('nearest')
    ? scale
    : symFunction('float', 'single', [scale], Math.fround);
}

const clamp = (value: number, most: number): number => Math.min(Math.max(value, 0), most);

/** The taps of output position `o`; positions beyond the border are those at it. */
export function tapsAt(dimension: ResamplingDimension, o: number, scale: number): Tap[] {
  const { mode, alignCorners } = dimension;
  const [inputSize, outputSize] = [dimension.inputSize, dimension.outputSize].map(settle);
  const last = inputSize - 1;
  if (mode === 'nearest') return [{ at: Math.min(Math.floor(Math.fround(o * scale)), last), weight: 1 }];
  if (mode === 'nearest_exact') return [{ at: Math.min(Math.floor(Math.fround((o + 0.5) * scale)), last), weight: 1 }];
  const source = alignCorners ? scale * o : scale * (o + 0.5) - 0.5;
  if (mode === 'linear') {
    if (inputSize === outputSize) return [{ at: o, weight: 1 }];
    const position = Math.max(source, 0);
    const first = Math.min(Math.floor(position), last);
    const fraction = clamp(position - first, 1);
    return [
      { at: first, weight: 1 - fraction },
      { at: Math.min(first + 1, last), weight: fraction },
    ];
  }
  const first = Math.floor(source);
  return cubicWeights(source - first).map((weight, tap) => ({ at: clamp(first - 1 + tap, last), weight }));
}

/** Weights of the four neighbours at distance `t` (get_cubic_upsample_coefficients). */
export function cubicWeights(t: number): number[] {
  const near = (x: number): number => ((cubicA + 2) * x - (cubicA + 3)) * x * x + 1;
  const far = (x: number): number => ((cubicA * x - 5 * cubicA) * x + 8 * cubicA) * x - 4 * cubicA;
  return [far(t + 1), near(t), near(1 - t), far(2 - t)];
}

/** As `tapsAt`, for a device: the input position and weight of each tap of output position `o`, for elements of a dtype. */
export function tapExprs(
  dimension: ResamplingDimension,
  o: Expr,
  dtype: ScalarType,
): { at: Expr; weight: Expr | null }[] {
  const { mode, inputSize, outputSize, alignCorners } = dimension;
  const scale = floatParam(pixelScale(dimension, dtype));
  const last = indexParam(symSub(inputSize, 1));
  const position = cast('float', o);
  const atMost = (at: Expr): Expr => binary('min', at, last);
  const floor = (x: Expr): Expr => cast('i32', unary('floor', x));
  const nearest = (x: Expr): Expr => atMost(floor(unary('single', mul(x, scale))));
  if (mode === 'nearest') return [{ at: nearest(position), weight: null }];
  if (mode === 'nearest_exact') return [{ at: nearest(add(position, float(0.5))), weight: null }];
  const source = alignCorners ? mul(position, scale) : sub(mul(add(position, float(0.5)), scale), float(0.5));
  if (mode === 'linear') {
    if (symEq(inputSize, outputSize)) return [{ at: o, weight: null }];
    const inside = binary('max', source, float(0));
    const first = atMost(floor(inside));
    const fraction = binary('min', sub(inside, cast('float', first)), float(1));
    return [
      { at: first, weight: sub(float(1), fraction) },
      { at: atMost(add(first, index(1))), weight: fraction },
    ];
  }
  const whole = unary('floor', source);
  const first = cast('i32', whole);
  return cubicExprs(sub(source, whole)).map((weight, tap) => ({
    at: atMost(binary('max', add(first, index(tap - 1)), index(0))),
    weight,
  }));
}

export function cubicExprs(t: Expr): Expr[] {
  const near = (x: Expr): Expr => add(mul(mul(sub(mul(float(cubicA + 2), x), float(cubicA + 3)), x), x), float(1));
  const far = (x: Expr): Expr =>
    sub(mul(add(mul(sub(mul(float(cubicA), x), float(5 * cubicA)), x), float(8 * cubicA)), x), float(4 * cubicA));
  return [far(add(t, float(1))), near(t), near(sub(float(1), t)), far(sub(float(2), t))];
}
