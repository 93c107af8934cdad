import { registerAllParts } from '@cresset/runtime';
import { Tensor, type IValue } from '@cresset/tensor';
import type { WebGpuDevice } from '@cresset/webgpu';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gpuSchedules, requestWithSchedules, type GpuSchedules } from '../../../../../test-setup/gpu-schedules.ts';
import { requestWithCandidate } from '../../../../../test-setup/nth-candidate.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

const source = `
import torch
import torch.nn.functional as F
from torch import Tensor
from typing import Optional

def attend(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

def causal(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)

def grouped(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3, enable_gqa=True)

def turned(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
    return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)

def written(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
    scores = torch.matmul(q, k.transpose(-1, -2)) / 3.0
    if mask is not None:
        scores = scores + mask
    return torch.matmul(torch.softmax(scores, -1), v)

def filled(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
    scores = torch.bmm(q, k.transpose(1, 2))
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    return torch.bmm(F.softmax(scores, dim=-1), v).relu()
`;

const chosen = (sizes: readonly number[], isTrue: (at: number) => boolean): Tensor => {
  const count = sizes.reduce((product, size) => product * size, 1);
  return Tensor.fromArray(
    Uint8Array.from({ length: count }, (_, at) => Number(isTrue(at))),
    sizes,
    'bool',
  );
};

interface Case {
  readonly name: keyof typeof dispatches;
  readonly q: number[];
  readonly k: number[];
  readonly v: number[];
  readonly mask?: () => Tensor;
}

/** Launches of a first run, and of one that replays it. */
const dispatches = {
  attend: [1, 1],
  causal: [1, 1],
  grouped: [1, 1],
  turned: [1, 1],
  written: [4, 1],
  filled: [4, 1],
} as const;

const lowest = (mask: Tensor): Tensor => {
  const elements = Float32Array.from(mask.contiguousArray() as Uint8Array, (isSeen) => (isSeen ? 0.5 : -Infinity));
  return Tensor.fromArray(elements, mask.sizes, 'float32');
};

const cases: readonly Case[] = [
  { name: 'attend', q: [2, 3, 17, 64], k: [2, 3, 17, 64], v: [2, 3, 17, 64] },
  { name: 'attend', q: [5, 7], k: [1025, 7], v: [1025, 200] },
  { name: 'attend', q: [2, 1, 1], k: [2, 1, 1], v: [2, 1, 1] },
  { name: 'attend', q: [3, 65, 1], k: [1, 40, 1], v: [3, 40, 3] },
  { name: 'causal', q: [2, 65, 33], k: [2, 65, 33], v: [2, 65, 7] },
  // A row of which nothing is seen gives zeros.
  {
    name: 'attend',
    q: [2, 1, 9, 5],
    k: [2, 1, 11, 5],
    v: [2, 1, 11, 5],
    mask: () => chosen([2, 1, 9, 11], (at) => at % 3 > 0 && at > 10),
  },
  {
    name: 'attend',
    q: [2, 2, 9, 5],
    k: [2, 2, 11, 5],
    v: [2, 2, 11, 5],
    mask: () => lowest(chosen([2, 1, 1, 11], (at) => at % 3 > 0)),
  },
  { name: 'grouped', q: [2, 6, 5, 8], k: [2, 2, 7, 8], v: [2, 2, 7, 8] },
  { name: 'turned', q: [2, 13, 2, 16], k: [2, 13, 2, 16], v: [2, 13, 2, 16] },
  { name: 'written', q: [2, 3, 40, 20], k: [2, 3, 34, 20], v: [2, 3, 34, 20], mask: () => tensorOf([2, 1, 1, 34], 4) },
  { name: 'filled', q: [4, 9, 12], k: [4, 9, 12], v: [4, 9, 12], mask: () => chosen([4, 9, 9], (at) => at % 5 === 0) },
];

/** Calls a case three times on a device; each has to give what the host does. Gives how many launches each was. */
async function dispatchesOf(device: WebGpuDevice, { name, q, k, v, mask }: Case): Promise<number[]> {
  const functions = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
  const args = (): IValue[] => [tensorOf(q, 1), tensorOf(k, 2), tensorOf(v, 3), mask?.() ?? null];
  const want = elementsOf(await new PythonFunctions(source, {}).call(name, args()));
  const counts: number[] = [];
  for (let run = 0; run < 3; run++) {
    const got = elementsOf(await functions.call(name, args()));
    counts.push(functions.module.lastRun!.dispatches);
    expect(got.length).toBe(want.length);
    got.forEach((value, at) => expect(Math.abs(value - want[at])).toBeLessThan(2e-6));
  }
  return counts;
}

describe.each(Object.keys(gpuSchedules) as GpuSchedules[])('attention as one kernel, schedules for %s', (schedules) => {
  let device: WebGpuDevice;
  beforeAll(async () => {
    registerAllParts();
    device = await requestWithSchedules(schedules);
  });
  afterAll(() => device.dispose());

  // The fewer threads, the same code: it takes a compiler long enough as it is.
  it.each(schedules === 'few threads' ? cases.slice(0, 2) : cases)('$name: $q, $k, $v', async (each) => {
    const [first, replayed] = dispatches[each.name];
    expect(await dispatchesOf(device, each)).toEqual([first, replayed, replayed]);
  });

  it.each([
    [
      [2, 0, 8],
      [2, 3, 8],
    ],
    [
      [2, 3, 8],
      [2, 0, 8],
    ],
  ])('of nothing: %j, %j', async (q, k) => {
    const args = (): IValue[] => [tensorOf(q, 1), tensorOf(k, 2), tensorOf(k, 3), null];
    const got = await new PythonFunctions(source, { device, limits: { smallWork: -1 } }).call('attend', args());
    expect(elementsOf(got)).toEqual(elementsOf(await new PythonFunctions(source, {}).call('attend', args())));
  });

  it('scores that are no numbers are told of', async () => {
    const functions = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
    const q = Tensor.fromArray(Float32Array.of(NaN, 1, 2), [3, 1], 'float32');
    const mask = lowest(chosen([3, 3], (at) => at < 6));
    const args = (): IValue[] => [q, tensorOf([3, 1], 2), tensorOf([3, 2], 3), mask];
    const want = elementsOf(await new PythonFunctions(source, {}).call('written', args()));
    expect(want.map(Number.isNaN)).toEqual([true, true, false, false, true, true]);
    for (let run = 0; run < 3; run++) {
      const got = elementsOf(await functions.call('written', args()));
      expect(got.map(Number.isNaN)).toEqual(want.map(Number.isNaN));
    }
  });
});

const elementsOf = (value: IValue): number[] => Array.from((value as Tensor).contiguousArray() as Float32Array);

it.each([
  ['software', 1],
  ['software', 3],
  ['hardware', 1],
  ['hardware', 2],
] as const)('schedules for %s, as candidate %i has it', async (schedules, nth) => {
  registerAllParts();
  const device = await requestWithCandidate(schedules, nth);
  // Each is a shader that takes long to compile.
  for (const each of [cases[3], cases[5]]) await dispatchesOf(device, each);
  device.dispose();
});
