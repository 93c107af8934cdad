import { settle } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { PIECE_SIZE } from '../../kernels/loops/pieces.ts';
import { adaptiveWindows, forEachWindow, slidingWindows, type PoolWindows } from './pool-windows.ts';

/** The elements of each window, in the first plane and in the last one, as offsets within a plane. */
function elementsOf(windows: readonly PoolWindows[], planes: number): number[][] {
  const found: number[][] = [];
  let stops = 0;
  const pieces = forEachWindow(windows, planes, ({ position, offsets, count, isFirst, isLast, from, to }) => {
    if (isFirst) expect(found.length).toBe(from === 0 ? position : position + 1);
    if (from === 0 && isFirst) found.push([]);
    if (from === 0) found[position].push(...offsets.subarray(0, count));
    expect(to).toBeGreaterThan(from);
    if (isLast && to === planes) expect(found).toHaveLength(position + 1);
  });
  while (!pieces.next().done) stops++;
  expect(stops).toBe(0);
  return found;
}

/** Elements that are looked at between two stops, at most, and in all. */
function workOf(windows: readonly PoolWindows[], planes: number): { most: number; total: number } {
  let [most, total, own, parts] = [0, 0, 0, 0];
  const pieces = forEachWindow(windows, planes, ({ count, from, to }) => {
    own += count * (to - from);
    parts += to - from;
  });
  for (let isDone = false; !isDone;) {
    isDone = pieces.next().done!;
    most = Math.max(most, own + parts);
    total += own;
    [own, parts] = [0, 0];
  }
  return { most, total };
}

describe('the elements of windows', () => {
  it('are those of PyTorch where windows slide', () => {
    const windows = [slidingWindows(4, 2, 3, 2, 1, 1), slidingWindows(5, 3, 2, 2, 1, 2)];
    // Rows −1…1 and 1…3, columns −1 and 1, 1 and 3, 3 and 5.
    expect(elementsOf(windows, 2)).toEqual([
      [1, 6],
      [1, 3, 6, 8],
      [3, 8],
      [6, 11, 16],
      [6, 8, 11, 13, 16, 18],
      [8, 13, 18],
    ]);
    expect([0, 1].map((o) => windows[0].paddedLength(o))).toEqual([3, 3]);
  });

  it('are none where a window lies in the padding', () => {
    expect(elementsOf([slidingWindows(2, 2, 2, 3, 0, 1), slidingWindows(1, 1, 1, 1, 0, 1)], 1)).toEqual([[0, 1], []]);
  });

  it('divide the input where windows adapt', () => {
    expect(elementsOf([adaptiveWindows(5, 3)], 1)).toEqual([
      [0, 1],
      [1, 2, 3],
      [3, 4],
    ]);
  });

  it('are all of a plane where one window covers it', () => {
    const windows = [adaptiveWindows(90, 1), adaptiveWindows(100, 1)];
    expect(elementsOf(windows, 3)).toEqual([Array.from({ length: 9000 }, (_, at) => at)]);
  });
});

describe('a pool stops', () => {
  it.each([
    ['one window over many elements', [adaptiveWindows(1 << 12, 1), adaptiveWindows(1 << 12, 1)], 3],
    [
      'many windows of one element',
      [slidingWindows(1 << 11, 1 << 11, 1, 1, 0, 1), adaptiveWindows(1 << 10, 1 << 10)],
      1,
    ],
    ['a window in many planes', [adaptiveWindows(2, 1), adaptiveWindows(2, 1)], 1 << 22],
  ] as const)('as elements add up: %s', (_, windows, planes) => {
    const { most, total } = workOf(windows, planes);
    expect(most).toBeLessThanOrEqual(PIECE_SIZE / 2);
    expect(total).toBe(windows.reduce((product, { inputSize }) => product * settle(inputSize), planes));
  });
});
