import { registerAllParts } from '@cresset/runtime';
import { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, describe, expect, it } from 'vitest';
import { PythonFunctions } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

const source = `
import torch
from torch import Tensor

def layer(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    h = torch.tanh(x @ w + b)
    return torch.softmax(h * 0.1 + 1.0, 1)

def widened(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return (x.float().double() * 0.1 + 1.0).float()

def narrowed(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    y = (x * 3.0).float() * 0.1
    return y + x

def compared(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return (x.float().double() + 1e-9 > x.float().double()).long() + (x > 0)
`;

/** More elements than what is little work, and an odd number of them. */
const [ROWS, COLUMNS] = [129, 67];
const doublesOf = (sizes: readonly number[], shift: number): Tensor =>
  Tensor.fromArray(
    Float64Array.from({ length: sizes.reduce((product, size) => product * size, 1) }, (_, at) => Math.sin(at + shift)),
    sizes,
    'float64',
  );
const given = (): Tensor[] => [doublesOf([ROWS, 41], 1), doublesOf([41, COLUMNS], 2), doublesOf([COLUMNS], 3)];

describe.each(['layer', 'widened', 'narrowed', 'compared'])('%s', (name) => {
  it('gives on the host’s device what JavaScript gives, however often it was replayed', async () => {
    const inJavaScript = new PythonFunctions(source, { device: null });
    const functions = new PythonFunctions(source, { device: new WasmDevice() });
    const wanted = (await inJavaScript.call(name, given())) as Tensor;
    for (let call = 0; call < 5; call++) {
      const result = (await functions.call(name, given())) as Tensor;
      expect(result.dtype).toBe(wanted.dtype);
      const most = result.dtype === 'float64' ? 1e-15 : 0;
      const values = Array.from(wanted.contiguousArray(), Number);
      Array.from(result.contiguousArray(), Number).forEach((value, at) =>
        expect(Math.abs(value - values[at])).toBeLessThanOrEqual(most * Math.max(1, Math.abs(values[at]))),
      );
      const { hostDouble, hostFallback } = functions.module.lastRun!;
      expect([hostDouble, hostFallback]).toEqual([[], []]);
    }
  });
});

it('doubles fuse and replay as floats do', async () => {
  const counts: number[][] = [];
  for (const toDtype of [(tensor: Tensor): Tensor => tensor, (tensor: Tensor): Tensor => singlesOf(tensor)]) {
    const functions = new PythonFunctions(source, { device: new WasmDevice() });
    const all: number[] = [];
    for (let call = 0; call < 4; call++) {
      await functions.call('layer', given().map(toDtype));
      all.push(functions.module.lastRun!.dispatches);
    }
    counts.push(all);
  }
  const [doubles, singles] = counts;
  expect(doubles).toEqual(singles);
  expect(doubles.at(-1)).toBe(2);
});

function singlesOf(tensor: Tensor): Tensor {
  return Tensor.fromArray(Float32Array.from(tensor.contiguousArray() as Float64Array), tensor.sizes, 'float32');
}
