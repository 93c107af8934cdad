/** Functions of matrices that formulas of linear algebra call. */
export const matrixHelpers: Readonly<Record<string, string>> = {
  turned: `
def turned(matrix):
    return torch.conj(torch.transpose(matrix, -2, -1))`,
  determinant_slope: `
def determinant_slope(grad, result, matrix):
    right = torch.diag_embed((grad * torch.conj(result)).unsqueeze(-1).expand(matrix.size()[:-1]))
    step = smallest_step(torch.abs(result).dtype)
    if not torch.is_grad_enabled():
        # Where the determinant is zero the right side is too, whatever stands for the zeros that it is divided by.
        LU, pivots, info = torch.linalg_lu_factor_ex(matrix)
        zeros = torch.diagonal(LU, 0, -2, -1) == 0
        return torch.linalg_lu_solve(LU + torch.diag_embed(zeros.to(matrix.dtype) * step), pivots, right, adjoint=True)
    singular = (torch.abs(result) < 100 * step).reshape([-1])
    if not bool(torch.any(singular)):
        return torch.linalg_solve(turned(matrix), right)
    n = matrix.size(-1)
    matrices = matrix.reshape([-1, n, n])
    U, S, Vh = torch.linalg_svd(matrices[singular], True)
    signs = torch.conj(torch.linalg_det(U) * torch.linalg_det(Vh)) * grad.reshape([-1])[singular]
    slopes = torch.matmul(U * product_of_others(signs.unsqueeze(-1), S, -1).unsqueeze(-2), Vh)
    others = torch.logical_not(singular)
    solved = torch.linalg_solve(turned(matrices[others]), right.reshape([-1, n, n])[others])
    whole = torch.zeros_like(matrices).index_put([singular], slopes).index_put([others], solved)
    return whole.reshape(matrix.size())`,
  log_determinant_slope: `
def log_determinant_slope(grad, grad1, sign, matrix):
    scale = torch.complex(grad1, -torch.imag(torch.conj(grad) * sign)) if matrix.is_complex() else grad1
    return scale.unsqueeze(-1).unsqueeze(-1) * turned(torch.linalg_inv(matrix))`,
  cholesky_slope: `
def cholesky_slope(grad, result, upper: bool):
    lower = turned(result) if upper else result
    slope = turned(grad) if upper else grad
    whole = torch.tril(torch.matmul(turned(lower), slope))
    whole = (whole + turned(torch.tril(whole, -1))) * 0.5
    found = torch.linalg_solve_triangular(turned(lower), whole, upper=True)
    return torch.linalg_solve_triangular(lower, found, upper=False, left=False)`,
  factor_slope: `
def factor_slope(slope, factor, upper: bool):
    both = slope + turned(slope)
    return -torch.matmul(factor, both) if upper else -torch.matmul(both, factor)`,
  solution_slopes: `
def solution_slopes(grad, A, result, size: List[int], left: bool):
    isVector = len(size) == 1 or (A.dim() - 1 == len(size) and size == A.size()[:-1])
    given = grad.unsqueeze(-1) if isVector else grad
    found = result.unsqueeze(-1) if isVector else result
    right = torch.linalg_solve(turned(A), given, left=left)
    slope = -torch.matmul(right, turned(found)) if left else -torch.matmul(turned(found), right)
    return slope, right.squeeze(-1) if isVector else right`,
  gaps_between: `
def gaps_between(values):
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    return gaps + torch.eye(values.size(-1), dtype=values.dtype)`,
  over: `
def over(slope, by):
    # Where there is no slope there is none, whatever it is divided by: values alone may be equal.
    return torch.masked_fill(slope / by, slope == 0, 0)`,
  hermitian_slope: `
def hermitian_slope(grad, grad1, values, vectors):
    inner = torch.matmul(turned(vectors), grad1)
    inner = over((inner - turned(inner)) / 2, gaps_between(values))
    inner = inner - torch.diag_embed(torch.diagonal(inner, 0, -2, -1)) + torch.diag_embed(grad).to(inner.dtype)
    return torch.matmul(vectors, torch.matmul(inner, turned(vectors)))`,
  eigen_slope: `
def eigen_slope(grad, grad1, values, vectors):
    inner = torch.matmul(turned(vectors), grad1)
    lengths = torch.real(torch.diagonal(inner, 0, -2, -1))
    inner = inner - torch.matmul(turned(vectors), vectors) * lengths.unsqueeze(-2)
    inner = over(inner, torch.conj(gaps_between(values)))
    inner = inner - torch.diag_embed(torch.diagonal(inner, 0, -2, -1)) + torch.diag_embed(grad)
    return torch.linalg_solve(turned(vectors), torch.matmul(inner, turned(vectors)))`,
  singular_slope: `
def singular_slope(grad, grad1, grad2, U, S, Vh):
    k = S.size(-1)
    left = torch.narrow(U, -1, 0, k)
    right = torch.narrow(Vh, -2, 0, k)
    gl = torch.narrow(grad, -1, 0, k)
    gr = torch.narrow(grad2, -2, 0, k)
    squares = S * S
    gaps = gaps_between(squares)
    own = torch.matmul(turned(left), gl)
    other = torch.matmul(right, turned(gr))
    inner = over(own - turned(own), gaps) * S.unsqueeze(-2) + S.unsqueeze(-1) * over(other - turned(other), gaps)
    if inner.is_complex():
        turning = torch.diagonal(own, 0, -2, -1)
        inner = inner + torch.diag_embed(over(turning - torch.conj(turning), 2 * S))
    inner = inner + torch.diag_embed(grad1).to(inner.dtype)
    slope = torch.matmul(left, inner)
    if U.size(-2) > k:
        slope = slope + over(gl - torch.matmul(left, own), S.unsqueeze(-2))
    slope = torch.matmul(slope, right)
    if Vh.size(-1) > k:
        rest = gr - torch.matmul(torch.matmul(gr, turned(right)), right)
        slope = slope + torch.matmul(left, over(rest, S.unsqueeze(-1)))
    return slope`,
  orthogonal_slope: `
def orthogonal_slope(grad, grad1, A, Q, R, isComplete: bool):
    m = A.size(-2)
    n = A.size(-1)
    assert not isComplete or m <= n, "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
    assert Q.numel() > 0 or A.numel() == 0, "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if you are going to require gradients"
    if m >= n:
        return square_orthogonal_slope(grad, grad1, Q, R)
    rest = torch.narrow(A, -1, m, n - m)
    above = torch.narrow(grad1, -1, 0, m)
    beside = torch.narrow(grad1, -1, m, n - m)
    first = square_orthogonal_slope(grad + torch.matmul(rest, turned(beside)), above, Q, torch.narrow(R, -1, 0, m))
    return torch.cat([first, torch.matmul(Q, beside)], -1)`,
  square_orthogonal_slope: `
def square_orthogonal_slope(grad, grad1, Q, R):
    inner = torch.triu(torch.matmul(grad1, turned(R)) - torch.matmul(turned(Q), grad))
    both = inner + turned(inner)
    middle = torch.diagonal(both, 0, -2, -1)
    both = both - torch.diag_embed(middle) * 0.5
    slope = torch.matmul(Q, both) + grad
    return torch.linalg_solve_triangular(turned(R), slope, upper=False, left=False)`,
  pseudo_inverse_slope: `
def pseudo_inverse_slope(grad, inverse, A):
    back = turned(inverse)
    given = turned(grad)
    if A.size(-2) <= A.size(-1):
        k = torch.matmul(given, inverse)
        kb = torch.matmul(k, back)
        return -turned(torch.matmul(inverse, k)) + kb - torch.matmul(torch.matmul(A, inverse), kb) + torch.matmul(torch.matmul(back, inverse), given - torch.matmul(k, A))
    k = torch.matmul(inverse, given)
    bk = torch.matmul(back, k)
    return -turned(torch.matmul(k, inverse)) + torch.matmul(torch.matmul(given - torch.matmul(A, k), inverse), back) + bk - torch.matmul(torch.matmul(bk, inverse), A)`,
  nuclear: `
def nuclear(self, dims: List[int], keepdim: bool):
    rank = self.dim()
    moved = torch.movedim(self, dims, [-2, -1])
    total = torch.sum(torch.linalg_svd(moved, False)[1], [-1])
    return unsqueezed(total, dims, rank, False) if keepdim else total`,
  matrix_norm: `
def matrix_norm(self, order: float, dims: List[int], keepdim: bool):
    rank = self.dim()
    rows = wrap(dims[0], rank)
    columns = wrap(dims[1], rank)
    isSpectral = abs(order) == 2.
    isEmpty = self.size(columns) == 0 if abs(order) == 1. else self.size(rows) == 0
    if order > 0. and (isEmpty or isSpectral and self.size(columns) == 0):
        # The greatest of nothing: zeros that come of nothing.
        return torch.linalg_matrix_norm(self.detach(), order, dims, keepdim)
    if isSpectral:
        values = torch.linalg_svd(torch.movedim(self, dims, [-2, -1]), False)[1]
        found = torch.amax(values, [-1]) if order > 0. else torch.amin(values, [-1])
    else:
        summed = rows if abs(order) == 1. else columns
        kept = columns if abs(order) == 1. else rows
        sums = torch.sum(torch.abs(self), [summed], True)
        found = torch.amax(sums, [kept], True) if order > 0. else torch.amin(sums, [kept], True)
        found = found.reshape([self.size(d) for d in others_of([rows, columns], rank)])
    return unsqueezed(found, dims, rank, False) if keepdim else found`,
  triangular_slope: `
def triangular_slope(grad1, grad2, P, L, U):
    m = L.size(-2)
    n = U.size(-1)
    k = min(m, n)
    first = torch.narrow(L, -2, 0, k)
    square = torch.narrow(U, -1, 0, k)
    gl = torch.narrow(grad1, -2, 0, k)
    gu = torch.narrow(grad2, -1, 0, k)
    rest = grad1
    if m > k:
        rest = torch.linalg_solve_triangular(turned(square), torch.narrow(grad1, -2, k, m - k), upper=False, left=False)
        gu = gu - torch.matmul(turned(torch.narrow(L, -2, k, m - k)), rest)
    elif n > k:
        rest = torch.linalg_solve_triangular(turned(first), torch.narrow(grad2, -1, k, n - k), upper=True)
        gl = gl - torch.matmul(rest, turned(torch.narrow(U, -1, k, n - k)))
    inner = torch.tril(torch.matmul(turned(first), gl), -1) + torch.triu(torch.matmul(gu, turned(square)))
    inner = torch.linalg_solve_triangular(turned(square), inner, upper=False, left=False)
    slope = torch.linalg_solve_triangular(turned(first), inner, upper=True, unitriangular=True)
    if m > k:
        slope = torch.cat([slope, rest], -2)
    elif n > k:
        slope = torch.cat([slope, rest], -1)
    return torch.matmul(P, slope)`,
  packed_triangular_slope: `
def packed_triangular_slope(grad, LU, pivots):
    P, L, U = torch.lu_unpack(LU, pivots)
    k = min(LU.size(-2), LU.size(-1))
    below = torch.narrow(torch.tril(grad, -1), -1, 0, k)
    above = torch.narrow(torch.triu(grad), -2, 0, k)
    return triangular_slope(below, above, P, L, U)`,
  factored_solution: `
def factored_solution(P, L, U, B, left: bool, adjoint: bool):
    if not left:
        return turned(factored_solution_of(P, L, U, turned(B), not adjoint))
    return factored_solution_of(P, L, U, B, adjoint)`,
  factored_solution_of: `
def factored_solution_of(P, L, U, B, adjoint: bool):
    if adjoint:
        half = torch.linalg_solve_triangular(turned(U), B, upper=False)
        return torch.matmul(P, torch.linalg_solve_triangular(turned(L), half, upper=True, unitriangular=True))
    half = torch.linalg_solve_triangular(L, torch.matmul(turned(P), B), upper=False, unitriangular=True)
    return torch.linalg_solve_triangular(U, half, upper=True)`,
  reflected: `
def reflected(vectors, tau):
    return torch.narrow(reflections(vectors, tau), -1, 0, vectors.size(-1))`,
  reflections: `
def reflections(vectors, tau):
    m = vectors.size(-2)
    n = vectors.size(-1)
    whole = torch.expand(torch.eye(m, dtype=vectors.dtype), vectors.size()[:-2] + [m, m])
    units = torch.eye(m, n, dtype=vectors.dtype)
    columns = torch.tril(vectors, -1) + units
    for at in range(tau.size(-1)):
        column = torch.narrow(columns, -1, at, 1)
        scaled = torch.matmul(whole, column) * torch.narrow(tau, -1, at, 1).unsqueeze(-1)
        whole = whole - torch.matmul(scaled, turned(column))
    return whole`,
  distance_slopes: `
def distance_slopes(grad, x1, x2, p: float, result):
    apart = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    slope = norm_slope(grad, apart, p, result, [-1], False)
    return torch.sum_to_size(torch.sum(slope, [-2]), x1.size()), torch.sum_to_size(-torch.sum(slope, [-3]), x2.size())`,
  matmul_left_slope: `
def matmul_left_slope(grad, size: List[int], other):
    conjugate = torch.conj(other)
    if len(size) == 1 and other.dim() == 1:
        return grad * conjugate
    if len(size) == 1:
        return torch.sum_to_size(torch.matmul(grad.unsqueeze(-2), torch.transpose(conjugate, -2, -1)).squeeze(-2), size)
    if other.dim() == 1:
        return torch.sum_to_size(grad.unsqueeze(-1) * conjugate, size)
    return torch.sum_to_size(torch.matmul(grad, torch.transpose(conjugate, -2, -1)), size)`,
  matmul_right_slope: `
def matmul_right_slope(grad, self, size: List[int]):
    conjugate = torch.conj(self)
    if self.dim() == 1 and len(size) == 1:
        return grad * conjugate
    if self.dim() == 1:
        return torch.sum_to_size(conjugate.unsqueeze(-1) * grad.unsqueeze(-2), size)
    if len(size) == 1:
        return torch.mv(torch.transpose(torch.flatten(conjugate, 0, -2), 0, 1), torch.flatten(grad))
    if len(size) == 2:
        return torch.mm(torch.transpose(torch.flatten(conjugate, 0, -2), 0, 1), torch.flatten(grad, 0, -2))
    return torch.sum_to_size(torch.matmul(torch.transpose(conjugate, -2, -1), grad), size)`,
};
