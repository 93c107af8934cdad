/** Members of Python's modules that are written in Python, by module. */
export const STANDARD_TEXTS: Readonly<Record<string, string>> = {
  contextlib: `
class nullcontext:
    def __init__(self, enter_result=None):
        self.enter_result = enter_result

    def __enter__(self):
        return self.enter_result

    def __exit__(self, *reason):
        return None


class suppress:
    def __init__(self, *exceptions):
        self._exceptions = exceptions

    def __enter__(self):
        return None

    def __exit__(self, kind, value, trace):
        return kind is not None and isinstance(value, self._exceptions)
`,
  functools: `
_ORDERINGS = {
    '__lt__': {
        '__gt__': lambda a, b: not a < b and a != b,
        '__le__': lambda a, b: a < b or a == b,
        '__ge__': lambda a, b: not a < b,
    },
    '__le__': {
        '__ge__': lambda a, b: not a <= b or a == b,
        '__lt__': lambda a, b: a <= b and a != b,
        '__gt__': lambda a, b: not a <= b,
    },
    '__gt__': {
        '__lt__': lambda a, b: not a > b and a != b,
        '__ge__': lambda a, b: a > b or a == b,
        '__le__': lambda a, b: not a > b,
    },
    '__ge__': {
        '__le__': lambda a, b: not a >= b or a == b,
        '__gt__': lambda a, b: a >= b and a != b,
        '__lt__': lambda a, b: not a >= b,
    },
}


def total_ordering(cls):
    own = [name for name in _ORDERINGS if hasattr(cls, name)]
    if not own:
        raise ValueError('must define at least one ordering operation: < > <= >=')
    for name, compare in _ORDERINGS[own[0]].items():
        if name not in own:
            setattr(cls, name, compare)
    return cls


def singledispatch(fn):
    implementations = []

    def dispatch(cls):
        for base in cls.__mro__:
            for registered, implementation in reversed(implementations):
                if registered is base:
                    return implementation
        return fn

    def register(cls, implementation=None):
        if implementation is None:
            return lambda given: register(cls, given)
        implementations.append((cls, implementation))
        return implementation

    def wrapper(*args, **kwargs):
        return dispatch(type(args[0]))(*args, **kwargs)

    wrapper.register = register
    wrapper.dispatch = dispatch
    return wrapper
`,
};
