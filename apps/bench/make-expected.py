"""What PyTorch makes of the bench's own programs: reads them from stdin, writes samples of the answers to stdout.

`node apps/bench/make-expected.mjs` runs it with the programs of src/programs.
"""

import json
import sys
from typing import List  # noqa: F401  (the programs say List[Tensor])

import numpy
import torch

SAMPLES = 256


def pattern(shape, seed, scale):
    """The numbers of patternTensor in src/values.ts."""
    index = numpy.arange(numpy.prod(shape, dtype=numpy.int64), dtype=numpy.uint64)
    mask = numpy.uint64(0xFFFFFFFF)
    bits = (index + numpy.uint64(1 + seed * 7919)) * numpy.uint64(2654435761) & mask
    bits = (bits ^ (bits >> numpy.uint64(15))) * numpy.uint64(2246822519) & mask
    bits = (bits ^ (bits >> numpy.uint64(13))) >> numpy.uint64(8)
    values = numpy.float32(scale) * (bits.astype(numpy.float64) / 2**24 - 0.5)
    return torch.from_numpy(values.astype(numpy.float32)).reshape(shape)


def module_of(program):
    """The module, and its inputs."""
    seed = 0
    holder = torch.nn.Module()
    inputs = []
    for spec in program["inputs"]:
        inputs.append(pattern(spec["shape"], seed, spec["scale"]))
        seed += 1
    for spec in program["weights"]:
        weight = pattern(spec["shape"], seed, spec["scale"])
        if "steps" in program:
            holder.register_parameter(spec["name"], torch.nn.Parameter(weight))
        else:
            holder.register_buffer(spec["name"], weight)
        seed += 1
    # A module without `forward`, as ScriptModule.define wants it.
    module = torch.jit._recursive.create_script_module(holder, lambda _: [], share_types=False)
    module.define(program["torch"] + "\n")
    return module, inputs


def trained(program):
    """The loss of the last step."""
    module, (pictures,) = module_of(program)
    labels = 3 * torch.arange(pictures.shape[0]) % program["classes"]
    optimizer = torch.optim.SGD(module.parameters(), lr=program["learningRate"])
    for _ in range(program["steps"]):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(module.forward(pictures), labels)
        loss.backward()
        optimizer.step()
    return loss.detach()


def answer(program):
    if "steps" in program:
        output = trained(program)
    else:
        module, inputs = module_of(program)
        with torch.no_grad():
            output = module.forward(*inputs)
    flat = output.flatten()
    # Odd, so that the samples are not all of one column.
    step = -(-flat.numel() // SAMPLES) | 1
    return {"shape": list(output.shape), "step": step, "values": [float(value) for value in flat[::step]]}


programs = json.load(sys.stdin)
torch.set_num_threads(1)
answers = {program["name"]: answer(program) for program in programs}
json.dump({"torch": torch.__version__.split("+")[0], "answers": answers}, sys.stdout)
