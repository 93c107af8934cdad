import { layer, returning } from './layer-text.ts';

/** A class that fills itself with what it is given, if anything. @param start what it has before that */
const filled = (name: string, given: string, filling: string, start: string, methods: string): string => `
class ${name}(Module):
    def __init__(self, ${given}=None):
        super().__init__()
${start}        self.${filling}(() if ${given} is None else ${given})
${methods}`;

const POP = `
    def pop(self, key):
        taken = self[key]
        del self[key]
        return taken
`;

/** What `Sequential` and `ModuleList` do with modules that have numbers for names. @param part what a slice is made of */
const numbered = (part: string, inserted: string): string => `${returning({
  '__len__()': 'len(self._modules)',
  '__iter__()': 'iter(self._modules.values())',
})}
    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(${part})
        return self._modules[self._name_at(index)]

    def _name_at(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f'index {index} is out of range')
        return list(self._modules)[index]

    def __setitem__(self, index, module):
        self._modules[self._name_at(index)] = module

    def __delitem__(self, index):
        gone = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        self._renumber([module for name, module in self._modules.items() if name not in gone])

    def _renumber(self, modules):
        self._modules.clear()
        self._modules.update((str(at), module) for at, module in enumerate(modules))

    def append(self, module):
        self.add_module(str(len(self._modules)), module)
        return self

    def insert(self, index, module):
        moved = list(self)
        moved.insert(index, module)
        self._renumber(moved)
        return ${inserted}
${POP}`;

/** What both classes of named values do. @param keys the dictionary that has their names */
const keyed = (keys: string, given: string): string => `${returning({
  '__len__()': `len(self.${keys})`,
  '__iter__()': `iter(list(self.${keys}))`,
  '__contains__(key)': `key in self.${keys}`,
})}
    def update(self, ${given}):
        for pair in ${given}.items() if hasattr(${given}, 'items') else ${given}:
            self[pair[0]] = pair[1]
`;

/** What holds modules and parameters. */
export const CONTAINER = `
def _as_parameter(value):
    return Parameter(value) if isinstance(value, torch.Tensor) and not isinstance(value, Parameter) else value

def _add_all(to, named):
    for name, each in named:
        to.add_module(name, each)

class Container(Module):
    def __init__(self, **modules):
        super().__init__()
        _add_all(self, modules.items())

class Sequential(Module):
    def __init__(self, *args):
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], dict)
        _add_all(self, args[0].items() if named else [(str(at), each) for at, each in enumerate(args)])
${numbered('dict(list(self._modules.items())[index])', 'self')}
    def __add__(self, other):
        return Sequential(*self, *other)

    def extend(self, sequential):
        for each in sequential:
            self.append(each)
        return self

    def forward(self, input):
        for module in self:
            input = module(input)
        return input
${filled(
  'ModuleList',
  'modules',
  'extend',
  '',
  `${numbered('list(self)[index]', 'None')}${returning({
    '__iadd__(modules)': 'self.extend(modules)',
    '__add__(other)': 'type(self)([*self, *other])',
  })}
    def extend(self, modules):
        if not hasattr(modules, '__iter__'):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for each in modules:
            self.append(each)
        return self
`,
)}${filled(
  'ModuleDict',
  'modules',
  'update',
  '',
  `${returning({
    '__getitem__(key)': 'self._modules[key]',
    ...Object.fromEntries(['keys', 'items', 'values', 'clear'].map((name) => [`${name}()`, `self._modules.${name}()`])),
  })}
    def __setitem__(self, key, value):
        self.add_module(key, value)

    def __delitem__(self, key):
        self._modules.pop(key)
${keyed('_modules', 'modules')}${POP}`,
)}${filled(
  'ParameterList',
  'values',
  'extend',
  '        self._size = 0\n',
  `${returning({
    '__len__()': 'self._size',
    '__iter__()': 'iter([self[at] for at in range(self._size)])',
    '__iadd__(values)': 'self.extend(values)',
  })}
    def __getitem__(self, index):
        if isinstance(index, slice):
            return ParameterList(list(self)[index])
        if not -self._size <= index < self._size:
            raise IndexError(f'index {index} is out of range')
        return getattr(self, str(index % self._size))

    def __setitem__(self, index, value):
        setattr(self, str(index), _as_parameter(value))

    def append(self, value):
        at = self._size
        self._size = at + 1
        self[at] = value
        return self

    def extend(self, values):
        for each in values:
            self.append(each)
        return self
`,
)}${filled(
  'ParameterDict',
  'parameters',
  'update',
  '        self._keys = {}\n',
  `${returning({
    '__getitem__(key)': 'getattr(self, key)',
    'keys() -> container_abcs.KeysView[str]': 'list(self._keys)',
    'items() -> Iterable[Tuple[str, Tensor]]': '[(key, self[key]) for key in self._keys]',
    'values() -> Iterable[Tensor]': '[self[key] for key in self._keys]',
    'get(key, default=None)': 'self[key] if key in self else default',
  })}
    def __setitem__(self, key, value):
        self._keys.setdefault(key)
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key):
        self._keys.pop(key)
        delattr(self, key)
${keyed('_keys', 'parameters')}`,
)}`;

/** A page has one device. PyTorch compiles none of these. */
export const DATA_PARALLEL = layer(
  'DataParallel',
  'module, device_ids=None, output_device=None, dim=0',
  'self.module(*inputs, **kwargs)',
  { inputs: '*inputs, **kwargs', returns: '', constants: [], keeps: ['module'] },
);
