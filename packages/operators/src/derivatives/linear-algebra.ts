import { forOverloads, type DerivativeTable } from './derivative.ts';

const H = (matrix: string): string => `torch.conj(torch.transpose(${matrix}, -2, -1))`;

const inverse = (result: string): string => `-torch.matmul(${H(result)}, torch.matmul(grad, ${H(result)}))`;

const solved = (result: string): DerivativeTable[string] => ({
  'A, B': `solution_slopes(grad, A, ${result}, B.size(), left)`,
});

const determinant = (matrix: string): string => `determinant_slope(grad, result, ${matrix})`;

const logOfDeterminant = (matrix: string): string => `log_determinant_slope(grad, grad1, sign, ${matrix})`;

const exponential = {
  self: `
n = self.size(-1)
turned = torch.conj(torch.transpose(self, -2, -1))
above = torch.cat([turned, grad], -1)
below = torch.cat([torch.zeros_like(turned), turned], -1)
whole = torch.matrix_exp(torch.cat([above, below], -2))
return torch.narrow(torch.narrow(whole, -2, 0, n), -1, n, n)`,
};

const power = {
  '=': `
if n == 0:
    return self.clone().copy_(torch.eye(self.size(-1), dtype=self.dtype))
base = torch.linalg_inv(self) if n < 0 else self
result = base
for at in range(abs(n) - 1):
    result = torch.matmul(result, base)
return result`,
};

const pseudoInverse = (matrix: string): DerivativeTable[string] => ({
  [matrix]: `pseudo_inverse_slope(grad, result, ${matrix})`,
});

/** Decompositions, solutions and functions of matrices, or of each of a batch. */
export const linearAlgebraDerivatives: DerivativeTable = {
  ...forOverloads('linalg_cholesky cholesky', { self: 'cholesky_slope(grad, result, upper)' }),
  linalg_cholesky_ex: { self: 'cholesky_slope(grad, L, upper)' },
  linalg_inv: { A: inverse('result') },
  inverse: { self: inverse('result') },
  linalg_inv_ex: { A: inverse('inverse') },
  linalg_solve: solved('result'),
  linalg_solve_ex: solved('result'),
  _linalg_solve_ex: solved('result'),
  linalg_solve_triangular: {
    'self, B': `
turned = torch.conj(torch.transpose(self, -2, -1))
right = torch.linalg_solve_triangular(turned, grad, upper=not upper, left=left, unitriangular=unitriangular)
found = torch.conj(torch.transpose(result, -2, -1))
slope = -torch.matmul(right, found) if left else -torch.matmul(found, right)
first = 1 if unitriangular else 0
return torch.triu(slope, first) if upper else torch.tril(slope, -first), right`,
  },
  triangular_solve: {
    '=': `
given = torch.transpose(A, -2, -1) if transpose else A
return torch.linalg_solve_triangular(given, self, upper=upper != transpose, left=True, unitriangular=unitriangular), A.clone()`,
  },
  cholesky_solve: {
    'self, input2': `
side = torch.cholesky_solve(grad, input2, upper)
return side, factor_slope(torch.matmul(side, turned(result)), input2, upper)`,
  },
  cholesky_inverse: {
    self: 'factor_slope(torch.matmul(result, torch.matmul(grad, result)), self, upper)',
  },
  ...forOverloads('linalg_det', { A: determinant('A') }),
  det: { self: determinant('self') },
  _linalg_det: { A: determinant('A') },
  logdet: { self: `grad.unsqueeze(-1).unsqueeze(-1) * ${H('torch.linalg_inv(self)')}` },
  ...forOverloads('linalg_slogdet _linalg_slogdet', { A: logOfDeterminant('A') }),
  slogdet: { self: logOfDeterminant('self') },
  ...forOverloads('matrix_exp linalg_matrix_exp', exponential),
  ...forOverloads('matrix_power linalg_matrix_power', power),
  ...forOverloads('linalg_eigh', { self: 'hermitian_slope(grad, grad1, eigenvalues, eigenvectors)' }),
  _linalg_eigh: { A: 'hermitian_slope(grad, grad1, eigenvalues, eigenvectors)' },
  linalg_eigvalsh: { '=': 'torch.linalg_eigh(self, UPLO)[0]' },
  linalg_eig: { self: 'eigen_slope(grad, grad1, eigenvalues, eigenvectors)' },
  ...forOverloads('linalg_eigvals _linalg_eigvals', { '=': 'torch.linalg_eig(self)[0]' }),
  linalg_svd: { A: 'singular_slope(grad, grad1, grad2, U, S, Vh)' },
  _linalg_svd: { A: 'singular_slope(grad, grad1, grad2, U, S, Vh)' },
  svd: { self: `singular_slope(grad, grad1, ${H('grad2')}, U, S, ${H('V')})` },
  linalg_svdvals: { '=': 'torch.linalg_svd(A, False)[1]' },
  linalg_qr: { A: 'orthogonal_slope(grad, grad1, A, Q, R, mode == "complete")' },
  qr: { self: 'orthogonal_slope(grad, grad1, self, Q, R, not some)' },
  'linalg_pinv.atol_rtol_float': pseudoInverse('self'),
  linalg_pinv: pseudoInverse('self'),
  'linalg_pinv.atol_rtol_tensor': pseudoInverse('self'),
  'linalg_pinv.rcond_tensor': pseudoInverse('self'),
  pinverse: pseudoInverse('self'),
  linalg_lstsq: {
    'self, b': `
inverse = torch.linalg_pinv(self)
turned = torch.conj(torch.transpose(inverse, -2, -1))
isVector = b.dim() == self.dim() - 1
given = grad.unsqueeze(-1) if isVector else grad
right = b.unsqueeze(-1) if isVector else b
slope = pseudo_inverse_slope(torch.matmul(given, torch.conj(torch.transpose(right, -2, -1))), inverse, self)
side = torch.matmul(turned, given)
if residuals.numel() > 0:
    found = solution.unsqueeze(-1) if isVector else solution
    apart = 2 * (grad1.unsqueeze(-1) if isVector else grad1).unsqueeze(-2) * (torch.matmul(self, found) - right)
    slope = slope + torch.matmul(apart, torch.conj(torch.transpose(found, -2, -1)))
    side = side - apart
return slope, side.squeeze(-1) if isVector else side`,
  },
  linalg_matrix_norm: { '=': 'matrix_norm(self, float(ord), dim, keepdim)' },
  'linalg_matrix_norm.str_ord': {
    '=': `
if ord == "fro":
    return torch.linalg_vector_norm(self, 2, dim, keepdim)
return nuclear(self, dim, keepdim)`,
  },
  linalg_norm: {
    '=': `
if ord is None:
    if dim is None:
        flat = torch.linalg_vector_norm(self.reshape([-1]), 2, [0], False)
        return flat.reshape([1] * self.dim()) if keepdim else flat
    return torch.linalg_vector_norm(self, 2, dim, keepdim)
axes = [d for d in range(self.dim())]
if dim is not None:
    axes = dim
if len(axes) == 2:
    return matrix_norm(self, float(ord), axes, keepdim)
return torch.linalg_vector_norm(self, ord, axes, keepdim)`,
  },
  'linalg_norm.ord_str': {
    '=': `
axes = [-2, -1]
if dim is not None:
    axes = dim
if ord == "fro":
    return torch.linalg_vector_norm(self, 2, axes, keepdim)
return nuclear(self, axes, keepdim)`,
  },
  nuclear_norm: { '=': 'nuclear(self, [-2, -1], keepdim)' },
  'nuclear_norm.dim': { '=': 'nuclear(self, dim, keepdim)' },
  linalg_cond: {
    '=': `
order = 2. if p is None else float(p)
if order == 2. or order == -2.:
    values = torch.linalg_svd(self, False)[1]
    return values[..., 0] / values[..., -1] if order == 2. else values[..., -1] / values[..., 0]
return matrix_norm(self, order, [-2, -1], False) * matrix_norm(torch.linalg_inv(self), order, [-2, -1], False)`,
  },
  'linalg_cond.p_str': {
    '=': `
back = torch.linalg_inv(self)
if p == "fro":
    return torch.linalg_vector_norm(self, 2, [-2, -1]) * torch.linalg_vector_norm(back, 2, [-2, -1])
return nuclear(self, [-2, -1], False) * nuclear(back, [-2, -1], False)`,
  },
  ...forOverloads('linalg_householder_product', { '=': 'reflected(input, tau)' }),
  orgqr: { '=': 'reflected(self, input2)' },
  ormqr: {
    '=': `
whole = reflections(self, input2)
if transpose:
    whole = turned(whole)
return torch.matmul(whole, input3) if left else torch.matmul(input3, whole)`,
  },
  linalg_tensorinv: {
    '=': `
first = self.size()[:ind]
last = self.size()[ind:]
rows = 1
for length in last:
    rows *= length
return torch.reshape(torch.linalg_inv(torch.reshape(self, [-1, rows])), last + first)`,
  },
  linalg_tensorsolve: {
    '=': `
given = self
if dims is not None:
    moved = [wrap(d, self.dim()) for d in dims]
    given = torch.permute(self, others_of(moved, self.dim()) + moved)
size = given.size()[other.dim():]
return torch.reshape(torch.linalg_solve(torch.reshape(given, [other.numel(), -1]), torch.reshape(other, [-1])), size)`,
  },
  linalg_lu: { A: 'triangular_slope(grad1, grad2, P, L, U)' },
  ...forOverloads('linalg_lu_factor linalg_lu_factor_ex', { A: 'packed_triangular_slope(grad, LU, pivots)' }),
  _lu_with_info: { self: 'packed_triangular_slope(grad, LU, pivots)' },
  lu_unpack: {
    LU_data: `
below = torch.tril(grad1, -1)
above = torch.triu(grad2)
k = below.size(-1)
if LU_data.size(-1) > k:
    below = torch.cat([below, torch.zeros_like(torch.narrow(above, -1, k, LU_data.size(-1) - k))], -1)
if LU_data.size(-2) > k:
    above = torch.cat([above, torch.zeros_like(torch.narrow(below, -2, k, LU_data.size(-2) - k))], -2)
return below + above`,
  },
  linalg_lu_solve: {
    '=': `
P, L, U = torch.lu_unpack(LU, pivots)
return factored_solution(P, L, U, B, left, adjoint)`,
  },
  lu_solve: {
    '=': `
P, L, U = torch.lu_unpack(LU_data, LU_pivots)
return factored_solution(P, L, U, self, True, False)`,
  },
  cdist: { 'x1, x2': 'distance_slopes(grad, x1, x2, p, result)' },
  _cdist_forward: { 'x1, x2': 'distance_slopes(grad, x1, x2, p, result)' },
  pdist: {
    self: `
pairs = torch.triu_indices(self.size(0), self.size(0), 1)
apart = torch.index_select(self, 0, pairs[0]) - torch.index_select(self, 0, pairs[1])
slope = norm_slope(grad, apart, p, result, [-1], False)
return torch.index_add(torch.index_add(torch.zeros_like(self), 0, pairs[0], slope), 0, pairs[1], -slope)`,
  },
};
