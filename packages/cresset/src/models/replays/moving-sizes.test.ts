import { registerAllParts } from '@cresset/runtime';
import type { Tensor, Tuple } from '@cresset/tensor';
import { openWasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, describe, expect, it } from 'vitest';
import { NullGpu } from '../../../../../test-setup/null-gpu.ts';
import { intsOf, PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

const source = `
def step(x: Tensor, w: Tensor, past: Tensor, at: Tensor, n: int):
    if n == 0:
        torch.manual_seed(7)
    y = torch.softmax(x @ w, -1) * 2.0
    y.mul_(y)
    noise = torch.rand_like(y) + torch.embedding(w, at)
    half = (y + noise).half() * 0.5
    rows = torch.cat([past, torch.relu(y @ w + noise).sum(0, keepdim=True)], 0)
    return torch.softmax(rows @ w, 0) + half.float().mean(), rows
`;

/** Results of calls of which each takes what the one before made longer. */
async function growing(functions: PythonFunctions, w: Tensor, calls: number): Promise<number[][]> {
  const results: number[][] = [];
  let past = tensorOf([2, 64], 5);
  for (let n = 0; n < calls; n++) {
    const args = [tensorOf([8, 64], n), w, past, intsOf(n, 1, 2, 3, 4, 5, 6, 7), BigInt(n)];
    const { items } = (await functions.call('step', args)) as Tuple;
    for (const each of items as Tensor[]) {
      await each.storage.toHost();
      results.push(Array.from(each.contiguousArray() as Float32Array));
    }
    past = items[1] as Tensor;
  }
  return results;
}

describe('calls whose sizes are new each time', () => {
  it('give what they give on the host, random numbers and faults among it', async () => {
    const device = (await openWasmDevice())!;
    const here = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
    const there = new PythonFunctions(source, {});
    const w = tensorOf([64, 64], 3);
    const want = await growing(there, w, 12);
    const got = await growing(here, w, 12);
    got.forEach((values, at) => {
      expect(values.length).toBe(want[at].length);
      values.forEach((value, place) => expect(Math.abs(value - want[at][place])).toBeLessThan(1e-5));
    });
    const outside = [tensorOf([8, 64]), w, tensorOf([40, 64]), intsOf(64, 1, 2, 3, 4, 5, 6, 7), 1n];
    await expect(here.call('step', outside)).rejects.toThrow('index out of range');
    device.dispose();
  });

  it('have kernels made ready for what is of another size, and for nothing else', async () => {
    const device = new NullGpu().open();
    const functions = new PythonFunctions(source, { device });
    const w = tensorOf([64, 64], 3);
    await growing(functions, w, 8);
    let past = tensorOf([40, 64]);
    const before = { ...device.counters };
    for (let n = 1; n < 5; n++) {
      const args = [tensorOf([8, 64], n), w, past, intsOf(n, 1, 2, 3, 4, 5, 6, 7), BigInt(n)];
      past = ((await functions.call('step', args)) as Tuple).items[1] as Tensor;
    }
    expect(device.counters.dispatches - before.dispatches).toBe(4 * 14);
    // Random numbers, what may note a fault, the longer rows joined, multiplied and made a softmax of, and what is added to that.
    expect(device.counters.prepared - before.prepared).toBe(4 * 7);
  });
});
