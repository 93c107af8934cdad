"""The playground's bundled model: says which digit is drawn.

It is scripted, not traced: the drawing is found, cut out and centred inside the model by loops and branches that look at
the picture, so a page hands over what was drawn and nothing else.
"""

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Centring(nn.Module):
    """Cuts the ink out of a picture, scales it to 20 pixels and puts its centre of mass in the middle of 28 × 28.

    Digits of any size, anywhere in the picture, look the same to the network afterwards.
    """

    side: Final[int]
    """Height and width of what the network sees, in pixels."""
    box: Final[int]
    """The longer side of the digit inside that picture."""
    threshold: float
    """What is fainter than this is paper."""

    def __init__(self, side: int = 28, box: int = 20, threshold: float = 0.15):
        super().__init__()
        self.side = side
        self.box = box
        self.threshold = threshold

    def inked_span(self, profile: Tensor) -> tuple[int, int]:
        """The first index with ink and the one after the last; the same index twice where there is none."""
        start = 0
        end = profile.size(0)
        while start < end and bool(profile[start] <= self.threshold):
            start += 1
        while end > start and bool(profile[end - 1] <= self.threshold):
            end -= 1
        return start, end

    def margin(self, profile: Tensor) -> int:
        """How many pixels go before the profile to bring its centre of mass to the middle."""
        length = profile.size(0)
        position = torch.arange(length, dtype=profile.dtype, device=profile.device) + 0.5
        centre = (profile * position).sum() / profile.sum()
        return max(0, min(self.side - length, int(self.side / 2 - centre + 0.5)))

    def forward(self, picture: Tensor) -> Tensor:
        if picture.size(0) != self.side or picture.size(1) != self.side:
            picture = F.adaptive_avg_pool2d(picture[None, None], [self.side, self.side])[0, 0]
        top, bottom = self.inked_span(picture.amax(1))
        left, right = self.inked_span(picture.amax(0))
        if top == bottom or left == right:
            raise ValueError("the picture is empty: ink is 1, paper is 0")
        ink = picture[top:bottom, left:right]
        scale = self.box / max(bottom - top, right - left)
        height = max(1, int((bottom - top) * scale + 0.5))
        width = max(1, int((right - left) * scale + 0.5))
        ink = F.interpolate(ink[None, None], [height, width], mode="bilinear", align_corners=False)[0, 0]
        ink = ink / ink.amax()
        above = self.margin(ink.sum(1))
        before = self.margin(ink.sum(0))
        return F.pad(ink, [before, self.side - width - before, above, self.side - height - above])


class Residual(nn.Module):
    """Two convolutions around which the input is carried and added again."""

    def __init__(self, channels: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        y = F.silu(self.norm1(self.conv1(x)))
        return F.silu(x + self.norm2(self.conv2(y)))


class DigitClassifier(nn.Module):
    """Pictures [N, 1, H, W], ink 1 on paper 0, to the probabilities of the ten digits [N, 10]."""

    def __init__(self, width: int = 24):
        super().__init__()
        self.centring = Centring()
        self.stem = nn.Sequential(
            nn.Conv2d(1, width, 5, stride=2, padding=2, bias=False), nn.BatchNorm2d(width), nn.SiLU()
        )
        self.fine = Residual(width)
        self.shrink = nn.Sequential(
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.SiLU()
        )
        self.coarse = Residual(2 * width)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(2 * width, 10)

    @torch.jit.export
    def centred(self, pictures: Tensor) -> Tensor:
        """What the network sees of each picture, [N, 1, 28, 28]."""
        if pictures.dim() != 4 or pictures.size(1) != 1:
            raise ValueError(f"expected pictures of shape [N, 1, H, W], got {pictures.size()}")
        seen: list[Tensor] = []
        for i in range(pictures.size(0)):
            seen.append(self.centring(pictures[i, 0]))
        return torch.stack(seen).unsqueeze(1)

    def logits(self, seen: Tensor) -> Tensor:
        """Scores of the ten digits for centred pictures, [N, 10]."""
        x = (seen - 0.13) / 0.31
        x = self.fine(self.stem(x))
        x = self.coarse(self.shrink(x))
        return self.head(self.dropout(x.mean(dim=[2, 3])))

    def forward(self, pictures: Tensor) -> Tensor:
        return torch.softmax(self.logits(self.centred(pictures)), dim=1)
