import { CressetError } from '@cresset/ir';
import { PhiloxGenerator, registerAllParts } from '@cresset/runtime';
import type { Tensor, Tuple } from '@cresset/tensor';
import { openWasmDevice } from '@cresset/wasm-fuser/parts/device';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { failure } from '../../../../../test-setup/failure.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);
afterEach(() => void vi.restoreAllMocks());

const source = `
def f(x: Tensor, mask: Tensor):
    x.add_((1.0 - mask) * -2.0)
    y = torch.dropout(x * 2, 0.5, True)
    return (y, torch.softmax(x, -1))
`;

const lacksMemory = (): never => {
  throw new CressetError('MEMORY_LIMIT', 'for this test');
};

async function outcome(functions: PythonFunctions, call: number): Promise<number[][]> {
  const x = tensorOf([40, 50], call);
  const result = (await functions.call('f', [x, tensorOf([50], call)])) as Tuple;
  await x.storage.toHost();
  return [...(result.items as Tensor[]), x].map((tensor) => Array.from(tensor.contiguousArray() as Float32Array));
}

it('a replay for which there is no memory does nothing, and what it stands for is done in smaller steps', async () => {
  const device = (await openWasmDevice())!;
  const [here, there] = [device, device].map(
    (each) => new PythonFunctions(source, { device: each, generator: new PhiloxGenerator(7n) }),
  );
  let calls = 0;
  for (; calls < 3; calls++) expect(await outcome(here, calls)).toEqual(await outcome(there, calls));
  const { replayed, dispatches, hostSmall } = here.module.lastRun!;
  expect(replayed).toBe(dispatches);
  expect(hostSmall).not.toEqual([]);
  const failing: number[] = [];
  for (let at = 0; ; at++, calls++) {
    const want = await outcome(there, calls);
    const { allocate } = device;
    let count = 0;
    const spy = vi.spyOn(device, 'allocate').mockImplementation((...args) => {
      return count++ === at ? lacksMemory() : allocate.apply(device, args);
    });
    // An argument that does not reach the device has nothing to do with replays.
    const got = await outcome(here, calls);
    spy.mockRestore();
    if (count <= at) break;
    expect(got).toEqual(want);
    failing.push(at);
  }
  expect(failing.length).toBeGreaterThan(3);
  device.dispose();
});

it('memory that a replay lacks in the midst of its launches is told, and nothing of them is done twice', async () => {
  const device = (await openWasmDevice())!;
  const program = `
def f(x: Tensor, w: Tensor):
    x.add_(1)
    return x @ w
`;
  const functions = new PythonFunctions(program, { device });
  const call = async (x: Tensor): Promise<unknown> => functions.call('f', [x, tensorOf([64, 64])]);
  for (let run = 0; run < 3; run++) await call(tensorOf([64, 64]));
  expect(functions.module.lastRun!.replayed).toBeGreaterThan(0);
  const x = tensorOf([64, 64]);
  const before = Array.from(x.contiguousArray() as Float32Array);
  vi.spyOn(device.launches, 'run').mockImplementationOnce(lacksMemory);
  expect((await failure(call(x))).code).toBe('MEMORY_LIMIT');
  await x.storage.toHost();
  expect(Array.from(x.contiguousArray() as Float32Array)).toEqual(before.map((value) => Math.fround(value + 1)));
  device.dispose();
});
