import { registerAllParts } from '@cresset/runtime';
import { Tensor, type List, type Tuple } from '@cresset/tensor';
import { openWasmDevice } from '@cresset/wasm-fuser/parts/device';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

let device: NonNullable<Awaited<ReturnType<typeof openWasmDevice>>>;

beforeAll(registerAllParts);
beforeEach(async () => {
  device = (await openWasmDevice())!;
});
afterEach(() => device.dispose());

function largestDifference(got: Tensor, want: Tensor): number {
  const expected = want.contiguousArray() as Float32Array;
  return (got.contiguousArray() as Float32Array).reduce(
    (largest, value, at) => Math.max(largest, Math.abs(value - expected[at])),
    0,
  );
}

it('has one recording for a number that changes, whatever it was when its launches were made', async () => {
  const source = `
def f(x: Tensor, s: float, n: int):
    y = torch.softmax(x * s, -1)
    return torch.softmax(torch.relu(y + n) - s, 0)
`;
  const here = new PythonFunctions(source, { device });
  const there = new PythonFunctions(source, {});
  const replayed: boolean[] = [];
  for (const [run, s] of [0.5, 0.25, 0.75, -4, 3, 0.125].entries()) {
    const make = (): [Tensor, number, bigint] => [tensorOf([64, 64], run), s, BigInt(run)];
    const got = (await here.call('f', make())) as Tensor;
    const want = (await there.call('f', make())) as Tensor;
    await got.storage.toHost();
    const { replayed: count, dispatches } = here.module.lastRun!;
    replayed.push(count > 0 && count === dispatches);
    expect(largestDifference(got, want)).toBeLessThan(1e-6);
  }
  // The second tells that both numbers are others each time.
  expect(replayed).toEqual([false, false, true, true, true, true]);
  expect(here.explain('f').stretches.map(({ patched }) => patched)).toEqual([['a number of the program']]);
});

it('goes on where an element of what is given is another each time, and ends where the host looks at one', async () => {
  const source = `
def f(x: Tensor, table: Tensor, n: int):
    for i in range(n):
        y = torch.softmax(torch.softmax(x, -1), 0)
        p = table[torch.full([2], i, dtype=torch.int64)].reshape([-1, 1])
        b = torch.select(table, 0, i)
        x = y * torch.neg(torch.mul(b, torch.sqrt(torch.abs(p))))
    return x
`;
  const here = new PythonFunctions(source, { device });
  const there = new PythonFunctions(source, {});
  for (let run = 0; run < 4; run++) {
    const make = (): [Tensor, Tensor, bigint] => [tensorOf([2, 4096], run), tensorOf([2], 2 + run), 2n];
    const got = (await here.call('f', make())) as Tensor;
    const want = (await there.call('f', make())) as Tensor;
    await got.storage.toHost();
    expect(largestDifference(got, want)).toBeLessThan(1e-6);
  }
  expect(here.explain('f').stretches.map(({ reason }) => reason)).toEqual(['the end of a trip of a loop']);

  // No GPU has doubles, so that such an element goes to kernels as a number.
  const scaled = `
def g(x: Tensor, s: Tensor):
    y = torch.softmax(torch.softmax(x, -1), 0)
    return torch.softmax(y * s, 0)
`;
  const doubles = new PythonFunctions(scaled, { device });
  for (const [dtype, reason] of [
    ['float32', 'the end of the function'],
    ['float64', 'elements of a value that the host looks at'],
  ] as const) {
    for (let run = 0; run < 4; run++) {
      const s = Tensor.fromArray(new (dtype === 'float32' ? Float32Array : Float64Array)([run]), [], dtype);
      await doubles.call('g', [tensorOf([2, 4096], run), s]);
    }
    expect(doubles.explain('g').stretches[0].reason).toBe(reason);
  }
});

it('programs whose first calls are small are recorded when they are not', async () => {
  const source = `
def f(x: Tensor, y: Tensor) -> Tensor:
    return torch.tanh(x * 2 + y[:1]) - 1
`;
  const functions = new PythonFunctions(source, { device });
  const replayed: boolean[] = [];
  for (let run = 0; run < 60; run++) {
    const sizes = [3, run < 40 ? 8 + run : 900 + run];
    await functions.call('f', [tensorOf(sizes, run), tensorOf(sizes, run)]);
    replayed.push(functions.module.lastRun!.replayed > 0);
  }
  expect(replayed.indexOf(true)).toBeLessThan(45);
  expect(replayed.slice(45).every(Boolean)).toBe(true);
});

it('gives what an earlier stretch made in a list that only the result holds', async () => {
  const source = `
def f(x: Tensor):
    kept = torch.softmax(torch.softmax(x, -1), 0)
    first, second = torch.chunk(torch.softmax(kept, -1), 2, -1)
    return torch.softmax(first @ second.t(), -1), [(kept, torch.softmax(second, 0))]
`;
  const here = new PythonFunctions(source, { device });
  const there = new PythonFunctions(source, {});
  const tensorsOf = async (functions: PythonFunctions, run: number): Promise<Tensor[]> => {
    const [scores, list] = ((await functions.call('f', [tensorOf([64, 64], run)])) as Tuple).items;
    const tensors = [scores, ...((list as List).items[0] as Tuple).items] as Tensor[];
    for (const { storage } of tensors) await storage.toHost();
    return tensors;
  };
  for (let run = 0; run < 4; run++) {
    const want = await tensorsOf(there, run);
    const got = await tensorsOf(here, run);
    for (const [at, each] of got.entries()) expect(largestDifference(each, want[at])).toBeLessThan(1e-6);
  }
  expect(here.module.lastRun!.replayed).toBeGreaterThan(0);
  expect(here.explain('f').stretches.length).toBe(2);
});
