import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MemorySource, readModule, StreamedSource, type ByteSource } from '@cresset/archive';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import { Tensor, type IValue } from '@cresset/tensor';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// The models lie beside the repository; where they do not, there is nothing to compare.
const models = fileURLToPath(new URL('../../../../../../shared/models/', import.meta.url));

/** A zip may stand behind other bytes: so many that the file counts as a large one. */
const BEFORE = 40 << 20;

/** A file behind bytes that nobody asks for. */
class LargeFile extends StreamedSource {
  readonly name = 'large.pt';
  readonly size: number;
  reads = 0;

  constructor(private readonly file: Uint8Array) {
    super();
    this.size = BEFORE + file.byteLength;
  }

  async *stream(offset: number, length: number): AsyncGenerator<Uint8Array> {
    this.reads++;
    await new Promise((resolve) => setTimeout(resolve, 0));
    const result = new Uint8Array(length);
    const start = Math.max(offset, BEFORE);
    if (start < offset + length) {
      result.set(this.file.subarray(start - BEFORE, offset + length - BEFORE), start - offset);
    }
    yield result;
  }
}

let device: WebGpuDevice;
beforeAll(async () => {
  registerAllParts();
  device = await requestWebGpuDevice();
});
afterAll(() => device.dispose());

function waves(sizes: readonly number[]): Tensor {
  const count = sizes.reduce((product, size) => product * size, 1);
  return Tensor.fromArray(
    Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.37)),
    sizes,
    'float32',
  );
}

async function run(
  source: ByteSource,
  on: WebGpuDevice | null,
  args: () => IValue[],
): Promise<{ outputs: number[][]; dispatches: number; fallback: readonly unknown[] }> {
  const { module, unit, weights } = await readModule(source);
  const model = new ScriptModule(module, unit, new RuntimeContext({ device: on }), { weights });
  const outputs: number[][] = [];
  // Where weights are waited for, the second run is recorded, and the third replayed.
  for (let call = 0; call < 3; call++) {
    const result = await model.call('forward', args(), { resultToHost: true });
    const tensors = (result instanceof Tensor ? [result] : (result as { items: IValue[] }).items).filter(
      (each) => each instanceof Tensor,
    );
    outputs.push(...tensors.map((each) => Array.from(each.contiguousArray() as Float32Array, Number)));
  }
  const { dispatches, hostFallback } = model.lastRun!;
  model.dispose();
  return { outputs, dispatches, fallback: hostFallback };
}

const cases: readonly (readonly [file: string, args: () => IValue[]])[] = [
  ['resnet18/resnet18.pt', () => [waves([1, 3, 32, 32])]],
  ['resnet18/resnet18.frozen.pt', () => [waves([1, 3, 32, 32])]],
  ['silero-vad/silero_vad.pt', () => [waves([1, 512]), 16000n]],
  ['unet/unet.pt', () => [waves([1, 3, 32, 32])]],
];

describe.skipIf(!existsSync(models))('models whose weights are read when they are needed', () => {
  it.each(cases)(
    '%s gives what it gives with all weights in memory',
    async (file, args) => {
      const bytes = new Uint8Array(readFileSync(models + file));
      for (const on of [null, device]) {
        const wanted = await run(new MemorySource(bytes), on, args);
        const source = new LargeFile(bytes);
        const got = await run(source, on, args);
        expect({ ...got, outputs: got.outputs.length }).toEqual({ ...wanted, outputs: wanted.outputs.length });
        got.outputs.forEach((output, at) =>
          // A replay makes fewer launches of the same work: its last digits are others.
          output.forEach((value, element) => expect(value).toBeCloseTo(wanted.outputs[at][element], 4)),
        );
        // The directory, what is at the end, pickles and code; then weights in a few goes.
        expect(source.reads).toBeLessThan(20);
      }
    },
    120_000,
  );
});
