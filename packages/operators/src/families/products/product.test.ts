import { Tensor } from '@cresset/tensor';
import { expect, it } from 'vitest';
import type { Pieces } from '../../kernels/loops/pieces.ts';
import { productPieces } from './product.ts';

function stopsOf(pieces: Pieces): number {
  let stops = 0;
  while (!pieces.next().done) stops++;
  return stops;
}

const integers = (sizes: readonly number[], value: bigint): Tensor =>
  Tensor.fromArray(new BigInt64Array(sizes[0] * sizes[1]).fill(value), sizes, 'int64');

it('a sum of bigints stops on the way', () => {
  // As many numbers as are converted at once.
  const length = 1 << 18;
  const out = Tensor.empty([1, 1], 'int64');
  expect(stopsOf(productPieces(integers([1, length], 2n ** 60n), integers([length, 1], 1n), out))).toBe(2);
  expect(out.storageArray()[0]).toBe(0n);
});

it('integers are converted with stops on the way', () => {
  const out = Tensor.empty([1, 1], 'int64');
  const length = 1 << 20;
  // Each side is converted twice, to see how large it is and to be multiplied: in four stretches, with a stop between them.
  const stops = stopsOf(productPieces(integers([1, length], 3n), integers([length, 1], 1n), out));
  expect(stops).toBe(4 * 3);
  expect(out.storageArray()[0]).toBe(3n * BigInt(length));
});
