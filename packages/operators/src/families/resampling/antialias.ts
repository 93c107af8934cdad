import { settle, type ScalarType } from '@cresset/tensor';
import { axis, binary, cast, param, reduce, select, unary, type AxisExpr, type Expr } from '@cresset/tensorexpr';
import { add, div, float, floatParam, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { pixelScale, type ResamplingDimension, type Tap } from './resampling-weights.ts';

/** Filters of resizing with antialiasing (ATen/native/cpu/UpSampleKernel.cpp): as wide as the scale asks for. */
export type AntialiasFilter = 'linear' | 'cubic' | 'lanczos';

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

const filters: Record<AntialiasFilter, { readonly support: number; readonly weight: (x: number) => number }> = {
  linear: { support: 1, weight: (x) => Math.max(1 - Math.abs(x), 0) },
  cubic: { support: 2, weight: (x) => cubic(Math.abs(x)) },
  lanczos: { support: 3, weight: (x) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) },
};

/** Catmull-Rom: with antialiasing the coefficient is -0.5, as in Pillow. */
function cubic(x: number): number {
  const a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/** Taps and normalised weights of every output position. */
export function antialiasedTaps(dimension: ResamplingDimension, filter: AntialiasFilter, scale: number): Tap[][] {
  const [inputSize, outputSize] = [dimension.inputSize, dimension.outputSize].map(settle);
  const { support, weight } = filters[filter];
  const stretch = Math.max(scale, 1);
  const reach = support * stretch;
  return Array.from({ length: outputSize }, (_, o) => {
    const center = scale * (o + 0.5);
    const start = Math.max(Math.trunc(center - reach + 0.5), 0);
    const end = Math.min(Math.trunc(center + reach + 0.5), inputSize);
    const taps: { at: number; weight: number }[] = [];
    let total = 0;
    for (let at = start; at < end; at++) {
      const own = weight((at - center + 0.5) / stretch);
      taps.push({ at, weight: own });
      total += own;
    }
    return taps.map((tap) => ({ at: tap.at, weight: total === 0 ? tap.weight : tap.weight / total }));
  });
}

const abs = (x: Expr): Expr => unary('abs', x);

/** The filters as expressions. */
const filterExprs: Record<AntialiasFilter, (x: Expr) => Expr> = {
  linear: (x) => binary('max', sub(float(1), abs(x)), float(0)),
  cubic: (x) => {
    const [far, a] = [abs(x), -0.5];
    const near = add(mul(mul(sub(mul(float(a + 2), far), float(a + 3)), far), far), float(1));
    const outer = mul(sub(mul(add(mul(sub(far, float(5)), far), float(8)), far), float(4)), float(a));
    return select(binary('lt', far, float(1)), near, select(binary('lt', far, float(2)), outer, float(0)));
  },
  lanczos: (x) => {
    const sincExpr = (y: Expr): Expr => {
      const angle = mul(float(Math.PI), y);
      return select(binary('eq', y, float(0)), float(1), div(unary('sin', angle), angle));
    };
    const value = mul(sincExpr(x), sincExpr(div(x, float(3))));
    return select(binary('lt', abs(x), float(3)), value, float(0));
  },
};

/** An output element of a resized image, dimension after dimension: the weighted mean over all that the filters reach. */
export function antialiasedExpr(
  dimensions: readonly ResamplingDimension[],
  filter: AntialiasFilter,
  outputs: readonly Expr[],
  dtype: ScalarType,
  element: (at: readonly Expr[]) => Expr,
): Expr {
  const sample = (dim: number, at: readonly Expr[]): Expr => {
    if (dim === dimensions.length) return element(at);
    const dimension = dimensions[dim];
    const scale = settle(pixelScale(dimension, dtype));
    const stretch = Math.max(scale, 1);
    const reach = filters[filter].support * stretch;
    const center = mul(floatParam(scale), add(cast('float', outputs[dim]), float(0.5)));
    const bound = (x: Expr): Expr => cast('i32', add(x, float(0.5)));
    const start = binary('max', bound(sub(center, floatParam(reach))), indexParam(0));
    const end = binary('min', bound(add(center, floatParam(reach))), indexParam(dimension.inputSize));
    const over = (body: (place: Expr, weight: Expr) => Expr): Expr => {
      const tap: AxisExpr = axis('t', param('i32', Math.ceil(2 * reach) + 1));
      const place = add(start, tap);
      const offset = add(sub(cast('float', place), center), float(0.5));
      const weight = filterExprs[filter](div(offset, floatParam(stretch)));
      return reduce('sum', [tap], select(binary('lt', place, end), body(place, weight), float(0)));
    };
    const total = over((_, weight) => weight);
    const sum = over((place, weight) => mul(weight, sample(dim + 1, [...at, place])));
    return div(sum, select(binary('eq', total, float(0)), float(1), total));
  };
  return sample(0, []);
}
