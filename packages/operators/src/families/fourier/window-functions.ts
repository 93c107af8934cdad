import { isFloatingPoint, type ScalarType, type Tensor } from '@cresset/tensor';
import { binary, cast, unary, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import { lowerGenerated } from '../../kernels/fill.ts';
import type { Lowering, LoweringContext, OperatorRow } from '../../table/row.ts';
import { add, div, float, floatParam, mul, sub } from '../../kernels/expressions.ts';
import { byLowering } from '../../kernels/nests/by-lowering.ts';
import { cppTypeName } from '../../kernels/type-names.ts';

/** Windows of signals (ATen/native/TensorFactories.cpp); a periodic one is the symmetric one of a point more, without it. */

interface WindowArgs {
  readonly window_length: number;
  readonly periodic?: boolean;
  readonly alpha?: number;
  readonly beta?: number;
  readonly dtype: ScalarType | null;
}

/** Value at `t` from 0 to 1 over the window; `cosine` is that of 2πt times its argument. */
type Shape = (t: Expr, args: WindowArgs, cosine: (k: number) => Expr) => Expr;

/** The modified Bessel function of order 0, by its series: terms fall off fast for the arguments windows have. */
function besselI0(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-17; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

const plus = (start: number, ...terms: readonly (readonly [number, Expr])[]): Expr =>
  terms.reduce<Expr>((sum, [factor, term]) => add(sum, mul(floatParam(factor), term)), floatParam(start));

/** Beyond, the Bessel function is more than single precision holds. */
const largestBeta = 30;

/** The Bessel function's series from its last term inwards, where `quarter` is x²/4 and x at most `beta`. */
function besselI0Expr(quarter: Expr, beta: number): Expr {
  let sum: Expr = float(1);
  for (let k = Math.ceil(60 + 2 * Math.max(Math.abs(beta) - 30, 0)); k >= 1; k--)
    sum = add(float(1), mul(sum, mul(quarter, float(1 / (k * k)))));
  return sum;
}

const shapes: Record<string, Shape> = {
  hann: (_, __, cosine) => plus(0.5, [-0.5, cosine(1)]),
  hamming: (_, { alpha = 0.54, beta = 0.46 }, cosine) => plus(alpha, [-beta, cosine(1)]),
  blackman: (_, __, cosine) => plus(0.42, [-0.5, cosine(1)], [0.08, cosine(2)]),
  bartlett: (t) => binary('min', mul(float(2), t), sub(float(2), mul(float(2), t))),
  kaiser: (t, { beta = 12 }) => {
    const rest = binary('max', mul(float(4), mul(t, sub(float(1), t))), float(0));
    return mul(besselI0Expr(mul(floatParam((beta * beta) / 4), rest), beta), floatParam(1 / besselI0(beta)));
  },
};

/** t from 0 to 1, and cosines of whole turns of it: of the numbers in the way of one turn, not of the angle, nothing is lost. */
function lowerWindow(name: string, args: WindowArgs, out: Tensor, context: LoweringContext): void {
  const { window_length: length, periodic = true } = args;
  const last = floatParam(Math.max(periodic ? length : length - 1, 1));
  lowerGenerated(
    out,
    ([i]) => {
      if (length === 1) return float(1);
      const t = div(cast('float', i), last);
      const cosine = (k: number): Expr => {
        const turns = mul(float(k), t);
        return unary('cos', mul(float(2 * Math.PI), sub(turns, unary('floor', turns))));
      };
      return shapes[name](t, args, cosine);
    },
    context,
    `aten::${name}_window`,
  );
}

const options = 'ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None';

function windowRow(name: string, overload: string, parameters: string): OperatorRow {
  const lower: Lowering<WindowArgs> = (args, [out], context) => lowerWindow(name, args, out, context);
  return kernel<WindowArgs>(
    `aten::${name}_window${overload}(int window_length${parameters}, *, ${options}) -> Tensor`,
    {
      readsNoData: true,
      shape({ window_length: length, dtype }) {
        const type = dtype ?? 'float32';
        check(
          isFloatingPoint(type),
          () =>
            `${name}_window expects floating point dtypes, got: TensorOptions(dtype=${cppTypeName(type)}, device=cpu, layout=Strided (default), requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))`,
        );
        check(length >= 0, () => `${name}_window requires non-negative window_length, got window_length=${length}`);
        return { sizes: [length], dtype: type };
      },
      host: byLowering(lower),
      lower,
      lowerable: ({ beta = 12 }) => name !== 'kaiser' || Math.abs(beta) <= largestBeta,
    },
  );
}

export const windowRows: readonly OperatorRow[] = [
  ...Object.keys(shapes).flatMap((name) => [windowRow(name, '', ''), windowRow(name, '.periodic', ', bool periodic')]),
  windowRow('hamming', '.periodic_alpha', ', bool periodic, float alpha'),
  windowRow('hamming', '.periodic_alpha_beta', ', bool periodic, float alpha, float beta'),
  windowRow('kaiser', '.beta', ', bool periodic, float beta'),
];
