/** What needs parts in a Python source beside operators; `pnpm docs:operators` writes it. */
// prettier-ignore
export const SOURCE_NAMES: Readonly<Record<string, string>> = {
  'arranging complex fourier': 'fft',
  'arranging linalg': 'symeig',
  'attention padding': 'multi_head_attention_forward',
  'complex': 'cdouble cfloat chalf complex128 complex32 complex64',
  'complex layouts linalg numpy scans': 'linalg',
  'complex numpy': 'rect',
  'layers': 'fold max_unpool1d unfold',
  'layers random': '_fractional_max_pool2d _fractional_max_pool3d fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices',
  'linalg': '_lu_impl _lu_no_infos _lu_with_infos basis lu norm normalize',
  'linalg random': '_svd_lowrank get_approximate_basis svd_lowrank',
  'losses': 'cross_entropy',
  'numpy special': 'special',
  'padding': '_extend_mask local_response_norm stft',
  'quantized': 'qint32 qint8 quint2x4 quint4x2 quint8',
  'random': 'Conv1d Conv2d Conv3d Embedding Linear constant_ fractional_max_pool2d fractional_max_pool3d normal_ ones_ uniform_ xavier_normal_ xavier_uniform_ zeros_',
  'random scatter': 'gumbel_softmax',
  'resampling': '_interpolate affine_grid grid_sample interpolate',
  'sorting': '_consecutive_return_counts _consecutive_return_inverse _consecutive_return_inverse_and_counts _consecutive_return_inverse_false _consecutive_return_inverse_true _consecutive_return_output _return_counts _return_inverse _return_inverse_and_counts _return_inverse_false _return_inverse_true _return_output _unique_consecutive_impl _unique_impl unique',
  'special': '_segment_reduce',
};
