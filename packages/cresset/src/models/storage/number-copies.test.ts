import { registerAllParts } from '@cresset/runtime';
import { applyJitOptions } from '@cresset/ir';
import type { Tensor } from '@cresset/tensor';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { NullGpu } from '../../../../../test-setup/null-gpu.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);
afterEach(() => applyJitOptions({ enabled: true }));

const source = `
def f(x: Tensor, n: float):
    y = x * 2
    y[0] = n
    y.copy_(torch.tensor(n))
    return torch.cat([y, torch.tensor([n, n])])
`;

it.each([true, false])(
  'copies that a device has of numbers are freed with their tensors, passes on: %s',
  async (enabled) => {
    applyJitOptions({ enabled });
    const gpu = new NullGpu();
    const device = gpu.open();
    const functions = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
    for (let run = 0; run < 4; run++) {
      const x = tensorOf([40], run);
      const result = (await functions.call('f', [x, run + 0.5])) as Tensor;
      for (const tensor of [x, result]) tensor.dispose();
      expect([run, device.counters.liveBytes]).toEqual([run, 0]);
    }
  },
);
