import { Tuple } from '@cresset/tensor';
import { lgamma } from '@cresset/tensorexpr';
import { OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { wrap } from '../scalar/int64.ts';
import { realFunction } from '../scalar/math.ts';
import { splitExponent } from '../../kernels/numbers/split-exponent.ts';

/** Functions of one number that models rarely compute outside tensors (register_prim_ops.cpp, register_special_ops.cpp). */

/** Γ(x): exact for small whole numbers, elsewhere through its logarithm. */
function gamma(x: number): number {
  if (Number.isInteger(x)) {
    if (x <= 0) return x === 0 ? 1 / x : NaN;
    if (x <= 171) {
      let product = 1;
      for (let factor = 2; factor < x; factor++) product *= factor;
      return product;
    }
  }
  const sign = x < 0 && Math.floor(x) % 2 !== 0 ? -1 : 1;
  return sign * Math.exp(lgamma(x));
}

function factorial(n: bigint): bigint {
  if (n < 0n) throw new OperatorError('factorial() not defined for negative values');
  let product = 1n;
  for (let factor = 2n; factor <= n; factor++) product = wrap(product * factor);
  return product;
}

export const mathFunctionRows: readonly OperatorRow[] = [
  ...realFunction('gamma', gamma),
  ...realFunction('fabs', Math.abs),
  ...realFunction('degrees', (a) => (a * 180) / Math.PI),
  ...realFunction('radians', (a) => (a * Math.PI) / 180),
  { schema: 'aten::factorial.int(int a) -> int', scalar: (a) => factorial(a as bigint) },
  {
    schema: 'aten::modf(float a) -> (float, float)',
    scalar: (a) => {
      const whole = Math.trunc(a as number);
      return new Tuple([Number.isFinite(a as number) ? (a as number) - whole : 0, whole]);
    },
  },
  {
    schema: 'aten::frexp(float a) -> (float, int)',
    scalar: (a) => {
      const { mantissa, exponent } = splitExponent(a as number);
      return new Tuple([mantissa, BigInt(exponent)]);
    },
  },
  { schema: 'aten::ldexp(float x, int i) -> float', scalar: (x, i) => (x as number) * 2 ** Number(i) },
];
