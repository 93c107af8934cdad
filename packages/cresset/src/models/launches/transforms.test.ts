import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import type { Routine } from '@cresset/tensorexpr';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { expect, test, vi } from 'vitest';
import { threadedDevice } from '../../../../../test-setup/threaded-device.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

registerAllParts();

const source = `
import torch
from torch import Tensor

def lines(x: Tensor):
    return torch.view_as_real(torch.fft.fft(x, norm='ortho'))

def columns(x: Tensor):
    return torch.view_as_real(torch.fft.fft(x, dim=1))

def grid(x: Tensor):
    return torch.view_as_real(torch.fft.rfft2(x))

def back(x: Tensor):
    return torch.fft.irfft(torch.fft.rfft(x), n=x.size(2))

def power(x: Tensor, window: Tensor):
    s = torch.stft(x.reshape(-1), 30, 10, 24, window, return_complex=True)
    return torch.istft(s * s, 30, 10, 24, window)

def large_prime(x: Tensor):
    return torch.view_as_real(torch.fft.fft(x.reshape(-1)[:262]))
`;

const x = tensorOf([3, 14, 24]);
const window = tensorOf([24], 2);

/** What a function gives with its third call, a replay, and the routines that were launched one by one before. */
async function run(device: WasmDevice, name: string): Promise<{ numbers: number[]; routines: Routine[] }> {
  const launched = vi.spyOn(device, 'launchRoutine');
  const functions = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
  let last: Tensor | null = null;
  for (let time = 0; time < 3; time++)
    last = (await functions.call(name, name === 'power' ? [x, window] : [x])) as Tensor;
  const routines = launched.mock.calls.map(([routine]) => routine);
  launched.mockRestore();
  return { numbers: Array.from(last!.contiguousArray() as Float32Array), routines };
}

const forms = (routines: readonly Routine[]): string[] => [
  ...new Set(routines.map((each) => (each.kind === 'transform' ? `${each.form} of ${each.length}` : each.kind))),
];

test.each([
  ['lines', ['complex of 24']],
  ['columns', ['complex of 14']],
  // The last dimension first, so that the other one has half of a spectrum to go over.
  ['grid', ['half spectrum of 24', 'complex of 14']],
  ['back', ['half spectrum of 24', 'real of 24']],
  ['power', ['half spectrum of 30', 'real of 30']],
  // Its factor of 131 is beyond what a pass of the routine sums up: nests do it.
  ['large_prime', []],
])('transforms of lines are a routine of the host: %s', async (name, wanted) => {
  const nests = await run(new WasmDevice(), name);
  expect(nests.routines).toEqual([]);
  const device = new WasmDevice();
  await device.fetchTransforms();
  const { numbers, routines } = await run(device, name);
  expect(forms(routines)).toEqual(wanted);
  expect(numbers).toHaveLength(nests.numbers.length);
  const largest = Math.max(...nests.numbers.map(Math.abs));
  numbers.forEach((value, at) => expect(Math.abs(value - nests.numbers[at])).toBeLessThan(1e-5 * largest));
  const threads = await threadedDevice(3);
  await threads.fetchTransforms();
  expect((await run(threads, name)).numbers).toEqual(numbers);
  for (const each of [device, threads]) each.dispose();
});
