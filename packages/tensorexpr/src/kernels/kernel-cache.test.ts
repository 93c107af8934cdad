import { expect, test } from 'vitest';
import { collectGarbage } from '../../../../test-setup/collect-garbage.ts';
import { KernelCache } from './kernel-cache.ts';

interface Code {
  readonly name: string;
}

/** Asks for each, and has it compiled where it is not there; how many that were. */
function compiledOf(cache: KernelCache<Code>, names: readonly string[]): number {
  let compiled = 0;
  for (const name of names) {
    if (cache.find(name)) continue;
    cache.add(name, { name });
    compiled++;
  }
  return compiled;
}

const names = (from: number, end: number): string[] =>
  Array.from({ length: end - from }, (_, at) => `kernel ${from + at}`);

/** References are cleared between tasks. */
async function collect(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1));
  collectGarbage();
}

test('what was asked for last is there', () => {
  const cache = new KernelCache<Code>(10);
  expect(compiledOf(cache, names(0, 10))).toBe(10);
  expect(compiledOf(cache, [...names(0, 10), ...names(0, 10)])).toBe(0);
  expect(compiledOf(cache, names(10, 20))).toBe(10);
  expect(cache.find('kernel 3')?.name).toBe('kernel 3');
});

test('of many that nobody has, twice as many stay as are kept, and those that are asked for in between', async () => {
  const cache = new KernelCache<Code>(10);
  for (let each = 0; each < 400; each++) {
    expect(compiledOf(cache, [`kernel ${each}`, 'often'])).toBe(each === 0 ? 2 : 1);
  }
  await collect();
  expect(cache.values.length).toBeLessThanOrEqual(20);
  expect(cache.find('kernel 0')).toBeUndefined();
});

test('what somebody has is found, however long ago it was asked for', async () => {
  const cache = new KernelCache<Code>(10);
  cache.add('mine', { name: 'mine' });
  const mine = cache.find('mine')!;
  compiledOf(cache, names(0, 100));
  await collect();
  compiledOf(cache, names(100, 200));
  await collect();
  expect(cache.find('mine')).toBe(mine);
  expect(cache.values).toContain(mine);
});
