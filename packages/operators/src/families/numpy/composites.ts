import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** Operators said in terms of others (ATen/native/Integration.cpp, Correlation.cpp, ReduceOps.cpp, Cross.cpp). dtypes are
 * their numbers: 4 is int64, 11 bool. */

/** The trapezoid rule's text for a spacing given as a number or as sample points. */
const byPoints = (name: string, sum: string): string => `
    assert x.dtype != 11 and y.dtype != 11, "${name}: received a bool input for \`x\` or \`y\`, but bool is not supported"
    if x.dim() == 1:
        assert x.size(0) == y.size(dim), "${name}: There must be one \`x\` value for each sample point"
        shape = [1] * y.dim()
        shape[dim] = x.size(0) - 1
        spacing = torch.diff(x).view(shape)
    else:
        spacing = torch.diff(x, 1, dim)
    heights = torch.slice_copy(y, dim, 0, -1) + torch.slice_copy(y, dim, 1)
    return ${sum}
`;

const trapezoidRows = (name: string, dx: 'number' | 'float'): OperatorRow[] => [
  decomposed(
    `aten::${name}.dx(Tensor y, *, ${dx === 'float' ? 'float dx=1.' : 'Scalar dx=1'}, int dim=-1) -> Tensor`,
    `
def ${name}(y: Tensor, dx: ${dx}, dim: int) -> Tensor:
    assert y.dtype != 11, "trapezoid: received a bool input for \`y\`, but bool is not supported"
    if y.size(dim) == 0:
        return torch.zeros_like(torch.sum(y, [dim]), dtype=y.dtype)
    return (torch.sum(y, [dim]) - (torch.select(y, dim, 0) + torch.select(y, dim, -1)) * 0.5) * dx
`,
  ),
  decomposed(
    `aten::${name}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor`,
    `
def ${name}(y: Tensor, x: Tensor, dim: int) -> Tensor:
    if y.size(dim) == 0:
        return torch.zeros_like(torch.sum(y, [dim]), dtype=y.dtype)${byPoints('trapezoid', 'torch.sum(heights * spacing, [dim]) / 2.')}`,
  ),
];

export const compositeRows: readonly OperatorRow[] = [
  decomposed(
    'aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor',
    `
def diff(self: Tensor, n: int, dim: int, prepend: Optional[Tensor], append: Optional[Tensor]) -> Tensor:
    assert self.dim() >= 1, "diff expects input to be at least one-dimensional"
    assert n >= 0, "order must be non-negative but got " + str(n)
    if n == 0:
        return torch.clone(self)
    x = self
    if prepend is not None:
        check_joined(prepend, self, dim)
        x = torch.cat([prepend, x], dim)
    if append is not None:
        check_joined(append, self, dim)
        x = torch.cat([x, append], dim)
    for step in range(min(n, x.size(dim))):
        length = x.size(dim) - 1
        later = torch.narrow(x, dim, 1, length)
        earlier = torch.narrow(x, dim, 0, length)
        if x.dtype == 11:
            x = torch.logical_xor(later, earlier)
        else:
            x = later - earlier
    return x

def check_joined(other: Tensor, self: Tensor, dim: int):
    assert other.dim() == self.dim(), "diff expects prepend or append to be the same dimension as input"
    for at in range(self.dim()):
        assert at == dim or at == dim + self.dim() or other.size(at) == self.size(at), f"diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; input.size({at}) = {self.size(at)}, but got tensor.size({at}) = {other.size(at)}"
`,
    { out: true },
  ),
  ...trapezoidRows('trapezoid', 'number'),
  ...trapezoidRows('trapz', 'float'),
  decomposed(
    'aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor',
    `
def cumulative_trapezoid(y: Tensor, dx: number, dim: int) -> Tensor:
    assert y.dtype != 11, "cumulative_trapezoid: received a bool input for \`y\`, but bool is not supported"
    heights = torch.slice_copy(y, dim, 0, -1) + torch.slice_copy(y, dim, 1)
    return torch.cumsum(heights, dim) * dx / 2.
`,
  ),
  decomposed(
    'aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor',
    `
def cumulative_trapezoid(y: Tensor, x: Tensor, dim: int) -> Tensor:${byPoints('cumulative_trapezoid', 'torch.cumsum(heights * spacing, dim) / 2.')}`,
  ),
  decomposed(
    'aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor',
    `
def cov(self: Tensor, correction: int, fweights: Optional[Tensor], aweights: Optional[Tensor]) -> Tensor:
    assert self.dim() <= 2, "cov(): expected input to have two or fewer dimensions but got an input with " + str(self.dim()) + " dimensions"
    assert self.dtype != 11, "cov(): bool dtype is not supported for input"
    samples = self if self.dim() == 2 else self.view([1, -1])
    count = samples.size(1)
    if fweights is not None:
        assert fweights.dim() <= 1, "cov(): expected fweights to have one or fewer dimensions but got fweights with " + str(fweights.dim()) + " dimensions"
        assert not fweights.is_floating_point() and not fweights.is_complex(), f"cov(): expected fweights to have integral dtype but got fweights with {ops.prim.dtype_name(fweights, fweights)} dtype"
        assert fweights.numel() == count, "cov(): expected fweights to have the same numel as there are observations in the input but got " + str(fweights.numel()) + " != " + str(count)
        assert count == 0 or bool(torch.min(fweights) >= 0), "cov(): fweights cannot be negative"
    weights = fweights
    if aweights is not None:
        assert aweights.dim() <= 1, f"cov(): expected aweights to have one or fewer dimensions but got aweights with {aweights.dim()} dimensions"
        assert aweights.is_floating_point(), f"cov(): expected aweights to have floating point dtype but got aweights with {ops.prim.dtype_name(aweights, aweights)} dtype"
        assert aweights.numel() == count, f"cov(): expected aweights to have the same numel as there are observations in the input but got {aweights.numel()} != {count}"
        assert count == 0 or bool(torch.min(aweights) >= 0), "cov(): aweights cannot be negative"
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        factor = torch.tensor(float(count - correction))
        mean = torch.sum(samples, [1], True) / float(count)
        centred = samples - mean
        product = torch.mm(centred, torch.conj_physical(torch.t(centred)))
    else:
        total = torch.sum(weights)
        mean = torch.sum(samples * weights, [1], True) / total
        if aweights is None or correction == 0:
            factor = total - correction
        else:
            factor = total - correction * torch.sum(weights * aweights) / total
        centred = samples - mean
        product = torch.mm(centred, torch.conj_physical(torch.t(centred * weights)))
    return torch.squeeze(product / torch.clamp_min(factor, 0).to(torch.real(product).dtype))
`,
  ),
  decomposed(
    'aten::corrcoef(Tensor self) -> Tensor',
    `
def corrcoef(self: Tensor) -> Tensor:
    assert self.dim() <= 2, "corrcoef(): expected input to have two or fewer dimensions but got an input with " + str(self.dim()) + " dimensions"
    c = torch.cov(self)
    if c.dim() == 0:
        return c / c
    deviation = torch.sqrt(torch.real(torch.diag(c)))
    scaled = c / deviation.view([-1, 1]) / deviation.view([1, -1])
    if torch.is_complex(scaled):
        return torch.complex(torch.clamp(torch.real(scaled), -1, 1), torch.clamp(torch.imag(scaled), -1, 1))
    return torch.clamp(scaled, -1, 1)
`,
  ),
  decomposed(
    'aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor',
    `
def linalg_cross(self: Tensor, other: Tensor, dim: int) -> Tensor:
    assert self.dim() == other.dim(), "linalg.cross: inputs must have the same number of dimensions."
    assert self.size(dim) == 3 and other.size(dim) == 3, "linalg.cross: inputs dimension " + str(dim) + " must have length 3. Got " + str(self.size(dim)) + " and " + str(other.size(dim))
    assert self.dtype == other.dtype, f"expected scalar type {ops.prim.dtype_name(self, self)} but found {ops.prim.dtype_name(other, other)}"
    assert self.dtype != 11, "\\"cross\\" not implemented for 'Bool'"
    pair = torch.broadcast_tensors([self, other])
    at = dim if dim >= 0 else dim + self.dim()
    a = torch.unbind(pair[0], at)
    b = torch.unbind(pair[1], at)
    return torch.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], at)
`,
    { out: true },
  ),
  decomposed(
    'aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor',
    `
def cross(self: Tensor, other: Tensor, dim: Optional[int]) -> Tensor:
    if dim is None:
        at = -1
        for each in range(self.dim()):
            if at == -1 and self.size(each) == 3:
                at = each
        assert at != -1, "no dimension of size 3 in input"
    else:
        at = dim
    return torch.linalg_cross(self, other, dim=at)
`,
    { out: true },
  ),
  decomposed(
    'aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor',
    `
def combinations(self: Tensor, r: int, with_replacement: bool) -> Tensor:
    assert self.dim() == 1, "Expect a 1D vector, but got shape " + str(self.size())
    assert r >= 0, "Expect a non-negative number, but got " + str(r)
    if r == 0:
        return torch.empty([0], dtype=self.dtype)
    places = torch.meshgrid([torch.arange(self.numel())] * r)
    kept = torch.ones_like(places[0], dtype=11)
    for i in range(r - 1):
        if with_replacement:
            kept = torch.logical_and(kept, places[i] <= places[i + 1])
        else:
            kept = torch.logical_and(kept, places[i] < places[i + 1])
    columns: List[Tensor] = []
    for grid in torch.meshgrid([self] * r):
        columns.append(torch.masked_select(grid, kept))
    return torch.stack(columns, 1)
`,
  ),
  decomposed(
    'aten::cartesian_prod(Tensor[] tensors) -> Tensor',
    `
def cartesian_prod(tensors: List[Tensor]) -> Tensor:
    for tensor in tensors:
        assert tensor.dim() == 1, "Expect a 1D vector, but got shape " + str(tensor.size())
    if len(tensors) == 1:
        return tensors[0]
    columns: List[Tensor] = []
    for grid in torch.meshgrid(tensors):
        columns.append(torch.flatten(grid))
    return torch.stack(columns, 1)
`,
  ),
  decomposed(
    'aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor',
    `
def dist(self: Tensor, other: Tensor, p: number) -> Tensor:
    return torch.norm(self - other, p)
`,
    { out: true },
  ),
  decomposed(
    'aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor',
    `
def linalg_vander(x: Tensor, N: Optional[int]) -> Tensor:
    assert x.dtype not in [5, 11, 15], f"linalg.vander supports floating point, complex, and integer tensors, but got {ops.prim.dtype_name(x, x)}"
    count = (1 if x.dim() == 0 else x.size(-1)) if N is None else N
    assert count > 1, "N must be greater than 1."
    column = torch.unsqueeze(torch.reshape(x, [1]) if x.dim() == 0 else x, -1)
    powers = torch.cumprod(torch.expand_copy(column, list(column.size())[:-1] + [count - 1]), -1)
    return torch.cat([torch.ones_like(column), powers], -1)
`,
  ),
  decomposed(
    'aten::special_round(Tensor self, *, int decimals=0) -> Tensor',
    `
def special_round(self: Tensor, decimals: int) -> Tensor:
    return torch.round(self, decimals=decimals)
`,
    { out: true },
  ),
  decomposed(
    'aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor',
    `
def vander(x: Tensor, N: Optional[int], increasing: bool) -> Tensor:
    assert x.dim() == 1, "x must be a one-dimensional tensor."
    count = x.size(0) if N is None else N
    rows = torch.pow(torch.unsqueeze(x, -1), torch.arange(count))
    return rows if increasing else torch.flip(rows, [-1])
`,
  ),
  decomposed(
    'aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor',
    `
def nonzero_static(self: Tensor, size: int, fill_value: int) -> Tensor:
    found = torch.nonzero(self)
    count = min(size, found.size(0))
    return torch.cat([torch.narrow(found, 0, 0, count), torch.full([size - count, self.dim()], fill_value, dtype=4)])
`,
  ),
];
