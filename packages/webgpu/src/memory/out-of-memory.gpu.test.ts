import { Storage, Tensor } from '@cresset/tensor';
import { binary, param, TensorView, type Kernel } from '@cresset/tensorexpr';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ForgetfulGpu } from '../../../../test-setup/forgetful-gpu.ts';
import { failure } from '../../../../test-setup/failure.ts';
import { requestWebGpuDevice } from '../request-device.ts';
import type { WebGpuDevice } from '../webgpu-device.ts';

let device: WebGpuDevice;
let gpu: ForgetfulGpu;
beforeEach(async () => {
  device = await requestWebGpuDevice();
  gpu = new ForgetfulGpu(device.gpuDevice);
});
afterEach(() => device.dispose());

const floats = (...values: number[]): Tensor => Tensor.fromArray(Float32Array.from(values), [values.length], 'float32');

function onDevice(count: number): Tensor {
  return new Tensor(Storage.onDevice(device, 'float32', count), 'float32', [count], [1]);
}

function add(x: Tensor, amount: number, output: Tensor): Kernel {
  const target = new TensorView(output);
  const axes = target.axes();
  const value = binary('add', new TensorView(x).at(axes), param('float', amount));
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }];
  return { kind: 'nest', label: 'test::add', axes, innerAxes: [], stores };
}

async function read(tensor: Tensor): Promise<number[]> {
  await tensor.storage.toHost();
  return [...(tensor.contiguousArray() as Float32Array)];
}

/** An upload, two kernels and a readback, each with a buffer of its own. */
async function work(x: Tensor): Promise<number[]> {
  const [middle, end] = [onDevice(1000), onDevice(2000)];
  try {
    device.launch(add(x, 1, middle.asStrided([3], [1])));
    device.launch(add(middle.asStrided([3], [1]), 10, end.asStrided([3], [1])));
    return (await read(end)).slice(0, 3);
  } finally {
    middle.dispose();
    end.dispose();
  }
}

describe('a lack of memory', () => {
  const buffers: readonly (readonly [index: number, bytes: number])[] = [
    [0, 4096],
    [1, 8192],
    [2, 16],
    [3, 8192],
  ];

  it.each(buffers)('at buffer %i is over when what is free was given back: the same work is done', async (lacking) => {
    const x = floats(1, 2, 3);
    onDevice(1_000_000).dispose();
    await device.flush();
    const from = gpu.asked;
    gpu.fails = (index) => index === from + lacking;
    expect(await work(x)).toEqual([12, 13, 14]);
    // One more than the work takes.
    expect(gpu.asked).toBe(from + buffers.length + 1);
    expect(device.counters.failures).toBe(0);
    expect(device.memory().pooled).toBeLessThan(1_000_000);
    expect(await work(x)).toEqual([12, 13, 14]);
    x.dispose();
    expect(device.counters.liveBytes).toBe(0);
  });

  it.each(buffers)(
    'that lasts at buffer %i is an error with the sizes, and the next attempt is right',
    async (lacking, bytes) => {
      const x = floats(1, 2, 3);
      gpu.fails = (index) => index >= lacking;
      const error = await failure(work(x));
      expect(error).toMatchObject({ code: 'DEVICE_OUT_OF_MEMORY' });
      expect(error.message).toContain(`tried to allocate ${bytes} bytes beside `);
      expect(device.failureSince(0)).toMatchObject({ code: 'DEVICE_OUT_OF_MEMORY' });
      gpu.fails = () => false;
      await failure(device.flush());
      expect(await work(x)).toEqual([12, 13, 14]);
      expect(await work(x)).toEqual([12, 13, 14]);
      await device.flush(device.counters.failures);
      x.dispose();
      expect(device.counters.liveBytes).toBe(0);
    },
  );

  it('keeps what was uploaded meanwhile as it was, however large', async () => {
    const x = Tensor.fromArray(new Float32Array(100_000).fill(5), [100_000], 'float32');
    const y = onDevice(100_000);
    gpu.fails = (index) => index === 1;
    device.launch(add(x, 1, y));
    (x.storageArrayForWriting() as Float32Array).fill(7);
    const z = onDevice(100_000);
    device.launch(add(x, 1, z));
    const [before, after] = await Promise.all([read(y), read(z)]);
    expect([new Set(before), new Set(after)]).toEqual([new Set([6]), new Set([8])]);
    expect(device.counters.failures).toBe(0);
  });

  it('at every third buffer spoils no attempt that gets its memory', async () => {
    gpu.fails = (index) => index % 3 === 2;
    let right = 0;
    for (let attempt = 0; attempt < 12; attempt++) {
      const outcome = await work(floats(1, 2, 3)).catch((error: unknown) => error);
      if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'DEVICE_OUT_OF_MEMORY' });
      else expect(outcome).toEqual([12, 13, 14]);
      if (!(outcome instanceof Error)) right++;
    }
    expect(right).toBeGreaterThan(0);
  });

  it('loses what the device alone had, by name', async () => {
    gpu.fails = () => true;
    const made = onDevice(4);
    device.launch(add(floats(1, 2, 3, 4), 1, made));
    await failure(device.flush());
    expect(await failure(made.storage.toHost())).toMatchObject({ code: 'DEVICE_OUT_OF_MEMORY' });
    expect(() => made.storage.hostBytes()).toThrow(/had no memory for it/);
  });

  it('gives what is free for reuse back first', async () => {
    onDevice(1_000_000).dispose();
    gpu.fails = (index) => index > 0;
    onDevice(5000);
    const error = await failure(device.flush());
    expect(error.message).toContain('beside 0 bytes it has already, again after 4194304 that were free for reuse');
    gpu.fails = () => false;
    const asked = gpu.asked;
    onDevice(1_000_000);
    expect(gpu.asked).toBe(asked + 1);
  });
});

describe('failures', () => {
  it('are told by number, the first since', async () => {
    gpu.fails = () => true;
    for (let attempt = 0; attempt < 20; attempt++) {
      onDevice(100 << (attempt % 3));
      await failure(device.flush());
    }
    expect(device.counters.failures).toBe(20);
    expect(device.failureSince(19)?.message).toContain('896 bytes');
    expect(device.failureSince(20)).toBeNull();
    expect(device.failureSince(0)).not.toBeNull();
    await device.flush();
  });
});
