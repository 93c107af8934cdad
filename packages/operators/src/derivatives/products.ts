import { forOverloads, type DerivativeTable } from './derivative.ts';

/** The conjugate transpose of a matrix, or of each of a batch. */
const H = (matrix: string): string => `torch.conj(torch.transpose(${matrix}, -2, -1))`;

const matmul = {
  self: 'matmul_left_slope(grad, self.size(), other)',
  other: 'matmul_right_slope(grad, self, other.size())',
};

/** Products of matrices and vectors. */
export const productDerivatives: DerivativeTable = {
  mm: { self: `torch.mm(grad, ${H('mat2')})`, mat2: `torch.mm(${H('self')}, grad)` },
  bmm: { self: `torch.bmm(grad, ${H('mat2')})`, mat2: `torch.bmm(${H('self')}, grad)` },
  ...forOverloads('matmul linalg_matmul', matmul),
  _grouped_mm: {
    self: 'torch._grouped_mm(grad.contiguous(), torch.transpose(mat2, -2, -1), offs)',
    mat2: 'torch._grouped_mm(torch.transpose(self, -2, -1), grad.contiguous(), offs)',
  },
  mv: { self: 'torch.outer(grad, torch.conj(vec))', vec: `torch.mv(${H('self')}, grad)` },
  dot: { self: 'grad * torch.conj(tensor)', tensor: 'grad * torch.conj(self)' },
  vdot: { self: 'torch.conj(grad) * other', other: 'grad * self' },
  linear: {
    input: 'torch.matmul(grad, torch.conj(weight)) if weight.dim() == 2 else grad.unsqueeze(-1) * torch.conj(weight)',
    weight: `
rows = grad.reshape([-1, grad.size(-1)]) if weight.dim() == 2 else grad.reshape([-1, 1])
product = torch.mm(torch.transpose(rows, 0, 1), torch.conj(input).reshape([-1, input.size(-1)]))
return product if weight.dim() == 2 else product.reshape([-1])`,
    bias: 'grad',
  },
  addmm: {
    self: 'scaled(grad, beta)',
    mat1: `scaled(torch.mm(grad, ${H('mat2')}), alpha)`,
    mat2: `scaled(torch.mm(${H('mat1')}, grad), alpha)`,
  },
  addmv: {
    self: 'scaled(grad, beta)',
    mat: 'scaled(torch.outer(grad, torch.conj(vec)), alpha)',
    vec: `scaled(torch.mv(${H('mat')}, grad), alpha)`,
  },
  addr: {
    self: 'scaled(grad, beta)',
    vec1: 'scaled(torch.mv(grad, torch.conj(vec2)), alpha)',
    vec2: 'scaled(torch.mv(torch.transpose(grad, 0, 1), torch.conj(vec1)), alpha)',
  },
  baddbmm: {
    self: 'scaled(grad, beta)',
    batch1: `scaled(torch.bmm(grad, ${H('batch2')}), alpha)`,
    batch2: `scaled(torch.bmm(${H('batch1')}, grad), alpha)`,
  },
  addbmm: {
    self: 'scaled(grad, beta)',
    batch1: `scaled(torch.bmm(torch.expand(grad.unsqueeze(0), [batch1.size(0), batch1.size(1), batch2.size(2)]), ${H('batch2')}), alpha)`,
    batch2: `scaled(torch.bmm(${H('batch1')}, torch.expand(grad.unsqueeze(0), [batch1.size(0), batch1.size(1), batch2.size(2)])), alpha)`,
  },
  ...forOverloads('outer ger', {
    self: 'torch.mv(grad, torch.conj(vec2))',
    vec2: 'torch.mv(torch.transpose(grad, 0, 1), torch.conj(self))',
  }),
  inner: {
    '=': `
if self.dim() == 0 or other.dim() == 0:
    return self * other
return torch.tensordot(self, other, [-1], [-1])`,
  },
  kron: {
    '=': `
rank = max(self.dim(), other.dim())
left: List[int] = []
right: List[int] = []
size: List[int] = []
for d in range(rank):
    a = self.size(d - rank + self.dim()) if d >= rank - self.dim() else 1
    b = other.size(d - rank + other.dim()) if d >= rank - other.dim() else 1
    left.append(a)
    left.append(1)
    right.append(1)
    right.append(b)
    size.append(a * b)
return (self.reshape(left) * other.reshape(right)).reshape(size)`,
  },
  tensordot: {
    '=': `
a = [wrap(d, self.dim()) for d in dims_self]
b = [wrap(d, other.dim()) for d in dims_other]
kept_a = others_of(a, self.dim())
kept_b = others_of(b, other.dim())
left = self
right = other
for at in range(len(a)):
    if self.size(a[at]) != other.size(b[at]):
        left = torch.sum(left, [a[at]], True) if self.size(a[at]) != 1 else left
        right = torch.sum(right, [b[at]], True) if other.size(b[at]) != 1 else right
size: List[int] = []
rows = 1
columns = 1
for d in kept_a:
    size.append(self.size(d))
    rows *= self.size(d)
for d in kept_b:
    size.append(other.size(d))
    columns *= other.size(d)
inner = 1
for d in a:
    inner *= left.size(d)
product = torch.mm(torch.permute(left, kept_a + a).reshape([rows, inner]), torch.permute(right, b + kept_b).reshape([inner, columns]))
return product.reshape(size)`,
  },
  linalg_vecdot: { '=': 'torch.sum(torch.conj(x) * y, [dim])' },
  linalg_multi_dot: {
    '=': `
product = tensors[0]
for at in range(1, len(tensors)):
    product = torch.matmul(product, tensors[at])
return product`,
  },
};
