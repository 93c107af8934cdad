import { affineOf, resetAffine } from './parameters.ts';
import { simpleLayer } from './simple-layer.ts';

const STATISTICS = 'num_features: int, eps: float = 1e-05, momentum';
const REST = 'device=None, dtype=None, *, bias: bool = True';

const checked = (base: string, kind: string, n: number, allowed: readonly number[], extra = ''): string => `
class ${kind}${n}d(${base}):${extra}
    def _check_input_dim(self, input):
        if input.dim() ${allowed.length === 1 ? `!= ${allowed[0]}` : allowed.map((each) => `!= ${each}`).join(' and input.dim() ')}:
            raise ValueError(f'expected ${allowed.map((each) => `${each}D`).join(' or ')} input (got {input.dim()}D input)')
`;

/** Layers that keep statistics of what they see. */
export const BATCHNORM = `
class _NormBase(Module):
    __constants__ = ['track_running_stats', 'momentum', 'eps', 'num_features', 'affine']
    num_features: int
    eps: float
    momentum: Optional[float]
    affine: bool
    track_running_stats: bool

    def __init__(self, ${STATISTICS}=0.1, affine: bool = True, track_running_stats: bool = True, ${REST}):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
${affineOf('affine', 'num_features')}
        if self.track_running_stats:
            self.register_buffer('running_mean', torch.zeros(num_features, dtype=dtype))
            self.register_buffer('running_var', torch.ones(num_features, dtype=dtype))
            self.register_buffer('num_batches_tracked', torch.tensor(0, dtype=torch.long))
        else:
            self.register_buffer('running_mean', None)
            self.register_buffer('running_var', None)
            self.register_buffer('num_batches_tracked', None)
        self.reset_parameters()

    def reset_running_stats(self):
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        self.reset_running_stats()
${resetAffine('affine')}

    def _check_input_dim(self, input):
        raise NotImplementedError

class _BatchNorm(_NormBase):
    def __init__(self, ${STATISTICS}=0.1, affine: bool = True, track_running_stats: bool = True, ${REST}):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

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
    def __init__(self, ${STATISTICS}=0.1, affine: bool = True, track_running_stats: bool = True, process_group=None, ${REST}):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

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
            converted = SyncBatchNorm(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group, bias=module.bias is not None)
            for name in ['weight', 'bias'] if module.affine else []:
                setattr(converted, name, getattr(module, name))
            for name in ('running_mean', 'running_var', 'num_batches_tracked', 'training'):
                setattr(converted, name, getattr(module, name))
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted
`;

const dimensionless = (n: number): string => `
    def _get_no_batch_dim(self) -> int:
        return ${n}
`;

export const INSTANCENORM = `
class _InstanceNorm(nn.modules.batchnorm._NormBase):
    def __init__(self, ${STATISTICS}: float = 0.1, affine: bool = False, track_running_stats: bool = False, ${REST}):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

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

export const NORMALIZATION = `
${simpleLayer('LocalResponseNorm', 'size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0', 'F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)')}
class CrossMapLRN2d(Module):
    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f'CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.')
        # It sees as many channels before as behind, whatever the size.
        seen = 2 * ((self.size + 1) // 2) - 1
        return F.local_response_norm(input, seen, self.alpha * seen / self.size, self.beta, self.k)

class LayerNorm(Module):
    __constants__ = ['normalized_shape', 'eps', 'elementwise_affine']
    normalized_shape: Tuple[int, ...]
    eps: float
    elementwise_affine: bool

    def __init__(self, normalized_shape, eps: float = 1e-05, elementwise_affine: bool = True, bias: bool = True, device=None, dtype=None):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
${affineOf('elementwise_affine', 'self.normalized_shape')}
        self.reset_parameters()

    def reset_parameters(self):
${resetAffine('elementwise_affine')}

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

class GroupNorm(Module):
    __constants__ = ['num_groups', 'num_channels', 'eps', 'affine']
    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True, ${REST}):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f'num_channels ({num_channels}) must be divisible by num_groups ({num_groups})')
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
${affineOf('affine', 'num_channels')}
        self.reset_parameters()

    def reset_parameters(self):
${resetAffine('affine')}

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

class RMSNorm(Module):
    __constants__ = ['normalized_shape', 'eps', 'elementwise_affine']
    normalized_shape: Tuple[int, ...]
    eps: Optional[float]
    elementwise_affine: bool

    def __init__(self, normalized_shape, eps=None, elementwise_affine: bool = True, device=None, dtype=None):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if self.elementwise_affine:
            self.weight = Parameter(torch.empty(self.normalized_shape, dtype=dtype))
        else:
            self.register_parameter('weight', None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
`;
