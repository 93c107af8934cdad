import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** What training for quantisation leaves in models: numbers rounded as quantising and dequantising would round them (ATen/native/quantized/FakeQuantPerTensorAffine.cpp, FakeQuantPerChannelAffine.cpp). */

const checkRange = `
    assert quant_min <= quant_max, "\`quant_min\` should be less than or         equal to \`quant_max\`."`;

/** The name of a tensor's dtype, by its number. */
const nameOf = (tensor: string): string =>
  `["Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf", "ComplexFloat", "ComplexDouble", "Bool"][${tensor}.dtype]`;

const checkDtype = (kernel: string): string => `
    assert torch.is_floating_point(self), '"${kernel}_type_handling" not implemented for \\'' + ${nameOf('self')} + "'"`;

/** Of no number and of infinity no whole number is made: the least one stands for them, outside the range. */
const perChannel = `
def fake_quantize_per_channel_affine_cachemask(self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tuple[Tensor, Tensor]:
    # 6 is float32, 15 bfloat16, 3 int32, 5 float16.
    assert scale.dtype == 6 or scale.dtype == 15, "Scale must be Float or BFloat16, found " + ${nameOf('scale')}
    whole = zero_point.dtype == 3
    assert whole or zero_point.dtype == 6 or zero_point.dtype == 5, "Zero-point must be Int32, Float or Half, found " + ${nameOf('zero_point')}
    assert scale.dim() == 1, "scale should be a 1-D tensor"
    assert zero_point.dim() == 1, "zero point should be a 1-D tensor"
    assert scale.numel() == zero_point.numel(), "scale and zero-point need to have the same dimensions"
    assert scale.numel() == self.size(axis), "dimensions of scale and zero-point are not consistent with input tensor"${checkRange}
    if whole:
        assert bool(torch.min(zero_point) >= quant_min) and bool(torch.max(zero_point) <= quant_max), "\`zero_point\` must be between \`quant_min\` and \`quant_max\`."
    assert axis >= 0 and axis <= self.dim(), "\`axis\` must be between 0 and number of dimensions of input"${checkDtype('fake_quantize_channel_cachemask_cpu')}
    sizes = [1] * self.dim()
    sizes[axis] = scale.numel()
    step = scale.to(6).reshape(sizes)
    zero = zero_point.to(6).reshape(sizes)
    scaled = self.to(6) * torch.reciprocal(step)
    nearest = torch.round(scaled) + zero if whole else torch.round(scaled + zero)
    counted = torch.isfinite(nearest)
    kept = torch.clamp(torch.where(counted, nearest, quant_min), quant_min, quant_max)
    mask = torch.logical_and(counted, torch.logical_and(nearest >= quant_min, nearest <= quant_max))
    return ((kept - zero) * step).to(self.dtype), mask
`;

const perTensor = `
def fake_quantize_per_tensor_affine_cachemask(self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Tuple[Tensor, Tensor]:${checkRange}
    assert zero_point >= quant_min and zero_point <= quant_max, "\`zero_point\` must be between \`quant_min\` and \`quant_max\`."${checkDtype('fake_quantize_tensor_cachemask_kernel')}
    nearest = torch.round(self.to(6) * (1 / scale)) + zero_point
    kept = torch.clamp(torch.where(torch.isnan(nearest), quant_min, nearest), quant_min, quant_max)
    mask = torch.logical_and(nearest >= quant_min, nearest <= quant_max)
    return ((kept - zero_point) * scale).to(self.dtype), mask
`;

const backward = (name: string): OperatorRow =>
  decomposed(
    `aten::${name}_cachemask_backward(Tensor grad, Tensor mask) -> Tensor`,
    `
def ${name}_cachemask_backward(grad: Tensor, mask: Tensor) -> Tensor:
    # 11 is bool.
    assert mask.dtype == 11, "Expected mask.scalar_type() == ScalarType::Bool to be true, but got false."
    assert mask.numel() == grad.numel(), "Expected mask.numel() == dY.numel() to be true, but got false."
    return grad * mask
`,
  );

export const fakeQuantizeRows: readonly OperatorRow[] = [
  decomposed(
    'aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)',
    perChannel,
  ),
  decomposed(
    'aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor',
    `
def fake_quantize_per_channel_affine(self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tensor:
    return torch.fake_quantize_per_channel_affine_cachemask(self, scale, zero_point, axis, quant_min, quant_max)[0]
`,
  ),
  decomposed(
    'aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> (Tensor output, Tensor mask)',
    perTensor,
  ),
  decomposed(
    'aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor',
    `
def fake_quantize_per_tensor_affine(self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Tensor:
    return torch.fake_quantize_per_tensor_affine_cachemask(self, scale, zero_point, quant_min, quant_max)[0]
`,
  ),
  decomposed(
    'aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor',
    `
def fake_quantize_per_tensor_affine(self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int) -> Tensor:
    return torch.fake_quantize_per_tensor_affine(self, float(scale), int(zero_point), quant_min, quant_max)
`,
  ),
  backward('fake_quantize_per_channel_affine'),
  backward('fake_quantize_per_tensor_affine'),
];
