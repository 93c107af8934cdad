import { expect, test } from 'vitest';
import { shortCount, shortTime } from './short-time.ts';

test('times and counts have as many digits as are of use', () => {
  expect([0.0123, 3.456, 34.56, 345.6, 3456].map(shortTime)).toEqual([
    '0.01 ms',
    '3.46 ms',
    '34.6 ms',
    '346 ms',
    '3.5 s',
  ]);
  expect([0, 7, 1234, 34_567, 5.6e6, 7.8e9].map((count) => shortCount(count, 'B'))).toEqual([
    '0 B',
    '7 B',
    '1.2 kB',
    '35 kB',
    '5.6 MB',
    '7.8 GB',
  ]);
});
