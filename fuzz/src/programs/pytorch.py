"""Scripts, saves and runs programs with PyTorch: one line of JSON for each, one back (pytorch.ts). Runs until its input ends."""
import base64
import contextlib
import io
import json
import linecache
import sys
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode

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


def reads_elsewhere(read, target):
    """Whether elements of a tensor are read at another point than that at which they are written."""
    if read.dtype != target.dtype or read.untyped_storage().data_ptr() != target.untyped_storage().data_ptr():
        return False
    places = torch.arange(target.untyped_storage().nbytes() // target.element_size())
    at = lambda tensor: places.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
    reads, writes = at(read), at(target)
    shared = torch.isin(reads, writes)
    try:
        return bool((shared & (reads.expand(writes.shape) != writes)).any())
    except RuntimeError:
        return bool(shared.any())


class OverlapWatch(TorchDispatchMode):
    """Notes operators whose results PyTorch leaves open: those that read elsewhere in what they write."""

    found = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = {**dict(zip((each.name for each in func._schema.arguments), args)), **(kwargs or {})}
        is_written = {each.name: each.alias_info is not None and each.alias_info.is_write for each in func._schema.arguments}
        tensors = [(name, value) for name, value in given.items() if isinstance(value, torch.Tensor)]
        for name, target in tensors:
            if is_written[name]:
                self.found |= any(reads_elsewhere(read, target) for other, read in tensors if not is_written[other])
        return func(*args, **(kwargs or {}))


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
    watch = OverlapWatch()
    with watch if program['watches'] else contextlib.nullcontext():
        for call in program['calls']:
            outcomes.append(called(module, call))
            if 'error' in outcomes[-1]:
                break
    return {'file': base64.b64encode(file.getvalue()).decode(), 'outcomes': outcomes, 'overlaps': watch.found}


for line in sys.stdin:
    print(json.dumps(answered(json.loads(line))), flush=True)
