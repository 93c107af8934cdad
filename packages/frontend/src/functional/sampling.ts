/** Pooling, padding, resampling and folding of `torch.nn.functional`. */
const maxPool = (dims: number): string => `
def _max_pool${dims}d(input: Tensor, kernel_size: BroadcastingList${dims}[int], stride: Optional[BroadcastingList${dims}[int]] = None, padding: BroadcastingList${dims}[int] = 0, dilation: BroadcastingList${dims}[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool${dims}d(input, kernel_size, stride, padding, dilation, ceil_mode)

def max_pool${dims}d_with_indices(input: Tensor, kernel_size: BroadcastingList${dims}[int], stride: Optional[BroadcastingList${dims}[int]] = None, padding: BroadcastingList${dims}[int] = 0, dilation: BroadcastingList${dims}[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool${dims}d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)

def adaptive_max_pool${dims}d_with_indices(input: Tensor, output_size: BroadcastingList${dims}[int], return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    _output_size = torch.list_with_default(output_size, input.size())
    return torch.adaptive_max_pool${dims}d(input, _output_size)

def _adaptive_max_pool${dims}d(input: Tensor, output_size: BroadcastingList${dims}[int], return_indices: bool = False) -> Tensor:
    return adaptive_max_pool${dims}d_with_indices(input, output_size)[0]
`;

const adaptiveAveragePool = (dims: number): string => `
def adaptive_avg_pool${dims}d(input: Tensor, output_size: BroadcastingList${dims}[int]) -> Tensor:
    _output_size = torch.list_with_default(output_size, input.size())
    return torch.adaptive_avg_pool${dims}d(input, _output_size)
`;

/** Annotations of `size` and `scale_factor` in the overloads of `interpolate`, in the order in which they are tried. */
const INTERPOLATE_OVERLOADS = [
  ['int', 'List[float]'],
  ['List[int]', 'List[float]'],
  ['int', 'float'],
  ['List[int]', 'float'],
] as const;

function interpolate(index: number, size: string, scale: string): string {
  const sizeList = size === 'int' ? '[size for _ in range(dim)]' : 'size';
  const scaleList = scale === 'float' ? '[scale_factor for _ in range(dim)]' : 'scale_factor';
  const checkSize =
    size === 'int'
      ? ''
      : `        if len(size) != dim:
            raise ValueError(f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of {list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format.")
`;
  const checkScale =
    scale === 'float'
      ? ''
      : `        if len(scale_factor) != dim:
            raise ValueError(f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format.")
`;
  return `
def interpolate__${index}(input: Tensor, size: Optional[${size}] = None, scale_factor: Optional[${scale}] = None, mode: str = "nearest", align_corners: Optional[bool] = None, recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    dim = input.dim() - 2
    output_size = torch.jit.annotate(Optional[List[int]], None)
    scale_factors = torch.jit.annotate(Optional[List[float]], None)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    elif size is not None:
${checkSize}        output_size = ${sizeList}
    elif scale_factor is not None:
${checkScale}        scale_factors = ${scaleList}
    else:
        raise ValueError("either size or scale_factor should be defined")
    return _interpolate(input, output_size, scale_factors, mode, align_corners, recompute_scale_factor, antialias)
`;
}

const INTERPOLATE = `
def _interpolate(input: Tensor, output_size: Optional[List[int]], scale_factors: Optional[List[float]], mode: str, align_corners: Optional[bool], recompute_scale_factor: Optional[bool], antialias: bool) -> Tensor:
    if mode == "nearest" or mode == "area" or mode == "nearest-exact":
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    else:
        if align_corners is None:
            align_corners = False
    dim = input.dim() - 2
    if recompute_scale_factor is not None and recompute_scale_factor and output_size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if mode == "area" and output_size is None:
        recompute_scale_factor = True
    if recompute_scale_factor is not None and recompute_scale_factor:
        assert scale_factors is not None
        output_size = [int(math.floor(float(input.size(i + 2)) * scale_factors[i])) for i in range(dim)]
        scale_factors = None
    if antialias and not ((mode == "bilinear" or mode == "bicubic" or mode == "lanczos") and input.dim() == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    if input.dim() == 3 and mode == "nearest":
        return torch.upsample_nearest1d(input, output_size, scale_factors)
    if input.dim() == 4 and mode == "nearest":
        return torch.upsample_nearest2d(input, output_size, scale_factors)
    if input.dim() == 5 and mode == "nearest":
        return torch.upsample_nearest3d(input, output_size, scale_factors)
    if input.dim() == 3 and mode == "nearest-exact":
        return torch._upsample_nearest_exact1d(input, output_size, scale_factors)
    if input.dim() == 4 and mode == "nearest-exact":
        return torch._upsample_nearest_exact2d(input, output_size, scale_factors)
    if input.dim() == 5 and mode == "nearest-exact":
        return torch._upsample_nearest_exact3d(input, output_size, scale_factors)
    if input.dim() == 3 and mode == "area":
        assert output_size is not None
        return torch.adaptive_avg_pool1d(input, output_size)
    if input.dim() == 4 and mode == "area":
        assert output_size is not None
        return torch.adaptive_avg_pool2d(input, output_size)
    if input.dim() == 5 and mode == "area":
        assert output_size is not None
        return torch.adaptive_avg_pool3d(input, output_size)
    if input.dim() == 3 and mode == "linear":
        assert align_corners is not None
        return torch.upsample_linear1d(input, output_size, align_corners, scale_factors)
    if input.dim() == 4 and mode == "bilinear":
        assert align_corners is not None
        if antialias:
            return torch._upsample_bilinear2d_aa(input, output_size, align_corners, scale_factors)
        return torch.upsample_bilinear2d(input, output_size, align_corners, scale_factors)
    if input.dim() == 5 and mode == "trilinear":
        assert align_corners is not None
        return torch.upsample_trilinear3d(input, output_size, align_corners, scale_factors)
    if input.dim() == 4 and mode == "bicubic":
        assert align_corners is not None
        if antialias:
            return torch._upsample_bicubic2d_aa(input, output_size, align_corners, scale_factors)
        return torch.upsample_bicubic2d(input, output_size, align_corners, scale_factors)
    if input.dim() == 4 and mode == "lanczos":
        assert align_corners is not None
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
        return torch._upsample_lanczos2d_aa(input, output_size, align_corners, scale_factors)
    if input.dim() == 3 and mode == "bilinear":
        raise NotImplementedError("Got 3D input, but bilinear mode needs 4D input")
    if input.dim() == 3 and mode == "trilinear":
        raise NotImplementedError("Got 3D input, but trilinear mode needs 5D input")
    if input.dim() == 4 and mode == "linear":
        raise NotImplementedError("Got 4D input, but linear mode needs 3D input")
    if input.dim() == 4 and mode == "trilinear":
        raise NotImplementedError("Got 4D input, but trilinear mode needs 5D input")
    if input.dim() == 5 and mode == "linear":
        raise NotImplementedError("Got 5D input, but linear mode needs 3D input")
    if input.dim() == 5 and mode == "bilinear":
        raise NotImplementedError("Got 5D input, but bilinear mode needs 4D input")
    raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})")
`;

/** Older names of `interpolate` in one mode; `upsample` itself leaves the mode open. */
function upsample(index: number, size: string, scale: string): string {
  const target = `size: Optional[${size}] = None, scale_factor: Optional[${scale}] = None`;
  return `
def upsample_nearest__${index}(input: Tensor, ${target}) -> Tensor:
    return interpolate__${index}(input, size, scale_factor, "nearest")

def upsample_bilinear__${index}(input: Tensor, ${target}) -> Tensor:
    return interpolate__${index}(input, size, scale_factor, "bilinear", True)

def upsample__${index}(input: Tensor, ${target}, mode: str = "nearest", align_corners: Optional[bool] = None) -> Tensor:
    return interpolate__${index}(input, size, scale_factor, mode, align_corners)
`;
}

export const SAMPLING = [
  ...[1, 2, 3].map(maxPool),
  ...[2, 3].map(adaptiveAveragePool),
  INTERPOLATE,
  ...INTERPOLATE_OVERLOADS.map(([size, scale], index) => interpolate(index, size, scale)),
  ...INTERPOLATE_OVERLOADS.map(([size, scale], index) => upsample(index, size, scale)),
  `
def pad(input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Tensor:
    return torch.pad(input, pad, mode, value)

def unfold(input: Tensor, kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1) -> Tensor:
    return torch.im2col(input, kernel_size, dilation, padding, stride)

def fold(input: Tensor, output_size: BroadcastingList2[int], kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1) -> Tensor:
    return torch.col2im(input, output_size, kernel_size, dilation, padding, stride)

def affine_grid(theta: Tensor, size: List[int], align_corners: Optional[bool] = None) -> Tensor:
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.")
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims != 2 and dims != 3:
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}.")
    if theta.dim() != 3 or theta.shape[-2] != dims or theta.shape[-1] != dims + 1:
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got {theta.shape}.")
    if align_corners and min(size[2:]) == 1:
        warnings.warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an intended use case of affine_grid. See the documentation of affine_grid for details.")
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return torch.affine_grid_generator(theta, size, align_corners)

def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Optional[bool] = None) -> Tensor:
    if mode != "bilinear" and mode != "nearest" and mode != "bicubic":
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode != "zeros" and padding_mode != "border" and padding_mode != "reflection":
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'")
    if mode == "bilinear":
        mode_enum = 0
    elif mode == "nearest":
        mode_enum = 1
    else:
        mode_enum = 2
    if padding_mode == "zeros":
        padding_mode_enum = 0
    elif padding_mode == "border":
        padding_mode_enum = 1
    else:
        padding_mode_enum = 2
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.")
        align_corners = False
    return torch.grid_sampler(input, grid, mode_enum, padding_mode_enum, align_corners)
`,
].join('');
