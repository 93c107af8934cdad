import { kept, layer, refusals } from './layer-text.ts';
import { affineOf, parametersOf, resetAffine } from './parameters.ts';

const STATISTICS = 'num_features: int, eps: float = 1e-05, momentum';
const REST = 'device=None, dtype=None, *, bias: bool = True';

const checked = (base: string, kind: string, n: number, allowed: readonly number[], extra = ''): string => `
class ${kind}${n}d(${base}):${extra}
    def _check_input_dim(self, input):
        if input.dim() ${allowed.length === 1 ? `!= ${allowed[0]}` : allowed.map((each) => `!= ${each}`).join(' and input.dim() ')}:
            raise ValueError(f'expected ${allowed.map((each) => `${each}D`).join(' or ')} input (got {input.dim()}D input)')
`;

/** What a layer of statistics hands to its base class. */
const HANDED_ON = 'num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias';

const settings = (affine: string, tracked = affine): string =>
  `affine: bool = ${affine}, track_running_stats: bool = ${tracked}`;

/** What is counted of all batches, with its first values. */
const COUNTED = {
  running_mean: 'torch.zeros(num_features, dtype=dtype)',
  running_var: 'torch.ones(num_features, dtype=dtype)',
  num_batches_tracked: 'torch.tensor(0, dtype=torch.long)',
};

/** Layers that keep statistics of what they see. */
export const BATCHNORM = `${layer(
  '_NormBase',
  `${STATISTICS}: Optional[float] = 0.1, ${settings('True')}, ${REST}`,
  undefined,
  {
    constants: ['track_running_stats', 'momentum', 'eps', 'num_features', 'affine'],
    made: `${affineOf('affine', 'num_features')}${Object.entries(COUNTED)
      .map(([name, first]) => `        self.register_buffer('${name}', ${first} if track_running_stats else None)\n`)
      .join('')}        self.reset_parameters()
`,
    methods: `
    def reset_running_stats(self):
        if self.track_running_stats:
            for counted, first in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
                counted.fill_(first)

    def reset_parameters(self):
        self.reset_running_stats()
${resetAffine()}
    def _check_input_dim(self, input):
        raise NotImplementedError
`,
  },
)}
class _BatchNorm(_NormBase):
    def __init__(self, ${STATISTICS}=0.1, ${settings('True')}, ${REST}):
        super().__init__(${HANDED_ON})

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if self.momentum is None:
            exponential_average_factor = 0.0
        else:
            exponential_average_factor = self.momentum
        if self.training and self.track_running_stats:
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
                if self.momentum is None:
                    exponential_average_factor = 1.0 / float(self.num_batches_tracked)
                else:
                    exponential_average_factor = self.momentum
        if self.training:
            bn_training = True
        else:
            bn_training = (self.running_mean is None) and (self.running_var is None)
        return F.batch_norm(input, self.running_mean if not self.training or self.track_running_stats else None, self.running_var if not self.training or self.track_running_stats else None, self.weight, self.bias, bn_training, exponential_average_factor, self.eps)
${checked('_BatchNorm', 'BatchNorm', 1, [2, 3])}${checked('_BatchNorm', 'BatchNorm', 2, [4])}${checked('_BatchNorm', 'BatchNorm', 3, [5])}
class SyncBatchNorm(_BatchNorm):
    def __init__(self, ${STATISTICS}=0.1, ${settings('True')}, process_group=None, ${REST}):
        super().__init__(${HANDED_ON})
${kept('process_group')}
    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f'expected at least 2D input (got {input.dim()}D input)')

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        # No program can ask for other processes, so it is refused as PyTorch refuses it.
        return input if hasattr(torch._C, '_c10d_init') else super().forward(input)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        converted = module
        if isinstance(module, _BatchNorm):
            settings = [getattr(module, name) for name in ('num_features', 'eps', 'momentum', 'affine', 'track_running_stats')]
            converted = SyncBatchNorm(*settings, process_group, bias=module.bias is not None)
            for name in ('weight', 'bias', ${Object.keys(COUNTED)
              .map((name) => `'${name}'`)
              .join(', ')}, 'training'):
                setattr(converted, name, getattr(module, name))
        for path, below in module.named_children():
            setattr(converted, path, cls.convert_sync_batchnorm(below, process_group))
        return converted
`;

const dimensionless = (n: number): string => `
    def _get_no_batch_dim(self) -> int:
        return ${n}
`;

export const INSTANCENORM = `
class _InstanceNorm(nn.modules.batchnorm._NormBase):
    def __init__(self, ${STATISTICS}: float = 0.1, ${settings('False')}, ${REST}):
        super().__init__(${HANDED_ON})

    def _get_no_batch_dim(self):
        raise NotImplementedError

    def _handle_no_batch_input(self, input):
        return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)

    def _apply_instance_norm(self, input):
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias, self.training or not self.track_running_stats, self.momentum if self.momentum is not None else 0.0, self.eps)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        feature_dim = input.dim() - self._get_no_batch_dim()
        if input.size(feature_dim) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={feature_dim} to match num_features ({self.num_features}), but got: {input.size(feature_dim)}.")
            else:
                warnings.warn(f"input's size at dim={feature_dim} does not match num_features. You can silence this warning by not passing in num_features, which is not used because affine=False", stacklevel=2)
        if input.dim() == self._get_no_batch_dim():
            return self._handle_no_batch_input(input)
        return self._apply_instance_norm(input)
${[1, 2, 3].map((n) => checked('_InstanceNorm', 'InstanceNorm', n, [n + 1, n + 2], dimensionless(n + 1))).join('')}`;

const WIDTH = 'size: int, alpha: float = 0.0001, beta: float = 0.75';

/** A layer of one factor, and perhaps a bias, over the last dimensions. */
const overLast = (
  name: string,
  eps: string,
  others: string,
  made: string,
  reset: string,
  forward: string,
  inputs: string,
) =>
  layer(name, `normalized_shape, ${eps}, elementwise_affine: bool = True, ${others}device=None, dtype=None`, forward, {
    inputs,
    fields: ['normalized_shape: Tuple[int, ...]'],
    keeps: [
      'normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)',
      'eps',
      'elementwise_affine',
    ],
    constants: ['normalized_shape', 'eps', 'elementwise_affine'],
    made: `${made}        self.reset_parameters()\n`,
    methods: `\n    def reset_parameters(self):\n${reset}`,
  });

export const NORMALIZATION = [
  layer(
    'LocalResponseNorm',
    `${WIDTH}, k: float = 1.0`,
    'F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)',
  ),
  layer('CrossMapLRN2d', `${WIDTH}, k: float = 1`, undefined, {
    constants: [],
    methods: `
    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f'CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.')
        # It sees as many channels before as behind, whatever the size.
        seen = 2 * ((self.size + 1) // 2) - 1
        return F.local_response_norm(input, seen, self.alpha * seen / self.size, self.beta, self.k)
`,
  }),
  overLast(
    'LayerNorm',
    'eps: float = 1e-05',
    'bias: bool = True, ',
    affineOf('elementwise_affine', 'self.normalized_shape'),
    resetAffine(),
    'F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)',
    'input: Tensor',
  ),
  layer(
    'GroupNorm',
    `num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True, ${REST}`,
    'F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)',
    {
      checks: refusals([
        'num_channels % num_groups',
        "f'num_channels ({num_channels}) must be divisible by num_groups ({num_groups})'",
      ]),
      made: `${affineOf('affine', 'num_channels')}        self.reset_parameters()\n`,
      methods: `\n    def reset_parameters(self):\n${resetAffine()}`,
    },
  ),
  overLast(
    'RMSNorm',
    'eps: Optional[float] = None',
    '',
    parametersOf('elementwise_affine', { weight: 'self.normalized_shape' }),
    `        if self.weight is not None:
            self.weight.fill_(1.0)
`,
    'F.rms_norm(x, self.normalized_shape, self.weight, self.eps)',
    'x: Tensor',
  ),
].join('');
