"""Makes the cases that `globals.test.ts` runs: what PyTorch gives for programs whose names somebody else gave them.

    python conformance/globals/make-cases.py

Each file of `programs/` holds programs, one after the other, each after a line `# case: NAME`. The lines that follow it say what is given and done:

    # given: LIMIT = 0.5           a constant, in Python
    # given: decode, unit          functions of host.py; `unit`, `swish`, `scale` and others of library.py; traced functions
    # make: Net(2)                 what is scripted, for a program of a module
    # call: f(numbers(3))          calls, in order
    # save                         the program is saved, too

PyTorch has no constants of that kind but members of Python's modules: names of given constants become members of one. What is expected
is computed by PyTorch alone: graphs, results, and messages where it refuses.
"""

import enum
import functools
import io
import pathlib
import re
import sys
import tempfile
import types

import torch

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from python_cases import arguments_of, encoded, encoded_all, execute, lines_of, load, plain, program_of, programs_in, shown, told, write_cases

host = load('host', HERE / 'host.py')


def traced_scale(x):
    return x * 3


def traced_pair(x, y):
    return x + y, x - y


@functools.cache
def library():
    """What programs are given of library.py, and traced functions."""
    made = load('library', HERE / 'library.py')
    traced = {
        'traced_scale': torch.jit.trace(traced_scale, torch.ones(2)),
        'traced_pair': torch.jit.trace(traced_pair, (torch.ones(2), torch.ones(2))),
        'traced_module': torch.jit.trace(made.Scale(2.0), torch.ones(2)),
    }
    names = {name: getattr(made, name) for name in ('swish', 'clip', 'pick', 'ramp', 'Color', 'Point', 'Tally')}
    return {**names, **traced, 'unit': made, 'scale': torch.jit.script(made.Scale())}


def enum_of(name, value):
    """An enum from a text such as `enum(SUM=1, MEAN=2)`; PyTorch wants it in a file."""
    members = re.fullmatch(r'enum\((.*)\)', value)
    if members is None:
        return None
    path = pathlib.Path(tempfile.mkdtemp()) / 'enums.py'
    lines = ''.join(f'    {each.strip()}\n' for each in members.group(1).split(','))
    path.write_text(f'import enum\nclass {name}(enum.Enum):\n{lines}')
    return getattr(load('enums', path), name)


def last_line(error):
    message = str(error).split('\n\nAt:')[0].split('\nValue: ')[0]
    return re.sub(r'^\w+:  ', '', message.strip().split('\n')[-1])


def made(call):
    name, args, _ = arguments_of(call)
    return [name, encoded_all(args)]


def run(source, given, make, calls, saves):
    case = {'given': [], 'calls': []}
    constants = types.ModuleType('given')
    names = {'torch': torch}
    scripted = library()
    for line in given:
        name, _, value = (part.strip() for part in line.partition('='))
        if value:
            python = enum_of(name, value) or eval(value, {'torch': torch})
            setattr(constants, name, python)
            if isinstance(python, enum.EnumMeta):
                case['given'].append([name, {'enum': {each.name: each.value for each in python}}])
            elif isinstance(python, (torch.dtype, torch.device, torch.layout, complex)) or isinstance(python, float) and python.is_integer():
                case['given'].append([name, {'python': value}])
            else:
                case['given'].append([name, {'value': encoded(python)}])
        else:
            for each in re.split(r'\s*,\s*', line):
                names[each] = getattr(host, each, None) or scripted[each]
                case['given'].append([each, {'named': each}])
    python_source = source
    for name in vars(constants):
        if not name.startswith('__'):
            python_source = re.sub(rf'(?<![\w.\'"]){name}\b(?!\s*=[^=])', f'given.{name}', python_source)
    module = program_of(python_source)
    head = {'given': constants, **names, 'Tensor': torch.Tensor, 'nn': torch.nn}
    exec('from typing import *', head)
    module.__dict__.update(head)
    try:
        execute(module)
        if make:
            name, args, kwargs = arguments_of(make)
            program = torch.jit.script(getattr(module, name)(*args, **kwargs))
            case['make'] = made(make)
        else:
            functions = [each for each in re.findall(r'^def (\w+)', source, re.M)]
            compiled = {each: torch.jit.script(getattr(module, each)) for each in functions}
            program = compiled[functions[-1]]
            case['function'] = functions[-1]
        case['graph'] = shown(str(program.graph))
        # The lengths of names decide where a line ends: those of files are longer here.
        if '__torch__.' not in program.code:
            case['code'] = program.code.strip()
    except Exception as error:
        case['refused'] = plain(told(str(error)).replace('given.', ''))
        if make:
            case['make'] = made(make)
        return case
    for call in calls:
        method, args, kwargs = arguments_of(call)
        record = {'method': method, 'args': encoded_all(args)}
        try:
            called = (program if method == 'forward' else getattr(program, method)) if make else compiled[method]
            with torch.no_grad():
                record['result'] = encoded(called(*args, **kwargs))
        except Exception as error:
            record['raises'] = last_line(error)
        case['calls'].append(record)
    if saves:
        try:
            torch.jit.save(program, io.BytesIO())
            case['saved'] = True
        except Exception as error:
            case['unsaved'] = told(str(error)).replace('given.', '')
    return case


def main():
    cases = []
    for title, text in programs_in(HERE / 'programs'):
        source = re.sub(r'^# (given|make|call|save)\b.*\n', '', text, flags=re.M).strip() + '\n'
        makes = lines_of(text, 'make')
        saves = re.search(r'^# save$', text, re.M) is not None
        case = run(source, lines_of(text, 'given'), makes[0] if makes else None, lines_of(text, 'call'), saves)
        cases.append({'id': title, 'source': source, **case})
    write_cases(HERE / 'cases.jsonl', cases)


main()
