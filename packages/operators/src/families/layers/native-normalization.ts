import { check } from '../../kernels/errors.ts';
import { decomposed } from '../../table/builders.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import {
  type BatchNormArgs,
  batchNormalization,
  operands,
  optionalRunning,
  saving,
} from '../normalization/batch-norm.ts';
import {
  channelGroups,
  hasChannelsLast,
  normalizationRow,
  type LayerNormArgs,
  layerNormShape,
  trailing,
  type RmsNormArgs,
  rmsNormShape,
  rmsNormalization,
  groupNormShape,
  type NativeGroupNormArgs,
} from '../normalization/normalization.ts';

/**
 * Normalisations that give their statistics too: what the operators of programs are made of in PyTorch
 * (ATen/native/Normalization.cpp, layer_norm.cpp, group_norm.cpp).
 */
export const nativeNormalizationRows: readonly OperatorRow[] = [
  // Which implementation was taken, and what it keeps for its backward pass: there is one, which keeps nothing.
  decomposed(
    'aten::_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)',
    `
def _batch_norm_impl_index(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tuple[Tensor, Tensor, Tensor, Tensor, int]:
    if input.numel() == 0:
        empty = input.clone()
        if weight is not None:
            empty = empty * weight[0]
        if bias is not None:
            empty = empty + bias[0]
        return empty, input.new_empty([0]), input.new_empty([0]), torch.empty([0], dtype=0), 0
    out, mean, invstd = torch.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return out, mean, invstd, torch.empty([0], dtype=0), 0
`,
  ),
  normalizationRow<BatchNormArgs>(
    `aten::native_batch_norm(${operands}, ${optionalRunning}, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)`,
    { ...saving, normalization: batchNormalization },
  ),
  normalizationRow<BatchNormArgs>(
    `aten::_native_batch_norm_legit(${operands}, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)`,
    { shape: saving.shape, normalization: batchNormalization },
  ),
  decomposed(
    `aten::_native_batch_norm_legit_functional(${operands}, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)`,
    `
def _native_batch_norm_legit_functional(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Tensor, running_var: Tensor, training: bool, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    mean = running_mean.clone()
    var = running_var.clone()
    out, save_mean, save_invstd = torch._native_batch_norm_legit(input, weight, bias, mean, var, training, momentum, eps)
    return out, save_mean, save_invstd, mean, var
`,
  ),
  normalizationRow<Omit<BatchNormArgs, 'running_mean' | 'running_var'>>(
    `aten::_native_batch_norm_legit.no_stats(${operands}, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)`,
    {
      shape: (args) => saving.shape({ ...args, running_mean: null, running_var: null }),
      normalization: (args, outputs) => batchNormalization({ ...args, running_mean: null, running_var: null }, outputs),
    },
  ),
  normalizationRow<Omit<BatchNormArgs, 'training'>>(
    `aten::_native_batch_norm_legit_no_training(${operands}, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)`,
    {
      shape: (args) => saving.shape({ ...args, training: false }),
      normalization: (args, outputs) => batchNormalization({ ...args, training: false }, outputs),
    },
  ),
  normalizationRow<Omit<BatchNormArgs, 'training'>>(
    `aten::_batch_norm_with_update(${operands}, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)`,
    {
      shape: (args) => [...saving.shape({ ...args, training: true }), { sizes: [0], dtype: 'uint8' }],
      normalization: (args, outputs) => batchNormalization({ ...args, training: true }, outputs),
    },
  ),
  normalizationRow<LayerNormArgs>(
    'aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)',
    {
      out: 'out(out0, out1, out2)',
      shape(args) {
        const result = layerNormShape(args);
        const kept = args.input.dim - args.normalized_shape.length;
        const statistics: TensorMeta = {
          sizes: args.input.sizes.map((size, dim) => (dim < kept ? size : 1)),
          dtype: args.input.dtype,
        };
        return [result, statistics, statistics];
      },
      normalization: trailing,
    },
  ),
  normalizationRow<RmsNormArgs>(
    'aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)',
    {
      shape(args) {
        const result = rmsNormShape(args);
        const kept = args.input.dim - args.normalized_shape.length;
        return [result, { ...result, sizes: result.sizes.map((size, dim) => (dim < kept ? size : 1)) }];
      },
      normalization: rmsNormalization,
    },
  ),
  normalizationRow<NativeGroupNormArgs>(
    'aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)',
    {
      out: 'out(out0, out1, out2)',
      shape(args) {
        check(
          args.input.numel === args.N * args.C * args.HxW,
          'Expected X.numel() == N * C * HxW to be true, but got false.',
        );
        check(
          args.input.isContiguous() || hasChannelsLast(args.input),
          'Expected X.is_contiguous(memory_format) to be true, but got false.',
        );
        const result = groupNormShape({ ...args, num_groups: args.group });
        const statistics: TensorMeta = { sizes: [args.N, args.group], dtype: args.input.dtype };
        return [result, statistics, statistics];
      },
      normalization: (args, [out, mean, rstd]) => ({
        ...channelGroups({ ...args, num_groups: args.group }, out),
        saved: { mean, rstd },
      }),
    },
  ),
];
