import { forOverloads, type DerivativeFormulas, type DerivativeTable } from './derivative.ts';

/** What is dropped is so at random, element by element or channel by channel; what is left grows in turn. */
const dropped = (input: string, noise: string): string => `
if p == 0. or not train:
    return ${input}
if p == 1.:
    return ${times(input, `torch.zeros(${noise}, dtype=${input}.dtype)`)}
noise = torch.empty(${noise}, dtype=${input}.dtype).bernoulli_(1. - p).div_(1. - p)
return ${times(input, 'noise')}`;

/** Puts what `selu` falls to in the place of what is dropped, and keeps mean and variance. */
const alphaDropped = (input: string, noise: string): string => `
if p == 0. or not train:
    return ${input}
if p == 1.:
    return ${times(input, `torch.zeros(${noise}, dtype=${input}.dtype)`)}
alpha = 1.7580993408473766
a = ((alpha * alpha * p + 1.) * (1. - p)) ** -0.5
kept = torch.empty(${noise}, dtype=${input}.dtype).bernoulli_(1. - p)
return ${times(input, '(kept * a)')}${input === 'self' ? '.add_(' : ' + ('}(kept - 1.) * (alpha * a) + alpha * a * p)`;

/** Forms that take `self` write to it. */
const times = (input: string, noise: string): string =>
  input === 'self' ? `self.mul_(${noise})` : `${input} * ${noise}`;

const channelsOf = (input: string): string => `[${input}.size(0), ${input}.size(1)] + [1] * (${input}.dim() - 2)`;

/** What is made of straight pieces. */
const straight = (self: string): DerivativeFormulas => ({ self, '~': 'self' });

/** Activations, and what training makes at random of their values. */
export const activationDerivatives: DerivativeTable = {
  ...forOverloads('fake_quantize_per_tensor_affine_cachemask fake_quantize_per_channel_affine_cachemask', {
    self: 'grad * mask',
  }),
  relu: straight('torch.where(result <= 0, torch.zeros_like(grad), grad)'),
  relu6: straight('torch.hardtanh_backward(grad, self, 0, 6)'),
  hardtanh: straight('torch.hardtanh_backward(grad, self, min_val, max_val)'),
  leaky_relu: straight('torch.where(self > 0, grad, grad * negative_slope)'),
  threshold: straight('torch.where(self <= threshold, torch.zeros_like(grad), grad)'),
  elu: { self: 'torch.elu_backward(grad, alpha, scale, input_scale, False, self)' },
  selu: { self: 'torch.elu_backward(grad, 1.6732632423543772, 1.0507009873554805, 1, False, self)' },
  celu: { self: 'torch.elu_backward(grad, alpha, 1, 1.0 / float(alpha), False, self)' },
  gelu: { self: 'torch.gelu_backward(grad, self, approximate=approximate)' },
  silu: {
    self: `
s = torch.sigmoid(self)
return grad * torch.conj(s * (1 + self * (1 - s)))`,
  },
  mish: { self: 'torch.mish_backward(grad, self)' },
  hardswish: { self: 'torch.hardswish_backward(grad, self)' },
  hardsigmoid: { self: 'torch.hardsigmoid_backward(grad, self)' },
  hardshrink: straight('torch.hardshrink_backward(grad, self, lambd)'),
  softshrink: straight('torch.softshrink_backward(grad, self, lambd)'),
  softplus: { self: 'torch.softplus_backward(grad, self, beta, threshold)' },
  log_sigmoid: { self: 'grad * torch.sigmoid(-self)' },
  glu: { self: 'torch.glu_backward(grad, self, dim)' },
  prelu: {
    self: 'torch.where(self > 0, grad, grad * along_channels(weight, self))',
    weight: `
gradient = torch.where(self > 0, torch.zeros_like(grad), grad * self)
if weight.numel() == 1:
    return torch.sum(gradient).reshape(weight.size())
return torch.sum_to_size(gradient, along_channels(weight, self).size()).reshape(weight.size())`,
  },
  _prelu_kernel: {
    self: 'torch.where(self > 0, grad, grad * weight)',
    weight: 'torch.where(self > 0, torch.zeros_like(grad), grad * self)',
  },
  dropout: { '=': dropped('input', 'input.size()') },
  dropout_: { '=': dropped('self', 'self.size()') },
  feature_dropout: { '=': dropped('input', channelsOf('input')) },
  feature_dropout_: { '=': dropped('self', channelsOf('self')) },
  alpha_dropout: { '=': alphaDropped('input', 'input.size()') },
  alpha_dropout_: { '=': alphaDropped('self', 'self.size()') },
  feature_alpha_dropout: { '=': alphaDropped('input', channelsOf('input')) },
  feature_alpha_dropout_: { '=': alphaDropped('self', channelsOf('self')) },
  native_dropout: { input: 'grad * result1 * (1.0 / (1.0 - p) if p < 1. else 0.) if train is None or train else grad' },
  ...forOverloads('softmax.int _softmax', { self: 'softmax_slope(grad, result, dim)' }),
  ...forOverloads('log_softmax.int _log_softmax', {
    self: 'grad - torch.exp(result) * torch.sum(grad, [dim], True)',
  }),
};
