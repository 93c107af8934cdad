import { Storage, Tensor } from '@cresset/tensor';
import { binary, param, TensorView, type Kernel } from '@cresset/tensorexpr';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ForgetfulGpu } from '../../../test-setup/forgetful-gpu.ts';
import { failure } from '../../../test-setup/failure.ts';
import { requestWebGpuDevice } from './request-device.ts';
import type { WebGpuDevice } from './webgpu-device.ts';

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
  it.each([
    [0, 4096],
    [1, 8192],
    [2, 16],
    [3, 8192],
  ])('at buffer %i is an error with the sizes, and the next attempt is right', async (lacking, bytes) => {
    const x = floats(1, 2, 3);
    gpu.fails = (index) => index === lacking;
    const error = await failure(work(x));
    expect(error).toMatchObject({ code: 'DEVICE_OUT_OF_MEMORY' });
    expect(error.message).toContain(`tried to allocate ${bytes} bytes beside `);
    expect(device.failureSince(0)).toMatchObject({ code: 'DEVICE_OUT_OF_MEMORY' });
    expect(await work(x)).toEqual([12, 13, 14]);
    expect(await work(x)).toEqual([12, 13, 14]);
    await device.flush(device.counters.failures);
    x.dispose();
    expect(device.counters.liveBytes).toBe(0);
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
    gpu.fails = (index) => index === 0;
    const made = onDevice(4);
    device.launch(add(floats(1, 2, 3, 4), 1, made));
    await failure(device.flush());
    expect(await failure(made.storage.toHost())).toMatchObject({ code: 'DEVICE_OUT_OF_MEMORY' });
    expect(() => made.storage.hostBytes()).toThrow(/had no memory for it/);
  });

  it('gives what is free for reuse back first', async () => {
    onDevice(1_000_000).dispose();
    gpu.fails = (index) => index === 1;
    onDevice(5000);
    const error = await failure(device.flush());
    expect(error.message).toContain('4194304 bytes it has already, 4194304 of them free for reuse');
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
