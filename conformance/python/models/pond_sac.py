# make: ActorCritic(3, 2)
# make: ActorCritic(3, 4, discrete=True, hidden=[5, 4], act='elu', layer_norm=True)
# call: forward(numbers(2, 3))
# call: act(numbers(1, 3), True)
"""Acts and judges: two towers over what is seen, for any kind of action."""
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn as nn

ACTIVATIONS = {name: getattr(nn, cls) for name, cls in [('tanh', 'Tanh'), ('relu', 'ReLU'), ('elu', 'ELU')]}


class Verdict(NamedTuple):
    mean: torch.Tensor
    spread: torch.Tensor
    value: torch.Tensor


def init_layer(layer: nn.Linear, std: float = 2 ** 0.5, bias: float = 0.0) -> nn.Linear:
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias)
    return layer


def build_mlp(sizes: List[int], act: str = 'tanh', layer_norm: bool = False, last: Optional[float] = None) -> nn.Sequential:
    layers: List[nn.Module] = []
    for j in range(len(sizes) - 1):
        is_last = j == len(sizes) - 2
        layers += [init_layer(nn.Linear(sizes[j], sizes[j + 1]), last if is_last and last is not None else 2 ** 0.5)]
        if not is_last:
            layers += [nn.LayerNorm(sizes[j + 1])] * layer_norm + [ACTIVATIONS[act]()]
    return nn.Sequential(*layers)


class RunningScale(nn.Module):
    """Centres what is seen by what was seen before."""

    def __init__(self, size: int, clip: float = 5.0):
        super().__init__()
        for name, value in dict(mean=torch.zeros(size), var=torch.ones(size), count=torch.tensor(1e-4)).items():
            self.register_buffer(name, value)
        self.clip = clip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.update(x)
        return torch.clamp((x - self.mean) / torch.sqrt(self.var + 1e-8), -self.clip, self.clip)

    def update(self, x: torch.Tensor) -> None:
        n = float(x.size(0))
        delta = x.mean(0) - self.mean
        total = self.count + n
        self.mean += delta * n / total
        self.var.copy_((self.var * self.count + x.var(0, unbiased=False) * n + delta ** 2 * self.count * n / total) / total)
        self.count += n


class ActorCritic(nn.Module):
    def __init__(self, seen: int, actions: int, discrete: bool = False, hidden: Union[int, List[int]] = 6, act: str = 'tanh', layer_norm: bool = False):
        super().__init__()
        hidden = [hidden, hidden] if isinstance(hidden, int) else list(hidden)
        self.discrete = discrete
        self.scale = RunningScale(seen)
        self.pi = build_mlp([seen, *hidden, actions], act, layer_norm, last=0.01)
        self.vf = build_mlp([seen, *hidden, 1], act, layer_norm, last=1.0)
        if not discrete:
            self.log_std = nn.Parameter(torch.zeros(actions) - 0.5)
        else:
            self.register_parameter('log_std', None)

    def forward(self, x: torch.Tensor) -> Verdict:
        x = self.scale(x)
        mean = self.pi(x)
        if self.log_std is not None:
            spread = self.log_std.exp().expand_as(mean)
        else:
            mean = mean.log_softmax(-1)
            spread = torch.zeros_like(mean)
        return Verdict(mean, spread, self.vf(x).squeeze(-1))

    @torch.jit.export
    def act(self, x: torch.Tensor, best: bool = False) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
        mean, spread, value = self.forward(x)
        if self.discrete:
            chosen = mean.argmax(-1) if best else torch.multinomial(mean.exp(), 1).squeeze(-1)
        else:
            chosen = torch.tanh(mean if best else mean + spread * torch.randn_like(mean))
        return chosen, {'value': value}
