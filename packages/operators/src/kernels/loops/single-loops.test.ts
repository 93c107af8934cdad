import { describe, expect, it } from 'vitest';
import type { Lane } from './lanes.ts';
import { singleLoops } from './single-loops.ts';

const functions: Record<string, (x: number, y: number) => number> = {
  exp: Math.exp,
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
};

const value = (at: number): number => Math.fround(((at * 37) % 101) / 10 - 5);
const laneOf = (at: number, row: number, column: number, of = value): Lane => ({
  array: Float32Array.from({ length: 400 }, (_, i) => of(i)),
  at,
  row,
  column,
});

describe.each(Object.keys(singleLoops))('the loop of %s', (name) => {
  const loop = singleLoops[name]!;

  it.each([
    ['rows in memory', 1, 1, 1],
    ['one value a row on the right', 1, 1, 0],
    ['one value a row on the left', 1, 0, 1],
    ['one value a row on both sides', 1, 0, 0],
    ['columns at distances', 2, 3, 4],
  ])('takes %s', (_, stride, strideX, strideY) => {
    for (const columns of [1, 2, 3, 4, 5, 7, 8, 9]) {
      const out = laneOf(3, 40, stride, () => -1);
      const x = laneOf(1, strideX === 0 ? 1 : 40, strideX);
      const y = laneOf(2, 50, strideY, (at) => value(at + 9));
      const expected = Float32Array.from(out.array as Float32Array);
      for (let row = 0; row < 3; row++) {
        for (let column = 0; column < columns; column++) {
          expected[3 + row * 40 + column * stride] = functions[name](
            x.array[1 + row * x.row + column * strideX] as number,
            y.array[2 + row * 50 + column * strideY] as number,
          );
        }
      }
      loop(out, x, y, 3, columns);
      expect(out.array).toEqual(expected);
    }
  });

  it('may store its values over those it reads', () => {
    const x = laneOf(0, 0, 1);
    const y = laneOf(0, 0, 1, (at) => value(at + 9));
    const expected = Float32Array.from(x.array as Float32Array, (each, at) =>
      functions[name](each, y.array[at] as number),
    );
    loop(x, x, y, 1, 400);
    expect(x.array).toEqual(expected);
  });
});

it('e to the power of any number is what double precision gives, rounded once', () => {
  const numbers = Float32Array.from([
    ...Array.from({ length: 40_001 }, (_, at) => (at - 20_000) / 180),
    0,
    -0,
    NaN,
    Infinity,
    -Infinity,
    87,
    -87,
    88.72284,
    -103.97,
    -104,
    1e-40,
    -1e-8,
    3e38,
  ]);
  const out = { array: new Float32Array(numbers.length), at: 0, row: 0, column: 1 };
  const x = { array: numbers, at: 0, row: 0, column: 1 };
  singleLoops.exp!(out, x, x, 1, numbers.length);
  expect(out.array).toEqual(Float32Array.from(numbers, Math.exp));
});
