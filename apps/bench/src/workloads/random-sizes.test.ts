import { expect, test } from 'vitest';
import { distinctShapes, distinctSizes, randomNumbers } from './random-sizes.ts';

test('numbers are those of their seed', () => {
  const [first, again, other] = [randomNumbers(1), randomNumbers(1), randomNumbers(2)].map((next) => [next(), next()]);
  expect(first).toEqual(again);
  expect(first).not.toEqual(other);
  for (const each of [...first, ...other]) expect(each >= 0 && each < 1).toBe(true);
});

test('sizes are distinct, of their range and in an order of their own', () => {
  const sizes = distinctSizes(3, 35, [5, 65]);
  expect(new Set(sizes).size).toBe(35);
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(5);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(65);
  expect(distinctSizes(3, 35, [5, 65])).toEqual(sizes);
  expect(distinctSizes(4, 35, [5, 65])).not.toEqual(sizes);
  expect(sizes).not.toEqual(sizes.toSorted((a, b) => a - b));
  expect(distinctSizes(1, 3, [7, 9]).toSorted()).toEqual([7, 8, 9]);
  expect(() => distinctSizes(1, 4, [7, 9])).toThrow('there are no 4 numbers between 7 and 9');
});

test('shapes are distinct as a whole', () => {
  const shapes = distinctShapes(5, 12, [
    [1, 3],
    [10, 13],
  ]);
  expect(new Set(shapes.map(String)).size).toBe(12);
  expect(new Set(shapes.map(([batch]) => batch))).toEqual(new Set([1, 2, 3]));
  expect(new Set(shapes.map(([, length]) => length))).toEqual(new Set([10, 11, 12, 13]));
});
