import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createModule, load, registerOperator, script, tensor, type Tensor } from '../index.ts';

const digits = readFileSync(new URL('../../../../apps/playground/public/models/digits.pt', import.meta.url));
const gpu = { device: 'webgpu' } as const;

/** More elements than are worth doing on the host. */
const LARGE = 5000;
const ramp = (scale = 1): Tensor =>
  tensor(Float32Array.from({ length: LARGE }, (_, index) => (index / LARGE - 0.5) * scale));

describe('custom operators on WebGPU', () => {
  it('are part of fused kernels where they are an expression or a script', async () => {
    let calls = 0;
    await registerOperator('gpu_ns::swish(Tensor x, float alpha=1.0) -> Tensor', {
      host(x: Tensor) {
        calls++;
        return x;
      },
      lowering: 'x * sigmoid(alpha * x)',
    });
    await registerOperator('gpu_ns::shifted(Tensor x) -> Tensor', {
      lowering: 'def shifted(x: Tensor):\n    return x + 1.0\n',
    });
    const unit = await script<'run'>(
      'def run(x):\n    return ops.gpu_ns.shifted(ops.gpu_ns.swish(x, 2.0)) * 3.0\n',
      gpu,
    );
    const y = (await unit.run(ramp(8))) as Tensor;
    expect(calls).toBe(0);
    const { fusionGroups } = await unit.run.explain();
    expect(fusionGroups.map(({ operators }) => operators)).toEqual([['gpu_ns::swish', 'aten::add', 'aten::mul']]);
    ramp(8).data.forEach((value, index) => {
      const x = Number(value);
      expect(y.data[index]).toBeCloseTo((x / (1 + Math.exp(-2 * x)) + 1) * 3, 3);
    });
  });

  it('run in the page where they are a function, between kernels', async () => {
    await registerOperator('gpu_ns::half(Tensor x) -> Tensor', {
      host: (x: Tensor) =>
        tensor(
          Float32Array.from(x.data as Float32Array, (value) => value / 2),
          x.shape,
        ),
    });
    const unit = await script<'run'>('def run(x):\n    return ops.gpu_ns.half(x * 4.0) + 1.0\n', gpu);
    const y = (await unit.run(ramp())) as Tensor;
    ramp().data.forEach((value, index) => expect(y.data[index]).toBeCloseTo(Number(value) * 2 + 1, 5));
    const { operators } = await unit.run.explain();
    expect(operators.find(({ name }) => name === 'gpu_ns::half')?.placement).toBe('host');
  });
});

describe('verify', () => {
  it('finds nothing in a model whose kernels are right', async () => {
    const model = await load(digits, gpu);
    const picture = tensor(
      Float32Array.from({ length: 784 }, (_, index) => (index % 28 === 14 ? 1 : 0)),
      [1, 1, 28, 28],
    );
    const report = await model.verify([picture]);
    expect(report).toMatchObject({ passed: true, differences: [] });
    expect(report.compared).toBeGreaterThan(8);
    await model.dispose();
  });

  it('names the first operator that differs, with its Python line, though it is fused', async () => {
    await registerOperator('gpu_ns::doubled(Tensor x) -> Tensor', {
      host: (x: Tensor) =>
        tensor(
          Float32Array.from(x.data as Float32Array, (value) => value * 2),
          x.shape,
        ),
      lowering: 'x * 2.01',
    });
    const unit = await script<'run'>(
      `
def inner(x):
    y = torch.sin(x)
    return ops.gpu_ns.doubled(y)

def run(x):
    z = x * 0.5 + 1.0
    return inner(z) - 1.0
`,
      { ...gpu, filename: 'author.py' },
    );
    const report = await unit.run.verify([ramp()]);
    expect(report.passed).toBe(false);
    const [first, ...others] = report.differences;
    expect(others).toEqual([]);
    expect(first.operator).toBe('gpu_ns::doubled');
    expect(first.fusedWith).toContain('sin');
    expect(first.python).toContain('File "author.py", line 8, in run');
    expect(first.python).toContain('File "author.py", line 4, in inner');
    expect(first.node).toContain('gpu_ns::doubled');
    const { index, host, device } = first.at!;
    expect(device / host).toBeCloseTo(1.005, 4);
    expect(first.maxDifference).toBeCloseTo(Math.abs(host - device), 6);
    expect(index).toHaveLength(1);
  });
});

describe('what is on the device', () => {
  it('is saved as it is now', async () => {
    const net = await createModule<'step'>('Net', gpu);
    await net.registerParameter('weight', ramp());
    await net.define(
      'def step(self, gradient):\n    self.weight.sub_(gradient * 0.1)\ndef forward(self, x):\n    return x * self.weight\n',
    );
    await net.step(ramp(10));
    await net.step(ramp(10));
    const again = await load(await net.save(), { device: 'cpu' });
    const y = (await again.forward(tensor(new Float32Array(LARGE).fill(1)))) as Tensor;
    ramp(-1).data.forEach((value, index) => expect(y.data[index]).toBeCloseTo(Number(value), 5));
  });

  it('comes back into the arguments that were written to', async () => {
    const unit = await script<'run'>('def run(x, y):\n    x += y\n    y[0] = 7.0\n', gpu);
    const x = ramp();
    const y = ramp(3);
    await unit.run(x, y);
    ramp(4).data.forEach((value, index) => expect(x.data[index]).toBeCloseTo(Number(value), 5));
    expect(y.data[0]).toBe(7);
    expect(y.data[1]).toBe(ramp(3).data[1]);
  });
});
