import { FloatType } from '@cresset/ir';
import { List } from '@cresset/tensor';
import { expect, test } from 'vitest';
import { ints, run, shown, tensor } from '../../operator-fixture.ts';

const image = tensor([3, 250, 17, 90, 0, 255, 128, 64, 201, 33, 7, 5], [1, 1, 3, 4], 'uint8');

test.each([
  ['upsample_bilinear2d', [2n, 3n], [44, 149, 77, 140, 63, 23]],
  ['upsample_bicubic2d', [2n, 3n], [36, 174, 76, 146, 56, 20]],
  [
    'upsample_bicubic2d',
    [4n, 6n],
    [0, 149, 236, 40, 28, 99, 0, 144, 255, 133, 74, 78, 78, 131, 170, 115, 61, 35, 232, 118, 0, 0, 0, 1],
  ],
  ['_upsample_bilinear2d_aa', [2n, 3n], [77, 156, 74, 123, 85, 35]],
  ['_upsample_bicubic2d_aa', [2n, 3n], [71, 170, 67, 129, 83, 29]],
  ['_upsample_lanczos2d_aa', [2n, 3n], [76, 182, 55, 131, 84, 27]],
])('%s of bytes rounds after each dimension', (name, sizes, expected) => {
  const [, values] = shown(run(`aten::${name}`, image, ints(...sizes), false, null, null));
  expect(values).toEqual(expected);
});

test('bytes are averaged in images only', () => {
  const factors = new List(FloatType.get(), [2]);
  const line = tensor([1, 2], [1, 1, 2], 'uint8');
  expect(() => run('aten::upsample_linear1d.vec', line, null, false, factors)).toThrow(
    '"compute_indices_weights_linear" not implemented for \'Byte\'',
  );
  expect(shown(run('aten::upsample_nearest1d.vec', line, null, factors))[1]).toEqual([1, 1, 2, 2]);
  const whole = tensor([1, 2], [1, 1, 1, 2], 'int32');
  expect(() => run('aten::_upsample_bicubic2d_aa', whole, ints(2n, 2n), false, null, null)).toThrow(
    '"compute_index_ranges_weights" not implemented for \'Int\'',
  );
});
