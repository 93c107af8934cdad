import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

const source = `
import torch
from torch import Tensor

def linear(x: Tensor) -> Tensor:
    return torch.upsample_bilinear2d(x, [61, 83], False)

def cubic(x: Tensor) -> Tensor:
    return torch.upsample_bicubic2d(x, [61, 83], True)

def smaller(x: Tensor) -> Tensor:
    return torch.upsample_bilinear2d(x, [7, 11], False)

def wider(x: Tensor) -> Tensor:
    return torch.upsample_bilinear2d(x, [40, 90], False)

def volume(x: Tensor) -> Tensor:
    return torch.upsample_trilinear3d(x, [9, 23, 31], False)

def nearest(x: Tensor) -> Tensor:
    return torch.upsample_nearest2d(x, [61, 83])
`;

/** A launch for each dimension that is resampled by itself on the host, unless fewer rows are wanted than there are. */
it.each([
  { name: 'linear', sizes: [3, 2, 40, 50], dispatches: 2 },
  { name: 'cubic', sizes: [3, 2, 40, 50], dispatches: 2 },
  { name: 'smaller', sizes: [3, 2, 40, 50], dispatches: 1 },
  { name: 'wider', sizes: [3, 2, 40, 50], dispatches: 2 },
  { name: 'volume', sizes: [2, 2, 8, 12, 30], dispatches: 3 },
  { name: 'nearest', sizes: [3, 2, 40, 50], dispatches: 1 },
])('$name of $sizes takes $dispatches launches on the host', async ({ name, sizes, dispatches }) => {
  const x = tensorOf(sizes);
  const wanted = (await new PythonFunctions(source, { device: null }).call(name, [x])) as Tensor;
  const device = new WasmDevice();
  const functions = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
  const found = (await functions.call(name, [x])) as Tensor;
  expect(functions.module.lastRun!.dispatches).toBe(dispatches);
  expect(found.sizes).toEqual(wanted.sizes);
  const expected = wanted.contiguousArray() as Float32Array;
  const furthest = (found.contiguousArray() as Float32Array).reduce(
    (most, each, at) => Math.max(most, Math.abs(each - expected[at])),
    0,
  );
  // Positions are worked out in single precision: at 83 columns they are known to 4e-6.
  expect(furthest).toBeLessThan(1e-5);
});
