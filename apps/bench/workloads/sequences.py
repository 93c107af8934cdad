"""Models of the bench's workloads, and their calls, as src/workloads tells of them in JSON."""

import importlib
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from bench_programs import pattern  # noqa: E402


def made(model):
    """The model of a file here, the same each time."""
    torch.manual_seed(1)
    return importlib.import_module(model).make()


def tensor_of(spec):
    """The tensor that tensorOfSpec in src/values.ts makes."""
    shape = spec["shape"]
    if "fill" in spec:
        return torch.full(shape, spec["fill"], dtype=getattr(torch, spec["dtype"]))
    if "zeros" in spec:
        columns = torch.arange(shape[1]) if spec["side"] == "left" else torch.arange(shape[1]).flip(0)
        return (columns >= torch.tensor(spec["zeros"]).unsqueeze(1)).long()
    if "below" in spec:
        return ((pattern(shape, spec["seed"], 1).double() + 0.5) * spec["below"]).floor().long()
    return pattern(shape, spec["seed"], spec.get("scale", 1))


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    items = list(value.values()) if isinstance(value, dict) else value
    return [each for item in items for each in tensors_in(item)] if isinstance(items, (list, tuple)) else []


class Runner:
    """Runs the calls of sequences on a model, or steps of training where a workload is trained."""

    def __init__(self, workload):
        self.module = made(workload["model"]).module
        self.optimizer = None
        if "learningRate" in workload:
            self.module.train()
            self.optimizer = torch.optim.SGD(self.module.parameters(), lr=workload["learningRate"])
        else:
            self.module.eval()
        self.results = []

    def prepared(self, call):
        """The call with its tensors made, but those that come from the call before."""
        return call["method"], [self._ready(value) for value in call["inputs"]]

    def run(self, prepared):
        method, values = prepared
        inputs = [self._filled(value) for value in values]
        with torch.inference_mode(self.optimizer is None):
            output = self._step(*inputs) if self.optimizer else getattr(self.module, method)(*inputs)
        self.results = tensors_in(output)

    def _step(self, x, classes):
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.module(x), classes)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _ready(self, value):
        if isinstance(value, (int, float)):
            return value
        if isinstance(value, list):
            return [self._ready(each) for each in value]
        if "tuple" in value:
            return tuple(self._ready(each) for each in value["tuple"])
        return value if "carried" in value else tensor_of(value)

    def _filled(self, value):
        if isinstance(value, dict):
            return self.results[value["carried"]]
        return type(value)(self._filled(each) for each in value) if isinstance(value, (list, tuple)) else value
