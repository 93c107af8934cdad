import { kept, layer, refusals, returning } from './layer-text.ts';

/** Where a program would compute a tensor anew. */
const NO_SCRIPTING = `        if torch.jit.is_scripting():
            raise RuntimeError('Parametrization is not working with scripting.')
`;

/** Tensors of modules that are computed from others (PyTorch: torch/nn/utils/parametrize.py). No program of TorchScript computes them. */
export const PARAMETRIZE = `
import torch

def _keep(module, name, value):
    register = module.register_parameter if isinstance(value, Parameter) else module.register_buffer
    register(name, value)

def _checked(value, wanted, unless, before, after):
    if not isinstance(value, Tensor):
        raise ValueError(f'A parametrization must return a tensor. Got {type(value).__name__}.')
    for what, was, became in (('dtype', wanted.dtype, value.dtype), ('shape', list(wanted.shape), list(value.shape))):
        if was != became:
            shown = [each if what == 'dtype' else f'torch.Size({each})' for each in (was, became)]
            raise ValueError(
                f'Registering a parametrization may not change the {what} of the tensor, unless {unless}\`unsafe\` flag is enabled.'
                f'\\n{before}{what}: {shown[0]}\\n{after}{what}: {shown[1]}'
            )

class ParametrizationList(nn.ModuleList):
    original: Tensor
    unsafe: bool

    def __init__(self, modules, original, unsafe=False):
${refusals(['not modules', "'ParametrizationList requires one or more modules.'"])}        super().__init__(modules)
        self.unsafe = unsafe
        parts = original
        for module in [each for each in reversed(list(self)) if hasattr(each, 'right_inverse')]:
            try:
                parts = module.right_inverse(parts)
            except NotImplementedError:
                continue
${refusals([
  'not isinstance(parts, (Tensor, list, tuple))',
  `f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(parts).__name__}"`,
])}        wanted = original.detach()
        self.is_tensor = isinstance(parts, Tensor)
        if self.is_tensor:
            self.ntensors = 1
            original.data = parts
            _keep(self, 'original', original)
        else:
            self.ntensors = len(parts)
            for at, part in enumerate(parts):
                _keep(self, f'original{at}', Parameter(part, original.requires_grad) if isinstance(original, Parameter) else part)
        if not self.unsafe:
            _checked(self(), wanted, '', 'unparametrized ', 'parametrized ')

    def right_inverse(self, value):
        for module in reversed(list(self)):
            if not hasattr(module, 'right_inverse'):
                raise RuntimeError(f'parametrization {type(module).__name__} does not implement right_inverse.')
            value = module.right_inverse(value)
        parts = {'original': value} if self.is_tensor else {f'original{at}': part for at, part in enumerate(value)}
        for name, part in parts.items():
            getattr(self, name).data = part

    def forward(self) -> Tensor:
${NO_SCRIPTING}        originals = [self.original] if self.is_tensor else [getattr(self, f'original{at}') for at in range(self.ntensors)]
        first, *rest = self
        value = first(*originals)
        for module in rest:
            value = module(value)
        return value

def _add_property(module, name):
    def get_parametrized(self) -> Tensor:
${NO_SCRIPTING}        return self.parametrizations[name]()

    def set_original(self, value: Tensor) -> None:
${NO_SCRIPTING}        self.parametrizations[name].right_inverse(value)

    setattr(module.__class__, name, property(get_parametrized, set_original))

def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        made = module.parametrizations[tensor_name]
        if not unsafe:
            value = getattr(module, tensor_name)
            _checked(parametrization(value), value, 'the ', f'module.{tensor_name}.', f'parametrization(module.{tensor_name}).')
        made.append(parametrization)
        made.unsafe |= unsafe
        return module
    if tensor_name not in {**module._buffers, **module._parameters}:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        # Properties are of classes, so the module has one of its own from now on.
        plain = module.__class__
        module.__class__ = type(f'Parametrized{plain.__name__}', (plain,), {})
        module.parametrizations = nn.ModuleDict()
    _add_property(module, tensor_name)
    module.parametrizations[tensor_name] = made
    return module

def is_parametrized(module, tensor_name=None):
    found = getattr(module, 'parametrizations', None)
    if found is None or not isinstance(found, nn.ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found

def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    if not is_parametrized(module, tensor_name):
        raise ValueError(f'Module {module} does not have a parametrization on {tensor_name}')
    made = module.parametrizations[tensor_name]
    if not made.is_tensor and not leave_parametrized:
        raise ValueError('Cannot leave unparametrized (\`leave_parametrized=False\`) a tensor that is parametrized in terms of a sequence of tensors.')
    value = getattr(module, tensor_name) if leave_parametrized else None
    if made.is_tensor:
        original = made.original
        original.data = value if leave_parametrized else original.data
    else:
        original = Parameter(value) if made.original0.requires_grad else value
    delattr(module.__class__, tensor_name)
    module.parametrizations.pop(tensor_name)
    _keep(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = module.__class__.__bases__[0]
    return module
`;

/** What torch/nn/utils/parametrizations.py makes of weights. */
export const PARAMETRIZATIONS = `
from torch.nn.utils.parametrize import register_parametrization

def _weight_of(module, name):
    found = getattr(module, name, None)
    if isinstance(found, Tensor):
        return found
    raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
${layer('_WeightNorm', 'dim=0', 'torch._weight_norm(weight_v, weight_g, self.dim)', {
  inputs: 'weight_g, weight_v',
  returns: '',
  constants: [],
  keeps: ['dim = -1 if dim is None else dim'],
  methods: returning({ 'right_inverse(weight)': '(torch.norm_except_dim(weight, 2, self.dim), weight)' }),
})}
def weight_norm(module, name='weight', dim=0):
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def renamed(state_dict, prefix, *others):
        old = [f'{prefix}{name}_g', f'{prefix}{name}_v']
        if all(key in state_dict for key in old):
            for at, key in enumerate(old):
                state_dict[f'{prefix}parametrizations.{name}.original{at}'] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(renamed)
    return module

class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        rank = weight.dim()
        if not -rank <= dim < rank:
            raise IndexError(f'Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})')
${refusals([
  'n_power_iterations <= 0',
  "f'Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}'",
])}        super().__init__()
${kept('dim = dim % rank', 'eps')}        if rank > 1:
${kept('n_power_iterations').replace(/^/, '    ')}            matrix = self._reshape_weight_to_matrix(weight)
            vectors = [matrix.new_empty(size).normal_(0, 1) for size in matrix.size()]
            for name, vector in zip(('_u', '_v'), vectors):
                self.register_buffer(name, F.normalize(vector, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @torch.no_grad()
    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u = F.normalize(torch.mv(weight_mat, self._v), dim=0, eps=self.eps)
            self._v = F.normalize(torch.mv(weight_mat.t(), self._u), dim=0, eps=self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        weight_mat = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(weight_mat, self.n_power_iterations)
        return weight / torch.dot(self._u, torch.mv(weight_mat, self._v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value

def spectral_norm(module, name='weight', n_power_iterations=1, eps=1e-12, dim=None):
    weight = _weight_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))

def _orthogonal_basis(matrix):
    reflectors, tau = torch.geqrf(matrix)
    signs = torch.sgn(torch.diagonal(reflectors, dim1=-2, dim2=-1))
    return torch.linalg.householder_product(reflectors, tau) * signs.unsqueeze(-2)

class _Orthogonal(Module):
    base: Tensor

    def __init__(self, weight, orthogonal_map, use_trivialization=True):
        super().__init__()
${kept('shape = weight.shape', 'orthogonal_map')}        if use_trivialization:
            self.register_buffer('base', None)

    def forward(self, X: Tensor) -> Tensor:
        n, k = X.size(-2), X.size(-1)
        transposed = n < k
        if transposed:
            X = X.mT
            n, k = k, n
        if self.orthogonal_map == 'householder':
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = torch.linalg.householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = torch.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
            A = X - X.mH
            if self.orthogonal_map == 'matrix_exp':
                Q = torch.matrix_exp(A)
            else:
                Id = torch.eye(n, dtype=A.dtype, device=A.device)
                Q = torch.linalg.solve(torch.add(Id, A, alpha=-0.5), torch.add(Id, A, alpha=0.5))
            Q = Q[..., :k]
        if hasattr(self, 'base'):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    def right_inverse(self, Q):
        if Q.shape != self.shape:
            raise ValueError(f'Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.')
        given = Q
        transposed = Q.size(-2) < Q.size(-1)
        if transposed:
            Q = Q.mT
        n, k = Q.size(-2), Q.size(-1)
        if hasattr(self, 'base'):
            if n != k:
                Q = torch.cat([Q, torch.randn(tuple(Q.size())[:-2] + (n, n - k), dtype=Q.dtype)], dim=-1)
            unit = torch.eye(n, dtype=Q.dtype)
            is_orthogonal = n == k and torch.allclose(Q.mT @ Q, unit, atol=10.0 * n * 1.1920928955078125e-07)
            self.base = Q.clone() if is_orthogonal else _orthogonal_basis(Q)
            return -torch.eye(given.size(-2), given.size(-1), dtype=Q.dtype).expand_as(given)
        if self.orthogonal_map != 'householder':
            raise NotImplementedError('It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False.')
        A, tau = torch.geqrf(Q)
        signs = torch.sign(torch.diagonal(A, dim1=-2, dim2=-1)) * torch.where(tau == 0.0, -1.0, 1.0)
        A = torch.tril(A, -1) + torch.triu(A, 1) + torch.diag_embed(signs)[..., :k] if n == k else torch.cat([torch.tril(A, -1)[..., :k, :] + torch.triu(A, 1)[..., :k, :] + torch.diag_embed(signs), A[..., k:, :]], dim=-2)
        return A.mT if transposed else A

def orthogonal(module, name='weight', orthogonal_map=None, *, use_trivialization=True):
    weight = _weight_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f'Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.')
    if orthogonal_map is None:
        orthogonal_map = 'matrix_exp' if weight.size(-2) == weight.size(-1) else 'householder'
    if orthogonal_map not in ('matrix_exp', 'cayley', 'householder'):
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
`;
