"""Makes the cases that `source-modules.test.ts` runs: what PyTorch gives for modules that are written as Python files.

    python conformance/python/make-cases.py

Each file of `programs/` holds programs, one after the other, each after a line `# case: NAME`. The lines that follow it say what is done:

    # make: Net(2, depth=3)        what is scripted; several lines are cases of their own
    # call: forward(randn(2, 3))   calls, in order, on the one module

A piece of `bodies.txt` is a `forward`, after a line with its parameters and calls. A line of `layers.txt` is a layer and what it is called with; one of `expressions.txt` is what `__init__` computes. A file of `models/` is one program, with these lines at its top. Nothing but PyTorch computes what is expected: results, or the message where
it refuses.
"""

import pathlib
import re
import sys

import torch

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from python_cases import answered, apart, arguments_of, encoded, encoded_all, execute, lines_of, program_of, programs_in, refusal, write_cases

LAYER = '''import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, {types}):
        return self.layer({names})
'''

EXPRESSION = '''import collections, copy, functools, itertools, math, operator
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = ({expression})

    def forward(self):
        return self.value
'''

BODY = '''import math
import random
from typing import *
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 3
        self.layer = nn.ReLU()
        self.l = nn.Linear(3, 2)
        self.a = nn.Linear(2, 2)
        self.b = nn.Sequential(nn.ReLU(), nn.BatchNorm1d(2))
        self.c = self.a
        self.blocks = nn.ModuleList([nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)])
        self.stack = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))

    def forward(self, {parameters}):
{body}
'''


def run(source, make, calls, with_state):
    """What PyTorch makes of it, as JSON."""
    return apart(lambda: answers(source, make, calls, with_state))


def answers(source, make, calls, with_state):
    case = {}
    name, args, kwargs = arguments_of(make)
    case['make'] = [name, encoded_all(args), {key: encoded(each) for key, each in kwargs.items()}]
    program = program_of(source)
    try:
        execute(program)
        scripted = torch.jit.script(getattr(program, name)(*args, **kwargs))
    except Exception as error:
        case['refused'] = refusal(error, program)
        return case
    if with_state:
        case['state'] = {key: encoded(value) for key, value in scripted.state_dict().items()}
    case['parameters'] = [[key, list(value.shape)] for key, value in scripted.named_parameters()]
    case['calls'] = []
    scripted.eval() if with_state else None
    for call in calls:
        method, call_args, call_kwargs = arguments_of(call)
        # A method is looked up when it is called: that there is none is an answer, too.
        call = scripted if method == 'forward' else lambda *args, **kwargs: getattr(scripted, method)(*args, **kwargs)
        with torch.no_grad():
            case['calls'].append(answered(method, call_args, call_kwargs, call))
    return case


def main():
    cases = []
    for title, text in programs_in(HERE / 'programs'):
        source = re.sub(r'^# (make|call): .*\n', '', text, flags=re.M)
        # Defaults that PyTorch draws are told by its state.
        with_state = bool(re.search(r'\bnn\.(?!Module\b|ModuleList\b|ModuleDict\b|Sequential\b|Parameter\b)[A-Z]|\binit\.|rand', source))
        for at, make in enumerate(lines_of(text, 'make')):
            case = run(source, make, lines_of(text, 'call'), with_state)
            cases.append({'id': title + (f' {at + 1}' if at else ''), 'source': source, **case})
    for line in (HERE / 'expressions.txt').read_text().splitlines():
        source = EXPRESSION.format(expression=line)
        case = run(source, 'Net()', ['forward()'], False)
        cases.append({'id': f'expressions/{line}', 'source': source, **case})
    for text in (HERE / 'bodies.txt').read_text().split('\n\n'):
        head, _, body = text.strip().partition('\n')
        title, parameters, calls = head.split(' | ')
        source = BODY.format(parameters=parameters, body=re.sub('^', '    ', body, flags=re.M))
        needs_state = bool(re.search(r'self\.(l|a|b|c|blocks|stack)\b|buffers|parameters', body))
        case = run(source, 'Net()', [f'forward({call})' for call in calls.split(' ; ')], needs_state)
        cases.append({'id': f'bodies/{title}', 'source': source, **case})
    for line in (HERE / 'layers.txt').read_text().splitlines():
        layer, _, given = line.partition(' | ')
        names = ', '.join('abcdef'[: len(arguments_of(f'f({given})')[1])])
        types = ', '.join(f'{name}: torch.Tensor' for name in names.split(', '))
        source = LAYER.format(layer=layer, names=names, types=types)
        case = run(source, 'Net()', [f'forward({given})'], True)
        cases.append({'id': f'layers/{line}', 'source': source, **case})
    for file in sorted((HERE / 'models').glob('*.py')):
        source = file.read_text()
        for at, make in enumerate(lines_of(source, 'make')):
            case = run(source, make, lines_of(source, 'call'), True)
            cases.append({'id': f'models/{file.stem}' + (f' {at + 1}' if at else ''), 'file': f'models/{file.name}', **case})
    write_cases(HERE / 'cases.jsonl', cases)


main()
