"""Writes models and PyTorch's answers; reads workloads from stdin and the folder from its argument. make.mjs runs it."""

import json
import sys
import warnings
from pathlib import Path

import torch
import torch.onnx._internal.torchscript_exporter.onnx_proto_utils as exporter

from bench_programs import sample
from sequences import Runner, made

# It wants the package `onnx` to look for functions of onnxscript, which none of these models has.
exporter._add_onnxscript_fn = lambda graph, _functions: graph


def write_model(folder, name):
    model = made(name)
    torch.jit.script(model.module.eval()).save(str(folder / f"{name}.pt"))
    if model.twin is None:
        return
    with warnings.catch_warnings(), torch.no_grad():
        # The exporter that traces is not the newest one; and constants that it warns of are sizes that models have always.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.twin.eval(),
            model.example,
            str(folder / f"{name}.onnx"),
            dynamo=False,
            opset_version=17,
            input_names=model.inputs,
            output_names=model.outputs,
            dynamic_axes=model.open_sizes,
        )


def answers(workload):
    """Samples of what the last call of each sequence gives. The bench warms with three passes before it comes to new sizes, which is told by a model that is trained."""
    runner = Runner(workload)

    def answer(sequence):
        for call in [*sequence["before"], *sequence["calls"]]:
            runner.run(runner.prepared(call))
        return [sample(each) for each in runner.results[: workload["checked"]]]

    known = [answer(each) for each in workload["known"]]
    if runner.optimizer:
        for each in 2 * workload["known"]:
            answer(each)
    return {"known": known, "fresh": [answer(each) for each in workload["fresh"]]}


torch.set_num_threads(1)
root = Path(sys.argv[1])
asked = json.load(sys.stdin)
for model in asked["models"]:
    write_model(root, model)
for each in asked["workloads"]:
    found = {"stamp": each["stamp"], "torch": torch.__version__.split("+")[0], "answers": answers(each["workload"])}
    (root / f"{each['workload']['name']}.json").write_text(json.dumps(found))
