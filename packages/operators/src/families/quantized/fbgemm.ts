import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/**
 * Layers as `torch.jit.quantized` had them before there were quantised tensors (ATen/native/QuantizedLinear.cpp, RNN.cpp): weights are int8 with
 * a scale, what is multiplied with them is rounded to 8 bits by its own range. What FBGEMM packs is the weight itself here.
 */

const weightOptions =
  'Tensor weight, Tensor packed, Tensor col_offsets, Scalar weight_scale, Scalar weight_zero_point, Tensor bias';

/** Appended to texts that multiply by such a weight. */
const product = `
def product(x: Tensor, weight: Tensor, scale: number, zero_point: number, bias: Tensor) -> Tensor:
    assert x.dtype == 6, "expected scalar type Float"
    assert x.size(-1) == weight.size(1), "Expected K == weight.size(1) to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
    own_scale, own_zero_point = torch._choose_qparams_per_tensor(x, False)
    rounded = torch.clamp(torch.add(torch.round(torch.mul(x, 1.0 / own_scale)), own_zero_point), 0, 255)
    sums = torch.matmul(torch.to(rounded - own_zero_point, 7), torch.t(torch.to(weight, 7) - float(zero_point)))
    return torch.to(sums * (own_scale * float(scale)), 6) + bias
`;

const int8Linear = (name: string): OperatorRow =>
  decomposed(
    `aten::${name}(Tensor input, ${weightOptions}) -> Tensor`,
    `
def ${name}(input: Tensor, weight: Tensor, packed: Tensor, col_offsets: Tensor, weight_scale: number, weight_zero_point: number, bias: Tensor) -> Tensor:
    return product(input, weight, weight_scale, weight_zero_point, bias)
${product}`,
  );

const cellOptions =
  'Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih, Tensor packed_hh, Tensor col_offsets_ih, Tensor col_offsets_hh, Scalar scale_ih, Scalar scale_hh, Scalar zero_point_ih, Scalar zero_point_hh';
const cellParameters =
  'w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, packed_ih: Tensor, packed_hh: Tensor, col_offsets_ih: Tensor, col_offsets_hh: Tensor, scale_ih: number, scale_hh: number, zero_point_ih: number, zero_point_hh: number';

/** What a cell computes of `gates`, the input's, and `own`, those of its state `h`. */
const cell = (name: string, body: string, state = 'Tensor hx', result = 'Tensor'): OperatorRow =>
  decomposed(
    `aten::${name}(Tensor input, ${state}, ${cellOptions}) -> ${result}`,
    `
def ${name}(input: Tensor, hx: ${state === 'Tensor hx' ? 'Tensor' : 'List[Tensor]'}, ${cellParameters}) -> ${result.replace('(', 'Tuple[').replace(')', ']')}:
    h = ${state === 'Tensor hx' ? 'hx' : 'hx[0]'}
    gates = product(input, w_ih, scale_ih, zero_point_ih, b_ih)
    own = product(h, w_hh, scale_hh, zero_point_hh, b_hh)
${body}
${product}`,
  );

const halfLinear = (name: string, bias: string): OperatorRow =>
  decomposed(
    `aten::${name}(Tensor input, Tensor packed_weight, Tensor${bias ? '?' : ''} bias) -> Tensor`,
    `
def ${name}(input: Tensor, packed_weight: Tensor, bias: ${bias || 'Tensor'}) -> Tensor:
    return torch.linear(input, torch.to(packed_weight, input.dtype), bias)
`,
  );

export const fbgemmRows: readonly OperatorRow[] = [
  decomposed(
    'aten::fbgemm_linear_quantize_weight(Tensor input) -> (Tensor, Tensor, float, int)',
    `
def fbgemm_linear_quantize_weight(input: Tensor) -> Tuple[Tensor, Tensor, float, int]:
    scale, zero_point = torch._choose_qparams_per_tensor(input, False)
    zero_point = zero_point - 128
    rounded = torch.clamp(torch.add(torch.round(torch.mul(input, 1.0 / scale)), zero_point), -128, 127)
    weight = torch.to(rounded, 1)
    offsets = torch.sum(weight, [1], dtype=3) - input.size(1) * zero_point
    return weight, torch.to(offsets, 3), scale, zero_point
`,
  ),
  decomposed(
    'aten::fbgemm_pack_quantized_matrix(Tensor input) -> Tensor',
    `
def fbgemm_pack_quantized_matrix(input: Tensor) -> Tensor:
    return torch.clone(input)
`,
  ),
  decomposed(
    'aten::fbgemm_pack_quantized_matrix.KN(Tensor input, int K, int N) -> Tensor',
    `
def fbgemm_pack_quantized_matrix(input: Tensor, K: int, N: int) -> Tensor:
    return torch.clone(input)
`,
  ),
  int8Linear('fbgemm_linear_int8_weight'),
  int8Linear('fbgemm_linear_int8_weight_fp32_activation'),
  decomposed(
    'aten::fbgemm_pack_gemm_matrix_fp16(Tensor input) -> Tensor',
    `
def fbgemm_pack_gemm_matrix_fp16(input: Tensor) -> Tensor:
    return torch.to(torch.clamp(input, -65504.0, 65504.0), 5)
`,
  ),
  halfLinear('fbgemm_linear_fp16_weight', ''),
  halfLinear('fbgemm_linear_fp16_weight_fp32_activation', 'Optional[Tensor]'),
  cell(
    'quantized_lstm_cell',
    `    i, f, g, o = torch.unsafe_chunk(gates + own, 4, 1)
    c = torch.sigmoid(f) * hx[1] + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c`,
    'Tensor[] hx',
    '(Tensor, Tensor)',
  ),
  cell(
    'quantized_gru_cell',
    `    ir, iz, i = torch.unsafe_chunk(gates, 3, 1)
    hr, hz, n = torch.unsafe_chunk(own, 3, 1)
    fresh = torch.tanh(i + torch.sigmoid(ir + hr) * n)
    return (h - fresh) * torch.sigmoid(iz + hz) + fresh`,
  ),
  cell('quantized_rnn_relu_cell', '    return torch.relu(gates + own)'),
  cell('quantized_rnn_tanh_cell', '    return torch.tanh(gates + own)'),
];
