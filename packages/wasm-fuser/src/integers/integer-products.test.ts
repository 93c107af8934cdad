import { meterMemory } from '@cresset/tensor';
import type { IntegerRows } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { WasmIntegerProducts } from './integer-products.ts';

const products = new WasmIntegerProducts();

/** Whole numbers from −255 to 255, those at the ends among them. */
const integers = (count: number, seed: number): Int32Array =>
  Int32Array.from({ length: count }, (_, at) => ((Math.imul(at + seed, 2654435761) >>> 7) % 511) - 255);

function expected(left: Int32Array, right: Int32Array, rows: IntegerRows, sums: Int32Array): Int32Array {
  const { depth, count, outputs, rightFirst = 0, outputFirst = 0, outputStride = outputs } = rows;
  for (let row = 0; row < count; row++) {
    for (let output = 0; output < outputs; output++) {
      let sum = 0;
      for (let at = 0; at < depth; at++) {
        sum = (sum + left[row * depth + at] * right[rightFirst + output * depth + at]) | 0;
      }
      sums[row * outputStride + outputFirst + output] = sum;
    }
  }
  return sums;
}

function run(left: Int32Array, right: Int32Array, rows: IntegerRows): Int32Array {
  const { count, outputs, outputStride = outputs } = rows;
  const sums = new Int32Array(count * outputStride);
  const work = products.multiply(left, right, sums, rows)!;
  let step = work.next();
  while (!step.done) step = work.next();
  expect(step.value).toBe(true);
  return sums;
}

test.each([
  [1, 8, 1024],
  [64, 16, 8],
  [5, 7, 333],
  [4, 64, 64],
  [3, 1, 5000],
  [17, 13, 131],
  [129, 9, 27],
  [2000, 30, 300],
])('%d rows by %d outputs over %d', (count, outputs, depth) => {
  const [left, right] = [integers(count * depth, 1), integers(outputs * depth, 2)];
  const rows = { depth, count, outputs };
  expect(run(left, right, rows)).toEqual(expected(left, right, rows, new Int32Array(count * outputs)));
});

test('sums are those of 32 bits beyond their range', () => {
  const depth = 40_000;
  const [left, right] = [new Int32Array(depth).fill(255), new Int32Array(4 * depth).fill(-255)];
  const rows = { depth, count: 1, outputs: 4 };
  expect(run(left, right, rows)).toEqual(expected(left, right, rows, new Int32Array(4)));
});

test('rows of a group go between those of others', () => {
  const [count, depth] = [50, 36];
  const [left, right] = [integers(count * depth, 3), integers(24 * depth, 4)];
  const sums = new Int32Array(count * 24);
  for (const group of [0, 1, 2]) {
    const rows = { depth, count, outputs: 8, rightFirst: 8 * group * depth, outputFirst: 8 * group, outputStride: 24 };
    const own = run(left, right, rows);
    own.forEach((value, at) => {
      if (Math.floor((at % 24) / 8) === group) sums[at] = value;
      else expect(value).toBe(0);
    });
  }
  expect(sums).toEqual(expected(left, right, { depth, count, outputs: 24 }, new Int32Array(count * 24)));
});

test('a weight stays packed, and what is worked in is given back', () => {
  const rows = { depth: 64, count: 64, outputs: 64 };
  const [left, right] = [integers(64 * 64, 5), integers(64 * 64, 6)];
  const first = run(left, right, rows);
  const taken = products.takenBytes;
  expect(run(left, right, rows)).toEqual(first);
  expect(products.takenBytes).toBe(taken);
});

test('what is small is left to others', () => {
  const [left, right] = [integers(64 * 64, 7), integers(64 * 64, 8)];
  expect(products.multiply(left, right, new Int32Array(64), { depth: 64, count: 1, outputs: 64 })).toBeNull();
});

test('two that need a weight at the same time pack it together, and neither disturbs the other', () => {
  const rows = { depth: 4096, count: 1, outputs: 256 };
  const weight = integers(256 * 4096, 10);
  const both = [9, 11].map((seed) => {
    const [left, sums] = [integers(4096, seed), new Int32Array(256)];
    return { left, sums, work: products.multiply(left, weight, sums, rows)! };
  });
  const before = products.takenBytes;
  expect(both[0].work.next().done).toBe(false);
  const kept = products.takenBytes;
  expect(kept).toBeGreaterThan(before);
  let open = both;
  while (open.length > 0) {
    open = open.filter(({ work }) => {
      const step = work.next();
      if (step.done) expect(step.value).toBe(true);
      return !step.done;
    });
  }
  for (const { left, sums } of both) expect(sums).toEqual(expected(left, weight, rows, new Int32Array(256)));
  expect(products.takenBytes).toBe(kept);
});

test('a packing that was ended is gone on with where it ended', () => {
  const rows = { depth: 40_000, count: 1, outputs: 14 };
  const [left, weight] = [integers(40_000, 12), integers(14 * 40_000, 13)];
  const steps = (work: Generator<void, boolean>, most: number): number => {
    let count = 0;
    while (count < most && !work.next().done) count++;
    return count;
  };
  const sums = new Int32Array(14);
  const whole = steps(new WasmIntegerProducts().multiply(left, weight, sums, rows)!, Infinity);
  const ended = products.multiply(left, weight, sums, rows)!;
  expect(steps(ended, 2)).toBe(2);
  ended.return(false);
  sums.fill(0);
  expect(steps(products.multiply(left, weight, sums, rows)!, Infinity)).toBe(whole - 2);
  expect(sums).toEqual(expected(left, weight, rows, new Int32Array(14)));
  expect(run(left, weight, rows)).toEqual(sums);
});

test('what rows are staged in counts as scratch memory until they are multiplied', () => {
  let [taken, most] = [0, 0];
  const before = meterMemory({
    take: () => {},
    made: () => {},
    takeScratch: (byteLength) => (most = Math.max(most, (taken += byteLength))),
    giveUpScratch: (byteLength) => (taken -= byteLength),
  });
  try {
    const rows = { depth: 300, count: 4000, outputs: 30 };
    run(integers(4000 * 300, 14), integers(30 * 300, 15), rows);
  } finally {
    meterMemory(before);
  }
  // Of eight panels of lines of 38 vectors.
  expect(taken).toBe(8 * 4 * 38 * 8 * 2);
  expect(most).toBeLessThan(4 * 4000 * 300);
});

test('a program at its limit is told so, and multiplies nothing', () => {
  const refusal = new Error('MEMORY_LIMIT');
  const before = meterMemory({
    take: () => {},
    made: () => {},
    takeScratch: () => {
      throw refusal;
    },
    giveUpScratch: () => {},
  });
  const kept = products.takenBytes;
  try {
    const rows = { depth: 300, count: 40, outputs: 30 };
    expect(() => run(integers(40 * 300, 16), integers(30 * 300, 17), rows)).toThrow(refusal);
  } finally {
    meterMemory(before);
  }
  expect(products.takenBytes).toBe(kept);
});
