import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

const source = `
import torch
from torch import Tensor

def rows(x: Tensor) -> Tensor:
    return x.cumsum(1)

def columns(x: Tensor) -> Tensor:
    return x.t().cumsum(0).t()
`;

const elements = (tensor: Tensor): number[] => Array.from(tensor.contiguousArray() as Float32Array);

/** Running sums in double precision, rounded once: a row may hold what is no number. */
const runningSums = (x: Tensor): number[] => {
  const [, length] = x.sizes;
  let sum = 0;
  return elements(x).map((each, at) => Math.fround((sum = at % length === 0 ? each : sum + each)));
};

it('running sums are one launch on the host, as exact as PyTorch’s, which are double', async () => {
  const x = tensorOf([9, 20011]);
  const given = x.storageArray() as Float32Array;
  given[3 * 20011 + 700] = Infinity;
  given[5 * 20011 + 9] = NaN;
  given[7 * 20011 + 1] = 1e8;
  given[7 * 20011 + 2] = -1e8;
  const functions = new PythonFunctions(source, { device: new WasmDevice() });
  const wanted = runningSums(x);
  for (const name of ['rows', 'columns']) {
    const result = (await functions.call(name, [x])) as Tensor;
    expect(functions.module.lastRun!.dispatches).toBe(1);
    const found = elements(result);
    const wrong = found.filter(
      (each, at) => !(Object.is(each, wanted[at]) || Math.abs(each - wanted[at]) < 1e-6 * Math.max(1, Math.abs(each))),
    );
    expect(wrong).toEqual([]);
  }
});
