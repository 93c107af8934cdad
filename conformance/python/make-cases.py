"""Makes the cases that `source-modules.test.ts` runs: what PyTorch gives for modules that are written as Python files.

    python conformance/python/make-cases.py

Each file of `programs/` holds programs, one after the other, each after a line `# case: NAME`. The lines that follow it say what is done:

    # make: Net(2, depth=3)        what is scripted; several lines are cases of their own
    # call: forward(randn(2, 3))   calls, in order, on the one module

A piece of `bodies.txt` is a `forward`, after a line with its parameters and calls. A line of `layers.txt` is a layer and what it is called with; one of `expressions.txt` is what `__init__` computes. A file of `models/` is one program, with these lines at its top. Nothing but PyTorch computes what is expected: results, or the message where
it refuses.
"""

import base64
import importlib.util
import json
import multiprocessing
import pathlib
import re
import sys
import tempfile
import warnings

import torch

HERE = pathlib.Path(__file__).parent
warnings.simplefilter('ignore')
# Processes are made by forking, which threads do not survive.
torch.set_num_threads(1)


def encoded(value):
    if isinstance(value, torch.Tensor):
        data = value.detach().contiguous()
        kind = str(data.dtype).removeprefix('torch.')
        raw = base64.b64encode(data.numpy().tobytes()).decode()
        return {'tensor': kind, 'shape': list(data.shape), 'data': raw}
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return {'int': value}
    if isinstance(value, float):
        return {'float': repr(value)}
    if isinstance(value, (list, tuple)):
        return {'items': [encoded(each) for each in value]}
    if isinstance(value, dict):
        return {'entries': [[encoded(key), encoded(each)] for key, each in value.items()]}
    raise TypeError(f'{type(value).__name__} has no encoding')


def numbers(*shape):
    """A tensor of numbers that differ, without a generator."""
    size = 1
    for each in shape:
        size *= each
    return (torch.arange(size, dtype=torch.float32) * 0.37).sin().reshape(shape)


def whole(*shape, below=10):
    size = 1
    for each in shape:
        size *= each
    return (torch.arange(size) * 7 % below).reshape(shape)


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

HELPERS = {'numbers': numbers, 'whole': whole, 'tensor': torch.tensor, 'torch': torch}


def arguments_of(text):
    """Name, and arguments as they are and as JSON."""
    name, inside = re.fullmatch(r'\s*([\w.]+)\((.*)\)\s*', text, re.S).groups()
    args, kwargs = eval(f'(lambda *args, **kwargs: (args, kwargs))({inside})', HELPERS)
    return name, args, kwargs


def run(source, make, calls, with_state):
    """What PyTorch makes of it, as JSON. In a process of its own: PyTorch keeps what it once made a type of."""
    context = multiprocessing.get_context('fork')
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(answers(source, make, calls, with_state)))
    child.start()
    sender.close()
    case = receiver.recv()
    child.join()
    return case


def answers(source, make, calls, with_state):
    case = {}
    name, args, kwargs = arguments_of(make)
    case['make'] = [name, [encoded(each) for each in args], {key: encoded(each) for key, each in kwargs.items()}]
    folder = tempfile.mkdtemp()
    path = pathlib.Path(folder) / 'program.py'
    path.write_text(source)
    spec = importlib.util.spec_from_file_location('program', path)
    module = importlib.util.module_from_spec(spec)
    sys.modules['program'] = module
    torch.manual_seed(0)
    try:
        spec.loader.exec_module(module)
        made = getattr(module, name)(*args, **kwargs)
        scripted = torch.jit.script(made)
    except Exception as error:
        case['refused'] = told(str(error).replace(str(path), '<string>'))
        return case
    if with_state:
        case['state'] = {key: encoded(value) for key, value in scripted.state_dict().items()}
    case['parameters'] = [[key, list(value.shape)] for key, value in scripted.named_parameters()]
    case['calls'] = []
    scripted.eval() if with_state else None
    for call in calls:
        method, call_args, call_kwargs = arguments_of(call)
        record = {'method': method, 'args': [encoded(each) for each in call_args], 'kwargs': {key: encoded(each) for key, each in call_kwargs.items()}}
        try:
            with torch.no_grad():
                called = scripted if method == 'forward' else getattr(scripted, method)
                record['result'] = encoded(called(*call_args, **call_kwargs))
        except Exception as error:
            record['raises'] = str(error).strip().split('\n')[-1]
        case['calls'].append(record)
    return case


def told(message):
    """A message without what differs from one installation to the next: places in PyTorch's own files, and addresses."""
    message = re.sub(r' \(of Python compilation unit at: 0x[0-9a-f]+\)', '', message)
    message = re.sub(r'__torch__\.program\.(___torch_mangle_\d+\.)?', '__torch__.', message).replace('program.', '__main__.')
    start = message.find('  File "/')
    return message if start == -1 else message[:start]


def lines_of(header, word):
    return re.findall(rf'^# {word}: (.*)$', header, re.M)


def main():
    cases = []
    for file in sorted((HERE / 'programs').glob('*.py')):
        for piece in re.split(r'^# case: ', file.read_text(), flags=re.M)[1:]:
            title, _, rest = piece.partition('\n')
            header = '\n'.join(line for line in rest.split('\n') if line.startswith('# '))
            source = re.sub(r'^# (make|call): .*\n', '', rest, flags=re.M)
            # Defaults that PyTorch draws are told by its state.
            with_state = bool(re.search(r'\bnn\.(?!Module\b|ModuleList\b|ModuleDict\b|Sequential\b|Parameter\b)[A-Z]|\binit\.|rand', source))
            for at, make in enumerate(lines_of(header, 'make')):
                case = run(source, make, lines_of(header, 'call'), with_state)
                cases.append({'id': f'{file.stem}/{title.strip()}' + (f' {at + 1}' if at else ''), 'source': source, **case})
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
    with open(HERE / 'cases.jsonl', 'w') as out:
        for case in cases:
            out.write(json.dumps(case, separators=(',', ':')) + '\n')
    refused = sum('refused' in case for case in cases)
    print(f'{len(cases)} cases, {refused} of them refused')


if __name__ == '__main__':
    main()
