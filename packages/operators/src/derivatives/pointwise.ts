import { flat, forOverloads, notImplemented, unary, type DerivativeTable } from './derivative.ts';

const dividedSelf = 'grad / torch.conj(other)';
const dividedOther = '-grad * torch.conj((self / other) / other)';

/** Which of two equal elements was taken nobody can say: each has half of the gradient. */
const larger = {
  self: 'torch.masked_fill(torch.where(self == other, grad / 2, grad), self < other, 0)',
  other: 'torch.masked_fill(torch.where(self == other, grad / 2, grad), self > other, 0)',
};
const smaller = {
  self: 'torch.masked_fill(torch.where(self == other, grad / 2, grad), self > other, 0)',
  other: 'torch.masked_fill(torch.where(self == other, grad / 2, grad), self < other, 0)',
};

/** Functions of one element. */
const functions = unary({
  abs: 'grad * torch.sgn(self)',
  acos: '-grad * torch.conj(torch.rsqrt(1 - self * self))',
  acosh:
    'grad * torch.conj(torch.rsqrt(self - 1) * torch.rsqrt(self + 1) if self.is_complex() else torch.rsqrt(self * self - 1))',
  asin: 'grad * torch.conj(torch.rsqrt(1 - self * self))',
  asinh: 'grad * torch.conj(torch.rsqrt(self * self + 1))',
  atan: 'grad / torch.conj(self * self + 1)',
  atanh: 'grad / torch.conj(1 - self * self)',
  cos: '-grad * torch.conj(torch.sin(self))',
  cosh: 'grad * torch.conj(torch.sinh(self))',
  deg2rad: 'grad * 0.017453292519943295',
  rad2deg: 'grad * 57.29577951308232',
  digamma: 'grad * torch.polygamma(1, self)',
  erf: '1.1283791670955126 * torch.exp(-(self * self)) * grad',
  erfc: '-1.1283791670955126 * torch.exp(-(self * self)) * grad',
  erfinv: '0.886226925452758 * torch.exp(result * result) * grad',
  exp: 'grad * torch.conj(result)',
  exp2: 'grad * torch.conj(result) * 0.6931471805599453',
  expm1: 'grad * (torch.conj(result) + 1)',
  frac: 'grad',
  i0: 'grad * torch.special_i1(self)',
  lgamma: 'grad * torch.digamma(self)',
  log: 'grad / torch.conj(self)',
  log10: 'grad / (torch.conj(self) * 2.302585092994046)',
  log1p: 'grad / torch.conj(self + 1)',
  log2: 'grad / (torch.conj(self) * 0.6931471805599453)',
  logit: 'torch.logit_backward(grad, self, eps)',
  nan_to_num: 'grad * torch.logical_not(torch.logical_or(torch.isinf(self), torch.isnan(self)))',
  neg: '-grad',
  polygamma: 'grad * torch.polygamma(n + 1, self)',
  positive: 'grad',
  reciprocal: '-grad * torch.conj(result * result)',
  rsqrt: '-0.5 * grad * torch.conj(result * result * result)',
  sigmoid: 'grad * torch.conj((1 - result) * result)',
  sin: 'grad * torch.conj(torch.cos(self))',
  sinc: 'torch.where(self == 0, torch.zeros_like(grad), grad * torch.conj((torch.cos(self * 3.141592653589793) - result) / self))',
  sinh: 'grad * torch.conj(torch.cosh(self))',
  special_entr: 'grad * torch.where(torch.isnan(self), self, -torch.log(self) - 1)',
  special_erfcx: '(2 * self * result - 1.1283791670955126) * grad',
  special_i0e: 'grad * (torch.special_i1e(self) - torch.sgn(self) * result)',
  special_i1:
    'grad * torch.where(torch.abs(self) > smallest_step(self.dtype), torch.i0(self) - result / self, torch.full_like(self, 0.5))',
  special_i1e:
    'grad * torch.where(torch.abs(self) > smallest_step(self.dtype), torch.special_i0e(self) - result * (torch.sgn(self) + torch.reciprocal(self)), torch.full_like(self, 0.5))',
  special_log_ndtr: 'grad / torch.special_erfcx(self * -0.7071067811865476) * 0.7978845608028654',
  special_ndtr: 'grad * torch.exp(-0.5 * self * self) * 0.3989422804014327',
  special_ndtri: 'grad * 2.5066282746310002 * torch.exp(result * result / 2)',
  sqrt: 'grad / (2 * torch.conj(result))',
  square: 'grad * torch.conj(2 * self)',
  tan: 'grad * torch.conj(1 + result * result)',
  tanh: 'grad * torch.conj(1 - result * result)',
});

const arithmetic: DerivativeTable = {
  'add.Tensor': { self: 'grad', other: 'scaled(grad, alpha)' },
  'add.Scalar': { self: 'grad' },
  'sub.Tensor': { self: 'grad', other: '-scaled(grad, alpha)' },
  'sub.Scalar': { self: 'grad' },
  'rsub.Tensor': { self: '-scaled(grad, alpha)', other: 'grad' },
  'rsub.Scalar': { self: '-scaled(grad, alpha)' },
  'mul.Tensor': { self: 'grad * torch.conj(other)', other: 'grad * torch.conj(self)' },
  'mul.Scalar': { self: 'scaled(grad, other)' },
  'div.Tensor': { self: dividedSelf, other: dividedOther },
  'div.Scalar': { self: 'torch.conj(torch.conj(grad) / other)' },
  'div.Tensor_mode': {
    self: `${dividedSelf} if rounding_mode is None else torch.zeros_like(grad)`,
    other: `${dividedOther} if rounding_mode is None else torch.zeros_like(grad)`,
  },
  'div.Scalar_mode': { self: 'grad / other if rounding_mode is None else torch.zeros_like(grad)' },
  'fmod.Scalar': { self: 'grad' },
  'fmod.Tensor': { self: 'grad', other: '-grad * torch.div(self, other, rounding_mode="trunc")' },
  'remainder.Scalar': { self: 'grad' },
  'remainder.Tensor': { self: 'grad', other: '-grad * torch.div(self, other, rounding_mode="floor")' },
  'pow.Tensor_Scalar': {
    self: 'torch.zeros_like(grad) if exponent == 0 else grad * torch.conj(torch.pow(self, exponent - 1) * exponent)',
  },
  'pow.Tensor_Tensor': {
    self: 'torch.where(exponent == 0, torch.zeros_like(grad), grad * torch.conj(exponent * torch.pow(self, exponent - 1)))',
    exponent:
      'grad * torch.where(torch.logical_and(self == 0, power_is_positive(exponent)), torch.zeros_like(result), torch.conj(result * torch.log(self)))',
  },
  'pow.Scalar': {
    exponent: `
base = torch.scalar_tensor(self, dtype=result.dtype)
slope = torch.conj(result * torch.log(base))
return grad * torch.where(torch.logical_and(base == 0, power_is_positive(exponent)), torch.zeros_like(slope), slope)`,
  },
  addcmul: {
    self: 'grad',
    tensor1: 'scaled(grad * torch.conj(tensor2), value)',
    tensor2: 'scaled(grad * torch.conj(tensor1), value)',
  },
  addcdiv: {
    self: 'grad',
    tensor1: 'scaled(grad / torch.conj(tensor2), value)',
    tensor2: '-scaled(grad * torch.conj(tensor1 / (tensor2 * tensor2)), value)',
  },
  'lerp.Scalar': { self: 'grad - scaled(grad, weight)', end: 'scaled(grad, weight)' },
  'lerp.Tensor': {
    self: 'grad * torch.conj(1 - weight)',
    end: 'grad * torch.conj(weight)',
    weight: 'grad * torch.conj(end - self)',
  },
  atan2: {
    self: 'torch.masked_fill(grad * other / (self * self + other * other), torch.logical_and(self == 0, other == 0), 0)',
    other:
      'torch.masked_fill(grad * -self / (self * self + other * other), torch.logical_and(self == 0, other == 0), 0)',
  },
  hypot: {
    self: 'grad * (self / result)',
    other: 'grad * (other / result)',
  },
  'xlogy.Tensor': {
    self: 'grad * torch.masked_fill(torch.log(other), torch.logical_and(self == 0, other <= 0), 0)',
    other: 'grad * self / other',
  },
  'xlogy.Scalar_Self': { other: 'grad * self / other' },
  'xlogy.Scalar_Other': {
    self: 'grad * torch.xlogy(torch.ones_like(self), other) if other > 0 else torch.masked_fill(grad * torch.xlogy(torch.ones_like(self), other), self == 0, 0)',
  },
  special_xlog1py: {
    self: 'grad * torch.masked_fill(torch.log1p(other), torch.logical_and(self == 0, other <= -1), 0)',
    other: 'grad * self / (other + 1)',
  },
  'special_xlog1py.self_scalar': { other: 'grad * self / (other + 1)' },
  'special_xlog1py.other_scalar': { self: 'grad * torch.special_xlog1py(torch.ones_like(self), other)' },
  special_zeta: {
    self: notImplemented('zeta'),
    other: 'grad * -self * torch.special_zeta(self + 1., other)',
  },
  'special_zeta.other_scalar': { self: notImplemented('zeta') },
  'special_zeta.self_scalar': { other: 'grad * torch.special_zeta(self + 1, other) * -self' },
  igamma: {
    self: notImplemented('igamma: input'),
    other: 'grad * torch.exp((self - 1) * torch.log(other) - other - torch.lgamma(self))',
  },
  igammac: {
    self: notImplemented('igammac: input'),
    other: '-grad * torch.exp((self - 1) * torch.log(other) - other - torch.lgamma(self))',
  },
  mvlgamma: {
    self: `
steps = torch.arange(0, p, 1, dtype=self.dtype) * -0.5
return grad * torch.sum(torch.digamma(self.unsqueeze(-1) + steps), [-1])`,
  },
  logaddexp: {
    self: 'grad / torch.conj(1 + torch.exp(other - self))',
    other: 'grad / torch.conj(1 + torch.exp(self - other))',
  },
  logaddexp2: { self: 'grad / (1 + torch.exp2(other - self))', other: 'grad / (1 + torch.exp2(self - other))' },
  nextafter: {
    self: 'torch.where(self != other, grad, torch.zeros_like(grad))',
    other: 'torch.zeros_like(grad)',
  },
  'copysign.Tensor': {
    self: 'torch.where(self == 0, torch.zeros_like(grad), grad * (result / self))',
    other: 'torch.zeros_like(grad)',
  },
  'copysign.Scalar': { self: 'torch.where(self == 0, torch.zeros_like(grad), grad * (result / self))' },
  'ldexp.Tensor': {
    self: 'grad * torch.conj(torch.exp2(other))',
    other: 'grad * torch.conj(result) * 0.6931471805599453',
  },
  'float_power.Tensor_Scalar': {
    self: 'torch.zeros_like(grad) if exponent == 0 else grad * torch.conj(torch.float_power(self, exponent - 1) * exponent)',
  },
  'float_power.Tensor_Tensor': {
    self: 'torch.where(exponent == 0, torch.zeros_like(grad), grad * torch.conj(exponent * torch.float_power(self, exponent - 1)))',
    exponent:
      'grad * torch.where(torch.logical_and(self == 0, power_is_positive(exponent)), torch.zeros_like(result), torch.conj(result * torch.log(self)))',
  },
  'float_power.Scalar': {
    exponent: 'grad * torch.conj(result * torch.log(torch.scalar_tensor(self, dtype=result.dtype)))',
  },
};

const choices: DerivativeTable = {
  ...forOverloads('maximum max.other', larger),
  ...forOverloads('minimum min.other', smaller),
  fmax: {
    self: 'torch.where(torch.logical_or(self >= other, torch.isnan(other)), grad, torch.zeros_like(grad))',
    other: 'torch.where(torch.logical_or(self >= other, torch.isnan(other)), torch.zeros_like(grad), grad)',
  },
  fmin: {
    self: 'torch.where(torch.logical_or(self <= other, torch.isnan(other)), grad, torch.zeros_like(grad))',
    other: 'torch.where(torch.logical_or(self <= other, torch.isnan(other)), torch.zeros_like(grad), grad)',
  },
  clamp: {
    self: `
inside = torch.ones_like(self, dtype=11)
if min is not None:
    inside = torch.logical_and(inside, self >= min)
if max is not None:
    inside = torch.logical_and(inside, self <= max)
return torch.where(inside, grad, torch.zeros_like(grad))`,
  },
  'clamp.Tensor': {
    self: `
result = grad
if min is not None:
    result = torch.where(self >= min, result, torch.zeros_like(result))
if max is not None:
    result = torch.where(self <= max, result, torch.zeros_like(result))
return result`,
    min: `
result = torch.where(self < torch._unwrap_optional(min), grad, torch.zeros_like(grad))
if max is not None:
    result = torch.where(torch._unwrap_optional(min) < max, result, torch.zeros_like(result))
return result`,
    max: `
highest = torch._unwrap_optional(max)
above = self > highest
if min is not None:
    above = torch.logical_or(above, highest < min)
return torch.where(above, grad, torch.zeros_like(grad))`,
  },
  clamp_min: { self: 'torch.where(self >= min, grad, torch.zeros_like(grad))' },
  clamp_max: { self: 'torch.where(self <= max, grad, torch.zeros_like(grad))' },
  'clamp_min.Tensor': {
    self: 'torch.where(self >= min, grad, torch.zeros_like(grad))',
    min: 'torch.where(self < min, grad, torch.zeros_like(grad))',
  },
  'clamp_max.Tensor': {
    self: 'torch.where(self <= max, grad, torch.zeros_like(grad))',
    max: 'torch.where(self > max, grad, torch.zeros_like(grad))',
  },
  'where.self': {
    self: 'torch.where(condition, grad, torch.zeros_like(grad))',
    other: 'torch.where(condition, torch.zeros_like(grad), grad)',
  },
  'where.ScalarOther': { self: 'torch.where(condition, grad, torch.zeros_like(grad))' },
  'where.ScalarSelf': { other: 'torch.where(condition, torch.zeros_like(grad), grad)' },
  'masked_fill.Scalar': { self: 'torch.masked_fill(grad, mask, 0)' },
  'masked_fill.Tensor': {
    self: 'torch.masked_fill(grad, mask, 0)',
    value: 'torch.sum(torch.where(mask, grad, torch.zeros_like(grad)))',
  },
};

const complexNumbers: DerivativeTable = {
  conj: { self: 'torch.conj(grad)' },
  _conj: { self: 'torch.conj(grad)' },
  _conj_physical: { self: 'torch.conj(grad)' },
  conj_physical: { self: 'torch.conj(grad)' },
  resolve_conj: { self: 'grad' },
  resolve_neg: { self: 'grad' },
  real: { self: 'torch.complex(grad, torch.zeros_like(grad)) if self.is_complex() else grad' },
  imag: { self: 'torch.complex(torch.zeros_like(grad), grad)' },
  view_as_real: { self: 'torch.view_as_complex(torch.contiguous(grad))' },
  view_as_complex: { self: 'torch.view_as_real(grad)' },
  complex: { real: 'torch.real(grad)', imag: 'torch.imag(grad)' },
  polar: {
    abs: 'torch.real(torch.conj(grad) * torch.sgn(result))',
    angle: 'torch.real(torch.conj(grad) * result * 1j)',
  },
  angle: {
    self: `
if self.is_complex():
    size = torch.abs(self)
    return torch.where(size == 0, torch.zeros_like(self), grad * torch.complex(-torch.imag(self), torch.real(self)) / (size * size))
return torch.zeros_like(grad)`,
  },
  sgn: {
    self: `
if self.is_complex():
    size = torch.abs(self)
    return torch.where(size == 0, torch.zeros_like(self), (grad - torch.real(torch.conj(result) * grad) * result) / size)
return torch.zeros_like(grad)`,
  },
};

export const pointwiseDerivatives: DerivativeTable = {
  ...functions,
  'prim::abs': { x: 'grad * torch.sgn(x)' },
  ...flat(
    'ceil floor round round.decimals trunc sign eq.Scalar eq.Tensor ne.Scalar ne.Tensor lt.Scalar lt.Tensor le.Scalar le.Tensor gt.Scalar gt.Tensor ge.Scalar ge.Tensor logical_and logical_or logical_xor logical_not',
  ),
  'frexp.Tensor': { self: 'grad / torch.exp2(exponent)' },
  ...arithmetic,
  ...choices,
  ...complexNumbers,
};
