import { isComplex, type ScalarType } from '@cresset/tensor';
import { binary, constant, erfcx, select, unary, type Expr } from '@cresset/tensorexpr';
import { kernel, pointwise } from '../../table/builders.ts';
import { assertNoInternalOverlap } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { pointwiseShape, pointwisePieces } from '../../kernels/loops/pointwise.ts';
import type { OperatorRow, PointwiseArguments, PointwiseRule } from '../../table/row.ts';
import { assertCanCast, dtypeName } from '../../kernels/type-promotion.ts';
import * as special from './special-functions.ts';

/** `torch.special` and its kin (ATen/native/UnaryOps.cpp, BinaryOps.cpp). Most are functions of numbers, for the host. */

const number = (value: number): Expr => constant('float', value);

/** As special.multigammaln. */
function multigammalnExpr(x: Expr, p: number): Expr {
  let sum = number((p * (p - 1) * Math.log(Math.PI)) / 4);
  for (let j = 0; j < p; j++) sum = binary('add', sum, unary('lgamma', binary('sub', x, number(j / 2))));
  return sum;
}

/** A function of one number; integers become floats first. */
const ofNumber = (
  name: string,
  apply: (x: number, round?: (value: number) => number) => number,
  argument = 'self',
  inPlace = false,
): OperatorRow =>
  pointwise(`aten::${name}(Tensor ${argument}) -> Tensor`, {
    dtype: 'promote-to-float',
    number: (args, dtype) => apply(args[argument], roundingSteps(dtype)),
    inPlace,
  });

/** How intermediate results are rounded: half precision is computed with as single. */
const roundingSteps = (dtype: ScalarType): ((value: number) => number) | undefined =>
  dtype === 'float64' ? undefined : Math.fround;

/** A function of two numbers, either of which may be a Scalar. */
function ofNumbers(
  name: string,
  [a, b]: readonly [string, string],
  apply: special.Polynomial,
  scalars: readonly [string, string],
): OperatorRow[] {
  const rule: PointwiseRule = {
    dtype: 'promote-to-float',
    number: (args, dtype) => apply(args[a], args[b], roundingSteps(dtype)),
  };
  return [
    pointwise(`aten::${name}(Tensor ${a}, Tensor ${b}) -> Tensor`, { ...rule, inPlace: false }),
    pointwise(`aten::${name}.${scalars[0]}(Scalar ${a}, Tensor ${b}) -> Tensor`, { ...rule, inPlace: false }),
    pointwise(`aten::${name}.${scalars[1]}(Tensor ${a}, Scalar ${b}) -> Tensor`, { ...rule, inPlace: false }),
  ];
}

const polynomial = (name: string, apply: special.Polynomial): OperatorRow[] =>
  ofNumbers(`special_${name}`, ['x', 'n'], apply, ['x_scalar', 'n_scalar']);

const shifted =
  (apply: special.Polynomial): special.Polynomial =>
  (x, degree, round) =>
    apply(round?.(2 * x - 1) ?? 2 * x - 1, degree, round);

const gammaRow = (name: string, apply: (a: number, x: number) => number): OperatorRow =>
  pointwise(`aten::${name}(Tensor self, Tensor other) -> Tensor`, {
    // Integers are refused.
    dtype: 'promote',
    number: ({ self, other }) => apply(self, other),
  });

/** −x ln x, 0 at 0, −∞ below. */
function entropy({ self }: PointwiseArguments): Expr {
  const isZero = binary('eq', self, number(0));
  const positive = unary('neg', binary('mul', self, unary('log', self)));
  const value = select(isZero, number(0), select(binary('gt', self, number(0)), positive, number(-Infinity)));
  return select(unary('isnan', self), self, value);
}

const halfErfc = ({ self }: PointwiseArguments): Expr =>
  binary('mul', number(0.5), unary('erfc', binary('mul', self, number(-Math.SQRT1_2))));

const xlogyRow = (form: string, args: string): OperatorRow =>
  pointwise(`aten::special_xlogy${form}(${args}) -> Tensor`, {
    dtype: 'promote-to-float',
    body: ({ self, other }) => {
      const product = select(binary('eq', self, number(0)), number(0), binary('mul', self, unary('log', other)));
      return select(unary('isnan', other), other, product);
    },
    inPlace: false,
  });

const polygammaRule: PointwiseRule = {
  dtype: 'promote-to-float',
  refuses(dtype, { n }) {
    check(n >= 0, 'polygamma(n, x) does not support negative n.');
    if (isComplex(dtype)) throw notImplementedFor(['digamma', 'trigamma'][n] ?? 'polygamma', dtypeName(dtype));
  },
  number: ({ n, self }) => special.polygamma(n, self),
};

const polygammaRow = pointwise('aten::polygamma(int n, Tensor self) -> Tensor', { ...polygammaRule, inPlace: false });

export const specialFunctionRows: readonly OperatorRow[] = [
  ofNumber('i0', special.i0, 'self', true),
  ofNumber('special_i0e', special.i0e),
  ofNumber('special_i1', special.i1),
  ofNumber('special_i1e', special.i1e),
  ofNumber('special_bessel_j0', special.besselJ0),
  ofNumber('special_bessel_j1', special.besselJ1),
  ofNumber('special_bessel_y0', special.besselY0),
  ofNumber('special_bessel_y1', special.besselY1),
  ofNumber('special_modified_bessel_i0', special.i0),
  ofNumber('special_modified_bessel_i1', special.i1),
  ofNumber('special_modified_bessel_k0', (x) => special.besselK(0, x)),
  ofNumber('special_modified_bessel_k1', (x) => special.besselK(1, x)),
  ofNumber('special_scaled_modified_bessel_k0', (x) => special.scaledBesselK(0, x), 'x'),
  ofNumber('special_scaled_modified_bessel_k1', (x) => special.scaledBesselK(1, x), 'x'),
  ofNumber('special_spherical_bessel_j0', special.sphericalBesselJ0, 'x'),
  ofNumber('special_airy_ai', special.airyAi, 'x'),
  ofNumber('special_erfcx', erfcx),
  ofNumber('special_log_ndtr', special.logNdtr),
  ofNumber('special_ndtri', special.ndtri),
  pointwise('aten::special_ndtr(Tensor self) -> Tensor', { dtype: 'promote-to-float', body: halfErfc, inPlace: false }),
  pointwise('aten::special_entr(Tensor self) -> Tensor', { dtype: 'promote-to-float', body: entropy, inPlace: false }),
  ...ofNumbers('special_zeta', ['self', 'other'], special.zeta, ['self_scalar', 'other_scalar']),
  xlogyRow('', 'Tensor self, Tensor other'),
  xlogyRow('.self_scalar', 'Scalar self, Tensor other'),
  xlogyRow('.other_scalar', 'Tensor self, Scalar other'),
  gammaRow('igamma', special.gammainc),
  gammaRow('igammac', special.gammaincc),
  pointwise('aten::mvlgamma(Tensor self, int p) -> Tensor', {
    dtype: 'promote-to-float',
    refuses: (dtype, { p }) => {
      check(p >= 1, 'p has to be greater than or equal to 1');
      if (isComplex(dtype)) throw notImplementedFor('arange_cpu', dtypeName(dtype));
    },
    number: ({ self, p }) => special.multigammaln(self, p),
    body: ({ self, p }) => multigammalnExpr(self, p),
  }),
  polygammaRow,
  kernel<PointwiseArguments>('aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)', {
    *host(args) {
      assertNoInternalOverlap(args.self);
      assertCanCast(pointwiseShape(polygammaRow, args).dtype, args.self.dtype);
      yield* pointwisePieces(polygammaRow, args, args.self);
      return args.self;
    },
  }),
  ...polynomial('chebyshev_polynomial_t', special.chebyshevT),
  ...polynomial('chebyshev_polynomial_u', special.chebyshevU),
  ...polynomial('chebyshev_polynomial_v', special.chebyshevV),
  ...polynomial('chebyshev_polynomial_w', special.chebyshevW),
  ...polynomial('shifted_chebyshev_polynomial_t', shifted(special.chebyshevT)),
  ...polynomial('shifted_chebyshev_polynomial_u', shifted(special.chebyshevU)),
  ...polynomial('shifted_chebyshev_polynomial_v', shifted(special.chebyshevV)),
  ...polynomial('shifted_chebyshev_polynomial_w', shifted(special.chebyshevW)),
  ...polynomial('hermite_polynomial_h', special.hermiteH),
  ...polynomial('hermite_polynomial_he', special.hermiteHe),
  ...polynomial('laguerre_polynomial_l', special.laguerreL),
  ...polynomial('legendre_polynomial_p', special.legendreP),
];
