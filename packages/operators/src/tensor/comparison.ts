import { isComplex, isFloatingPoint, isIntegral, Complex, type ScalarType, type Tensor } from '@cresset/tensor';
import {
  binary,
  cast,
  constant,
  select,
  unary,
  type BinaryFunction,
  type Expr,
  type ExprType,
} from '@cresset/tensorexpr';
import { kernel, pointwise, through, type Forms } from '../builders.ts';
import { numberReader, readScalar } from '../elements.ts';
import { check, notImplementedFor } from '../errors.ts';
import { writeEach } from '../fill.ts';
import { forEachRun, walkOf } from '../tensor-iterator.ts';
import { cloneOf, contiguousOf } from '../copy.ts';
import { computePointwise } from '../pointwise.ts';
import type { ComputingTypes, OperatorRow, PointwiseArguments, PointwiseRule, Scalar } from '../row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { defaultDtype, dtypeName, toFloating } from '../type-promotion.ts';

/** Comparisons, logical and bitwise functions, choices and other functions of two tensors (ATen/native/BinaryOps.cpp,
 * TensorCompare.cpp). */

const refusing =
  (kernelName: string, test: (dtype: ScalarType) => boolean) =>
  (dtype: ScalarType): void => {
    if (test(dtype)) throw notImplementedFor(kernelName, dtypeName(dtype));
  };

const isFraction = (dtype: ScalarType): boolean => isFloatingPoint(dtype) || isComplex(dtype);
const isWhole = (dtype: ScalarType): boolean => isIntegral(dtype, true);

/** bool has no order of its own in the scalar language. */
const comparable = (x: Expr): Expr => (x.type === 'bool' ? cast('i32', x) : x);

function comparison(name: BinaryFunction, complexBody?: (a: Complex, b: Complex) => boolean): OperatorRow[] {
  const rule: PointwiseRule = {
    dtype: 'compare',
    body: ({ self, other }) => binary(name, comparable(self), comparable(other)),
    ...(complexBody && { complex: ({ self, other }: PointwiseArguments) => complexBody(self, other) }),
  };
  return [
    pointwise(`aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, out: 'Tensor_out' }),
    pointwise(`aten::${name}.Scalar(Tensor self, Scalar other) -> Tensor`, rule),
  ];
}

const sameNumber = (a: Complex, b: Complex): boolean => a.re === b.re && a.im === b.im;

function logical(name: string, fn: BinaryFunction): OperatorRow {
  const truth = (z: Complex): boolean => z.re !== 0 || z.im !== 0;
  const combined = (a: boolean, b: boolean): boolean => (fn === 'and' ? a && b : fn === 'or' ? a || b : a !== b);
  return pointwise(`aten::${name}(Tensor self, Tensor other) -> Tensor`, {
    dtype: 'logical',
    body: ({ self, other }) => binary(fn, self, other),
    complex: ({ self, other }) => combined(truth(self), truth(other)),
  });
}

/** `bitwise_and` and its operator form `__and__`. */
function bitwise(name: string, operator: string, fn: BinaryFunction): OperatorRow[] {
  const rule: PointwiseRule = {
    dtype: 'promote',
    refuses: refusing(`${name}_cpu`, isFraction),
    body: ({ self, other }) => binary(fn, self, other),
  };
  return [
    pointwise(`aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, out: 'Tensor_out' }),
    pointwise(`aten::${name}.Scalar(Tensor self, Scalar other) -> Tensor`, rule),
    pointwise(`aten::${name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor`, { ...rule, inPlace: false }),
    pointwise(`aten::${operator}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, out: false }),
    pointwise(`aten::${operator}.Scalar(Tensor self, Scalar other) -> Tensor`, { ...rule, out: false }),
  ];
}

function shift(name: string, operator: string, fn: BinaryFunction): OperatorRow[] {
  const rule: PointwiseRule = {
    dtype: 'promote',
    refuses: refusing(operator === '__lshift__' ? 'lshift_cpu' : 'rshift_cpu', (dtype) => !isIntegral(dtype, false)),
    body: ({ self, other }) => binary(fn, self, other),
  };
  return [
    pointwise(`aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, out: 'Tensor_out' }),
    pointwise(`aten::${name}.Tensor_Scalar(Tensor self, Scalar other) -> Tensor`, rule),
    pointwise(`aten::${name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor`, { ...rule, inPlace: false }),
    pointwise(`aten::${operator}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, out: 'Tensor_out' }),
    pointwise(`aten::${operator}.Scalar(Tensor self, Scalar other) -> Tensor`, rule),
  ];
}

/** The larger or smaller of two; on bool that is or and and. */
const extreme = (fn: 'max' | 'min' | 'fmax' | 'fmin', x: Expr, y: Expr): Expr =>
  x.type === 'bool'
    ? binary(fn.endsWith('max') ? 'or' : 'and', x, y)
    : binary(x.type === 'float' || fn.length === 3 ? fn : (fn.slice(1) as 'max'), x, y);

const pairRow = (name: string, rule: PointwiseRule & Forms): OperatorRow =>
  pointwise(`aten::${name}(Tensor self, Tensor other) -> Tensor`, rule);

const extremeRule = (name: string, fn: 'max' | 'min' | 'fmax' | 'fmin'): PointwiseRule & Forms => ({
  dtype: 'promote',
  refuses: (dtype) => check(!isComplex(dtype), `${name} does not support complex inputs.`),
  body: ({ self, other }) => extreme(fn, self, other),
  inPlace: false,
});

const extremeRow = (name: string, fn: 'max' | 'min' | 'fmax' | 'fmin'): OperatorRow =>
  pairRow(name, extremeRule(name, fn));

const clamping: PointwiseRule = {
  dtype: 'promote',
  refuses: (dtype, { min, max }) => {
    check(min !== null || max !== null, "torch.clamp: At least one of 'min' or 'max' must not be None");
    check(!isComplex(dtype), 'clamp is not supported for complex types');
    refusing('clamp_cpu', (computing) => computing === 'bool')(dtype);
  },
  body: ({ self, min, max }) => {
    const raised = min ? binary('max', self, min) : self;
    return max ? binary('min', raised, max) : raised;
  },
};

const clampingOne = (fn: 'max' | 'min', bound: 'min' | 'max'): PointwiseRule => ({
  dtype: 'promote',
  refuses: (dtype) => check(!isComplex(dtype), 'clamp is not supported for complex types'),
  body: (args) => extreme(fn, args.self, args[bound]),
});

const choice: PointwiseRule & Forms = {
  dtype: 'promote',
  apart: ['condition'],
  refuses: (_, { condition }) =>
    check(
      condition.dtype === 'bool' || condition.dtype === 'uint8',
      `where expected condition to be a boolean tensor, but got a tensor with dtype ${dtypeName(condition.dtype)}`,
    ),
  body: ({ condition, self, other }) => select(cast('bool', condition), self, other),
  complex: ({ condition, self, other }) => (condition ? self : other),
  inPlace: false,
  out: false,
};

function checkMask(_: ScalarType, { self, mask, value }: PointwiseArguments): void {
  check(mask.dtype === 'bool', `masked_fill_ only supports boolean masks, but got mask with dtype ${mask.dtype}`);
  check(
    !(value instanceof Complex) || isComplex(self.dtype),
    `value cannot be converted to type ${self.dtype === 'float32' ? 'float' : self.dtype} without overflow`,
  );
  if (typeof value === 'object' && value !== null && 'sizes' in value) {
    check(
      value.dim === 0,
      `masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ${value.dim} dimension(s).`,
    );
  } else if (typeof value === 'number') {
    check(
      !isWhole(self.dtype) || Number.isFinite(value),
      `value cannot be converted to type ${integerName(self.dtype)} without overflow`,
    );
    check(
      self.dtype !== 'float32' || !Number.isFinite(value) || Number.isFinite(Math.fround(value)),
      'value cannot be converted to type float without overflow',
    );
    check(
      self.dtype !== 'float16' || !Number.isFinite(value) || Math.abs(value) <= 65504,
      'value cannot be converted to type at::Half without overflow',
    );
  }
}

const integerName = (dtype: ScalarType): string => (dtype === 'bool' ? 'bool' : `${dtype}_t`);

const maskedFilling: PointwiseRule & Forms = {
  dtype: 'same-as-first',
  apart: ['mask'],
  refuses: checkMask,
  body: ({ self, mask, value }) => select(mask, value, self),
  complex: ({ self, mask, value }) => (mask ? value : self),
};

const number = (value: number): Expr => constant('float', value);
const isZero = (x: Expr): Expr => binary('eq', x, number(0));

/** `other` NaN stays NaN; 0 times anything else is 0. */
const timesLog = (log: (y: Expr) => Expr): PointwiseRule => ({
  dtype: 'promote-to-float',
  body: ({ self, other }) => {
    const product = select(isZero(self), number(0), binary('mul', self, log(other)));
    return select(unary('isnan', other), other, product);
  },
});

const xlogy = timesLog((y) => unary('log', y));
const xlog1py = timesLog((y) => unary('log1p', y));

/** log(eˣ + eʸ) to a base, without overflow; two equal infinities give themselves. */
const logAdd = (
  log1p: (x: Expr) => Expr,
  exp: (x: Expr) => Expr,
  complexSum?: (a: Complex, b: Complex) => Complex,
): PointwiseRule & Forms => ({
  dtype: 'promote-to-float',
  body: ({ self, other }) => {
    const distance = unary('abs', binary('sub', self, other));
    const sum = binary('add', binary('max', self, other), log1p(exp(unary('neg', distance))));
    const equalInfinities = binary('and', unary('isinf', self), binary('eq', self, other));
    return select(equalInfinities, self, sum);
  },
  ...(complexSum && { complex: ({ self, other }: PointwiseArguments) => complexSum(self, other) }),
  inPlace: false,
});

/** The larger one is taken out, so that nothing overflows. */
function complexLogAdd(a: Complex, b: Complex): Complex {
  const [low, high] = a.re < b.re ? [a, b] : [b, a];
  if (low.re === -Infinity) return high;
  const rest = complex.exp(complex.subtract(low, high));
  return complex.add(high, complex.log(complex.add(new Complex(1, 0), rest)));
}

function heaviside({ self, values }: PointwiseArguments, type: ExprType): Expr {
  const x = comparable(self);
  const zero = constant(x.type, x.type === 'i64' ? 0n : 0);
  return select(binary('eq', x, zero), values, cast(type, binary('gt', x, zero)));
}

const sameDtypes =
  (name: string): PointwiseRule['refuses'] =>
  (_, { self, values }) =>
    check(self.dtype === values.dtype, `${name} is not yet implemented for tensors with different dtypes.`);

/** float arguments, of which rtol and atol are known when the kernel is made. */
function isClose({ self, other, rtol, atol, equal_nan: equalNan }: PointwiseArguments): Expr {
  const allowed = binary('add', number(atol), binary('mul', number(rtol), unary('abs', other)));
  const near = binary('and', unary('isfinite', other), binary('le', unary('abs', binary('sub', self, other)), allowed));
  const close = binary('or', binary('eq', self, other), near);
  return equalNan ? binary('or', close, binary('and', unary('isnan', self), unary('isnan', other))) : close;
}

const closeness: PointwiseRule & Forms = {
  dtype: (promoted): ComputingTypes => ({
    computing: promoted === 'int64' || promoted === 'int32' ? 'float64' : toFloating(promoted),
    result: 'bool',
  }),
  refuses: (_, { self, other, rtol, atol }) => {
    check(self.dtype === other.dtype, `${dtypeName(self.dtype)} did not match ${dtypeName(other.dtype)}`);
    check(rtol >= 0, `rtol must be greater than or equal to zero, but got ${rtol}`);
    check(atol >= 0, `atol must be greater than or equal to zero, but got ${atol}`);
  },
  body: isClose,
  complex: ({ self, other, rtol, atol, equal_nan: equalNan }) => {
    if (sameNumber(self, other)) return true;
    if (equalNan && Number.isNaN(self.re + self.im) && Number.isNaN(other.re + other.im)) return true;
    if (!Number.isFinite(other.re) || !Number.isFinite(other.im)) return false;
    return complex.magnitude(complex.subtract(self, other)) <= atol + rtol * complex.magnitude(other);
  },
  inPlace: false,
  out: false,
};

/** x = mantissa · 2ⁿ with a mantissa in [0.5, 1). */
function splitExponent(x: number): { mantissa: number; exponent: number } {
  if (x === 0 || !Number.isFinite(x)) return { mantissa: x, exponent: 0 };
  let exponent = Math.max(-1023, Math.floor(Math.log2(Math.abs(x))) + 1);
  let mantissa = x * 2 ** -exponent;
  while (Math.abs(mantissa) < 0.5) [mantissa, exponent] = [mantissa * 2, exponent - 1];
  while (Math.abs(mantissa) >= 1) [mantissa, exponent] = [mantissa / 2, exponent + 1];
  return { mantissa, exponent };
}

const frexp = kernel<{ self: Tensor }>('aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)', {
  shape: ({ self }) => {
    check(isFloatingPoint(self.dtype), 'torch.frexp() only supports floating-point dtypes');
    return [
      { sizes: self.sizes, dtype: self.dtype },
      { sizes: self.sizes, dtype: 'int32' },
    ];
  },
  host: ({ self }, [mantissa, exponent]) => {
    const whole = contiguousOf(self);
    const read = numberReader(whole);
    writeEach(mantissa, (at) => splitExponent(read(whole.storageOffset + at)).mantissa);
    writeEach(exponent, (at) => splitExponent(read(whole.storageOffset + at)).exponent);
  },
  out: 'Tensor_out(mantissa, exponent)',
});

const closenessRow = pointwise(
  'aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor',
  closeness,
);

/** Whether every element of a bool tensor holds. */
function allTrue(tensor: Tensor): boolean {
  const elements = tensor.storageArray();
  let result = true;
  forEachRun(tensor.sizes, walkOf(tensor), (offset, stride, count) => {
    for (let i = 0; i < count; i++) if (elements[offset + i * stride] === 0) result = false;
  });
  return result;
}

function equalTensors({ self, other }: { self: Tensor; other: Tensor }): boolean {
  if (self.sizes.length !== other.sizes.length || self.sizes.some((size, dim) => size !== other.sizes[dim]))
    return false;
  if (self.dtype !== other.dtype) {
    check(
      false,
      `Expected object of data type ${self.dtype} but got data type ${other.dtype} for argument #2 'other' in call to equal`,
    );
  }
  const a = cloneOf(self);
  const b = cloneOf(other);
  for (let at = 0; at < a.numel; at++) {
    if (!equalScalars(readScalar(a, at), readScalar(b, at))) return false;
  }
  return true;
}

function equalScalars(a: Scalar, b: Scalar): boolean {
  return typeof a === 'object' && typeof b === 'object' ? sameNumber(a, b) : a === b;
}

function greatestCommonDivisor(a: number, b: number): number {
  let [x, y] = [Math.abs(a), Math.abs(b)];
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}

const wholeNumbers = (name: string, apply: (a: number, b: number) => number): OperatorRow =>
  pairRow(name, {
    dtype: 'promote',
    refuses: refusing(`${name}_cpu`, (dtype) => !isIntegral(dtype, false)),
    number: ({ self, other }) => apply(self, other),
  });

/** x · 2ⁿ; the power is a float of the default dtype where n is whole. */
const ldexp: PointwiseRule = {
  dtype: (promoted): ComputingTypes => {
    const dtype = isWhole(promoted) ? defaultDtype : promoted;
    return { computing: dtype, result: dtype };
  },
  body: ({ self, other }) => binary('mul', self, unary('exp2', other)),
  complex: ({ self, other }) =>
    complex.multiply(self, complex.exp(new Complex(other.re * Math.LN2, other.im * Math.LN2))),
};

const copysign: PointwiseRule = {
  dtype: 'promote-to-float',
  body: ({ self, other }) => binary('copysign', self, other),
};

/** Fills through the rule of choices: the value is converted to the tensor's dtype. */
const fill: PointwiseRule & Forms = {
  dtype: 'same-as-first',
  body: ({ value }) => value,
  complex: ({ value }) => value,
  out: false,
};

export const comparisonRows: readonly OperatorRow[] = [
  ...comparison('eq', sameNumber),
  ...comparison('ne', (a, b) => !sameNumber(a, b)),
  ...comparison('lt'),
  ...comparison('le'),
  ...comparison('gt'),
  ...comparison('ge'),
  logical('logical_and', 'and'),
  logical('logical_or', 'or'),
  logical('logical_xor', 'xor'),
  ...bitwise('bitwise_and', '__and__', 'and'),
  ...bitwise('bitwise_or', '__or__', 'or'),
  ...bitwise('bitwise_xor', '__xor__', 'xor'),
  ...shift('bitwise_left_shift', '__lshift__', 'shl'),
  ...shift('bitwise_right_shift', '__rshift__', 'shr'),
  extremeRow('maximum', 'max'),
  extremeRow('minimum', 'min'),
  pointwise('aten::max.other(Tensor self, Tensor other) -> Tensor', { ...extremeRule('maximum', 'max'), out: 'out' }),
  pointwise('aten::min.other(Tensor self, Tensor other) -> Tensor', { ...extremeRule('minimum', 'min'), out: 'out' }),
  extremeRow('fmax', 'fmax'),
  extremeRow('fmin', 'fmin'),
  pointwise('aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor', clamping),
  pointwise('aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor', {
    ...clamping,
    out: 'Tensor_out',
  }),
  pointwise('aten::clamp_min(Tensor self, Scalar min) -> Tensor', clampingOne('max', 'min')),
  pointwise('aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor', {
    ...clampingOne('max', 'min'),
    out: 'Tensor_out',
  }),
  pointwise('aten::clamp_max(Tensor self, Scalar max) -> Tensor', clampingOne('min', 'max')),
  pointwise('aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor', {
    ...clampingOne('min', 'max'),
    out: 'Tensor_out',
  }),
  pointwise('aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor', { ...choice, out: 'self_out' }),
  pointwise('aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor', choice),
  pointwise('aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor', choice),
  pointwise('aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor', choice),
  pointwise('aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor', maskedFilling),
  pointwise('aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor', {
    ...maskedFilling,
    out: 'Tensor_out',
  }),
  pointwise('aten::fill.Scalar(Tensor self, Scalar value) -> Tensor', fill),
  through(
    'aten::fill.Tensor(Tensor self, Tensor value) -> Tensor',
    pointwise('aten::fill.value(Tensor self, Tensor value) -> Tensor', fill),
    ({ self, value }: { self: Tensor; value: Tensor }) => {
      check(
        value.dim === 0,
        `fill only supports 0-dimension value tensor but got tensor with ${value.dim} dimensions.`,
      );
      return { self, value };
    },
    { inPlace: true },
  ),
  pairRow('atan2', { dtype: 'promote-to-float', body: ({ self, other }) => binary('atan2', self, other) }),
  pairRow('hypot', {
    dtype: 'promote',
    refuses: refusing('hypot_cpu', isWhole),
    body: ({ self, other }) => binary('hypot', self, other),
  }),
  pairRow('nextafter', {
    dtype: 'promote',
    refuses: refusing('nextafter_cpu', isWhole),
    body: ({ self, other }) => binary('nextafter', self, other),
  }),
  pointwise('aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor', copysign),
  pointwise('aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor', copysign),
  pairRow(
    'logaddexp',
    logAdd(
      (x) => unary('log1p', x),
      (x) => unary('exp', x),
      complexLogAdd,
    ),
  ),
  pairRow(
    'logaddexp2',
    logAdd(
      (x) => binary('mul', unary('log1p', x), number(Math.LOG2E)),
      (x) => unary('exp2', x),
    ),
  ),
  pointwise('aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor', { ...xlogy, out: 'OutTensor' }),
  pointwise('aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor', {
    ...xlogy,
    inPlace: false,
    out: 'OutScalar_Self',
  }),
  pointwise('aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor', { ...xlogy, out: 'OutScalar_Other' }),
  pairRow('special_xlog1py', { ...xlog1py, inPlace: false }),
  pointwise('aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor', { ...xlog1py, inPlace: false }),
  pointwise('aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor', { ...xlog1py, inPlace: false }),
  pointwise('aten::heaviside(Tensor self, Tensor values) -> Tensor', {
    dtype: 'promote',
    refuses: sameDtypes('heaviside'),
    body: heaviside,
  }),
  pointwise('aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor', { ...ldexp, inPlace: '' }),
  wholeNumbers('gcd', greatestCommonDivisor),
  wholeNumbers('lcm', (a, b) => (a === 0 || b === 0 ? 0 : Math.abs((a / greatestCommonDivisor(a, b)) * b))),
  frexp,
  closenessRow,
  kernel<PointwiseArguments>(
    'aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool',
    {
      host: (args) => allTrue(computePointwise(closenessRow, args)),
    },
  ),
  kernel<{ self: Tensor; other: Tensor }>('aten::equal(Tensor self, Tensor other) -> bool', { host: equalTensors }),
];
