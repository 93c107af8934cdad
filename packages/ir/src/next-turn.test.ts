import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => vi.unstubAllGlobals());

test('a scope that has neither timers nor channels goes on without a turn between', async () => {
  vi.resetModules();
  for (const name of ['setImmediate', 'scheduler', 'MessageChannel']) vi.stubGlobal(name, undefined);
  const { nextTurn } = await import('./next-turn.ts');
  const order: string[] = [];
  const done = nextTurn().then(() => order.push('later'));
  order.push('at once');
  await done;
  expect(order).toEqual(['at once', 'later']);
});
