import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import type { WebGpuDevice } from '@cresset/webgpu';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failure } from '../../../../../test-setup/failure.ts';
import { NullGpu } from '../../../../../test-setup/null-gpu.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

let gpu: NullGpu;
let device: WebGpuDevice;
let functions: PythonFunctions;

const source = `
def f(x: Tensor, w: Tensor):
    y = torch.softmax(x @ w, -1)
    z = torch.softmax(y.sum(0), 0)
    return torch.softmax(z @ w, 0)
`;

beforeAll(registerAllParts);
beforeEach(() => {
  gpu = new NullGpu();
  device = gpu.open();
  functions = new PythonFunctions(source, { device });
});

/** A call with an input of so many rows; buffers go by them. */
async function call(rows: number): Promise<void> {
  const given = [tensorOf([rows, 64]), tensorOf([64, 64])];
  try {
    const result = (await functions.call('f', given)) as Tensor;
    result.dispose();
  } finally {
    for (const tensor of given) tensor.dispose();
  }
}

describe('a lack of memory in the middle of a run', () => {
  /** The buffers that a first run makes. */
  async function buffersOfRun(): Promise<number> {
    const from = gpu.calls.buffers;
    await call(64);
    return gpu.calls.buffers - from;
  }

  it('is over when a buffer is there at the second attempt, whichever it is: the run is one as any other', async () => {
    const before = { ...gpu.calls };
    const count = await buffersOfRun();
    expect(count).toBeGreaterThan(5);
    const { dispatches, submits } = gpu.calls;
    const work = [dispatches - before.dispatches, submits - before.submits];
    for (let lacking = 0; lacking < count; lacking++) {
      gpu = new NullGpu();
      device = gpu.open();
      functions = new PythonFunctions(source, { device });
      const from = { ...gpu.calls };
      gpu.fails = (index) => index === from.buffers + lacking;
      await call(64);
      expect([gpu.calls.dispatches - from.dispatches, gpu.calls.submits - from.submits]).toEqual(work);
      expect(gpu.calls.buffers - from.buffers).toBe(count + 1);
      expect([device.counters.failures, device.counters.liveBytes, gpu.misuses]).toEqual([0, 0, 0]);
      await call(64);
      const warm = { ...gpu.calls };
      await call(64);
      expect(gpu.calls.buffers).toBe(warm.buffers);
      expect(functions.module.lastRun!.replayed).toBe(functions.module.lastRun!.dispatches);
    }
  });

  it('that lasts is an error with the sizes, after all that is free was given back, and the next run is right', async () => {
    // What runs before left is free: three sizes of it.
    for (const rows of [64, 128, 640]) await call(rows);
    const { pooled } = device.memory();
    expect(pooled).toBeGreaterThan(0);
    gpu.fails = () => true;
    const error = await failure(call(100_000));
    expect(error.code).toBe('DEVICE_OUT_OF_MEMORY');
    expect(error.message).toMatch(
      /tried to allocate \d+ bytes beside \d+ bytes it has already, again after \d+ that were free/,
    );
    expect(device.memory().pooled).toBeLessThan(pooled);
    expect([device.counters.liveBytes, gpu.misuses]).toEqual([0, 0]);
    gpu.fails = () => false;
    const { failures } = device.counters;
    for (let run = 0; run < 3; run++) for (const rows of [64, 100_000]) await call(rows);
    expect(device.counters).toMatchObject({ failures, liveBytes: 0 });
    expect(gpu.misuses).toBe(0);
  });

  it('spoils no recording: what is replayed afterwards is the whole of it', async () => {
    for (let warm = 0; warm < 3; warm++) await call(64);
    const { dispatches } = functions.module.lastRun!;
    // Scratch, results and uniforms were given back meanwhile.
    gpu.fails = () => true;
    await failure(call(100_000));
    gpu.fails = () => false;
    for (let again = 0; again < 2; again++) {
      await call(64);
      expect(functions.module.lastRun).toMatchObject({ dispatches, replayed: dispatches });
    }
    expect(gpu.misuses).toBe(0);
  });
});

describe('a device that is lost in the middle of a replay', () => {
  it('is told by name, as is every call after it; another device goes on', async () => {
    for (let warm = 0; warm < 3; warm++) await call(64);
    const { dispatches, replayed } = functions.module.lastRun!;
    expect(replayed).toBe(dispatches);
    const running = failure(call(64));
    gpu.lose();
    expect(await running).toMatchObject({
      code: 'DEVICE_LOST',
      message: 'the GPU device was lost (unknown): for this test',
    });
    expect(await failure(call(64))).toMatchObject({ code: 'DEVICE_LOST' });
    functions.module.dispose();
    gpu = new NullGpu();
    device = gpu.open();
    functions = new PythonFunctions(source, { device });
    for (let run = 0; run < 3; run++) await call(64);
    expect(functions.module.lastRun).toMatchObject({ dispatches, replayed });
    expect(device.counters.liveBytes).toBe(0);
  });
});
