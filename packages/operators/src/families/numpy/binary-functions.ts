import { elementSize, isFloatingPoint, isIntegral, Complex, Tensor, type ScalarType, settleAll } from '@cresset/tensor';
import { binary, cast, constant, select, unary, type Expr, type ExprType } from '@cresset/tensorexpr';
import { kernel, pointwise, type Forms } from '../../table/builders.ts';
import { contiguousInPieces } from '../../kernels/copy.ts';
import { numberReader } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import { writeInPieces } from '../../kernels/fill.ts';
import { cppTypeName } from '../../kernels/type-names.ts';
import { constantOf, pointwisePieces, pointwiseShape, wrapNarrow } from '../../kernels/loops/pointwise.ts';
import type { ComputingTypes, OperatorRow, PointwiseArguments, PointwiseRule } from '../../table/row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { splitExponent } from '../../kernels/numbers/split-exponent.ts';
import { defaultDtype, dtypeName, toFloating } from '../../kernels/type-promotion.ts';
import { addition } from '../pointwise/arithmetic.ts';
import { comparable, isWhole, pairRow, refusing, sameNumber } from '../pointwise/comparison.ts';

/** Functions of two numbers that models rarely compute, and closeness (ATen/native/BinaryOps.cpp, TensorCompare.cpp). */

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

/** What PyTorch's passes make of `relu(add(a, b))`; its kernel is of few dtypes. */
const addRelu: PointwiseRule = {
  ...addition,
  complex: undefined,
  refuses: (dtype, args) => {
    addition.refuses!(dtype, args);
    const isTaken = ['float32', 'float64', 'int8', 'int16', 'int32', 'int64'].includes(dtype);
    check(isTaken, `Unsupported datatype for add_relu:${cppTypeName(dtype)}`);
  },
  body: (args, type, dtype) => binary('max', wrapNarrow(addition.body!(args, type, dtype), dtype), constantOf(type, 0)),
};

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
export function complexLogAdd(a: Complex, b: Complex): Complex {
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

const frexp = kernel<{ self: Tensor }>('aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)', {
  shape: ({ self }) => {
    check(isFloatingPoint(self.dtype), 'torch.frexp() only supports floating-point dtypes');
    return [
      { sizes: self.sizes, dtype: self.dtype },
      { sizes: self.sizes, dtype: 'int32' },
    ];
  },
  *host({ self }, [mantissa, exponent]) {
    const whole = yield* contiguousInPieces(self);
    const read = numberReader(whole);
    yield* writeInPieces(mantissa, (at) => splitExponent(read(whole.storageOffset + at)).mantissa);
    yield* writeInPieces(exponent, (at) => splitExponent(read(whole.storageOffset + at)).exponent);
  },
  out: 'Tensor_out(mantissa, exponent)',
});

const closenessRow = pointwise(
  'aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor',
  closeness,
);

const magnitude = (x: bigint): bigint => (x < 0n ? -x : x);

/** As in C++, where the smallest integer of a type has no magnitude in it: such a divisor comes out negative. */
function greatestCommonDivisor(a: bigint, b: bigint, dtype: ScalarType): bigint {
  const own = (x: bigint): bigint => (dtype === 'uint8' ? x : BigInt.asIntN(8 * elementSize(dtype), magnitude(x)));
  let [x, y] = [own(b), own(a)];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}

/** Products of narrow integers are 32-bit ones until they are stored. */
function leastCommonMultiple(a: bigint, b: bigint, dtype: ScalarType): bigint {
  const divisor = greatestCommonDivisor(a, b, dtype);
  return divisor === 0n ? 0n : magnitude(BigInt.asIntN(dtype === 'int64' ? 64 : 32, (a / divisor) * b));
}

const wholeNumbers = (name: string, apply: (a: bigint, b: bigint, dtype: ScalarType) => bigint): OperatorRow =>
  pairRow(name, {
    dtype: 'promote',
    refuses: refusing(`${name}_cpu`, (dtype) => !isIntegral(dtype, false)),
    number: ({ self, other }, dtype) => apply(self, other, dtype),
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

/** The bits of a fraction, the smallest number and the largest one. */
type HalfFormat = readonly [bits: number, least: number, largest: number];

const halfFormats: Partial<Record<ScalarType, HalfFormat>> = {
  float16: [10, 2 ** -24, 65504],
  bfloat16: [7, 2 ** -133, 3.3895313892515355e38],
};

/** The next number of a narrow format, which the sum is rounded to: it is more than half as far away as the next one, and less than the one behind that. */
function nextHalf(x: Expr, y: Expr, [bits, least, largest]: HalfFormat): Expr {
  const away = number(2 ** -(bits + 1) + 2 ** -(bits + 10));
  const step = binary('max', binary('mul', unary('abs', x), away), number(least));
  const sign = select(binary('lt', x, y), number(1), number(-1));
  const moved = select(
    unary('isinf', x),
    // From where there is no further, only back.
    select(binary('lt', x, y), number(-largest), number(largest)),
    binary('add', x, binary('mul', sign, step)),
  );
  return select(binary('eq', x, y), y, select(binary('ne', x, x), x, select(binary('ne', y, y), y, moved)));
}

export const binaryFunctionRows: readonly OperatorRow[] = [
  pairRow('hypot', {
    dtype: 'promote',
    refuses: refusing('hypot_cpu', isWhole),
    body: ({ self, other }) => binary('hypot', self, other),
  }),
  pairRow('nextafter', {
    dtype: 'promote',
    refuses: refusing('nextafter_cpu', isWhole),
    body: ({ self, other }, _, dtype) => {
      const format = halfFormats[dtype];
      return format ? nextHalf(self, other, format) : binary('nextafter', self, other);
    },
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
  pointwise('aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor', addRelu),
  pointwise('aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor', addRelu),
  pointwise('aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor', { ...ldexp, inPlace: '' }),
  wholeNumbers('gcd', greatestCommonDivisor),
  wholeNumbers('lcm', leastCommonMultiple),
  frexp,
  closenessRow,
  kernel<PointwiseArguments>(
    'aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool',
    {
      *host(args) {
        const { sizes, dtype } = pointwiseShape(closenessRow, args);
        const isClose = Tensor.empty(settleAll(sizes), dtype);
        yield* pointwisePieces(closenessRow, args, isClose);
        return (isClose.storageArray() as Uint8Array).indexOf(0) < 0;
      },
    },
  ),
];
