import { expect, test } from 'vitest';
import { Turns, type Uses, type Work } from './turns.ts';

const busy = (milliseconds: number): void => {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
};

function* pieces(log: string[], name: string, count: number, milliseconds: number): Work {
  for (let piece = 0; piece < count; piece++) {
    if (piece > 0) yield;
    busy(milliseconds);
    log.push(`${name}${piece}`);
  }
}

const wanted = (): Uses => ({ reads: [], stores: [{ isReleased: false }] });

const noFailure = (error: unknown): never => {
  throw error;
};

test('short work is done at once', () => {
  const turns = new Turns(noFailure);
  const log: string[] = [];
  turns.take(pieces(log, 'a', 3, 0), wanted);
  turns.after(() => log.push('end'));
  expect(log).toEqual(['a0', 'a1', 'a2', 'end']);
  expect(turns.idle).toBeNull();
});

test('long work lets others have a turn, and what comes later waits for it', async () => {
  const turns = new Turns(noFailure);
  const log: string[] = [];
  turns.take(pieces(log, 'a', 5, 30), wanted);
  turns.take(pieces(log, 'b', 1, 0), wanted);
  turns.after(() => log.push('end'));
  expect(log.at(-1)).not.toBe('end');
  expect(log).not.toContain('a4');
  setTimeout(() => log.push('other'), 0);
  await turns.idle;
  expect(log.indexOf('other')).toBeLessThan(log.indexOf('a4'));
  expect(log.filter((each) => each !== 'other')).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'b0', 'end']);
  expect(turns.idle).toBeNull();
});

test('what fails later is told, and the rest is done', async () => {
  const errors: unknown[] = [];
  const turns = new Turns((error) => errors.push(error));
  const log: string[] = [];
  turns.take(pieces(log, 'a', 3, 50), wanted);
  turns.after(() => {
    throw new Error('no');
  });
  turns.take(pieces(log, 'b', 1, 0), wanted);
  await turns.idle;
  expect(errors).toHaveLength(1);
  expect(log.at(-1)).toBe('b0');
});

test('what nobody is going to see is not done', async () => {
  const turns = new Turns(noFailure);
  const log: string[] = [];
  const [passing, result] = [{ isReleased: false }, { isReleased: false }];
  turns.take(pieces(log, 'a', 20, 15), () => ({ reads: [], stores: [passing] }));
  turns.take(pieces(log, 'b', 2, 0), () => ({ reads: [passing], stores: [result] }));
  turns.after(() => log.push('end'));
  const begun = log.length;
  expect(begun).toBeLessThan(20);
  passing.isReleased = result.isReleased = true;
  await turns.idle;
  expect(log.slice(begun)).toEqual(['end']);
});

test('what wanted work reads is done, though nobody else wants it', async () => {
  const turns = new Turns(noFailure);
  const log: string[] = [];
  const passing = { isReleased: false };
  turns.take(pieces(log, 'a', 3, 30), () => ({ reads: [], stores: [passing] }));
  turns.take(pieces(log, 'b', 2, 0), () => ({ reads: [passing], stores: [{ isReleased: false }] }));
  passing.isReleased = true;
  await turns.idle;
  expect(log).toEqual(['a0', 'a1', 'a2', 'b0', 'b1']);
});
