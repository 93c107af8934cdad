import { afterEach, expect, test, vi } from 'vitest';
import { collectGarbage } from '../../../../test-setup/collect-garbage.ts';
import { createModule, freeze, memory, script, shutdown, tensor, type ScriptModule, type Tensor } from '../index.ts';

afterEach(() => shutdown());

const OPTIONS = { device: 'cpu', worker: false } as const;

async function layer(): Promise<ScriptModule> {
  const module = await createModule('Layer', OPTIONS);
  await module.registerParameter('weight', tensor(Float32Array.of(2, 3)));
  await module.define('def forward(self, x):\n    return x * self.weight\n');
  return module;
}

/** Resolves when there are so many models left; fails where that takes too long. */
const modelsToBe = (count: number): Promise<void> =>
  vi.waitFor(
    async () => {
      collectGarbage();
      expect((await memory()).models).toBe(count);
    },
    { timeout: 20_000, interval: 20 },
  );

const numbersOf = (value: unknown): number[] => Array.from((value as Tensor).data as Float32Array);

test('models that nobody refers to any more are freed, whatever they were made by', async () => {
  const kept = await layer();
  const makeOthers = async (): Promise<void> => {
    const model = await layer();
    await model.forward(tensor(Float32Array.of(1, 1)));
    await freeze(await model.eval());
    await script('def twice(x: Tensor):\n    return x * 2\n', OPTIONS);
  };
  await makeOthers();
  expect((await memory()).models).toBe(4);
  await modelsToBe(1);
  expect(numbersOf(await kept.forward(tensor(Float32Array.of(1, 1))))).toEqual([2, 3]);
  await kept.dispose();
  expect((await memory()).models).toBe(0);
});

test('what is in use stays: a function, a call under way, a module below, what another program has', async () => {
  const x = tensor(Float32Array.of(1, 1));
  const { twice } = await script<'twice'>('def twice(x: Tensor):\n    return x * 2\n', OPTIONS);
  const call = (await layer()).forward(x);
  const holder = await createModule('Holder', OPTIONS);
  await holder.registerModule('below', await layer());
  await holder.define('def forward(self, x):\n    return self.below(x)\n');
  const below = (await layer()).submodule('');
  await modelsToBe(4);
  expect(numbersOf(await twice(x))).toEqual([2, 2]);
  expect(numbersOf(await call)).toEqual([2, 3]);
  expect(numbersOf(await holder.forward(x))).toEqual([2, 3]);
  expect(numbersOf(await below.forward(x))).toEqual([2, 3]);
});
