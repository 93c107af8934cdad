"""Writes the archives that mutations start from: `python make_seeds.py`, with PyTorch, in this folder."""

import enum
import json
import pickle
import struct
import sys
import zipfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts" / "fixtures"))
import relative_sources  # noqa: E402
import torch
from torch import Tensor, nn


class Mode(enum.Enum):
    PLAIN = 1
    DOUBLE = 2


class Pair(NamedTuple):
    left: Tensor
    right: int


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start
        self.names: List[str] = ["a", "b"]

    def step(self, by: int) -> int:
        self.count += by
        return self.count


@torch.jit.interface
class Transform:
    def apply(self, x: Tensor) -> Tensor:
        pass


@torch.jit.script
class Halve:
    def __init__(self):
        self.factor = 0.5

    def apply(self, x: Tensor) -> Tensor:
        return x * self.factor


class Values(nn.Module):
    """Every kind of value that an archive can hold."""

    def __init__(self):
        super().__init__()
        base = torch.arange(12, dtype=torch.float32)
        self.register_buffer("whole", base)
        self.register_buffer("view", base[2:8].view(2, 3))
        self.register_buffer("turned", torch.arange(6).reshape(2, 3).t())
        self.register_buffer("small", torch.tensor([1.5, -2.0], dtype=torch.float16))
        self.register_buffer("flags", torch.tensor([True, False]))
        self.register_buffer("none", None)
        self.ints: List[int] = [1, 2, 2**40]
        self.floats: List[float] = [0.5, float("inf")]
        self.table: Dict[str, Tensor] = {"a": torch.ones(2), "b": torch.zeros(1)}
        self.nested: Dict[int, List[Tuple[int, str]]] = {1: [(1, "x")], 2: []}
        self.maybe: Optional[int] = None
        self.turn = 1 + 2j
        self.text = "h\u00e9llo\n"
        self.counter = Counter(3)
        self.mode = Mode.DOUBLE

    def forward(self, x: Tensor, n: int = 2) -> Tuple[Tensor, Dict[str, List[int]]]:
        total = x + self.view.sum()
        sizes: Dict[str, List[int]] = {}
        for name, value in self.table.items():
            total = total + value.sum()
            sizes[name] = value.size()
        maybe = self.maybe
        if maybe is not None:
            total = total * maybe
        while n > 0:
            n -= 1
            if n == 7:
                break
            total = total - float(self.ints[0])
        if self.mode == Mode.DOUBLE:
            total = total * 2
        self.counter.step(n)
        pair = Pair(total, len(self.text))
        return pair.left + torch.tensor([0.25]), sizes


class Branch(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.norm = nn.BatchNorm1d(size)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.norm(self.linear(x)))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.branches = nn.ModuleList([Branch(3), Branch(3)])
        self.last = nn.Sequential(nn.Conv1d(1, 2, 2), nn.Tanh(), nn.Flatten())
        self.cell = nn.GRUCell(4, 2)
        self.scale: torch.jit.Final[float] = 2.5

    def forward(self, x: Tensor) -> Tuple[Tensor, List[Tensor]]:
        parts: List[Tensor] = []
        for branch in self.branches:
            x = branch(x)
            parts.append(x)
        state = self.cell(self.last(x.unsqueeze(1)))
        future = torch.jit.fork(self.helper, state)
        return torch.jit.wait(future) * self.scale, [p.sum(dim=0) for p in parts]

    def helper(self, x: Tensor) -> Tensor:
        if x.size(0) > 100:
            raise ValueError("too many: {}".format(x.size(0)))
        x[0, 0] = 1.0
        return x.softmax(-1)


class Stateful(nn.Module):
    transform: Transform

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.transform = Halve()
        self.extra = 4

    @torch.jit.export
    def __getstate__(self) -> Tuple[Tensor, int, bool]:
        return self.weight, self.extra, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, int, bool]):
        self.weight = state[0]
        self.extra = state[1]
        self.training = state[2]
        self.transform = Halve()

    def forward(self, x: Tensor) -> Tensor:
        return self.transform.apply(x + self.weight) * self.extra


def traced(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x.matmul(y), x]).view(-1).exp().log()


LEGACY_CODE = """op_version_set = 0
def forward(self,
    x: Tensor) -> Tensor:
  _0 = torch.add_(self.steps, 1, 1)
  y = torch.matmul(x, torch.t((self.inner).weight))
  return torch.div(torch.add(y, CONSTANTS.c1, alpha=self.scale), 2)
def first(self,
    p: __torch__.pairs.Pair) -> int:
  return torch.add(p.first, torch.len(self.names))
"""
LEGACY_LIBRARY = """op_version_set = 0
class Pair(NamedTuple):
  first : int
  second : int
"""


def legacy(path: Path) -> None:
    """The layout of PyTorch 1.1, which no PyTorch of today writes."""
    tensor = {"strides": ["2", "1"], "offset": "0", "requiresGrad": False, "dataType": "FLOAT", "device": "cpu"}
    tensors = [
        {**tensor, "dims": ["2", "2"], "data": {"key": "tensors/0"}},
        {**tensor, "dims": ["2"], "strides": ["1"], "offset": "2", "data": {"key": "tensors/0"}},
        {**tensor, "dims": [], "strides": [], "dataType": "INT64", "data": {"key": "tensors/1"}},
    ]
    main_module = {
        "name": "net",
        "optimize": True,
        "torchscriptArena": {"key": "code/net.py"},
        "submodules": [{"name": "inner", "parameters": [{"name": "weight", "tensorId": "0", "isBuffer": False}]}],
        "parameters": [{"name": "steps", "tensorId": "2", "isBuffer": True}],
        "attributes": [
            {"name": "scale", "type": "int", "id": "0"},
            {"name": "names", "type": "List[str]", "id": "1"},
        ],
    }
    model = {"protoVersion": "5", "mainModule": main_module, "tensors": tensors}
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("net/version", "1\n")
        file.writestr("net/model.json", json.dumps(model))
        file.writestr("net/attributes.pkl", pickle.dumps((3, ["a", "b"]), protocol=2))
        file.writestr("net/code/net.py", LEGACY_CODE)
        file.writestr("net/libs/__torch__/pairs.py", LEGACY_LIBRARY)
        file.writestr("net/tensors/0", struct.pack("<4f", 1, 2, 3, 4))
        file.writestr("net/tensors/1", bytes(8))


def forget_places(path: Path) -> None:
    """A trace notes the files of Python's own frames: their roots become as many characters that lead nowhere, so that sizes in pickles stay right."""
    with zipfile.ZipFile(path) as file:
        contents = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name, content in contents.items():
            for root in relative_sources.roots:
                place = str(root).encode()
                content = content.replace(place, (b"./" * len(place))[: len(place)])
            file.writestr(name, content)


def main() -> None:
    folder = Path(__file__).parent
    torch.manual_seed(0)
    torch.jit.script(Values()).save(str(folder / "values.pt"))
    torch.jit.script(Network().eval()).save(str(folder / "network.pt"))
    torch.jit.script(Stateful()).save(str(folder / "stateful.pt"))
    torch.jit.trace(traced, (torch.ones(2, 2), torch.eye(2))).save(str(folder / "traced.pt"))
    forget_places(folder / "traced.pt")
    state = {"model": Network().state_dict(), "epoch": 3, "lr": [0.1, 0.01], "mixed": (torch.ones(2, dtype=torch.bfloat16), None)}
    torch.save(state, folder / "checkpoint.pt")
    torch.save(state, folder / "checkpoint-legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(nn.Sequential(nn.Linear(2, 2)), folder / "module-checkpoint.pt")
    legacy(folder / "legacy.pt")


main()
