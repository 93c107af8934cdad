import { afterAll, expect, test } from 'vitest';
import { memory, optim, shutdown } from '../index.ts';
import { batches, distance, fixture, fresh, TOKEN_LOSS } from './training-fixture.ts';

const whole = fixture<{ readonly mlp: readonly number[]; readonly transformer: readonly number[] }>('training.json');

afterAll(() => shutdown());

test('a perceptron, which is too small for the device, trains as in PyTorch', async () => {
  const model = await fresh('mlp', 'webgpu');
  const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 0.1, momentum: 0.9 }), loss: 'cross_entropy' });
  const losses: number[] = [];
  for (let at = 0; at < 50; at++) losses.push((await trainer.step(...batches.mlp(at))).loss);
  expect(distance(losses, whole.mlp)).toBeLessThan(1e-3);
  await model.dispose();
});

test('a transformer trains on the device as in PyTorch, a submit and a readback a step', async () => {
  const model = await fresh('transformer', 'webgpu');
  const trainer = await model.trainer({ optimizer: optim.AdamW({ lr: 3e-3 }), loss: TOKEN_LOSS, clipGradNorm: 1e6 });
  const losses: number[] = [];
  const bytes: number[] = [];
  for (let at = 0; at < 50; at++) {
    const { loss, gradNorm } = await trainer.step(...batches.transformer(at));
    expect(gradNorm).toBeGreaterThan(0);
    losses.push(loss);
    bytes.push((await memory()).deviceBytes);
  }
  expect(distance(losses, whole.transformer)).toBeLessThan(1e-3);
  const { submits, readbacks, hostFallback } = model.lastRun!;
  expect({ submits, readbacks, hostFallback }).toEqual({ submits: 1, readbacks: 2, hostFallback: [] });
  // What a step needs is given up with it.
  expect(bytes.at(-1)).toBe(bytes[10]);
  await model.dispose();
});
