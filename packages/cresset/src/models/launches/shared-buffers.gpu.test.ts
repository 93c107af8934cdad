import { readModule } from '@cresset/archive';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import type { WebGpuDevice } from '@cresset/webgpu';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestWithSchedules } from '../../../../../test-setup/gpu-schedules.ts';
import { script, shutdown, type ScriptModule as PageModule } from '../../index.ts';
import { tensorOf } from '../python-functions-fixture.ts';

const SOURCE = `
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(48)
        self.query = nn.Linear(48, 48)
        self.key = nn.Linear(48, 48)
        self.value = nn.Linear(48, 48)
        self.out = nn.Linear(48, 48)

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), 3, -1).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        q, k, v = self.split(self.query(y)), self.split(self.key(y)), self.split(self.value(y))
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(1, 2).reshape(x.size()))

    @torch.jit.export
    def shift(self):
        with torch.no_grad():
            self.value.weight.add_(0.25)
            bias = self.value.bias
            if bias is not None:
                bias.add_(1.0)
`;

let file: Uint8Array<ArrayBuffer>;
beforeAll(async () => {
  const unit = (await script(SOURCE, { device: 'cpu', worker: false })) as unknown as {
    Block(): Promise<PageModule>;
  };
  const model = await unit.Block();
  await model.eval();
  file = await model.save();
  registerAllParts();
});
afterAll(() => shutdown());

async function open(device: WebGpuDevice | null): Promise<ScriptModule> {
  const { module, unit } = await readModule(file);
  return new ScriptModule(module, unit, new RuntimeContext(device ? { device } : {}));
}

const call = async (model: ScriptModule, sizes: readonly number[]): Promise<number[]> => {
  const result = (await model.call('forward', [tensorOf(sizes)], { resultToHost: true })) as Tensor;
  return Array.from(result.contiguousArray() as Float32Array);
};

describe('what sibling products store, and the small parameters that they read, lie in one buffer each', () => {
  it.each(['software', 'few threads'] as const)('as %s does', async (schedules) => {
    const device = await requestWithSchedules(schedules, { maxStorageBuffers: 8 });
    const [model, host] = await Promise.all([open(device), open(null)]);
    const expectHosts = async (sizes: readonly number[]): Promise<void> => {
      const [found, wanted] = [await call(model, sizes), await call(host, sizes)];
      const tolerance = 1e-4 * Math.max(...wanted.map(Math.abs));
      wanted.forEach((value, at) => expect(Math.abs(found[at] - value)).toBeLessThan(tolerance));
    };
    // Another length has other regions.
    for (const length of [16, 7]) {
      for (let run = 0; run < 4; run++) await expectHosts([2, length, 48]);
      // The norm with the three products, attention, the product behind it.
      expect(model.lastRun).toMatchObject({ dispatches: 3, replayed: 3, hostFallback: [] });
    }
    for (const each of [model, host]) await each.call('shift', []);
    for (let run = 0; run < 2; run++) await expectHosts([2, 7, 48]);
    await expectHosts([2, 16, 48]);
    model.dispose();
    await device.flush();
    device.dispose();
  });
});
