"""Writes the files of packages/archive/fixtures, which PyTorch has to write: python scripts/make-checkpoint-fixtures.py"""
import argparse
import collections
from pathlib import Path

import torch
from torch import nn

folder = Path(__file__).parent.parent / "packages" / "archive" / "fixtures"
folder.mkdir(exist_ok=True)

torch.manual_seed(0)
model = nn.Sequential(collections.OrderedDict(fc=nn.Linear(3, 2), norm=nn.BatchNorm1d(2)))
with torch.no_grad():
    model.fc.weight.copy_(torch.arange(6.0).reshape(2, 3) / 4)
    model.fc.bias.copy_(torch.tensor([-1.0, 2.0]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9)
model(torch.ones(4, 3)).sum().backward()
optimizer.step()
training = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "best": [0.5, torch.tensor(7)]}
torch.save(training, folder / "training.pth")
torch.save(training, folder / "training-legacy.pth", _use_new_zipfile_serialization=False)

values = torch.tensor([0.0, 1.0, 1.5, -2.0, 448.0])
dtypes = {
    "uint16": torch.tensor([0, 1, 65535], dtype=torch.uint16),
    "uint32": torch.tensor([0, 1, 4294967295], dtype=torch.uint32),
    "uint64": torch.tensor([0, 1, -1], dtype=torch.int64).view(torch.uint64),
    "float8_e4m3fn": values.to(torch.float8_e4m3fn),
    "float8_e5m2": values.to(torch.float8_e5m2),
    "float8_e4m3fnuz": (values / 2).to(torch.float8_e4m3fnuz),
    "float8_e5m2fnuz": (values / 2).to(torch.float8_e5m2fnuz),
    "complex32": torch.tensor([1 + 2j, -0.5j], dtype=torch.complex32),
    "complex64": torch.tensor([1 + 2j, -0.5j]),
    "bfloat16": values.to(torch.bfloat16),
    "bool": torch.tensor([True, False]),
    "qint8": torch.quantize_per_tensor(torch.tensor([-1.0, 0.0, 0.5, 1.0]), 0.25, 3, torch.qint8),
    "quint8": torch.quantize_per_channel(
        torch.tensor([[0.0, 1.0], [0.0, 4.0]]), torch.tensor([0.5, 2.0]), torch.tensor([10, 20]), 0, torch.quint8
    ),
    "qint32": torch.quantize_per_tensor(torch.tensor([-100.0, 100.0]), 0.5, 0, torch.qint32),
}
torch.save(dtypes, folder / "dtypes.pth")
torch.save(dtypes, folder / "dtypes-legacy.pth", _use_new_zipfile_serialization=False)
torch.save({"weight": torch.eye(3).to_sparse()}, folder / "sparse.pth")
torch.save(model, folder / "module.pth")

settings = {
    "args": argparse.Namespace(rate=0.1),
    "weight": torch.ones(2),
    "by_pair": {("a", 1): torch.ones(3)},
    "counts": collections.defaultdict(dict, x=torch.tensor(1)),
}
torch.save(settings, folder / "settings.pth")
