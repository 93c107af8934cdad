"""Makes the cases that `source-functions.test.ts` runs: what PyTorch gives for functions that are written as Python files.

    python conformance/python/make-function-cases.py

Each file of `functions/` holds programs, one after the other, each after a line `# case: NAME`; `prelude.py` stands before all of them. A line
`# call: f(randn(2, 3))` scripts a function and calls it. Nothing but PyTorch computes what is expected: results, or the message where it refuses.
Each program has a process of its own, since some end it.
"""

import pathlib
import re
import sys

import torch

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from python_cases import answered, apart, arguments_of, execute, lines_of, program_of, programs_in, refusal, write_cases

PRELUDE = (HERE / 'functions' / 'prelude.py').read_text()
LONGEST_MESSAGE = 600


def run(source):
    """What PyTorch makes of a program, as JSON."""
    calls = lines_of(source, 'call')
    source = re.sub(r'^# call: .*\n', '', source, flags=re.M)
    case = {'source': source}
    program = program_of(PRELUDE + source)
    prepared = [arguments_of(call) for call in calls]
    try:
        execute(program)
        scripted = {name: torch.jit.script(getattr(program, name)) for name, _, _ in prepared}
    except Exception as error:
        case['refused'] = refusal(error, program)[:LONGEST_MESSAGE]
        return case
    case['calls'] = [answered(name, args, kwargs, scripted[name]) for name, args, kwargs in prepared]
    return case


def main():
    cases = []
    for title, source in programs_in(HERE / 'functions', '*.txt'):
        try:
            cases.append({'id': title, **apart(lambda: run(source))})
        except EOFError:
            sys.exit(f'{title}: no answer')
    write_cases(HERE / 'function-cases.jsonl', cases)


main()
