/** `torch.nn.init`: how parameters are filled before training. */
const xavier = (distribution: string, spread: string, fill: string): string => `
def xavier_${distribution}_(tensor: Tensor, gain: float = 1.0, generator: Optional[Generator] = None) -> Tensor:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
${spread}    return torch._no_grad_${distribution}_(tensor, ${fill}, generator)
`;

export const INITIALISATION = [
  `
def _calculate_fan_in_and_fan_out(tensor: Tensor) -> Tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = 1
    if tensor.dim() > 2:
        for size in tensor.shape[2:]:
            field *= size
    return tensor.size(1) * field, tensor.size(0) * field

def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Optional[Generator] = None) -> Tensor:
    return torch._no_grad_uniform_(tensor, a, b, generator)

def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Optional[Generator] = None) -> Tensor:
    return torch._no_grad_normal_(tensor, mean, std, generator)

def constant_(tensor: Tensor, val: float) -> Tensor:
    return torch._no_grad_fill_(tensor, val)

def ones_(tensor: Tensor) -> Tensor:
    return torch._no_grad_fill_(tensor, 1.0)

def zeros_(tensor: Tensor) -> Tensor:
    return torch._no_grad_zero_(tensor)
`,
  xavier('uniform', '    bound = math.sqrt(3.0) * std\n', '-bound, bound'),
  xavier('normal', '', '0.0, std'),
].join('');
