# make: TileVision(image=8, patch=4, width=8)
# make: create_model('tile_vision_pool', image=8, patch=2)
# call: forward(numbers(2, 3, 8, 8))
# call: features(numbers(1, 3, 8, 8))
"""Sees pictures as rows of tiles; models are made by name."""
from itertools import repeat
from typing import Any, Callable, Dict, Optional, Tuple, Union

import torch
import torch.nn as nn
import torch.nn.functional as F

_entry_points: Dict[str, Callable[..., nn.Module]] = {}


def register_model(fn: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    _entry_points[fn.__name__] = fn
    return fn


def create_model(name: str, **kwargs: Any) -> nn.Module:
    if name not in _entry_points:
        raise RuntimeError(f'Unknown model ({name})')
    return _entry_points[name](**{k: v for k, v in kwargs.items() if v is not None})


def to_2tuple(x):
    return tuple(x) if isinstance(x, (list, tuple)) else tuple(repeat(x, 2))


class PatchEmbed(nn.Module):
    def __init__(self, image: int, patch: int, channels: int, width: int) -> None:
        super().__init__()
        self.image, self.patch = to_2tuple(image), to_2tuple(patch)
        self.grid = tuple(i // p for i, p in zip(self.image, self.patch))
        self.count = self.grid[0] * self.grid[1]
        self.proj = nn.Conv2d(channels, width, kernel_size=self.patch, stride=self.patch)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        torch._assert(h == self.image[0], 'the height is another')
        torch._assert(w == self.image[1], 'the width is another')
        return self.proj(x).flatten(2).transpose(1, 2)


class Mlp(nn.Module):
    def __init__(self, width: int, hidden: Optional[int] = None, act_layer: Callable[[], nn.Module] = nn.GELU, drop: float = 0.0) -> None:
        super().__init__()
        hidden = hidden or width
        self.fc1 = nn.Linear(width, hidden)
        self.act = act_layer()
        self.drop1 = nn.Dropout(drop)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(self.drop1(self.act(self.fc1(x))))


class Attention(nn.Module):
    fused: torch.jit.Final[bool]

    def __init__(self, width: int, heads: int = 2, qk_norm: bool = False, fused: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.fused = fused
        self.qkv = nn.Linear(width, width * 3)
        self.q_norm = nn.LayerNorm(width // heads) if qk_norm else nn.Identity()
        self.k_norm = nn.LayerNorm(width // heads) if qk_norm else nn.Identity()
        self.proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q, k = self.q_norm(q), self.k_norm(k)
        if self.fused:
            x = F.scaled_dot_product_attention(q, k, v)
        else:
            x = (q * self.scale @ k.transpose(-2, -1)).softmax(dim=-1) @ v
        return self.proj(x.transpose(1, 2).reshape(B, N, C))


class Block(nn.Module):
    def __init__(self, width: int, norm_layer: Callable[[int], nn.Module] = nn.LayerNorm, **attention: Any) -> None:
        super().__init__()
        self.norm1 = norm_layer(width)
        self.attn = Attention(width, **attention)
        self.norm2 = norm_layer(width)
        self.mlp = Mlp(width, width * 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class TileVision(nn.Module):
    def __init__(self, image: int = 8, patch: int = 4, width: int = 8, depth: int = 2, classes: int = 3, pool: str = 'token', **attention: Any) -> None:
        super().__init__()
        assert pool in ('token', 'avg')
        self.pool = pool
        self.patch_embed = PatchEmbed(image, patch, 3, width)
        self.token = nn.Parameter(torch.zeros(1, 1, width)) if pool == 'token' else None
        extra = 1 if pool == 'token' else 0
        self.pos = nn.Parameter(torch.randn(1, self.patch_embed.count + extra, width) * 0.02)
        self.blocks = nn.Sequential(*[Block(width, **attention) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes) if classes > 0 else nn.Identity()

    @torch.jit.ignore
    def no_weight_decay(self) -> set:
        return {'pos', 'token'}

    @torch.jit.export
    def features(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch_embed(x)
        if self.token is not None:
            x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1)
        return self.norm(self.blocks(x + self.pos))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.features(x)
        x = x[:, 0] if self.pool == 'token' else x.mean(dim=1)
        return self.head(x)


@register_model
def tile_vision_pool(**kwargs: Any) -> TileVision:
    return TileVision(**dict(dict(width=8, pool='avg', qk_norm=True, fused=False), **kwargs))
