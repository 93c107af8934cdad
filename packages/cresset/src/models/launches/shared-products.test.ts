import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { ThreadPool } from '@cresset/wasm-fuser/parts/threads';
import { afterEach, expect, test, vi } from 'vitest';
import { threadedDevice } from '../../../../../test-setup/threaded-device.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

registerAllParts();
afterEach(() => vi.restoreAllMocks());

/** The names of what each task of a job calls, of all jobs of a program that threads share; the same numbers come of it as of one thread. */
async function jobsOf(result: string, args: readonly Tensor[], grain: number): Promise<string[][]> {
  const parameters = ['x: Tensor', 'w: Tensor'].slice(0, args.length).join(', ');
  const source = `def f(${parameters}):\n    return ${result}\n`;
  const numbers = async (device: WasmDevice): Promise<Float32Array> => {
    const functions = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
    let last = new Float32Array();
    // Weights of the third call are packed already.
    for (let time = 0; time < 4; time++)
      last = Float32Array.from(((await functions.call('f', args)) as Tensor).contiguousArray() as Float32Array);
    return last;
  };
  const wanted = await numbers(new WasmDevice());
  const run = vi.spyOn(ThreadPool.prototype, 'run');
  const device = await threadedDevice(2, grain);
  expect(await numbers(device)).toEqual(wanted);
  device.dispose();
  return run.mock.calls.filter(([tasks]) => tasks.length > 1).map(([tasks]) => tasks[0].map(({ name }) => name));
}

const convolution = (groups = 1, stride = 1): string =>
  `torch.conv2d(x, w, None, [${stride}, ${stride}], [1, 1], [1, 1], ${groups})`;

test('who multiplies columns of a product packs them, with few elements to a sum as well', async () => {
  const jobs = await jobsOf('torch.conv2d(x, w)', [tensorOf([1, 8, 56, 56]), tensorOf([32, 8, 1, 1], 2)], 1);
  expect(new Set(jobs.map((names) => names.join()))).toEqual(new Set(['pack,multiply,store', 'multiply,store']));
  expect(jobs.length).toBeGreaterThanOrEqual(4);
});

test('channels of a depthwise convolution are shared, each with its image', async () => {
  const jobs = await jobsOf(convolution(24), [tensorOf([1, 24, 32, 32]), tensorOf([24, 1, 3, 3], 2)], 1);
  expect(jobs[0]).toEqual(['image', 'multiplyImage', 'store']);
});

test('lines of one large image are made beside each other, and then multiplied', async () => {
  const jobs = await jobsOf(convolution(), [tensorOf([1, 8, 100, 96]), tensorOf([7, 8, 3, 3], 2)], 1);
  expect(jobs.slice(0, 2)).toEqual([['image'], ['multiplyImage', 'store']]);
});

test.each([
  ['a tall product', 'torch.mm(x, w)', [150, 33], [33, 20]],
  ['a wide one', 'torch.mm(x, w)', [20, 33], [33, 150]],
  ['one of many', 'torch.bmm(x, w)', [5, 50, 9], [5, 9, 70]],
  ['filters over a batch', convolution(), [3, 5, 17, 19], [30, 5, 3, 3]],
  ['groups', convolution(3), [2, 6, 17, 19], [9, 2, 3, 3]],
  ['every other window', convolution(1, 2), [2, 5, 17, 19], [8, 5, 3, 3]],
  ['a line of its own', convolution(16), [1, 16, 6, 6], [16, 1, 3, 3]],
] as const)('sharing all that can be shared gives the same numbers: %s', async (_, result, left, right) => {
  const jobs = await jobsOf(result, [tensorOf(left), tensorOf(right, 2)], 0);
  expect(jobs.length).toBeGreaterThan(0);
});
