import { declareScript, moduleInitializer } from '@cresset/frontend';
import { CompilationUnit, type ClassType } from '@cresset/ir';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import { ScriptObject, Tensor, type IValue } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it, vi } from 'vitest';
import { tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

/** Modules with a tensor `s` and a number `k`, and what their `forward` does. */
const bodies = {
  'a cache that grows and a place': `
        y = torch.tanh(x) + torch.arange(self.k, self.k + x.size(0)).float().unsqueeze(-1) * 0.01
        self.s = torch.cat([self.s, y])
        self.k += x.size(0)
        return torch.softmax(self.s * 0.5, -1)`,
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
} as const;

async function moduleOf(body: string, device: WasmDevice | null): Promise<ScriptModule> {
  const unit = new CompilationUnit();
  const source = `
class Subject(nn.Module):
    def __init__(self, s: Tensor):
        super().__init__()
        self.register_buffer('s', s)
        self.register_buffer('old', s * 1)
        self.k = 0

    def forward(self, x: Tensor) -> Tensor:${body}
`;
  declareScript(source, { unit, filename: '<program>' }).defineClasses();
  const type = unit.getType('__torch__.Subject') as ClassType;
  const object = new ScriptObject(type);
  const context = new RuntimeContext({ print: () => undefined, warn: () => undefined, device });
  const module = new ScriptModule(object, unit, context);
  await module.callFunction(moduleInitializer(type)!, [object, tensorOf([20, 64], 9)]);
  return module;
}

async function expectAlike(got: IValue, wanted: IValue): Promise<void> {
  if (!(wanted instanceof Tensor)) return expect(got).toBe(wanted);
  const tensor = got as Tensor;
  await tensor.storage.toHost();
  expect(tensor.sizes).toEqual(wanted.sizes);
  const [found, elements] = [tensor, wanted].map((each) => each.contiguousArray() as Float32Array);
  expect(found.findIndex((each, at) => !(Math.abs(each - elements[at]) < 1e-4 * (1 + Math.abs(each))))).toBe(-1);
}

it.each(Object.entries(bodies))('a replay sets attributes: %s', async (_name, body) => {
  const device = new WasmDevice();
  const [here, there] = [await moduleOf(body, device), await moduleOf(body, null)];
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
  device.dispose();
});
