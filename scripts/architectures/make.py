"""
Makes TorchScript files of many architectures with random weights, and the answers of PyTorch to compare with:

    python scripts/architectures/make.py OUT [LIBRARY ...] [--only TEXT]

A library is one of the modules named in `libraries`. OUT/LIBRARY becomes a corpus of the conformance runner. What PyTorch itself cannot
script, trace, freeze, save or load again is no case: OUT/LIBRARY/refused.json says why.
"""
import argparse
import importlib
import json
import os
import shutil
import warnings
from pathlib import Path
from typing import Callable

import torch
from torch.nn.modules.lazy import LazyModuleMixin

from architecture import Architecture, settle_statistics
from corpus import Corpus, largest_magnitude

libraries = ("torchvision", "timm", "torchaudio", "transformers", "torch_nn")
relative_tolerance = 1e-3
# Of the largest number in an answer. What untrained networks make of rounding is more than trained ones': PyTorch's own float32 lies
# up to half of this from its float64.
absolute_tolerance = 3e-4


def first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {(str(error).strip() or '?').splitlines()[0]}"[:300]


def in_form(form: str, module: torch.nn.Module, inputs: "tuple[object, ...]"):
    if form in ("traced", "frozen_trace"):
        program = torch.jit.trace(module, inputs, check_trace=False, strict=False)
    else:
        program = torch.jit.script(module)
    return torch.jit.freeze(program) if form in ("frozen", "frozen_trace") else program


def in_child(work: Callable[[], "str | None"]) -> "str | None":
    """
    Runs `work` in a process of its own and gives what it returns. What PyTorch compiles stays in a process under its name, and what it
    could not compile would refuse the next of its class.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.write(writing, (work() or "").encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        text = answer.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return text or None if status == 0 else "PyTorch ends in a crash"


def add_case(
    folder: Path, library: str, name: str, form: str, module: torch.nn.Module, inputs: "tuple[object, ...]"
) -> "str | None":
    """Adds a module in one form to the corpus; returns why PyTorch can't save it so, if it can't."""
    corpus = Corpus(folder)
    file = folder / f"{name}.{form}.pt"
    try:
        with torch.no_grad():
            in_form(form, module, inputs).save(str(file))
            output = torch.jit.load(str(file), map_location="cpu")(*inputs)
        tolerance = absolute_tolerance * max(largest_magnitude(output), 1e-2)
        corpus.add(f"{library}/{form}", f"{name}.{form}", file.name, inputs, output, relative_tolerance, tolerance)
    except Exception as error:
        file.unlink(missing_ok=True)
        return first_line(error)
    finally:
        corpus.close()
    return None


def add_cases(folder: Path, library: str, architecture: Architecture) -> "dict[str, str]":
    """Adds a case for every form in which PyTorch can save the architecture; returns the others with the reasons."""
    torch.manual_seed(0)
    try:
        module = architecture.build().eval()
        inputs = architecture.inputs()
        if any(isinstance(part, LazyModuleMixin) for part in module.modules()):
            module(*inputs)
        if architecture.settle:
            settle_statistics(module, inputs)
    except Exception as error:
        return {form: f"not made: {first_line(error)}" for form in architecture.forms}
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    reasons = {
        form: in_child(lambda: add_case(folder, library, architecture.name, form, module, inputs))
        for form in architecture.forms
    }
    return {form: reason for form, reason in reasons.items() if reason is not None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("library", nargs="*", default=libraries)
    parser.add_argument("--only", help="architectures whose name contains this text")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    for library in options.library:
        try:
            architectures = importlib.import_module(f"{library}_architectures").architectures()
        except ImportError as error:
            print(f"{library}: left out, {error}")
            continue
        folder = options.out / library
        shutil.rmtree(folder, ignore_errors=True)
        refused = {}
        for architecture in architectures:
            if options.only is not None and options.only not in architecture.name:
                continue
            reasons = add_cases(folder, library, architecture)
            if reasons:
                refused[architecture.name] = reasons
            print(f"{library}/{architecture.name}: {', '.join(reasons) + ' refused' if reasons else 'made'}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "refused.json").write_text(json.dumps(refused, indent=1), encoding="utf8")


if __name__ == "__main__":
    main()
