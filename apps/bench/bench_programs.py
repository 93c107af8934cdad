"""The bench's own programs (src/programs) as PyTorch has them, from what `node` tells of them in JSON."""

from typing import List

import numpy
import torch
from torch import Tensor


def pattern(shape, seed, scale):
    """The numbers of patternTensor in src/values.ts."""
    index = numpy.arange(numpy.prod(shape, dtype=numpy.int64), dtype=numpy.uint64)
    mask = numpy.uint64(0xFFFFFFFF)
    bits = (index + numpy.uint64(1 + seed * 7919)) * numpy.uint64(2654435761) & mask
    bits = (bits ^ (bits >> numpy.uint64(15))) * numpy.uint64(2246822519) & mask
    bits = (bits ^ (bits >> numpy.uint64(13))) >> numpy.uint64(8)
    values = numpy.float32(scale) * (bits.astype(numpy.float64) / 2**24 - 0.5)
    return torch.from_numpy(values.astype(numpy.float32)).reshape(shape)


def tensors_of(program):
    """A module that has the weights and no `forward`, parameters where they are trained; and the inputs."""
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
    return holder, inputs


def scripted(program):
    """The module in TorchScript, and its inputs."""
    holder, inputs = tensors_of(program)
    # A module without `forward`, as ScriptModule.define wants it.
    module = torch.jit._recursive.create_script_module(holder, lambda _: [], share_types=False)
    module.define(program["torch"] + "\n")
    return module, inputs


def eager(program):
    """The module in Python, whose methods are those of the TorchScript, and its inputs."""
    holder, inputs = tensors_of(program)
    methods = {}
    exec(program["torch"], {"torch": torch, "List": List, "Tensor": Tensor}, methods)
    holder.__class__ = type(program["name"], (torch.nn.Module,), methods)
    return holder, inputs


def training_step(program, module, inputs):
    """A function that takes a step of training and returns the loss before it."""
    (pictures,) = inputs
    labels = 3 * torch.arange(pictures.shape[0]) % program["classes"]
    optimizer = torch.optim.SGD(module.parameters(), lr=program["learningRate"])

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(module.forward(pictures), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def sample(output):
    """Every so many elements of an answer, as ExpectedTensor in src/models/bench-model.ts."""
    flat = output.flatten()
    # Odd, so that the samples are not all of one column.
    step = -(-flat.numel() // 256) | 1
    return {"shape": list(output.shape), "step": step, "values": [float(value) for value in flat[::step]]}
