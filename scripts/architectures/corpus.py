"""Writes a corpus that the conformance runner reads: TorchScript files, inputs, and what PyTorch computes from them."""
import base64
import json
import math
from pathlib import Path

import torch

Inputs = "tuple[object, ...]"

# Below this many bytes a tensor stands in the line of its case, above it in the file beside.
inline_bytes = 1024
alignment = 16


class Corpus:
    """One `cases.jsonl` with a `cases.bin` for large tensors, and the files that the cases name. What is there is added to."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._lines = open(folder / "cases.jsonl", "a", encoding="utf8")
        self._data = open(folder / "cases.bin", "ab")

    def add(self, suite: str, case: str, file: str, inputs: Inputs, output: object, rtol: float, atol: float) -> None:
        call = {"inputs": [self._value(value) for value in inputs], "output": self._value(output)}
        line = {
            "id": case,
            "suite": suite,
            "file": file,
            "entry": "forward",
            "calls": [call],
            "rtol": rtol,
            "atol": atol,
            "torch": torch.__version__,
        }
        self._lines.write(json.dumps(line) + "\n")

    def close(self) -> None:
        self._lines.close()
        self._data.close()

    def _value(self, value: object) -> object:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, torch.Tensor):
            return {"tensor": self._tensor(value)}
        if isinstance(value, int):
            return {"int": str(value)}
        if isinstance(value, float):
            return {"float": value if math.isfinite(value) else str(value)}
        if isinstance(value, str):
            return {"str": value}
        if isinstance(value, tuple):
            fields = getattr(value, "_fields", None)
            named = {} if fields is None else {"name": type(value).__name__, "fields": list(fields)}
            return {"tuple": [self._value(each) for each in value], **named}
        if isinstance(value, list):
            element = "Tensor" if not value else element_type(value[0])
            return {"list": [self._value(each) for each in value], "elem": element}
        if isinstance(value, dict):
            pairs = [[self._value(key), self._value(each)] for key, each in value.items()]
            key = element_type(next(iter(value), ""))
            return {"dict": pairs, "key": key, "value": element_type(next(iter(value.values()), torch.empty(0)))}
        raise TypeError(f"a value of type {type(value).__name__} has no form in a corpus")

    def _tensor(self, tensor: torch.Tensor) -> object:
        tensor = tensor.detach()
        if tensor.is_quantized or tensor.layout != torch.strided:
            raise TypeError("a tensor that is quantised, nested or sparse has no form in a corpus")
        name = {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
        data = tensor.resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8).numpy().tobytes()
        if len(data) <= inline_bytes:
            return {**name, "data": base64.b64encode(data).decode()}
        offset = self._data.tell()
        self._data.write(data)
        self._data.write(bytes(-len(data) % alignment))
        return {**name, "bin": "cases.bin", "offset": offset}


def element_type(value: object) -> str:
    """TorchScript's name of a value's type, as far as lists and dicts of it occur as inputs and outputs."""
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if isinstance(value, list):
        return f"List[{element_type(value[0]) if value else 'Tensor'}]"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(element_type, value))}]"
    if isinstance(value, dict):
        return f"Dict[{element_type(next(iter(value), ''))}, {element_type(next(iter(value.values()), torch.empty(0)))}]"
    return type(value).__name__


def largest_magnitude(value: object) -> float:
    """The largest finite absolute value among the floating-point numbers of an answer."""
    if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
        magnitudes = value.detach().abs().double()
        finite = magnitudes[magnitudes.isfinite()]
        return finite.max().item() if finite.numel() else 0.0
    if isinstance(value, float):
        return abs(value) if math.isfinite(value) else 0.0
    if isinstance(value, (list, tuple)):
        return max(map(largest_magnitude, value), default=0.0)
    if isinstance(value, dict):
        return max(map(largest_magnitude, value.values()), default=0.0)
    return 0.0
