import torch


def chain(x, y):
    return torch.tanh(x * torch.sigmoid(y) + torch.exp(x)) / (x * x + 1)


def numbers(x, y):
    return 3 - torch.rsub(x, 2.5, 2) * 2 + y / 3


def scaled_sums(x, y):
    return torch.sub(torch.add(x, y, alpha=3), y, alpha=2)


def rounded_quotients(x, y):
    return torch.div(x, y, rounding_mode='floor') + torch.div(x, 2.0, rounding_mode=None)


def remainders(x, y):
    return torch.fmod(x, 2) * torch.remainder(y, 2)


def extremes(x, y):
    return torch.max(x, y) * torch.min(x, y)


def choices(x, y):
    return torch.where(x > 0, x * 2, y.exp())


def between(x, y):
    return torch.lerp(x, y, 0.3) + torch.lerp(x, y, x)


def products_added(x, y):
    return torch.addcmul(x.exp(), y, x, value=2)


def powers(x, y):
    return (x**3 + x**y) * 2.0**y


def bounds(x, y):
    return torch.clamp(x, min=0.5) * torch.clamp(y, -1, 1)


def bounds_of_tensors(x, y):
    return torch.clamp(x, y, None)


def activations(x, y):
    return torch.nn.functional.silu(x) * torch.ops.aten.hardswish(y) + torch.ops.aten.gelu(x, approximate='tanh')


def bounded_activations(x, y):
    return torch.ops.aten.hardsigmoid(x) * torch.ops.aten.relu6(y) + torch.ops.aten.leaky_relu(x, 0.1)


def thresholds(x, y):
    return torch.threshold(x, 0.5, 0.0) + torch.ops.aten.softplus(y) + torch.ops.aten.hardshrink(x)


def steps(x, y):
    return torch.floor(x) + torch.frac(y) + torch.round(x)


def roots(x, y):
    return torch.rsqrt(x) * torch.sqrt(y) + torch.reciprocal(x)


def logarithms(x, y):
    return torch.log1p(x) + torch.log2(y) * torch.log10(x)


def circles(x, y):
    return torch.acos(x) + torch.asin(y) * torch.atan(x) + torch.tan(y)


CASES = [
    (program, requires)
    for program in [
        chain, numbers, scaled_sums, rounded_quotients, remainders, extremes, choices, between, products_added, powers,
        bounds, bounds_of_tensors, activations, bounded_activations, thresholds, steps, roots, logarithms, circles,
    ]
    for requires in [(True, True), (True, False)]
]
