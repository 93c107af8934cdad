import { registerAllParts } from '@cresset/runtime';
import { Tensor, type IValue, type List } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { PythonFunctions } from '../python-functions-fixture.ts';
import { onHostDevices } from './host-devices-fixture.ts';

beforeAll(registerAllParts);

const source = `
import torch
from torch import Tensor
from typing import List

def sort(x: Tensor, dim: int, descending: bool) -> List[Tensor]:
    values, indices = torch.sort(x, dim, descending)
    return [values, indices, torch.argsort(x, dim, descending)]

def topk(x: Tensor, k: int, dim: int, largest: bool, ordered: bool) -> List[Tensor]:
    values, indices = torch.topk(x, k, dim, largest, ordered)
    return [values, indices]

def kthvalue(x: Tensor, k: int) -> List[Tensor]:
    values, indices = torch.kthvalue(x, k, 1)
    return [values, indices]

def turned(x: Tensor) -> List[Tensor]:
    values, indices = torch.sort(x.transpose(0, 1)[1:], 0)
    return [values, indices]
`;

/** Numbers of which many are equal, some are none, and zeros have signs. */
function numbers(sizes: readonly number[], distinct: number): Tensor {
  let state = 12345;
  const draw = (): number => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) >>> 8;
  const special = [NaN, Infinity, -Infinity, 0, -0];
  const count = sizes.reduce((product, size) => product * size, 1);
  const elements = Float32Array.from({ length: count }, () => {
    const drawn = draw() % distinct;
    return draw() % 9 === 0 ? special[drawn % 5] : (drawn - distinct / 2) / 8;
  });
  return Tensor.fromArray(elements, sizes, 'float32');
}

const asLongs = (tensor: Tensor): Tensor =>
  Tensor.fromArray(
    BigInt64Array.from(tensor.storageArray() as Float32Array, (each, at) =>
      at % 13 === 0
        ? -(2n ** 63n)
        : at % 17 === 0
          ? 2n ** 40n
          : BigInt(Math.trunc(Number.isFinite(each) ? each * 99 : 0)),
    ),
    tensor.sizes,
    'int64',
  );
const asDoubles = (tensor: Tensor): Tensor =>
  Tensor.fromArray(
    Float64Array.from(tensor.storageArray() as Float32Array, (each, at) => each + (each === 0 ? 0 : (at % 3) * 1e-12)),
    tensor.sizes,
    'float64',
  );
const asBytes = (tensor: Tensor): Tensor =>
  Tensor.fromArray(Int8Array.from(tensor.storageArray() as Float32Array), tensor.sizes, 'int8');

/** Bits of elements: zeros have signs. */
const bitsOf = (value: IValue): unknown[] =>
  (value as List).items.map((each) => {
    const { buffer, byteOffset, byteLength } = (each as Tensor).contiguousArray();
    return [(each as Tensor).sizes, Buffer.from(buffer, byteOffset, byteLength).toString('hex')];
  });

describe('on the host’s device, as PyTorch has them, equal elements, NaN and signs of zeros included,', () => {
  const reference = new PythonFunctions(source, { device: null });
  let others: PythonFunctions[];
  beforeAll(async () => {
    others = await onHostDevices(source);
  });

  const expectSame = async (name: string, ...args: IValue[]): Promise<void> => {
    const wanted = bitsOf(await reference.call(name, args));
    for (const functions of others) {
      expect(bitsOf(await functions.call(name, args))).toEqual(wanted);
      expect(functions.module.lastRun!.dispatches).toBeGreaterThan(0);
    }
  };

  it.each([
    { sizes: [33, 2], dim: 0 },
    { sizes: [3, 47], dim: -1 },
    { sizes: [5, 49, 3], dim: 1 },
    { sizes: [2, 700], dim: -1 },
    { sizes: [3, 20_003], dim: 1 },
  ])('lines of $sizes over $dim are sorted', async ({ sizes, dim }) => {
    const x = numbers(sizes, 5000);
    for (const given of [x, asDoubles(x), asLongs(x), asBytes(x)]) {
      for (const descending of [false, true]) await expectSame('sort', given, BigInt(dim), descending);
    }
  });

  it.each([2, 3, 50, 1001])('of %i elements each is the k-th once', async (length) => {
    for (const distinct of [4, 5000]) {
      const x = numbers([3, length], distinct);
      for (const given of [x, asDoubles(x), asLongs(x)]) {
        for (const k of new Set([1, 2, length >> 1, length])) await expectSame('kthvalue', given, BigInt(k));
      }
    }
  });

  it('long lines are sorted and selected from in pieces', async () => {
    const x = numbers([2, 1_100_003], 90_000);
    const given = x.storageArray() as Float32Array;
    const isAfter = (a: number, b: number): boolean => a > b || (Number.isNaN(a) && !Number.isNaN(b));
    for (const functions of others) {
      const { items } = (await functions.call('sort', [x, -1n, false])) as List;
      const [values, places] = items.slice(0, 2).map((each) => (each as Tensor).contiguousArray());
      let wrong = 0;
      for (let at = 0; at < values.length; at++) {
        const line = at - (at % 1_100_003);
        const isSame = Object.is(values[at], given[line + Number(places[at])]);
        const isFirst = at === line;
        const isBehind = isFirst || isAfter(Number(values[at]), Number(values[at - 1]));
        const isTied = !isFirst && !isAfter(Number(values[at - 1]), Number(values[at])) && places[at] > places[at - 1];
        if (!isSame || !(isBehind || isTied)) wrong++;
      }
      expect(wrong).toBe(0);
    }
    const line = x.asStrided([1_100_003], [1]);
    await expectSame('topk', line, 500_000n, 0n, true, true);
    await expectSame('topk', line, 100n, 0n, true, true);
    await expectSame('kthvalue', x, 700_000n);
  });

  it('views are sorted where they lie', () => expectSame('turned', numbers([90, 70], 100)));

  it.each([
    { sizes: [3, 1000], k: 15, why: 'few come off a heap' },
    { sizes: [2, 1000], k: 16, why: 'more are selected' },
    { sizes: [40, 5], k: 3, why: 'short lines are' },
    { sizes: [2, 3000], k: 3000, why: 'all are' },
    { sizes: [1, 2, 301], k: 1, why: 'one is' },
  ])('$k of $sizes: $why', async ({ sizes, k }) => {
    for (const distinct of [6, 100_000]) {
      const x = numbers(sizes, distinct);
      for (const given of [x, asDoubles(x), asLongs(x), asBytes(x)]) {
        for (const largest of [false, true]) {
          for (const ordered of [false, true]) await expectSame('topk', given, BigInt(k), -1n, largest, ordered);
        }
      }
    }
  });

  it('elements are selected by a heap where partitioning gets nowhere', async () => {
    // Musser's sequence against the median of three.
    const half = 400;
    const hard = new Int32Array(2 * half);
    for (let at = 1; at <= half; at++) {
      if (at % 2 === 1) {
        hard[at - 1] = at;
        hard[at] = half + at;
      }
      hard[half + at - 1] = 2 * at;
    }
    for (const divisor of [1, 50]) {
      const x = Tensor.fromArray(
        hard.map((each) => Math.floor(each / divisor)),
        [2 * half],
        'int32',
      );
      for (const k of [32n, 400n, 799n]) await expectSame('topk', x, k, 0n, false, true);
    }
  });
});
