import { ofSelf, type FormulaTable } from './formula.ts';

/** Of functions that jump from step to step. */
const zero = ofSelf('torch.zeros_like(grad, memory_format=1)');

/** Functions of one number, element by element. */
export const functions: FormulaTable = {
  abs: ofSelf('grad * self.sign()'),
  acos: ofSelf('grad * -((-self * self + 1).rsqrt())'),
  asin: ofSelf('grad * (-self * self + 1).rsqrt()'),
  atan: ofSelf('grad / (self * self + 1)'),
  ceil: zero,
  cos: ofSelf('grad * -self.sin()'),
  cosh: ofSelf('grad * self.sinh()'),
  // 2 / √π
  erf: ofSelf('1.1283791670955126 * torch.exp(-self * self) * grad'),
  erfc: ofSelf('-1.1283791670955126 * torch.exp(-self * self) * grad'),
  exp: ofSelf('grad * result'),
  expm1: ofSelf('grad * (result + 1)'),
  floor: zero,
  frac: ofSelf('grad'),
  log: ofSelf('grad.div(self)'),
  log10: ofSelf('grad / (self * 2.3025850929940456)'),
  log1p: ofSelf('grad / (self + 1)'),
  log2: ofSelf('grad / (self * 0.6931471805599453)'),
  neg: ofSelf('grad.neg()'),
  reciprocal: ofSelf('-grad * result * result'),
  round: zero,
  rsqrt: ofSelf('-grad * result * result * result / 2'),
  sigmoid: ofSelf('(1 - result) * result * grad'),
  sin: ofSelf('grad * self.cos()'),
  sinh: ofSelf('grad * self.cosh()'),
  sqrt: ofSelf('grad / (2 * result)'),
  tan: ofSelf('grad * (1. + result * result)'),
  tanh: ofSelf('grad * (1 - result * result)'),
  trunc: zero,
};

export const activations: FormulaTable = {
  gelu: ofSelf('torch.gelu_backward(grad, self, approximate=approximate)'),
  hardshrink: { gradients: { kept: '(self > lambd) | (self < -lambd)', self: 'grad * kept' } },
  hardsigmoid: {
    gradients: {
      inside: '(self > -3.) & (self < 3.)',
      scaled: 'grad * (1.0 / 6.0)',
      self: 'torch.where(inside, scaled, inside.type_as(self))',
    },
  },
  hardswish: {
    gradients: {
      above: '(self >= 3.).type_as(result)',
      slope: 'torch.where((self > -3.) & (self < 3.), self / 3. + .5, above)',
      self: 'grad * slope',
    },
  },
  hardtanh: { gradients: { inside: '(self >= min_val) * (self <= max_val)', self: 'grad * inside' } },
  leaky_relu: ofSelf('grad * torch.where(self > 0, 1.0, negative_slope).type_as(result)'),
  relu: ofSelf('grad * (result > 0).type_as(result)'),
  relu6: ofSelf('grad * ((result > 0) & (result < 6.0))'),
  silu: { gradients: { gate: 'torch.sigmoid(self)', self: 'grad * (gate * (1 + self * (1 - gate)))' } },
  softplus: {
    gradients: {
      z: 'torch.exp(result * beta)',
      self: 'torch.where((result * beta) > threshold, grad, grad * (z - 1.) / z)',
    },
  },
  threshold: { gradients: { above: '(self >= threshold).type_as(self)', self: 'grad * above' } },
};
