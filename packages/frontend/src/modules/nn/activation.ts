import { layer, refusals } from './layer-text.ts';

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
  layer(
    'Hardtanh',
    `min_val: float = -1.0, max_val: float = 1.0, ${INPLACE}, min_value=None, max_value=None`,
    'F.hardtanh(input, self.min_val, self.max_val, self.inplace)',
    {
      constants: ['min_val', 'max_val', 'inplace'],
      checks: `        # Old names of the two.
        min_val, max_val = [old if old is not None else new for old, new in ((min_value, min_val), (max_value, max_val))]
${refusals([
  'max_val <= min_val',
  "f'max_val ({max_val}) must be greater than min_val ({min_val})'",
  'AssertionError',
])}`,
      keeps: ['min_val', 'max_val', 'inplace'],
    },
  ),
  layer('ReLU6', INPLACE, undefined, { base: 'Hardtanh', constants: [], handedOn: '0.0, 6.0, inplace', keeps: [] }),
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
`,
  layer('PReLU', 'num_parameters: int = 1, init=0.25, device=None, dtype=None', 'F.prelu(input, self.weight)', {
    constants: ['num_parameters'],
    made: `        self.weight = Parameter(torch.empty(num_parameters, dtype=dtype))
        self.reset_parameters()
`,
    methods: `
    def reset_parameters(self):
        self.weight.fill_(self.init)
`,
  }),
].join('');

const kind = (name: string, expression: string): string => `
class ${name}(_DropoutNd):
    def forward(self, input: Tensor) -> Tensor:
        return ${expression}
`;

export const DROPOUT = `${layer('_DropoutNd', `p: float = 0.5, ${INPLACE}`, undefined, {
  checks: refusals(['p < 0 or p > 1', "f'dropout probability has to be between 0 and 1, but got {p}'"]),
})}${['dropout', 'dropout1d', 'dropout2d', 'dropout3d']
  .map((name) => kind(`D${name.slice(1)}`, `F.${name}(input, self.p, self.training, self.inplace)`))
  .join('')}${kind('AlphaDropout', 'F.alpha_dropout(input, self.p, self.training)')}${kind(
  'FeatureAlphaDropout',
  'F.feature_alpha_dropout(input, self.p, self.training)',
)}`;

const X = { inputs: 'x1: Tensor, x2: Tensor' } as const;

export const DISTANCE =
  layer(
    'PairwiseDistance',
    'p: float = 2.0, eps: float = 1e-06, keepdim: bool = False',
    'F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)',
    { ...X, constants: ['norm', 'eps', 'keepdim'], fields: ['norm: float'], keeps: ['norm = p', 'eps', 'keepdim'] },
  ) +
  layer('CosineSimilarity', 'dim: int = 1, eps: float = 1e-08', 'F.cosine_similarity(x1, x2, self.dim, self.eps)', X);
