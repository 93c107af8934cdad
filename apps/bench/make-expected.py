"""What PyTorch makes of the bench's own programs: reads them from stdin, writes samples of the answers to stdout.

`node apps/bench/make-expected.mjs` runs it with the programs of src/programs.
"""

import json
import sys

import torch

from bench_programs import sample, scripted, training_step


def answer(program):
    module, inputs = scripted(program)
    if "steps" in program:
        step = training_step(program, module, inputs)
        for _ in range(program["steps"]):
            output = step()
    else:
        with torch.no_grad():
            output = module.forward(*inputs)
    return sample(output)


programs = json.load(sys.stdin)
torch.set_num_threads(1)
answers = {program["name"]: answer(program) for program in programs}
json.dump({"torch": torch.__version__.split("+")[0], "answers": answers}, sys.stdout)
