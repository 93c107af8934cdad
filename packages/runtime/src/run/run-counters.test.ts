import { describe, expect, it } from 'vitest';
import { Counts, countNames } from './run-counters.ts';

describe('Counts', () => {
  const recorded = countNames(['relu', 'add', 'relu']);

  it('are rows, the most frequent first', () => {
    const counts = new Counts();
    expect(counts.isEmpty).toBe(true);
    for (const name of ['add', 'relu', 'relu']) counts.add(name);
    expect(counts.rows).toEqual([
      ['relu', 2],
      ['add', 1],
    ]);
    expect(counts.isEmpty).toBe(false);
  });

  it('of one recording alone are the same rows', () => {
    const counts = new Counts();
    counts.addAll(recorded);
    expect(counts.rows).toBe(recorded);
  });

  it('of a recording and of what runs beside it are added up, and leave its own as they were', () => {
    const counts = new Counts();
    counts.addAll(recorded);
    counts.add('add');
    counts.add('add');
    expect(counts.rows).toEqual([
      ['add', 3],
      ['relu', 2],
    ]);
    counts.addAll(recorded);
    expect(counts.rows).toEqual([
      ['relu', 4],
      ['add', 4],
    ]);
    expect(recorded).toEqual([
      ['relu', 2],
      ['add', 1],
    ]);
  });

  it('of nothing are empty', () => {
    const counts = new Counts();
    counts.addAll(countNames([]));
    expect(counts.isEmpty).toBe(true);
    expect(counts.rows).toEqual([]);
  });
});
