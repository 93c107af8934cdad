import { script } from '@cresset/frontend';
import { ClassType } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { List, ScriptObject, Tensor, type IValue } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { CountingDevice } from '../counting-device-fixture.ts';
import { initializeRuntime } from '../initialize.ts';
import { register } from '../parts/memory.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ScriptModule } from '../script-module.ts';

beforeAll(() => {
  initializeRuntime();
  registerAllOperators();
  register();
});

/** Bytes of a tensor of 1000 floats. */
const BYTES = 4000;
const LIMIT = 20 * BYTES;

class CountedDevice extends CountingDevice {
  live = 0;
  peak = 0;

  override allocate(byteLength: number): { byteLength: number; isLost: boolean } {
    this.live += byteLength;
    this.peak = Math.max(this.peak, this.live);
    return { byteLength, isLost: false };
  }

  override release(...[buffer]: { byteLength: number }[]): void {
    this.live -= buffer.byteLength;
  }
}

const PRELUDE = `
class Holder:
    def __init__(self, items: List[Tensor]):
        self.items = items
def doubled(x: Tensor):
    return x + x
`;

function program(body: string, device: CountedDevice | null) {
  const unit = script(`${PRELUDE}${body}`);
  const object = new ScriptObject(new ClassType('__torch__.M'));
  const context = new RuntimeContext({ device, limits: { smallWork: -1 }, memoryLimit: LIMIT, print: () => {} });
  const module = new ScriptModule(object, unit, context);
  const holder = new ScriptObject(unit.getClass('__torch__.Holder')!);
  holder.setAttribute('items', new List(unit.getClass('__torch__.Holder')!.getAttribute('items') as never, []));
  return {
    holder,
    call: (name: string, ...args: IValue[]) =>
      module.callFunction(unit.getFunction(`__torch__.${name}`), args, { resultToHost: true }),
  };
}

const input = (): Tensor => Tensor.fromArray(new Float32Array(1000).fill(1), [1000], 'float32');

/** What it failed of, with the bytes that its message tells. */
async function refused(outcome: Promise<unknown>) {
  const error = await outcome.then(
    () => null,
    (thrown: unknown) => thrown as Error & { code: string; reason: string },
  );
  expect(error).toMatchObject({ code: 'MEMORY_LIMIT', name: 'TorchScriptError' });
  const [asked, held, limit] = error!.reason.match(/\d+/g)!.map(Number);
  expect(limit).toBe(LIMIT);
  expect(asked + held).toBeGreaterThan(LIMIT);
  expect(held).toBeLessThanOrEqual(LIMIT);
  return { asked, held, message: error!.message };
}

describe.each([
  ['host', () => null],
  ['device', () => new CountedDevice()],
])('a limit to memory, on the %s', (_name, makeDevice) => {
  it('ends a program that keeps tensors for ever, with the line and the bytes', async () => {
    const device = makeDevice();
    const { call } = program(
      `
def f(x: Tensor):
    kept: List[Tensor] = []
    while True:
        kept.append(
            x + len(kept)
        )
    return kept
def g(x: Tensor):
    return x + 1
`,
      device,
    );
    const { asked, message } = await refused(call('f', input()));
    expect(asked).toBe(BYTES);
    expect(message).toContain('x + len(kept)');
    if (device) expect(device.peak).toBeLessThanOrEqual(LIMIT);
    expect(await call('g', input())).toBeInstanceOf(Tensor);
    await refused(call('f', input()));
  });

  it.each([
    ['gives up what it made', 'y = x\n    for i in range(200):\n        y = y + i\n    return y'],
    [
      'keeps tensors in a list that stays short',
      'kept = [x, x, x]\n    for i in range(200):\n        kept[i % 3] = kept[(i + 1) % 3] + i\n    return kept[0]',
    ],
    [
      'makes containers and drops them',
      'y = x\n    for i in range(200):\n        d = {"a": y + i, "b": y}\n        y = d["a"]\n    return y',
    ],
    [
      'hands tensors to functions',
      'y = x\n    for i in range(200):\n        y = torch.stack([doubled(y), y]).sum(0)\n    return y',
    ],
    [
      'waits for calls it forked',
      'y = x\n    for i in range(100):\n        a = torch.jit.fork(doubled, y)\n        b = [torch.jit.fork(doubled, x)]\n        y = torch.jit.wait(a) + torch.jit.wait(b[0])\n    return y',
    ],
  ])('lets a program be that %s, however long it runs', async (_, body) => {
    const device = makeDevice();
    const { call } = program(`def f(x: Tensor):\n    ${body}\n`, device);
    expect(await call('f', input())).toBeInstanceOf(Tensor);
    if (device) expect(device.peak).toBeLessThanOrEqual(LIMIT);
  });

  it('counts what attributes hold, also from earlier runs, and what is given', async () => {
    const { call, holder } = program(
      `
def keep(holder: Holder, x: Tensor):
    holder.items.append(x + x)
def clear(holder: Holder):
    holder.items.clear()
`,
      makeDevice(),
    );
    let runs = 0;
    const { held } = await refused(
      (async () => {
        for (; ; runs++) await call('keep', holder, input());
      })(),
    );
    expect(held).toBeGreaterThan(LIMIT - 3 * BYTES);
    expect(runs).toBeGreaterThan(10);
    expect((holder.getAttribute('items') as List).items).toHaveLength(runs);
    await call('clear', holder);
    await call('keep', holder, input());
    expect((holder.getAttribute('items') as List).items).toHaveLength(1);
  });

  it('refuses one tensor that is too large before there is memory for it', async () => {
    const { call } = program('def f(x: Tensor):\n    return torch.zeros(1 << 45) + x\n', makeDevice());
    const { asked } = await refused(call('f', input()));
    expect(asked).toBe(4 * 2 ** 45);
  });
});
