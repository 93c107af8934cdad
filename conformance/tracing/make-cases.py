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

import functools
import pathlib
import re
import sys
import warnings

import torch

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
import python_cases
from python_cases import evaluated, execute, load, plain, program_of, programs_in, shown, write_cases

# Programs in JavaScript have no lines of Python: neither graphs nor reports show any.
_graph_text = torch._C.Graph.__str__
_node_text = torch._C.Node.__str__
PLACE = re.compile(r' # \S+$', re.M)
torch._C.Graph.__str__ = lambda self: PLACE.sub('', _graph_text(self))
torch._C.Node.__str__ = lambda self: PLACE.sub('', _node_text(self))
torch._C.Node.sourceRange = lambda self: ''


# Lists are told from tuples.
encoded = functools.partial(python_cases.encoded, lists='list')


def run(fields, python, library):
    case = {}
    names = {name: value for name, value in vars(library).items() if not name.startswith('_')}
    names.update(halve=torch.jit.script(library.Halve()), plain=torch.jit.script(library.Plain()))
    program = program_of('import torch\nfrom torch import nn\nimport torch.nn.functional as F\n' + python)
    program.__dict__.update(names)
    execute(program)
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
                traced = torch.jit.trace_module(program.f, methods, check_inputs=check, **options)
            else:
                traced = torch.jit.trace(program.f, inputs, check_inputs=check, **options)
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
    for title, text in programs_in(HERE / 'programs', '*.txt', '=== '):
        lines, python, javascript = re.split(r'^--- \w+\n', text, flags=re.M)
        fields = dict(re.findall(r'^(\w+): (.*)$', lines, re.M))
        cases.append({'id': title, 'javascript': javascript.strip(), **run(fields, python, library)})
    write_cases(HERE / 'cases.jsonl', cases)
    print(f'{sum(bool(case["warnings"]) for case in cases)} with warnings')


main()
