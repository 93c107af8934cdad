import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import { openWasmDevice } from '@cresset/wasm-fuser/parts/device';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

let device: NonNullable<Awaited<ReturnType<typeof openWasmDevice>>>;

beforeAll(registerAllParts);
beforeEach(async () => {
  device = (await openWasmDevice())!;
});
afterEach(() => device.dispose());

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
    const expected = want.contiguousArray() as Float32Array;
    const differences = (got.contiguousArray() as Float32Array).map((value, at) => Math.abs(value - expected[at]));
    expect(Math.max(...differences)).toBeLessThan(1e-6);
  }
  // The first two tell that the numbers are others each time.
  expect(replayed).toEqual([false, false, false, true, true, true]);
  expect(here.explain('f').stretches.map(({ patched }) => patched)).toEqual([['a number of the program']]);
});
