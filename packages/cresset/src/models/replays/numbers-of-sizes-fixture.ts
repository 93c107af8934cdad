import { Tensor, type IValue } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { expect, vi } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';
import { expectAlike } from './alike-fixture.ts';

/** What is made of `x` of [n, 3], of its length `n`, of `k` of [n, 3] of int64, and of `pos` and `scale`, which are other numbers in each call. */
const expressions: Record<string, string> = {
  int: 'x * n',
  int_of_ints: 'k * n - (n // 2)',
  derived: 'x + (n * n - 1)',
  position: 'x + pos',
  position_of_ints: '(k + pos) * n',
  position_and_size: 'x * (pos / n)',
  scale_and_size: 'x * (scale / n)',
  quotient: 'x / n',
  reciprocal: 'x * (1 / math.sqrt(n))',
  power: 'x / n ** 0.5',
  int_power: 'x * (n ** 2) + n ** -1',
  logarithm: 'x * math.log(n + 1) / math.log10(n + 2.5)',
  float: 'x + float(n)',
  truncated: 'x * int(n * 0.5)',
  floors: 'x * math.floor(n / 3) + math.ceil(n / 3) + round(n / 3)',
  mean: 'x.sum(0) / n',
  remainder: 'x * (n % 7) + (n * 0.5) % 3.0',
  extremes: 'x * max(n, 20) + min(n * 0.5, 12.0) - max([n, 3])',
  negated: 'x * -n - (-(n * 0.5))',
  absolute: 'x * abs(n - 40) + abs(n * 0.5 - 10.0)',
  full: 'torch.full((n,), n) * 2',
  full_of_floats: 'torch.full([n, 2], n ** 0.5) + torch.full([3, 1, 1], n * 0.5)',
  arange: 'torch.arange(n) * (scale / n)',
  arange_of_half: 'torch.arange(int(n * 0.5)) * 2 + n',
  clamp: 'x.clamp(-1.0 / n, 1.0 / n)',
  clamp_ints: 'k.clamp(2, n)',
  masked_fill: 'x.masked_fill(x > 0, n)',
  masked_fill_float: 'x.masked_fill(x > 0, -1.0 / n)',
  alpha: 'torch.add(x, x, alpha=n) - torch.sub(x, x * 2, alpha=n * 0.25)',
  value: 'torch.addcmul(x, x, x, value=1.0 / n)',
  compared: 'torch.arange(n)[:, None] < k + n',
  compared_to: '(k < n) | (x * n > n - 1.5)',
  where: 'torch.where(x > 0, x, 1.0 / n) + torch.where(k > 0, n, pos)',
  division_rounded: "torch.div(k, n, rounding_mode='floor') + torch.div(k, n + 2, rounding_mode='trunc')",
  floor_divide: '(k * 7) // n + k % n',
  fill: '(x * 2).fill_(n * 0.5)',
  added_in_place: '(x * 2).add_(n).mul_(1.0 / n)',
  lerp: 'torch.lerp(x, x * 2, 1.0 / n)',
  leaky_relu: 'torch.nn.functional.leaky_relu(x, 1.0 / n)',
  linspace: 'torch.linspace(0.0, 1.0, n)',
  linspace_to: 'torch.linspace(-1.0, n * 0.5, n)',
  grid: '(torch.arange(n) + 0.5) / n * 2 - 1',
  branch: 'x * 2 if n * 0.5 > 16.2 else x * 3',
  branch_of_ints: 'x * n if n ** 2 > 1000 else x - n',
  sliced: 'x[:int(n * 0.75)] * math.ceil(n / 2)',
  softmax: 'torch.softmax(x @ x.t() * (1 / math.sqrt(n)), -1)',
  attention: 'torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None], scale=1 / math.sqrt(n))',
  pairs: '(x / n, n * 0.5, n * 2)',
  lists: '(x * 2, [n * 0.5, 1.0 / n], (n, [n * 2]), [n] + [3])',
  half: '(x.half() * n).float()',
  bytes: '(k.to(torch.uint8) + n)',
  small: 'x[0] * n + 1.0 / n',
  features: 'torch.nn.functional.scaled_dot_product_attention(x.t()[None], x.t()[None], x.t()[None])',
};

export const source = `
import math
import torch
from torch import Tensor
${Object.entries(expressions)
  .map(
    ([name, expression]) => `
def f_${name}(x: Tensor, k: Tensor, pos: int, scale: float):
    n = x.size(0)
    return ${expression}
`,
  )
  .join('')}`;

export const programs = Object.keys(expressions);

/** Either side of vectors, rows and what pays, and of sizes that are programs of their own. */
const lengths = [20, 21, 33, 32, 34, 2, 3, 1000, 999, 1001, 33, 1, 0, 64, 65, 1000];

export function argumentsOf(length: number, run: number): IValue[] {
  const ints = BigInt64Array.from({ length: 3 * length }, (_, at) => BigInt((at * 7 + run) % 45));
  const k = Tensor.fromArray(ints, [length, 3], 'int64');
  return [tensorOf([length, 3], run), k, BigInt(run * 3 + 2), run * 0.37 + 0.1];
}

/** Calls a program at all lengths on a device and without one. Gives the lengths at which nothing was replayed, and the most recordings of a place. */
export async function callAtLengths(
  name: string,
  device: ComputeDevice,
  smallWork?: number,
): Promise<{ readonly notReplayed: number[]; readonly recordings: number }> {
  const here = new PythonFunctions(source, { device, limits: smallWork === undefined ? {} : { smallWork } });
  const there = new PythonFunctions(source, {});
  const replay = vi.spyOn(device.recorder!, 'replay');
  const notReplayed: number[] = [];
  for (const [run, length] of lengths.entries()) {
    const call = (functions: PythonFunctions): Promise<IValue> => functions.call(`f_${name}`, argumentsOf(length, run));
    let message: string | null = null;
    const want = await call(there).catch((error: Error) => (message = error.message));
    if (message !== null) {
      await expect(call(here), `${length}`).rejects.toThrow(message);
      continue;
    }
    replay.mockClear();
    await expectAlike(await call(here), want, 1e-6, `${name} ${length}`);
    if (replay.mock.calls.length === 0) notReplayed.push(length);
  }
  const recordings = Math.max(0, ...here.explain(`f_${name}`).stretches.map(({ recordings: count }) => count));
  return { notReplayed, recordings };
}
