"""Makes the cases that `traces.test.ts` runs: what PyTorch records of programs that are written in Python and in JavaScript.

    python conformance/tracing/make-cases.py

Each file of `programs/` holds programs, one after the other:

    === NAME
    inputs: ones(2), [ones(2), ones(2)]     what is traced with; Python's tuples are arrays, its lists lists
    check: (ones(2),), (ones(3),)           check_inputs
    options: strict=False                   of torch.jit.trace
    run: ones(3)                            what the traced program is called with then; its example where none is given
    methods: forward=(ones(2),)             torch.jit.trace_module, in the place of inputs
    --- python
    def f(x):                               a function `f`, or a module `f`
        return x + 1
    --- javascript
    (x) => x.add(1)                         the same

Functions and modules of library.py are names in both. What is expected is computed by PyTorch alone: graphs without places, warnings,
results, and messages where it refuses.
"""

import importlib.util
import json
import pathlib
import re
import sys
import tempfile
import warnings

import torch

HERE = pathlib.Path(__file__).parent


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


python_cases = load('python_cases', HERE.parent / 'python' / 'make-cases.py')

# Programs in JavaScript have no lines of Python: neither graphs nor reports show any.
_graph_text = torch._C.Graph.__str__
_node_text = torch._C.Node.__str__
PLACE = re.compile(r' # \S+$', re.M)
torch._C.Graph.__str__ = lambda self: PLACE.sub('', _graph_text(self))
torch._C.Node.__str__ = lambda self: PLACE.sub('', _node_text(self))
torch._C.Node.sourceRange = lambda self: ''


def encoded(value):
    """As for modules, but lists are told from tuples."""
    if isinstance(value, list):
        return {'list': [encoded(each) for each in value]}
    if isinstance(value, tuple):
        return {'items': [encoded(each) for each in value]}
    if isinstance(value, dict):
        return {'entries': [[key, encoded(each)] for key, each in value.items()]}
    return python_cases.encoded(value)


def shown(text):
    names = {}
    text = re.sub(r'%[\w.]+', lambda m: names.setdefault(m.group(), f'%{len(names)}'), text)
    return plain(text)


def plain(text):
    text = re.sub(r'__torch__\.(program|library)\.', '__torch__.', re.sub(r'___torch_mangle_\d+\.', '', text))
    return re.sub(r' object at 0x[0-9a-f]+', ' object', text).strip()


HELPERS = {**python_cases.HELPERS, 'ones': torch.ones, 'zeros': torch.zeros}


def evaluated(text):
    return eval(f'(lambda *args, **kwargs: (args, kwargs))({text})', HELPERS)


def run(fields, python, library):
    case = {}
    path = pathlib.Path(tempfile.mkdtemp()) / 'program.py'
    path.write_text('import torch\nfrom torch import nn\nimport torch.nn.functional as F\n' + python)
    names = {name: value for name, value in vars(library).items() if not name.startswith('_')}
    names.update(halve=torch.jit.script(library.Halve()), plain=torch.jit.script(library.Plain()))
    spec = importlib.util.spec_from_file_location('program', path)
    module = importlib.util.module_from_spec(spec)
    sys.modules['program'] = module
    module.__dict__.update(names)
    torch.manual_seed(0)
    spec.loader.exec_module(module)
    options = evaluated(fields.get('options', ''))[1]
    case['options'] = {key: encoded(value) for key, value in options.items()}
    check = evaluated(fields['check'])[0] if 'check' in fields else None
    if check is not None:
        case['check'] = [encoded(each) for each in check]
    methods = evaluated(fields['methods'])[1] if 'methods' in fields else None
    inputs = evaluated(fields.get('inputs', ''))[0]
    if fields.get('single'):
        inputs = inputs[0]
    case['inputs'] = encoded(methods if methods is not None else inputs)
    if methods is not None:
        case['isMethods'] = True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        try:
            if methods is not None:
                traced = torch.jit.trace_module(module.f, methods, check_inputs=check, **options)
            else:
                traced = torch.jit.trace(module.f, inputs, check_inputs=check, **options)
        except Exception as error:
            # Where a program failed that was traced is told in Python's places.
            case['refused'] = re.sub(r'\tTraceback of TorchScript.*?(?=\tRuntimeError)', '', plain(str(error)), flags=re.S)
    told = [plain(str(each.message)) for each in caught if issubclass(each.category, torch.jit.TracerWarning)]
    case['warnings'] = list(dict.fromkeys(told))
    if 'refused' in case:
        return case
    # Of what was traced, not of modules that were scripted before.
    case['graphs'] = {}
    if isinstance(traced, torch.nn.Module):
        for path, each in traced.named_modules():
            if isinstance(each, torch.jit.TracedModule):
                for name in each._c._method_names():
                    case['graphs'][f'{path}.{name}' if path else name] = shown(str(each._c._get_method(name).graph))
    else:
        case['graphs']['forward'] = shown(str(traced.graph))
    given = evaluated(fields['run'])[0] if 'run' in fields else (methods['forward'] if methods else inputs)
    given = given if isinstance(given, tuple) else (given,)
    case['run'] = encoded(given)
    case['result'] = encoded(traced(*given))
    return case


def main():
    library = load('library', HERE / 'library.py')
    cases = []
    for file in sorted((HERE / 'programs').glob('*.txt')):
        for piece in re.split(r'^=== ', file.read_text(), flags=re.M)[1:]:
            head, python, javascript = re.split(r'^--- \w+\n', piece, flags=re.M)
            title, _, lines = head.partition('\n')
            fields = dict(re.findall(r'^(\w+): (.*)$', lines, re.M))
            case = run(fields, python, library)
            cases.append({'id': f'{file.stem}/{title.strip()}', 'javascript': javascript.strip(), **case})
    with open(HERE / 'cases.jsonl', 'w') as out:
        for case in cases:
            out.write(json.dumps(case, separators=(',', ':')) + '\n')
    refused = sum('refused' in case for case in cases)
    warned = sum(bool(case['warnings']) for case in cases)
    print(f'{len(cases)} cases, {refused} of them refused, {warned} with warnings')


if __name__ == '__main__':
    main()
