import { registerAllParts } from '@cresset/runtime';
import { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

const source = `
import torch
from torch import Tensor

def average(x: Tensor) -> Tensor:
    return torch.avg_pool2d(x, [3, 3], [1, 1], [1, 1])

def inside(x: Tensor) -> Tensor:
    return torch.avg_pool2d(x, [3, 3], [2, 1], [1, 1], True, False)

def line(x: Tensor) -> Tensor:
    return torch.avg_pool1d(x.flatten(0, 1), [4], [1], [2])

def greatest(x: Tensor) -> Tensor:
    return torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])

def wide(x: Tensor) -> Tensor:
    return torch.max_pool2d(x, [3, 2], [1, 1], [1, 1], [2, 1])

def volume(x: Tensor) -> Tensor:
    return torch.max_pool3d(x, [2, 3, 3], [1, 2, 2], [1, 1, 1])

def apart(x: Tensor) -> Tensor:
    return torch.max_pool2d(x, [2, 2], [2, 2], [1, 1])

def whole(x: Tensor) -> Tensor:
    return torch.avg_pool2d(x, [3, 3], [1, 1])
`;

/** The border is a launch of its own on the host where windows share elements. */
it.each([
  { name: 'average', dispatches: 2 },
  { name: 'inside', dispatches: 2 },
  { name: 'line', dispatches: 2 },
  { name: 'greatest', dispatches: 2 },
  { name: 'wide', dispatches: 2 },
  { name: 'volume', dispatches: 2 },
  { name: 'apart', dispatches: 1 },
  { name: 'whole', dispatches: 1 },
])('$name takes $dispatches launches on the host', async ({ name, dispatches }) => {
  const elements = Float32Array.from(tensorOf([3, 2, 17, 21]).contiguousArray() as Float32Array, (value) => value - 2);
  elements[40] = NaN;
  elements[200] = -Infinity;
  for (const dtype of ['float32', 'float64'] as const) {
    const array = dtype === 'float32' ? elements : Float64Array.from(elements);
    const x = Tensor.fromArray(array, [3, 2, 17, 21], dtype);
    const wanted = (await new PythonFunctions(source, { device: null }).call(name, [x])) as Tensor;
    const functions = new PythonFunctions(source, { device: new WasmDevice(), limits: { smallWork: -1 } });
    const found = (await functions.call(name, [x])) as Tensor;
    expect(functions.module.lastRun!.dispatches).toBe(dispatches);
    expect(found.sizes).toEqual(wanted.sizes);
    const expected = wanted.contiguousArray() as Float32Array;
    (found.contiguousArray() as Float32Array).forEach((each, at) => {
      if (Number.isFinite(expected[at])) expect(each).toBeCloseTo(expected[at], 5);
      else expect(each).toBe(expected[at]);
    });
  }
});
