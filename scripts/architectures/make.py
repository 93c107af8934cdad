"""
Makes TorchScript files of many architectures with random weights, and the answers of PyTorch to compare with:

    python scripts/architectures/make.py OUT [LIBRARY ...] [--only TEXT]

A library is one of the modules named in `libraries`. OUT/LIBRARY becomes a corpus of the conformance runner. What PyTorch itself cannot
script, trace, freeze, save or load again is no case: OUT/LIBRARY/refused.json says why.
"""
import argparse
import importlib
import json
import warnings
from pathlib import Path

import torch
from torch.nn.modules.lazy import LazyModuleMixin

from architecture import Architecture, settle_statistics
from corpus import Corpus, largest_magnitude

libraries = ("torchvision", "timm", "torchaudio", "transformers", "torch_nn")
relative_tolerance = 1e-3
# Of the largest number in an answer: networks of a hundred layers in float32 differ by this much between two orders of summation.
absolute_tolerance = 1e-4


def first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {(str(error).strip() or '?').splitlines()[0]}"[:300]


def in_form(form: str, module: torch.nn.Module, inputs: "tuple[object, ...]"):
    if form in ("traced", "frozen_trace"):
        program = torch.jit.trace(module, inputs, check_trace=False, strict=False)
    else:
        program = torch.jit.script(module)
    return torch.jit.freeze(program) if form in ("frozen", "frozen_trace") else program


def forget_classes() -> None:
    """What PyTorch could not compile stays half compiled under its name, and would refuse the next of its class."""
    torch.jit._state._clear_class_state()
    torch.jit._recursive.concrete_type_store = torch.jit._recursive.ConcreteTypeStore()


def add_cases(corpus: Corpus, library: str, architecture: Architecture) -> "dict[str, str]":
    """Adds a case for every form in which PyTorch can save the architecture; returns the others with the reasons."""
    refused = {}
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
    for form in architecture.forms:
        forget_classes()
        name = f"{architecture.name}.{form}"
        try:
            with torch.no_grad():
                saved = in_form(form, module, inputs)
                file = corpus.folder / f"{name}.pt"
                saved.save(str(file))
                output = torch.jit.load(str(file), map_location="cpu")(*inputs)
            size = largest_magnitude(output)
            tolerance = absolute_tolerance * max(size, 1e-2)
            corpus.add(f"{library}/{form}", name, file.name, inputs, output, relative_tolerance, tolerance)
        except Exception as error:
            (corpus.folder / f"{name}.pt").unlink(missing_ok=True)
            refused[form] = first_line(error)
    return refused


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
        corpus = Corpus(options.out / library)
        refused = {}
        for architecture in architectures:
            if options.only is not None and options.only not in architecture.name:
                continue
            reasons = add_cases(corpus, library, architecture)
            if reasons:
                refused[architecture.name] = reasons
            print(f"{library}/{architecture.name}: {', '.join(reasons) + ' refused' if reasons else 'made'}", flush=True)
        corpus.close()
        (corpus.folder / "refused.json").write_text(json.dumps(refused, indent=1), encoding="utf8")


if __name__ == "__main__":
    main()
