import { afterAll, describe, expect, test } from 'vitest';
import { optim, shutdown } from '../index.ts';
import { batches, distance, fixture, fresh, TOKEN_LOSS } from './training-fixture.ts';

const expected =
  fixture<Record<'bfloat16' | 'float16', Record<'mlp' | 'transformer', readonly number[]>>>('autocast.json');

afterAll(() => shutdown());

describe.each([
  ['bfloat16', 4e-3],
  ['float16', 5e-4],
] as const)('losses on the device within an autocast to %s', (autocast, tolerance) => {
  test.each(['mlp', 'transformer'] as const)('are those of PyTorch: %s', async (name) => {
    const model = await fresh(name, 'webgpu');
    const [lr, loss] = name === 'mlp' ? [0.1, 'cross_entropy'] : [0.05, TOKEN_LOSS];
    const trainer = await model.trainer({ optimizer: optim.SGD({ lr }), loss, autocast });
    const found: number[] = [];
    for (let at = 0; at < 12; at++) found.push((await trainer.step(...batches[name](at))).loss);
    expect(distance(found, expected[autocast][name])).toBeLessThan(tolerance);
    const { submits, readbacks, hostFallback } = model.lastRun!;
    expect({ submits, readbacks, hostFallback }).toEqual({ submits: 1, readbacks: 1, hostFallback: [] });
    expect(model.namedParameters().every(({ dtype }) => dtype === 'float32')).toBe(true);
    await model.dispose();
  });
});
