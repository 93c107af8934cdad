import { expect, it } from 'vitest';
import { load, script, tensor, type Tensor } from '../index.ts';

const cpu = { device: 'cpu', worker: false } as const;

/** A recurrence whose state is an object of a class, as decoders have one. */
const source = `
from typing import List, Optional, Tuple
import torch
from torch import Tensor, nn

class State:
    def __init__(self, hidden: Tensor, steps: int, last: Optional[Tensor] = None):
        self.hidden = hidden
        self.steps = steps
        self.last = last

class Decoder(nn.Module):
    @torch.jit.export
    def start(self) -> State:
        return State(torch.zeros([2]), 0)

    def forward(self, x: Tensor, state: State) -> Tuple[Tensor, State]:
        hidden = state.hidden * 0.5 + x
        after = State(hidden, state.steps + 1, state.hidden)
        return hidden * after.steps, after

    @torch.jit.export
    def all_steps(self, states: List[State], more: Optional[State] = None) -> int:
        return sum([state.steps for state in states]) + (0 if more is None else more.steps)
`;

interface State {
  readonly hidden: Tensor;
  readonly steps: number;
  readonly last: Tensor | null;
}

it('objects that a program returned can be given back to it', async () => {
  const unit = await script(source, cpu);
  const module = await unit.construct('Decoder');
  const loaded = await load(await module.save(), cpu);
  for (const program of [module, loaded]) {
    const x = tensor([1, 2]);
    const first = (await program.call('start', [])) as unknown as State;
    const [, second] = (await program.call('forward', [x, first as never])) as unknown as [Tensor, State];
    const [output, third] = (await program.call('forward', [x, second as never])) as unknown as [Tensor, State];
    expect([...output.data]).toEqual([3, 6]);
    expect([third.steps, ...third.hidden.data, ...third.last!.data]).toEqual([2, 1.5, 3, 1, 2]);
    expect(await program.call('all_steps', [[second, third, third] as never])).toBe(5);
    expect(await program.call('all_steps', [[] as never, second as never])).toBe(1);
    // What has other attributes is none.
    const other = { hidden: x, steps: 1 };
    await expect(program.call('forward', [x, other as never])).rejects.toThrow(
      "for argument 'state' but instead found",
    );
    const wrong = { ...third, steps: 'a' };
    await expect(program.call('forward', [x, wrong as never])).rejects.toThrow("Expected a value of type 'int'");
  }
  await Promise.all([unit.dispose(), loaded.dispose()]);
});
