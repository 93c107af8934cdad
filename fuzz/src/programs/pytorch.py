"""Scripts, saves and runs programs with PyTorch: one line of JSON for each, one back (pytorch.ts). Runs until its input ends."""
import base64
import io
import json
import linecache
import sys
import warnings

import torch

warnings.filterwarnings('ignore')
torch.set_num_threads(1)

FILE = 'program.py'
HEADER = '''import torch
from torch import nn, Tensor
from typing import Dict, List, Optional, Tuple

'''


def decoded(given):
    dtype, sizes = getattr(torch, given['dtype']), given['sizes']
    data = bytearray(base64.b64decode(given['data']))
    return torch.frombuffer(data, dtype=dtype).reshape(sizes) if data else torch.empty(sizes, dtype=dtype)


def encoded(tensor):
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return {
        'dtype': str(tensor.dtype).removeprefix('torch.'),
        'sizes': list(tensor.shape),
        'data': base64.b64encode(plain.numpy().tobytes()).decode(),
    }


def note(values, name, value):
    if isinstance(value, torch.Tensor):
        values[name] = encoded(value)
    elif isinstance(value, list):
        values[name] = f'a list of {len(value)}'
        for at, item in enumerate(value):
            note(values, f'{name}[{at}]', item)
    elif isinstance(value, dict):
        values[name] = f'a dict of {len(value)}'
        for key, item in value.items():
            note(values, f'{name}[{key}]', item)
    else:
        values[name] = str(value)


def scripted(source, state):
    # PyTorch asks for the source of what it compiles by the name of its file.
    text = HEADER + source
    linecache.cache[FILE] = (len(text), None, text.splitlines(True), FILE)
    names = {'__name__': 'program'}
    exec(compile(text, FILE, 'exec'), names)
    return torch.jit.script(names['Subject'](state))


def called(module, call):
    x = decoded(call['x'])
    y = x if call['y'] is None else decoded(call['y'])
    l = [decoded(each) for each in call['l']]
    try:
        # Its optimiser moves reads past writes; as they are written programs are what they say.
        with torch.no_grad(), torch.jit.optimized_execution(False):
            results = module(x, y, call['n'], list(l))
    except Exception as error:
        return {'error': str(error).strip().split('\n')[-1]}
    values = {}
    for at, result in enumerate(results):
        note(values, f'result {at}', result)
    note(values, 'x', x)
    note(values, 'y', y)
    for at, each in enumerate(l):
        note(values, f'l[{at}]', each)
    for name in ('s', 'kept', 'named', 'k'):
        note(values, f'self.{name}', getattr(module, name))
    return {'values': values}


def answered(program):
    try:
        module = scripted(program['source'], decoded(program['state']))
        file = io.BytesIO()
        torch.jit.save(module, file)
    except Exception as error:
        return {'refused': str(error)}
    outcomes = []
    for call in program['calls']:
        outcomes.append(called(module, call))
        if 'error' in outcomes[-1]:
            break
    return {'file': base64.b64encode(file.getvalue()).decode(), 'outcomes': outcomes}


for line in sys.stdin:
    print(json.dumps(answered(json.loads(line))), flush=True)
