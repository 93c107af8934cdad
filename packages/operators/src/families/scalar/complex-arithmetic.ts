import { Complex } from '@cresset/tensor';

/** Arithmetic and elementary functions of complex numbers (c10::complex, C++'s branch cuts). */

export function toComplex(value: Complex | bigint | number): Complex {
  return value instanceof Complex ? value : new Complex(Number(value), 0);
}

export function add(a: Complex, b: Complex): Complex {
  return new Complex(a.re + b.re, a.im + b.im);
}

export function subtract(a: Complex, b: Complex): Complex {
  return new Complex(a.re - b.re, a.im - b.im);
}

export function multiply(a: Complex, b: Complex): Complex {
  return new Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

/** The product with a real number, which leaves the signs of zeros and infinities alone. */
export function scale(a: Complex, factor: number): Complex {
  return new Complex(a.re * factor, a.im * factor);
}

/** Scales by the larger part of the divisor, so that neither square overflows. */
export function divide(a: Complex, b: Complex): Complex {
  if (Math.abs(b.re) >= Math.abs(b.im)) {
    if (b.re === 0 && b.im === 0) return new Complex(a.re / 0, a.im / 0);
    const ratio = b.im / b.re;
    const scale = b.re + b.im * ratio;
    return new Complex((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale);
  }
  const ratio = b.re / b.im;
  const scale = b.re * ratio + b.im;
  return new Complex((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale);
}

export function negate(a: Complex): Complex {
  return new Complex(-a.re, -a.im);
}

export function magnitude(a: Complex): number {
  return Math.hypot(a.re, a.im);
}

export function angle(a: Complex): number {
  return Math.atan2(a.im, a.re);
}

export function fromPolar(radius: number, phase: number): Complex {
  return new Complex(radius * Math.cos(phase), radius * Math.sin(phase));
}

const isInfinite = (a: number): boolean => Math.abs(a) === Infinity;
const copySign = (size: number, sign: number): number => (sign < 0 || Object.is(sign, -0) ? -size : size);

/**
 * `re`·cos(phase) + i·`im`·sin(phase), where `re` and `im` grow as e to the `x`. An exact zero makes a product zero whatever it is
 * multiplied with, and infinities without a direction stay infinite (C, Annex G).
 */
function rotated(x: number, re: number, im: number, phase: number): Complex {
  if (isInfinite(x) && !Number.isFinite(phase)) return new Complex(Math.abs(re), re === 0 ? 0 : NaN);
  const times = (size: number, direction: number): number => {
    const isZero = (x === 0 && size === 0) || (phase === 0 && direction === 0);
    return isZero && !Number.isFinite(size * direction) ? 0 : size * direction;
  };
  return new Complex(times(re, Math.cos(phase)), times(im, Math.sin(phase)));
}

export function exp(a: Complex): Complex {
  const size = Math.exp(a.re);
  return rotated(a.re, size, size, a.im);
}

/** eᶻ − 1 without cancellation near 0; of infinities it gives NaN, as c10's does. */
export function expm1({ re, im }: Complex): Complex {
  return new Complex(Math.expm1(re) * Math.cos(im) - 2 * Math.sin(im / 2) ** 2, Math.exp(re) * Math.sin(im));
}

/** log(1 + z) without cancellation near 0. */
export function log1p(a: Complex): Complex {
  const { re, im } = a;
  if (Number.isNaN(re) || Number.isNaN(im)) return new Complex(NaN, NaN);
  const radius = magnitude(a) < 0.5 ? Math.log1p(re * (2 + re) + im * im) / 2 : Math.log(Math.hypot(re + 1, im));
  return new Complex(radius, Math.atan2(im, re + 1));
}

export function log(a: Complex): Complex {
  return new Complex(Math.log(magnitude(a)), angle(a));
}

export function sqrt(a: Complex): Complex {
  if (isInfinite(a.im)) return new Complex(Infinity, a.im);
  const radius = magnitude(a);
  const re = radius > 1e300 ? Math.sqrt(radius / 2 + Math.abs(a.re) / 2) : Math.sqrt((radius + Math.abs(a.re)) / 2);
  if (re === 0) return new Complex(0, a.im);
  const im = Math.abs(a.im) / (2 * re);
  return a.re >= 0 || Number.isNaN(a.re) ? new Complex(re, copySign(im, a.im)) : new Complex(im, copySign(re, a.im));
}

export function power(a: Complex, b: Complex): Complex {
  if (a.re !== 0 || a.im !== 0) return exp(multiply(b, log(a)));
  if (b.re > 0) return new Complex(0, 0);
  if (b.re < 0) return new Complex(Infinity, NaN);
  return b.im === 0 ? new Complex(1, 0) : new Complex(NaN, NaN);
}

export function sinh(a: Complex): Complex {
  return rotated(a.re, Math.sinh(a.re), Math.cosh(a.re), a.im);
}

export function cosh(a: Complex): Complex {
  return rotated(a.re, Math.cosh(a.re), Math.sinh(a.re), a.im);
}

export function tanh(a: Complex): Complex {
  // Past this the hyperbolic functions overflow while their ratio has long been one.
  if (isInfinite(a.re) || (Math.abs(a.re) > 350 && Number.isFinite(a.im))) return new Complex(Math.sign(a.re), 0);
  const scale = Math.cosh(2 * a.re) + Math.cos(2 * a.im);
  return new Complex(a.re === 0 ? a.re : Math.sinh(2 * a.re) / scale, a.im === 0 ? a.im : Math.sin(2 * a.im) / scale);
}

const timesI = (a: Complex): Complex => new Complex(-a.im, a.re);
const timesMinusI = (a: Complex): Complex => new Complex(a.im, -a.re);
const one = new Complex(1, 0);

export function sin(a: Complex): Complex {
  return timesI(sinh(timesMinusI(a)));
}

export function cos(a: Complex): Complex {
  return cosh(timesI(a));
}

export function tan(a: Complex): Complex {
  return timesMinusI(tanh(timesI(a)));
}

/**
 * The inverse functions go by the formulas of Kahan ("Branch Cuts for Complex Elementary Functions", 1987), which cancel nowhere; of
 * infinities they say what C's Annex G says.
 */
const anyInfinite = (a: Complex): boolean => isInfinite(a.re) || isInfinite(a.im);
const conjugate = (a: Complex): Complex => new Complex(a.re, -a.im);
const plus = (a: Complex, value: number): Complex => new Complex(a.re + value, a.im);

export function asinh(a: Complex): Complex {
  return timesMinusI(asin(timesI(a)));
}

export function acosh(a: Complex): Complex {
  if (anyInfinite(a)) return new Complex(Infinity, angle(a));
  const [below, above] = [sqrt(plus(a, -1)), sqrt(plus(a, 1))];
  return new Complex(
    Math.asinh(multiply(conjugate(below), above).re),
    a.re === 0 ? copySign(Math.PI / 2, a.im) : 2 * Math.atan2(below.im, above.re),
  );
}

export function asin(a: Complex): Complex {
  if (anyInfinite(a)) {
    return new Complex(copySign(Math.atan2(Math.abs(a.re), Math.abs(a.im)), a.re), copySign(Infinity, a.im));
  }
  const [below, above] = [sqrt(plus(negate(a), 1)), sqrt(plus(a, 1))];
  return new Complex(
    a.re === 0 ? a.re : Math.atan2(a.re, multiply(below, above).re),
    Math.asinh(multiply(conjugate(below), above).im),
  );
}

export function acos(a: Complex): Complex {
  if (anyInfinite(a)) return new Complex(Math.abs(angle(a)), -copySign(Infinity, a.im));
  const [below, above] = [sqrt(plus(negate(a), 1)), sqrt(plus(a, 1))];
  return new Complex(
    a.re === 0 ? Math.PI / 2 : 2 * Math.atan2(below.re, above.re),
    Math.asinh(multiply(conjugate(above), below).im),
  );
}

export function atanh(a: Complex): Complex {
  const { re: x, im: y } = a;
  if (anyInfinite(a))
    return new Complex(copySign(0, x), isInfinite(y) || !Number.isNaN(y) ? copySign(Math.PI / 2, y) : y);
  if (Math.max(Math.abs(x), Math.abs(y)) > 1e150) {
    const { re } = divide(one, a);
    return new Complex(re, copySign(Math.PI / 2, y));
  }
  const distance = (1 - x) * (1 - x) + y * y;
  return new Complex(
    x === 0 ? x : Math.log1p((4 * x) / distance) / 4,
    y === 0 && Math.abs(x) <= 1 ? y : Math.atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2,
  );
}

export function atan(a: Complex): Complex {
  return timesMinusI(atanh(timesI(a)));
}
