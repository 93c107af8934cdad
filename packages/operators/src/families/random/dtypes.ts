import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';
import { anything, each, same } from '../../dispatch/writable-dtypes.ts';

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const randomDtypes: DtypeLimits = {
  refused: [
    ['bernoulli_tensor_cpu_p_', 'it', 'bernoulli', 'with elements'],
    ['bernoulli_tensor_cpu_self_', 'c', 'bernoulli', 'with elements'],
    ['check_uniform_bounds', 'it', 'rand_like'],
    ['geometric_cpu', 'tc', 'geometric'],
    ['normal_kernel_cpu', 'it', 'normal normal.float_Tensor randn_like', 'with elements'],
    [
      'Exponential distribution is a continuous probability distribution. dtype must be a floating point but you specified {D}',
      'itc',
      'exponential',
      'with elements',
    ],
    ['normal expects standard deviation to be non-complex', 'c', 'normal.float_Tensor'],
    ['check_random_bounds handles only integral, floating-point and boolean types', 'c', 'randint_like'],
  ],
  written: [
    ...each('bernoulli normal rand randn randint randperm', anything),
    ...each('multinomial', same('multinomial expects {want} tensor out, got: {got}')),
  ],
};
