"""Writes packages/archive/fixtures/quantized-layers.pt, which PyTorch has to write: python scripts/make-quantized-fixture.py

The module computes with quantised layers of every kind, and holds what PyTorch got for its input.
"""
import io
import zipfile
from pathlib import Path
from typing import List, Tuple

import torch
import torch.ao.nn.quantized as nnq
import torch.ao.nn.quantized.dynamic as nnqd
from torch import Tensor, nn

torch.manual_seed(0)


def weight(*sizes: int) -> Tensor:
    return torch.quantize_per_tensor(torch.randn(sizes) * 0.3, 0.01, 0, torch.qint8)


def weight_per_channel(*sizes: int) -> Tensor:
    scales = torch.linspace(0.005, 0.01, sizes[0]).double()
    return torch.quantize_per_channel(torch.randn(sizes) * 0.3, scales, torch.zeros(sizes[0]).long(), 0, torch.qint8)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        ops = torch.ops.quantized
        self.conv1d = ops.conv1d_prepack(weight_per_channel(4, 8, 3), torch.randn(4), [2], [1], [1], 1)
        self.conv2d = ops.conv2d_prepack(weight_per_channel(8, 2, 3, 3), torch.randn(8), [1, 1], [1, 1], [1, 1], 4)
        # More than 100 groups are computed by another library.
        self.depthwise = ops.conv2d_prepack(weight_per_channel(104, 1, 3, 3), torch.randn(104), [2, 2], [1, 1], [1, 1], 104)
        self.conv3d = ops.conv3d_prepack(weight(4, 2, 2, 2, 2), None, [1, 1, 1], [0, 1, 0], [1, 1, 1], 1)
        self.transposed = ops.conv_transpose2d_prepack(weight(8, 3, 3, 3), torch.randn(6), [2, 2], [1, 1], [1, 1], [1, 1], 2)
        self.linear = ops.linear_prepack(weight(6, 8), torch.randn(6))
        self.half = ops.linear_prepack_fp16(torch.randn(5, 6), torch.randn(5))
        self.lstm = nnqd.LSTM(6, 4, bidirectional=True)
        self.gru = nnqd.GRU(6, 4, dtype=torch.float16)
        self.cell = nnqd.GRUCell(6, 4)
        self.embedding = nnq.Embedding(10, 5)
        self.bag = nnq.EmbeddingBag(10, 8, mode="sum")
        self.expected: List[Tensor] = [torch.empty(0)]

    def forward(self, x: Tensor) -> List[Tensor]:
        ops = torch.ops.quantized
        q = torch.quantize_per_tensor(x, 0.02, 117, torch.quint8)
        conv1d = ops.conv1d_relu(q[:, :, 0], self.conv1d, 0.05, 7)
        conv2d = ops.conv2d(q, self.conv2d, 0.05, 99)
        # Within 7 bits: products of 8 bits overflow in that library.
        narrow = torch.quantize_per_tensor(x, 0.04, 60, torch.quint8)
        depthwise = ops.conv2d_relu(narrow.repeat(1, 13, 1, 1), self.depthwise, 0.03, 11)
        conv3d = ops.conv3d(q.view(1, 2, 4, 5, 6), self.conv3d, 0.03, 40)
        transposed = ops.conv_transpose2d(q, self.transposed, 0.1, 128)
        linear = ops.linear_relu(q.permute(0, 2, 3, 1).contiguous(), self.linear, 0.04, 3)
        numbers = linear.dequantize()[0]
        half = ops.linear_dynamic_fp16(numbers, self.half)
        lstm, (hidden, cell) = self.lstm(numbers)
        gru, last = self.gru(numbers)
        step = self.cell(numbers[0])
        rows = self.embedding(torch.tensor([[1, 7], [0, 9]]))
        bags = self.bag(torch.tensor([1, 7, 0, 9]), torch.tensor([0, 3]))
        normed = ops.batch_norm2d(conv2d, torch.ones(8), torch.zeros(8), torch.ones(8), torch.ones(8), 1e-5, 0.05, 90)
        joined = ops.cat([conv2d, ops.add(normed, conv2d, 0.1, 120), ops.mul_scalar(normed, -0.5)], 1, 0.06, 77)
        pooled = torch.nn.functional.avg_pool2d(joined, 2)
        active = ops.elu(ops.hardswish(pooled, 0.04, 10), 0.03, 9, 1.0)
        quantised = [conv1d, conv2d, depthwise, conv3d, transposed, linear, normed, joined, pooled, active]
        results = [each.int_repr().contiguous() for each in quantised]
        results.extend([half, lstm, hidden, cell, gru, last, step, rows, bags])
        return results

    @torch.jit.export
    def pair(self, x: Tensor) -> Tuple[List[Tensor], List[Tensor]]:
        return self.forward(x), self.expected


layers = Layers()
packed = torch.quantize_per_channel(
    torch.randn(10, 5), torch.linspace(0.01, 0.02, 10), torch.linspace(100, 140, 10), 0, torch.quint8
)
layers.embedding.set_weight(packed)
x = torch.arange(240.0).reshape(1, 8, 5, 6).sin() * 2
layers.expected = layers(x)

buffer = io.BytesIO()
torch.jit.save(torch.jit.script(layers), buffer)
target = Path(__file__).parent.parent / "packages" / "archive" / "fixtures" / "quantized-layers.pt"
with zipfile.ZipFile(buffer) as whole, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
    for entry in whole.infolist():
        # Tables of source ranges name this machine's folders.
        if not entry.filename.endswith(".debug_pkl"):
            file.writestr(zipfile.ZipInfo(entry.filename), whole.read(entry), zipfile.ZIP_DEFLATED)
