import { readFileSync } from 'node:fs';
import { readModule } from '@cresset/archive';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import { Tensor } from '@cresset/tensor';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failure } from '../../../../test-setup/failure.ts';
import { ForgetfulGpu } from '../../../../test-setup/forgetful-gpu.ts';

const models = new URL('../../../../apps/playground/public/models/', import.meta.url);
const file = readFileSync(new URL('digits.pt', models));
const expected = JSON.parse(readFileSync(new URL('digits.json', models), 'utf8')) as {
  shape: number[];
  picture: number[];
  pictureScale: number;
  probabilities: number[];
};

let device: WebGpuDevice;
let gpu: ForgetfulGpu;
beforeAll(registerAllParts);
beforeEach(async () => {
  device = await requestWebGpuDevice();
  gpu = new ForgetfulGpu(device.gpuDevice);
});
afterEach(() => device.dispose());

async function load(): Promise<ScriptModule> {
  const { module, unit } = await readModule(new Uint8Array(file));
  return new ScriptModule(module, unit, new RuntimeContext({ device, limits: { smallWork: -1 } }));
}

async function classify(model: ScriptModule, signal: AbortSignal | null = null): Promise<number[]> {
  const { shape, picture, pictureScale } = expected;
  const pixels = Tensor.fromArray(
    Float32Array.from(picture, (value) => value / pictureScale),
    shape,
    'float32',
  );
  try {
    const result = (await model.call('forward', [pixels], { signal, resultToHost: true })) as Tensor;
    const numbers = [...(result.contiguousArray() as Float32Array)];
    result.dispose();
    return numbers;
  } finally {
    pixels.dispose();
  }
}

function expectRight(numbers: readonly number[]): void {
  expect(numbers).toHaveLength(expected.probabilities.length);
  numbers.forEach((value, at) => expect(value).toBeCloseTo(expected.probabilities[at], 4));
}

describe('a model on a device that fails', () => {
  it('tries again for lack of a buffer, whichever it is; where that lasts it is an error with the sizes, and the next run is right', async () => {
    const first = await load();
    expectRight(await classify(first));
    const buffers = gpu.asked;
    first.dispose();
    expect(buffers).toBeGreaterThan(10);
    // Every fifth: each takes a device of its own, with nothing to reuse.
    for (let lacking = 0; lacking < buffers; lacking += 5) {
      device.dispose();
      device = await requestWebGpuDevice();
      gpu = new ForgetfulGpu(device.gpuDevice);
      gpu.fails = (index) => index === lacking;
      const model = await load();
      expectRight(await classify(model));
      expect(device.counters.failures, `buffer ${lacking}`).toBe(0);
      model.dispose();
      device.dispose();
      device = await requestWebGpuDevice();
      gpu = new ForgetfulGpu(device.gpuDevice);
      gpu.fails = (index) => index >= lacking;
      const other = await load();
      const error = await failure(classify(other));
      expect(error.code, `buffer ${lacking}`).toBe('DEVICE_OUT_OF_MEMORY');
      expect(error.message).toMatch(/tried to allocate \d+ bytes beside \d+ bytes it has already/);
      gpu.fails = () => false;
      expectRight(await classify(other));
      expectRight(await classify(other));
      other.dispose();
      expect(device.counters.liveBytes).toBe(0);
    }
  });

  it('tells every run that had work there, and none that begins later', async () => {
    const [one, other] = [await load(), await load()];
    await Promise.all([classify(one), classify(other)]);
    const lacking = gpu.asked;
    gpu.fails = (index) => index >= lacking;
    // A call that needs a buffer of a size that is not there yet.
    const large = Tensor.empty([3, ...expected.shape.slice(1)], 'float32');
    (large.storageArrayForWriting() as Float32Array).fill(0.5);
    const outcomes = await Promise.allSettled([one.call('forward', [large]), classify(other)]);
    expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: { code: 'DEVICE_OUT_OF_MEMORY' } });
    if (outcomes[1].status === 'fulfilled') expectRight(outcomes[1].value);
    else expect(outcomes[1].reason).toMatchObject({ code: 'DEVICE_OUT_OF_MEMORY' });
    gpu.fails = () => false;
    const [again, too] = await Promise.all([classify(one), classify(other)]);
    expectRight(again);
    expectRight(too);
  });

  it('is lost in the middle of a run by name', async () => {
    const model = await load();
    const running = failure(classify(model));
    device.gpuDevice.destroy();
    expect((await running).code).toBe('DEVICE_LOST');
    expect((await failure(classify(model))).code).toBe('DEVICE_LOST');
    model.dispose();
  });

  it('is lost in the middle of a replay by name, and a model on the next device is right', async () => {
    const model = await load();
    for (let warm = 0; warm < 3; warm++) expectRight(await classify(model));
    expect(model.lastRun!.replayed).toBe(model.lastRun!.dispatches);
    const running = failure(classify(model));
    device.gpuDevice.destroy();
    const error = await running;
    expect(error).toMatchObject({ code: 'DEVICE_LOST', message: expect.stringContaining('the GPU device was lost') });
    for (let again = 0; again < 2; again++) expect((await failure(classify(model))).code).toBe('DEVICE_LOST');
    model.dispose();
    device.dispose();
    device = await requestWebGpuDevice();
    const next = await load();
    for (let run = 0; run < 4; run++) expectRight(await classify(next));
    expect(next.lastRun!.replayed).toBe(next.lastRun!.dispatches);
    next.dispose();
    expect(device.counters.liveBytes).toBe(0);
  });

  it('is disposed of in the middle of a run, and in between, by name', async () => {
    const model = await load();
    const running = failure(classify(model));
    device.dispose();
    expect((await running).code).toBe('DEVICE_DISPOSED');
    expect((await failure(classify(model))).code).toBe('DEVICE_DISPOSED');
    model.dispose();
  });

  it('frees nothing twice where the model is disposed of during a run', async () => {
    const model = await load();
    await classify(model);
    const running = classify(model).catch((error: unknown) => error);
    model.dispose();
    const outcome = await running;
    if (Array.isArray(outcome)) expectRight(outcome);
    else expect(outcome).toMatchObject({ code: expect.stringMatching(/MODEL_DISPOSED|STORAGE_NOT_ON_HOST/) });
    expect((await failure(classify(model))).code).toBe('MODEL_DISPOSED');
  });

  it('takes no more memory in the hundredth run than in the second', async () => {
    const model = await load();
    await classify(model);
    await classify(model);
    const { buffersAllocated, liveBytes, shaders } = device.counters;
    for (let run = 0; run < 100; run++) await classify(model);
    expect(device.counters).toMatchObject({ buffersAllocated, liveBytes, shaders, failures: 0 });
    model.dispose();
    expect(device.counters.liveBytes).toBe(0);
  });
});
