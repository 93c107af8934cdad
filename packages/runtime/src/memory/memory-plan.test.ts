import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planMemory, type Lifetime } from './memory-plan.ts';

const value = (byteLength: number, first: number, last: number): Lifetime => ({ byteLength, first, last });

test('values that do not live at a time share a buffer', () => {
  const { buffers, bufferOf } = planMemory([value(8, 0, 1), value(16, 2, 3), value(4, 4, 4)]);
  expect(buffers).toEqual([16]);
  expect(bufferOf).toEqual([0, 0, 0]);
});

test('a value lives in the step that makes it and in the one that reads it last: none shares a buffer with an operand', () => {
  expect(planMemory([value(8, 0, 1), value(8, 1, 2)]).buffers).toEqual([8, 8]);
  expect(planMemory([value(8, 0, 1), value(8, 2, 2)]).buffers).toEqual([8]);
});

test('the largest values have buffers first', () => {
  const { buffers, bufferOf } = planMemory([value(4, 0, 9), value(32, 0, 3), value(16, 4, 9), value(8, 5, 6)]);
  expect(buffers).toEqual([32, 8, 4]);
  expect(bufferOf).toEqual([2, 0, 0, 1]);
});

test('nothing takes nothing', () => {
  expect(planMemory([])).toEqual({ buffers: [], bufferOf: [] });
});

const anyLifetime = fc
  .tuple(fc.nat(1000), fc.nat(40), fc.nat(10))
  .map(([byteLength, first, length]) => value(byteLength, first, first + length));

test('of any values, each has room, and none shares it with another at a time', () => {
  fc.assert(
    fc.property(fc.array(anyLifetime, { maxLength: 40 }), (values) => {
      const { buffers, bufferOf } = planMemory(values);
      expect(bufferOf).toHaveLength(values.length);
      values.forEach((own, at) => {
        expect(buffers[bufferOf[at]]).toBeGreaterThanOrEqual(own.byteLength);
        values.forEach((other, place) => {
          if (place >= at || bufferOf[place] !== bufferOf[at]) return;
          expect(own.last < other.first || other.last < own.first).toBe(true);
        });
      });
      // No buffer is there that a value has not the size of.
      const sizes = values.map(({ byteLength }) => byteLength);
      for (const byteLength of buffers) expect(sizes).toContain(byteLength);
      expect(buffers.length).toBeLessThanOrEqual(values.length);
    }),
  );
});
