import { expect, test } from 'vitest';
import { bfloatToNumber, halfToNumber, numberToBfloat, numberToHalf } from './float16.ts';

const patterns = Array.from({ length: 2 ** 16 }, (_, bits) => bits);

test('a half becomes the number that it is, and that number the same half', () => {
  const changed = patterns.filter(
    (bits) => !Number.isNaN(halfToNumber(bits)) && numberToHalf(halfToNumber(bits)) !== bits,
  );
  expect(changed).toEqual([]);
});

test('a bfloat16 becomes the number that it is, and that number the same bfloat16', () => {
  const kept = patterns.filter((bits) => !Number.isNaN(bfloatToNumber(bits)));
  expect(kept.filter((bits) => numberToBfloat(bfloatToNumber(bits)) !== bits)).toEqual([]);
});

test('NaN is one pattern, whatever the bits of the number', () => {
  const words = new Float64Array(
    new BigUint64Array([0x7ff8000000000000n, 0xfff8000000000000n, 0xffffffffffffffffn]).buffer,
  );
  expect(Array.from(words, numberToHalf)).toEqual([0x7e00, 0x7e00, 0x7e00]);
  expect(Array.from(words, numberToBfloat)).toEqual([0x7fc0, 0x7fc0, 0x7fc0]);
});
