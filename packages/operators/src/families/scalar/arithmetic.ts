import { Tuple, type IValue, symAdd, symSub, symMul, symFloorDiv, symMod, symLt } from '@cresset/tensor';
import { OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import * as complex from './complex-arithmetic.ts';
import { floorDivide, gcd, pythonRemainder, shiftLeft, shiftRight, truncateToInt, wrap } from './int64.ts';
import { binaryNumbers } from './numbers.ts';

/** Operators on two numbers (register_prim_ops.cpp: add, sub, mul, div, floordiv, remainder, pow, …). */

const likeOperands = { int: 'int', float: 'float', scalar: 'Scalar' };
const alwaysFloat = { int: 'float', float: 'float', scalar: 'float' };

/** Python's `%` on floats: the sign of the divisor. */
function floatRemainder(a: number, b: number): number {
  const remainder = a % b;
  return (b + remainder) % b;
}

/** C++'s std::remainder: what is left of the nearest multiple, ties to even. */
function ieeeRemainder(a: number, b: number): number {
  if (!Number.isFinite(a) || b === 0 || Number.isNaN(b)) return NaN;
  if (!Number.isFinite(b)) return a;
  const divisor = Math.abs(b);
  // Twice the divisor, so that it shows whether the multiple just below is even: a tie goes to the even one.
  let rest = Math.abs(a) % (2 * divisor);
  if (rest >= divisor * 1.5) rest -= 2 * divisor;
  else if (rest > divisor / 2) rest -= divisor;
  return a < 0 ? -rest : rest;
}

function floatPower(a: number, b: number): number {
  if (a === 0 && b < 0) throw new OperatorError('0.0 cannot be raised to a negative power');
  // C++ has 1 for these two, JavaScript NaN.
  if (a === 1 || (a === -1 && Math.abs(b) === Infinity)) return 1;
  return a ** b;
}

function divideWithRemainder(x: number, y: number): Tuple {
  if (y === 0) throw new OperatorError('ZeroDivisionError: float divmod()');
  // Unlike `%`, it adds the divisor only where the signs differ: what divides by an infinity remains.
  const truncated = x % y;
  const remainder = truncated !== 0 && truncated < 0 !== y < 0 ? truncated + y : truncated;
  return new Tuple([(x - remainder) / y, remainder]);
}

function divideIntsWithRemainder(x: bigint, y: bigint): Tuple {
  if (y === 0n) {
    throw new OperatorError('ZeroDivisionError: integer division or modulo by zero');
  }
  return new Tuple([floorDivide(x, y), pythonRemainder(x, y)]);
}

/** Where one of the two is an int, PyTorch reads that as a C++ `int` and the other one as a single float. */
function mixedDivmod(x: IValue, y: IValue): Tuple {
  const [a, b] = [x, y].map((value) =>
    typeof value === 'bigint' ? Number(value & 0xffffffffn) | 0 : Math.fround(value as number),
  );
  if (b === 0) throw new OperatorError('ZeroDivisionError: float divmod()');
  const quotient = Math.floor(Math.fround(a / b));
  if (!(Math.abs(quotient) <= 2 ** 63)) {
    throw new OperatorError(`Cannot convert float ${fixedText(quotient)} to integer`);
  }
  return new Tuple([quotient, a - quotient * b]);
}

/** C's `%f` of an integral number, an infinity or a NaN. */
function fixedText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  return Number.isFinite(value) ? `${BigInt(value)}.000000` : value < 0 ? '-inf' : 'inf';
}

function copySign(a: number, b: number): number {
  const negative = b < 0 || Object.is(b, -0);
  return negative ? -Math.abs(a) : Math.abs(a);
}

const bitwise = (name: string, combine: (a: bigint, b: bigint) => bigint): OperatorRow => ({
  schema: `aten::${name}.int(int a, int b) -> int`,
  scalar: (a, b) => combine(a as bigint, b as bigint),
});

const logical = (name: string, combine: (a: boolean, b: boolean) => boolean): OperatorRow => ({
  schema: `aten::${name}.bool(bool a, bool b) -> bool`,
  scalar: (a, b) => combine(a as boolean, b as boolean),
});

export const arithmeticRows: readonly OperatorRow[] = [
  ...binaryNumbers('add', {
    int: (a, b) => wrap(a + b),
    sizes: symAdd,
    float: (a, b) => a + b,
    complex: complex.add,
    returns: likeOperands,
  }),
  ...binaryNumbers('sub', {
    int: (a, b) => wrap(a - b),
    sizes: symSub,
    float: (a, b) => a - b,
    complex: complex.subtract,
    returns: likeOperands,
  }),
  ...binaryNumbers('mul', {
    int: (a, b) => wrap(a * b),
    sizes: symMul,
    float: (a, b) => a * b,
    complex: complex.multiply,
    returns: likeOperands,
  }),
  ...binaryNumbers('div', {
    float: (a, b) => a / b,
    complex: complex.divide,
    complexOverloads: ['complex'],
    complexScalars: false,
    returns: alwaysFloat,
  }),
  ...binaryNumbers('floordiv', {
    int: floorDivide,
    float: (a, b) => Math.floor(a / b),
    sizes: (a, b) => (symLt(0, b) ? symFloorDiv(a, b) : null),
    returns: likeOperands,
  }),
  ...binaryNumbers('remainder', {
    int: pythonRemainder,
    float: floatRemainder,
    sizes: (a, b) => (symLt(0, b) ? symMod(a, b) : null),
    returns: likeOperands,
  }),
  ...binaryNumbers('fmod', { float: (a, b) => a % b, returns: alwaysFloat }),
  ...binaryNumbers('mathremainder', { float: ieeeRemainder, returns: alwaysFloat }),
  ...binaryNumbers('atan2', { float: Math.atan2, returns: alwaysFloat }, 'Scalar_Scalar'),
  ...binaryNumbers('copysign', { float: copySign, returns: alwaysFloat }),
  ...binaryNumbers(
    'pow',
    {
      float: floatPower,
      complex: complex.power,
      complexOverloads: ['complex', 'complex_float', 'float_complex'],
      complexScalars: false,
      returns: alwaysFloat,
    },
    'Scalar_Scalar',
  ),
  {
    schema: 'aten::pow.int_to_int(int a, int b) -> int',
    scalar: (a, b) => truncateToInt(floatPower(Number(a), Number(b))),
  },
  ...binaryNumbers(
    'polar',
    { float: complex.fromPolar, returns: { int: 'complex', float: 'complex', scalar: 'Scalar' } },
    'Scalar_Scalar',
  ),
  {
    schema: 'aten::divmod.int(int x, int y) -> (int, int)',
    scalar: (x, y) => divideIntsWithRemainder(x as bigint, y as bigint),
  },
  {
    schema: 'aten::divmod.float(float x, float y) -> (float, float)',
    scalar: (x, y) => divideWithRemainder(x as number, y as number),
  },
  { schema: 'aten::divmod.int_float(int x, float y) -> (float, float)', scalar: mixedDivmod },
  { schema: 'aten::divmod.float_int(float x, int y) -> (float, float)', scalar: mixedDivmod },
  { schema: 'aten::gcd.int(int a, int b) -> int', scalar: (a, b) => gcd(a as bigint, b as bigint) },
  bitwise('__and__', (a, b) => a & b),
  logical('__and__', (a, b) => a && b),
  bitwise('__or__', (a, b) => a | b),
  logical('__or__', (a, b) => a || b),
  bitwise('__xor__', (a, b) => a ^ b),
  logical('__xor__', (a, b) => a !== b),
  bitwise('__lshift__', shiftLeft),
  bitwise('__rshift__', shiftRight),
  {
    schema: 'aten::__round_to_zero_floordiv.int(int a, int b) -> int',
    scalar: (a, b) => {
      if (b === 0n) throw new OperatorError('division by 0');
      return wrap((a as bigint) / (b as bigint));
    },
  },
  {
    schema: 'aten::__derive_index(int index, int start, int step) -> int',
    scalar: (index, start, step) => wrap((start as bigint) + (index as bigint) * (step as bigint)),
  },
  {
    schema: 'aten::__range_length(int lo, int hi, int step) -> int',
    scalar: (lo, hi, step) => rangeLength(lo as bigint, hi as bigint, step as bigint),
  },
];

function rangeLength(low: bigint, high: bigint, step: bigint): bigint {
  if (step === 0n) throw new OperatorError('range() arg 3 must not be zero');
  // In 64 bits, as PyTorch counts: a range longer than an int has a negative length.
  const length = (distance: bigint, by: bigint): bigint => BigInt.asIntN(64, 1n + BigInt.asIntN(64, distance) / by);
  if (step > 0n && low < high) return length(high - 1n - low, step);
  if (step < 0n && low > high) return length(low - 1n - high, -step);
  return 0n;
}
