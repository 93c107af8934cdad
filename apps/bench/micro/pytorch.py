# The other side of micro.ts: answers a line with a program's name with its CPU time in milliseconds and its result, as JSON.
import json
import sys
import time
from pathlib import Path

import torch

import programs

torch.set_num_threads(1)
cases = {case["name"]: case for case in json.loads(Path(__file__).with_name("programs.json").read_text())}
scripted = {}


def elements(sizes):
    count = torch.Size(sizes).numel()
    return ((torch.arange(count, dtype=torch.float64) * 37 % 101) / 101 - 0.5).to(torch.float32).reshape(sizes)


def argument(spec):
    if not isinstance(spec, dict):
        return spec
    [(kind, value)] = spec.items()
    if kind == "tensor":
        return elements(value)
    if kind == "tensors":
        return [elements(value[1:]) for _ in range(value[0])]
    if kind == "ints":
        return list(range(value))
    return value.split(" ") if kind == "words" else value


for line in sys.stdin:
    case = cases[line.strip()]
    name = case["name"]
    fn = scripted.setdefault(name, torch.jit.script(getattr(programs, name)))
    args = [argument(spec) for spec in case["args"]]
    with torch.no_grad():
        start = time.process_time()
        result = fn(*args)
        milliseconds = (time.process_time() - start) * 1000
    if isinstance(result, torch.Tensor):
        result = result.flatten().tolist()
    print(json.dumps([milliseconds, str(result) if isinstance(result, int) else result]), flush=True)
