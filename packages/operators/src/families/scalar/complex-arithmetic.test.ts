import { Complex } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import * as complex from './complex-arithmetic.ts';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

/** Each line: function, argument, result as PyTorch has it of complex128. */
const extremes: readonly (readonly [(a: Complex) => Complex, readonly [number, number], readonly [number, number]])[] =
  [
    [complex.exp, [inf, inf], [inf, nan]],
    [complex.exp, [-inf, nan], [0, 0]],
    [complex.exp, [nan, 0], [nan, 0]],
    [complex.exp, [710, inf], [nan, nan]],
    [complex.expm1, [inf, 0], [inf, nan]],
    [complex.log1p, [inf, nan], [nan, nan]],
    [complex.log1p, [-1.5, -0], [-Math.LN2, -Math.PI]],
    [complex.sqrt, [nan, inf], [inf, inf]],
    [complex.sqrt, [-inf, 1.5], [0, inf]],
    [complex.sin, [inf, inf], [nan, inf]],
    [complex.cos, [inf, inf], [inf, nan]],
    [complex.sinh, [0, inf], [0, nan]],
    [complex.cosh, [nan, 0], [nan, 0]],
    [complex.tanh, [inf, inf], [1, 0]],
    [complex.tanh, [710, inf], [nan, nan]],
    [complex.asin, [0, nan], [0, nan]],
    [complex.asin, [inf, 1.5], [Math.PI / 2, inf]],
    [complex.acos, [inf, inf], [Math.PI / 4, -inf]],
    [complex.acos, [-inf, 1.5], [Math.PI, -inf]],
    [complex.asinh, [nan, 0], [nan, 0]],
    [complex.acosh, [-inf, -inf], [inf, -0.75 * Math.PI]],
    [complex.atanh, [inf, 1.5], [0, Math.PI / 2]],
    [complex.atan, [1e200, 1], [Math.PI / 2, 0]],
  ];

/** Zeros of both signs are one. */
const rounded = (...parts: readonly number[]): number[] => parts.map((part) => Number(part.toFixed(12)) + 0);

describe('complex functions', () => {
  it.each(extremes.map((extreme) => [extreme[0].name, ...extreme] as const))(
    '%s %#',
    (_, fn, [re, im], [wantRe, wantIm]) => {
      const result = fn(new Complex(re, im));
      expect(rounded(result.re, result.im)).toEqual(rounded(wantRe, wantIm));
    },
  );

  it('of small and large numbers lose no digits', () => {
    expect(complex.expm1(new Complex(1e-12, 0)).re).toBeCloseTo(1e-12, 23);
    expect(complex.log1p(new Complex(1e-12, 0)).re).toBeCloseTo(1e-12, 23);
    expect(complex.asinh(new Complex(-800, 0)).re).toBeCloseTo(-7.377759298852644, 12);
    expect(complex.acosh(new Complex(-1.5, -0)).re).toBeCloseTo(0.9624236501192069, 14);
  });

  it.each([
    [
      [-1, 0],
      [inf, nan],
    ],
    [
      [-0.5, 2],
      [inf, nan],
    ],
    [
      [2, 0],
      [0, 0],
    ],
    [
      [0, 0],
      [1, 0],
    ],
    [
      [0, 1],
      [nan, nan],
    ],
  ])('zero to the power of %j', ([re, im], result) => {
    const { re: x, im: y } = complex.power(new Complex(0, 0), new Complex(re, im));
    expect([x, y]).toEqual(result);
  });
});
