/** Shape functions of pooling, resampling and convolutions. */
export const windowsText = `
def adaptive_avg_pool2d(self: List[int], output_size: List[int]) -> List[int]:
    assert len(output_size) == 2
    assert len(self) == 3 or len(self) == 4
    for dim in range(1, len(self)):
        assert self[dim] != 0
    sizes: List[int] = []
    for dim in range(0, len(self) - 2):
        sizes.append(self[dim])
    for size in output_size:
        sizes.append(size)
    return sizes

def pooled(size: int, kernel: int, padding: int, stride: int, dilation: int, ceil_mode: bool) -> int:
    assert stride != 0, "stride should not be zero"
    rounding = stride - 1 if ceil_mode else 0
    windows = (size + 2 * padding - dilation * (kernel - 1) - 1 + rounding) // stride + 1
    if ceil_mode:
        # No window begins behind the padding on the left and the tensor.
        if (windows - 1) * stride >= size + padding:
            windows = windows - 1
    return windows

def max_pool2d(self: List[int], kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> List[int]:
    assert len(kernel_size) == 1 or len(kernel_size) == 2
    kernel_h = kernel_size[0]
    kernel_w = kernel_h if len(kernel_size) == 1 else kernel_size[1]
    assert len(stride) == 0 or len(stride) == 1 or len(stride) == 2
    stride_h = kernel_h if len(stride) == 0 else stride[0]
    if len(stride) == 0:
        stride_w = kernel_w
    elif len(stride) == 1:
        stride_w = stride_h
    else:
        stride_w = stride[1]
    assert len(padding) == 1 or len(padding) == 2
    padding_h = padding[0]
    padding_w = padding_h if len(padding) == 1 else padding[1]
    assert len(dilation) == 1 or len(dilation) == 2
    dilation_h = dilation[0]
    dilation_w = dilation_h if len(dilation) == 1 else dilation[1]
    assert len(self) == 3 or len(self) == 4
    batch = self[-4] if len(self) == 4 else 1
    channels = self[-3]
    height = pooled(self[-2], kernel_h, padding_h, stride_h, dilation_h, ceil_mode)
    width = pooled(self[-1], kernel_w, padding_w, stride_w, dilation_w, ceil_mode)
    assert kernel_w > 0 and kernel_h > 0
    assert stride_w > 0 and stride_h > 0
    assert dilation_h > 0 and dilation_w > 0
    has_middle = self[1] != 0 and self[2] != 0
    assert (len(self) == 3 and self[0] != 0 and has_middle) or (len(self) == 4 and has_middle and self[3] != 0)
    assert kernel_w // 2 >= padding_w and kernel_h // 2 >= padding_h
    assert width >= 1 and height >= 1
    if len(self) == 3:
        return [channels, height, width]
    else:
        return [batch, channels, height, width]

def max_pool2d_with_indices(self: List[int], kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tuple[List[int], List[int]]:
    sizes = max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode)
    return sizes, sizes

def upsample_nearest2d(input: List[int], output_size: Optional[List[int]], scale_factors: Optional[List[float]]) -> List[int]:
    sizes: List[int] = []
    sizes.append(input[0])
    sizes.append(input[1])
    assert scale_factors is not None or output_size is not None
    if output_size is not None:
        assert scale_factors is None
        assert len(output_size) == 2
        sizes.append(output_size[0])
        sizes.append(output_size[1])
    if scale_factors is not None:
        assert output_size is None
        assert len(scale_factors) == 2
        sizes.append(int(input[2] * scale_factors[0]))
        sizes.append(int(input[3] * scale_factors[1]))
    return sizes

def has_negative(values: List[int]) -> bool:
    found = False
    for value in values:
        if value < 0:
            found = True
    return found

def conv(input: List[int], weight: List[int], bias: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> List[int]:
    rank = len(input)
    assert not has_negative(padding)
    assert not has_negative(stride)
    assert len(weight) == rank
    assert weight[0] >= groups
    assert (weight[0] % groups) == 0
    assert input[1] == weight[1] * groups
    if bias is not None:
        assert len(bias) == 1 and bias[0] == weight[0]
    for dim in range(2, rank):
        extent = dilation[dim - 2] * (weight[dim] - 1) + 1
        assert input[dim] + 2 * padding[dim - 2] >= extent
    output_padding: List[int] = []
    return convolution(input, weight, bias, stride, padding, dilation, False, output_padding, groups)

def conv1d(input: List[int], weight: List[int], bias: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> List[int]:
    assert len(weight) == 3
    assert len(input) == 3
    return conv(input, weight, bias, stride, padding, dilation, groups)

def conv2d(input: List[int], weight: List[int], bias: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> List[int]:
    assert len(weight) == 4
    assert len(input) == 4
    return conv(input, weight, bias, stride, padding, dilation, groups)

def conv3d(input: List[int], weight: List[int], bias: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> List[int]:
    assert len(weight) == 5
    assert len(input) == 5
    return conv(input, weight, bias, stride, padding, dilation, groups)

def convolution(input: List[int], weight: List[int], bias: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int) -> List[int]:
    has_dilation = len(dilation) > 0
    has_output_padding = len(output_padding) > 0
    sizes: List[int] = []
    sizes.append(input[0])
    if transposed:
        sizes.append(weight[1] * groups)
    else:
        sizes.append(weight[0])
    for dim in range(2, len(input)):
        step = dilation[dim - 2] if has_dilation else 1
        added = output_padding[dim - 2] if has_output_padding else 0
        reach = step * (weight[dim] - 1)
        if transposed:
            sizes.append((input[dim] - 1) * stride[dim - 2] - 2 * padding[dim - 2] + reach + added + 1)
        else:
            sizes.append((input[dim] + 2 * padding[dim - 2] - (reach + 1)) // stride[dim - 2] + 1)
    return sizes

def conv_transpose2d(input: List[int], weight: List[int], bias: Optional[List[int]], stride: Optional[List[int]], padding: Optional[List[int]], output_padding: Optional[List[int]], groups: int, dilation: Optional[List[int]]) -> List[int]:
    if stride is None:
        stride = [1, 1]
    if padding is None:
        padding = [0, 0]
    if output_padding is None:
        output_padding = [0, 0]
    if dilation is None:
        dilation = [1, 1]
    return convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)

def convolution_backward(grad_output: List[int], input: List[int], weight: List[int]) -> Tuple[List[int], List[int], List[int]]:
    return unary(input), unary(weight), [grad_output[1]]
`;
