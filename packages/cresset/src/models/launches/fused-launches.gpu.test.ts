import { registerAllParts } from '@cresset/runtime';
import type { IValue, Tensor } from '@cresset/tensor';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failure } from '../../../../../test-setup/failure.ts';
import { requestWithSchedules } from '../../../../../test-setup/gpu-schedules.ts';
import { intsOf, PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

let device: WebGpuDevice;
beforeAll(registerAllParts);
beforeEach(async () => {
  device = await requestWebGpuDevice();
});
afterEach(() => device.dispose());

interface Case {
  readonly source: string;
  readonly args: () => IValue[];
  /** Launches of the first run, and of those that replay it. */
  readonly dispatches: readonly [first: number, replayed: number];
}

/** Runs a function three times, the last two replayed, and on the host; gives launches of the first and the last. */
async function expectFused({ source, args, dispatches }: Case): Promise<void> {
  const functions = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
  const want = (await new PythonFunctions(source, {}).call('f', args())) as Tensor;
  const counts: number[] = [];
  for (let run = 0; run < 3; run++) {
    const got = (await functions.call('f', args())) as Tensor;
    counts.push(functions.module.lastRun!.dispatches);
    expect(got.sizes).toEqual(want.sizes);
    const [mine, hosts] = [got, want].map((tensor) => Array.from(tensor.contiguousArray() as Float32Array));
    const tolerance = 1e-4 * hosts.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    mine.forEach((value, at) => expect(Math.abs(value - hosts[at])).toBeLessThan(tolerance));
  }
  expect(counts).toEqual([dispatches[0], dispatches[1], dispatches[1]]);
}

const attention = (heads: number): string => `
def heads(x: Tensor) -> Tensor:
    return x.view(x.size(0), x.size(1), ${heads}, -1).transpose(1, 2)

def f(x: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    a = F.scaled_dot_product_attention(heads(F.linear(x, q, b)), heads(F.linear(x, k, b)), heads(F.linear(x, v)), attn_mask=mask)
    return x + F.linear(a.transpose(1, 2).contiguous().view(x.size()), o, b)
`;

const weights = (count: number, rows: number, columns: number): Tensor[] =>
  Array.from({ length: count }, (_, at) => tensorOf([rows, columns], at + 2));

describe('launches of a recording', () => {
  it('are one for products with the same left side; copies are part of the product that reads them', () =>
    expectFused({
      source: `import torch\nimport torch.nn.functional as F\nfrom torch import Tensor\n${attention(4)}`,
      args: () => [tensorOf([2, 7, 24]), ...weights(4, 24, 24), tensorOf([24], 9), tensorOf([2, 1, 1, 7], 4)],
      // Three products, attention, copy, product; then joined products, attention, product.
      dispatches: [6, 3],
    }));

  it('take a row of a norm in, where only the product behind it reads it', () =>
    expectFused({
      source: `
import torch
import torch.nn.functional as F
from torch import Tensor
def f(x: Tensor, g: Tensor, b: Tensor, w: Tensor) -> Tensor:
    return F.gelu(F.linear(F.layer_norm(x, [12], g, b), w))
`,
      args: () => [tensorOf([3, 5, 12]), tensorOf([12], 2), tensorOf([12], 3), ...weights(1, 20, 12)],
      dispatches: [2, 1],
    }));

  it('leave a norm alone that two others read', () =>
    expectFused({
      source: `
import torch
import torch.nn.functional as F
from torch import Tensor
def f(x: Tensor, w: Tensor) -> Tensor:
    y = F.layer_norm(x, [12])
    return F.linear(F.relu(F.linear(y, w)), w) + y
`,
      args: () => [tensorOf([5, 12]), ...weights(1, 12, 12)],
      dispatches: [3, 3],
    }));

  it('leave a norm alone where the product would repeat it too often', () =>
    expectFused({
      source: `
import torch
import torch.nn.functional as F
from torch import Tensor
def f(x: Tensor, w: Tensor) -> Tensor:
    return F.linear(F.layer_norm(x, [512]), w)
`,
      args: () => [tensorOf([256, 512]), ...weights(1, 512, 512)],
      dispatches: [2, 2],
    }));

  it.each([1, 2])('take a depthwise convolution into the one over channels behind it (stride %i)', (stride) =>
    expectFused({
      source: `
import torch
import torch.nn.functional as F
from torch import Tensor
def f(x: Tensor, depth: Tensor, point: Tensor, b: Tensor) -> Tensor:
    return F.conv2d(F.relu6(F.conv2d(x, depth, b, ${stride}, 1, 1, 6)), point)
`,
      args: () => [tensorOf([2, 6, 9, 7]), tensorOf([6, 1, 3, 3], 2), tensorOf([18, 6, 1, 1], 3), tensorOf([6], 4)],
      dispatches: [2, 1],
    }),
  );

  it.each([
    { schedules: 'hardware', sizes: [2, 6, 9, 7], stride: 1 },
    { schedules: 'hardware', sizes: [1, 70, 5, 4], stride: 2 },
    { schedules: 'few threads', sizes: [1, 70, 5, 4], stride: 1 },
    { schedules: 'few threads', sizes: [1, 33, 2, 2], stride: 1 },
  ] as const)('share it among the threads of a workgroup: $schedules, $sizes, stride $stride', async (each) => {
    const { schedules, sizes, stride } = each;
    device.dispose();
    device = await requestWithSchedules(schedules);
    const [, channels] = sizes;
    await expectFused({
      source: `
import torch
import torch.nn.functional as F
from torch import Tensor
def f(x: Tensor, depth: Tensor, point: Tensor, b: Tensor, y: Tensor) -> Tensor:
    return F.conv2d(F.relu6(F.conv2d(x, depth, b, ${stride}, 1, 1, ${channels})), point) + y
`,
      args: () => [
        tensorOf(sizes),
        tensorOf([channels, 1, 3, 3], 2),
        tensorOf([40, channels, 1, 1], 3),
        tensorOf([channels], 4),
        tensorOf([1, 40, 1, 1], 5),
      ],
      dispatches: [2, 1],
    });
  });

  it('store a sum over an operand that nobody needs any more', () =>
    expectFused({
      source: `
import torch
from torch import Tensor
def f(x: Tensor, w: Tensor) -> Tensor:
    a = x @ w
    b = torch.softmax(a, 0)
    c = a + b @ w
    d = torch.softmax(c, 0)
    return d @ w
`,
      args: () => [tensorOf([260, 270]), ...weights(1, 270, 270)],
      dispatches: [5, 5],
    }));

  it('are one where tensors are joined that another makes, although somebody needs one of them too', () =>
    expectFused({
      source: `
import torch
from torch import Tensor
def f(x: Tensor, h: Tensor, c: Tensor, w: Tensor, r: Tensor) -> Tensor:
    h, c = torch.lstm_cell(x, [h, c], w, r, None, None)
    joined = torch.stack([c, h, h], 1)
    return joined.sum([1]).cumsum(0) + h.cumsum(1) + joined[:, 1]
`,
      args: () => [
        tensorOf([3, 5]),
        tensorOf([3, 4], 2),
        tensorOf([3, 4], 3),
        ...weights(1, 16, 5),
        ...weights(1, 16, 4),
      ],
      dispatches: [5, 2],
    }));

  it('keep a write between two launches where it was', () =>
    expectFused({
      source: `
import torch
import torch.nn.functional as F
from torch import Tensor
def f(x: Tensor, w: Tensor) -> Tensor:
    t = x.transpose(0, 1).contiguous()
    y = x * 2
    z = y.transpose(0, 1).contiguous()
    y.copy_(w)
    return torch.mm(z, w) + torch.mm(t, y)
`,
      args: () => [tensorOf([6, 6]), ...weights(1, 6, 6)],
      // The two copies of rows are one.
      dispatches: [6, 4],
    }));

  it.each([
    { what: 'position', last: [1, 9] },
    { what: 'token', last: [9, 1] },
  ])('find a bad $what of several sentences where they look things up', async ({ last: [token, position] }) => {
    const functions = new PythonFunctions(
      `
import torch
import torch.nn.functional as F
from torch import Tensor
def f(i: Tensor, j: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return F.embedding(i.view(3, 2), a) + F.embedding(j.unsqueeze(0), b)
`,
      { device, limits: { smallWork: -1 } },
    );
    const call = (lastToken: number, lastPosition: number): Promise<IValue> => {
      const indices = [intsOf(0, 3, 2, 1, 4, lastToken), intsOf(0, lastPosition)];
      return functions.call('f', [...indices, tensorOf([5, 8], 1), tensorOf([5, 8], 2)]);
    };
    const first = (await call(1, 2)) as Tensor;
    await call(2, 1);
    const again = (await call(1, 2)) as Tensor;
    expect(functions.module.lastRun).toMatchObject({ dispatches: 1, replayed: 1 });
    expect(again.contiguousArray()).toEqual(first.contiguousArray());
    expect(await failure(call(token, position))).toMatchObject({
      message: expect.stringContaining('index out of range in self'),
    });
  });

  it('find a bad index where it was found before', async () => {
    const functions = new PythonFunctions(
      `
import torch
import torch.nn.functional as F
from torch import Tensor
def f(i: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return F.layer_norm(F.embedding(i, a) + F.embedding(i, b), [8])
`,
      { device, limits: { smallWork: -1 } },
    );
    const call = (last: number): Promise<IValue> =>
      functions.call('f', [intsOf(0, 3, last), tensorOf([5, 8], 1), tensorOf([5, 8], 2)]);
    await call(1);
    await call(4);
    expect(functions.module.lastRun).toMatchObject({ dispatches: 1, replayed: 1 });
    expect(await failure(call(5))).toMatchObject({ message: expect.stringContaining('index out of range in self') });
    await call(2);
  });
});
