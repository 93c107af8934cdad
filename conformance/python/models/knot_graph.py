# make: KnotGraph(3, 2)
# make: KnotGraph(3, 2, kind='attend', heads=2, jump=True)
# call: forward(numbers(5, 3), torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]]), torch.tensor([0, 0, 0, 1, 1]))
"""Learns of graphs: messages along edges, added up by node, and nodes added up by graph."""
import inspect
from typing import Dict, Optional, Type

import torch
from torch import nn, Tensor


def add_up(values: Tensor, index: Tensor, count: int) -> Tensor:
    out = torch.zeros([count, values.size(1)], dtype=values.dtype, device=values.device)
    return out.index_add(0, index, values)


class MessageLayer(nn.Module):
    """What all layers of messages share: subclasses say what is sent."""

    registry: Dict[str, Type['MessageLayer']] = {}

    def __init_subclass__(cls, kind: str = '', **kwargs):
        super().__init_subclass__(**kwargs)
        MessageLayer.registry[cls.kind] = cls

    kind = ''

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        raise NotImplementedError


class MeanLayer(MessageLayer):
    kind = 'mean'

    def __init__(self, inner: int, outer: int):
        super().__init__()
        self.own, self.sent = nn.Linear(inner, outer), nn.Linear(inner, outer, bias=False)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges[0], edges[1]
        total = add_up(x[source], target, x.size(0))
        count = add_up(torch.ones(source.size(0), 1), target, x.size(0))
        return self.own(x) + self.sent(total / count.clamp(min=1.0))


class AttendLayer(MessageLayer):
    kind = 'attend'

    def __init__(self, inner: int, outer: int, heads: int = 1):
        super().__init__()
        if outer % heads != 0:
            outer = heads * (outer // heads + 1)
        self.heads, self.each = heads, outer // heads
        self.lift = nn.Linear(inner, outer, bias=False)
        self.ask = nn.Parameter(torch.empty(heads, self.each))
        self.tell = nn.Parameter(torch.empty(heads, self.each))
        self.out_features = outer
        for p in (self.ask, self.tell):
            nn.init.xavier_uniform_(p)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.lift(x).view(-1, self.heads, self.each)
        source, target = edges[0], edges[1]
        near = (h * self.ask).sum(-1)[target] + (h * self.tell).sum(-1)[source]
        near = torch.nn.functional.leaky_relu(near, 0.2).exp()
        total = add_up(near, target, x.size(0))[target]
        sent = h[source] * (near / total).unsqueeze(-1)
        return add_up(sent.flatten(1), target, x.size(0))


class KnotGraph(nn.Module):
    def __init__(self, features: int, classes: int, width: int = 4, layers: int = 2, kind: str = 'mean', jump: bool = False, **options):
        super().__init__()
        make = MessageLayer.registry[kind]
        known = inspect.signature(make.__init__).parameters if False else options
        self.jump = jump
        self.lift = nn.Linear(features, width)
        self.layers = nn.ModuleList(make(width, width, **known) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.read = nn.Sequential(nn.Linear(width * (layers if jump else 1), width), nn.ReLU(), nn.Linear(width, classes))

    def forward(self, x: Tensor, edges: Tensor, graph: Optional[Tensor] = None) -> Tensor:
        if graph is None:
            graph = torch.zeros(x.size(0), dtype=torch.long)
        x = self.lift(x)
        seen = []
        for layer, norm in zip(self.layers, self.norms):
            x = x + torch.relu(layer(norm(x), edges))
            seen.append(x)
        x = torch.cat(seen, -1) if self.jump else x
        return self.read(add_up(x, graph, int(graph.max()) + 1))
