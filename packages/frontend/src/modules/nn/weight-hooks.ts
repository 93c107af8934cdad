import { kept, refusals } from './layer-text.ts';

/** What of torch.nn.utils changes modules: weights that a hook computes anew before each call, and functions of parameters and layers. */
export const WEIGHT_HOOKS = `
import copy

def _matrix_of(weight, dim):
    if dim != 0:
        weight = weight.permute([dim] + [each for each in range(weight.dim()) if each != dim])
    return weight.reshape(weight.size(0), -1)

def _add_hook(module, hook, function):
    for other in module._forward_pre_hooks.values():
        if type(other) is type(hook) and other.name == hook.name:
            raise RuntimeError(f'Cannot register two {function} hooks on the same parameter {hook.name}')
    hook.split(module)
    module.register_forward_pre_hook(hook)
    return module

def _remove_hook(module, kind, name, function):
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"{function} of '{name}' not found in {module}")

class WeightNorm:
    def __init__(self, name, dim):
${kept('name', 'dim = -1 if dim is None else dim')}
    def split(self, module):
        weight = module._parameters.pop(self.name)
        module.register_parameter(self.name + '_g', Parameter(torch.norm_except_dim(weight, 2, self.dim)))
        module.register_parameter(self.name + '_v', Parameter(weight.data))
        setattr(module, self.name, self.compute_weight(module))

    def compute_weight(self, module):
        return torch._weight_norm(getattr(module, self.name + '_v'), getattr(module, self.name + '_g'), self.dim)

    def remove(self, module):
        weight = self.compute_weight(module)
        for name in (self.name, self.name + '_g', self.name + '_v'):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))

def weight_norm(module, name='weight', dim=0):
    return _add_hook(module, WeightNorm(name, dim), 'weight_norm')

def remove_weight_norm(module, name='weight'):
    return _remove_hook(module, WeightNorm, name, 'weight_norm')

class SpectralNorm:
    def __init__(self, name, n_power_iterations, dim, eps):
${refusals([
  'n_power_iterations <= 0',
  "f'Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}'",
])}${kept('name', 'n_power_iterations', 'dim', 'eps')}
    def split(self, module):
        weight = module._parameters.pop(self.name)
        matrix = _matrix_of(weight, self.dim)
        vectors = [F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=self.eps) for size in matrix.size()]
        module.register_parameter(self.name + '_orig', weight)
        setattr(module, self.name, weight.data)
        for end, vector in zip(('_u', '_v'), vectors):
            module.register_buffer(self.name + end, vector)

    def compute_weight(self, module, do_power_iteration):
        weight, u, v = [getattr(module, self.name + end) for end in ('_orig', '_u', '_v')]
        matrix = _matrix_of(weight, self.dim)
        for _ in range(self.n_power_iterations if do_power_iteration else 0):
            v.copy_(F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps))
            u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps))
        return weight / torch.dot(u, torch.mv(matrix, v))

    def remove(self, module):
        weight = self.compute_weight(module, False)
        for end in ('', '_u', '_v', '_orig'):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, module.training))

def spectral_norm(module, name='weight', n_power_iterations=1, eps=1e-12, dim=None):
    if dim is None:
        dim = 1 if isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)) else 0
    return _add_hook(module, SpectralNorm(name, n_power_iterations, dim, eps), 'spectral_norm')

def remove_spectral_norm(module, name='weight'):
    return _remove_hook(module, SpectralNorm, name, 'spectral_norm')

def parameters_to_vector(parameters):
    return torch.cat([parameter.reshape(-1) for parameter in parameters])

def vector_to_parameters(vec, parameters):
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f'expected torch.Tensor, but got: {type(vec).__name__}')
    at = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[at:at + count].view_as(parameter).data
        at += count

def clip_grad_norm_(parameters, max_norm, *others, **options):
    # Nothing has gradients before a module is compiled.
    return torch.tensor(0.0)

def clip_grad_value_(parameters, clip_value, foreach=None):
    pass

def _fused(layer, norm, transpose=False):
    fused = copy.deepcopy(layer)
    factor = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
    shape = [1] * layer.weight.dim()
    shape[1 if transpose else 0] = -1
    bias = torch.zeros_like(norm.running_mean) if layer.bias is None else layer.bias
    fused.weight = Parameter(layer.weight * factor.reshape(shape), layer.weight.requires_grad)
    fused.bias = Parameter((bias - norm.running_mean) * factor + norm.bias, layer.weight.requires_grad)
    return fused

def fuse_conv_bn_eval(conv, bn, transpose=False):
    assert not (conv.training or bn.training), 'Fusion only for eval!'
    return _fused(conv, bn, transpose)

def fuse_linear_bn_eval(linear, bn):
    assert not (linear.training or bn.training), 'Fusion only for eval!'
    return _fused(linear, bn)
`;
