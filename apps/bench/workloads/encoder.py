"""An encoder of sentences as BERT is written: embeddings of words and places, layers of attention over what the mask says, scores of a few classes."""

from typing import Final

import torch
from torch import Tensor, nn

from made import Made

LAYERS = 4
HIDDEN = 256
HEADS = 4
INNER = 1024
VOCABULARY = 2048


class Layer(nn.Module):
    heads: Final[int] = HEADS
    width: Final[int] = HIDDEN // HEADS

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(HIDDEN, HIDDEN)
        self.key = nn.Linear(HIDDEN, HIDDEN)
        self.value = nn.Linear(HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN, HIDDEN)
        self.norm1 = nn.LayerNorm(HIDDEN)
        self.inner = nn.Linear(HIDDEN, INNER)
        self.outer = nn.Linear(INNER, HIDDEN)
        self.norm2 = nn.LayerNorm(HIDDEN)

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.heads, self.width).transpose(1, 2)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        y = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        x = self.norm1(x + self.out(y.transpose(1, 2).reshape(x.shape)))
        return self.norm2(x + self.outer(nn.functional.gelu(self.inner(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, HIDDEN)
        self.places = nn.Embedding(128, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(HIDDEN, 5)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Scores of the classes; the mask has zeros where a sentence is over."""
        places = torch.arange(ids.size(1), device=ids.device).unsqueeze(0)
        x = self.norm(self.words(ids) + self.places(places))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * -1e9
        for layer in self.layers:
            x = layer(x, bias)
        counted = mask.unsqueeze(-1).to(x.dtype)
        return self.head((x * counted).sum(1) / counted.sum(1))


def make() -> Made:
    encoder = Encoder()
    example = (torch.zeros(2, 7, dtype=torch.int64), torch.ones(2, 7, dtype=torch.int64))
    open_sizes = {name: {0: "batch", 1: "tokens"} for name in ("ids", "mask")}
    return Made(encoder, encoder, example, ["ids", "mask"], ["scores"], {**open_sizes, "scores": {0: "batch"}})
