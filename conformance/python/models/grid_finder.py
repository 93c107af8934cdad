# make: GridFinder(classes=2)
# make: GridFinder(classes=2, strides=[4], share=False)
# call: forward(numbers(1, 3, 16, 16).mul(2))
"""Finds boxes on grids of two sizes, keeps the best and drops those that overlap."""
from collections import OrderedDict
from typing import Dict, List, Tuple

import torch
from torch import nn, Tensor


@torch.jit.script
def overlap(a: Tensor, b: Tensor) -> Tensor:
    low = torch.max(a[:, None, :2], b[None, :, :2])
    high = torch.min(a[:, None, 2:], b[None, :, 2:])
    inner = (high - low).clamp(min=0).prod(-1)
    area_a = (a[:, 2:] - a[:, :2]).prod(-1)
    area_b = (b[:, 2:] - b[:, :2]).prod(-1)
    return inner / (area_a[:, None] + area_b[None, :] - inner + 1e-6)


def drop_overlapping(boxes: Tensor, scores: Tensor, limit: float, most: int) -> Tensor:
    order = scores.argsort(descending=True)
    kept: List[int] = []
    alike = overlap(boxes, boxes)
    for i in range(order.numel()):
        candidate = int(order[i])
        free = True
        for other in kept:
            if float(alike[candidate, other]) > limit:
                free = False
                break
        if free:
            kept.append(candidate)
        if len(kept) == most:
            break
    return torch.tensor(kept, dtype=torch.long)


class Tower(nn.Sequential):
    def __init__(self, width: int, depth: int) -> None:
        layers = OrderedDict()
        for i in range(depth):
            layers[f'conv{i}'] = nn.Conv2d(width, width, 3, padding=1)
            layers[f'norm{i}'] = nn.GroupNorm(1, width)
            layers[f'act{i}'] = nn.ReLU()
        super().__init__(layers)


class Head(nn.Module):
    def __init__(self, width: int, classes: int, depth: int = 1) -> None:
        super().__init__()
        self.tower = Tower(width, depth)
        self.classes = nn.Conv2d(width, classes, 1)
        self.edges = nn.Conv2d(width, 4, 1)
        nn.init.constant_(self.classes.bias, -1.0)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        x = self.tower(x)
        return self.classes(x).sigmoid(), torch.nn.functional.softplus(self.edges(x))


class GridFinder(nn.Module):
    def __init__(self, classes: int, width: int = 4, strides: List[int] = [4, 8], share: bool = True) -> None:
        super().__init__()
        self.strides = list(strides)
        self.stem = nn.Sequential(nn.Conv2d(3, width, 4, stride=4), nn.SiLU())
        self.downs = nn.ModuleList(nn.Conv2d(width, width, 3, stride=2, padding=1) for _ in strides[1:])
        heads = [Head(width, classes)] * len(strides) if share else [Head(width, classes) for _ in strides]
        self.heads = nn.ModuleList(heads)

    def _centres(self, height: int, width: int, stride: int) -> Tensor:
        ys, xs = torch.meshgrid([torch.arange(height), torch.arange(width)], indexing='ij')
        return (torch.stack([xs, ys], -1).reshape(-1, 2).float() + 0.5) * stride

    def forward(self, x: Tensor) -> List[Dict[str, Tensor]]:
        maps = [self.stem(x)]
        for down in self.downs:
            maps.append(down(maps[-1]))
        boxes: List[Tensor] = []
        scores: List[Tensor] = []
        for i, head in enumerate(self.heads):
            stride = self.strides[i]
            classes, edges = head(maps[i])
            centres = self._centres(classes.size(2), classes.size(3), stride)
            edges = edges.flatten(2).transpose(1, 2) * stride
            boxes.append(torch.cat([centres - edges[..., :2], centres + edges[..., 2:]], -1))
            scores.append(classes.flatten(2).transpose(1, 2))
        all_boxes, all_scores = torch.cat(boxes, 1), torch.cat(scores, 1)
        results: List[Dict[str, Tensor]] = []
        for own_boxes, own_scores in zip(all_boxes, all_scores):
            best, labels = own_scores.max(-1)
            keep = drop_overlapping(own_boxes, best, 0.5, 3)
            results.append({'boxes': own_boxes[keep], 'scores': best[keep], 'labels': labels[keep]})
        return results
