import { expect, it } from 'vitest';
import { script, tensor, type Tensor } from '../../index.ts';

/** Rows so long that their sums are cut into chunks: each stage that needs the mean has to find the same one, or equal elements are no longer equal to it. */
it('long rows of equal elements are normalised to zeros', async () => {
  await using unit = await script(
    `
import torch
from torch import Tensor

def layer(x: Tensor) -> Tensor:
    return torch.layer_norm(x, [x.size(-1)])

def group(x: Tensor) -> Tensor:
    return torch.group_norm(x.unsqueeze(0), 1)
`,
    { device: 'webgpu', worker: false },
  );
  for (const name of ['layer', 'group'])
    for (const count of [1001, 4096, 5000, 20_000, 70_000])
      for (const element of [0.7, 1.3, -2.2]) {
        const x = tensor(new Float32Array(2 * count).fill(element), { shape: [2, count] });
        const { data } = (await unit.function(name)(x)) as Tensor;
        const largest = (data as Float32Array).reduce((most, each) => Math.max(most, Math.abs(each)), 0);
        expect([name, count, element, largest]).toEqual([name, count, element, 0]);
      }
});
