import { registerAllParts } from '@cresset/runtime';
import type { Tensor, Tuple } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, describe, expect, it } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

const source = `
import torch
from typing import Tuple
from torch import Tensor

def written(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x * 2
    v = y[1:]
    torch.add(torch.cat([x, x]), 1.0, out=v)
    return y, v

def resized(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x * 2
    v = y[1:]
    v.resize_(3 * x.size(0))
    v[2:] = 3.0
    return y, v

def complex_numbers(x: Tensor) -> Tuple[Tensor, Tensor]:
    z = torch.complex(x, x)
    y = z * 2
    v = y[1:]
    torch.add(torch.cat([z, z]), 1.0, out=v)
    return y.real.contiguous(), v.imag.contiguous()

def masked(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x * 2
    v = y[3:]
    torch.masked_select(torch.cat([x, x]), torch.cat([x, x]) == x[0], out=v)
    return y, v
`;

const elements = (tensor: Tensor): number[] => Array.from(tensor.contiguousArray() as Float32Array);

// As PyTorch has it: a storage grows, and whoever else is a view of it sees what is written there.
describe.each([6, 1000, 1001, 5000])('a view of %i elements that has too little memory', (length) => {
  it.each([true, false])('shares what it gets, on a device: %s', async (onDevice) => {
    const functions = new PythonFunctions(source, { device: onDevice ? new WasmDevice() : null });
    const x = tensorOf([length]);
    const given = elements(x);
    const call = async (name: string): Promise<number[][]> => {
      const result = (await functions.call(name, [x])) as Tuple;
      await Promise.all(result.items.map((item) => (item as Tensor).storage.toHost()));
      return result.items.map((item) => elements(item as Tensor));
    };
    for (let time = 0; time < 3; time++) {
      const twice = given.map((each) => each * 2);
      const sums = [...given, ...given].map((each) => Math.fround(each + 1));
      expect(await call('written')).toEqual([[twice[0], ...sums.slice(0, length - 1)], sums]);
      const [base, view] = await call('resized');
      expect(base).toEqual([...twice.slice(0, 3), ...Array.from({ length: length - 3 }, () => 3)]);
      expect([view.length, ...view.slice(0, 3), view.at(-1)]).toEqual([3 * length, twice[1], twice[2], 3, 3]);
      expect(await call('complex_numbers')).toEqual([
        [twice[0], ...sums.slice(0, length - 1)],
        [...given, ...given],
      ]);
      const picked = [...given, ...given].filter((each) => each === given[0]);
      expect(await call('masked')).toEqual([
        [...twice.slice(0, 3), ...picked, ...twice.slice(3 + picked.length)].slice(0, length),
        picked,
      ]);
    }
  });
});
