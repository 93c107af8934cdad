import { explainFunction, type ScriptModule } from '@cresset/runtime';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { vi } from 'vitest';
import { subjectOf, tensorOf } from '../python-functions-fixture.ts';
import { expectAlike } from './alike-fixture.ts';

/** What a layer with a cache of two heads does in a step: `q`, `k` and `v` of [1, 2, tokens, 16]. */
export const steps = {
  'attributes that are joined along the third dimension': `
        self.keys = torch.cat([self.keys, k], 2)
        self.values = torch.cat([self.values, v], 2)
        return self.attend(q, self.keys, self.values)`,
  'a list of pairs, as those of Hugging Face': `
        keys, values = self.pairs[0]
        keys = torch.cat((keys[:, :, :keys.size(2)], k), 2)
        values = torch.cat((values, v), 2)
        presents = torch.jit.annotate(List[Tuple[Tensor, Tensor]], [])
        presents.append((keys, values))
        self.pairs = presents
        return self.attend(q, keys.repeat_interleave(2, 1)[:, ::2], values)`,
  'keys that are turned by their place': `
        turned = torch.cat((-k[..., 8:], k[..., :8]), -1)
        self.keys = torch.cat([self.keys, k * 0.5 + turned * 0.1], 2)
        self.values = torch.cat([self.values, v.tanh()], 2)
        keys = self.keys.repeat_interleave(2, 1)
        return torch.matmul(torch.softmax(torch.matmul(q.repeat_interleave(2, 1), keys.transpose(2, 3)), -1), self.values[:, :1])`,
  'a cache of one row': `
        flat = (k + v).transpose(1, 2).flatten(2)
        self.line = torch.cat([self.line, flat], 1)
        return torch.softmax(self.line, -1).sum(1) + q[:, :, 0].flatten(1)`,
  'one that is looked at in between': `
        self.keys = torch.cat([self.keys, k * 2], 2)
        self.values = torch.cat([self.values, v], 2)
        if bool(self.keys.sum() > 1e9):
            return self.keys
        return self.attend(q, self.keys, self.values) + self.keys.mean()`,
  'one of which old states are kept': `
        old = self.keys
        self.keys = torch.cat([self.keys, k], 2)
        self.old = old * 1 if old.size(2) < 20 else old
        return self.keys.sum(2) + self.old.sum(2)`,
  'one that is written to now and then': `
        self.keys = torch.cat([self.keys, k], 2)
        if self.keys.size(2) % 5 == 0:
            self.keys[:, :, 0].mul_(0.5)
        return self.attend(q, self.keys, self.keys)`,
  'one that goes on from where another one did': `
        again = torch.cat([self.keys, k * 3], 2)
        self.keys = torch.cat([self.keys, k], 2)
        return self.attend(q, again, self.keys)`,
  'one of which views are left': `
        old = self.keys[:, :, 1:]
        self.keys = torch.cat([self.keys, k], 2)
        left = self.keys[:, :, 2:]
        self.keys = torch.cat([self.keys, k * 2], 2)
        return old, left`,
  'one that is cut now and then': `
        if self.keys.size(2) > 45:
            self.keys = self.keys[:, :, :37]
        self.keys = torch.cat([self.keys, k], 2)
        return self.attend(q, self.keys, self.keys)`,
} as const;

export type Step = keyof typeof steps;

const sourceOf = (step: string): string => `
class Subject(nn.Module):
    pairs: List[Tuple[Tensor, Tensor]]

    def __init__(self, s: Tensor):
        super().__init__()
        self.weight = nn.Parameter(s)
        self.register_buffer('keys', torch.zeros(1, 2, 0, 16))
        self.register_buffer('values', torch.zeros(1, 2, 0, 16))
        self.register_buffer('line', torch.zeros(1, 0, 32))
        self.register_buffer('old', torch.zeros(1, 2, 0, 16))
        self.pairs = [(torch.zeros(1, 2, 0, 16), torch.zeros(1, 2, 0, 16))]

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * 0.25, -1)
        return torch.matmul(scores, v)

    def forward(self, x: Tensor):
        y = torch.matmul(torch.tanh(x), self.weight)
        q, k, v = y.view(1, x.size(0), 2, 48).transpose(1, 2).split(16, -1)${step}
`;

/** A module with such a step; its input is of [tokens, 32]. */
const cacheModule = (step: Step, device: ComputeDevice | null): ScriptModule =>
  subjectOf(sourceOf(steps[step]), tensorOf([32, 96], 9), { device });

/** Nine tokens, then one or three at a time, held against the same program without a device. */
export async function callWithGrowingCache(
  step: Step,
  device: ComputeDevice,
  calls: number,
): Promise<{ replays: number[]; allocated: number[]; isGrown: boolean }> {
  const [here, there] = [cacheModule(step, device), cacheModule(step, null)];
  const replay = vi.spyOn(device.recorder!, 'replay');
  const replays: number[] = [];
  const allocated: number[] = [];
  let isGrown = false;
  const method = here.object.type.getMethod('forward')!;
  for (const [run, tokens] of [9, ...Array.from({ length: calls }, (_, at) => (at % 9 === 7 ? 3 : 1))].entries()) {
    replay.mockClear();
    const { buffersAllocated } = device.counters;
    const got = await here.call('forward', [tensorOf([tokens, 32], run)], { resultToHost: true });
    replays.push(replay.mock.calls.length);
    allocated.push(device.counters.buffersAllocated - buffersAllocated);
    await expectAlike(got, await there.call('forward', [tensorOf([tokens, 32], run)]), 1e-4, `${step}, call ${run}`);
    // Each place tells of its latest recording.
    const { stretches } = explainFunction(here, method, here.object);
    isGrown ||= stretches.some(({ program }) => program?.includes(' grown in '));
  }
  for (const [slot, value] of here.object.slots.entries()) await expectAlike(value, there.object.slots[slot]);
  return { replays, allocated, isGrown };
}
