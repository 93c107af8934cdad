"""The other side of src/contestants/pytorch.ts: reads a request a line from stdin, answers each with a line, both JSON.

A model is a program of the bench's own, in eager mode, or a TorchScript file in the folder that the first argument names, with calls of its methods.
A workload is a model of apps/bench/workloads in eager mode, which begins a sequence, goes on with it and tells its answer.
One thread; no gradients but where a program is trained.
"""

import base64
import json
import sys
import time
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "workloads"))
from bench_programs import eager, training_step  # noqa: E402
from sequences import Runner, tensors_in  # noqa: E402


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


def began(runner, sequence):
    """Runs what a sequence begins with; the calls that are left."""
    for call in sequence["before"]:
        runner.run(runner.prepared(call))
    return [runner.prepared(call) for call in sequence["calls"]]


def gone(runner, calls):
    """Times of the calls as `turn` tells them."""
    times = []
    cpu = time.process_time()
    for call in calls:
        start = time.perf_counter()
        runner.run(call)
        times.append(1000 * (time.perf_counter() - start))
    return {"times": times, "cpuSeconds": time.process_time() - cpu}


torch.set_num_threads(1)
runner = None
calls = []
run = None
is_trained = False
for line in sys.stdin:
    request = json.loads(line)
    if "workload" in request.get("open", {}):
        runner = Runner(request["open"]["workload"])
        reply = {}
    elif "begin" in request:
        calls = began(runner, request["begin"])
        reply = {}
    elif "go" in request:
        reply = gone(runner, calls)
    elif "answer" in request:
        reply = [answer(each) for each in runner.results[: request["answer"]]]
    elif "open" in request:
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
