/** `torch.nn.Module`, as far as `__init__` of modules uses it. Its own `__init__` and `__setattr__` are the interpreter's. */
export const MODULE = `
class RemovableHandle:
    def __init__(self, hooks, hook):
        self.hooks = hooks
        self.id = max(hooks, default=-1) + 1
        hooks[self.id] = hook

    def remove(self):
        self.hooks.pop(self.id, None)

class _IncompatibleKeys:
    def __init__(self, missing_keys, unexpected_keys):
        self.missing_keys = missing_keys
        self.unexpected_keys = unexpected_keys

    def __iter__(self):
        return iter((self.missing_keys, self.unexpected_keys))

    def __getitem__(self, index):
        return (self.missing_keys, self.unexpected_keys)[index]

    def __repr__(self):
        if self.missing_keys or self.unexpected_keys:
            return f'_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})'
        return '<All keys matched successfully>'

class Module:
    def register_buffer(self, name: str, tensor, persistent: bool = True):
        if not persistent and isinstance(self, torch.jit.ScriptModule):
            raise RuntimeError('ScriptModule does not support non persistent buffers')
        if '_buffers' not in self.__dict__:
            raise AttributeError('cannot assign buffer before Module.__init__() call')
        if not isinstance(name, str):
            raise TypeError(f"buffer name should be a string. Got {type(name).__name__}")
        if '.' in name:
            raise KeyError('buffer name can\\'t contain "."')
        if name == '':
            raise KeyError('buffer name can\\'t be empty string ""')
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param):
        if '_parameters' not in self.__dict__:
            raise AttributeError('cannot assign parameter before Module.__init__() call')
        if '.' in name:
            raise KeyError('parameter name can\\'t contain "."')
        if name == '':
            raise KeyError('parameter name can\\'t be empty string ""')
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{torch.typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        self._parameters[name] = param

    def add_module(self, name, module):
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {type(name).__name__}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if '.' in name:
            raise KeyError(f'module name can\\'t contain ".", got: {name}')
        if name == '':
            raise KeyError('module name can\\'t be empty string ""')
        self._modules[name] = module

    def register_module(self, name, module):
        self.add_module(name, module)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        return self._hooked('_forward_hooks', hook)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        return self._hooked('_forward_pre_hooks', hook)

    def register_full_backward_hook(self, hook, prepend=False):
        return self._hooked('_backward_hooks', hook)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        return self._hooked('_backward_hooks', hook)

    def register_state_dict_post_hook(self, hook):
        return self._hooked('_state_dict_hooks', hook)

    def _register_state_dict_hook(self, hook):
        return self._hooked('_state_dict_hooks', hook)

    def register_state_dict_pre_hook(self, hook):
        return self._hooked('_state_dict_pre_hooks', hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return self._hooked('_load_state_dict_pre_hooks', functools.partial(hook, self) if with_module else hook)

    def register_load_state_dict_pre_hook(self, hook):
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        return self._hooked('_load_state_dict_post_hooks', hook)

    def _hooked(self, kind, hook):
        return RemovableHandle(getattr(self, kind), hook)

    def get_submodule(self, target: str) -> Module:
        module = self
        for name in target.split('.') if target else []:
            if not hasattr(module, name):
                raise AttributeError(f'{module._get_name()} has no attribute \`{name}\`')
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f'\`{name}\` is not an nn.Module')
        return module

    def _get_member(self, target, kind, what):
        path, _, name = target.rpartition('.')
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f'{module._get_name()} has no attribute \`{name}\`')
        if name not in getattr(module, kind):
            raise AttributeError(f'\`{name}\` is not {what}')
        return getattr(module, name)

    def get_parameter(self, target):
        return self._get_member(target, '_parameters', 'an nn.Parameter')

    def get_buffer(self, target):
        return self._get_member(target, '_buffers', 'a buffer')

    def apply(self, fn):
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        if recurse:
            for module in self.children():
                module._apply(fn)
        for value in self._parameters.values():
            if value is not None:
                value.data = fn(value)
        for name, value in self._buffers.items():
            if value is not None:
                self._buffers[name] = fn(value)
        return self

    def __call__(self, *args, **kwargs):
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for hook in list(self._forward_hooks.values()):
            changed = hook(self, args, result)
            if changed is not None:
                result = changed
        return result

    def forward(self, *input):
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def named_modules(self, memo=None, prefix='', remove_duplicate=True):
        if memo is None:
            memo = set()
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    yield from module.named_modules(memo, prefix + ('.' if prefix else '') + name, remove_duplicate)

    def modules(self):
        return iter([module for _, module in self.named_modules()])

    def named_children(self):
        seen = set()
        found = []
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                found.append((name, module))
        return iter(found)

    def children(self):
        return iter([module for _, module in self.named_children()])

    def _named_members(self, members_of, prefix='', recurse=True, remove_duplicate=True):
        seen = set()
        found = []
        for path, module in (self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]):
            for name, value in members_of(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                found.append((path + ('.' if path else '') + name, value))
        return iter(found)

    def named_parameters(self, prefix: str = '', recurse: bool = True, remove_duplicate: bool = True):
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True):
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_buffers(self, prefix: str = '', recurse: bool = True, remove_duplicate: bool = True):
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True):
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def _own_state(self):
        lasting = [(name, value) for name, value in self._buffers.items() if name not in self._non_persistent_buffers_set]
        return {name: value for name, value in list(self._parameters.items()) + lasting if value is not None}

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if hasattr(self, 'get_extra_state'):
            destination[prefix + '_extra_state'] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix='', keep_vars=False):
        # What stands by position is as PyTorch had it once.
        destination, prefix, keep_vars = args + (destination, prefix, keep_vars)[len(args):]
        destination = {} if destination is None else destination
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + '.', keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, {'version': 1})
            destination = destination if changed is None else changed
        return destination

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = self._own_state()
        for name, value in own.items():
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
                continue
            given = state_dict[key]
            if not isinstance(given, torch.Tensor):
                error_msgs.append(f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(given)}')
                continue
            if len(value.shape) == 0 and len(given.shape) == 1:
                given = given[0]
            if tuple(given.shape) != tuple(value.shape):
                error_msgs.append(f'size mismatch for {key}: copying a param with shape torch.Size({list(given.shape)}) from checkpoint, the shape in current model is torch.Size({list(value.shape)}).')
            elif not local_metadata.get('assign_to_params_buffers'):
                value.copy_(given)
            elif name in self._parameters:
                setattr(self, name, given if isinstance(given, Parameter) else Parameter(given, value.requires_grad))
            else:
                setattr(self, name, given)
        extra = prefix + '_extra_state'
        if hasattr(self, 'set_extra_state'):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            else:
                missing_keys.append(extra)
        for key in state_dict if strict else ():
            if key.startswith(prefix) and key != extra:
                first, dot, _ = key[len(prefix):].partition('.')
                if first not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def load_state_dict(self, state_dict, strict: bool = True, assign: bool = False):
        if not isinstance(state_dict, dict):
            raise TypeError(f'Expected state_dict to be dict-like, got {type(state_dict)}.')
        missing, unexpected, errors = [], [], []

        def load(module, given, prefix):
            metadata = {'assign_to_params_buffers': True} if assign else {}
            module._load_from_state_dict(given, prefix, metadata, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = prefix + name + '.'
                    load(child, {key: value for key, value in given.items() if key.startswith(below)}, below)
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                assert hook(module, keys) is None, (
                    'Hooks registered with \`\`register_load_state_dict_post_hook\`\` are not expected to return new values, '
                    'if incompatible_keys need to be modified, it should be done inplace.'
                )

        load(self, dict(state_dict), '')
        if strict:
            for what, keys in (('Unexpected', unexpected), ('Missing', missing)):
                if keys:
                    quoted = ', '.join(f'"{key}"' for key in keys)
                    errors.insert(0, f'{what} key(s) in state_dict: {quoted}. ')
        if errors:
            listed = '\\n\\t'.join(errors)
            raise RuntimeError(f'Error(s) in loading state_dict for {self._get_name()}:\\n\\t{listed}')
        return _IncompatibleKeys(missing, unexpected)

    def train(self, mode: bool = True) -> Self:
        if not isinstance(mode, bool):
            raise ValueError('training mode is expected to be boolean')
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True):
        for parameter in self.parameters():
            parameter.grad = None

    def _converted(self, dtype):
        return self._apply(lambda value: value.to(dtype) if value.is_floating_point() else value)

    def float(self):
        return self._converted(torch.float32)

    def double(self):
        return self._converted(torch.float64)

    def half(self):
        return self._converted(torch.float16)

    def bfloat16(self):
        return self._converted(torch.bfloat16)

    def type(self, dst_type):
        return self._apply(lambda value: value.to(dst_type))

    def to(self, *args, dtype=None, **kwargs):
        for arg in args:
            if isinstance(arg, torch.dtype):
                dtype = arg
            elif isinstance(arg, torch.Tensor):
                dtype = arg.dtype
        if dtype is None:
            return self._apply(lambda value: value)
        if not dtype.is_floating_point:
            raise TypeError(f'nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}')
        return self._converted(dtype)

    def cuda(self, device: Optional[int] = None):
        return self._apply(lambda value: value.cuda(device))

    def cpu(self):
        return self._apply(lambda value: value)

    def to_empty(self, *, device, recurse=True):
        return self._apply(lambda value: torch.empty_like(value), recurse)

    def share_memory(self):
        return self._apply(lambda value: value.share_memory_())

    def compile(self, *args, **kwargs):
        pass

    def extra_repr(self):
        return ''

    def _get_name(self):
        return type(self).__name__
`;
