/**
 * Layers of torch.nn for modules that are written as source: what their `__init__` makes, with PyTorch's defaults and initialisation, and
 * their `forward`. The names before the texts are the files in which PyTorch has them.
 */
export const NN_LAYER_TEXTS: Readonly<Record<string, string>> = {
  linear: `
class Identity(Module):
    def forward(self, input: Tensor) -> Tensor:
        return input

class Linear(Module):
    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        self.in_features = in_features
        self.out_features = out_features
        bound = 1.0 / math.sqrt(in_features) if in_features > 0 else 0.0
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(-bound, bound))
        offset: Optional[Tensor] = None
        if bias:
            offset = torch.empty(out_features).uniform_(-bound, bound)
        self.register_parameter('bias', offset)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)
`,
  conv: ['1', '2', '3']
    .map(
      (n) => `
class Conv${n}d(Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: BroadcastingList${n}[int], stride: BroadcastingList${n}[int] = 1, padding: BroadcastingList${n}[int] = 0, dilation: BroadcastingList${n}[int] = 1, groups: int = 1, bias: bool = True):
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        fan_in = in_channels // groups
        for size in kernel_size:
            fan_in *= size
        bound = 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0
        shape = [out_channels, in_channels // groups] + kernel_size
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        offset: Optional[Tensor] = None
        if bias:
            offset = torch.empty(out_channels).uniform_(-bound, bound)
        self.register_parameter('bias', offset)

    def forward(self, input: Tensor) -> Tensor:
        return F.conv${n}d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
`,
    )
    .join(''),
  batchnorm: ['1', '2', '3']
    .map(
      (n) => `
class BatchNorm${n}d(Module):
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1):
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer('running_mean', torch.zeros(num_features))
        self.register_buffer('running_var', torch.ones(num_features))
        self.register_buffer('num_batches_tracked', torch.tensor(0))

    def forward(self, input: Tensor) -> Tensor:
        if self.training:
            self.num_batches_tracked.add_(1)
        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps)
`,
    )
    .join(''),
  normalization: `
class LayerNorm(Module):
    def __init__(self, normalized_shape: BroadcastingList1[int], eps: float = 1e-05):
        self.normalized_shape = normalized_shape
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

class GroupNorm(Module):
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05):
        self.num_groups = num_groups
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(num_channels))
        self.bias = nn.Parameter(torch.zeros(num_channels))

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)
`,
  sparse: `
class Embedding(Module):
    def __init__(self, num_embeddings: int, embedding_dim: int):
        self.weight = nn.Parameter(torch.empty(num_embeddings, embedding_dim).normal_())

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight)
`,
  dropout: `
class Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False):
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)
`,
  activation: `
class ReLU(Module):
    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)

class LeakyReLU(Module):
    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

class GELU(Module):
    def __init__(self, approximate: str = 'none'):
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

class SiLU(Module):
    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input)

class Sigmoid(Module):
    def forward(self, input: Tensor) -> Tensor:
        return torch.sigmoid(input)

class Tanh(Module):
    def forward(self, input: Tensor) -> Tensor:
        return torch.tanh(input)

class Softmax(Module):
    def __init__(self, dim: Optional[int] = None):
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, 5)
`,
  flatten: `
class Flatten(Module):
    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)
`,
  pooling: `
class MaxPool2d(Module):
    def __init__(self, kernel_size: BroadcastingList2[int], stride: Optional[List[int]] = None, padding: BroadcastingList2[int] = 0):
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding)

class AvgPool2d(Module):
    def __init__(self, kernel_size: BroadcastingList2[int], stride: Optional[List[int]] = None, padding: BroadcastingList2[int] = 0):
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding)

class AdaptiveAvgPool2d(Module):
    def __init__(self, output_size: BroadcastingList2[int]):
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)
`,
};

/** The text in which a layer is defined, and its qualified name; undefined where there is none of that name. */
export function nnModuleText(name: string): { readonly text: string; readonly qualifiedName: string } | undefined {
  for (const [file, text] of Object.entries(NN_LAYER_TEXTS)) {
    if (text.includes(`\nclass ${name}(`)) return { text, qualifiedName: `__torch__.torch.nn.modules.${file}.${name}` };
  }
  return undefined;
}
