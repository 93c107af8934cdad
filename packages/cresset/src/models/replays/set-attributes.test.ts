import { registerAllParts, type ScriptModule } from '@cresset/runtime';
import type { IValue, Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it, vi } from 'vitest';
import { intsOf, subjectOf, tensorOf } from '../python-functions-fixture.ts';
import { expectAlike } from './alike-fixture.ts';

beforeAll(registerAllParts);

/** Modules with a tensor `s` and a number `k`, and what their `forward` does. */
const bodies = {
  'a cache that grows and a place': `
        y = torch.tanh(x) + torch.arange(self.k, self.k + x.size(0)).float().unsqueeze(-1) * 0.01
        self.s = torch.cat([self.s, y])
        self.k += x.size(0)
        return torch.softmax(self.s * 0.5, -1)`,
  'a place that goes to operators, with a size': `
        y = torch.tanh(x) + self.k
        self.k += x.size(0)
        self.s = y * (self.k / x.size(0)) * (1 / math.sqrt(self.k))
        return self.s.masked_fill(self.s > 0.5 * self.k, float(self.k))`,
  'what is set twice, and read in between': `
        self.s = x * 2
        y = self.s + 1
        self.s = torch.relu(y)
        self.k = 3
        self.k = self.k + self.k
        return self.s * self.k`,
  'what is written to when it is set': `
        self.old = self.s
        self.s = x * 0.5
        self.s.add_(1)
        y = self.s[1:]
        y.mul_(2)
        return self.s + self.old[:1]`,
  'what was given': `
        self.old = self.s
        self.s = x
        x.mul_(2)
        return torch.tanh(self.s) - self.old[:1]`,
  'a view of what is set again': `
        z = torch.cat([self.s, x])
        self.s = z[-x.size(0):]
        return z.relu() * 2`,
  'a view whose strides and place move': `
        heard = torch.cat([self.old[:, -4:], x.t()[:20]], 1)
        self.old = heard[:, -4:]
        return torch.tanh(heard).sum(1)`,
} as const;

const sourceOf = (body: string): string => `
import math

class Subject(nn.Module):
    def __init__(self, s: Tensor):
        super().__init__()
        self.register_buffer('s', s)
        self.register_buffer('old', s * 1)
        self.k = 0

    def forward(self, x: Tensor) -> Tensor:${body}
`;

const moduleOf = (source: string, device: WasmDevice | null): ScriptModule =>
  subjectOf(source, tensorOf([20, 64], 9), { device, limits: { smallWork: 0 } });

it.each(Object.entries(bodies))('a replay sets attributes: %s', async (_name, body) => {
  const device = new WasmDevice();
  const [here, there] = [moduleOf(sourceOf(body), device), moduleOf(sourceOf(body), null)];
  const replay = vi.spyOn(device.recorder, 'replay');
  const replays: number[] = [];
  for (const [run, rows] of [20, 20, 20, 21, 22, 20, 23, 30, 30].entries()) {
    const [mine, theirs] = [tensorOf([rows, 64], run), tensorOf([rows, 64], run)];
    replay.mockClear();
    const got = await here.call('forward', [mine], { resultToHost: true });
    replays.push(replay.mock.calls.length);
    await expectAlike(got, await there.call('forward', [theirs]));
    await expectAlike(mine, theirs);
    for (const [slot, value] of here.object.slots.entries()) await expectAlike(value, there.object.slots[slot]);
  }
  // The whole call is one stretch.
  expect(Math.max(...replays)).toBe(1);
  // For sizes that it never had, too.
  expect(replays.slice(6)).toEqual([1, 1, 1]);
  device.dispose();
});

it('a loop that generates is one replay a token, whatever its cache and its place', async () => {
  const source = `
class Subject(nn.Module):
    def __init__(self, s: Tensor):
        super().__init__()
        self.register_buffer('table', s)
        self.register_buffer('cache', s[None, :0])
        self.place = 0

    def step(self, ids: Tensor) -> Tensor:
        places = torch.arange(self.place, self.place + ids.size(1)).float().unsqueeze(-1)
        x = torch.embedding(self.table, ids) + torch.sin(places)
        self.cache = torch.cat([self.cache, x], 1)
        self.place += ids.size(1)
        weights = torch.softmax(torch.matmul(x, self.cache.transpose(1, 2)) * 0.1, -1)
        return torch.matmul(torch.tanh(torch.matmul(weights, self.cache)), self.table.t())

    def forward(self, ids: Tensor, n: int) -> Tensor:
        self.cache = self.table[None, :0]
        self.place = 0
        tokens = [ids]
        for i in range(n):
            ids = self.step(ids)[:, -1].argmax(-1, keepdim=True)
            tokens.append(ids)
        return torch.cat(tokens, 1)
`;
  const device = new WasmDevice();
  const [here, there] = [await moduleOf(source, device), await moduleOf(source, null)];
  const replay = vi.spyOn(device.recorder, 'replay');
  for (const [run, tokens] of [20n, 20n, 20n, 33n].entries()) {
    const args = (): IValue[] => [intsOf(5, 7, 9 - run).asStrided([1, 3], [3, 1]), tokens];
    replay.mockClear();
    const got = (await here.call('forward', args(), { resultToHost: true })) as Tensor;
    const wanted = (await there.call('forward', args())) as Tensor;
    expect(got.contiguousArray()).toEqual(wanted.contiguousArray());
    // Each token, and what joins them.
    if (run >= 2) expect(replay.mock.calls.length).toBeLessThanOrEqual(Number(tokens) + 1);
  }
  expect(replay.mock.calls.length).toBeGreaterThanOrEqual(33);
  device.dispose();
});
