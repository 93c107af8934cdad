# make: ReefMemory(vocab=10)
# make: ReefMemory(vocab=10, slots=3, width=6, gated=False)
# call: forward(whole(2, 6, below=10))
# call: step(whole(2, below=10), numbers(2, 4, 6))
"""Reads with a memory of slots that is written at each step."""
from typing import Final, List, Tuple

import torch
from torch import nn, Tensor


class GateMixin:
    """Mixes old and new by a learned gate; classes that have it say how wide they are."""

    def make_gate(self, width: int) -> nn.Module:
        gate = nn.Linear(2 * width, width)
        nn.init.constant_(gate.bias, self.gate_bias)
        return gate

    def mixed(self, old: Tensor, new: Tensor) -> Tensor:
        share = torch.sigmoid(self.gate(torch.cat([old, new], dim=-1)))
        return share * new + (1 - share) * old


class Writer(GateMixin, nn.Module):
    gate_bias = -1.0
    gated: Final[bool]

    def __init__(self, width: int, gated: bool) -> None:
        super().__init__()
        self.gated = gated
        self.gate = self.make_gate(width)
        self.ask, self.say = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, memory: Tensor, x: Tensor) -> Tuple[Tensor, Tensor]:
        near = torch.matmul(memory, self.ask(x).unsqueeze(-1)).squeeze(-1)
        look = near.softmax(dim=-1)
        read = (look.unsqueeze(-1) * memory).sum(dim=1)
        new = self.say(x + read).unsqueeze(1).expand_as(memory) * look.unsqueeze(-1)
        if self.gated:
            memory = self.mixed(memory, new)
        else:
            memory = memory + new
        return memory, read


class ReefMemory(nn.Module):
    def __init__(self, vocab: int, slots: int = 4, width: int = 6, layers: int = 2, gated: bool = True) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.start = nn.Parameter(torch.stack([torch.full((width,), 0.1 * i) for i in range(slots)]))
        self.cell = nn.GRUCell(width * 2, width)
        self.writers = nn.ModuleList(Writer(width, gated and i % 2 == 0) for i in range(layers))
        self.out = nn.Linear(width, vocab)

    @torch.jit.export
    def step(self, ids: Tensor, memory: Tensor) -> Tuple[Tensor, Tensor]:
        x = self.embed(ids)
        for writer in self.writers:
            memory, read = writer(memory, x)
            x = self.cell(torch.cat([x, read], -1), x)
        return x, memory

    def forward(self, ids: Tensor) -> Tensor:
        memory = self.start.unsqueeze(0).repeat(ids.size(0), 1, 1)
        outputs: List[Tensor] = []
        for at in range(ids.size(1)):
            x, memory = self.step(ids[:, at], memory)
            outputs.append(self.out(x))
        return torch.stack(outputs, dim=1)
