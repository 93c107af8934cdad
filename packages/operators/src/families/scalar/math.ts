import { formatFloat } from '@cresset/ir';
import { Complex } from '@cresset/tensor';
import { erf, erfc, lgamma, roundToEven } from '@cresset/tensorexpr';
import { OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import * as complex from './complex-arithmetic.ts';
import { truncateToInt, wrap } from './int64.ts';
import { requireReal, unaryNumbers, type UnaryNumbers } from './numbers.ts';

/** Functions of one number, and what Python's `math` has (register_prim_ops.cpp, register_special_ops.cpp). */

const floatResult = { int: 'float', float: 'float' };

/** A function that gives a float for ints and floats and, where PyTorch has it, a complex number for complex ones. */
export function realFunction(
  name: string,
  float: (a: number) => number,
  ofComplex?: (a: Complex) => Complex,
): OperatorRow[] {
  const operator: UnaryNumbers = { float, returns: floatResult, ...(ofComplex && { complex: ofComplex }) };
  return unaryNumbers(name, operator);
}

/** A function whose result is an int. */
function toIntFunction(name: string, round: (a: number) => number): OperatorRow[] {
  return unaryNumbers(name, {
    int: (a) => a,
    float: (a) => {
      if (!(Math.abs(a) < 2 ** 63) && a !== -(2 ** 63)) {
        throw new OperatorError(
          `Cannot convert float ${Number.isFinite(a) ? `${BigInt(a)}.000000` : formatFloat(a)} to integer`,
        );
      }
      return truncateToInt(round(a));
    },
    returns: { int: 'int', float: 'int' },
  });
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
  ...realFunction('log10', Math.log10, (a) => complex.scale(complex.log(a), Math.LOG10E)),
  ...realFunction('sin', Math.sin, complex.sin),
  ...realFunction('cos', Math.cos, complex.cos),
  ...realFunction('tan', Math.tan, complex.tan),
  ...realFunction('tanh', Math.tanh, complex.tanh),
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
  ...realFunction('lgamma', lgamma),
  ...unaryNumbers('angle', {
    int: (a) => (a < 0n ? Math.PI : 0),
    float: (a) => (Number.isNaN(a) ? a : a < 0 ? Math.PI : 0),
    complex: complex.angle,
    returns: { int: 'float', float: 'float', complex: 'float' },
  }),
  ...logOverloads.map(([overload, left, right]): OperatorRow => ({
    schema: `aten::log.${overload}(${left} a, ${right} b) -> float`,
    scalar: (a, b) => baseLogarithm(requireReal(a), requireReal(b)),
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
