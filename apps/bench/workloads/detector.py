"""A detector of however many boxes an image has: scores and boxes of every place of a grid, those above a threshold, and of these each weaker by how much a better
one covers it (matrix NMS, which has no loop)."""

from typing import Final, Tuple

import torch
from torch import Tensor, nn

from made import Made

WIDTH = 48
CELL = 8


class Detector(nn.Module):
    cell: Final[int] = CELL

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 24, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(24, WIDTH, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, 1, 1),
            nn.ReLU(),
        )
        self.score = nn.Conv2d(WIDTH, 1, 1)
        self.size = nn.Conv2d(WIDTH, 4, 1)
        # Random weights say little by themselves: so that the threshold cuts where images differ.
        with torch.no_grad():
            self.score.weight.mul_(60.0)
            self.score.bias.fill_(-0.5)

    def forward(self, image: Tensor) -> Tuple[Tensor, Tensor]:
        """Boxes, the best one first, and their scores."""
        x = self.body(image)
        scores = self.score(x).flatten().sigmoid()
        sizes = self.size(x).flatten(2).squeeze(0).t().exp() * self.cell
        down = torch.arange(x.size(2), device=x.device).float() * self.cell
        across = torch.arange(x.size(3), device=x.device).float() * self.cell
        centres = torch.stack((across.unsqueeze(0).expand(x.size(2), -1).flatten(), down.unsqueeze(1).expand(-1, x.size(3)).flatten()), 1)
        boxes = torch.cat((centres - sizes[:, :2], centres + sizes[:, 2:]), 1)
        found = torch.nonzero(scores > 0.5).squeeze(1)
        scores, order = scores[found].sort(descending=True)
        boxes = boxes[found][order]
        return boxes, scores * self.left(boxes)

    def left(self, boxes: Tensor) -> Tensor:
        """The part of each score that better boxes leave."""
        areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        first = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
        last = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
        shared = (last - first).clamp(min=0.0).prod(2)
        covered = (shared / (areas[:, None] + areas[None, :] - shared)).triu(1)
        most = covered.amax(0)
        return ((1.0 - covered) / (1.0 - most).unsqueeze(1).clamp(min=1e-3)).amin(0).clamp(max=1.0)


def make() -> Made:
    detector = Detector()
    # An image that has some: what is traced without boxes is traced wrong.
    image = 3 * torch.linspace(-9000, 9000, 3 * 128 * 128).sin().view(1, 3, 128, 128)
    return Made(detector, detector, (image,), ["image"], ["boxes", "scores"], {"boxes": {0: "found"}, "scores": {0: "found"}})
