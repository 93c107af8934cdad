import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { load, tensor, type Tensor } from '../../index.ts';

const file = readFileSync(new URL('../../../../../apps/playground/public/models/digits.pt', import.meta.url));

describe('loadStateDict on WebGPU', () => {
  it('takes effect in the next call, on what the GPU holds already', async () => {
    const model = await load(file, { device: 'webgpu', worker: false });
    const x = tensor(new Float32Array(784).fill(0.5), { shape: [1, 1, 28, 28] });
    const scores = async (): Promise<number[]> => [...((await model.forward(x)) as Tensor).data].map(Number);
    const first = await scores();
    const before = await model.stateDict();
    const zeros = [...before].map(([name, { data, shape, dtype }]): [string, Tensor] => [
      name,
      tensor(
        Array.from(data as ArrayLike<number | bigint>, () => 0),
        { shape, dtype },
      ),
    ]);
    await model.loadStateDict(new Map(zeros));
    const uniform = await scores();
    expect(new Set(uniform).size).toBe(1);
    expect(uniform).not.toEqual(first);
    await model.loadStateDict(before);
    expect(await scores()).toEqual(first);
    await model.dispose();
  });
});
