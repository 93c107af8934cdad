import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readModule } from '@cresset/archive';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import { Tensor, type IValue } from '@cresset/tensor';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

// The models lie beside the repository; where they do not, there is nothing to count.
const models = fileURLToPath(new URL('../../../../../shared/models/', import.meta.url));

let device: WebGpuDevice;
beforeAll(registerAllParts);

// A device for each test: its counts are exact, and not moved by what the collector frees of an earlier test.
beforeEach(async () => {
  device = await requestWebGpuDevice();
});
afterEach(() => device.dispose());

async function load(file: string): Promise<ScriptModule> {
  const { module, unit } = await readModule(new Uint8Array(readFileSync(models + file)));
  return new ScriptModule(module, unit, new RuntimeContext({ device }));
}

function waves(sizes: readonly number[]): Tensor {
  const count = sizes.reduce((product, size) => product * size, 1);
  return Tensor.fromArray(
    Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.37)),
    sizes,
    'float32',
  );
}

describe.skipIf(!existsSync(models))('dispatches of whole models', () => {
  it('ResNet-18: one kernel a convolution, with its batch norm, residual and activation', async () => {
    const model = await load('resnet18/resnet18.pt');
    const output = (await model.call('forward', [waves([1, 3, 32, 32])])) as Tensor;
    // Residual and statistics are one tensor too many for a kernel where only eight can be bound.
    const dispatches = device.capabilities.maxStorageBuffers > 8 ? 23 : 30;
    expect(model.lastRun).toMatchObject({ dispatches, submits: 1, readbacks: 0, hostFallback: [] });
    output.dispose();
    await model.call('forward', [waves([1, 3, 32, 32])]).then((again) => (again as Tensor).dispose());
    expect(model.lastRun).toMatchObject({ dispatches, submits: 1, uploads: 1, shaders: 0 });
    model.dispose();
  }, 120_000);

  it('a frozen ResNet-18: the same kernels, and its constants are freed with it', async () => {
    const before = device.counters.liveBytes;
    const model = await load('resnet18/resnet18.frozen.pt');
    const input = waves([1, 3, 32, 32]);
    const output = (await model.call('forward', [input])) as Tensor;
    expect(model.lastRun).toMatchObject({ dispatches: 23, submits: 1, hostFallback: [] });
    expect(device.counters.liveBytes - before).toBeGreaterThan(100_000);
    output.dispose();
    input.dispose();
    model.dispose();
    expect(device.counters.liveBytes).toBe(before);
  }, 120_000);

  it('silero-vad: memory of a run is its weights again, and its state', async () => {
    const model = await load('silero-vad/silero_vad.pt');
    const live: number[] = [];
    for (let chunk = 0; chunk < 4; chunk++) {
      const args: IValue[] = [waves([1, 512]), 16000n];
      const output = (await model.call('forward', args)) as Tensor;
      if (chunk > 0)
        expect(model.lastRun).toMatchObject({ dispatches: 11, submits: 1, readbacks: 0, hostFallback: [] });
      output.dispose();
      for (const value of args) if (value instanceof Tensor) value.dispose();
      live.push(device.counters.liveBytes);
    }
    expect(live[3]).toBe(live[1]);
    model.dispose();
    await device.flush();
  }, 120_000);
});
