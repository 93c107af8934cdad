/** A part of the library that is fetched when a program names what it brings. */
export type PartName =
  | 'arranging'
  | 'attention'
  | 'complex'
  | 'einsum'
  | 'exported'
  | 'fourier'
  | 'gradients'
  | 'indexing'
  | 'layers'
  | 'layouts'
  | 'linalg'
  | 'losses'
  | 'nested'
  | 'numpy'
  | 'padding'
  | 'quantized'
  | 'random'
  | 'recurrent'
  | 'resampling'
  | 'scalar-functions'
  | 'scans'
  | 'scatter'
  | 'sorting'
  | 'special'
  | 'vision'
  | 'weight-only';

/** Names of operators that need a part, or several together; `pnpm docs:operators` writes them. */
// prettier-ignore
export const NAMES: Readonly<Record<string, string>> = {
  'arranging': 'flip fliplr flipud repeat_interleave roll rot90',
  'arranging complex fourier': 'fft_fftshift fft_ifftshift',
  'arranging numpy': 'vander',
  'attention': '_masked_softmax _scaled_dot_product_attention_math scaled_dot_product_attention',
  'attention nested': '_native_multi_head_attention _transformer_encoder_layer_fwd',
  'complex': 'view_as_complex',
  'complex fourier': '_fft_c2c _fft_c2r _fft_r2c fft_fft fft_fft2 fft_fftfreq fft_fftn fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn istft stft',
  'complex layouts numpy': 'corrcoef',
  'complex linalg': 'linalg_eig linalg_eigvals',
  'complex numpy': 'complex polar',
  'einsum': '_grouped_mm bilinear einsum inner tensordot',
  'exported': '_assert_tensor_metadata _linalg_check_errors lift_fresh_copy',
  'exported indexing': 'quantized_decomposed',
  'fourier': '_lfilter_core_loop _overdrive_core_loop bartlett_window blackman_window forced_align hamming_window hann_window kaiser_window rnnt_loss_forward',
  'gradients': '_grad_sum_to_size backward grad log_sigmoid_forward requires_grad retain_grad',
  'gradients indexing': '_prelu_kernel_backward elu_backward hardshrink_backward hardsigmoid_backward hardswish_backward hardtanh_backward leaky_relu_backward logit_backward softplus_backward softshrink_backward threshold_backward',
  'gradients indexing layouts': 'masked_select_backward',
  'gradients indexing scatter': 'nll_loss_backward',
  'gradients layouts scatter': 'embedding_backward embedding_dense_backward',
  'gradients scatter': 'index_select_backward max_pool2d_with_indices_backward value_selecting_reduction_backward',
  'indexing': '_index_put_impl _unsafe_index _unsafe_index_put argwhere index index_put masked_scatter masked_select nonzero nonzero_numpy where',
  'indexing layers': 'renorm',
  'indexing layers random': 'rrelu',
  'indexing layouts': '_unsafe_masked_index _unsafe_masked_index_put_accumulate',
  'indexing losses': 'cosine_embedding_loss hinge_embedding_loss huber_loss smooth_l1_loss',
  'indexing numpy': 'combinations nonzero_static',
  'indexing quantized': 'fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine_cachemask',
  'layers': '_batch_norm_impl_index _batch_norm_with_update _embedding_bag _embedding_bag_forward_only _fused_rms_norm _log_softmax_backward_data _native_batch_norm_legit _native_batch_norm_legit_functional _native_batch_norm_legit_no_training _softmax_backward_data _weight_norm _weight_norm_interface col2im embedding_bag fractional_max_pool2d fractional_max_pool3d im2col max_unpool2d max_unpool3d native_batch_norm native_dropout_backward native_group_norm native_layer_norm norm_except_dim to_dense',
  'layers numpy': 'mkldnn_convolution',
  'layouts': '_aminmax _chunk_cat _conj_physical _dim_arange _euclidean_dist _fw_primal _is_any_true _lazy_clone _reshape_alias _reshape_alias_copy _shape_as_tensor _stack alias_copy as_strided_copy as_strided_scatter atleast_1d atleast_2d atleast_3d bincount block_diag channel_shuffle coalesce detach_copy diag diag_embed diagflat diagonal_copy diagonal_scatter dsplit expand_copy fill_diagonal get_device hsplit is_coalesced is_distributed is_leaf is_non_overlapping_and_dense is_pinned is_set_to kron linalg_diagonal narrow_copy native_channel_shuffle permute_copy pixel_shuffle pixel_unshuffle put retains_grad select_copy select_scatter set set_data slice_copy slice_scatter split_copy split_with_sizes_copy squeeze_copy t_copy take take_along_dim tensor_split transpose_copy unbind_copy unfold_copy unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy vsplit',
  'layouts numpy': 'trapezoid trapz',
  'layouts numpy scans': 'cumulative_trapezoid linalg_vander',
  'linalg': '_linalg_det _linalg_eigh _linalg_eigvals _linalg_slogdet _linalg_solve_ex _linalg_svd _lu_with_info addbmm addr chain_matmul cholesky cholesky_inverse cholesky_solve det geqrf ger inverse linalg_cholesky linalg_cholesky_ex linalg_cond linalg_det linalg_eigh linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_multi_dot linalg_norm linalg_pinv linalg_qr linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve linalg_vecdot logdet lu_solve lu_unpack matrix_exp matrix_power nuclear_norm orgqr ormqr pinverse qr slogdet svd triangular_solve vdot',
  'losses': 'binary_cross_entropy binary_cross_entropy_with_logits cross_entropy_loss ctc_loss l1_loss margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss multilabel_margin_loss_forward nll_loss nll_loss2d nll_loss2d_forward nll_loss_forward nll_loss_nd poisson_nll_loss soft_margin_loss',
  'losses numpy': 'kl_div triplet_margin_loss',
  'nested': '_nested_from_padded_and_nested_example _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned nested_counts nested_rows nested_to_padded_tensor to_padded_tensor',
  'numpy': 'IfThenElse MKLDNNClamp MKLDNNHardSigmoid MKLDNNHardSwish MKLDNNHardTanh MKLDNNScalarMul ReductionSizes VarConcat VarStack _add_relu _cdist_forward _pdist_forward allclose can_cast cartesian_prod cdist copysign cosine_similarity cov cross cummax cummin diff dist gcd gradient heaviside hypot isclose lcm linalg_cross logaddexp logaddexp2 logcumsumexp nextafter pairwise_distance pdist promote_types result_type special_round special_xlog1py xlogy',
  'numpy scalar-functions': 'frexp ldexp',
  'padding': '_pad_circular _pad_enum constant_pad_nd pad reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d',
  'padding recurrent': 'pad_sequence',
  'quantized': '_choose_qparams_per_tensor _empty_affine_quantized _empty_per_channel_affine_quantized _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor dequantize fake_quantize_per_channel_affine_cachemask_backward fake_quantize_per_tensor_affine_cachemask_backward int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized',
  'random': '_no_grad_fill _no_grad_normal _no_grad_uniform _no_grad_zero bernoulli binomial cauchy exponential geometric log_normal multinomial normal poisson rand rand_like randint randint_like randn randn_like random randperm uniform',
  'recurrent': '_pack_padded_sequence _pad_packed_sequence gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell',
  'resampling': '_upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_lanczos2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d affine_grid_generator grid_sampler grid_sampler_2d grid_sampler_3d upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d',
  'scalar-functions': 'AddStatValue TimePoint _call_end_callbacks_on_jit_fut _record_function_enter _record_function_enter_new _record_function_exit awaitable_nowait awaitable_wait bin capitalize center chr degrees expandtabs fabs factorial gamma hash hex isalnum isalpha isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper ljust modf oct ord partition radians rfind rindex rjust rpartition rsplit splitlines swapcase title zfill',
  'scans': 'cumprod cumsum',
  'scatter': 'gather index_add index_copy index_fill index_reduce one_hot scatter scatter_add scatter_reduce',
  'sorting': '_unique _unique2 argsort bucketize histc isin kthvalue median mode msort nanmedian nanquantile quantile searchsorted sort sorted topk unique_consecutive unique_dim unique_dim_consecutive',
  'special': '_segment_reduce_backward histogram histogramdd i0 igamma igammac mvlgamma polygamma segment_reduce special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_entr special_erfcx special_gammainc special_gammaincc special_hermite_polynomial_h special_hermite_polynomial_he special_i0 special_i0e special_i1 special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_multigammaln special_ndtr special_ndtri special_polygamma special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_xlogy special_zeta',
  'vision': '_cuda_version _deform_conv2d_backward _ps_roi_align_backward _ps_roi_pool_backward _roi_align_backward _roi_pool_backward box_iou_rotated deform_conv2d nms ps_roi_align ps_roi_pool qnms qroi_align roi_align roi_pool',
  'weight-only': '_convert_weight_to_int4pack_for_cpu _int_mm _weight_int4pack_mm_for_cpu _weight_int8pack_mm',
};
