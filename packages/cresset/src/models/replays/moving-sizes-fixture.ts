import type { IValue } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { expect, vi } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';
import { expectAlike } from './alike-fixture.ts';

const source = `
import torch
from torch import Tensor
from typing import Tuple

def pointwise(x: Tensor, y: Tensor) -> Tensor:
    return torch.tanh(x * 2 + y[:1]) - 1

def rows(x: Tensor, y: Tensor) -> Tensor:
    z = x + y[0]
    return (z * z.sum(-1, keepdim=True)).relu().mean(0)

def halves(x: Tensor, y: Tensor) -> Tensor:
    n = x.size(1)
    z = torch.cat([x[:, n // 2:], x[:, :n // 2]], 1)
    return z.reshape(-1).view(2, -1).transpose(0, 1) * y[0, 0]

def attention(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:
    k = torch.cat([x.view(1, 2, -1, 8), y.view(1, 2, -1, 8)], 2)
    q = y.view(1, 2, -1, 8).repeat_interleave(2, 1)
    past = k.size(2)
    mask = torch.full([q.size(2), past], -1e9).triu(past - q.size(2) + 1)
    place = torch.arange(past - q.size(2), past).float()[:, None]
    a = torch.softmax(torch.matmul(q * (1 + place * 0.01), k.repeat_interleave(2, 1).transpose(2, 3)) / 3.0 + mask, -1)
    return torch.matmul(a, k.repeat_interleave(2, 1)).transpose(1, 2).reshape(1, q.size(2), 32), k

def written(x: Tensor, y: Tensor) -> Tensor:
    v = x * y[0, 0]
    v[v > 0.3] = 0.1
    v[:, 1:] += 1.0
    return v

def longer(x: Tensor, y: Tensor) -> Tensor:
    if x.size(1) > 600:
        return x * 2 + y[:1, :1]
    return x * 3 - y[:1, :1]

def normalised(x: Tensor, y: Tensor) -> Tensor:
    z = torch.layer_norm(x.t() * y[0, 0], [3], x[0, :1].expand(3), None) + 1
    groups = torch.group_norm(torch.cat([x, y], 0).unsqueeze(0), 2)
    return torch.rms_norm(groups[0, :4].t() + z[:, :1], [4])

def heads(x: Tensor, y: Tensor) -> Tensor:
    q = torch.cat([x, y], 0).t().unsqueeze(0)
    k = q[:, :100]
    return torch.nn.functional.scaled_dot_product_attention(q, k, k * 2).transpose(1, 2)

def windows(x: Tensor, y: Tensor) -> Tensor:
    w = y[:, :1].reshape(1, 3, 1).expand(4, 3, 3) + 0.5
    z = torch.relu(torch.conv1d(x.unsqueeze(0), w, None, [2], [1]))
    s = torch.ones([4])
    z = torch.batch_norm(z, s, s, s * 0.1, s * 2, False, 0.1, 1e-5, False)
    p = torch.max_pool1d(z, [3], [2], [1], [1], True) + torch.adaptive_avg_pool1d(z, [1])
    return torch.conv_transpose1d(torch.avg_pool1d(p, [2]), w, None, [2])

def pictures(x: Tensor, y: Tensor) -> Tensor:
    z = x.reshape(1, 3, 2, -1).expand(2, 3, 2, -1)
    w = y[:, :1].reshape(1, 3, 1, 1)
    z = torch.conv2d(z, w.expand(6, 3, 1, 1)) + torch.conv2d(z, w.expand(6, 3, 1, 3), None, [1, 1], [0, 1])
    return torch.max_pool2d(z, [2, 2]).flatten(1)

def arranged(x: Tensor, y: Tensor) -> Tensor:
    z = torch.constant_pad_nd(x.flatten() * 2, [1, -2], 0.5).unsqueeze(0)
    rows = x.index_select(0, torch.tensor([2, 0])).unflatten(0, [2, 1]).movedim(0, 2)
    return rows.flatten(1) + y[:1, :1] + z.sum() * 0.001

def running(x: Tensor, y: Tensor) -> Tensor:
    place = ((x > 0).long().cumsum(1) - 1).clamp(min=0)
    most, at = torch.cummax(x * 2, 1)
    return torch.cumsum(x * y[:1, :1], 0) + place * 0.01 + most + at * 0.001 + torch.logcumsumexp(x, 1)

def divided(x: Tensor, y: Tensor) -> Tensor:
    n = x.size(1)
    z = (x * 2).view(-1)
    return (torch.cat([z, z]).view(2 * n, 3).t().reshape(2, 3 * n) + z).view(6, n).t() * y[:1, :1]

def rearranged(x: Tensor, y: Tensor) -> Tensor:
    n = x.size(1)
    z = torch.roll(x.flip(1), 5, 1) + x.repeat(1, 2)[:, n // 2:n // 2 + n]
    halves = torch.chunk(z * 2, 2, 1)
    v = x * y[:1, :1]
    v[torch.tensor([2, 0])] = x[:2] * 3
    v = torch.cat([halves[-1], halves[0]], 1) + v[torch.tensor([1, 2, 2])] + x.amax(1, keepdim=True)
    return v.gather(0, (x > 0).long()) + torch.einsum('ij,kj->ik', [x, x]).sum() * 0.01

def recurrent(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:
    w = torch.linspace(-0.6, 0.7, 27).view(9, 3)
    z = torch.cat([x, y[:1, :1].expand(3, 1)], 1).t().unsqueeze(0)
    return torch.gru(z, torch.zeros([2, 1, 3]), [w, w * 0.5, w * -1.0, w + 0.1], False, 1, 0.0, False, True, True)

def pooled(x: Tensor, y: Tensor) -> Tensor:
    z = torch.cat([x.unsqueeze(0), y[:1, :1].expand(1, 3, 1)], 2)
    half = len(x) + x.size(1) // 2
    return torch.nn.functional.adaptive_avg_pool2d(z.view(z.size()[:-1] + [-1, 1]), 1).flatten() + z[0, :, -half:].sum()

def resized(x: Tensor, y: Tensor) -> Tensor:
    z = x.unsqueeze(0)
    line = torch.nn.functional.interpolate(z, scale_factor=2.0, mode='linear')
    z = torch.nn.functional.interpolate(z * y[:1, :1], scale_factor=3.0)[:, :, ::3]
    image = torch.nn.functional.interpolate(x.reshape(1, 3, 1, -1), scale_factor=2.0, mode='bilinear')
    windows = torch.nn.functional.glu(line.unfold(2, 2, 2), 3).squeeze(3)
    return z + windows + image[:, :, 1, 1::2] + torch.outer(x[0], x[1]).diagonal() + image.amin()
`;

/** Sizes around vectors, tiles and pieces, each new, then some again; 1 and 0 are programs of their own. */
const lengths = [544, 545, 560, 1001, 999, 33, 2, 1000, 1, 0, 4096, 560, 999, 7, 2048];

const argumentsOf = (name: string, length: number, run: number): IValue[] =>
  name === 'attention'
    ? [tensorOf([2, length * 8], run), tensorOf([2, 16], run + 1)]
    : [tensorOf([3, length], run), tensorOf([3, length === 0 ? 1 : length], run + 1)];

/** Calls a program at all lengths on a device and without one. Gives the lengths at which nothing was replayed, and the most recordings of a place. */
export async function callAtLengths(
  name: string,
  device: ComputeDevice,
): Promise<{ readonly notReplayed: number[]; readonly recordings: number }> {
  const here = new PythonFunctions(source, { device });
  const there = new PythonFunctions(source, {});
  const replay = vi.spyOn(device.recorder!, 'replay');
  const notReplayed: number[] = [];
  for (const [run, length] of lengths.entries()) {
    let error: unknown = null;
    const want = await there.call(name, argumentsOf(name, length, run)).catch((thrown: unknown) => (error = thrown));
    if (error) {
      await expect(here.call(name, argumentsOf(name, length, run))).rejects.toThrow();
      continue;
    }
    replay.mockClear();
    const got = await here.call(name, argumentsOf(name, length, run));
    if (replay.mock.calls.length === 0) notReplayed.push(length);
    await expectAlike(got, want as IValue, 1e-4, `${length}`);
  }
  const recordings = Math.max(...here.explain(name).stretches.map(({ recordings: count }) => count));
  return { notReplayed, recordings };
}

/** The programs by name. */
export const programs = [...source.matchAll(/def (\w+)/g)].map(([, name]) => name);

/** Calls a program at lengths that all are new. Gives what a device prepared in the first hundred calls and in the others, and the most recordings of a place. */
export async function callAtNewLengths(
  name: string,
  device: ComputeDevice,
  calls: number,
): Promise<{ readonly early: number; readonly late: number; readonly recordings: number }> {
  const functions = new PythonFunctions(source, { device });
  let early = 0;
  for (let run = 0; run < calls; run++) {
    if (run === 100) early = device.counters.prepared;
    await functions.call(name, argumentsOf(name, 8 + 4 * ((run * 79) % 401), run));
  }
  const recordings = Math.max(...functions.explain(name).stretches.map(({ recordings: count }) => count));
  return { early, late: device.counters.prepared - early, recordings };
}
