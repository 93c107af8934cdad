import { Complex, Tuple } from '@cresset/tensor';
import { erf, erfc, lgamma, roundToEven } from '@cresset/tensorexpr';
import type { OperatorRow } from '../row.ts';
import * as complex from './complex-arithmetic.ts';
import { factorial, truncateToInt, wrap } from './int64.ts';
import { unaryNumbers, type UnaryNumbers } from './numbers.ts';

/** Functions of one number, and what Python's `math` has (register_prim_ops.cpp, register_special_ops.cpp). */

const floatResult = { int: 'float', float: 'float' };

/** A function that gives a float for ints and floats and, where PyTorch has it, a complex number for complex ones. */
function realFunction(name: string, float: (a: number) => number, ofComplex?: (a: Complex) => Complex): OperatorRow[] {
  const operator: UnaryNumbers = { float, returns: floatResult, ...(ofComplex && { complex: ofComplex }) };
  return unaryNumbers(name, operator);
}

/** A function whose result is an int. */
function toIntFunction(name: string, round: (a: number) => number): OperatorRow[] {
  return unaryNumbers(name, {
    int: (a) => a,
    float: (a) => truncateToInt(round(a)),
    returns: { int: 'int', float: 'int' },
  });
}

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

/** Splits into a fraction in [0.5, 1) and a power of two (C's frexp). */
function splitExponent(a: number): Tuple {
  if (a === 0 || !Number.isFinite(a)) return new Tuple([a, 0n]);
  let exponent = Math.max(-1023, Math.floor(Math.log2(Math.abs(a))) + 1);
  let fraction = a * 2 ** -exponent;
  while (Math.abs(fraction) < 0.5) {
    fraction *= 2;
    exponent--;
  }
  while (Math.abs(fraction) >= 1) {
    fraction /= 2;
    exponent++;
  }
  return new Tuple([fraction, BigInt(exponent)]);
}

const baseLogarithm = (a: number, base: number): number => Math.log(a) / Math.log(base);
const logOverloads = [
  ['int_int', 'int', 'int'],
  ['float_float', 'float', 'float'],
  ['int_float', 'int', 'float'],
  ['float_int', 'float', 'int'],
  ['Scalar_Scalar', 'Scalar', 'Scalar'],
] as const;
const complexLogOverloads = [
  'complex_complex',
  'int_complex',
  'complex_int',
  'float_complex',
  'complex_float',
] as const;

function predicate(name: string, test: (a: number) => boolean, combine: 'some' | 'every'): OperatorRow[] {
  return [
    { schema: `aten::${name}.float(float a) -> bool`, scalar: (a) => test(a as number) },
    {
      schema: `aten::${name}.complex(complex a) -> bool`,
      scalar: (a) => [(a as Complex).re, (a as Complex).im][combine](test),
    },
  ];
}

export const mathRows: readonly OperatorRow[] = [
  ...unaryNumbers('neg', {
    int: (a) => wrap(-a),
    float: (a) => -a,
    complex: complex.negate,
    returns: { int: 'int', float: 'float' },
  }),
  ...toIntFunction('floor', Math.floor),
  ...toIntFunction('ceil', Math.ceil),
  ...realFunction('round', roundToEven),
  ...realFunction('sqrt', Math.sqrt, complex.sqrt),
  ...realFunction('exp', Math.exp, complex.exp),
  ...realFunction('expm1', Math.expm1),
  ...realFunction('log', Math.log, complex.log),
  ...realFunction('log1p', Math.log1p),
  ...realFunction('log10', Math.log10, (a) => complex.divide(complex.log(a), new Complex(Math.LN10, 0))),
  ...realFunction('sin', Math.sin, complex.sin),
  ...realFunction('cos', Math.cos, complex.cos),
  ...realFunction('tan', Math.tan, complex.tan),
  ...realFunction('asin', Math.asin, complex.asin),
  ...realFunction('acos', Math.acos, complex.acos),
  ...realFunction('atan', Math.atan, complex.atan),
  ...realFunction('sinh', Math.sinh, complex.sinh),
  ...realFunction('cosh', Math.cosh, complex.cosh),
  ...realFunction('tanh', Math.tanh, complex.tanh),
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
  ...logOverloads.map(([overload, left, right]): OperatorRow => ({
    schema: `aten::log.${overload}(${left} a, ${right} b) -> float`,
    scalar: (a, b) => baseLogarithm(Number(a), Number(b)),
  })),
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
  { schema: 'aten::frexp(float a) -> (float, int)', scalar: (a) => splitExponent(a as number) },
  { schema: 'aten::ldexp(float x, int i) -> float', scalar: (x, i) => (x as number) * 2 ** Number(i) },
  ...predicate('isnan', Number.isNaN, 'some'),
  ...predicate('isinf', (a) => Math.abs(a) === Infinity, 'some'),
  ...predicate('isfinite', Number.isFinite, 'every'),
  { schema: 'prim::abs.int(int a) -> int', scalar: (a) => wrap((a as bigint) < 0n ? -(a as bigint) : (a as bigint)) },
  { schema: 'prim::abs.float(float a) -> float', scalar: (a) => Math.abs(a as number) },
  { schema: 'prim::abs.complex(complex a) -> float', scalar: (a) => complex.magnitude(a as Complex) },
  {
    schema: 'prim::abs.Scalar(Scalar a) -> Scalar',
    scalar: (a) => {
      if (a instanceof Complex) return complex.magnitude(a);
      return typeof a === 'bigint' ? wrap(a < 0n ? -a : a) : Math.abs(a as number);
    },
  },
];
