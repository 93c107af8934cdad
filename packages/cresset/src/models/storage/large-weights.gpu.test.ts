import { readModule } from '@cresset/archive';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import { halfToNumber, numberToHalf, Tensor, type ScriptObject } from '@cresset/tensor';
import type { WebGpuDevice } from '@cresset/webgpu';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestWithSchedules } from '../../../../../test-setup/gpu-schedules.ts';
import { script, shutdown, type ScriptModule as PageModule } from '../../index.ts';

/** A binding reaches so little that large weights below take two to five. Those of layers take one: shaders of windows are compiled for long here. */
const LIMITS = { maxBindingBytes: 16_000, maxStorageBuffers: 8 };

const SOURCE = `
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(200, 64)
        self.hidden = nn.Linear(64, 48)
        self.back = nn.Linear(48, 64)
        self.register_buffer('codes', torch.arange(5000) * 7 % 200)
        self.register_buffer('flags', torch.arange(33000) % 3 == 0)
        self.register_buffer('table', torch.arange(39000).remainder(251).to(torch.int16))

    def forward(self, codes: Tensor) -> Tensor:
        tokens = self.codes[codes]
        x = self.embedding(tokens)
        x = x + self.back(F.gelu(self.hidden(x)))
        x = torch.where(self.flags[codes].unsqueeze(-1), x, x * 0.5)
        x = x + self.table[codes].unsqueeze(-1) * 0.01
        return F.linear(x, self.embedding.weight) + 1.0

    @torch.jit.export
    def total(self, x: Tensor) -> Tensor:
        return (x * 2.0).sum(-1) + 1.0

    @torch.jit.export
    def shift(self):
        with torch.no_grad():
            self.embedding.weight.add_(0.25)
`;

let file: Uint8Array<ArrayBuffer>;
beforeAll(async () => {
  const unit = (await script(SOURCE, { device: 'cpu', worker: false })) as unknown as { Net(): Promise<PageModule> };
  const model = await unit.Net();
  await model.eval();
  file = await model.save();
  registerAllParts();
});
afterAll(() => shutdown());

/** Has a weight lie on the GPU as float16. */
function round(elements: Float32Array): boolean {
  elements.forEach((value, at) => (elements[at] = halfToNumber(numberToHalf(value))));
  return true;
}

async function open(device: WebGpuDevice | null, isNarrow = false): Promise<ScriptModule> {
  const { module, unit } = await readModule(file);
  const embedding = module.getAttribute('embedding') as ScriptObject;
  if (isNarrow) (embedding.getAttribute('weight') as Tensor).storage.narrow(round);
  return new ScriptModule(module, unit, new RuntimeContext(device ? { device } : {}));
}

async function call(model: ScriptModule, name: string, args: readonly Tensor[]): Promise<number[]> {
  const result = (await model.call(name, args, { resultToHost: true })) as Tensor;
  return Array.from(result.contiguousArray() as Float32Array);
}

const codes = (seed: number): Tensor =>
  Tensor.fromArray(
    BigInt64Array.from({ length: 12 }, (_, at) => BigInt((at * 421 + seed * 997) % 5000)),
    [12],
    'int64',
  );

function expectClose(found: readonly number[], wanted: readonly number[]): void {
  expect(found.length).toBe(wanted.length);
  const largest = Math.max(...wanted.map(Math.abs));
  const error = Math.max(...found.map((value, at) => Math.abs(value - wanted[at])));
  expect(error).toBeLessThan(2e-5 * largest);
}

describe.each(['software', 'hardware'] as const)('weights larger than a binding, scheduled for %s', (schedules) => {
  let device: WebGpuDevice;
  beforeAll(async () => {
    device = await requestWithSchedules(schedules, LIMITS);
  });
  afterAll(() => device.dispose());

  it.each(schedules === 'software' ? [false, true] : [false])(
    'are read on the GPU, call after call, rounded to float16: %s',
    async (isNarrow) => {
      const host = await open(null, isNarrow);
      const model = await open(device, isNarrow);
      for (let seed = 0; seed < 4; seed++) {
        expectClose(await call(model, 'forward', [codes(seed)]), await call(host, 'forward', [codes(seed)]));
        expect(model.lastRun!.hostFallback).toEqual([]);
      }
      expect(model.lastRun!.replayed).toBe(model.lastRun!.dispatches);
    },
  );

  it('are written on the host, and read on the GPU again', async () => {
    const host = await open(null);
    const model = await open(device);
    for (const each of [host, model]) {
      await each.call('forward', [codes(1)]);
      await each.call('shift', []);
    }
    expect(model.lastRun!.hostFallback.map(([name]) => name)).toEqual(['aten::add_.Scalar']);
    for (let seed = 0; seed < 3; seed++)
      expectClose(await call(model, 'forward', [codes(seed)]), await call(host, 'forward', [codes(seed)]));
  });

  it('leave a recording of an argument to those that lie in one binding', async () => {
    const host = await open(null);
    const model = await open(device);
    const rows = (of: number): Tensor => {
      const data = Float32Array.from({ length: of * 64 }, (_, at) => Math.cos(at + of));
      return Tensor.fromArray(data, [of, 64], 'float32').asStrided([20, 64], [64, 1], 0);
    };
    for (const of of [20, 20, 20, 100, 100, 100, 20, 150, 100])
      expectClose(await call(model, 'total', [rows(of)]), await call(host, 'total', [rows(of)]));
  });
});

it('operators whose operand no bindings have run on the host, which is counted, with all else on the GPU', async () => {
  const device = await requestWithSchedules('software', { maxBindingBytes: 8192, maxStorageBuffers: 8 });
  const host = await open(null);
  const model = await open(device);
  for (let seed = 0; seed < 4; seed++) {
    expectClose(await call(model, 'forward', [codes(seed)]), await call(host, 'forward', [codes(seed)]));
    const { hostFallback, fallbackReasons = [] } = model.lastRun!;
    expect(hostFallback.length).toBeGreaterThan(0);
    expect(new Set(fallbackReasons.map(([, reason]) => reason))).toEqual(
      new Set(['a tensor larger than a buffer of this GPU']),
    );
    expect(model.lastRun!.dispatches).toBeGreaterThan(0);
  }
  device.dispose();
});
