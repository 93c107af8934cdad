import { TensorType } from '@cresset/ir';
import { registerAllParts } from '@cresset/runtime';
import { List, Tensor, type IValue } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { NullGpu } from '../../../../../test-setup/null-gpu.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

const source = `
import torch
import torch.nn.functional as F
from torch import Tensor
from typing import List

def block(x: Tensor, g: Tensor, qkv: Tensor, o: Tensor, up: Tensor, down: Tensor) -> Tensor:
    y = F.linear(F.layer_norm(x, [192], g, g), qkv).view(1, -1, 3, 3, 64).permute(2, 0, 3, 1, 4)
    a = F.scaled_dot_product_attention(y[0], y[1], y[2])
    x = x + F.linear(a.transpose(1, 2).reshape(x.size()), o)
    return x + F.linear(F.gelu(F.linear(F.layer_norm(x, [192], g, g), up)), down)

def bottleneck(x: Tensor, expand: Tensor, depth: Tensor, project: Tensor, norm: List[Tensor]) -> Tensor:
    y = F.relu6(F.batch_norm(F.conv2d(x, expand), norm[0], norm[1], norm[2], norm[3]))
    y = F.relu6(F.batch_norm(F.conv2d(y, depth, None, 1, 1, 1, depth.size(0)), norm[0], norm[1], norm[2], norm[3]))
    return x + F.conv2d(y, project)

def rms_norm(x: Tensor, g: Tensor) -> Tensor:
    return g * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.size(-1) // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin

def decoding(x: Tensor, angles: Tensor, past: List[Tensor], g: Tensor, qkv: List[Tensor], o: Tensor, mlp: List[Tensor]):
    h = rms_norm(x, g)
    cos, sin = angles.cos(), angles.sin()
    q = rotated(F.linear(h, qkv[0]).view(1, 1, -1, 16).transpose(1, 2), cos, sin)
    k = rotated(F.linear(h, qkv[1]).view(1, 1, -1, 16).transpose(1, 2), cos, sin)
    v = F.linear(h, qkv[2]).view(1, 1, -1, 16).transpose(1, 2)
    k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    y = F.scaled_dot_product_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    x = x + F.linear(y.transpose(1, 2).reshape(x.size()), o)
    h = rms_norm(x, g)
    return x + F.linear(F.silu(F.linear(h, mlp[0])) * F.linear(h, mlp[1]), mlp[2]), [k, v]

def token(x: Tensor, angles: Tensor, past: List[Tensor], g: Tensor, qkv: List[Tensor], o: Tensor, mlp: List[Tensor]):
    x, first = decoding(x, angles, past, g, qkv, o, mlp)
    x, second = decoding(x, angles, past, g, qkv, o, mlp)
    x, third = decoding(x, angles, past, g, qkv, o, mlp)
    return x, first + second + third

def halves(x: Tensor) -> Tensor:
    wide = torch.tensor(x.size(1))
    half = int((wide * 6) // 12)
    return torch.softmax(x[:, :half] + x[:, half:], 1)
`;

/** Launches of a run that replays an earlier one. */
async function replayed(name: string, args: () => IValue[], software: boolean): Promise<number> {
  const functions = new PythonFunctions(source, { device: new NullGpu().open({ software }) });
  for (let run = 0; run < 4; run++) {
    const given = args();
    const result = (await functions.call(name, given)) as Tensor;
    for (const value of [...given, result]) if (value instanceof Tensor) value.dispose();
  }
  const { dispatches, replayed: again } = functions.module.lastRun!;
  expect(again).toBe(dispatches);
  return dispatches;
}

describe('launches of a transformer', () => {
  const weights = (): Tensor[] => [
    tensorOf([1, 17, 192]),
    tensorOf([192], 2),
    tensorOf([576, 192], 3),
    tensorOf([192, 192], 4),
    tensorOf([768, 192], 5),
    tensorOf([192, 768], 6),
  ];

  it('are five for a layer on a GPU: norms are a part of the products behind them, attention is one', async () => {
    expect(await replayed('block', weights, false)).toBe(5);
  });

  it('are six on a software adapter, where a norm would be worked out too often', async () => {
    expect(await replayed('block', weights, true)).toBe(6);
  });

  it('go on past sizes that went through tensors', async () => {
    expect(await replayed('halves', () => [tensorOf([256, 512])], false)).toBe(1);
  });
});

describe('launches of a token', () => {
  // Three layers: of 8 where a norm is a part of what reads it, of 9 otherwise, less the first norm, which the host works out.
  it.each([
    { software: false, launches: 23 },
    { software: true, launches: 26 },
  ])('are the same however long the cache is: $launches', async ({ software, launches }) => {
    const functions = new PythonFunctions(source, { device: new NullGpu().open({ software }) });
    const listOf = (...tensors: Tensor[]): IValue => new List(TensorType.get(), tensors);
    const weights = [
      tensorOf([128], 2),
      listOf(tensorOf([128, 128], 3), tensorOf([64, 128], 4), tensorOf([64, 128], 5)),
      tensorOf([128, 128], 6),
      listOf(tensorOf([256, 128], 7), tensorOf([256, 128], 8), tensorOf([128, 256], 9)),
    ];
    const counts: number[] = [];
    for (let length = 5; length < 12; length++) {
      const past = listOf(tensorOf([1, 4, length, 16]), tensorOf([1, 4, length, 16]));
      await functions.call('token', [tensorOf([1, 1, 128]), tensorOf([1, 1, 1, 16]), past, ...weights]);
      const { dispatches, replayed: again } = functions.module.lastRun!;
      if (length > 8) expect(again).toBe(dispatches);
      counts.push(dispatches);
    }
    expect(counts.slice(4)).toEqual([launches, launches, launches]);
  });
});

describe('launches of an inverted residual', () => {
  // As the last blocks of a MobileNetV2 have them, at images of 2 × 2 and 4 × 4.
  it.each([
    { sizes: [1, 160, 2, 2], hidden: 960 },
    { sizes: [1, 64, 4, 4], hidden: 384 },
  ])('are two on a GPU, whose threads share what is convolved by depth: $sizes', async ({ sizes, hidden }) => {
    const [, channels] = sizes;
    const args = (): IValue[] => [
      tensorOf(sizes),
      tensorOf([hidden, channels, 1, 1], 2),
      tensorOf([hidden, 1, 3, 3], 3),
      tensorOf([channels, hidden, 1, 1], 4),
      new List(
        TensorType.get(),
        Array.from({ length: 4 }, (_, at) => tensorOf([hidden], at + 5)),
      ),
    ];
    expect(await replayed('bottleneck', args, false)).toBe(2);
  });
});
