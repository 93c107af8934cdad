"""Makes the cases that `source-functions.test.ts` runs: what PyTorch gives for functions that are written as Python files.

    python conformance/python/make-function-cases.py

Each file of `functions/` holds programs, one after the other, each after a line `# case: NAME`; `prelude.py` stands before all of them. A line
`# call: f(randn(2, 3))` scripts a function and calls it. Nothing but PyTorch computes what is expected: results, or the message where it refuses.
Each program has a process of its own, since some end it.
"""

import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import warnings

import torch

HERE = pathlib.Path(__file__).parent
SPEC = importlib.util.spec_from_file_location('make_cases', HERE / 'make-cases.py')
COMMON = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(COMMON)
PRELUDE = (HERE / 'functions' / 'prelude.py').read_text()
LONGEST_MESSAGE = 600

warnings.simplefilter('ignore')
torch.set_num_threads(1)


def encoded(value):
    if isinstance(value, complex):
        return {'complex': [value.real, value.imag]}
    if isinstance(value, (list, tuple)):
        return {'items': [encoded(each) for each in value]}
    if isinstance(value, dict):
        return {'entries': [[encoded(key), encoded(each)] for key, each in value.items()]}
    return COMMON.encoded(value)


def run(source):
    """What PyTorch makes of a program, as JSON."""
    calls = re.findall(r'^# call: (.*)$', source, re.M)
    source = re.sub(r'^# call: .*\n', '', source, flags=re.M)
    case = {'source': source}
    path = pathlib.Path(tempfile.mkdtemp()) / 'program.py'
    path.write_text(PRELUDE + source)
    spec = importlib.util.spec_from_file_location('program', path)
    module = importlib.util.module_from_spec(spec)
    sys.modules['program'] = module
    torch.manual_seed(0)
    prepared = [COMMON.arguments_of(call) for call in calls]
    try:
        spec.loader.exec_module(module)
        scripted = {name: torch.jit.script(getattr(module, name)) for name, _, _ in prepared}
    except Exception as error:
        case['refused'] = COMMON.told(str(error).replace(str(path), '<string>'))[:LONGEST_MESSAGE]
        return case
    case['calls'] = []
    for name, args, kwargs in prepared:
        record = {'method': name, 'args': [encoded(each) for each in args], 'kwargs': {key: encoded(each) for key, each in kwargs.items()}}
        try:
            record['result'] = encoded(scripted[name](*args, **kwargs))
        except Exception as error:
            record['raises'] = str(error).strip().split('\n')[-1]
        case['calls'].append(record)
    return case


def apart(source):
    """`run` in a process of its own; None where that ends or has no JSON for a value."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        with os.fdopen(write, 'w') as out:
            out.write(json.dumps(run(source)))
            out.flush()
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as data:
        text = data.read()
    os.wait()
    return json.loads(text) if text else None


def main():
    count = refused = 0
    with open(HERE / 'function-cases.jsonl', 'w') as out:
        for file in sorted((HERE / 'functions').glob('*.txt')):
            for piece in re.split(r'^# case: ', file.read_text(), flags=re.M)[1:]:
                title, _, source = piece.partition('\n')
                case = apart(source)
                if case is None:
                    sys.exit(f'{file.stem}/{title}: no answer')
                out.write(json.dumps({'id': f'{file.stem}/{title.strip()}', **case}, separators=(',', ':')) + '\n')
                count += 1
                refused += 'refused' in case
    print(f'{count} cases, {refused} of them refused')


main()
