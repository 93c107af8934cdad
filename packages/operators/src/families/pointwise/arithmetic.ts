import { isComplex, isFloatingPoint, isIntegral, Complex, type ScalarType } from '@cresset/tensor';
import { binary, cast, constant, select, unary, type BinaryFunction, type Expr } from '@cresset/tensorexpr';
import { pointwise, type Forms } from '../../table/builders.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { cppTypeName } from '../../kernels/type-names.ts';
import type { OperatorRow, PointwiseArguments, PointwiseRule } from '../../table/row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { dtypeName, toFloating } from '../../kernels/type-promotion.ts';

/** Arithmetic of two or three tensors and numbers (ATen/native/BinaryOps.cpp, PointwiseOps.cpp, Pow.cpp, Lerp.cpp). */

/** Rows of an operator that takes a tensor and a tensor or a number. */
function binaryRows(name: string, rule: PointwiseRule, tensorForms: Forms = {}): OperatorRow[] {
  return [
    pointwise(`aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, ...tensorForms }),
    pointwise(`aten::${name}.Scalar(Tensor self, Scalar other) -> Tensor`, rule),
  ];
}

// On bool, `+` is or and `*` is and.
const plus = (x: Expr, y: Expr): Expr => binary(x.type === 'bool' ? 'or' : 'add', x, y);
const times = (x: Expr, y: Expr): Expr => binary(x.type === 'bool' ? 'and' : 'mul', x, y);

/** Whether a Scalar argument is known to be a value: then it may as well be left out of the kernel. */
/** One that is to stay open is not asked. */
const isNumber = (expr: Expr, value: number): boolean =>
  expr.kind === 'param' && !expr.open && Number(expr.value) === value;

/** `x` times a factor that takes no part in promotion. */
export const scaled = (x: Expr, factor: Expr): Expr => (isNumber(factor, 1) ? x : times(x, cast(x.type, factor)));

function checkAlpha(dtype: ScalarType, { alpha }: PointwiseArguments): void {
  check(typeof alpha !== 'boolean' || dtype === 'bool', 'Boolean alpha only supported for Boolean results.');
  check(
    isFloatingPoint(dtype) || isComplex(dtype) || typeof alpha !== 'number',
    'For integral input tensors, argument alpha must not be a floating point number.',
  );
}

function checkSubtraction(dtype: ScalarType, args: PointwiseArguments): void {
  check(
    dtype !== 'bool',
    'Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.',
  );
  check(
    ![args.self, args.other].some((operand) => operand === true || operand === false || operand.dtype === 'bool'),
    'Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.',
  );
  checkAlpha(dtype, args);
}

/** Of sums and differences. */
const weighed = { dtype: 'promote', apart: ['alpha'] } as const;

export const addition: PointwiseRule = {
  ...weighed,
  refuses: checkAlpha,
  body: ({ self, other, alpha }) => plus(self, scaled(other, alpha)),
  complex: ({ self, other, alpha }) => complex.add(self, complex.multiply(complex.toComplex(alpha), other)),
};

const subtraction: PointwiseRule = {
  ...weighed,
  refuses: checkSubtraction,
  body: ({ self, other, alpha }) => binary('sub', self, scaled(other, alpha)),
  complex: ({ self, other, alpha }) => complex.subtract(self, complex.multiply(complex.toComplex(alpha), other)),
};

const reversedSubtraction: PointwiseRule = {
  ...weighed,
  refuses: checkSubtraction,
  body: ({ self, other, alpha }) => binary('sub', other, scaled(self, alpha)),
  complex: ({ self, other, alpha }) => complex.subtract(other, complex.multiply(complex.toComplex(alpha), self)),
};

/** Each product is rounded: of two that are too large for single precision, the difference is NaN and no infinity. */
function multiplySingle(a: Complex, b: Complex): Complex {
  const { fround } = Math;
  return new Complex(fround(a.re * b.re) - fround(a.im * b.im), fround(a.re * b.im) + fround(a.im * b.re));
}

const multiplication: PointwiseRule = {
  dtype: 'promote',
  exactOther: true,
  body: ({ self, other }) => times(self, other),
  complex: ({ self, other }, dtype) => (dtype === 'complex64' ? multiplySingle : complex.multiply)(self, other),
};

const division: PointwiseRule = {
  dtype: 'promote-to-float',
  exactOther: true,
  body: ({ self, other }) => binary('div', self, other),
  complex: ({ self, other }) => complex.divide(self, other),
};

const refusing =
  (kernel: string, ...refused: readonly ScalarType[]) =>
  (dtype: ScalarType): void => {
    if (refused.includes(dtype)) throw notImplementedFor(kernel, dtypeName(dtype));
  };

const divisionWithMode: PointwiseRule = {
  dtype: (promoted, { rounding_mode: mode }) => {
    const dtype = mode === null ? toFloating(promoted) : promoted;
    return { computing: dtype, result: dtype };
  },
  exactOther: true,
  refuses: (dtype, { rounding_mode: mode }) => {
    check(
      mode === null || mode === 'trunc' || mode === 'floor',
      `div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '${mode}'`,
    );
    if (mode !== null) refusing(`div_${mode}_cpu`, 'bool', 'complex64', 'complex128')(dtype);
  },
  body: ({ self, other, rounding_mode: mode }, type) => {
    // The quotient is rounded to its type before it is cut off: 3 / 0.3 is 10 in single precision.
    if (mode === 'trunc' && type === 'float') return unary('trunc', binary('div', self, other));
    return binary(mode === null ? 'div' : mode === 'floor' ? 'floordiv' : 'truncdiv', self, other);
  },
  complex: ({ self, other }) => complex.divide(self, other),
};

/** A function of the scalar language that bool and complex numbers are not taken for. */
const ordered = (fn: BinaryFunction, kernel: string): PointwiseRule => ({
  dtype: 'promote',
  refuses: refusing(kernel, 'bool', 'complex64', 'complex128'),
  body: ({ self, other }: PointwiseArguments) => binary(fn, self, other),
});

const remainder = ordered('remainder', 'remainder_cpu');
const floorDivision: PointwiseRule = { ...ordered('floordiv', 'div_floor_cpu'), exactOther: true };

/** Powers that PyTorch too computes without a power function. */
function powerOf(self: Expr, exponent: Expr): Expr {
  if (exponent.kind !== 'param' || exponent.type === 'bool') return binary('pow', self, exponent);
  const one = constant(self.type, self.type === 'i64' ? 1n : 1);
  const square = (): Expr => binary('mul', self, self);
  switch (Number(exponent.value)) {
    case 0:
      return one;
    case 1:
      return self;
    case 2:
      return square();
    case 3:
      return binary('mul', square(), self);
  }
  if (self.type !== 'float') return binary('pow', self, exponent);
  switch (exponent.value) {
    case 0.5:
      return unary('sqrt', self);
    case -0.5:
      return unary('rsqrt', self);
    case -1:
      return binary('div', one, self);
    case -2:
      return binary('div', one, square());
  }
  return binary('pow', self, exponent);
}

const power: PointwiseRule = {
  dtype: 'promote',
  refuses: (dtype, { exponent }) => {
    check(
      !(isIntegral(dtype, true) && typeof exponent === 'bigint' && exponent < 0n),
      'Integers to negative integer powers are not allowed.',
    );
    refusing('pow', 'bool')(dtype);
  },
  body: ({ self, exponent }) => powerOf(self, exponent),
  complex: ({ self, exponent }) => complexPower(self, exponent),
};

function complexPower(self: Complex, exponent: Complex): Complex {
  if (exponent.im !== 0 || ![1, 2, 3].includes(exponent.re)) return complex.power(self, exponent);
  let result = self;
  for (let times = 1; times < exponent.re; times++) result = complex.multiply(result, self);
  return result;
}

const inDouble: PointwiseRule = {
  ...power,
  dtype: (promoted) => {
    const dtype = isComplex(promoted) ? 'complex128' : 'float64';
    return { computing: dtype, result: dtype };
  },
};

const refuseIntegers = (_: ScalarType, { tensor1, tensor2 }: PointwiseArguments): void => {
  check(
    ![tensor1, tensor2].every(({ dtype }) => isIntegral(dtype, true)),
    'Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes.',
  );
};

function checkLerp(_dtype: ScalarType, { self, end, weight }: PointwiseArguments): void {
  const expect = (name: string, dtype: ScalarType): void =>
    check(
      self.dtype === dtype,
      () => `expected dtype ${cppTypeName(self.dtype)} for \`${name}\` but got dtype ${cppTypeName(dtype)}`,
    );
  expect('end', end.dtype);
  if (weight.dtype && weight.category !== 'zero-dim' && weight.dim !== 0) expect('weight', weight.dtype);
}

/** The form that is exact at both ends. */
function interpolation({ self, end, weight: given }: PointwiseArguments): Expr {
  const weight = cast(self.type, given);
  const difference = binary('sub', end, self);
  const fromStart = binary('add', self, binary('mul', weight, difference));
  const fromEnd = binary('sub', end, binary('mul', difference, binary('sub', constant('float', 1), weight)));
  return select(binary('lt', unary('abs', weight), constant('float', 0.5)), fromStart, fromEnd);
}

const lerp: PointwiseRule = {
  dtype: 'promote',
  apart: ['weight'],
  refuses: (dtype, args) => {
    refusing('lerp_kernel', 'bool', 'uint8', 'int8', 'int16', 'int32', 'int64')(dtype);
    checkLerp(dtype, args);
  },
  body: interpolation,
  complex: ({ self, end, weight }) =>
    complex.add(self, complex.multiply(complex.toComplex(weight), complex.subtract(end, self))),
};

const addcmul: PointwiseRule = {
  dtype: 'promote',
  apart: ['value'],
  refuses: refusing('addcmul_cpu_out', 'bool'),
  body: ({ self, tensor1, tensor2, value }) => plus(self, scaled(times(tensor1, tensor2), value)),
  complex: ({ self, tensor1, tensor2, value }) =>
    complex.add(self, complex.multiply(complex.toComplex(value), complex.multiply(tensor1, tensor2))),
};

const addcdiv: PointwiseRule = {
  dtype: 'promote',
  apart: ['value'],
  refuses: refuseIntegers,
  body: ({ self, tensor1, tensor2, value }) => plus(self, binary('div', scaled(tensor1, value), tensor2)),
  complex: ({ self, tensor1, tensor2, value }) =>
    complex.add(self, complex.divide(complex.multiply(complex.toComplex(value), tensor1), tensor2)),
};

export const arithmeticRows: readonly OperatorRow[] = [
  pointwise('aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor', addition),
  pointwise('aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor', addition),
  pointwise('aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor', subtraction),
  pointwise('aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor', subtraction),
  pointwise('aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor', {
    ...reversedSubtraction,
    inPlace: false,
    out: 'Tensor_out',
  }),
  pointwise('aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor', {
    ...reversedSubtraction,
    inPlace: false,
  }),
  ...binaryRows('mul', multiplication),
  ...binaryRows('div', division),
  pointwise('aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor', {
    ...divisionWithMode,
    out: 'out_mode',
  }),
  pointwise('aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor', divisionWithMode),
  pointwise('aten::floor_divide(Tensor self, Tensor other) -> Tensor', { ...floorDivision, inPlace: 'Tensor' }),
  pointwise('aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor', floorDivision),
  ...binaryRows('remainder', remainder, { out: 'Tensor_out' }),
  pointwise('aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor', { ...remainder, inPlace: false }),
  ...binaryRows('fmod', ordered('fmod', 'fmod_cpu'), { out: 'Tensor_out' }),
  pointwise('aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor', { ...power, inPlace: 'Tensor' }),
  pointwise('aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor', { ...power, inPlace: false }),
  pointwise('aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor', { ...power, inPlace: 'Scalar' }),
  pointwise('aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor', {
    ...inDouble,
    inPlace: 'Tensor',
  }),
  pointwise('aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor', { ...inDouble, inPlace: false }),
  pointwise('aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor', {
    ...inDouble,
    inPlace: 'Scalar',
  }),
  pointwise('aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor', addcmul),
  pointwise('aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor', addcdiv),
  pointwise('aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor', lerp),
  pointwise('aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor', { ...lerp, out: 'Tensor_out' }),
];
