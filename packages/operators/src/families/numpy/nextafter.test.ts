import { Tensor } from '@cresset/tensor';
import { expect, it } from 'vitest';
import { run } from '../../operator-fixture.ts';

/** Formats, and the bits of their infinity: all numbers that are not negative come before it. */
const formats = [
  ['float16', 0x7c00],
  ['bfloat16', 0x7f80],
] as const;

it.each(formats)('nextafter of %s is the number beside it', (dtype, infinity) => {
  const halves = (bits: readonly number[]): Tensor => Tensor.fromArray(Uint16Array.from(bits), [bits.length], dtype);
  const next = (x: Tensor, y: Tensor): number[] =>
    Array.from((run('aten::nextafter', x, y) as Tensor).contiguousArray() as Uint16Array);
  const all = Array.from({ length: infinity }, (_, bits) => bits);
  const [up, down] = [infinity, infinity | 0x8000].map((bits) => halves([bits]));
  expect(next(halves(all), up)).toEqual(all.map((bits) => bits + 1));
  expect(next(halves(all), down)).toEqual(all.map((bits) => (bits === 0 ? 0x8001 : bits - 1)));
  expect(next(halves([infinity, infinity, 0]), halves([0, infinity, 0x8000]))).toEqual([
    infinity - 1,
    infinity,
    0x8000,
  ]);
  expect(next(halves([infinity + 1, 0]), halves([0, infinity + 1])).every((bits) => (bits & 0x7fff) > infinity)).toBe(
    true,
  );
});
