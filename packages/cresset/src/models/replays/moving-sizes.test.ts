import { registerAllParts } from '@cresset/runtime';
import { ShapeEnv, type List, type Tuple } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it, vi } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';
import { callAtLengths } from './moving-sizes-fixture.ts';

beforeAll(registerAllParts);

/**
 * Programs, and lengths for which nothing was replayed: the first, the second with its sizes open, those that programs go by themselves (0, 1, either
 * side of a branch or of what pays).
 */
const programs: [string, number[]][] = [
  ['pointwise', [544, 545, 1, 0]],
  ['rows', [544, 545, 1, 0]],
  ['halves', [544, 560, 2, 0]],
  ['attention', [544, 545, 1, 0]],
  ['written', [544, 545, 2, 1, 0]],
  ['longer', [544, 545, 1001, 1, 0]],
  ['normalised', [544, 545, 1]],
  ['heads', [544, 545, 33, 1, 4096]],
  ['windows', [544, 545, 7]],
  ['pictures', [544, 560]],
  ['arranged', [544, 545, 1]],
  ['running', [544, 545, 33, 1, 0]],
  ['divided', [544, 545, 1, 0]],
  ['rearranged', [544, 545, 560, 2, 1]],
  ['resized', [544, 545, 1]],
  ['recurrent', [545, 1, 0]],
  ['pooled', [544, 545, 2, 1, 0]],
];

it.each(programs)('a recording holds for any size: %s', async (name, unlike) => {
  const device = new WasmDevice();
  // Of the first size, of the second with its sizes open, and of sizes that programs go by themselves: 0, 1, either side of a branch.
  const { notReplayed, recordings } = await callAtLengths(name, device);
  expect(notReplayed).toEqual(unlike);
  expect(recordings).toBeLessThanOrEqual(8);
  device.dispose();
});

it('gives sizes, and lists of some, as they are each time', async () => {
  const device = new WasmDevice();
  const functions = new PythonFunctions(
    `
def f(x: Tensor, n: int):
    both = [x.size(0), x.size(1) + 1]
    lists = [both, [x.size(1)]]
    y = torch.tanh(x)
    for i in range(n):
        y = torch.tanh(y) + both[1]
    return both, lists, x.size(1) * 2, y
`,
    { device },
  );
  for (const length of [1000, 1001, 1003, 700, 1001]) {
    const { items } = (await functions.call('f', [tensorOf([2, length]), 3n])) as Tuple;
    const [both, lists, twice] = items as [List, List, bigint];
    expect(both.items.map(Number)).toEqual([2, length + 1]);
    expect(lists.items.map((list) => (list as List).items.map(Number))).toEqual([[2, length + 1], [length]]);
    expect(twice).toBe(BigInt(length * 2));
  }
  expect(functions.explain('f').stretches[0].recordings).toBe(2);
  device.dispose();
});

it('makes nothing ready for a size that moved', async () => {
  const device = new WasmDevice();
  const functions = new PythonFunctions(
    `
def f(x: Tensor, w: Tensor, y: Tensor):
    z = torch.tanh(y @ w) @ w
    return torch.softmax(x * 0.5, -1).sum() + z
`,
    { device },
  );
  const once = async (length: number): Promise<number> => {
    const { prepared } = device.counters;
    await functions.call('f', [tensorOf([4, length]), tensorOf([64, 64]), tensorOf([32, 64])]);
    return device.counters.prepared - prepared;
  };
  for (const length of [400, 401, 402]) await once(length);
  expect([await once(700), await once(402), await once(1200)]).toEqual([0, 0, 0]);
  device.dispose();
});

it('has no more symbols for a dimension that came out as one number twice', async () => {
  const device = new WasmDevice();
  const functions = new PythonFunctions(
    `
def f(x: Tensor, y: Tensor):
    return torch.tanh(x ** x.size(0)).sum() + y * 2
`,
    { device },
  );
  const symbol = vi.spyOn(ShapeEnv.prototype, 'symbol');
  const made = async (first: number, second: number): Promise<number> => {
    symbol.mockClear();
    // What is new at a place where recordings were of no use is recorded when it comes again.
    for (let time = 0; time < 2; time++) await functions.call('f', [tensorOf([first]), tensorOf([second])]);
    return symbol.mock.calls.length;
  };
  const counts: number[] = [];
  for (const first of [2000, 2001, 2002, 2003, 2004]) counts.push(await made(first, 3000));
  expect(counts).toEqual([0, 1, 1, 0, 0]);
  // Others are symbols all the same.
  expect(await made(2004, 3001)).toBe(1);
  expect(await made(2004, 3002)).toBe(0);
  device.dispose();
});
