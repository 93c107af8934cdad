"""One cold load in PyTorch, on one thread: `in-pytorch.py FILE`, with the calls of model-calls.mjs as JSON on standard input.

Prints milliseconds by the clock and of the processor, and by how many MB the process' memory grew at its greatest.
"""

import base64
import io
import json
import resource
import sys
import time

import torch

DTYPES = {"float32": torch.float32, "int64": torch.int64, "int32": torch.int32, "bool": torch.bool}


def value_of(value):
    if isinstance(value, list):
        return [value_of(item) for item in value]
    if not isinstance(value, dict):
        return value
    elements = bytearray(base64.b64decode(value["base64"]))
    return torch.frombuffer(elements, dtype=DTYPES[value["dtype"]]).reshape(value["shape"])


def greatest_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


torch.set_num_threads(1)
calls = [(each["method"], [value_of(item) for item in each["inputs"]]) for each in json.load(sys.stdin)]
with open(sys.argv[1], "rb") as file:
    content = io.BytesIO(file.read())
before = greatest_bytes()
clock, processor = time.perf_counter(), time.process_time()
model = torch.jit.load(content)
with torch.no_grad():
    for method, inputs in calls:
        getattr(model, method)(*inputs)
times = {"clock": time.perf_counter() - clock, "processor": time.process_time() - processor}
print(json.dumps({**{name: 1000 * each for name, each in times.items()}, "peak": (greatest_bytes() - before) / 1e6}))
