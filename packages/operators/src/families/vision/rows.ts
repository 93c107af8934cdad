import { declared, scalar } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';
import { deformConvolutionRows } from './deform-convolution.ts';
import { nmsRows } from './nms.ts';
import { roiAlignRows } from './roi-align.ts';
import { roiPoolRows } from './roi-pool.ts';
import { rotatedBoxRows } from './rotated-boxes.ts';

const regionGradient = 'SymInt batch_size, SymInt channels, SymInt height, SymInt width';
const pooling = 'float spatial_scale, SymInt pooled_height, SymInt pooled_width';

/** The operators that torchvision registers, in its own namespace. Those of training are known to the compiler only. */
export const visionRows: readonly OperatorRow[] = [
  ...nmsRows,
  ...roiAlignRows,
  ...roiPoolRows,
  ...deformConvolutionRows,
  ...rotatedBoxRows,
  // There is no CUDA here, which torchvision says with -1.
  scalar('torchvision::_cuda_version() -> int _0', () => -1n),
  ...[
    `_roi_align_backward(Tensor grad, Tensor rois, ${pooling}, ${regionGradient}, int sampling_ratio, bool aligned) -> Tensor`,
    `_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, ${pooling}, ${regionGradient}) -> Tensor`,
    `_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, ${pooling}, int sampling_ratio, ${regionGradient}) -> Tensor`,
    `_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, ${pooling}, ${regionGradient}) -> Tensor`,
    '_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)',
    'qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor',
    `qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, int rois_zero_point, ${pooling}, int sampling_ratio, bool aligned) -> Tensor`,
  ].map((schema) => declared(`torchvision::${schema}`)),
];
