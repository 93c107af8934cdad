"""Writes cases.json: arguments and results of operators as PyTorch's CPU computes them, for oracle.test.ts.

Run with a Python that has PyTorch and torchvision: python make_cases.py. Inputs are short binary fractions, so that they are exact as text.
"""

import json
import os
import random

import torch

torch.manual_seed(0)
cases = []


def r(*sizes, dtype=torch.float32):
    return (torch.randint(-24, 25, sizes) / 8).to(dtype)


def ints(*sizes, low=-5, high=6, dtype=torch.int64):
    return torch.randint(low, high, sizes).to(dtype)


def number(value):
    value = float(value)
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return int(value) if value == int(value) else float(f"{value:.8g}")


def encode(value):
    if isinstance(value, torch.Tensor):
        flat = value.detach().resolve_conj().contiguous().reshape(-1)
        if flat.is_complex():
            flat = torch.view_as_real(flat).reshape(-1)
        text = {"tensor": str(value.dtype)[6:], "shape": list(value.shape), "data": [number(v) for v in flat.tolist()]}
        if not value.is_contiguous():
            text["strides"] = list(value.stride())
        return text
    if isinstance(value, torch.dtype):
        return {"dtype": str(value)[6:]}
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": number(value)}
    if isinstance(value, str):
        return {"str": value}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    raise TypeError(type(value))


def case(name, *args, **kwargs):
    """Runs `name` ("mm", "conv2d.padding" or "torchvision::nms") and keeps what it was given and what it gave."""
    namespace, _, rest = name.rpartition("::")
    operator, _, overload = rest.partition(".")
    function = getattr(getattr(getattr(torch.ops, namespace or "aten"), operator), overload or "default")
    name = name if namespace else f"aten::{name}"
    given = {}
    for at, argument in enumerate(function._schema.arguments):
        if at < len(args):
            given[argument.name] = args[at]
        elif argument.name in kwargs:
            given[argument.name] = kwargs[argument.name]
        else:
            given[argument.name] = argument.default_value
    written = {key: encode(value) for key, value in given.items()}
    try:
        result = function(*args, **kwargs)
        results = result if isinstance(result, (tuple, list)) else [result]
        entry = {"op": name, "args": written, "results": [encode(v) for v in results]}
        after = {key: encode(value) for key, value in given.items()}
        changed = {key: value for key, value in after.items() if value != written[key]}
        if changed:
            entry["after"] = changed
        cases.append(entry)
    except Exception as error:
        cases.append({"op": name, "args": written, "raises": str(error).split("\n")[0]})


def nchw(tensor):
    return tensor.contiguous(memory_format=torch.channels_last)


exec(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.py")).read())

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
print(len(cases), "cases")
