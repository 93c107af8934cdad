"""The other side of src/contestants/pytorch.ts: reads a request a line from stdin, answers each with a line, both JSON.

A model is a program of the bench's own, in eager mode, or a TorchScript file in the folder that the first argument names, with calls of its methods.
One thread; no gradients but where a program is trained.
"""

import base64
import json
import sys
import time
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from bench_programs import eager, training_step  # noqa: E402


def argument(spec):
    if not isinstance(spec, dict):
        return spec
    dtype = getattr(torch, spec["dtype"])
    if not spec["data"]:
        return torch.empty(spec["shape"], dtype=dtype)
    return torch.frombuffer(bytearray(base64.b64decode(spec["data"])), dtype=dtype).reshape(spec["shape"])


def answer(tensor):
    data = tensor.contiguous().numpy().tobytes()
    shape = list(tensor.shape)
    return {"dtype": str(tensor.dtype)[6:], "shape": shape, "data": base64.b64encode(data).decode()}


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    items = list(value.values()) if isinstance(value, dict) else value
    return [each for item in items for each in tensors_in(item)] if isinstance(items, (list, tuple)) else []


def opened(request):
    """A function that runs the model once."""
    if "file" in request:
        module = torch.jit.load(str(Path(sys.argv[1]) / request["file"]))
        calls = [(getattr(module, each["method"]), [argument(given) for given in each["inputs"]]) for each in request["calls"]]
        return lambda: [method(*inputs) for method, inputs in calls]
    module, inputs = eager(request["program"])
    if "steps" in request["program"]:
        return training_step(request["program"], module, inputs)
    return lambda: module.forward(*inputs)


def turn(run, milliseconds):
    """Times of calls by the clock until so many milliseconds have passed, and of the processor in all."""
    times = []
    cpu, last = time.process_time(), time.perf_counter()
    end = last + milliseconds / 1000
    while last < end or not times:
        run()
        now = time.perf_counter()
        times.append(1000 * (now - last))
        last = now
    return {"times": times, "cpuSeconds": time.process_time() - cpu}


torch.set_num_threads(1)
run = None
is_trained = False
for line in sys.stdin:
    request = json.loads(line)
    if "open" in request:
        run = opened(request["open"])
        is_trained = "steps" in request["open"].get("program", {})
        reply = {}
    elif "turn" in request:
        with torch.inference_mode(not is_trained):
            reply = turn(run, request["turn"])
    elif "run" in request:
        with torch.inference_mode(not is_trained):
            reply = [answer(each) for each in tensors_in(run())]
    else:
        reply = torch.__version__.split("+")[0]
    print(json.dumps(reply), flush=True)
