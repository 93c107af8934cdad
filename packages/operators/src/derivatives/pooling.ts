import { forOverloads, type DerivativeTable } from './derivative.ts';

const averaged = (rank: number): DerivativeTable[string] => ({
  self: `average_pool_slope(grad, self.size(), kernel_size, stride, padding, ceil_mode, count_include_pad, ${rank === 1 ? 'None' : 'divisor_override'}, ${rank})`,
  '~': 'self',
});

const adaptive = (rank: number): DerivativeTable[string] => ({
  self: `adaptive_average_slope(grad, self.size(), ${rank})`,
  '~': 'self',
});

/** Averages of everything are means, as in PyTorch. */
const adaptiveOrMean = (rank: number): DerivativeTable[string] => ({
  '=': `
if max(output_size) == 1 and min(output_size) == 1:
    return torch.mean(self, [${[-3, -2, -1].slice(-rank).join(', ')}], True)
return torch._adaptive_avg_pool${rank}d(self, output_size)`,
});

/** The gradient of a greatest element of each window goes to its place in the last dimensions. */
const atPlaces = (rank: number, places: string): string => `place_slope(grad, self.size(), ${places}, ${rank})`;

const greatest = (rank: number): DerivativeTable => ({
  [`max_pool${rank}d`]: {
    '=': `torch.max_pool${rank}d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]`,
  },
  [`max_pool${rank}d_with_indices`]: { self: atPlaces(rank, 'result1'), '~': 'self' },
  [`adaptive_max_pool${rank}d`]: { self: atPlaces(rank, 'result1'), '~': 'self' },
  [`fractional_max_pool${rank}d`]: { self: atPlaces(rank, 'result1'), '~': 'self' },
  [`max_unpool${rank}d`]: {
    self: `torch.gather(torch.flatten(grad, ${-rank}, -1), -1, torch.flatten(indices, ${-rank}, -1)).reshape(self.size())`,
  },
  [`avg_pool${rank}d`]: averaged(rank),
  [`adaptive_avg_pool${rank}d`]: rank === 1 ? adaptive(rank) : adaptiveOrMean(rank),
  [`_adaptive_avg_pool${rank}d`]: adaptive(rank),
});

const { max_unpool1d: _absent, fractional_max_pool1d: _neither, _adaptive_avg_pool1d: _nor, ...one } = greatest(1);

/** Pooling, and what gathers and spreads patches. */
export const poolingDerivatives: DerivativeTable = {
  ...one,
  ...greatest(2),
  ...greatest(3),
  ...forOverloads('im2col', {
    self: 'torch.col2im(grad, [self.size(-2), self.size(-1)], kernel_size, dilation, padding, stride)',
  }),
  col2im: { self: 'torch.im2col(grad, kernel_size, dilation, padding, stride)' },
};
