import { registerAllParts } from '@cresset/runtime';
import { IntType } from '@cresset/ir';
import { List, Tensor, type IValue } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';
import { onHostDevices } from './host-devices-fixture.ts';

beforeAll(registerAllParts);

const source = `
import torch
from torch import Tensor
from typing import List

def moved(x: Tensor, dims: List[int]) -> Tensor:
    return x.permute(dims).contiguous()

def added(x: Tensor, y: Tensor) -> Tensor:
    return torch.relu(x + y.t()) * y.t() - x[0]

def both(x: Tensor, y: Tensor) -> Tensor:
    return x.permute(2, 0, 1) + y.permute(0, 2, 1)

def chosen(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(x.t() > 0, y, x.t())

def written(x: Tensor, y: Tensor) -> Tensor:
    z = x.clone()
    z[1:, 2:].copy_(y.t())
    return z
`;

const asWhole = (tensor: Tensor): Tensor =>
  Tensor.fromArray(
    Int32Array.from(tensor.storageArray() as Float32Array, (each) => each * 1e9),
    tensor.sizes,
    'int32',
  );

const asDoubles = (tensor: Tensor): Tensor =>
  Tensor.fromArray(Float64Array.from(tensor.storageArray() as Float32Array), tensor.sizes, 'float64');

describe('what is loaded across what is stored comes where it belongs', () => {
  const reference = new PythonFunctions(source, { device: null });
  let others: PythonFunctions[];
  beforeAll(async () => {
    others = await onHostDevices(source);
  });

  const expectSame = async (name: string, ...args: IValue[]): Promise<void> => {
    const wanted = (await reference.call(name, args)) as Tensor;
    for (const functions of others) {
      const found = (await functions.call(name, args)) as Tensor;
      expect(found.sizes).toEqual(wanted.sizes);
      expect(found.contiguousArray()).toEqual(wanted.contiguousArray());
      expect(functions.module.lastRun!.dispatches).toBeGreaterThan(0);
    }
  };

  it.each([
    { sizes: [8, 8], dims: [1, 0] },
    { sizes: [67, 131], dims: [1, 0] },
    { sizes: [9, 300], dims: [1, 0] },
    { sizes: [2, 13, 21], dims: [0, 2, 1] },
    { sizes: [11, 3, 18], dims: [2, 1, 0] },
    { sizes: [10, 5, 3, 9], dims: [3, 1, 0, 2] },
    { sizes: [2, 33, 5, 7], dims: [0, 2, 3, 1] },
  ])('$sizes as $dims', async ({ sizes, dims }) => {
    const x = tensorOf(sizes);
    const order = new List(IntType.get(), dims.map(BigInt));
    for (const given of [x, asWhole(x)]) await expectSame('moved', given, order);
    // Elements of other sizes go one by one, or by fours.
    const bytes = Tensor.fromArray(
      Int8Array.from({ length: x.numel }, (_, at) => at),
      sizes,
      'int8',
    );
    const longs = Tensor.fromArray(
      BigInt64Array.from({ length: x.numel }, (_, at) => BigInt(at)),
      sizes,
      'int64',
    );
    for (const given of [bytes, longs]) await expectSame('moved', given, order);
  });

  it('beside what is not turned', async () => {
    await expectSame('added', tensorOf([70, 83]), tensorOf([83, 70], 2));
    await expectSame('added', asDoubles(tensorOf([70, 83])), tensorOf([83, 70], 2));
    await expectSame('added', tensorOf([70, 83]), asDoubles(tensorOf([83, 70], 2)));
    await expectSame('both', tensorOf([12, 17, 19]), tensorOf([19, 17, 12], 2));
    await expectSame('chosen', tensorOf([30, 41]), tensorOf([41, 30], 2));
    await expectSame('written', tensorOf([40, 50]), tensorOf([48, 39], 2));
  });
});
