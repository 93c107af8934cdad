import type { OperatorRow } from './row.ts';
import { outSchema, overloadOf } from './variants.ts';

/** Operators that PyTorch has `out=` forms of only because it makes them for everything. */
const generated =
  '_convolution _embedding_bag _embedding_bag_forward_only _log_softmax_backward_data ' +
  '_native_batch_norm_legit_no_training _native_multi_head_attention _pack_padded_sequence _transformer_encoder_layer_fwd ' +
  '_unique _unique2 _unsafe_view _weight_norm_interface argsort.stable bernoulli.Tensor bernoulli bucketize.Scalar cauchy ' +
  'celu chain_matmul clone convolution exponential fill.Scalar fill.Tensor geometric isinf isnan log_normal native_dropout ' +
  'nonzero_static normal.Tensor_Tensor normal.Tensor_float normal.float_Tensor random.from random random.to repeat ' +
  'repeat_interleave.Tensor roll std_mean.correction uniform unique_consecutive unique_dim unique_dim_consecutive ' +
  'upsample_bilinear2d.vec upsample_nearest2d.vec var_mean.correction zero';

/** Operators that make a tensor as their options say; with `out=` the tensor itself says it. */
const factories =
  'arange bartlett_window bartlett_window.periodic blackman_window blackman_window.periodic empty.memory_format empty_like ' +
  'empty_permuted empty_strided eye.m eye fft_fftfreq fft_rfftfreq full full_like hamming_window hamming_window.periodic ' +
  'hamming_window.periodic_alpha_beta hamming_window.periodic_alpha hann_window hann_window.periodic kaiser_window.beta ' +
  'kaiser_window kaiser_window.periodic linspace.Scalar_Tensor linspace.Tensor_Scalar linspace.Tensor_Tensor linspace ' +
  'logspace.Scalar_Tensor logspace.Tensor_Scalar logspace.Tensor_Tensor logspace new_empty new_empty_strided new_full ' +
  'new_ones new_zeros normal.float_float ones ones_like rand.generator rand rand_like.generator rand_like randint.generator ' +
  'randint.low_generator randint.low randint randint_like.Tensor randint_like.generator randint_like.low_dtype ' +
  'randint_like.low_generator_dtype randint_like randn.generator randn randn_like.generator randn_like randperm.generator ' +
  'randperm scalar_tensor tril_indices triu_indices zeros zeros_like';

/** Forms whose arguments are not those of the functional one. */
const special: readonly (readonly [schema: string, of: string])[] = [
  [
    'aten::fake_quantize_per_channel_affine_cachemask.out(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'fake_quantize_per_channel_affine_cachemask',
  ],
  [
    'aten::fake_quantize_per_tensor_affine_cachemask.out(Tensor self, float scale, int zero_point, int quant_min, int quant_max, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'fake_quantize_per_tensor_affine_cachemask',
  ],
  [
    'aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)',
    'arange.start_step',
  ],
  ['aten::range.out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)', 'range.step'],
  ['aten::range.out_(Scalar start, Scalar end, *, Tensor(a!) out) -> Tensor(a!)', 'range'],
  [
    'aten::bernoulli.float_out(Tensor self, float p=0.5, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)',
    'bernoulli.p',
  ],
];

/** `aten::ones(SymInt[] size, *, ScalarType? dtype=None, …)` without what describes the new tensor. */
function withoutOptions(schema: string): string {
  const [open, close] = [schema.indexOf('(') + 1, schema.lastIndexOf(') -> ')];
  const args = schema.slice(open, close).split(', ');
  const kept = args.filter(
    (arg) => !/^(ScalarType\? dtype|Layout\? layout|Device\? device|bool\? pin_memory)=/.test(arg),
  );
  if (kept.at(-1) === '*') kept.pop();
  return schema.slice(0, open) + kept.join(', ') + schema.slice(close);
}

/** What each is a form of, by name and overload name, and its schema, in the order in which overloads are registered. */
const forms: readonly (readonly [of: string, schemaOf: (functional: string) => string])[] = [
  ...generated.split(' ').map((of) => [of, (schema: string) => outSchema(schema, overloadFor(schema))] as const),
  ...factories
    .split(' ')
    .map((of) => [of, (schema: string) => outSchema(withoutOptions(schema), overloadFor(schema))] as const),
  ...special.map(([schema, of]) => [of, () => schema] as const),
];
const withForms = new Set(forms.map(([of]) => of));

/** The `out=` forms that rows do not name themselves. */
export function generatedOutForms(rows: readonly OperatorRow[]): OperatorRow[] {
  const byName = new Map(rows.map((row) => [row.schema.slice('aten::'.length, row.schema.indexOf('(')), row]));
  if (![...byName.keys()].some((name) => withForms.has(name))) return [];
  return forms.flatMap(([of, schemaOf]) => {
    const from = byName.get(of);
    if (!from) return [];
    return { schema: schemaOf(from.schema), derived: { from, form: 'out' }, nondeterministic: from.nondeterministic };
  });
}

/** `periodic_out`, or `out(out0, out1)` for an operator with two results. */
function overloadFor(schema: string): string {
  const overload = overloadOf(schema);
  const results = schema.slice(schema.lastIndexOf(') -> ')).split('Tensor').length - 1;
  const names = Array.from({ length: results }, (_, at) => `out${at}`).join(', ');
  return `${overload && overload !== 'memory_format' ? `${overload}_` : ''}out${results > 1 ? `(${names})` : ''}`;
}
