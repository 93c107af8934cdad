import { Tuple, type Complex } from '@cresset/tensor';
import { erf, erfc, lgamma } from '@cresset/tensorexpr';
import type { OperatorRow } from '../../table/row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { factorial } from '../scalar/int64.ts';
import { unaryNumbers } from '../scalar/numbers.ts';
import { realFunction } from '../scalar/math.ts';
import { splitExponent } from '../../kernels/split-exponent.ts';

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

const complexLogOverloads = [
  'complex_complex',
  'int_complex',
  'complex_int',
  'float_complex',
  'complex_float',
] as const;

export const mathFunctionRows: readonly OperatorRow[] = [
  ...realFunction('asin', Math.asin, complex.asin),
  ...realFunction('acos', Math.acos, complex.acos),
  ...realFunction('atan', Math.atan, complex.atan),
  ...realFunction('sinh', Math.sinh, complex.sinh),
  ...realFunction('cosh', Math.cosh, complex.cosh),
  ...realFunction('asinh', Math.asinh, complex.asinh),
  ...realFunction('acosh', Math.acosh, complex.acosh),
  ...realFunction('atanh', Math.atanh, complex.atanh),
  ...realFunction('erf', erf),
  ...realFunction('erfc', erfc),
  ...realFunction('gamma', gamma),
  ...realFunction('lgamma', lgamma),
  ...realFunction('fabs', Math.abs),
  ...realFunction('degrees', (a) => (a * 180) / Math.PI),
  ...realFunction('radians', (a) => (a * Math.PI) / 180),
  ...unaryNumbers('angle', {
    int: (a) => (a < 0n ? Math.PI : 0),
    float: (a) => (Number.isNaN(a) ? a : a < 0 ? Math.PI : 0),
    complex: complex.angle,
    returns: { int: 'float', float: 'float', complex: 'float' },
  }),
  ...complexLogOverloads.map((overload): OperatorRow => {
    const [left, right] = overload.split('_');
    return {
      schema: `aten::log.${overload}(${left} a, ${right} b) -> complex`,
      scalar: (a, b) =>
        complex.divide(
          complex.log(complex.toComplex(a as Complex | bigint | number)),
          complex.log(complex.toComplex(b as Complex | bigint | number)),
        ),
    };
  }),
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
