import { binary, constant, select, unary, type Expr } from '@cresset/tensorexpr';

/** Arithmetic and elementary functions of complex numbers as expressions: what scalar/complex-arithmetic.ts says in numbers. */
export interface ComplexExpr {
  readonly re: Expr;
  readonly im: Expr;
}

export const number = (value: number): Expr => constant('float', value);
export const complexOf = (re: Expr, im: Expr = number(0)): ComplexExpr => ({ re, im });

const plus = (x: Expr, y: Expr): Expr => binary('add', x, y);
const minus = (x: Expr, y: Expr): Expr => binary('sub', x, y);
const times = (x: Expr, y: Expr): Expr => binary('mul', x, y);
const over = (x: Expr, y: Expr): Expr => binary('div', x, y);

const zero = number(0);
export const one = complexOf(number(1));

export const add = (a: ComplexExpr, b: ComplexExpr): ComplexExpr => complexOf(plus(a.re, b.re), plus(a.im, b.im));
export const subtract = (a: ComplexExpr, b: ComplexExpr): ComplexExpr =>
  complexOf(minus(a.re, b.re), minus(a.im, b.im));
export const negate = (a: ComplexExpr): ComplexExpr => complexOf(unary('neg', a.re), unary('neg', a.im));
export const conjugate = (a: ComplexExpr): ComplexExpr => complexOf(a.re, unary('neg', a.im));
export const scaled = (a: ComplexExpr, factor: Expr): ComplexExpr =>
  complexOf(times(a.re, factor), times(a.im, factor));
const timesI = (a: ComplexExpr): ComplexExpr => complexOf(unary('neg', a.im), a.re);
const timesMinusI = (a: ComplexExpr): ComplexExpr => complexOf(a.im, unary('neg', a.re));

export const multiply = (a: ComplexExpr, b: ComplexExpr): ComplexExpr =>
  complexOf(minus(times(a.re, b.re), times(a.im, b.im)), plus(times(a.re, b.im), times(a.im, b.re)));

export const choose = (condition: Expr, a: ComplexExpr, b: ComplexExpr): ComplexExpr =>
  complexOf(select(condition, a.re, b.re), select(condition, a.im, b.im));

const isZero = (a: ComplexExpr): Expr => binary('and', binary('eq', a.re, zero), binary('eq', a.im, zero));

/** Scales by the larger part of the divisor, so that neither square overflows. */
export function divide(a: ComplexExpr, b: ComplexExpr): ComplexExpr {
  const isWide = binary('ge', unary('abs', b.re), unary('abs', b.im));
  const ratio = select(isWide, over(b.im, b.re), over(b.re, b.im));
  const scale = select(isWide, plus(b.re, times(b.im, ratio)), plus(times(b.re, ratio), b.im));
  const re = select(isWide, plus(a.re, times(a.im, ratio)), plus(times(a.re, ratio), a.im));
  const im = select(isWide, minus(a.im, times(a.re, ratio)), minus(times(a.im, ratio), a.re));
  return choose(isZero(b), complexOf(over(a.re, b.re), over(a.im, b.re)), complexOf(over(re, scale), over(im, scale)));
}

export const magnitude = (a: ComplexExpr): Expr => binary('hypot', a.re, a.im);
export const angle = (a: ComplexExpr): Expr => binary('atan2', a.im, a.re);

export const fromPolar = (radius: Expr, phase: Expr): ComplexExpr =>
  complexOf(times(radius, unary('cos', phase)), times(radius, unary('sin', phase)));

export const exp = (a: ComplexExpr): ComplexExpr => fromPolar(unary('exp', a.re), a.im);
export const log = (a: ComplexExpr): ComplexExpr => complexOf(unary('log', magnitude(a)), angle(a));

export function sqrt(a: ComplexExpr): ComplexExpr {
  const half = unary('sqrt', times(plus(magnitude(a), unary('abs', a.re)), number(0.5)));
  const other = over(unary('abs', a.im), times(number(2), half));
  const isRight = binary('ge', a.re, zero);
  const root = complexOf(select(isRight, half, other), binary('copysign', select(isRight, other, half), a.im));
  return choose(binary('eq', half, zero), complexOf(zero, a.im), root);
}

export function power(a: ComplexExpr, b: ComplexExpr): ComplexExpr {
  const [infinity, notANumber] = [number(Infinity), number(NaN)];
  const [isRising, isFalling] = [binary('gt', b.re, zero), binary('lt', b.re, zero)];
  const ofZero = complexOf(
    select(isRising, zero, select(isFalling, infinity, select(binary('eq', b.im, zero), number(1), notANumber))),
    select(binary('or', isRising, isZero(b)), zero, notANumber),
  );
  return choose(isZero(a), ofZero, exp(multiply(b, log(a))));
}

export const sinh = (a: ComplexExpr): ComplexExpr =>
  complexOf(times(unary('sinh', a.re), unary('cos', a.im)), times(unary('cosh', a.re), unary('sin', a.im)));
export const cosh = (a: ComplexExpr): ComplexExpr =>
  complexOf(times(unary('cosh', a.re), unary('cos', a.im)), times(unary('sinh', a.re), unary('sin', a.im)));

export function tanh(a: ComplexExpr): ComplexExpr {
  const twice = scaled(a, number(2));
  const scale = plus(unary('cosh', twice.re), unary('cos', twice.im));
  // Past this the hyperbolic functions overflow while their ratio has long been one.
  const isFar = binary('gt', unary('abs', a.re), number(40));
  return choose(
    isFar,
    complexOf(unary('sign', a.re)),
    complexOf(over(unary('sinh', twice.re), scale), over(unary('sin', twice.im), scale)),
  );
}

export const sin = (a: ComplexExpr): ComplexExpr => timesMinusI(sinh(timesI(a)));
export const cos = (a: ComplexExpr): ComplexExpr => cosh(timesI(a));
export const tan = (a: ComplexExpr): ComplexExpr => timesMinusI(tanh(timesI(a)));
export const sigmoid = (a: ComplexExpr): ComplexExpr => divide(one, add(one, exp(negate(a))));

export const equal = (a: ComplexExpr, b: ComplexExpr): Expr =>
  binary('and', binary('eq', a.re, b.re), binary('eq', a.im, b.im));
export const truth = (a: ComplexExpr): Expr => unary('not', isZero(a));
export const sign = (a: ComplexExpr): ComplexExpr => choose(isZero(a), a, scaled(a, over(number(1), magnitude(a))));
