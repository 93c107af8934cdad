"""Writes what PyTorch's executors make of the programs in a folder: the graph of each stage, as text.

    PYTHON scripts/make-executor-goldens.py packages/runtime/src/executor/goldens

Each `NAME.py` there defines a function `f` and `CALLS`, a list of functions that give its arguments. Beside it `NAME.json` is written: the
graphs as compiled and after each call, under the profiling executor (`profiling`), under it with groups of the TensorExpr fuser on the CPU
(`groups`), with groups for any sizes (`dynamic`), and under the executor by ArgumentSpec (`legacy`); under both with arguments that require gradients (`gradients`,
`legacy_gradients`), and of the backward graphs of two of them (`backward`). Places in the source are left out.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path

import torch

MODES = {
    'profiling': {'profiling': True, 'fuse': False},
    'groups': {'profiling': True, 'fuse': True},
    'dynamic': {'profiling': True, 'fuse': True, 'strategy': [('DYNAMIC', 10)]},
    'legacy': {'profiling': False, 'fuse': False},
    'gradients': {'profiling': True, 'fuse': False, 'requires_grad': True},
    'legacy_gradients': {'profiling': False, 'fuse': False, 'requires_grad': True},
}


def without_places(graph) -> str:
    return re.sub(r' *# .*', '', str(graph))


def requiring(value):
    if isinstance(value, list):
        return [requiring(item) for item in value]
    return value.requires_grad_() if isinstance(value, torch.Tensor) else value


def graphs(path: Path, profiling: bool, fuse: bool, requires_grad=False, strategy=(('STATIC', 2), ('DYNAMIC', 10))) -> list:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch._C._jit_set_profiling_executor(profiling)
    torch._C._jit_set_profiling_mode(profiling)
    torch._C._jit_override_can_fuse_on_cpu(fuse)
    torch.jit.set_fusion_strategy(list(strategy))
    torch._C._jit_set_te_must_use_llvm_cpu(False)
    function = torch.jit.script(module.f)
    found = [without_places(function.graph)]
    with torch.set_grad_enabled(requires_grad):
        for arguments in module.CALLS:
            values = arguments()
            function(*[requiring(value) for value in values] if requires_grad else values)
            found.append(without_places(torch.jit.last_executed_optimized_graph()))
    return found


def backward_graphs(path: Path) -> list:
    """Of the backward graph of what a program is one differentiable graph for: profiled, and optimised."""
    graphs(path, profiling=True, fuse=False, requires_grad=True)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = torch.jit.script(module.f)
    found = []
    for _ in range(3):
        result = function(*[requiring(value) for value in module.CALLS[0]()])
        result.backward(torch.ones_like(result))
        found.append(without_places(torch.jit.last_executed_optimized_graph()))
    return found[1:]


for program in sorted(Path(sys.argv[1]).glob('*.py')):
    golden = {name: graphs(program, **mode) for name, mode in MODES.items()}
    if program.stem in ('pointwise', 'layers'):
        golden['backward'] = backward_graphs(program)
    golden['torch'] = torch.__version__.split('+')[0]
    program.with_suffix('.json').write_text(json.dumps(golden, indent=1) + '\n')
    print(program.stem)
