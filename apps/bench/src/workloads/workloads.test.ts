import { expect, test } from 'vitest';
import { workloads } from './workloads.ts';
import type { CallValue, Sequence } from './workload.ts';

/** Sizes of all that a sequence is given. */
function sizesOf({ before, calls }: Sequence): string {
  const sizes = (value: CallValue): unknown => {
    if (typeof value === 'number') return value;
    if ('shape' in value) return value.shape;
    if ('carried' in value) return 'carried';
    return ('tuple' in value ? value.tuple : value).map(sizes);
  };
  return JSON.stringify([...before, ...calls].map(({ inputs }) => inputs.map(sizes)));
}

// How many boxes an image has is not told by its size.
const bySizes = workloads.filter(({ name }) => name !== 'detection');

test.each(bySizes)('$name: sizes that are to be new are none of the known ones', ({ known, fresh, onnx }) => {
  for (const each of onnx === null || onnx === 'same' ? [{ known, fresh }] : [{ known, fresh }, onnx]) {
    const seen = new Set(each.known.map(sizesOf));
    const found = each.fresh.map(sizesOf);
    expect(found.length).toBeGreaterThan(0);
    for (const sizes of found) expect(seen).not.toContain(sizes);
    expect(new Set(found).size).toBe(found.length);
  }
});

test('names are distinct', () => {
  expect(new Set(workloads.map(({ name }) => name)).size).toBe(workloads.length);
});
