import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import type * as Cresset from '../index.ts';

/** The library as a page has it that has loaded nothing yet: no part is registered. */
async function freshLibrary(): Promise<typeof Cresset> {
  vi.resetModules();
  return import('../index.ts');
}

const fixture = (path: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`../../../../${path}`, import.meta.url)));

const namesOf = (parts: readonly { readonly name: string }[]): string[] => parts.map(({ name }) => name).sort();

describe('the first file that a page loads', () => {
  it.each([
    ['apps/playground/public/models/digits.pt', ['padding', 'resampling']],
    ['packages/archive/fixtures/everything.pt', []],
    ['packages/archive/fixtures/frozen.pt', []],
    ['packages/archive/fixtures/traced.pt', []],
    ['packages/archive/fixtures/quantized.pt', ['quantized']],
    ['packages/archive/fixtures/quantized-layers.pt', ['quantized']],
    ['packages/archive/fixtures/weight-only.pt', ['weight-only']],
  ])('%s compiles whole with %j', async (path, parts) => {
    const { load, shutdown } = await freshLibrary();
    const model = await load(fixture(path), { device: 'cpu' });
    for (const { name, methods } of model.namedModules()) {
      const module = name === '' ? model : model.submodule(name);
      for (const method of methods) expect(await module.graph(method)).toContain('return');
    }
    expect(namesOf(model.parts)).toEqual(parts);
    await shutdown();
  });
});

describe('the first source that a page compiles', () => {
  const x = [0.5, 0.25, 2, 4];
  it.each([
    ['x.sort(-1)[0].flip([0])', ['arranging', 'sorting']],
    ['x.cumsum(0)', ['scans']],
    ['torch.fft.fft(x).abs()', ['complex', 'fourier']],
    ['F.cross_entropy(x.view(1, 4), torch.zeros(1, dtype=torch.long))', ['losses']],
    ['F.interpolate(x.view(1, 1, 4), scale_factor=2.0, mode="linear")', ['resampling', 'sorting']],
    ['torch.linalg.inv(x.view(2, 2))', ['linalg']],
    ['torch.einsum("i,j->ij", x, x)', ['einsum']],
    ['x.to(torch.complex64).angle()', ['complex']],
    ['torch.special.bessel_j0(x)', ['special']],
    ['x.relu_() @ x.view(2, 2)[0].repeat(2)', []],
  ])('%s runs with %j', async (expression, parts) => {
    const { script, shutdown, tensor } = await freshLibrary();
    const unit = await script<'run'>(`def run(x):\n    return ${expression}\n`, { device: 'cpu' });
    const result = (await unit.run(tensor(x))) as Cresset.Tensor;
    expect(result.data.length).toBeGreaterThan(0);
    expect(namesOf((await unit.run.explain()).parts)).toEqual(['authoring', 'host', ...parts].sort());
    await shutdown();
  });

  it.each([
    ['x[i] * y', ['indexing', 'loops']],
    ['x * y + i', []],
  ])('a loop of %s runs with %j', async (step, parts) => {
    const { script, shutdown, tensor } = await freshLibrary();
    const text = `def run(x, y):\n    for i in range(4):\n        y = ${step}\n    return y\n`;
    const unit = await script<'run'>(text, { device: 'cpu' });
    await unit.run(tensor(x), tensor([2]));
    expect(namesOf((await unit.run.explain()).parts)).toEqual(['authoring', 'host', ...parts].sort());
    await shutdown();
  });
});
