"""Writes what PyTorch's JIT makes of graphs when it differentiates them: the forward and the backward graph, as text.

    PYTHON scripts/make-gradient-goldens.py packages/runtime/src/executor/gradient-goldens

Each `NAME.py` there has `CASES`, pairs of a function of two matrices and of which of them require a gradient, or `GRAPHS`, graphs by their
names. Beside it `NAME.json` is written, with a case for each and, for functions, for their graphs without shapes too.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path

import torch


def text(graph) -> str:
    return re.sub(r' *# [^\n"]*$', '', str(torch._C._jit_pass_canonicalize(graph)), flags=re.MULTILINE)


def of_program(program, requires: tuple, shaped: bool) -> str:
    graph = torch.jit.script(program).graph.copy()
    torch._C._jit_pass_inline(graph)
    torch._C._jit_pass_constant_propagation(graph)
    torch._C._jit_pass_lower_all_tuples(graph)
    torch._C._jit_pass_peephole(graph)
    if shaped:
        tensors = tuple(torch.rand(2, 3).requires_grad_(required) for required in requires)
        torch._C._jit_pass_complete_shape_analysis(graph, tensors, True)
    torch._C._jit_pass_dce(graph)
    # Shape analysis knows of some tensors where they are and nothing else, which has no text that can be read back.
    return text(graph).replace('Tensor(device=cpu)', 'Tensor')


def case(name: str, ir: str) -> dict:
    gradient = torch._C._jit_differentiate(torch._C.parse_ir(ir))
    return {
        'name': name,
        'ir': ir,
        'f': text(gradient.f),
        'df': text(gradient.df),
        'fRealOutputs': gradient.f_real_outputs,
        'dfInputVjps': gradient.df_input_vjps,
        'dfInputCapturedInputs': gradient.df_input_captured_inputs,
        'dfInputCapturedOutputs': gradient.df_input_captured_outputs,
        'dfOutputVjps': gradient.df_output_vjps,
    }


for path in sorted(Path(sys.argv[1]).glob('*.py')):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases = [case(name, ir) for name, ir in getattr(module, 'GRAPHS', {}).items()]
    for program, requires in getattr(module, 'CASES', []):
        name = program.__name__.replace('_', ' ')
        known = ''.join('x' if required else '-' for required in requires)
        cases.append(case(f'{name} {known}', of_program(program, requires, shaped=True)))
        if all(requires):
            cases.append(case(f'{name}, nothing known', of_program(program, requires, shaped=False)))
    golden = {'torch': torch.__version__.split('+')[0], 'cases': cases}
    path.with_suffix('.json').write_text(json.dumps(golden, indent=1) + '\n')
    print(path.stem, len(cases))
