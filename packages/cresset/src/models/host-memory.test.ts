import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { expect, test, vi } from 'vitest';
import { PythonFunctions, tensorOf } from './python-functions-fixture.ts';

registerAllParts();

test('a replay for which a WebAssembly memory has no room is done operator by operator', async () => {
  const device = new WasmDevice();
  const line = '    y = torch.softmax(y @ w, -1)\n';
  const functions = new PythonFunctions(
    `def f(x: Tensor, w: Tensor):\n    x.add_(1.0)\n    y = x + 0.5\n${line.repeat(3)}    return y\n`,
    { device },
  );
  const w = tensorOf([64, 64], 3);
  const numbers = async (): Promise<Float32Array> =>
    ((await functions.call('f', [tensorOf([64, 64]), w])) as Tensor).contiguousArray() as Float32Array;
  const wanted = await numbers();
  for (let call = 0; call < 3; call++) expect(await numbers()).toEqual(wanted);
  expect(functions.module.lastRun!.replayed).toBeGreaterThan(0);

  const { scratchBytes } = device.recorder;
  expect(scratchBytes).toBeGreaterThan(0);
  // A program that needs more than this one finds that there is no more.
  const take = device.linear.take.bind(device.linear);
  const larger = new PythonFunctions(
    `def g(x: Tensor, w: Tensor):\n    x.add_(1.0)\n    y = x + 0.5\n${line.repeat(3)}    return y\n`,
    { device },
  );
  const v = tensorOf([96, 96], 3);
  const outcome = async (): Promise<Float32Array> =>
    ((await larger.call('g', [tensorOf([96, 96]), v])) as Tensor).contiguousArray() as Float32Array;
  const other = await outcome();
  await outcome();
  vi.spyOn(device.linear, 'take').mockImplementation((byteLength) => {
    if (byteLength > scratchBytes) throw new RangeError('WebAssembly.Memory.grow(): Maximum memory size exceeded');
    return take(byteLength);
  });
  // The host's kernels round otherwise.
  const without = await outcome();
  other.forEach((value, at) => expect(without[at]).toBeCloseTo(value, 5));
  expect(larger.module.lastRun!.replayed).toBe(0);
  vi.mocked(device.linear.take).mockRestore();
  expect(await outcome()).toEqual(other);
  expect(larger.module.lastRun!.replayed).toBeGreaterThan(0);
});

test('what no memory has room for is an error that says how much it has', () => {
  const device = new WasmDevice();
  expect(() => device.allocate(2 ** 31)).toThrow(/no room for \d+ bytes more: it has two gigabytes at most/);
});
