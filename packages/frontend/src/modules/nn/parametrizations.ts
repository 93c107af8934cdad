/** Tensors of modules that are computed from others (PyTorch: torch/nn/utils/parametrize.py). No program of TorchScript computes them. */
export const PARAMETRIZE = `
import torch

def _keep(module, name, value):
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)

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
        if len(modules) == 0:
            raise ValueError('ParametrizationList requires one or more modules.')
        super().__init__(modules)
        self.unsafe = unsafe
        new = original
        for module in reversed(list(self)):
            if hasattr(module, 'right_inverse'):
                try:
                    new = module.right_inverse(new)
                except NotImplementedError:
                    pass
        if not isinstance(new, (Tensor, list, tuple)):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        given = original.detach()
        if self.is_tensor:
            original.data = new
            _keep(self, 'original', original)
        else:
            for at, each in enumerate(new):
                _keep(self, f'original{at}', Parameter(each, original.requires_grad) if isinstance(original, Parameter) else each)
        if not unsafe:
            _checked(self(), given, '', 'unparametrized ', 'parametrized ')

    def right_inverse(self, value):
        for module in reversed(list(self)):
            if not hasattr(module, 'right_inverse'):
                raise RuntimeError(f'parametrization {type(module).__name__} does not implement right_inverse.')
            value = module.right_inverse(value)
        if self.is_tensor:
            self.original.data = value
        else:
            for at, each in enumerate(value):
                getattr(self, f'original{at}').data = each

    def forward(self) -> Tensor:
        if torch.jit.is_scripting():
            raise RuntimeError('Parametrization is not working with scripting.')
        originals = [self.original] if self.is_tensor else [getattr(self, f'original{at}') for at in range(self.ntensors)]
        first, *rest = self
        value = first(*originals)
        for module in rest:
            value = module(value)
        return value

def _add_property(module, name):
    def get_parametrized(self) -> Tensor:
        if torch.jit.is_scripting():
            raise RuntimeError('Parametrization is not working with scripting.')
        return self.parametrizations[name]()

    def set_original(self, value: Tensor) -> None:
        if torch.jit.is_scripting():
            raise RuntimeError('Parametrization is not working with scripting.')
        self.parametrizations[name].right_inverse(value)

    setattr(module.__class__, name, property(get_parametrized, set_original))

def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            _checked(parametrization(before), before, 'the ', f'module.{tensor_name}.', f'parametrization(module.{tensor_name}).')
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            cls = module.__class__
            module.__class__ = type(f'Parametrized{cls.__name__}', (cls,), {})
            module.parametrizations = nn.ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
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
    if made.is_tensor:
        value = made.original
        if leave_parametrized:
            value.data = getattr(module, tensor_name)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        value = Parameter(value) if made.original0.requires_grad else value
    else:
        raise ValueError('Cannot leave unparametrized (\`leave_parametrized=False\`) a tensor that is parametrized in terms of a sequence of tensors.')
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _keep(module, tensor_name, value)
    if not is_parametrized(module):
        delattr(module, 'parametrizations')
        module.__class__ = module.__class__.__bases__[0]
    return module
`;

/** What torch/nn/utils/parametrizations.py makes of weights. */
export const PARAMETRIZATIONS = `
from torch.nn.utils.parametrize import register_parametrization

def _weight_of(module, name):
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight

class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return torch._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return torch.norm_except_dim(weight, 2, self.dim), weight

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
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f'Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})')
        if n_power_iterations <= 0:
            raise ValueError(f'Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}')
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            made = [matrix.new_empty(size).normal_(0, 1) for size in matrix.size()]
            for name, vector in zip(('_u', '_v'), made):
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
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
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
