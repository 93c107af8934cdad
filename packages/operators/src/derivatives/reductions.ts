import { forOverloads, type DerivativeTable } from './derivative.ts';

/** The gradient of an extreme over dimensions goes to all that are equal to it, in equal parts. */
const extremes = (dims: string, keepdim: string): string => `
given = unsqueezed(grad, ${dims}, self.dim(), ${keepdim})
found = unsqueezed(result, ${dims}, self.dim(), ${keepdim})
return all_equal_share(given, torch.logical_or(self == found, torch.logical_and(torch.isnan(self), torch.isnan(found))), ${dims})`;

const wholeExtreme = `
equal = torch.logical_or(self == result, torch.logical_and(torch.isnan(self), torch.isnan(result)))
return torch.where(equal, grad / torch.sum(equal), torch.zeros_like(self))`;

const slopeOfVariance = (grad: string, dims: string, correction: string, keepdim: string): string =>
  `variance_slope(${grad}, self, ${dims}, float(${correction}), ${keepdim})`;

const deviation = (dims: string, correction: string, keepdim: string): string => `
slope = torch.masked_fill(grad / (result * 2), result == 0, 0)
return ${slopeOfVariance('slope', dims, correction, keepdim)}`;

const withMean = (dims: string, correction: string, keepdim: string, isDeviation: boolean): string => `
slope = ${isDeviation ? 'torch.masked_fill(grad / (result0 * 2), result0 == 0, 0)' : 'grad'}
of_mean = unsqueezed(grad1, ${dims}, self.dim(), ${keepdim}) / reduced_count(self.size(), ${dims})
return ${slopeOfVariance('slope', dims, correction, keepdim)} + of_mean if arrived[0] else torch.expand(of_mean, self.size())`;

const none = 'None';

/** `1 if unbiased else 0`, and the overloads that say it otherwise. */
const spreads = (name: string, make: typeof deviation): DerivativeTable => ({
  [name]: { self: make(none, '(1 if unbiased else 0)', 'False') },
  [`${name}.dim`]: { self: make('dim', '(1 if unbiased else 0)', 'keepdim') },
  [`${name}.correction`]: { self: make('dim', '(1 if correction is None else correction)', 'keepdim') },
});

/** Sums, means, spreads, norms and extremes over dimensions. */
export const reductionDerivatives: DerivativeTable = {
  sum: { self: 'torch.expand(grad, self.size())' },
  'sum.dim_IntList': { self: 'torch.expand(unsqueezed(grad, dim, self.dim(), keepdim), self.size())' },
  nansum: {
    self: 'unsqueezed(grad, dim, self.dim(), keepdim) * torch.logical_not(torch.isnan(self))',
  },
  mean: { self: 'torch.expand(grad, self.size()) / self.numel()' },
  'mean.dim': {
    self: 'torch.expand(unsqueezed(grad, dim, self.dim(), keepdim), self.size()) / reduced_count(self.size(), dim)',
  },
  nanmean: {
    self: `
present = torch.logical_not(torch.isnan(self))
if dim is None:
    return grad * present / torch.sum(present)
return unsqueezed(grad, dim, self.dim(), keepdim) * present / torch.sum(present, dim, True)`,
  },
  prod: { self: 'product_slope(grad, self, result)' },
  'prod.dim_int': { self: 'product_slope_along(grad, self, result, dim, keepdim)' },
  ...spreads('var', (dims, correction, keepdim) => slopeOfVariance('grad', dims, correction, keepdim)),
  ...spreads('std', deviation),
  ...spreads('var_mean', (dims, correction, keepdim) => withMean(dims, correction, keepdim, false)),
  ...spreads('std_mean', (dims, correction, keepdim) => withMean(dims, correction, keepdim, true)),
  'norm.Scalar': { self: `norm_slope_if_any(grad, self, p, result, ${none}, False)` },
  'norm.ScalarOpt_dim': { self: 'norm_slope_if_any(grad, self, p, result, dim, keepdim)' },
  'norm.ScalarOpt_dtype': { self: `norm_slope_if_any(grad, self, p, result, ${none}, False)` },
  'norm.ScalarOpt_dim_dtype': { self: 'norm_slope_if_any(grad, self, p, result, dim, keepdim)' },
  linalg_vector_norm: { self: 'norm_slope_if_any(grad, self, ord, result, dim, keepdim)' },
  logsumexp: {
    self: `
given = unsqueezed(grad, dim, self.dim(), keepdim)
return given * torch.conj(torch.exp(self - unsqueezed(result, dim, self.dim(), keepdim)))`,
  },
  ...forOverloads('amax amin', { self: extremes('dim', 'keepdim') }),
  ...forOverloads('max min', { self: wholeExtreme }),
  ...forOverloads('median nanmedian', {
    self: `
equal = torch.logical_or(self == result, torch.logical_and(torch.isnan(self), torch.isnan(result)))
count = torch.sum(equal)
return torch.where(equal, grad / count, torch.zeros_like(self))`,
  }),
  aminmax: {
    self: `
if dim is None:
    return torch.where(self == min, grad / torch.sum(self == min), torch.zeros_like(self)) + torch.where(self == max, grad1 / torch.sum(self == max), torch.zeros_like(self))
dims = [dim]
least = unsqueezed(min, dims, self.dim(), keepdim)
most = unsqueezed(max, dims, self.dim(), keepdim)
return all_equal_share(unsqueezed(grad, dims, self.dim(), keepdim), self == least, dims) + all_equal_share(unsqueezed(grad1, dims, self.dim(), keepdim), self == most, dims)`,
  },
  sum_to_size: { self: 'torch.expand(grad, self.size())' },
  quantile: { '=': 'quantiles(self, q, dim, keepdim, interpolation, False)' },
  'quantile.scalar': {
    '=': 'quantiles(self, torch.scalar_tensor(q, dtype=self.dtype), dim, keepdim, interpolation, False)',
  },
  nanquantile: { '=': 'quantiles(self, q, dim, keepdim, interpolation, True)' },
  'nanquantile.scalar': {
    '=': 'quantiles(self, torch.scalar_tensor(q, dtype=self.dtype), dim, keepdim, interpolation, True)',
  },
  segment_reduce: {
    data: 'torch._segment_reduce_backward(grad, result, data, reduce, lengths=lengths, offsets=offsets, axis=axis, initial=initial)',
  },
  trace: { self: 'torch.trace_backward(grad, self.size())' },
  cumsum: { self: 'torch.flip(torch.cumsum(torch.flip(grad, [dim]), dim), [dim])' },
  cumprod: { self: 'cumulative_product_slope(grad, self, dim, result)' },
  logcumsumexp: {
    self: `
if grad.dim() == 0:
    return grad
if torch.is_complex(grad):
    parts = torch.flip(torch.log(torch.conj(grad)) - result, [dim])
    return torch.conj(torch.exp(torch.flip(torch.logcumsumexp(parts, dim), [dim]) + self))
small = lowest_number(grad.dtype)
above = torch.where(grad > 0, torch.log(torch.abs(grad)), torch.full_like(grad, small))
below = torch.where(grad < 0, torch.log(torch.abs(grad)), torch.full_like(grad, small))
up = torch.exp(torch.flip(torch.logcumsumexp(torch.flip(above - result, [dim]), dim), [dim]) + self)
down = torch.exp(torch.flip(torch.logcumsumexp(torch.flip(below - result, [dim]), dim), [dim]) + self)
return up - down`,
  },
  ...forOverloads('cummax cummin', {
    self: `
if self.dim() == 0:
    return grad
return torch.scatter_add(torch.zeros_like(self), dim, indices, grad)`,
  }),
  dist: {
    self: `norm_slope(grad, self - other, p, result, ${none}, False)`,
    other: `-norm_slope(grad, self - other, p, result, ${none}, False)`,
  },
};
