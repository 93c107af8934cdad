import { kept, layer, refusals } from './layer-text.ts';
import { biasOf, resetByFans } from './parameters.ts';

/** What a layer or function says of itself that leaves the variance as it is. */
const UNCHANGED =
  "('linear', 'sigmoid', 'conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d')";

/** Where a text draws numbers for a tensor by a distribution that fits its number of inputs. */
const drawn = (name: string, params: string, start: string, deviation: string): string =>
  [
    ['uniform', `limit = math.sqrt(3.0) * ${deviation}`, 'tensor.uniform_(-limit, limit)'],
    ['normal', `deviation = ${deviation}`, 'tensor.normal_(0.0, deviation)'],
  ]
    .map(
      ([kind, amount, drawing]) => `
def ${name}_${kind}_(tensor, ${params}, generator=None):
${start}    ${amount}
    return ${drawing}
`,
    )
    .join('');

const INPLACE = 'uniform normal constant xavier_uniform xavier_normal kaiming_uniform kaiming_normal orthogonal';

/** What `torch.nn.init` does, on tensors as they are. */
export const INIT = `
def calculate_gain(nonlinearity, param=None):
    if nonlinearity == 'leaky_relu':
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    gains = {'tanh': 5.0 / 3, 'relu': math.sqrt(2.0), 'selu': 3.0 / 4}
    for name in ${UNCHANGED}:
        gains[name] = 1
    if nonlinearity not in gains:
        raise ValueError(f'Unsupported nonlinearity {nonlinearity}')
    return gains[nonlinearity]

def uniform_(tensor, a=0.0, b=1.0, generator=None):
    return tensor.uniform_(a, b)

def normal_(tensor, mean=0.0, std=1.0, generator=None):
    return tensor.normal_(mean, std)

def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    # Numbers between what the error function has at the two ends are turned back by its inverse.
    low, high = [torch.erf(torch.tensor((end - mean) / std / math.sqrt(2.0))).item() for end in (a, b)]
    return tensor.uniform_(low, high).erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(min=a, max=b)

def constant_(tensor, val):
    return tensor.fill_(val)

def ones_(tensor):
    return tensor.fill_(1.0)

def zeros_(tensor):
    return tensor.zero_()

def eye_(tensor):
    if tensor.dim() != 2:
        raise ValueError('Only tensors with 2 dimensions are supported')
    return tensor.copy_(torch.eye(*tensor.shape))

def dirac_(tensor, groups=1):
    sizes = tensor.size()
    if len(sizes) not in (3, 4, 5):
        raise ValueError('Only tensors with 3, 4, or 5 dimensions are supported')
    if sizes[0] % groups:
        raise ValueError('dim 0 must be divisible by groups')
    per_group = sizes[0] // groups
    tensor.zero_()
    middle = [size // 2 for size in sizes[2:]]
    for group in range(groups):
        for place in range(min(per_group, sizes[1])):
            tensor[tuple([group * per_group + place, place] + middle)] = 1
    return tensor

def _calculate_fan_in_and_fan_out(tensor):
    if len(tensor.shape) < 2:
        raise ValueError('Fan in and fan out can not be computed for tensor with fewer than 2 dimensions')
    outputs, inputs, *window = tensor.shape
    area = math.prod(window)
    return inputs * area, outputs * area

def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ('fan_in', 'fan_out'):
        raise ValueError(f'Mode {mode} not supported, please use one of {["fan_in", "fan_out"]}')
    return _calculate_fan_in_and_fan_out(tensor)[0 if mode == 'fan_in' else 1]
${drawn('xavier', 'gain=1.0', '    spread = math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))\n', 'gain * spread')}
${drawn(
  'kaiming',
  "a=0, mode='fan_in', nonlinearity='leaky_relu'",
  '    if 0 in tensor.shape:\n        return tensor\n    gain = calculate_gain(nonlinearity, a)\n    root = math.sqrt(_calculate_correct_fan(tensor, mode))\n',
  'gain / root',
)}
def orthogonal_(tensor, gain=1, generator=None):
    if tensor.dim() < 2:
        raise ValueError('Only tensors with 2 or more dimensions are supported')
    if tensor.numel() == 0:
        return tensor
    drawn = torch.empty(tensor.size(0), tensor.numel() // tensor.size(0)).normal_(0, 1)
    wide = drawn.size(0) < drawn.size(1)
    basis, upper = torch.linalg.qr(drawn.t() if wide else drawn)
    # The signs make the basis the only one that there is.
    basis = basis * upper.diag().sign()
    return tensor.copy_((basis.t() if wide else basis).reshape(tensor.shape)).mul_(gain)

def sparse_(tensor, sparsity, std=0.01, generator=None):
    rows, columns = tensor.shape
    zeros = int(math.ceil(sparsity * rows))
    tensor.normal_(0, std)
    for column in range(columns):
        for row in torch.randperm(rows)[:zeros].tolist():
            tensor[row, column] = 0
    return tensor

${INPLACE.split(' ')
  .map((name) => `${name} = ${name}_\n`)
  .join('')}`;

/** One number, or as many as there are dimensions (PyTorch: torch.nn.modules.utils). */
export const NN_UTILS = `
def _tuple_of(x, n):
    return tuple(x if hasattr(x, '__iter__') else [x] * n)
${['single', 'pair', 'triple', 'quadruple']
  .map((name, at) => `\ndef _${name}(x):\n    return _tuple_of(x, ${at + 1})\n`)
  .join('')}
def _ntuple(n):
    return lambda x: _tuple_of(x, n)
`;

const FEATURES = 'bias: bool = True, device=None, dtype=None';

export const LINEAR = `
class Identity(Module):
    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input
${layer('Linear', `in_features: int, out_features: int, ${FEATURES}`, 'F.linear(input, self.weight, self.bias)', {
  fields: ['weight: Tensor'],
  made: `        self.weight = Parameter(torch.empty((out_features, in_features), dtype=dtype))
${biasOf('out_features')}        self.reset_parameters()
`,
  methods: resetByFans(),
})}
class NonDynamicallyQuantizableLinear(Linear):
    pass
${layer(
  'Bilinear',
  `in1_features: int, in2_features: int, out_features: int, ${FEATURES}`,
  'F.bilinear(input1, input2, self.weight, self.bias)',
  {
    inputs: 'input1: Tensor, input2: Tensor',
    fields: ['weight: Tensor'],
    checks: refusals(['in1_features <= 0', "f'in1_features must be > 0, but got {in1_features}'"]),
    made: `        self.weight = Parameter(torch.empty((out_features, in1_features, in2_features), dtype=dtype))
${biasOf('out_features')}        self.reset_parameters()
`,
    methods: `
    def reset_parameters(self):
        limit = 1 / math.sqrt(self.weight.shape[1])
        for value in (self.weight, self.bias):
            if value is not None:
                init.uniform_(value, -limit, limit)
`,
  },
)}`;

const NORMED = 'max_norm: Optional[float] = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False';
const ROWS = 'num_embeddings: int, embedding_dim: int';
const ROW_SETTINGS = ['max_norm', 'norm_type', 'scale_grad_by_freq'];

/** Lines of `__init__` that make rows, or have those that are given. */
const rowsOf = (options: string): string => `        if _weight is None:
            self.weight = Parameter(torch.empty((num_embeddings, embedding_dim), dtype=dtype)${options})
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight${options})
`;

const RESET_ROWS = `
    def reset_parameters(self):
        self.weight.normal_(0.0, 1.0)
        if self.padding_idx is not None:
            self.weight[self.padding_idx] = 0
`;

/** A row that counts from the end counts from the start then. */
const FROM_START = `        if padding_idx is not None and padding_idx < 0:
            padding_idx += num_embeddings
`;

export const SPARSE =
  layer(
    'Embedding',
    `${ROWS}, padding_idx: Optional[int] = None, ${NORMED}, sparse: bool = False, _weight=None, _freeze: bool = False, device=None, dtype=None`,
    'F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)',
    {
      fields: ['weight: Tensor', 'sparse: bool'],
      checks: `        assert padding_idx is None or -num_embeddings <= padding_idx < num_embeddings or padding_idx == 0, 'Padding_idx must be within num_embeddings'
${FROM_START}`,
      keeps: ['num_embeddings', 'embedding_dim', 'padding_idx', ...ROW_SETTINGS],
      made: rowsOf(', requires_grad=not _freeze') + kept('sparse'),
      methods: `${RESET_ROWS}
    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
        rows, columns = embeddings.shape
        return cls(num_embeddings=rows, embedding_dim=columns, _weight=embeddings, _freeze=freeze, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)
`,
    },
  ) +
  layer(
    'EmbeddingBag',
    `${ROWS}, ${NORMED}, mode: str = 'mean', sparse: bool = False, _weight=None, include_last_offset: bool = False, padding_idx: Optional[int] = None, device=None, dtype=None`,
    'F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)',
    {
      inputs: 'input: Tensor, offsets: Optional[Tensor] = None, per_sample_weights: Optional[Tensor] = None',
      fields: ['weight: Tensor', 'mode: str', 'sparse: bool', 'include_last_offset: bool'],
      checks: FROM_START,
      keeps: ['num_embeddings', 'embedding_dim', ...ROW_SETTINGS, 'padding_idx'],
      made: rowsOf('') + kept('mode', 'sparse', 'include_last_offset'),
      methods: RESET_ROWS,
    },
  );
