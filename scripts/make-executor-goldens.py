"""Writes what PyTorch's executors make of the programs in a folder: the graphs that they run, as text.

    PYTHON scripts/make-executor-goldens.py packages/runtime/src/executor/goldens

Each `NAME.py` there defines a function `f` and `CALLS`, a list of functions that give its arguments; with `GRADIENTS = True` it is run as in
training. Beside it `NAME.json` is written: the arguments, and what came of each call under the profiling executor (`profiling`), under it with
groups of the TensorExpr fuser on the CPU (`groups`), with groups for any sizes (`dynamic`), with arguments that require gradients (`gradients`; null
where a program can't have such), under the executor by ArgumentSpec (`simple`), and under that with groups on the CPU and with gradients
(`simple_groups`, `simple_gradients`); and of two of them the backward graphs, profiled and optimised (`backward`). `run` is the graph that the call ran, `made` are the optimised graphs that it had made, those
of fallbacks among them, as the compiler's log shows them. Places in the source are left out. Graphs are numbers of `graphs`.
"""

import importlib.util
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import torch

MODES = {
    'profiling': {'profiling': True, 'fuse': False},
    'groups': {'profiling': True, 'fuse': True},
    'dynamic': {'profiling': True, 'fuse': True, 'strategy': [('DYNAMIC', 10)]},
    'gradients': {'profiling': True, 'fuse': False, 'requires_grad': True},
    'simple': {'profiling': False, 'fuse': False},
    'simple_groups': {'profiling': False, 'fuse': True},
    'simple_gradients': {'profiling': False, 'fuse': False, 'requires_grad': True},
}
LOGGED = 'profiling_graph_executor_impl:graph_executor'
TITLES = ('Optimized Graph:', 'Optimized SimpleExecutor Graph:')


def without_places(graph) -> str:
    return re.sub(r' *# .*', '', str(graph))


def encode(value):
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix('torch.')
        [fill] = value.unique().tolist()
        return {
            'tensor': {
                'dtype': dtype,
                'sizes': list(value.size()),
                'strides': list(value.stride()),
                'requiresGrad': value.requires_grad,
                'fill': fill,
            }
        }
    if isinstance(value, dict):
        return {'dict': [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [encode(item) for item in value]}
    if isinstance(value, int) and not isinstance(value, bool):
        return {'int': value}
    return value


class Log:
    """What the compiler says while this is open."""

    def __enter__(self):
        self.file = tempfile.TemporaryFile()
        sys.stderr.flush()
        self.stderr = os.dup(2)
        os.dup2(self.file.fileno(), 2)
        torch._C._jit_set_logging_option(LOGGED)
        return self

    def __exit__(self, *_):
        torch._C._jit_set_logging_option('')
        os.dup2(self.stderr, 2)
        os.close(self.stderr)

    def optimized(self) -> list:
        self.file.seek(0)
        lines = [re.sub(r'^\[DUMP [^\]]*\] ', '', line) for line in self.file.read().decode().splitlines()]
        starts = [at for at, line in enumerate(lines) if re.match(r'[A-Z][\w ]*: *$', line)]
        dumps = [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)])]
        return ['\n'.join(body) for title, *body in dumps if title.strip() in TITLES]


def requiring(value):
    if isinstance(value, (list, tuple)):
        return type(value)(requiring(item) for item in value)
    if isinstance(value, dict):
        return {key: requiring(item) for key, item in value.items()}
    return value.requires_grad_() if isinstance(value, torch.Tensor) else value


def run(path: Path, texts: list, profiling: bool, fuse: bool, requires_grad=False, strategy=(('STATIC', 2), ('DYNAMIC', 10))):
    module = load(path)
    torch._C._jit_set_profiling_executor(profiling)
    torch._C._jit_set_profiling_mode(profiling)
    torch._C._jit_override_can_fuse_on_cpu(fuse)
    torch._C._jit_override_can_fuse_on_cpu_legacy(fuse and not profiling)
    torch.jit.set_fusion_strategy(list(strategy))
    torch._C._jit_set_te_must_use_llvm_cpu(False)
    function = torch.jit.script(module.f)

    def number(graph) -> int:
        text = without_places(graph)
        if text not in texts:
            texts.append(text)
        return texts.index(text)

    found = []
    with torch.set_grad_enabled(requires_grad or getattr(module, 'GRADIENTS', False)):
        for arguments in module.CALLS:
            with Log() as log:
                try:
                    values = arguments()
                    function(*(requiring(values) if requires_grad else values))
                except RuntimeError:
                    if requires_grad:
                        return None
                    raise
            last = number(torch.jit.last_executed_optimized_graph())
            found.append({'run': last, 'made': [number(text) for text in log.optimized()]})
    return found


def backward_graphs(path: Path) -> list:
    """Of the backward graph of what a program is one differentiable graph for."""
    run(path, [], profiling=True, fuse=False, requires_grad=True)
    module = load(path)
    function = torch.jit.script(module.f)
    found = []
    for _ in range(3):
        result = function(*requiring(module.CALLS[0]()))
        result.backward(torch.ones_like(result))
        found.append(without_places(torch.jit.last_executed_optimized_graph()))
    return found[1:]


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


for program in sorted(Path(sys.argv[1]).glob('*.py')):
    if len(sys.argv) > 2 and program.stem not in sys.argv[2:]:
        continue
    texts = []
    golden = {name: run(program, texts, **mode) for name, mode in MODES.items()}
    if program.stem in ('pointwise', 'layers'):
        golden['backward'] = backward_graphs(program)
    module = load(program)
    golden['calls'] = [encode(arguments())['tuple'] for arguments in module.CALLS]
    golden['grad_enabled'] = getattr(module, 'GRADIENTS', False)
    golden['graphs'] = texts
    golden['torch'] = torch.__version__.split('+')[0]
    program.with_suffix('.json').write_text(json.dumps(golden, indent=1) + '\n')
    print(program.stem)
