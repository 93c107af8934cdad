"""A listener to speech as it comes, in chunks of any length: a convolution that keeps the end of the chunk before, and an LSTM that keeps its state."""

from typing import Tuple

import torch
from torch import Tensor, nn

from made import Made

BANDS = 80
HIDDEN = 192
LAYERS = 2
# Frames that the convolution looks back.
CONTEXT = 4


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(BANDS, HIDDEN, CONTEXT + 1)
        self.lstm = nn.LSTM(HIDDEN, HIDDEN, LAYERS, batch_first=True)
        self.head = nn.Linear(HIDDEN, 32)
        self.register_buffer("context", torch.zeros(1, BANDS, CONTEXT))
        self.register_buffer("hidden", torch.zeros(LAYERS, 1, HIDDEN))
        self.register_buffer("cell", torch.zeros(LAYERS, 1, HIDDEN))

    def step(self, chunk: Tensor, context: Tensor, hidden: Tensor, cell: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        heard = torch.cat((context, chunk), 2)
        x = torch.relu(self.conv(heard)).transpose(1, 2)
        x, (hidden, cell) = self.lstm(x, (hidden, cell))
        return self.head(x).log_softmax(-1), heard[:, :, -context.size(2) :], hidden, cell

    def forward(self, chunk: Tensor) -> Tensor:
        """Logarithms of the probabilities of each letter in each frame, behind what was heard before."""
        letters, self.context, self.hidden, self.cell = self.step(chunk, self.context, self.hidden, self.cell)
        return letters

    @torch.jit.export
    def begin(self) -> None:
        """Forgets what was heard."""
        self.context = torch.zeros_like(self.context)
        self.hidden = torch.zeros_like(self.hidden)
        self.cell = torch.zeros_like(self.cell)


class Stateless(nn.Module):
    """The listener with its state going in and out, which is how graphs of ONNX have it."""

    def __init__(self, listener: Listener):
        super().__init__()
        self.listener = listener

    def forward(self, chunk, context, hidden, cell):
        return self.listener.step(chunk, context, hidden, cell)


def make() -> Made:
    listener = Listener()
    example = (torch.zeros(1, BANDS, 9), listener.context, listener.hidden, listener.cell)
    state = ["context", "hidden", "cell"]
    open_sizes = {"chunk": {2: "frames"}, "letters": {1: "frames"}}
    return Made(listener, Stateless(listener), example, ["chunk", *state], ["letters", *(f"{name}_out" for name in state)], open_sizes)
