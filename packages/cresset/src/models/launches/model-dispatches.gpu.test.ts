import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readModule } from '@cresset/archive';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import { Dict, List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

// The models lie beside the repository; where they do not, there is nothing to count.
const models = fileURLToPath(new URL('../../../../../../shared/models/', import.meta.url));

let device: WebGpuDevice;
beforeAll(registerAllParts);

// A device for each test: its counts are exact, and not moved by what the collector frees of an earlier test.
beforeEach(async () => {
  device = await requestWebGpuDevice();
});
afterEach(() => device.dispose());

/** Has the device pass for one with fewer storage buffers to a kernel. */
function bindAtMost(buffers: number): void {
  const maxStorageBuffers = Math.min(buffers, device.capabilities.maxStorageBuffers);
  Object.defineProperty(device, 'capabilities', { value: { ...device.capabilities, maxStorageBuffers } });
}

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

const integers = (count: number, at: (i: number) => number): Tensor =>
  Tensor.fromArray(
    BigInt64Array.from({ length: count }, (_, i) => BigInt(at(i))),
    [1, count],
    'int64',
  );
const tokens = (count: number): Tensor => integers(count, (i) => 1 + ((i * 37) % 700));
const ones = (count: number): Tensor => integers(count, () => 1);

function tensorsOf(value: IValue): Tensor[] {
  if (value instanceof Tensor) return [value];
  if (value instanceof Dict) return [...value.entries.values()].flatMap(tensorsOf);
  return value instanceof Tuple || value instanceof List ? value.items.flatMap(tensorsOf) : [];
}

describe.skipIf(!existsSync(models))('dispatches of whole models', () => {
  it.each([16, 8])(
    'ResNet-18: one kernel a convolution, with its batch norm, residual and activation, of at most %i buffers',
    async (buffers) => {
      bindAtMost(buffers);
      const model = await load('resnet18/resnet18.pt');
      const output = (await model.call('forward', [waves([1, 3, 32, 32])])) as Tensor;
      expect(model.lastRun).toMatchObject({ dispatches: 23, submits: 1, readbacks: 0, hostFallback: [] });
      output.dispose();
      await model.call('forward', [waves([1, 3, 32, 32])]).then((again) => (again as Tensor).dispose());
      // Replayed, the last product pools as it goes.
      expect(model.lastRun).toMatchObject({ dispatches: 22, submits: 1, uploads: 1, shaders: 0 });
      model.dispose();
    },
  );

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
  });

  const replayed = [
    // A product for queries, keys and values, attention, output; the norms; two products behind them.
    ['bert_sdpa/bert_sdpa.pt', () => [tokens(16), ones(16), null], 23],
    ['bert_sdpa/bert_sdpa.traced.pt', () => [tokens(16), ones(16)], 23],
    // The norms are part of the products behind them.
    ['vit_tiny/vit_tiny.pt', () => [waves([1, 3, 224, 224])], 31],
    ['mobilenetv3_small/mobilenetv3_small.pt', () => [waves([1, 3, 64, 64])], 43],
  ] as const;
  it.each(
    replayed.flatMap(([file, args, dispatches]) =>
      [16, 8].map((buffers) => [file, buffers, args, dispatches] as const),
    ),
  )(
    '%s, replayed, with %i buffers to a kernel',
    async (file, buffers, args, dispatches) => {
      bindAtMost(buffers);
      const model = await load(file);
      const results: number[][] = [];
      for (let run = 0; run < 3; run++) {
        const output = await model.call('forward', args());
        const [tensor] = tensorsOf(output);
        await tensor.storage.toHost();
        results.push(Array.from(tensor.contiguousArray() as Float32Array));
      }
      expect(model.lastRun).toMatchObject({ dispatches, submits: 1, shaders: 0, hostFallback: [] });
      const largest = Math.max(...results[0].map(Math.abs));
      results[2].forEach((value, at) => expect(Math.abs(value - results[0][at])).toBeLessThan(1e-4 * largest));
      model.dispose();
    },
    120_000,
  );

  it('silero-vad: memory of a run is its weights again, and its state', async () => {
    const model = await load('silero-vad/silero_vad.pt');
    const live: number[] = [];
    for (let chunk = 0; chunk < 4; chunk++) {
      const args: IValue[] = [waves([1, 512]), 16000n];
      const output = (await model.call('forward', args)) as Tensor;
      // Its state is a tensor from the second chunk on; from the third, that run is replayed.
      if (chunk > 0)
        expect(model.lastRun).toMatchObject({
          dispatches: chunk > 1 ? 8 : 11,
          submits: 1,
          readbacks: 0,
          hostFallback: [],
        });
      output.dispose();
      for (const value of args) if (value instanceof Tensor) value.dispose();
      live.push(device.counters.liveBytes);
    }
    expect(live[3]).toBe(live[1]);
    model.dispose();
    await device.flush();
  });
});
