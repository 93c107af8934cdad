import { layer } from './layer-text.ts';

const INPLACE = 'inplace: bool = False';

/** Activations (PyTorch: torch/nn/modules/activation.py), with attention, which stands in `attention.ts`. */
export const ACTIVATION = [
  layer(
    'Threshold',
    `threshold: float, value: float, ${INPLACE}`,
    'F.threshold(input, self.threshold, self.value, self.inplace)',
  ),
  layer('ReLU', INPLACE, 'F.relu(input, inplace=self.inplace)'),
  layer(
    'RReLU',
    `lower: float = 1.0 / 8, upper: float = 1.0 / 3, ${INPLACE}`,
    'F.rrelu(input, self.lower, self.upper, self.training, self.inplace)',
  ),
  `
class Hardtanh(Module):
    __constants__ = ['min_val', 'max_val', 'inplace']
    min_val: float
    max_val: float
    inplace: bool

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value=None, max_value=None):
        super().__init__()
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f'max_val ({self.max_val}) must be greater than min_val ({self.min_val})')

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

class ReLU6(Hardtanh):
    def __init__(self, inplace: bool = False):
        super().__init__(0.0, 6.0, inplace)
`,
  layer('Sigmoid', '', 'torch.sigmoid(input)'),
  layer('Hardsigmoid', INPLACE, 'F.hardsigmoid(input, self.inplace)'),
  layer('Tanh', '', 'torch.tanh(input)'),
  layer('SiLU', INPLACE, 'F.silu(input, inplace=self.inplace)'),
  layer('Mish', INPLACE, 'F.mish(input, inplace=self.inplace)'),
  layer('Hardswish', INPLACE, 'F.hardswish(input, self.inplace)'),
  layer('ELU', `alpha: float = 1.0, ${INPLACE}`, 'F.elu(input, self.alpha, self.inplace)'),
  layer('CELU', `alpha: float = 1.0, ${INPLACE}`, 'F.celu(input, self.alpha, self.inplace)'),
  layer('SELU', INPLACE, 'F.selu(input, self.inplace)'),
  layer('GLU', 'dim: int = -1', 'F.glu(input, self.dim)'),
  layer('GELU', "approximate: str = 'none'", 'F.gelu(input, approximate=self.approximate)'),
  layer('Hardshrink', 'lambd: float = 0.5', 'F.hardshrink(input, self.lambd)'),
  layer(
    'LeakyReLU',
    `negative_slope: float = 0.01, ${INPLACE}`,
    'F.leaky_relu(input, self.negative_slope, self.inplace)',
  ),
  layer('LogSigmoid', '', 'F.logsigmoid(input)'),
  layer('Softplus', 'beta: float = 1.0, threshold: float = 20.0', 'F.softplus(input, self.beta, self.threshold)'),
  layer('Softshrink', 'lambd: float = 0.5', 'F.softshrink(input, self.lambd)'),
  layer('Softsign', '', 'F.softsign(input)'),
  layer('Tanhshrink', '', 'F.tanhshrink(input)'),
  layer('Softmin', 'dim: Optional[int] = None', 'F.softmin(input, self.dim, _stacklevel=5)'),
  layer('Softmax', 'dim: Optional[int] = None', 'F.softmax(input, self.dim, _stacklevel=5)'),
  layer('LogSoftmax', 'dim: Optional[int] = None', 'F.log_softmax(input, self.dim, _stacklevel=5)'),
  `
class Softmax2d(Module):
    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f'Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead')
        return F.softmax(input, -3, _stacklevel=5)

class PReLU(Module):
    __constants__ = ['num_parameters']
    num_parameters: int

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None):
        self.num_parameters = num_parameters
        super().__init__()
        self.init = init
        self.weight = Parameter(torch.empty(num_parameters, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        torch.nn.init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)
`,
].join('');

const kind = (name: string, expression: string): string => `
class ${name}(_DropoutNd):
    def forward(self, input: Tensor) -> Tensor:
        return ${expression}
`;

export const DROPOUT = `
class _DropoutNd(Module):
    __constants__ = ['p', 'inplace']
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f'dropout probability has to be between 0 and 1, but got {p}')
        self.p = p
        self.inplace = inplace
${['dropout', 'dropout1d', 'dropout2d', 'dropout3d']
  .map((name) => kind(`D${name.slice(1)}`, `F.${name}(input, self.p, self.training, self.inplace)`))
  .join('')}${kind('AlphaDropout', 'F.alpha_dropout(input, self.p, self.training)')}${kind(
  'FeatureAlphaDropout',
  'F.feature_alpha_dropout(input, self.p, self.training)',
)}`;

export const DISTANCE = `
class PairwiseDistance(Module):
    __constants__ = ['norm', 'eps', 'keepdim']
    norm: float
    eps: float
    keepdim: bool

    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False):
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
${layer('CosineSimilarity', 'dim: int = 1, eps: float = 1e-08', 'F.cosine_similarity(x1, x2, self.dim, self.eps)', { inputs: 'x1: Tensor, x2: Tensor' })}`;
