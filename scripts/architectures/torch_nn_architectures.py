"""
Every module of torch.nn, with the arguments and inputs of PyTorch's own table of modules; those that the table lacks are listed here.
A module is taken once for every set of arguments that differs in more than batch or layout of the input.
"""
import torch
from torch import Tensor, nn
from torch.testing._internal.common_modules import module_db

from architecture import Architecture

examples_of_a_module = 6


class Lists(nn.Module):
    """Containers of modules and parameters, as far as TorchScript goes through them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)])
        self.named = nn.ModuleDict({"first": nn.Linear(4, 4), "second": nn.Tanh()})
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))])
        self.biases = nn.ParameterDict({"low": nn.Parameter(torch.randn(4)), "high": nn.Parameter(torch.randn(4))})

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        for name, layer in self.named.items():
            x = layer(x)
        for weight in self.weights:
            x = x * weight
        return x + self.biases["low"] - self.biases["high"]


class Unpooled(nn.Module):
    """An unpooling needs the positions that a pooling found."""

    def __init__(self, dimensions: int):
        super().__init__()
        self.pool = getattr(nn, f"MaxPool{dimensions}d")(2, return_indices=True)
        self.unpool = getattr(nn, f"MaxUnpool{dimensions}d")(2)

    def forward(self, x: Tensor) -> Tensor:
        pooled, positions = self.pool(x)
        return self.unpool(pooled, positions)


class Recurrent(nn.Module):
    """A recurrent module overloads `forward`, so it can be scripted only inside another."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, x: Tensor):
        return self.module(x)


class Continued(Recurrent):
    """The same with a state to go on from."""

    def forward(self, x: Tensor, state: Tensor):
        return self.module(x, state)


class ContinuedLong(Recurrent):
    def forward(self, x: Tensor, state: Tensor, cell: Tensor):
        return self.module(x, (state, cell))


def lazy(name: str, shape: "tuple[int, ...]") -> nn.Module:
    module = getattr(nn, name)(*((5,) if name == "LazyLinear" else ()))
    module(torch.randn(shape))
    return module


def randn(*shape: int):
    return lambda: (torch.randn(shape),)


def others():
    yield "Lists", Lists, randn(3, 4)
    yield "Sequential", lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)), randn(3, 4)
    yield "AdaptiveLogSoftmaxWithLoss", lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]), lambda: (
        torch.randn(6, 8),
        torch.tensor([0, 4, 5, 9, 10, 19]),
    )
    for name in ("AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"):
        yield name, lambda name=name: getattr(nn, name)(0.3), randn(2, 3, 4, 5) if name[-2:] in ("2d",) else randn(2, 3, 4)
    yield "ChannelShuffle", lambda: nn.ChannelShuffle(2), randn(2, 4, 3, 3)
    yield "CosineSimilarity", lambda: nn.CosineSimilarity(1), lambda: (torch.randn(4, 6), torch.randn(4, 6))
    yield "CrossMapLRN2d", lambda: nn.CrossMapLRN2d(3), randn(2, 5, 4, 4)
    for mode in ("sum", "mean", "max"):
        yield f"EmbeddingBag.{mode}", lambda mode=mode: nn.EmbeddingBag(10, 4, mode=mode), lambda: (
            torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]),
            torch.tensor([0, 4]),
        )
    yield "Flatten", nn.Flatten, randn(2, 3, 4)
    yield "Unflatten", lambda: nn.Unflatten(1, (2, 3)), randn(2, 6, 4)
    yield "Fold", lambda: nn.Fold((4, 5), (2, 2)), randn(1, 12, 12)
    yield "Unfold", lambda: nn.Unfold((2, 3), padding=1, stride=2), randn(1, 3, 6, 6)
    yield "Hardsigmoid", nn.Hardsigmoid, randn(3, 4)
    yield "Identity", nn.Identity, randn(3, 4)
    yield "LazyLinear", lambda: lazy("LazyLinear", (3, 7)), randn(3, 7)
    for name, shape in {"1d": (2, 3, 4), "2d": (2, 3, 4, 4), "3d": (2, 3, 4, 4, 4)}.items():
        yield f"LazyBatchNorm{name}", lambda name=name, shape=shape: lazy(f"LazyBatchNorm{name}", shape), randn(*shape)
        yield f"LazyInstanceNorm{name}", lambda name=name, shape=shape: lazy(f"LazyInstanceNorm{name}", shape), randn(*shape)
    for dimensions in (1, 2, 3):
        yield f"MaxUnpool{dimensions}d", lambda dimensions=dimensions: Unpooled(dimensions), randn(1, 2, *([6] * dimensions))
    for name, pads in {"1d": 1, "2d": 2, "3d": 3}.items():
        yield f"ConstantPad{name}", lambda name=name, pads=pads: getattr(nn, f"ConstantPad{name}")((1, 2) * pads, 2.5), randn(2, 3, 4, 5)
    yield "FractionalMaxPool2d", lambda: nn.FractionalMaxPool2d(3, (3, 4), _random_samples=torch.rand(2, 3, 2)), randn(2, 3, 8, 9)
    yield "FractionalMaxPool3d", lambda: nn.FractionalMaxPool3d(2, (3, 3, 2), _random_samples=torch.rand(2, 3, 3)), randn(2, 3, 6, 7, 5)
    yield "FractionalMaxPool2d.ratio", lambda: nn.FractionalMaxPool2d(2, output_ratio=0.6, return_indices=True, _random_samples=torch.rand(2, 3, 2)), randn(2, 3, 8, 9)
    for kind in ("RNN", "GRU", "LSTM"):
        make = getattr(nn, kind)
        yield f"{kind}.plain", lambda make=make: Recurrent(make(5, 6)), randn(7, 2, 5)
        yield f"{kind}.layers", lambda make=make: Recurrent(make(5, 6, num_layers=2, batch_first=True, bidirectional=True)), randn(2, 7, 5)
        yield f"{kind}.unbatched", lambda make=make: Recurrent(make(5, 6, bias=False)), randn(7, 5)
    yield "RNN.relu", lambda: Recurrent(nn.RNN(5, 6, nonlinearity="relu")), randn(7, 2, 5)
    yield "LSTM.projected", lambda: Recurrent(nn.LSTM(5, 6, proj_size=3)), randn(7, 2, 5)
    yield "GRU.continued", lambda: Continued(nn.GRU(5, 6)), lambda: (torch.randn(7, 2, 5), torch.randn(1, 2, 6))
    yield "LSTM.continued", lambda: ContinuedLong(nn.LSTM(5, 6)), lambda: (
        torch.randn(7, 2, 5),
        torch.randn(1, 2, 6),
        torch.randn(1, 2, 6),
    )
    yield "NLLLoss2d", nn.NLLLoss2d, lambda: (torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4)))
    yield "PairwiseDistance", lambda: nn.PairwiseDistance(3.0), lambda: (torch.randn(4, 6), torch.randn(4, 6))
    yield "PixelShuffle", lambda: nn.PixelShuffle(2), randn(1, 8, 3, 3)
    yield "PixelUnshuffle", lambda: nn.PixelUnshuffle(2), randn(1, 2, 6, 6)
    yield "RReLU", nn.RReLU, randn(3, 4)
    yield "SyncBatchNorm", lambda: nn.SyncBatchNorm(3), randn(2, 3, 4, 4)
    yield "TransformerDecoder", lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32), 2), lambda: (
        torch.randn(5, 2, 16),
        torch.randn(7, 2, 16),
    )
    yield "TransformerEncoder.batch_first", lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2
    ), randn(2, 5, 16)
    yield "TripletMarginLoss", nn.TripletMarginLoss, lambda: (torch.randn(4, 6), torch.randn(4, 6), torch.randn(4, 6))
    yield "TripletMarginWithDistanceLoss", nn.TripletMarginWithDistanceLoss, lambda: (
        torch.randn(4, 6),
        torch.randn(4, 6),
        torch.randn(4, 6),
    )
    for mode in ("nearest", "bilinear", "bicubic"):
        yield f"Upsample.{mode}", lambda mode=mode: nn.Upsample(scale_factor=1.7, mode=mode), randn(1, 2, 5, 6)
    yield "UpsamplingNearest2d", lambda: nn.UpsamplingNearest2d(scale_factor=2), randn(1, 2, 5, 6)
    yield "UpsamplingBilinear2d", lambda: nn.UpsamplingBilinear2d(scale_factor=2), randn(1, 2, 5, 6)


def as_input(value: object) -> object:
    """Lengths are tuples in the table, and tensors for TorchScript."""
    if isinstance(value, Tensor):
        return value.detach()
    return torch.tensor(value) if isinstance(value, tuple) and all(isinstance(each, int) for each in value) else value


def from_table():
    for entry in module_db:
        name = entry.module_cls.__name__
        torch.manual_seed(1)
        try:
            examples = entry.module_inputs_func(entry, "cpu", torch.float32, False, False)
        except Exception:
            examples = []
        seen: "set[str]" = set()
        for example in examples:
            made, called = example.constructor_input, example.forward_input
            key = repr((made.args, made.kwargs, [tuple(a.shape) if isinstance(a, Tensor) else type(a) for a in called.args]))
            # Keyword arguments of a call have no place in a trace.
            if called is None or called.kwargs or key in seen or len(seen) >= examples_of_a_module:
                continue
            seen.add(key)
            build = lambda cls=entry.module_cls, made=made: cls(*made.args, **made.kwargs)
            inputs = lambda called=called: tuple(map(as_input, called.args))
            yield f"{name}.{len(seen)}", build, inputs


def architectures():
    for name, build, inputs in others():
        yield Architecture(name, build, inputs, settle=False)
    for name, build, inputs in from_table():
        yield Architecture(name, build, inputs, settle=False)
