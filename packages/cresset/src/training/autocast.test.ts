import { afterAll, describe, expect, test } from 'vitest';
import { optim, shutdown, type TrainerOptions } from '../index.ts';
import { batches, distance, fixture, fresh, TOKEN_LOSS } from './training-fixture.ts';

const expected =
  fixture<Record<'bfloat16' | 'float16', Record<'mlp' | 'transformer', readonly number[]>>>('autocast.json');

afterAll(() => shutdown());

async function losses(
  name: 'mlp' | 'transformer',
  options: Pick<TrainerOptions, 'autocast' | 'checkpoint'>,
): Promise<number[]> {
  const model = await fresh(name);
  const [lr, loss] = name === 'mlp' ? [0.1, 'cross_entropy'] : [0.05, TOKEN_LOSS];
  const trainer = await model.trainer({ optimizer: optim.SGD({ lr }), loss, ...options });
  const found: number[] = [];
  for (let at = 0; at < 12; at++) found.push((await trainer.step(...batches[name](at))).loss);
  expect(model.namedParameters().every(({ dtype }) => dtype === 'float32')).toBe(true);
  return found;
}

describe.each([
  ['bfloat16', 4e-3],
  ['float16', 5e-4],
] as const)('losses within an autocast to %s', (autocast, tolerance) => {
  test.each(['mlp', 'transformer'] as const)('are those of PyTorch: %s', async (name) => {
    const found = await losses(name, { autocast });
    expect(distance(found, expected[autocast][name])).toBeLessThan(tolerance);
    expect(found).not.toEqual(await losses(name, {}));
  });
});

test('what is run again is cast again', async () => {
  const kept = await losses('transformer', { autocast: 'bfloat16' });
  expect(await losses('transformer', { autocast: 'bfloat16', checkpoint: ['blocks.1'] })).toEqual(kept);
});

test('takes dtypes of 16 bits', async () => {
  const model = await fresh('mlp');
  await expect(model.trainer({ optimizer: optim.SGD({ lr: 1 }), autocast: 'float32' as never })).rejects.toThrow(
    "option 'autocast' of trainer has to be 'float16' or 'bfloat16', but is 'float32'",
  );
});
