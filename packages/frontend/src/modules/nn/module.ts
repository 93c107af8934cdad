import { refusals, returning, type Check } from './layer-text.ts';

const isText = (what: string): Check => [
  'not isinstance(name, str)',
  `f"${what} name should be a string. Got {type(name).__name__}"`,
  'TypeError',
];

const isPlain = (what: string, got = ''): readonly Check[] => [
  ["'.' in name", `f'${what} name can\\'t contain "."${got}'`, 'KeyError'],
  ["name == ''", `'${what} name can\\'t be empty string ""'`, 'KeyError'],
];

const isFree = (kind: string): Check => [
  `name not in self.${kind} and hasattr(self, name)`,
  `f"attribute '{name}' already exists"`,
  'KeyError',
];

/** Methods that keep a hook. @param kinds dictionaries of hooks, by the methods with what they are given besides the hook */
const hooked = (kinds: Readonly<Record<string, string>>): string =>
  returning(
    Object.fromEntries(
      Object.entries(kinds).map(([head, kind]) => [
        head.replace('(', '(hook'),
        `RemovableHandle(self._${kind}_hooks, hook)`,
      ]),
    ),
  );

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
${refusals(
  [
    'not persistent and isinstance(self, torch.jit.ScriptModule)',
    "'ScriptModule does not support non persistent buffers'",
    'RuntimeError',
  ],
  ["'_buffers' not in self.__dict__", "'cannot assign buffer before Module.__init__() call'", 'AttributeError'],
  isText('buffer'),
  ...isPlain('buffer'),
  isFree('_buffers'),
  [
    'tensor is not None and not isinstance(tensor, torch.Tensor)',
    `f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"`,
    'TypeError',
  ],
)}        self._buffers[name] = tensor
        passing = self._non_persistent_buffers_set
        (passing.discard if persistent else passing.add)(name)

    def register_parameter(self, name: str, param):
${refusals(
  ["'_parameters' not in self.__dict__", "'cannot assign parameter before Module.__init__() call'", 'AttributeError'],
  ...isPlain('parameter'),
  isFree('_parameters'),
  [
    'param is not None and not isinstance(param, Parameter)',
    `f"cannot assign '{torch.typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"`,
    'TypeError',
  ],
)}        self._parameters[name] = param

    def add_module(self, name, module):
${refusals(
  [
    'module is not None and not isinstance(module, Module)',
    'f"{torch.typename(module)} is not a Module subclass"',
    'TypeError',
  ],
  isText('module'),
  isFree('_modules'),
  ...isPlain('module', ', got: {name}'),
)}        self._modules[name] = module
${returning({ 'register_module(name, module)': 'self.add_module(name, module)' })}${hooked({
  'register_forward_hook(, *, prepend=False, with_kwargs=False, always_call=False)': 'forward',
  'register_forward_pre_hook(, *, prepend=False, with_kwargs=False)': 'forward_pre',
  'register_full_backward_hook(, prepend=False)': 'backward',
  'register_full_backward_pre_hook(, prepend=False)': 'backward',
  'register_state_dict_post_hook()': 'state_dict',
  '_register_state_dict_hook()': 'state_dict',
  'register_state_dict_pre_hook()': 'state_dict_pre',
  'register_load_state_dict_post_hook()': 'load_state_dict_post',
})}
    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        bound = functools.partial(hook, self) if with_module else hook
        return RemovableHandle(self._load_state_dict_pre_hooks, bound)

    def register_load_state_dict_pre_hook(self, hook):
        return self._register_load_state_dict_pre_hook(hook, True)

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

${returning({
  'get_parameter(target)': "self._get_member(target, '_parameters', 'an nn.Parameter')",
  'get_buffer(target)': "self._get_member(target, '_buffers', 'a buffer')",
})}
    def apply(self, fn):
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        for child in self.children() if recurse else ():
            child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                parameter.data = fn(parameter)
        self._buffers.update([(name, fn(buffer)) for name, buffer in self._buffers.items() if buffer is not None])
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
        met = set() if memo is None else memo
        if self in met:
            return
        if remove_duplicate:
            met.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(met, f'{prefix}.{name}' if prefix else name, remove_duplicate)

    def named_children(self):
        firsts = {}
        for name, child in self._modules.items():
            if child is not None:
                firsts.setdefault(child, name)
        return iter([(name, child) for child, name in firsts.items()])
${returning({
  'modules()': 'iter([module for _, module in self.named_modules()])',
  'children()': 'iter([module for _, module in self.named_children()])',
})}
    def _named_members(self, members_of, prefix='', recurse=True, remove_duplicate=True):
        seen = set()
        found = []
        for path, module in (self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]):
            for name, value in members_of(module):
                if value is not None and id(value) not in seen:
                    found.append((f'{path}.{name}' if path else name, value))
                    seen.update([id(value)] if remove_duplicate else [])
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
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f'{prefix}{name}.', keep_vars=keep_vars)
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
        for child in self.children():
            child.train(mode)
        return self
${returning({ 'eval() -> Self': 'self.train(False)' })}
    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True):
        for parameter in self.parameters():
            parameter.grad = None
${returning({
  '_converted(dtype)': 'self._apply(lambda value: value.to(dtype) if value.is_floating_point() else value)',
  'type(dst_type)': 'self._apply(lambda value: value.to(dst_type))',
  ...Object.fromEntries(
    Object.entries({ float: 'float32', double: 'float64', half: 'float16', bfloat16: 'bfloat16' }).map(
      ([name, type]) => [`${name}()`, `self._converted(torch.${type})`],
    ),
  ),
})}
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
${returning({
  'cuda(device: Optional[int] = None)': 'self._apply(lambda value: value.cuda(device))',
  'cpu()': 'self._apply(lambda value: value)',
  'to_empty(*, device, recurse=True)': 'self._apply(lambda value: torch.empty_like(value), recurse)',
  'share_memory()': 'self._apply(lambda value: value.share_memory_())',
  'extra_repr()': "''",
  '_get_name()': 'type(self).__name__',
})}
    def compile(self, *args, **kwargs):
        pass
`;
