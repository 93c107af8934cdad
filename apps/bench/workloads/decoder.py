"""A small decoder as those of the Llama family are written: rotary positions, RMS norm, a gate of SiLU, fewer heads of keys than of queries."""

from typing import Final, List, Tuple

import torch
from torch import Tensor, nn

from made import Made, named

LAYERS = 8
HIDDEN = 512
HEADS = 8
KEY_HEADS = 4
WIDTH = HIDDEN // HEADS
GATED = 1024
VOCABULARY = 2048

Past = Tuple[Tensor, Tensor]


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.size(-1) // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class Attention(nn.Module):
    heads: Final[int] = HEADS
    key_heads: Final[int] = KEY_HEADS
    width: Final[int] = WIDTH

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(HIDDEN, HEADS * WIDTH, bias=False)
        self.key = nn.Linear(HIDDEN, KEY_HEADS * WIDTH, bias=False)
        self.value = nn.Linear(HIDDEN, KEY_HEADS * WIDTH, bias=False)
        self.out = nn.Linear(HEADS * WIDTH, HIDDEN, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, past: Past, kept: int) -> Tuple[Tensor, Past]:
        batch, tokens = x.size(0), x.size(1)
        query = rotated(self.query(x).view(batch, tokens, self.heads, self.width).transpose(1, 2), cos, sin)
        key = rotated(self.key(x).view(batch, tokens, self.key_heads, self.width).transpose(1, 2), cos, sin)
        value = self.value(x).view(batch, tokens, self.key_heads, self.width).transpose(1, 2)
        key = torch.cat((past[0][:, :, :kept], key), 2)
        value = torch.cat((past[1][:, :, :kept], value), 2)
        keys = key.repeat_interleave(self.heads // self.key_heads, 1)
        values = value.repeat_interleave(self.heads // self.key_heads, 1)
        y = nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(batch, tokens, self.heads * self.width)), (key, value)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = RmsNorm()
        self.attention = Attention()
        self.norm2 = RmsNorm()
        self.gate = nn.Linear(HIDDEN, GATED, bias=False)
        self.up = nn.Linear(HIDDEN, GATED, bias=False)
        self.down = nn.Linear(GATED, HIDDEN, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, past: Past, kept: int) -> Tuple[Tensor, Past]:
        y, present = self.attention(self.norm1(x), cos, sin, mask, past, kept)
        x = x + y
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y)), present


class Decoder(nn.Module):
    key_heads: Final[int] = KEY_HEADS
    width: Final[int] = WIDTH
    past: List[Tuple[Tensor, Tensor]]

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = RmsNorm()
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)
        self.register_buffer("frequencies", 10000.0 ** (-torch.arange(0, WIDTH, 2).float() / WIDTH))
        self.past = []

    def forward(self, ids: Tensor, mask: Tensor, past: List[Tuple[Tensor, Tensor]]) -> Tuple[Tensor, List[Tuple[Tensor, Tensor]]]:
        """Scores of all tokens given. The mask has a column for each token that counts, those of the cache first: what the cache has beyond them was
        guessed, and is forgotten; zeros are margins on the left of shorter sentences."""
        total = mask.size(1)
        kept = total - ids.size(1)
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, kept:]
        angles = positions.unsqueeze(-1).float() * self.frequencies
        angles = torch.cat((angles, angles), -1).unsqueeze(1)
        columns = torch.arange(total, device=ids.device)
        seen = (columns <= columns[kept:].unsqueeze(1)) & (mask[:, None, None, :] > 0)
        bias = torch.zeros(seen.shape, device=ids.device).masked_fill(seen.logical_not(), -1e9)
        x = self.embedding(ids)
        presents: List[Tuple[Tensor, Tensor]] = []
        for at, layer in enumerate(self.layers):
            x, present = layer(x, angles.cos(), angles.sin(), bias, past[at], kept)
            presents.append(present)
        return self.head(self.norm(x)), presents

    def nothing(self, batch: int) -> List[Tuple[Tensor, Tensor]]:
        past: List[Tuple[Tensor, Tensor]] = []
        for _ in range(len(self.layers)):
            past.append((torch.zeros(batch, self.key_heads, 0, self.width), torch.zeros(batch, self.key_heads, 0, self.width)))
        return past

    @torch.jit.export
    def begin(self, ids: Tensor) -> Tensor:
        """Forgets what was said before."""
        self.past = self.nothing(ids.size(0))
        return self.go_on(ids)

    @torch.jit.export
    def go_on(self, ids: Tensor) -> Tensor:
        """Scores of the tokens given, behind those that the module keeps."""
        total = self.past[0][0].size(2) + ids.size(1)
        scores, past = self.forward(ids, torch.ones(ids.size(0), total, dtype=torch.int64), self.past)
        self.past = past
        return scores

    @torch.jit.export
    def generate(self, ids: Tensor, tokens: int) -> Tensor:
        """The likeliest tokens, one after the other."""
        past = self.nothing(ids.size(0))
        mask = torch.ones(ids.size(0), ids.size(1), dtype=torch.int64)
        given = ids
        found: List[Tensor] = []
        for _ in range(tokens):
            scores, past = self.forward(given, mask, past)
            given = scores[:, -1:].argmax(-1)
            mask = torch.cat((mask, torch.ones(ids.size(0), 1, dtype=torch.int64)), 1)
            found.append(given)
        return torch.cat(found, 1)


class Flat(nn.Module):
    """The decoder with its cache as tensors in line, which is how graphs of ONNX have it."""

    def __init__(self, decoder: Decoder):
        super().__init__()
        self.decoder = decoder

    def forward(self, ids, mask, *past):
        scores, presents = self.decoder(ids, mask, list(zip(past[::2], past[1::2])))
        return (scores, *(each for pair in presents for each in pair))


def make() -> Made:
    decoder = Decoder()
    past = [torch.zeros(1, KEY_HEADS, 3, WIDTH) for _ in range(2 * LAYERS)]
    open_sizes = {"ids": {0: "batch", 1: "tokens"}, "mask": {0: "batch", 1: "total"}}
    for at in range(2 * LAYERS):
        open_sizes[f"past{at}"] = {0: "batch", 2: "kept"}
        open_sizes[f"present{at}"] = {0: "batch", 2: "total"}
    return Made(
        decoder,
        Flat(decoder),
        (torch.zeros(1, 2, dtype=torch.int64), torch.ones(1, 5, dtype=torch.int64), *past),
        ["ids", "mask", *named("past", 2 * LAYERS)],
        ["scores", *named("present", 2 * LAYERS)],
        {**open_sizes, "scores": {0: "batch", 1: "tokens"}},
    )
