import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/**
 * What a program has in the place of quantised tensors once it was quantised by PyTorch 2 Export: integers, and the scale and zero point beside them
 * (torch/ao/quantization/fx/_decomposed.py). dtypes are their numbers: 0 is uint8, 1 int8, 5 float16, 6 float32, 7 float64, 4 int64, 15 bfloat16.
 */

/** Floats of half precision are quantised as float32. */
const SINGLE = `
def single(input: Tensor) -> Tensor:
    if input.dtype == 5 or input.dtype == 15:
        return input.to(6)
    assert input.dtype == 6, "Expecting input to have dtype torch.float32"
    return input
`;

const BOUNDS = `
def check_bounds(quant_min: int, quant_max: int, dtype: int):
    lower = 0
    upper = 255
    if dtype == 1:
        lower = -128
        upper = 127
    elif dtype == 2:
        lower = -32768
        upper = 32767
    elif dtype == 3:
        lower = -2147483648
        upper = 2147483647
    elif dtype == 27:
        upper = 65535
    elif dtype == 23:
        lower = -57344
        upper = 57344
    elif dtype == 24:
        lower = -448
        upper = 448
    else:
        assert dtype == 0, "Unsupported dtype"
    assert quant_min >= lower, "quant_min out of bounds for dtype, quant_min_lower_bound: {} quant_min: {}".format(lower, quant_min)
    assert quant_max <= upper, "quant_max out of bounds for dtype, quant_max_upper_bound: {} quant_max: {}".format(upper, quant_max)
`;

const QUANTIZE = `
def as_integers(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int) -> Tensor:
    check_bounds(quant_min, quant_max, dtype)
    return torch.clamp(torch.round(single(input) * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)
${SINGLE}${BOUNDS}`;

const DEQUANTIZE = `
def as_floats(input: Tensor, scale: float, zero_point: int, dtype: int, out_dtype: Optional[int]) -> Tensor:
    assert input.dtype == dtype, "Expecting input to have another dtype"
    wide = 6
    if out_dtype is not None:
        wide = out_dtype
    return (input.to(wide) - zero_point) * scale
`;

/** The shape in which parameters of an axis stand beside a tensor. */
const ALONG = `
def along(parameters: Tensor, input: Tensor, axis: int) -> Tensor:
    assert axis < input.dim(), "Expecting axis to be < {}".format(input.dim())
    before = axis % input.dim()
    return parameters.view([1] * before + [parameters.size(0)] + [1] * (input.dim() - before - 1))
`;

/** Scale and zero point of a range (torch.ao.quantization.utils.determine_qparams), as tensors of one element. */
const PARAMETERS = `
def parameters(input: Tensor, qmin: int, qmax: int, eps: float, dtype: int, symmetric: bool) -> Tuple[Tensor, Tensor]:
    assert input.dtype == 5 or input.dtype == 6 or input.dtype == 15, "Expecting input to have dtype torch.float32/16/b16"
    low, high = torch.aminmax(input)
    low = torch.clamp(low, max=0)
    high = torch.clamp(high, min=0)
    least = torch.full([1], eps, dtype=6)
    if symmetric:
        scale = torch.max(torch.max(-low, high) / (float(qmax - qmin) / 2), least)
        return scale.to(7).view([1]), torch.full([1], 128 if dtype == 0 else 0, dtype=4)
    scale = torch.max((high - low) / float(qmax - qmin), least)
    zero_point = torch.clamp(qmin - torch.round(low / scale).to(3), qmin, qmax)
    return scale.to(7).view([1]), zero_point.to(4).view([1])
`;

const tensorParameters = 'Tensor input, Tensor scale, Tensor zero_point';
const signature = 'input: Tensor, scale: Tensor, zero_point: Tensor';

export const quantizedDecomposedRows: readonly OperatorRow[] = [
  decomposed(
    'quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor',
    `
def to_integers_per_tensor(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int) -> Tensor:
    return as_integers(input, scale, zero_point, quant_min, quant_max, dtype)
${QUANTIZE}`,
  ),
  decomposed(
    `quantized_decomposed::quantize_per_tensor.tensor(${tensorParameters}, int quant_min, int quant_max, ScalarType dtype) -> Tensor`,
    `
def to_integers_per_tensor(${signature}, quant_min: int, quant_max: int, dtype: int) -> Tensor:
    return as_integers(input, float(scale), int(zero_point), quant_min, quant_max, dtype)
${QUANTIZE}`,
  ),
  decomposed(
    `quantized_decomposed::quantize_per_tensor.tensor2(${tensorParameters}, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor`,
    `
def to_integers_per_tensor(${signature}, quant_min: Tensor, quant_max: Tensor, dtype: int) -> Tensor:
    return as_integers(input, float(scale), int(zero_point), int(quant_min), int(quant_max), dtype)
${QUANTIZE}`,
  ),
  decomposed(
    'quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor',
    `
def to_floats_per_tensor(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int, out_dtype: Optional[int]) -> Tensor:
    return as_floats(input, scale, zero_point, dtype, out_dtype)
${DEQUANTIZE}`,
  ),
  decomposed(
    `quantized_decomposed::dequantize_per_tensor.tensor(${tensorParameters}, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor`,
    `
def to_floats_per_tensor(${signature}, quant_min: int, quant_max: int, dtype: int, out_dtype: Optional[int]) -> Tensor:
    return as_floats(input, float(scale), int(zero_point), dtype, out_dtype)
${DEQUANTIZE}`,
  ),
  decomposed(
    `quantized_decomposed::dequantize_per_tensor.tensor2(${tensorParameters}, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor`,
    `
def to_floats_per_tensor(${signature}, quant_min: Tensor, quant_max: Tensor, dtype: int, out_dtype: Optional[int]) -> Tensor:
    return as_floats(input, float(scale), int(zero_point), dtype, out_dtype)
${DEQUANTIZE}`,
  ),
  decomposed(
    'quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor',
    `
def to_integers_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int, dtype: int) -> Tensor:
    check_bounds(quant_min, quant_max, dtype)
    inverse = 1.0 / along(scales, input, axis)
    return torch.clamp(torch.round(single(input) * inverse) + along(zero_points, input, axis), quant_min, quant_max).to(dtype)
${SINGLE}${BOUNDS}${ALONG}`,
  ),
  decomposed(
    'quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor',
    `
def to_floats_per_channel(input: Tensor, scales: Tensor, zero_points: Optional[Tensor], axis: int, quant_min: int, quant_max: int, dtype: int, out_dtype: Optional[int]) -> Tensor:
    assert input.dtype == dtype, "Expecting input to have another dtype"
    check_bounds(quant_min, quant_max, dtype)
    shifted = input
    if zero_points is not None:
        shifted = input - along(zero_points, input, axis)
    result = shifted * along(scales, input, axis)
    if out_dtype is not None:
        return result.to(out_dtype)
    return result.to(6)
${BOUNDS}${ALONG}`,
  ),
  ...(['choose_qparams', 'choose_qparams_symmetric'] as const).map((name) =>
    decomposed(
      `quantized_decomposed::${name}.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)`,
      `
def ${name}(input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: int) -> Tuple[Tensor, Tensor]:
    return parameters(input, quant_min, quant_max, eps, dtype, ${name === 'choose_qparams' ? 'False' : 'True'})
${PARAMETERS}`,
    ),
  ),
  decomposed(
    'quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)',
    `
def choose_qparams_per_token(input: Tensor, dtype: int) -> Tuple[Tensor, Tensor]:
    assert dtype == 1, "unsupported dtype in choose_qparams_per_token"
    scales = torch.amax(torch.abs(input), [-1], True)
    if scales.dtype == 5:
        scales = scales.to(6)
    scales = torch.clamp(scales, min=1e-5) / 127
    return scales, torch.zeros_like(scales)
`,
  ),
  ...['choose_qparams_per_token_asymmetric', '_choose_qparams_per_token_asymmetric_impl'].map((name) =>
    decomposed(
      `quantized_decomposed::${name}(Tensor input, ScalarType dtype) -> (Tensor, Tensor)`,
      `
def choose_qparams_per_token_asymmetric(input: Tensor, dtype: int) -> Tuple[Tensor, Tensor]:
    low = torch.clamp(torch.amin(input, [-1], True), max=0)
    high = torch.clamp(torch.amax(input, [-1], True), min=0)
    scale = torch.clamp((high - low) / 255.0, min=1.1920928955078125e-07)
    lowest = low / scale
    highest = high / scale
    zero_point = torch.where((lowest - 128) + (highest + 127) > 0, -128 - lowest, 127 - highest)
    return scale.to(7), torch.round(torch.clamp(zero_point, -128, 127)).to(4)
`,
    ),
  ),
  decomposed(
    'quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype) -> Tensor',
    `
def to_integers_per_token(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: int) -> Tensor:
    check_bounds(quant_min, quant_max, dtype)
    return torch.clamp(torch.round(input * (1.0 / scales) + zero_points), quant_min, quant_max).to(dtype)
${BOUNDS}`,
  ),
  decomposed(
    'quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor',
    `
def to_floats_per_token(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: int, output_dtype: int) -> Tensor:
    return ((input - zero_points) * scales).to(output_dtype)
`,
  ),
  decomposed(
    'quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size) -> Tensor',
    `
def to_integers_per_channel_group(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: int, group_size: int) -> Tensor:
    assert group_size > 1, "group_size must be > 1"
    size = input.size(-1) if group_size > input.size(-1) and scales.size(-1) == 1 else group_size
    assert input.size(-1) % size == 0, "input.shape[-1] must be divisible by group_size"
    assert input.dim() == 2, "input must be 2-dimensional"
    grouped = input.reshape([-1, size]) * (1.0 / scales.reshape([-1, 1])) + zero_points.reshape([-1, 1])
    return torch.clamp(torch.round(grouped), quant_min, quant_max).to(dtype).reshape(input.size())
`,
  ),
  decomposed(
    'quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor',
    `
def to_floats_per_channel_group(input: Tensor, scales: Tensor, zero_points: Optional[Tensor], quant_min: int, quant_max: int, dtype: int, group_size: int, output_dtype: int) -> Tensor:
    assert group_size > 1, "group_size must be > 1"
    size = input.size(-1) if group_size > input.size(-1) and scales.size(-1) == 1 else group_size
    assert input.size(-1) % size == 0, "input.shape[-1] must be divisible by group_size"
    assert input.dim() == 2, "input must be 2-dimensional"
    grouped = input.reshape([-1, size])
    if zero_points is not None:
        grouped = grouped - zero_points.reshape([-1, 1])
    return (grouped * scales.reshape([-1, 1])).reshape(input.size()).to(output_dtype)
`,
  ),
  decomposed(
    'quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor',
    `
def convert_element_type(input: Tensor, dtype: int) -> Tensor:
    return input.to(dtype)
`,
  ),
];
