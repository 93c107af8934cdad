/** Power-average pooling of `torch.nn.functional`: the p-norm of each window. */
const pool = (dims: number): string => {
  const list = `BroadcastingList${dims}[int]`;
  const [kernelType, window] =
    dims === 1
      ? ['int', 'kernel_size']
      : [list, Array.from({ length: dims }, (_, dim) => `kernel_size[${dim}]`).join(' * ')];
  return `
def lp_pool${dims}d(input: Tensor, norm_type: Union[int, float], kernel_size: ${kernelType}, stride: Optional[${list}] = None, ceil_mode: bool = False) -> Tensor:
    p = float(norm_type)
    if p == float("inf"):
        return _max_pool${dims}d(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if p == -float("inf"):
        return -_max_pool${dims}d(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    steps = torch.jit.annotate(List[int], [])
    if stride is not None:
        steps = stride
    average = torch.avg_pool${dims}d(input.pow(norm_type), kernel_size, steps, 0, ceil_mode)
    return (torch.sign(average) * torch.relu(torch.abs(average))).mul(${window}).pow(1.0 / p)
`;
};

export const POWER_AVERAGE_POOLING = [1, 2, 3].map(pool).join('');
