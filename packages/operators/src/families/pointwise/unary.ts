import {
  isComplex,
  isFloatingPoint,
  isIntegral,
  Complex,
  realType,
  type ScalarType,
  type Tensor,
} from '@cresset/tensor';
import { binary, constant, select, unary, type Expr, type ExprType, type UnaryFunction } from '@cresset/tensorexpr';
import { pointwise, through, type Forms } from '../../table/builders.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { constantOf, singleComplex } from '../../kernels/loops/pointwise.ts';
import type { ComputingTypes, OperatorRow, PointwiseArguments, PointwiseRule } from '../../table/row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { dtypeName, toFloating } from '../../kernels/type-promotion.ts';

/** Functions of one tensor (ATen/native/UnaryOps.cpp). */

type Body = (self: Expr, type: ExprType, dtype: ScalarType) => Expr;
type ComplexBody = (self: Complex, computing: ScalarType) => Complex | number | boolean;

function unaryRow(
  name: string,
  dtype: PointwiseRule['dtype'],
  body: Body,
  complexBody?: ComplexBody,
  rest: Partial<PointwiseRule> & Forms = {},
): OperatorRow {
  return pointwise(`aten::${name}(Tensor self) -> Tensor`, {
    dtype,
    body: ({ self }, type, computing) => body(self, type, computing),
    ...(complexBody && {
      complex: ({ self }: PointwiseArguments, computing: ScalarType) => complexBody(self, computing),
    }),
    ...rest,
  });
}

/** Integers become floats first. */
const floating = (name: string, fn: UnaryFunction | Body, complexBody?: ComplexBody, forms?: Forms): OperatorRow =>
  unaryRow(name, 'promote-to-float', typeof fn === 'string' ? (self) => unary(fn, self) : fn, complexBody, forms);

/** The result has the dtype of the argument. */
const same = (
  name: string,
  body: Body,
  complexBody?: ComplexBody,
  rest?: Partial<PointwiseRule> & Forms,
): OperatorRow => unaryRow(name, 'promote', body, complexBody, rest);

/** A question about each element. */
const predicate = (name: string, body: Body, complexBody?: ComplexBody, forms: Forms = {}): OperatorRow =>
  unaryRow(name, 'compare', body, complexBody, { inPlace: false, out: false, ...forms });

/** Rounding leaves integers as they are. */
const rounding = (name: string, fn: UnaryFunction): OperatorRow =>
  same(name, (self, type) => (type === 'float' ? unary(fn, self) : self), undefined, {
    refuses: refuseBool(`${name}_vml_cpu`),
  });

function refuseBool(kernel: string) {
  return (dtype: ScalarType): void => {
    if (dtype === 'bool') throw notImplementedFor(kernel, 'Bool');
  };
}

export const refuseIntegral =
  (kernel: string) =>
  (dtype: ScalarType): void => {
    if (isIntegral(dtype, true)) throw notImplementedFor(kernel, dtypeName(dtype));
  };

function refuseFloating(kernel: string) {
  return (dtype: ScalarType): void => {
    if (isFloatingPoint(dtype) || isComplex(dtype)) throw notImplementedFor(kernel, dtypeName(dtype));
  };
}

const number = (value: number): Expr => constant('float', value);
const isOf = (x: Expr, value: number): Expr => binary('eq', x, number(value));

/** 1 / (1 + e⁻ˣ). */
export const sigmoidOf = (x: Expr): Expr =>
  binary('div', number(1), binary('add', number(1), unary('exp', unary('neg', x))));

const one = new Complex(1, 0);

/** A complex argument has a real result: a magnitude, an angle. */
const realResult = (promoted: ScalarType): { computing: ScalarType; result: ScalarType } => ({
  computing: promoted,
  result: realType(promoted),
});

const sameTypes = (dtype: ScalarType): ComputingTypes => ({ computing: dtype, result: dtype });

const realFloatingResult = (promoted: ScalarType): { computing: ScalarType; result: ScalarType } =>
  realResult(toFloating(promoted));

/** sin(πx) / (πx), 1 at 0. */
function sinc(self: Expr): Expr {
  const scaled = binary('mul', self, number(Math.PI));
  return select(isOf(self, 0), number(1), binary('div', unary('sin', scaled), scaled));
}

function sincComplex(z: Complex): Complex {
  if (z.re === 0 && z.im === 0) return one;
  const scaled = complex.scale(z, Math.PI);
  return complex.divide(complex.sin(scaled), scaled);
}

function logit({ self, eps }: PointwiseArguments): Expr {
  const x = eps === null ? self : binary('min', binary('max', self, number(eps)), number(1 - eps));
  return unary('log', binary('div', x, binary('sub', number(1), x)));
}

const largest: Partial<Record<ScalarType, number>> = {
  float16: 65504,
  bfloat16: 3.3895313892515355e38,
  float32: 3.4028234663852886e38,
  float64: Number.MAX_VALUE,
};

function nanToNum({ self, nan, posinf, neginf }: PointwiseArguments, type: ExprType, dtype: ScalarType): Expr {
  if (type !== 'float') return self;
  const limit = largest[dtype] ?? Infinity;
  const finite = select(
    isOf(self, Infinity),
    number(posinf ?? limit),
    select(isOf(self, -Infinity), number(neginf ?? -limit), self),
  );
  return select(unary('isnan', self), number(nan ?? 0), finite);
}

function nanToNumComplex({ self, nan, posinf, neginf }: PointwiseArguments): Complex {
  const part = (x: number): number => {
    if (Number.isNaN(x)) return nan ?? 0;
    return x === Infinity ? (posinf ?? largest.float32) : x === -Infinity ? (neginf ?? -largest.float32!) : x;
  };
  return new Complex(part(self.re), part(self.im));
}

/** Rounds to a number of decimals; negative ones round tens, hundreds, …. */
function roundDecimals({ self, decimals }: PointwiseArguments): Expr {
  const scale = number(10 ** Math.abs(decimals));
  if (decimals < 0) return binary('mul', unary('round', binary('div', self, scale)), scale);
  return binary('div', unary('round', binary('mul', self, scale)), scale);
}

const isZero = (z: Complex): boolean => z.re === 0 && z.im === 0;
const anyPart =
  (test: (x: number) => boolean) =>
  (z: Complex): boolean =>
    test(z.re) || test(z.im);
const isInfinite = (x: number): boolean => Math.abs(x) === Infinity;

const magnitude = unaryRow(
  'abs',
  realResult,
  (self, type) => (type === 'bool' ? self : unary('abs', self)),
  complex.magnitude,
);

export const unaryRows: readonly OperatorRow[] = [
  floating('acos', 'acos', complex.acos),
  floating('acosh', 'acosh', complex.acosh),
  floating('asin', 'asin', complex.asin),
  floating('asinh', 'asinh', complex.asinh),
  floating('atan', 'atan', complex.atan),
  floating('atanh', 'atanh', complex.atanh),
  floating('cos', 'cos', complex.cos),
  floating('cosh', 'cosh', complex.cosh),
  floating('sin', 'sin', complex.sin),
  floating('sinh', 'sinh', complex.sinh),
  floating('tan', 'tan', complex.tan),
  floating('tanh', 'tanh', complex.tanh),
  floating('exp', 'exp', complex.exp),
  floating('exp2', 'exp2', (z) => complex.exp(complex.scale(z, Math.LN2))),
  floating('expm1', 'expm1', complex.expm1),
  floating('log', 'log', complex.log),
  floating('log2', 'log2', (z) => complex.scale(complex.log(z), Math.LOG2E)),
  floating('log10', 'log10', (z) => complex.scale(complex.log(z), Math.LOG10E)),
  floating('log1p', 'log1p', complex.log1p),
  floating('sqrt', 'sqrt', complex.sqrt),
  floating('rsqrt', 'rsqrt', (z) => complex.divide(one, complex.sqrt(z))),
  floating('erf', 'erf'),
  floating('erfc', 'erfc'),
  floating('erfinv', 'erfinv'),
  floating('lgamma', 'lgamma'),
  floating('digamma', 'digamma'),
  floating(
    'reciprocal',
    (self) => binary('div', number(1), self),
    (z) => complex.divide(one, z),
  ),
  floating('sigmoid', sigmoidOf, (z, computing) => {
    const power = complex.exp(complex.negate(z));
    // Of one that is no float any more nothing is left.
    return complex.divide(one, complex.add(one, computing === 'complex64' ? singleComplex(power) : power));
  }),
  floating('sinc', sinc, sincComplex),
  floating('deg2rad', (self) => binary('mul', self, number(Math.PI / 180))),
  floating('rad2deg', (self) => binary('mul', self, number(180 / Math.PI))),
  pointwise('aten::logit(Tensor self, float? eps=None) -> Tensor', { dtype: 'promote-to-float', body: logit }),

  magnitude,
  // What the builtin `abs` of a tensor is.
  through('prim::abs(Tensor x) -> Tensor', magnitude, ({ x }: { x: Tensor }) => ({ self: x })),
  unaryRow(
    'angle',
    realFloatingResult,
    (self) => {
      const flat = select(binary('lt', self, number(0)), number(Math.PI), number(0));
      return select(unary('isnan', self), self, flat);
    },
    complex.angle,
    { inPlace: false },
  ),
  same('neg', (self) => unary('neg', self), complex.negate, {
    refuses: (dtype) =>
      check(
        dtype !== 'bool',
        'Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.',
      ),
  }),
  same('sign', (self, type) => (type === 'bool' ? self : unary('sign', self))),
  same(
    'sgn',
    (self, type) => (type === 'bool' ? self : unary('sign', self)),
    (z) => (isZero(z) ? z : complex.scale(z, 1 / complex.magnitude(z))),
  ),
  rounding('ceil', 'ceil'),
  rounding('floor', 'floor'),
  rounding('round', 'round'),
  rounding('trunc', 'trunc'),
  pointwise('aten::round.decimals(Tensor self, *, int decimals) -> Tensor', {
    dtype: 'promote',
    body: roundDecimals,
    refuses: (dtype, { decimals }) => refuseIntegral(decimals === 0 ? 'round_vml_cpu' : 'round_cpu')(dtype),
  }),
  same('frac', (self) => binary('sub', self, unary('trunc', self)), undefined, { refuses: refuseIntegral('frac_cpu') }),
  // A power with an integer exponent: of a bool tensor it is an integer.
  unaryRow(
    'square',
    (promoted) => sameTypes(promoted === 'bool' ? 'int64' : promoted),
    (self) => binary('mul', self, self),
    (z) => complex.multiply(z, z),
  ),
  same(
    'conj_physical',
    (self) => self,
    ({ re, im }) => new Complex(re, -im),
    { mayMeet: (dtype) => !isComplex(dtype) },
  ),
  pointwise('aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor', {
    dtype: 'promote',
    body: nanToNum,
    complex: nanToNumComplex,
    mayMeet: (dtype) => isIntegral(dtype, true),
  }),
  same('bitwise_not', (self) => unary('not', self), undefined, { refuses: refuseFloating('bitwise_not_cpu') }),
  unaryRow('logical_not', 'logical', (self) => unary('not', self), isZero),

  predicate(
    'isnan',
    (self, type) => (type === 'float' ? unary('isnan', self) : constantOf('bool', 0)),
    anyPart(Number.isNaN),
  ),
  predicate(
    'isinf',
    (self, type) => (type === 'float' ? unary('isinf', self) : constantOf('bool', 0)),
    anyPart(isInfinite),
  ),
  predicate(
    'isfinite',
    (self, type) => (type === 'float' ? unary('isfinite', self) : constantOf('bool', 1)),
    (z) => Number.isFinite(z.re) && Number.isFinite(z.im),
  ),
  predicate('isposinf', (self, type) => (type === 'float' ? isOf(self, Infinity) : constantOf('bool', 0)), undefined, {
    out: true,
  }),
  predicate('isneginf', (self, type) => (type === 'float' ? isOf(self, -Infinity) : constantOf('bool', 0)), undefined, {
    out: true,
  }),
  predicate(
    'isreal',
    () => constantOf('bool', 1),
    (z) => z.im === 0,
  ),
  predicate(
    'signbit',
    (self, type) =>
      type === 'float'
        ? unary('signbit', self)
        : type === 'bool'
          ? constantOf('bool', 0)
          : binary('lt', self, constantOf(type, 0)),
    undefined,
    { out: true },
  ),
];
