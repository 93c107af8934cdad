import { expect, it } from 'vitest';
import { failure } from '../../../../test-setup/failure.ts';
import { PartLoader } from './part-loader.ts';
import { ProgramParts } from './program-parts.ts';

it('fetches a part once, and again where that failed', async () => {
  const fetched: string[] = [];
  let isOffline = true;
  const loader = new PartLoader({
    linalg: async () => {
      fetched.push('linalg');
      if (isOffline) throw new TypeError('offline');
      return { register: () => void fetched.push('registered') };
    },
  });
  await expect(loader.need('linalg')).rejects.toThrow('offline');
  isOffline = false;
  await Promise.all([loader.need('linalg'), loader.need('linalg')]);
  await loader.need('linalg');
  expect(fetched).toEqual(['linalg', 'linalg', 'registered']);
  expect((await failure(loader.need('vision'))).code).toBe('PART_MISSING');
});

it('says what of a program needs a part', async () => {
  const fetched: string[] = [];
  const record = (name: string) => async () => ({ register: () => void fetched.push(name) });
  const parts = new ProgramParts(new PartLoader({ quantized: record('quantized') }));
  const pickle = new TextEncoder().encode('__torch__.torch.classes.quantized.LinearPackedParamsBase\n');
  await parts.needForFile({
    code: ['def forward(self, x):\n  return torch.relu(x)\n'],
    pickles: [pickle],
  });
  expect(fetched).toEqual(['quantized']);
  expect(parts.uses).toEqual([{ name: 'quantized', reason: 'a layer with packed weights' }]);
});
