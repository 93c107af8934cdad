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

export function exp(a: Complex): Complex {
  return fromPolar(Math.exp(a.re), a.im);
}

export function log(a: Complex): Complex {
  return new Complex(Math.log(magnitude(a)), angle(a));
}

export function sqrt(a: Complex): Complex {
  const radius = magnitude(a);
  const re = Math.sqrt((radius + Math.abs(a.re)) / 2);
  if (re === 0) return new Complex(0, a.im);
  const im = Math.abs(a.im) / (2 * re);
  const sign = a.im < 0 || Object.is(a.im, -0) ? -1 : 1;
  return a.re >= 0 ? new Complex(re, sign * im) : new Complex(im, sign * re);
}

export function power(a: Complex, b: Complex): Complex {
  if (a.re === 0 && a.im === 0) return b.re === 0 && b.im === 0 ? new Complex(1, 0) : new Complex(0, 0);
  return exp(multiply(b, log(a)));
}

export function sinh(a: Complex): Complex {
  return new Complex(Math.sinh(a.re) * Math.cos(a.im), Math.cosh(a.re) * Math.sin(a.im));
}

export function cosh(a: Complex): Complex {
  return new Complex(Math.cosh(a.re) * Math.cos(a.im), Math.sinh(a.re) * Math.sin(a.im));
}

export function tanh(a: Complex): Complex {
  const scale = Math.cosh(2 * a.re) + Math.cos(2 * a.im);
  // Past this the hyperbolic functions overflow while their ratio has long been one.
  if (Math.abs(a.re) > 350) return new Complex(Math.sign(a.re), 0);
  return new Complex(Math.sinh(2 * a.re) / scale, Math.sin(2 * a.im) / scale);
}

const timesI = (a: Complex): Complex => new Complex(-a.im, a.re);
const timesMinusI = (a: Complex): Complex => new Complex(a.im, -a.re);
const one = new Complex(1, 0);

export function sin(a: Complex): Complex {
  return timesMinusI(sinh(timesI(a)));
}

export function cos(a: Complex): Complex {
  return cosh(timesI(a));
}

export function tan(a: Complex): Complex {
  return timesMinusI(tanh(timesI(a)));
}

export function asinh(a: Complex): Complex {
  return log(add(a, sqrt(add(multiply(a, a), one))));
}

export function acosh(a: Complex): Complex {
  return log(add(a, multiply(sqrt(add(a, one)), sqrt(subtract(a, one)))));
}

export function atanh(a: Complex): Complex {
  const difference = subtract(log(add(one, a)), log(subtract(one, a)));
  return new Complex(difference.re / 2, difference.im / 2);
}

export function asin(a: Complex): Complex {
  return timesMinusI(asinh(timesI(a)));
}

export function acos(a: Complex): Complex {
  const { re, im } = asin(a);
  return new Complex(Math.PI / 2 - re, -im);
}

export function atan(a: Complex): Complex {
  return timesMinusI(atanh(timesI(a)));
}
