"""Writes the programs of packages/archive/fixtures, which PyTorch has to write: python scripts/make-module-fixtures.py"""
import inspect
import io
import types
import zipfile
from enum import Enum
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn

folder = Path(__file__).parent.parent / "packages" / "archive" / "fixtures"
folder.mkdir(exist_ok=True)
torch.manual_seed(0)


def relative_source_file(thing: object) -> "str | None":
    file = inspect.getsourcefile(thing)
    for root in (Path(torch.__file__).parent.parent, Path(__file__).parent.parent):
        if file and Path(file).is_relative_to(root):
            return Path(file).relative_to(root).as_posix()
    return file


torch._sources.inspect = types.SimpleNamespace(getsourcefile=relative_source_file, getsourcelines=inspect.getsourcelines)


class Mode(Enum):
    SUM = "sum"
    MEAN = "mean"


class Span(NamedTuple):
    low: float
    high: float


@torch.jit.interface
class Scorer(nn.Module):
    def score(self, x: Tensor) -> Tensor:
        pass


class Linear(nn.Module):
    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    @torch.jit.export
    def score(self, x: Tensor) -> Tensor:
        return x * self.factor

    def forward(self, x: Tensor) -> Tensor:
        return self.score(x)


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.tensor([0.5, -0.5]))

    @torch.jit.export
    def score(self, x: Tensor) -> Tensor:
        return x + self.shift

    def forward(self, x: Tensor) -> Tensor:
        return self.score(x)


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start

    def add(self, by: int) -> int:
        self.count += by
        return self.count


class Packed(nn.Module):
    """Saved as half of what it holds."""

    def __init__(self):
        super().__init__()
        self.values = torch.arange(4.0)
        self.training = False

    def forward(self, x: Tensor) -> Tensor:
        return x + self.values[:2]

    @torch.jit.export
    def __getstate__(self) -> Tuple[Tensor, bool]:
        return self.values[:2].clone(), self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, bool]) -> None:
        self.values = torch.cat([state[0], state[0]])
        self.training = state[1]


class Everything(nn.Module):
    scorer: Scorer
    names: List[str]
    table: Dict[str, List[int]]
    maybe: Optional[float]
    span: Span
    mode: Mode
    nested: List[Tuple[int, Optional[str]]]

    def __init__(self):
        super().__init__()
        self.scorer = Shifted()
        self.other = Linear(1.0 / 3)
        self.packed = Packed()
        self.weight = nn.Parameter(torch.randn(2, 3))
        self.register_buffer("rows", torch.arange(12, dtype=torch.float64).reshape(3, 4))
        self.register_buffer("column", self.rows[:, 1])
        self.names = ["é", "\n\"'\\", ""]
        self.table = {"zebra": [3, -4], "ant": [2**40]}
        self.maybe = None
        self.mode = Mode.MEAN
        self.nested = [(1, "one"), (2, None)]
        self.span = Span(-1.5, float("inf"))
        self.device = torch.device("cpu")
        self.complex = 1 - 2j
        self.long = -(2**62)

    def forward(self, x: Tensor, times: int = 2) -> Tuple[Tensor, Dict[str, int]]:
        counter = Counter(self.table["zebra"][0])
        for i in range(times):
            counter.add(i)
        y = self.scorer.score(x) + self.other(x)
        if self.mode == Mode.MEAN:
            y = y + y.mean()
        y = self.packed(y) @ self.weight
        if x.numel() == 0:
            raise ValueError(f"nothing in {self.names[0]}")
        return y + self.column.to(torch.float32), {self.names[0]: counter.count, "long": self.long}

    @torch.jit.export
    def facts(self) -> Tuple[List[str], Span, Optional[float], complex, torch.device, List[Tuple[int, Optional[str]]]]:
        self.column[0] += 1.0
        return self.names, self.span, self.maybe, self.complex, self.device, self.nested


def save(module: torch.jit.ScriptModule, name: str, debug: bool = True) -> None:
    """Saves a module without the names of this machine's folders, or without any source where those are all there is."""
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    with zipfile.ZipFile(buffer) as whole, zipfile.ZipFile(folder / name, "w") as file:
        for entry in whole.infolist():
            if debug or not entry.filename.endswith(".debug_pkl"):
                file.writestr(zipfile.ZipInfo(entry.filename), whole.read(entry), entry.compress_type)


class Quantized(nn.Module):
    """Packed weights of each kind, computed statically and dynamically."""

    def __init__(self):
        super().__init__()
        per_channel = torch.quantize_per_channel(
            torch.randn(4, 2, 3, 3), torch.tensor([0.02, 0.03, 0.01, 0.02]).double(), torch.zeros(4).long(), 0, torch.qint8
        )
        self.conv = torch.ops.quantized.conv2d_prepack(per_channel, torch.randn(4), [2, 1], [1, 0], [1, 1], 1)
        per_tensor = torch.quantize_per_tensor(torch.randn(3, 16), 0.02, 3, torch.qint8)
        self.linear = torch.ops.quantized.linear_prepack(per_tensor, torch.randn(3))
        self.dynamic = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.randn(2, 3), 0.02, 0, torch.qint8), None)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        q = torch.quantize_per_tensor(x, 0.02, 128, torch.quint8)
        q = torch.ops.quantized.conv2d_relu(q, self.conv, 0.05, 3)
        y = torch.ops.quantized.linear(q.flatten(1), self.linear, 0.1, 100)
        return y.int_repr(), torch.ops.quantized.linear_dynamic(y.dequantize(), self.dynamic, False)


class Spectrum(nn.Module):
    """Operators that the engine of the library has not from the start."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.fft.rfft(x).abs()


save(torch.jit.script(Everything().eval()), "everything.pt")
network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)).eval()
save(torch.jit.freeze(torch.jit.script(network)), "frozen.pt")
save(torch.jit.trace(network, torch.zeros(1, 1, 4, 4)), "traced.pt", debug=False)
quantized = torch.jit.script(Quantized())
save(quantized, "quantized.pt")
print(quantized(torch.arange(64.0).reshape(2, 2, 4, 4) / 16 - 2))
save(torch.jit.script(Spectrum()), "spectrum.pt")
