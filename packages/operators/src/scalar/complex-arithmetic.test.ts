import { Complex } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import * as complex from './complex-arithmetic.ts';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

/** Each line: function, argument, result as PyTorch has it of complex128. */
const extremes: readonly (readonly [keyof typeof complex, readonly [number, number], readonly [number, number]])[] = [
  ['exp', [inf, inf], [inf, nan]],
  ['exp', [-inf, nan], [0, 0]],
  ['exp', [nan, 0], [nan, 0]],
  ['exp', [710, inf], [nan, nan]],
  ['expm1', [inf, 0], [inf, nan]],
  ['log1p', [inf, nan], [nan, nan]],
  ['log1p', [-1.5, -0], [-Math.LN2, -Math.PI]],
  ['sqrt', [nan, inf], [inf, inf]],
  ['sqrt', [-inf, 1.5], [0, inf]],
  ['sin', [inf, inf], [nan, inf]],
  ['cos', [inf, inf], [inf, nan]],
  ['sinh', [0, inf], [0, nan]],
  ['cosh', [nan, 0], [nan, 0]],
  ['tanh', [inf, inf], [1, 0]],
  ['tanh', [710, inf], [nan, nan]],
  ['asin', [0, nan], [0, nan]],
  ['asin', [inf, 1.5], [Math.PI / 2, inf]],
  ['acos', [inf, inf], [Math.PI / 4, -inf]],
  ['acos', [-inf, 1.5], [Math.PI, -inf]],
  ['asinh', [nan, 0], [nan, 0]],
  ['acosh', [-inf, -inf], [inf, -0.75 * Math.PI]],
  ['atanh', [inf, 1.5], [0, Math.PI / 2]],
  ['atan', [1e200, 1], [Math.PI / 2, 0]],
];

/** Zeros of both signs are one. */
const rounded = (...parts: readonly number[]): number[] => parts.map((part) => Number(part.toFixed(12)) + 0);

describe('complex functions', () => {
  it.each(extremes)('%s of %j', (name, [re, im], [wantRe, wantIm]) => {
    const result = (complex[name] as (a: Complex) => Complex)(new Complex(re, im));
    expect(rounded(result.re, result.im)).toEqual(rounded(wantRe, wantIm));
  });

  it('of small and large numbers lose no digits', () => {
    expect(complex.expm1(new Complex(1e-12, 0)).re).toBeCloseTo(1e-12, 23);
    expect(complex.log1p(new Complex(1e-12, 0)).re).toBeCloseTo(1e-12, 23);
    expect(complex.asinh(new Complex(-800, 0)).re).toBeCloseTo(-7.377759298852644, 12);
    expect(complex.acosh(new Complex(-1.5, -0)).re).toBeCloseTo(0.9624236501192069, 14);
  });
});
