import { kept, returning } from './layer-text.ts';

const UNMADE = 'nn.UninitializedParameter(dtype=dtype)';

/** `initialize_parameters`, which does nothing once they are there. @param body lines of that, further in */
const initializing = (size: string, body: string): string => `${returning({ '_size()': `self.${size}` })}
    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
${body}            self.reset_parameters()
`;

/** Lines that give a weight and a bias their sizes. */
const materialized = (
  weight: string,
  bias: string,
): string => `            for value, sizes in ((self.weight, ${weight}), (self.bias, ${bias})):
                if value is not None:
                    value.materialize(sizes)
`;

/** What layers share that find out from their first input how large they are (PyTorch: torch/nn/modules/lazy.py). */
export const LAZY = `
class LazyModuleMixin:
    cls_to_become = None

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters)

    def _uninitialized(self):
        values = list(self._parameters.values()) + list(self._buffers.values())
        return [value for value in values if isinstance(value, (nn.UninitializedParameter, nn.UninitializedBuffer))]

    def has_uninitialized_params(self):
        return len(self._uninitialized()) > 0

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self._size() != 0:
            super().reset_parameters()

    def _infer_parameters(self, module, args):
        self.initialize_parameters(*args)
        if self.has_uninitialized_params():
            raise RuntimeError(f'module {self._get_name()} has not been fully initialized')
        self._initialize_hook.remove()
        del self._initialize_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become
`;

const MIXIN = 'from torch.nn.modules.lazy import LazyModuleMixin\n';

/** Such a class for each number of dimensions. */
const lazy = (kind: string, base: string): string =>
  [1, 2, 3]
    .map((n) => `\nclass Lazy${kind}${n}d(${base}, nn.${kind}${n}d):\n    cls_to_become = nn.${kind}${n}d\n`)
    .join('');

export const LAZY_LINEAR = `${MIXIN}
class LazyLinear(LazyModuleMixin, nn.Linear):
    cls_to_become = nn.Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, out_features, bias=False)
${kept(`weight = ${UNMADE}`, `bias = ${UNMADE} if bias else None`)}${initializing(
  'in_features',
  `            self.in_features = input.shape[-1]
${materialized('(self.out_features, self.in_features)', '(self.out_features,)')}`,
)}`;

export const LAZY_CONV = `${MIXIN}
class _LazyConv(LazyModuleMixin):
    def __init__(self, out_channels, kernel_size, *args, bias=True, dtype=None, **kwargs):
        super().__init__(0, 0, kernel_size, *args, bias=False, **kwargs)
${kept(`weight = ${UNMADE}`, 'out_channels', `bias = ${UNMADE} if bias else None`)}${initializing(
  'in_channels',
  `            dims = len(self.kernel_size) + 1
            if input.dim() not in (dims, dims + 1):
                raise RuntimeError(f'Expected {dims}D (unbatched) or {dims + 1}D (batched) input to {type(self).__name__}, but got input of size: torch.Size({list(input.shape)})')
            self.in_channels = input.size(-dims)
            if self.in_channels % self.groups:
                raise ValueError('in_channels must be divisible by groups')
            channels = [self.in_channels, self.out_channels] if self.transposed else [self.out_channels, self.in_channels]
${materialized('(channels[0], channels[1] // self.groups, *self.kernel_size)', '(self.out_channels,)')}`,
)}${lazy('Conv', '_LazyConv')}${lazy('ConvTranspose', '_LazyConv')}`;

const NORM = `${MIXIN}
class _LazyNorm(LazyModuleMixin):
    def __init__(self, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None):
        super().__init__(0, eps, momentum, False, False)
${kept('affine', 'track_running_stats')}        if affine:
            self.weight, self.bias = ${UNMADE}, ${UNMADE}
        if track_running_stats:
            self.running_mean, self.running_var = nn.UninitializedBuffer(dtype=dtype), nn.UninitializedBuffer(dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long)
${initializing(
  'num_features',
  `            self.num_features = input.shape[1]
            for value in self._uninitialized():
                value.materialize((self.num_features,))
`,
)}`;

export const LAZY_BATCHNORM = NORM + lazy('BatchNorm', '_LazyNorm');

export const LAZY_INSTANCENORM = NORM + lazy('InstanceNorm', '_LazyNorm');
