/** What `Sequential` and `ModuleList` do with modules that have numbers for names. */
const NUMBERED = `    def _at(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f'index {index} is out of range')
        return list(self._modules.values())[index]

    def __setitem__(self, index, module):
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
class Container(Module):
    def __init__(self, **modules):
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)

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
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return self._at(index)

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
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._at(index)

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
        if not hasattr(modules, '__iter__'):
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

    def keys(self) -> container_abcs.KeysView[str]:
        return list(self._keys.keys())

    def items(self) -> Iterable[Tuple[str, Tensor]]:
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Iterable[Tensor]:
        return [self[key] for key in self._keys]

    def get(self, key, default=None):
        return self[key] if key in self else default

    def update(self, parameters):
        if isinstance(parameters, (dict, ParameterDict)):
            parameters = parameters.items()
        for key, value in parameters:
            self[key] = value
`;

/** A page has one device. PyTorch compiles none of these. */
export const DATA_PARALLEL = `
class DataParallel(Module):
    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)
`;
