import { expect, it } from 'vitest';
import { load, script, tensor, type Tensor } from '../index.ts';

const cpu = { device: 'cpu', worker: false } as const;

const source = (forward: string, signature = 'x: Tensor) -> Tensor'): string => `
import torch
from torch import Tensor, nn

@torch.jit.interface
class Layer(nn.Module):
    def forward(self, ${signature}:
        pass

class Twice(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2

    @torch.jit.export
    def more(self) -> int:
        return 1

class Plus(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 5

class Net(nn.Module):
    layer: Layer

    def __init__(self):
        super().__init__()
        self.layer = Twice()
        self.other = Plus()

    def forward(self, x: Tensor):
${forward}
`;

it('a submodule that is annotated with an interface can be exchanged for another', async () => {
  const body = `
        y = self.layer(x)
        self.layer = self.other
        return y + self.layer.forward(x)`;
  const unit = await script(source(body), cpu);
  const net = await unit.construct('Net');
  const loaded = await load(await net.save(), cpu);
  for (const each of [net, loaded]) {
    expect([...((await each.call('forward', [tensor([1, 2])])) as Tensor).data]).toEqual([8, 11]);
    // It is the other one from now on.
    expect([...((await each.call('forward', [tensor([1, 2])])) as Tensor).data]).toEqual([12, 14]);
  }
  await Promise.all([unit.dispose(), loaded.dispose()]);
});

it.each([
  [
    'has no method that the interface has not',
    source('        return self.layer.more()'),
    "'__torch__.Layer' object has no attribute or method 'more'",
  ],
  [
    'has to have what the interface has',
    source('        return x', 'x: int) -> int'),
    "Could not cast attribute 'layer' to type __torch__.Layer: Object of type __torch__.Twice is not compatible with interface __torch__.Layer",
  ],
])('such a submodule %s', async (_, text, message) => {
  const unit = await script(text, cpu);
  await expect(unit.construct('Net')).rejects.toThrow(message);
  await unit.dispose();
});
