import { broadcasting, nowhere, ofSelf, type FormulaTable } from './formula.ts';

const clamped = (bound: (name: string) => string): string => `
    def backward(grad):
        if min is not None and max is not None:
            inside = ((self >= ${bound('min')}) * (self <= ${bound('max')})).type_as(self)
            return grad * inside, None, None
        elif min is not None:
            inside = (self >= ${bound('min')}).type_as(self)
            return grad * inside, None, None
        elif max is not None:
            inside = (self <= ${bound('max')}).type_as(self)
            return grad * inside, None, None
        else:
            return grad, None, None

    return torch.clamp(self, min=min, max=max), backward
`;

/** Operators of two tensors, or of a tensor and a number. */
export const arithmetic: FormulaTable = {
  'add.Tensor': broadcasting({ other: 'grad * alpha', self: 'grad' }),
  'add.Scalar': ofSelf('grad'),
  'sub.Tensor': broadcasting({ other: '-grad * alpha', self: 'grad' }),
  'sub.Scalar': ofSelf('grad'),
  'rsub.Scalar': ofSelf('-grad * alpha'),
  'mul.Tensor': broadcasting({ self: 'grad * other', other: 'grad * self' }),
  'mul.Scalar': ofSelf('grad * other'),
  'div.Tensor': broadcasting({ self: 'grad / other', other: '-grad * self / (other * other)' }),
  'div.Scalar': ofSelf('grad / other'),
  'div.Tensor_mode': `
def div(self, other, rounding_mode: Optional[str]):
    result = torch.div(self, other, rounding_mode=rounding_mode)
    self_size, other_size = AD_sizes_if_not_equal(self, other, result)
    def backward(grad):
        if rounding_mode is None:
            grad_self = (grad / other)._grad_sum_to_size(self_size)
            grad_other = (-grad * self / (other * other))._grad_sum_to_size(other_size)
        else:
            grad_self = torch.zeros_like(self)
            grad_other = torch.zeros_like(other)
        return grad_self, grad_other, None

    return result, backward
`,
  'div.Scalar_mode': `
def div(self, other: number, rounding_mode: Optional[str]):
    result = torch.div(self, other, rounding_mode=rounding_mode)
    def backward(grad):
        if rounding_mode is None:
            grad_self = grad / other
        else:
            grad_self = torch.zeros_like(self, memory_format=1)
        return grad_self, None, None

    return result, backward
`,
  'fmod.Scalar': ofSelf('grad'),
  'remainder.Scalar': ofSelf('grad'),
  'max.other': broadcasting({
    self: 'grad * (self > other).type_as(grad)',
    other: 'grad * (other > self).type_as(grad)',
  }),
  'min.other': {
    gradients: {
      self: '(grad * (self < other).type_as(grad))._grad_sum_to_size(self.size())',
      other: '(grad * (other < self).type_as(grad))._grad_sum_to_size(other.size())',
    },
  },
  'where.self': broadcasting({
    self: 'grad * condition.type_as(grad)',
    other: 'grad * condition.bitwise_not().type_as(grad)',
  }),
  'lerp.Scalar': {
    gradients: { self: 'grad * (1 - float(weight))', end: 'grad * float(weight)' },
    sizes: 'one by one',
  },
  'lerp.Tensor': {
    gradients: { self: 'grad * (1 - weight)', end: 'grad * weight', weight: 'grad * (end - self)' },
    sizes: 'one by one',
  },
  addcmul: {
    gradients: { scaled: 'grad * value', tensor1: 'scaled * tensor2', tensor2: 'scaled * tensor1', self: 'grad' },
    sizes: 'one by one',
  },
  'pow.Tensor_Scalar': `
def pow(self, exponent: number):
    def backward(grad):
        if float(exponent) == 0.0:
            grad_self = torch.zeros_like(self, memory_format=1)
        else:
            grad_self = grad * exponent * torch.pow(self, float(exponent) - 1)
        return grad_self, None

    return torch.pow(self, exponent), backward
`,
  'pow.Tensor_Tensor': {
    gradients: {
      self: 'torch.where(exponent == 0.0, torch.zeros_like(self, memory_format=1), grad * exponent * torch.pow(self, exponent - 1))',
      exponent: 'grad * torch.pow(self, exponent) * torch.log(self)',
    },
    sizes: 'one by one',
  },
  'pow.Scalar': { gradients: { exponent: 'grad * torch.pow(self, exponent) * torch.log(float(self))' } },
  clamp: `
def clamp(self, min: Optional[number], max: Optional[number]):${clamped((name) => `float(${name})`)}`,
  'clamp.Tensor': `
def clamp(self, min: Optional[Tensor], max: Optional[Tensor]):${clamped((name) => name)}`,
  'lt.Scalar': nowhere,
  'le.Scalar': nowhere,
  'gt.Scalar': nowhere,
  'ge.Scalar': nowhere,
  'eq.Scalar': nowhere,
  'ne.Scalar': nowhere,
};
