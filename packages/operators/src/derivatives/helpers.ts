import { matrixHelpers } from './matrix-helpers.ts';
import { placeHelpers } from './place-helpers.ts';
import { sequenceHelpers } from './sequence-helpers.ts';
import { transformHelpers } from './transform-helpers.ts';
import { windowHelpers } from './window-helpers.ts';

/** TorchScript functions that formulas call, by name. */
export const derivativeHelpers: Readonly<Record<string, string>> = {
  ...matrixHelpers,
  ...transformHelpers,
  ...sequenceHelpers,
  ...windowHelpers,
  ...placeHelpers,
  scaled: `
def scaled(grad, by: number):
    return grad if by == 1 else torch.conj(torch.conj(grad) * by)`,
  power_is_positive: `
def power_is_positive(exponent):
    if exponent.is_complex():
        return torch.logical_and(torch.imag(exponent) == 0, torch.real(exponent) >= 0)
    return exponent >= 0`,
  along_channels: `
def along_channels(weight, input):
    if weight.numel() == 1 or input.dim() < 2:
        return weight
    return weight.reshape([1, weight.numel()] + [1] * (input.dim() - 2))`,
  softmax_slope: `
def softmax_slope(grad, result, dim: int):
    product = grad * result
    return product - result * torch.sum(product, [dim], True)`,
  wrap: `
def wrap(dim: int, rank: int) -> int:
    return dim if dim >= 0 else dim + (rank if rank > 0 else 1)`,
  unsqueezed: `
def unsqueezed(x, dims: Optional[List[int]], rank: int, keepdim: bool):
    if keepdim or rank == 0:
        return x
    if dims is None or len(dims) == 0:
        return x.reshape([1] * rank) if x.dim() == 0 else x
    reduced = [False] * rank
    for dim in dims:
        reduced[wrap(dim, rank)] = True
    for dim in range(rank):
        if reduced[dim]:
            x = x.unsqueeze(dim)
    return x`,
  reduced_count: `
def reduced_count(size: List[int], dims: Optional[List[int]]) -> int:
    count = 1
    if dims is None or len(dims) == 0:
        for length in size:
            count *= length
        return count
    for dim in dims:
        if len(size) > 0:
            count *= size[dim]
    return count`,
  all_equal_share: `
def all_equal_share(grad, equal, dims: Optional[List[int]]):
    shared = equal.to(grad.dtype)
    if dims is None or len(dims) == 0:
        return grad * shared / torch.sum(shared)
    return grad * shared / torch.sum(shared, dims, True)`,
  variance_slope: `
def variance_slope(grad, self, dims: Optional[List[int]], correction: float, keepdim: bool):
    given = unsqueezed(grad, dims, self.dim(), keepdim)
    freedom = float(reduced_count(self.size(), dims)) - correction
    mean = torch.mean(self) if dims is None or len(dims) == 0 else torch.mean(self, dims, True)
    centred = self - mean
    if freedom <= 0.:
        return given * torch.where(centred == 0, float("nan"), float("inf"))
    return given * centred * (2. / freedom)`,
  norm_slope_if_any: `
def norm_slope_if_any(grad, self, p: Optional[number], result, dims: Optional[List[int]], keepdim: bool) -> Optional[Tensor]:
    if p is not None and float(torch._unwrap_optional(p)) == 0.:
        return None
    return norm_slope(grad, self, p, result, dims, keepdim)`,
  norm_slope: `
def norm_slope(grad, self, p: Optional[number], result, dims: Optional[List[int]], keepdim: bool):
    order = 2. if p is None else float(torch._unwrap_optional(p))
    given = unsqueezed(grad, dims, self.dim(), keepdim)
    length = unsqueezed(result, dims, self.dim(), keepdim)
    if order == 0.:
        return torch.zeros_like(self)
    if order == 1.:
        return torch.sgn(self) * given
    if order == 2.:
        return given * torch.masked_fill(self / length, length == 0, 0)
    if order == float("inf") or order == -float("inf"):
        size = torch.abs(self)
        equal = torch.logical_or(size == length, torch.isnan(size))
        return torch.sgn(self) * all_equal_share(given, equal, dims)
    if order < 1.:
        scaled = torch.sgn(self) * torch.masked_fill(torch.pow(torch.abs(self), order - 1.), self == 0, 0)
        return scaled * given * torch.pow(length, 1. - order)
    if order < 2.:
        scaled = torch.sgn(self) * torch.pow(torch.abs(self), order - 1.)
        return scaled * torch.masked_fill(given / torch.pow(length, order - 1.), length == 0, 0)
    scaled = self * torch.pow(torch.abs(self), order - 2.)
    return scaled * torch.masked_fill(given / torch.pow(length, order - 1.), length == 0, 0)`,
  quantiles: `
def quantiles(self, q, dim: Optional[int], keepdim: bool, interpolation: str, leavesOut: bool):
    rank = self.dim()
    axis = 0
    given = self.reshape([-1])
    if dim is not None and rank > 0:
        axis = wrap(dim, rank)
        given = torch.movedim(self, axis, -1)
    ordered = torch.sort(given, -1)[0]
    missing = torch.sum(torch.isnan(ordered), [-1], True)
    last = torch.full_like(missing, given.size(-1) - 1)
    if leavesOut:
        last = torch.clamp_min(last - missing, 0)
    places = q.reshape([-1]) * last.to(q.dtype)
    if not leavesOut:
        places = torch.where(missing > 0, last.to(q.dtype), places)
    if interpolation == "lower":
        places = torch.floor(places)
    elif interpolation == "higher":
        places = torch.ceil(places)
    elif interpolation == "nearest":
        places = torch.round(places)
    below = torch.floor(places).to(4)
    found = torch.gather(ordered, -1, below)
    if interpolation == "linear" or interpolation == "midpoint":
        above = torch.ceil(places).to(4)
        part = places - below if interpolation == "linear" else 0.5 * (above - below)
        found = found + part * (torch.gather(ordered, -1, above) - found)
    found = torch.movedim(found, -1, 0)
    if keepdim:
        if dim is None:
            found = found.reshape([found.size(0)] + [1] * rank)
        elif rank > 0:
            found = found.unsqueeze(axis + 1)
    return found.squeeze(0) if q.dim() == 0 else found`,
  smallest_step: `
def smallest_step(dtype: int):
    if dtype == 7:
        return 2.220446049250313e-16
    if dtype == 6:
        return 1.1920928955078125e-07
    return 0.0009765625 if dtype == 5 else 0.0078125`,
  // Finite: what is made of it has gradients of zero, and not NaN.
  lowest_number: `
def lowest_number(dtype: int):
    if dtype == 7:
        return -1.7976931348623157e308
    return -65504.0 if dtype == 5 else -3.3895313892515355e38`,
  product_slope: `
def product_slope(grad, self, result):
    if self.dim() == 0:
        return grad
    flat = self.reshape([-1])
    return product_of_others(grad.reshape([1]), flat, 0).reshape(self.size())`,
  product_slope_along: `
def product_slope_along(grad, self, result, dim: int, keepdim: bool):
    if self.dim() == 0:
        return grad
    return product_of_others(grad if keepdim else grad.unsqueeze(dim), self, dim)`,
  product_of_others: `
def product_of_others(grad, self, dim: int):
    length = self.size(dim)
    if length == 0:
        return torch.zeros_like(self)
    ones = torch.ones_like(torch.narrow(self, dim, 0, 1))
    before = torch.cumprod(torch.cat([ones, torch.narrow(self, dim, 0, length - 1)], dim), dim)
    behind = torch.cat([ones, torch.flip(torch.narrow(self, dim, 1, length - 1), [dim])], dim)
    after = torch.flip(torch.cumprod(behind, dim), [dim])
    return grad * torch.conj(before * after)`,
  cumulative_product_slope: `
def cumulative_product_slope(grad, self, dim: int, result):
    if self.dim() == 0:
        return grad
    length = self.size(dim)
    if length == 0 or not bool(torch.any(self == 0)):
        weighted = torch.conj(result) * grad
        return torch.flip(torch.cumsum(torch.flip(weighted, [dim]), dim), [dim]) / torch.conj(self)
    parts: List[Tensor] = []
    ones = torch.ones_like(torch.narrow(self, dim, 0, 1))
    for at in range(length):
        prefix = ones if at == 0 else torch.narrow(result, dim, at - 1, 1)
        rest = torch.cat([prefix, torch.narrow(self, dim, at + 1, length - at - 1)], dim)
        products = torch.cumprod(rest, dim)
        parts.append(torch.sum(torch.narrow(grad, dim, at, length - at) * torch.conj(products), [dim], True))
    return torch.cat(parts, dim)`,
};
