import { WebGpuDevice } from '@cresset/webgpu';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createModule, setJitOptions, tensor, type ScriptModule, type Tensor } from '../index.ts';

const waves = (shape: number[], from: number): Tensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length: count }, (_, at) => Math.sin(from + at)),
    shape,
  );
};

const source = `def forward(self, x):
    y = torch.nn.functional.gelu(torch.nn.functional.linear(x, self.weight))
    z = torch.softmax(y @ y.transpose(0, 1), -1)
    return (z @ y).sum(0), torch.conv2d(x.view(1, 3, 31, 37), self.kernel)`;

async function net(device: 'webgpu' | 'cpu'): Promise<ScriptModule> {
  const module = await createModule('Net', { worker: false, device });
  await module.registerParameter('weight', waves([33, 37], 1));
  await module.registerParameter('kernel', waves([5, 3, 3, 3], 2));
  return module.define(source, { filename: 'net.py' });
}

async function numbers(module: ScriptModule, run: number): Promise<number[]> {
  const results = (await module.forward(waves([93, 37], run))) as readonly Tensor[];
  const data = await Promise.all(results.map((each) => each.data));
  return data.flatMap((each) => Array.from(each as Float32Array));
}

const kernelsOf = async (module: ScriptModule) => (await module.explain()).stretches.flatMap(({ kernels }) => kernels);

afterEach(() => {
  setJitOptions({ autotune: undefined });
  vi.restoreAllMocks();
});

describe('schedules that are measured', () => {
  it('are none unless that was asked for', async () => {
    const [fetched, prepared] = [
      vi.spyOn(WebGpuDevice.prototype, 'fetchTuner'),
      vi.spyOn(WebGpuDevice.prototype, 'prepareLaunch'),
    ];
    const module = await net('webgpu');
    for (let run = 0; run < 4; run++) await numbers(module, run);
    expect(fetched).not.toHaveBeenCalled();
    expect(prepared).not.toHaveBeenCalled();
    const kernels = await kernelsOf(module);
    expect(kernels.length).toBeGreaterThan(0);
    for (const { measured } of kernels) expect(measured).toEqual([]);
    expect((await module.explain()).parts.map(({ name }) => name)).not.toContain('tuner');
    await module.dispose();
  });

  it('change no number, are told of with their times, and are found at the next load without measuring', async () => {
    const prepared = vi.spyOn(WebGpuDevice.prototype, 'prepareLaunch');
    const host = await net('cpu');
    const expected = await Promise.all([0, 1, 2, 3, 4, 5].map((run) => numbers(host, run)));
    const check = async (module: ScriptModule, run: number): Promise<void> => {
      const found = await numbers(module, run);
      expect(found).toHaveLength(expected[run].length);
      found.forEach((value, at) =>
        expect(Math.abs(value - expected[run][at])).toBeLessThan(1e-5 * (10 + Math.abs(value))),
      );
    };
    const launches = async (module: ScriptModule): Promise<number> =>
      (await module.explain()).stretches.reduce((sum, each) => sum + each.launches, 0);

    const plain = await net('webgpu');
    for (let run = 0; run < 3; run++) await numbers(plain, run);
    const usual = await launches(plain);

    setJitOptions({ autotune: true });
    const module = await net('webgpu');
    for (let run = 0; run < 6; run++) await check(module, run);
    expect(prepared.mock.calls.length).toBeGreaterThan(0);
    expect(await launches(module)).toBe(usual);
    const kernels = await kernelsOf(module);
    const measured = kernels.filter((kernel) => kernel.measured.length > 0);
    expect(measured.length).toBeGreaterThan(2);
    for (const kernel of measured) {
      expect(kernel.reason).toMatch(/; measured: (nothing is|) ?clearly faster than the rule/);
      expect(kernel.measured.map(({ schedule }) => schedule)).toContain(kernel.schedule);
      for (const { microseconds } of kernel.measured) expect(microseconds).toBeGreaterThan(0);
    }
    expect((await module.explain()).parts).toContainEqual({ name: 'tuner', reason: 'autotune' });

    prepared.mockClear();
    const second = await net('webgpu');
    for (let run = 0; run < 3; run++) await check(second, run);
    expect(prepared).not.toHaveBeenCalled();
    expect((await kernelsOf(second)).filter((kernel) => kernel.measured.length > 0)).toHaveLength(measured.length);
    await Promise.all([host, plain, module, second].map((each) => each.dispose()));
  });

  it('are asked for in the middle of a program’s life too', async () => {
    const module = await net('webgpu');
    for (let run = 0; run < 3; run++) await numbers(module, run);
    setJitOptions({ autotune: true });
    for (let run = 0; run < 4; run++) await numbers(module, run);
    expect((await kernelsOf(module)).some(({ measured }) => measured.length > 0)).toBe(true);
    await module.dispose();
  });
});
