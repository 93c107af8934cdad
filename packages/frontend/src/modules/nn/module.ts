/** `torch.nn.Module`, as far as `__init__` of modules uses it. Its own `__init__` and `__setattr__` are the interpreter's. */
export const MODULE = `
class Module:
    def register_buffer(self, name, tensor, persistent=True):
        if not isinstance(name, str):
            raise TypeError(f"buffer name should be a string. Got {type(name).__name__}")
        if '.' in name:
            raise KeyError('buffer name can\\'t contain "."')
        if name == '':
            raise KeyError('buffer name can\\'t be empty string ""')
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        if '.' in name:
            raise KeyError('parameter name can\\'t contain "."')
        if name == '':
            raise KeyError('parameter name can\\'t be empty string ""')
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        self._parameters[name] = param

    def add_module(self, name, module):
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
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

    def register_forward_hook(self, hook, **options):
        self._forward_hooks[len(self._forward_hooks)] = hook

    def register_forward_pre_hook(self, hook, **options):
        self._forward_pre_hooks[len(self._forward_pre_hooks)] = hook

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        pass

    def register_load_state_dict_post_hook(self, hook):
        pass

    def _register_state_dict_hook(self, hook):
        pass

    def get_submodule(self, target):
        module = self
        if target != '':
            for name in target.split('.'):
                module = getattr(module, name)
        return module

    def get_parameter(self, target):
        path, _, name = target.rpartition('.')
        return getattr(self.get_submodule(path), name)

    def get_buffer(self, target):
        path, _, name = target.rpartition('.')
        return getattr(self.get_submodule(path), name)

    def apply(self, fn):
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn):
        return self

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

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

    def _named_members(self, kind, prefix='', recurse=True):
        seen = []
        found = []
        for path, module in (self.named_modules(prefix=prefix) if recurse else [(prefix, self)]):
            for name, value in getattr(module, kind).items():
                if value is None or id(value) in seen:
                    continue
                seen.append(id(value))
                found.append((path + ('.' if path else '') + name, value))
        return iter(found)

    def named_parameters(self, prefix='', recurse=True, remove_duplicate=True):
        return self._named_members('_parameters', prefix, recurse)

    def parameters(self, recurse=True):
        return iter([value for _, value in self.named_parameters(recurse=recurse)])

    def named_buffers(self, prefix='', recurse=True, remove_duplicate=True):
        return self._named_members('_buffers', prefix, recurse)

    def buffers(self, recurse=True):
        return iter([value for _, value in self.named_buffers(recurse=recurse)])

    def state_dict(self):
        values = {}
        for path, module in self.named_modules(remove_duplicate=False):
            for name, value in list(module._parameters.items()) + list(module._buffers.items()):
                if value is not None and name not in module._non_persistent_buffers_set:
                    values[path + ('.' if path else '') + name] = value
        return values

    def load_state_dict(self, state_dict, strict=True, assign=False):
        own = self.state_dict()
        for name, value in state_dict.items():
            if name in own:
                own[name].copy_(value)

    def train(self, mode=True):
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        pass

    def _converted(self, dtype):
        for module in self.modules():
            for members in (module._parameters, module._buffers):
                for name, value in list(members.items()):
                    if value is not None and value.is_floating_point():
                        changed = value.to(dtype)
                        members[name] = Parameter(changed, value.requires_grad) if members is module._parameters else changed
        return self

    def float(self):
        return self._converted(torch.float32)

    def double(self):
        return self._converted(torch.float64)

    def half(self):
        return self._converted(torch.float16)

    def bfloat16(self):
        return self._converted(torch.bfloat16)

    def to(self, *args, dtype=None, **kwargs):
        for arg in args:
            if isinstance(arg, torch.dtype):
                dtype = arg
        return self if dtype is None else self._converted(dtype)

    def cuda(self, device=None):
        return self

    def cpu(self):
        return self

    def share_memory(self):
        return self

    def extra_repr(self):
        return ''

    def _get_name(self):
        return type(self).__name__
`;

/** What `Sequential` and `ModuleList` do with modules that have numbers for names. */
const NUMBERED = `    def __setitem__(self, index, module):
        self._modules[list(self._modules.keys())[index]] = module

    def __delitem__(self, index):
        names = list(self._modules.keys())
        for name in (names[index] if isinstance(index, slice) else [names[index]]):
            del self._modules[name]
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules):
        self._modules.clear()
        for place, module in enumerate(modules):
            self._modules[str(place)] = module

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        module = self[key]
        del self[key]
        return module
`;

/** What holds modules and parameters. */
export const CONTAINER = `
class Sequential(Module):
    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for index, module in enumerate(args):
                self.add_module(str(index), module)

    def __getitem__(self, index):
        modules = list(self._modules.values())
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return modules[index]

${NUMBERED}
    def __add__(self, other):
        return Sequential(*(list(self) + list(other)))

    def insert(self, index, module):
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential):
        for layer in sequential:
            self.append(layer)
        return self

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

class ModuleList(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, index):
        modules = list(self._modules.values())
        if isinstance(index, slice):
            return type(self)(modules[index])
        if index < -len(modules) or index >= len(modules):
            raise IndexError(f'index {index} is out of range')
        return modules[index]

${NUMBERED}
    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return type(self)(list(self) + list(other))

    def insert(self, index, module):
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules):
        if not isinstance(modules, Module) and not hasattr(modules, '__iter__'):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in modules:
            self.append(module)
        return self

class ModuleDict(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.keys())

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        self._modules.clear()

    def pop(self, key):
        module = self[key]
        del self[key]
        return module

    def keys(self):
        return self._modules.keys()

    def items(self):
        return self._modules.items()

    def values(self):
        return self._modules.values()

    def update(self, modules):
        if isinstance(modules, (dict, ModuleDict)):
            modules = modules.items()
        for key, module in modules:
            self[key] = module

class ParameterList(Module):
    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return ParameterList([self[place] for place in range(len(self))[index]])
        if index < -self._size or index >= self._size:
            raise IndexError(f'index {index} is out of range')
        return getattr(self, str(index % self._size))

    def __setitem__(self, index, value):
        if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, str(index), value)

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[place] for place in range(self._size)])

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        for value in values:
            self.append(value)
        return self

class ParameterDict(Module):
    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        return getattr(self, key)

    def __setitem__(self, key, value):
        self._keys[key] = None
        if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, key, value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(list(self._keys.keys()))

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        return list(self._keys.keys())

    def items(self):
        return [(key, self[key]) for key in self._keys]

    def values(self):
        return [self[key] for key in self._keys]

    def get(self, key, default=None):
        return self[key] if key in self else default

    def update(self, parameters):
        if isinstance(parameters, (dict, ParameterDict)):
            parameters = parameters.items()
        for key, value in parameters:
            self[key] = value
`;
