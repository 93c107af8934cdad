import { forOverloads, type DerivativeTable } from './derivative.ts';

const layerSlopes = (eps: string): string => `
mean, deviation = layer_statistics(input, normalized_shape, ${eps})
return layer_slopes(grad, input, mean, deviation, weight, normalized_shape)`;

const rms = (results: string): string => `
dims = [-(d + 1) for d in range(len(normalized_shape))]
margin = 1.1920928955078125e-07 if input.dtype == 6 else 2.220446049250313e-16
if eps is not None:
    margin = eps
scale = torch.rsqrt(torch.mean(input * input, dims, True) + margin)
result = input * scale
if weight is not None:
    result = result * weight
return ${results}`;

/** Normalisations. */
export const normalizationDerivatives: DerivativeTable = {
  layer_norm: { 'input, weight, bias': layerSlopes('eps'), '*': 'input, weight' },
  native_layer_norm: { 'input, weight, bias': layerSlopes('eps'), '*': 'input, weight' },
  rms_norm: { '=': rms('result') },
  _fused_rms_norm: { '=': rms('result, scale') },
  ...forOverloads('batch_norm', {
    'input, weight, bias': 'batch_norm_slopes(grad, input, weight, running_mean, running_var, training, eps)',
    '*': 'input, weight',
  }),
  ...forOverloads('native_batch_norm _native_batch_norm_legit', {
    'input, weight, bias': 'batch_norm_slopes(grad, input, weight, running_mean, running_var, training, eps)',
    '*': 'input, weight',
  }),
  '_native_batch_norm_legit.no_stats': {
    'input, weight, bias': 'batch_norm_slopes(grad, input, weight, None, None, training, eps)',
    '*': 'input, weight',
  },
  _native_batch_norm_legit_no_training: {
    'input, weight, bias': 'batch_norm_slopes(grad, input, weight, running_mean, running_var, False, eps)',
    '*': 'input, weight',
  },
  _batch_norm_with_update: {
    'input, weight, bias': 'batch_norm_slopes(grad, input, weight, running_mean, running_var, True, eps)',
    '*': 'input, weight',
  },
  instance_norm: {
    'input, weight, bias': 'instance_norm_slopes(grad, input, weight, running_mean, running_var, use_input_stats, eps)',
    '*': 'input, weight',
  },
  group_norm: { 'input, weight, bias': 'group_norm_slopes(grad, input, weight, num_groups, eps)' },
  native_group_norm: {
    'input, weight, bias': `
mean = result1.unsqueeze(-1)
deviation = result2.unsqueeze(-1)
grouped = input.reshape([N, group, C * HxW // group])
slope, scale, shift = grouped_slopes(grad, input, grouped - mean, deviation, weight, group)
spread = (grouped - mean) * (deviation * deviation * deviation * grad2.unsqueeze(-1))
return slope + ((grad1.unsqueeze(-1) - spread) / grouped.size(2)).reshape(input.size()), scale, shift`,
  },
};
