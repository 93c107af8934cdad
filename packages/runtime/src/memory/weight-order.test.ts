import { readModule } from '@cresset/archive';
import type { Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { SyntheticArchive } from '../../../../test-setup/synthetic-archive.ts';
import { initializeRuntime } from '../initialize.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ScriptModule } from '../script-module.ts';
import { weightOrder } from './weight-order.ts';

const archive = new SyntheticArchive(
  ['a', 'b', 'c', 'd', 'unused'].map((name) => ({ name, shape: [2], value: 1 })),
  `  def forward(self: __torch__.Net,
    x: Tensor,
    flag: bool) -> Tensor:
    y = torch.add(x, self.c)
    if flag:
      z = torch.add(torch.mul(y, self.a), self.c)
    else:
      z = torch.mul(y, self.d)
    i = 0
    while i < 3:
      z = torch.add(z, self.b)
      i = i + 1
    return torch.add(z, self.c)
`,
);

describe('weightOrder', () => {
  it('lists what every run needs in the order of use, and branches by themselves', async () => {
    initializeRuntime();
    const { module, unit } = await readModule(archive.bytes(0, archive.size));
    const context = new RuntimeContext();
    const runner = new ScriptModule(module, unit, context);
    const graph = runner.optimizedGraphOf(runner.method('forward'), module);
    const names = new Map(
      module.type.attributes.map(({ name }, slot) => [(module.slots[slot] as Tensor | null)?.storage, name]),
    );
    const { always, branches } = weightOrder(graph, module);
    expect(always.map((storage) => names.get(storage))).toEqual(['c', 'b']);
    expect(branches.map((branch) => branch.map((storage) => names.get(storage)))).toEqual([['a'], ['d']]);
    expect(weightOrder(graph, null)).toEqual({ always: [], branches: [] });
  });
});
