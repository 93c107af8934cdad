"""What the generators of cases share: reading programs, running them in PyTorch, and writing what came of it.

Whoever imports it has warnings off and PyTorch on one thread.
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

warnings.simplefilter('ignore')
# Processes are made by forking, which threads do not survive.
torch.set_num_threads(1)


def encoded(value, lists='items'):
    """A value as JSON. Lists are written as tuples are, unless `lists` is another name for what they hold."""
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
    if isinstance(value, complex):
        return {'complex': [value.real, value.imag]}
    if isinstance(value, list):
        return {lists: encoded_all(value, lists)}
    if isinstance(value, tuple):
        return {'items': encoded_all(value, lists)}
    if isinstance(value, dict):
        return {'entries': [encoded_all(entry, lists) for entry in value.items()]}
    raise TypeError(f'{type(value).__name__} has no encoding')


def encoded_all(values, lists='items'):
    return [encoded(each, lists) for each in values]


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


HELPERS = {
    'numbers': numbers,
    'whole': whole,
    'tensor': torch.tensor,
    'ones': torch.ones,
    'zeros': torch.zeros,
    'torch': torch,
}


def evaluated(text):
    """The arguments that stand between the brackets of a call, those with names apart."""
    return eval(f'(lambda *args, **kwargs: (args, kwargs))({text})', HELPERS)


def arguments_of(text):
    """Name and arguments of a call."""
    name, inside = re.fullmatch(r'\s*([\w.]+)\((.*)\)\s*', text, re.S).groups()
    return name, *evaluated(inside)


def module_at(name, path):
    """The module of a file, which is yet to be executed."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    return module


def execute(module):
    module.__spec__.loader.exec_module(module)


def load(name, path):
    module = module_at(name, path)
    execute(module)
    return module


def program_of(source):
    """A program, which is yet to be executed, in a file of its own: PyTorch reads there what it scripts. Its random numbers start anew."""
    path = pathlib.Path(tempfile.mkdtemp()) / 'program.py'
    path.write_text(source)
    torch.manual_seed(0)
    return module_at('program', path)


def answered(method, args, kwargs, call):
    """A call as JSON, with its result or the last line of what it raises."""
    record = {'method': method, 'args': encoded_all(args), 'kwargs': {key: encoded(each) for key, each in kwargs.items()}}
    try:
        record['result'] = encoded(call(*args, **kwargs))
    except Exception as error:
        record['raises'] = str(error).strip().split('\n')[-1]
    return record


def apart(work):
    """What a function gives, in a process of its own: PyTorch keeps what it once made a type of. An EOFError where that process ends before."""
    context = multiprocessing.get_context('fork')
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(work()))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    finally:
        child.join()


def told(message):
    """A message without what differs from one installation to the next: places in PyTorch's own files, and addresses."""
    message = re.sub(r' \(of Python compilation unit at: 0x[0-9a-f]+\)', '', message)
    message = re.sub(r'__torch__\.program\.(___torch_mangle_\d+\.)?', '__torch__.', message).replace('program.', '__main__.')
    start = message.find('  File "/')
    return message if start == -1 else message[:start]


def refusal(error, program):
    """What PyTorch says of a program that it does not take, which had no file."""
    return told(str(error).replace(program.__file__, '<string>'))


def shown(graph):
    """A graph without places, with its values numbered in order of appearance."""
    names = {}
    text = re.sub(r' # .*$', '', graph, flags=re.M)
    return plain(re.sub(r'%[\w.]+', lambda m: names.setdefault(m.group(), f'%{len(names)}'), text))


def plain(text):
    """A text with the names that a page has for what is in it, and without addresses."""
    text = re.sub(r'__torch__\.(program|library|enums)\.', '__torch__.', re.sub(r'___torch_mangle_\d+\.', '', text))
    return re.sub(r' object at 0x[0-9a-f]+', ' object', text).strip()


def programs_in(folder, files='*.py', mark='# case: '):
    """The programs of a folder's files, each after a line of its own with its name: what it is called, and its text."""
    for file in sorted(folder.glob(files)):
        for piece in re.split(f'^{mark}', file.read_text(), flags=re.M)[1:]:
            title, _, text = piece.partition('\n')
            yield f'{file.stem}/{title.strip()}', text


def lines_of(text, word):
    """What comments `# WORD: …` say."""
    return re.findall(rf'^# {word}: (.*)$', text, re.M)


def write_cases(path, cases):
    with open(path, 'w') as out:
        for case in cases:
            out.write(json.dumps(case, separators=(',', ':')) + '\n')
    refused = sum('refused' in case for case in cases)
    print(f'{len(cases)} cases, {refused} of them refused')
