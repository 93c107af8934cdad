/** Activations of `torch.nn.functional`: the in-place form where it is asked for. */
const withInplace = (name: string, params: string, operator: string, args: string): string => `
def ${name}(input: Tensor${params}, inplace: bool = False) -> Tensor:
    if inplace:
        return torch.${operator}_(input${args})
    return torch.${operator}(input${args})
`;

export const ACTIVATIONS = [
  withInplace('relu', '', 'relu', ''),
  withInplace('selu', '', 'selu', ''),
  withInplace('celu', ', alpha: float = 1.0', 'celu', ', alpha'),
  withInplace('elu', ', alpha: float = 1.0', 'elu', ', alpha'),
  withInplace('leaky_relu', ', negative_slope: float = 0.01', 'leaky_relu', ', negative_slope'),
  withInplace('hardsigmoid', '', 'hardsigmoid', ''),
  withInplace('hardswish', '', 'hardswish', ''),
  withInplace('silu', '', 'silu', ''),
  withInplace('mish', '', 'mish', ''),
  withInplace('_threshold', ', threshold: float, value: float', 'threshold', ', threshold, value'),
  withInplace('relu6', '', 'relu6', ''),
  `
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return torch.hardtanh_(input, min_val, max_val)
    return torch.hardtanh(input, min_val, max_val)

def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    if inplace:
        return torch.rrelu_(input, lower, upper, training)
    return torch.rrelu(input, lower, upper, training)

def glu(input: Tensor, dim: int = -1) -> Tensor:
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return torch.glu(input, dim)

def tanh(input: Tensor) -> Tensor:
    return input.tanh()

def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()

def tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()

def softsign(input: Tensor) -> Tensor:
    return input / (input.abs() + 1)

def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn("Implicit dimension choice for {} has been deprecated. Change the call to include dim=X as an argument.".format(name), stacklevel=stacklevel)
    if ndim == 0 or ndim == 1 or ndim == 3:
        ret = 0
    else:
        ret = 1
    return ret

def softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    if dtype is None:
        ret = input.softmax(dim)
    else:
        ret = input.softmax(dim, dtype=dtype)
    return ret

def softmin(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    if dtype is None:
        ret = (-input).softmax(dim)
    else:
        ret = (-input).softmax(dim, dtype=dtype)
    return ret

def log_softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    if dtype is None:
        ret = input.log_softmax(dim)
    else:
        ret = input.log_softmax(dim, dtype=dtype)
    return ret

def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    if eps != 1e-10:
        warnings.warn("\`eps\` parameter is deprecated and has no effect.")
    gumbels = -torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_().log()
    y_soft = ((logits + gumbels) / tau).softmax(dim)
    if hard:
        index = y_soft.max(dim, keepdim=True)[1]
        y_hard = torch.zeros_like(logits, memory_format=torch.legacy_contiguous_format).scatter_(dim, index, 1.0)
        ret = y_hard - y_soft.detach() + y_soft
    else:
        ret = y_soft
    return ret
`,
].join('');
