import { describe, expect, it } from 'vitest';
import { float8ToNumber, numberToFloat8 } from './float8.ts';

const numbers = [
  0.1,
  17.3,
  -449,
  463.9,
  464,
  465,
  480,
  1e9,
  Infinity,
  -Infinity,
  NaN,
  1e-3,
  2 ** -9,
  2 ** -10,
  2 ** -10 * 1.5,
  -0,
  3.5 * 2 ** -9,
  57344,
  61439,
  61440,
  70000,
  2 ** -16,
  2 ** -17,
  2 ** -17 * 1.01,
  240,
  247.9,
  248,
  249,
  -1e-8,
  0.3125,
  1.0625,
  1.1875,
];

/** What PyTorch 2.13 makes of these numbers; the sum of the magnitudes of all 256 codes; and which codes are NaN. */
const expected = {
  float8_e4m3fn: {
    codes: [
      29, 89, 254, 126, 126, 126, 126, 126, 126, 254, 127, 1, 1, 0, 1, 128, 4, 126, 126, 126, 126, 0, 0, 0, 119, 119,
      120, 120, 128, 42, 56, 58,
    ],
    sum: 12815.75 - 2000,
    nans: [127, 255],
  },
  float8_e5m2: {
    codes: [
      46, 76, 223, 95, 95, 95, 96, 124, 124, 252, 127, 20, 24, 20, 22, 128, 31, 123, 123, 124, 124, 1, 0, 1, 92, 92, 92,
      92, 128, 53, 60, 61,
    ],
    sum: 1926895.9995117188 - 6000 - 12e5,
    nans: [125, 126, 127, 253, 254, 255],
  },
  float8_e4m3fnuz: {
    codes: [
      37, 97, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1, 2, 1, 2, 0, 7, 128, 128, 128, 128, 0, 0, 0, 127, 127, 128,
      128, 0, 50, 64, 66,
    ],
    sum: 6887.875 - 1000,
    nans: [128],
  },
  float8_e5m2fnuz: {
    codes: [
      50, 80, 227, 99, 99, 99, 100, 128, 128, 128, 128, 24, 28, 24, 26, 0, 35, 127, 127, 128, 128, 2, 1, 1, 96, 96, 96,
      96, 0, 57, 64, 65,
    ],
    sum: 721895.9997558594 - 1000,
    nans: [128],
  },
} as const;

describe('float8', () => {
  it.each(Object.keys(expected) as (keyof typeof expected)[])('%s is what PyTorch has', (dtype) => {
    const { codes, sum, nans } = expected[dtype];
    const toNumber = float8ToNumber(dtype)!;
    const toBits = numberToFloat8(dtype)!;
    expect(numbers.map(toBits)).toEqual(codes);
    const all = Array.from({ length: 256 }, (_, code) => toNumber(code));
    expect(all.flatMap((value, code) => (Number.isNaN(value) ? [code] : []))).toEqual(nans);
    expect(all.filter(Number.isFinite).reduce((total, value) => total + Math.abs(value), 0)).toBeCloseTo(sum, 8);
    // Every number that has a code keeps it.
    all.forEach((value, code) => {
      if (Number.isFinite(value)) expect(toBits(value)).toBe(code);
    });
  });

  it('is no other dtype', () => {
    expect([float8ToNumber('float16'), numberToFloat8('uint8')]).toEqual([undefined, undefined]);
  });
});
