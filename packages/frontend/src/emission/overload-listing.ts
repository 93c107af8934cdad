import type { FunctionSchema } from '@cresset/ir';

/**
 * In which order PyTorch has the overloads of an operator, where the order in which calls are matched here is another: what a call could have
 * been is told in PyTorch's order. `-` is the overload without a name; operators are those of `aten` where nothing else is said.
 */
const LISTED: Readonly<Record<string, string>> = {
  '- out':
    'empty_permuted empty_strided fft_fftfreq fft_rfftfreq full ones polygamma scalar_tensor special_polygamma tril_indices triu_indices zeros',
  'Scalar Tensor': 'eq_ ge_ greater_ greater_equal_ gt_ le_ less_ less_equal_ lt_ ne_ not_equal_ pow_',
  '- vec out':
    '_upsample_bicubic2d_aa _upsample_bilinear2d_aa upsample_bicubic2d upsample_linear1d upsample_nearest1d upsample_nearest3d upsample_trilinear3d',
  'Tensor Scalar Scalar_out Tensor_out': 'greater greater_equal less less_equal not_equal',
  '- generator out generator_out': 'rand rand_like randn randn_like randperm',
  '- Tensor out Tensor_out': 'clamp clamp_max clamp_min clip',
  'Tensor Scalar Scalar_out Tensor_out int float int_float float_int - str': 'ge gt le lt',
  '- periodic out periodic_out': 'bartlett_window blackman_window hann_window',
  'Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out': 'bitwise_and bitwise_or bitwise_xor',
  'x dx': 'cumulative_trapezoid trapezoid trapz',
  '- other_scalar self_scalar out self_scalar_out other_scalar_out': 'special_xlog1py special_xlogy special_zeta',
  'Tensor Scalar Scalar_out Tensor_out int': '__lshift__ __rshift__',
  'Tensor Scalar bool int': '__or__ __xor__',
  'Tensor Tensor_Scalar Scalar_Tensor Tensor_out Tensor_Scalar_out Scalar_Tensor_out':
    'bitwise_left_shift bitwise_right_shift',
  'Tensor_Scalar Tensor': 'bitwise_left_shift_ bitwise_right_shift_',
  'Tensor Scalar Scalar_out Tensor_out int_list device bool enum int complex float int_float float_int float_complex complex_float - str float_list Tensor_list bool_list str_list':
    'eq ne',
  'Tensor_Tensor Tensor_Scalar Scalar_Tensor - out Tensor_Tensor_out Tensor_Scalar_out Scalar_Tensor_out':
    'linspace logspace',
  '- dim dim_values out': 'median nanmedian',
  '- scalar out scalar_out': 'nanquantile quantile',
  'Tensor Scalar Tensor_out Scalar_out': 'bucketize rsub',
  'int -': 'size stride',
  '- dim correction correction_out out': 'std var',
  '- dim correction correction_out': 'std_mean var_mean',
  'Tensor Scalar out': 'multiply true_divide',
  '- vec out vec_out': 'upsample_bilinear2d upsample_nearest2d',
  'int float int_float float_int - int_list self_int float_list self_float bool_list self_bool': 'prim::max prim::min',
  'Tensor int float': 'Bool',
  'Scalar Tensor_Tensor int_bool bool_int float_bool bool_float float_int int_float int_int bool_bool float_float Tensor_float float_Tensor Tensor_int int_Tensor Tensor_bool bool_Tensor':
    'Complex',
  'Tensor Scalar int bool str': 'Float',
  'Tensor bool float Scalar str': 'Int',
  'Scalar Tensor bool int': '__and__',
  'int_list str_list str int bool float complex Tensor float_list': '__contains__',
  't str Dict_str Dict_int Dict_bool Dict_float Dict_complex Dict_Tensor': '__getitem__',
  'deprecated - out': '_convolution',
  'Tensor Scalar out Scalar_out t str int complex float int_complex complex_int float_complex complex_float int_float float_int -':
    'add',
  '- dim dims out dims_out all_out int float bool': 'all',
  '- dim dims out dims_out all_out str int float bool': 'any',
  '- start start_step start_out out': 'arange',
  'bool float int complex - list': 'as_tensor',
  '- out p Tensor Tensor_out float_out': 'bernoulli',
  'Tensor float': 'bernoulli_',
  '- Tensor int float': 'copy_',
  'Tensor Scalar out Scalar_out int float int_float float_int -': 'copysign',
  '- int float bool Tensor str': 'count',
  '- dim_IntList dim_IntList_out out': 'count_nonzero',
  'self self_out tensors_out tensors tensor list any': 'dequantize',
  '- str Dict_str int Dict_int bool Dict_bool float Dict_float complex Dict_complex Tensor Dict_Tensor': 'dict',
  'Tensor Scalar Tensor_mode Scalar_mode out out_mode Scalar_out Scalar_mode_out int complex float -': 'div',
  'Tensor Tensor_mode Scalar Scalar_mode': 'div_',
  'Tensor Scalar Tensor_mode Scalar_mode out out_mode': 'divide',
  'Tensor Tensor_mode Scalar_mode Scalar': 'divide_',
  '- sublist': 'einsum',
  'memory_format out': 'empty',
  '- m out m_out': 'eye',
  'Scalar Scalar_out Tensor Tensor_out': 'fill',
  'Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out': 'float_power',
  '- Scalar out Scalar_out': 'floor_divide',
  'Tensor Scalar Tensor_out Scalar_out int float int_float float_int -': 'fmod',
  '- periodic periodic_alpha periodic_alpha_beta out periodic_out periodic_alpha_out periodic_alpha_beta_out':
    'hamming_window',
  'out -': 'huber_loss_backward',
  'Tensor Tensor_out Tensor_hacked_twin str list_int list_float list_bool list_Tensor list_str': 'index',
  'int_Tensor int_Scalar int_Scalar_out int_Tensor_out': 'index_fill',
  'int_Tensor int_Scalar': 'index_fill_',
  '- periodic beta out periodic_out beta_out': 'kaiser_window',
  't Tensor str Dict_str Dict_int Dict_bool Dict_float Dict_complex Dict_Tensor any': 'len',
  'Scalar Tensor Scalar_out Tensor_out': 'lerp',
  '- p_str out p_str_out': 'linalg_cond',
  '- str_ord out str_ord_out': 'linalg_matrix_norm',
  '- tol_tensor atol_rtol_tensor atol_rtol_float atol_rtol_tensor_out atol_rtol_float_out out out_tol_tensor':
    'linalg_matrix_rank',
  '- ord_str out ord_str_out': 'linalg_norm',
  '- atol_rtol_float atol_rtol_tensor atol_rtol_tensor_out atol_rtol_float_out out rcond_tensor out_rcond_tensor':
    'linalg_pinv',
  '- out int float complex Scalar int_int float_float complex_complex int_float float_int int_complex complex_int float_complex complex_float Scalar_Scalar':
    'log',
  'other - dim dim_max unary_out out': 'max',
  '- dim out dtype_out': 'mean',
  'other - dim dim_min unary_out out': 'min',
  'intlist int': 'moveaxis',
  'Tensor Scalar out Scalar_out left_t right_ int complex float int_complex complex_int float_complex complex_float int_float float_int -':
    'mul',
  'Scalar ScalarOpt_dim ScalarOpt_dim_dtype dtype_out out ScalarOpt_dtype ScalarOpt_dtype_out Scalar_out': 'norm',
  'Tensor_float Tensor_float_out float_Tensor_out float_Tensor Tensor_Tensor Tensor_Tensor_out float_float float_float_out out':
    'normal',
  '- dim out dim_out': 'nuclear_norm',
  'Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out int complex float int_float float_int float_complex complex_float Scalar_Scalar int_to_int':
    'pow',
  '- dim_int int_out out': 'prod',
  '- generator low low_generator out generator_out low_out low_generator_out': 'randint',
  '- Tensor low_dtype generator Tensor_generator low_generator_dtype out generator_out Tensor_out Tensor_generator_out low_dtype_out low_generator_dtype_out':
    'randint_like',
  'from from_out to to_out - out': 'random',
  'from to -': 'random_',
  'step - out out_': 'range',
  'Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out int float int_float float_int -': 'remainder',
  'int float bool Tensor str': 'remove',
  'Tensor self_Tensor self_int Tensor_out': 'repeat_interleave',
  '- decimals out decimals_out int float Scalar': 'round',
  'value src reduce value_reduce src_out value_out reduce_out value_reduce_out': 'scatter',
  'source_Storage_storage_offset source_Tensor - source_Storage source_Tensor_storage_offset': 'set_',
  'Tensor t str': 'slice',
  'grad_input -': 'smooth_l1_loss_backward',
  '- stable values_stable values int float Tensor bool str any': 'sort',
  'int float Tensor bool str any': 'sorted',
  'Tensor sizes str -': 'split',
  '- dim dims out dim_out dims_out': 'squeeze_copy',
  'Tensor Scalar out Scalar_out int complex float int_complex complex_int float_complex complex_float int_float float_int -':
    'sub',
  'dim_IntList - IntList_out out int float complex bool': 'sum',
  'device dtype other dtype_layout prim_Device prim_dtype prim_other': 'to',
  '- dtype out dtype_out': 'view_copy',
  'self ScalarOther ScalarSelf Scalar - self_out': 'where',
  'Tensor Scalar_Other Scalar_Self OutTensor OutScalar_Self OutScalar_Other': 'xlogy',
  'Scalar bool': 'prim::NumToTensor',
  'int float complex Scalar -': 'prim::abs',
};

const ORDERS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(LISTED).flatMap(([overloads, names]) =>
    names.split(' ').map((name) => [name.includes('::') ? name : `aten::${name}`, overloads.split(' ')] as const),
  ),
);

/** Schemas of one operator as PyTorch lists them, where it refuses a call. */
export function inListedOrder(schemas: readonly FunctionSchema[]): readonly FunctionSchema[] {
  const order = ORDERS.get(schemas[0]!.name);
  if (order === undefined) return schemas;
  // Functions that stand beside operators, with the same name, come last.
  const [{ name }] = schemas as readonly [FunctionSchema];
  const placeOf = (schema: FunctionSchema): number =>
    (schema.name === name && order.indexOf(schema.overloadName || '-') + 1) || Infinity;
  return schemas.toSorted((one, other) => (placeOf(one) === placeOf(other) ? 0 : placeOf(one) - placeOf(other)));
}
