import {
  Complex,
  isComplex,
  isFloatingPoint,
  symEq,
  symFloorDiv,
  symMod,
  textOf,
  type ScalarType,
  type Tensor,
} from '@cresset/tensor';
import { binary, constant, select, unary, type Expr } from '@cresset/tensorexpr';
import { pointwise, through } from '../../table/builders.ts';
import { narrowView } from '../../kernels/views.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { checkOperandsFit } from '../../kernels/numbers/scalar-range.ts';
import type { OperatorRow, PointwiseArguments, PointwiseRule } from '../../table/row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { sigmoidOf } from './unary.ts';

/** Activation functions (ATen/native/Activation.cpp). Numbers among the arguments take no part in promotion. */

const floatsOnly =
  (kernel: string) =>
  (dtype: ScalarType): void => {
    if (!isFloatingPoint(dtype)) throw notImplementedFor(kernel, dtypeName(dtype));
  };

const activation = (kernel: string, body: (args: PointwiseArguments) => Expr): PointwiseRule => ({
  dtype: 'same-as-first',
  refuses: floatsOnly(kernel),
  body,
});

const number = (value: number): Expr => constant('float', value);
const add = (x: Expr, y: Expr): Expr => binary('add', x, y);
const sub = (x: Expr, y: Expr): Expr => binary('sub', x, y);
const mul = (x: Expr, y: Expr): Expr => binary('mul', x, y);
const div = (x: Expr, y: Expr): Expr => binary('div', x, y);
const clamp = (x: Expr, low: Expr, high: Expr): Expr => binary('min', binary('max', x, low), high);
const isPositive = (x: Expr): Expr => binary('gt', x, number(0));

function gelu({ self, approximate }: PointwiseArguments): Expr {
  check(approximate === 'none' || approximate === 'tanh', 'approximate argument must be either none or tanh.');
  const half = mul(self, number(0.5));
  if (approximate === 'none') return mul(half, add(number(1), unary('erf', mul(self, number(Math.SQRT1_2)))));
  const cube = mul(mul(self, self), self);
  const inner = mul(number(Math.sqrt(2 / Math.PI)), add(self, mul(number(0.044715), cube)));
  return mul(half, add(number(1), unary('tanh', inner)));
}

/** ln(1 + eˣ), which is x itself far to the right. */
const softplusOf = (x: Expr): Expr => unary('log1p', unary('exp', x));

function softplus({ self, beta, threshold }: PointwiseArguments): Expr {
  const scaled = mul(self, beta);
  return select(binary('gt', scaled, threshold), self, div(softplusOf(scaled), beta));
}

/** x for x > 0, alpha (eˣ − 1) below, with factors for both sides and for the exponent. */
const eluOf = (x: Expr, alpha: Expr, scale: Expr, inputScale: Expr): Expr =>
  select(isPositive(x), mul(x, scale), mul(unary('expm1', mul(x, inputScale)), mul(alpha, scale)));

const seluAlpha = 1.6732632423543772;
const seluScale = 1.0507009873554805;

/** min(max(x + 3, 0), 6) / 6. */
const hardsigmoidOf = (x: Expr): Expr => div(clamp(add(x, number(3)), number(0), number(6)), number(6));

const leakyRelu = (self: Expr, slope: Expr): Expr => select(isPositive(self), self, mul(self, slope));

const logSigmoid = ({ self }: PointwiseArguments): Expr =>
  sub(binary('min', self, number(0)), unary('log1p', unary('exp', unary('neg', unary('abs', self)))));

const hardtanh: PointwiseRule = {
  dtype: 'same-as-first',
  refuses: (dtype, { min_val: low, max_val: high }) => {
    check(dtype !== 'bool', 'Bool inputs not supported for hardtanh');
    check(
      dtype !== 'uint8' || (Number(low) >= 0 && Number(high) >= 0),
      'cannot do hardtanh on an unsigned type with negative limits',
    );
    checkOperandsFit(dtype, { low, high }, 'low', 'high');
  },
  body: ({ self, min_val: low, max_val: high }) => clamp(self, low, high),
};

const zeroOf = (x: Expr): Expr => constant(x.type, x.type === 'i64' ? 0n : 0);

/** `self` where it is negative times a weight of its channel. */
const preluKernel = pointwise('aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor', {
  ...activation('prelu_cpu', ({ self, weight }) => leakyRelu(self, weight)),
  inPlace: false,
  out: false,
});

function channelWeights({ self, weight }: { self: Tensor; weight: Tensor }): { self: Tensor; weight: Tensor } {
  check(
    self.dtype === weight.dtype,
    () => `prelu: Type promoting not supported. Got ${dtypeName(self.dtype)} and ${dtypeName(weight.dtype)}`,
  );
  if (weight.numel !== 1) {
    check(self.dim > 0, 'Not allow zero-dim input tensor.');
    const channels = self.dim > 1 ? self.sizes[1] : 1;
    check(
      channels === weight.numel,
      () =>
        `Mismatch of parameter numbers and input channel size. Found parameter numbers = ${weight.numel} and channel size = ${channels}.`,
    );
  }
  check(weight.dim <= 1, () => `prelu: Expected \`weight\` to be a scalar or 1D tensor, but got: ndim = ${weight.dim}`);
  const rank = self.dim;
  if (rank === 0) return { self, weight: weight.asStrided([], []) };
  const channel = rank > 1 ? 1 : 0;
  const sizes = self.sizes.map((_, dim) => (dim === channel ? weight.numel : 1));
  return {
    self,
    weight: weight.asStrided(
      sizes,
      sizes.map((_, dim) => (dim === channel ? (weight.strides[0] ?? 1) : 0)),
    ),
  };
}

const gate = pointwise(
  'aten::glu.gate(Tensor self, Tensor gate) -> Tensor',
  activation('glu_cpu', ({ self, gate: x }) => mul(self, sigmoidOf(x))),
);

function halves({ self, dim }: { self: Tensor; dim: number }): { self: Tensor; gate: Tensor } {
  check(self.dim > 0, 'glu does not support 0-dimensional tensors');
  const at = wrapDim(dim, self.dim);
  const size = self.symSizes[at];
  check(symEq(symMod(size, 2), 0), () => `Halving dimension must be even, but dimension ${at} is size ${textOf(size)}`);
  const half = symFloorDiv(size, 2);
  return { self: narrowView(self, at, 0, half), gate: narrowView(self, at, half, half) };
}

export const activationRows: readonly OperatorRow[] = [
  pointwise('aten::relu(Tensor self) -> Tensor', {
    dtype: 'same-as-first',
    refuses: (dtype) => check(dtype !== 'bool', 'Boolean inputs not supported for relu'),
    body: ({ self }) => binary('max', self, zeroOf(self)),
  }),
  pointwise('aten::relu6(Tensor self) -> Tensor', {
    dtype: 'same-as-first',
    body: ({ self }) => clamp(self, zeroOf(self), constant(self.type, self.type === 'i64' ? 6n : 6)),
    out: false,
  }),
  pointwise('aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor', hardtanh),
  pointwise(
    'aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor',
    activation('leaky_relu_cpu', ({ self, negative_slope: slope }) => leakyRelu(self, slope)),
  ),
  pointwise('aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor', {
    dtype: 'same-as-first',
    refuses: (dtype, args) => checkOperandsFit(dtype, args, 'threshold', 'value'),
    body: ({ self, threshold, value }) => select(binary('le', self, threshold), value, self),
    mayMeet: () => true,
  }),
  pointwise('aten::gelu(Tensor self, *, str approximate="none") -> Tensor', activation('GeluKernelImpl', gelu)),
  pointwise('aten::silu(Tensor self) -> Tensor', {
    ...activation('silu_cpu', ({ self }) => div(self, add(number(1), unary('exp', unary('neg', self))))),
    refuses: (dtype) => {
      if (!isComplex(dtype)) floatsOnly('silu_cpu')(dtype);
    },
    complex: ({ self }) => complex.divide(self, complex.add(new Complex(1, 0), complex.exp(complex.negate(self)))),
  }),
  pointwise(
    'aten::mish(Tensor self) -> Tensor',
    activation('mish_cpu', ({ self }) => mul(self, unary('tanh', softplusOf(self)))),
  ),
  pointwise(
    'aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor',
    activation('elu_cpu', ({ self, alpha, scale, input_scale: inputScale }) => eluOf(self, alpha, scale, inputScale)),
  ),
  pointwise('aten::celu(Tensor self, Scalar alpha=1.) -> Tensor', {
    ...activation('elu_cpu', ({ self, alpha }) => eluOf(self, alpha, number(1), div(number(1), alpha))),
    refuses: (dtype, { alpha }) => {
      check(Number(alpha) !== 0, 'ZeroDivisionError: alpha cannot be 0 for CELU');
      floatsOnly('elu_cpu')(dtype);
    },
    out: false,
  }),
  pointwise('aten::selu(Tensor self) -> Tensor', {
    ...activation('elu_cpu', ({ self }) => eluOf(self, number(seluAlpha), number(seluScale), number(1))),
    out: false,
  }),
  pointwise(
    'aten::hardsigmoid(Tensor self) -> Tensor',
    activation('hardsigmoid_cpu', ({ self }) => hardsigmoidOf(self)),
  ),
  pointwise(
    'aten::hardswish(Tensor self) -> Tensor',
    activation('hardswish_cpu', ({ self }) => mul(self, hardsigmoidOf(self))),
  ),
  pointwise('aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor', {
    ...activation('softplus_cpu', softplus),
    inPlace: false,
  }),
  pointwise('aten::log_sigmoid(Tensor self) -> Tensor', {
    ...activation('log_sigmoid_cpu', logSigmoid),
    inPlace: false,
  }),
  pointwise('aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor', {
    ...activation('hardshrink_cpu', ({ self, lambd }) =>
      select(binary('le', unary('abs', self), lambd), number(0), self),
    ),
    inPlace: false,
  }),
  pointwise('aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor', {
    ...activation('softshrink_cpu', ({ self, lambd }) => {
      // No product with 0, of which compilers for GPUs make 0 where it is NaN.
      const none = select(unary('isnan', self), self, number(0));
      const below = select(binary('lt', self, unary('neg', lambd)), add(self, lambd), none);
      return select(binary('gt', self, lambd), sub(self, lambd), below);
    }),
    refuses: (dtype, { lambd }) => {
      check(
        Number(lambd) >= 0 && Number(lambd) <= 3.4028234663852886e38,
        `lambda must be in range [0, 3.40282e+38] for input dtype Float, but found ${Number(lambd)}`,
      );
      floatsOnly('softshrink_cpu')(dtype);
    },
    inPlace: false,
  }),
  preluKernel,
  through('aten::prelu(Tensor self, Tensor weight) -> Tensor', preluKernel, channelWeights),
  through('aten::glu(Tensor self, int dim=-1) -> Tensor', gate, halves, { out: true }),
];
