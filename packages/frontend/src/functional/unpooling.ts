/** Unpooling and fractional pools of `torch.nn.functional`. */
const unpool = (dims: 2 | 3): string => `
def max_unpool${dims}d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList${dims}[int], stride: Optional[BroadcastingList${dims}[int]] = None, padding: BroadcastingList${dims}[int] = 0, output_size: Optional[List[int]] = None) -> Tensor:
    steps = kernel_size
    if stride is not None:
        steps = stride
    size = _unpool_output_size(input, kernel_size, steps, padding, output_size)
    return torch._C._nn.max_unpool${dims}d(input, indices, size${dims === 3 ? ', steps, padding' : ''})
`;

const fractional = (dims: 2 | 3): string => `
def fractional_max_pool${dims}d_with_indices(input: Tensor, kernel_size: BroadcastingList${dims}[int], output_size: Optional[BroadcastingList${dims}[int]] = None, output_ratio: Optional[BroadcastingList${dims}[float]] = None, return_indices: bool = False, _random_samples: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    if output_size is None:
        if output_ratio is None:
            raise ValueError("fractional_max_pool${dims}d requires specifying either an output_size or an output_ratio")
        sizes: List[int] = []
        for at in range(${dims}):
            sizes.append(int(input.size(at - ${dims}) * output_ratio[at]))
        output_size = sizes
    if _random_samples is None:
        batch = 1
        if input.dim() == ${dims + 2}:
            batch = input.size(0)
        _random_samples = torch.rand([batch, input.size(-${dims + 1}), ${dims}], dtype=input.dtype, device=input.device)
    return torch._C._nn.fractional_max_pool${dims}d(input, kernel_size, output_size, _random_samples)

def _fractional_max_pool${dims}d(input: Tensor, kernel_size: BroadcastingList${dims}[int], output_size: Optional[BroadcastingList${dims}[int]] = None, output_ratio: Optional[BroadcastingList${dims}[float]] = None, return_indices: bool = False, _random_samples: Optional[Tensor] = None) -> Tensor:
    return fractional_max_pool${dims}d_with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)[0]
`;

export const UNPOOLING = `
def _check_unpool_output_size(output_size: Any, dim: Any) -> None:
    raise RuntimeError("Cannot call @unused methods")

def _unpool_output_size(input: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], output_size: Optional[List[int]]) -> List[int]:
    dims = len(kernel_size)
    usual: List[int] = []
    for d in range(dims):
        usual.append((input.size(d - dims) - 1) * stride[d] + kernel_size[d] - 2 * padding[d])
    if output_size is None:
        return usual
    wanted = output_size
    if len(wanted) == dims + 2:
        wanted = wanted[2:]
    if len(wanted) != dims:
        raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of '{len(wanted)}'")
    for d in range(dims):
        least = usual[d] - stride[d]
        most = usual[d] + stride[d]
        if wanted[d] <= least or wanted[d] >= most:
            raise ValueError(f'invalid output_size "{wanted}" (dim {d} must be between {least} and {most})')
    return wanted

def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None, padding: BroadcastingList1[int] = 0, output_size: Optional[List[int]] = None) -> Tensor:
    steps = kernel_size
    if stride is not None:
        steps = stride
    size = _unpool_output_size(input, kernel_size, steps, padding, output_size)
    return torch._C._nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size + [1]).squeeze(-1)
${unpool(2)}${unpool(3)}${fractional(2)}${fractional(3)}`;
