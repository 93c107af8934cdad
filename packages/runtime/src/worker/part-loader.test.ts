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

it('tells what else was fetched for a program, and goes without what it only wanted', async () => {
  const fetched: string[] = [];
  const loader = new PartLoader({
    plans: async () => {
      fetched.push('plans');
      return {};
    },
    saving: async () => {
      fetched.push('saving');
      throw new TypeError('offline');
    },
  });
  const parts = new ProgramParts(loader);
  parts.note('legacy-module-reader', 'an old file');
  parts.note('legacy-module-reader', 'another reason');
  for (let times = 0; times < 2; times++) {
    await parts.want('plans', 'a second call');
    await parts.want('saving', 'a wish');
  }
  // What is needed is fetched; what was only told of is no part of the loader's.
  await parts.needForValues([{ kind: 'tensor', dtype: 'float32', shape: [], data: new ArrayBuffer(4) }]);
  await parts.needForCode('', [], () => []);
  expect(fetched).toEqual(['plans', 'saving']);
  expect(parts.uses).toEqual([
    { name: 'legacy-module-reader', reason: 'an old file' },
    { name: 'plans', reason: 'a second call' },
  ]);
});
