import type { IValue } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { elements, longs, runAll } from '../../operator-fixture.ts';

const indicesOf = (operator: string, ...args: IValue[]): number[] => elements(runAll(operator, ...args)[1]).map(Number);

/** Expected values are PyTorch's answers on its CPU. */
describe('equal elements', () => {
  const line = longs(2n, 0n, 2n, 0n, 1n, 0n, 1n, 1n, 1n, 0n);

  it('of topk come in the order selection and sorting leave them in', () => {
    expect(indicesOf('aten::topk', line, 4n, -1n, true, true)).toEqual([2, 0, 4, 6]);
    expect(indicesOf('aten::topk', line, 4n, -1n, false, true)).toEqual([5, 9, 3, 1]);
    expect(indicesOf('aten::topk', line, 10n, -1n, true, false)).toEqual([5, 9, 2, 8, 4, 0, 6, 7, 3, 1]);
  });

  it('of topk come off a heap where few of many are wanted', () => {
    const long = longs(...Array.from({ length: 128 }, (_, at) => BigInt((at * 7) % 5)));
    expect(indicesOf('aten::topk', long, 2n, -1n, true, true)).toEqual([7, 2]);
    expect(indicesOf('aten::topk', long, 2n, -1n, false, true)).toEqual([5, 0]);
    expect(indicesOf('aten::topk', long, 24n, -1n, true, true)).toEqual([
      77, 112, 127, 2, 7, 97, 107, 117, 17, 92, 22, 82, 87, 27, 72, 67, 32, 62, 57, 37, 52, 47, 42, 122,
    ]);
  });

  it('of topk are selected by a heap where partitioning gets nowhere', () => {
    // Musser's sequence against the median of three, divided so that many elements are equal.
    const half = 200;
    const hard = Array.from({ length: 2 * half }, () => 0);
    for (let at = 1; at <= half; at++) {
      if (at % 2 === 1) {
        hard[at - 1] = at;
        hard[at] = half + at;
      }
      hard[half + at - 1] = 2 * at;
    }
    const divided = longs(...hard.map((value) => BigInt(Math.floor(value / 50))));
    expect(indicesOf('aten::topk', divided, 32n, -1n, false, true)).toEqual([
      207, 219, 6, 220, 8, 221, 10, 26, 211, 28, 210, 30, 209, 32, 208, 34, 0, 36, 206, 38, 205, 40, 204, 42, 203, 44,
      202, 46, 201, 48, 200, 12,
    ]);
    expect(indicesOf('aten::topk', divided, 200n, -1n, false, true).slice(-8)).toEqual([
      293, 198, 172, 283, 292, 284, 282, 316,
    ]);
  });

  it('of kthvalue are those quickselect ends with', () => {
    const found = Array.from({ length: 10 }, (_, at) => indicesOf('aten::kthvalue', line, BigInt(at + 1), -1n, false));
    expect(found.flat()).toEqual([5, 1, 9, 3, 7, 8, 4, 6, 2, 0]);
  });
});
