import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { collectGarbage } from '../../../../test-setup/collect-garbage.ts';
import {
  createModule,
  memory,
  script,
  setJitOptions,
  shutdown,
  tensor,
  type DeviceTensor,
  type ModelMethod,
  type ScriptModule,
  type Tensor,
} from '../index.ts';
import { decoderOn, emptyCache, release, token, type Cache } from './device-tensors-fixture.ts';

const SIZE = 3000;
const numbers = (from = 0): Tensor => tensor(Float32Array.from({ length: SIZE }, (_, at) => from + at));
const first = async (value: unknown): Promise<number> => (await (value as DeviceTensor).data())[0] as number;

type Method = 'add' | 'write' | 'turn' | 'hold' | 'held' | 'fail';
type Net = ScriptModule & Readonly<Record<Method, ModelMethod>>;

async function moduleOf(body: string): Promise<Net> {
  const module = await createModule<Method>('Net', { device: 'cpu', worker: false });
  await module.registerBuffer('state', tensor(new Float32Array(SIZE)));
  await module.define(body);
  return module;
}

const PAIR = `
def forward(self, x):
    return x * 2, x + 1
def add(self, x, y):
    return x + y
def write(self, x):
    x.mul_(3)
    return x.sum()
def turn(self, x):
    x.unsqueeze_(0)
def hold(self, x):
    self.state = x
def held(self):
    return self.state * 1
def give(self):
    self.state = self.state + 1
    return self.state
def fail(self, x):
    x.add_(1)
    raise RuntimeError('no')
`;

describe.each([true, false])('results that stay, WebAssembly: %s', (webAssembly) => {
  beforeAll(() => setJitOptions({ webAssembly }));
  afterAll(async () => {
    setJitOptions({ webAssembly: undefined });
    await shutdown();
  });

  const withModule = async (work: (module: Net) => Promise<void>): Promise<void> => {
    await using module = await moduleOf(PAIR);
    await work(module);
  };

  it('have dtype and shape at once, and elements when they are asked for', () =>
    withModule(async (module) => {
      const [twice, more] = (await module.call('forward', [numbers()], { outputs: 'device' })) as DeviceTensor[];
      expect([twice.dtype, twice.shape, twice.ndim, twice.numel]).toEqual(['float32', [SIZE], 1, SIZE]);
      expect(Array.from((await twice.data()) as Float32Array)).toEqual(Array.from({ length: SIZE }, (_, at) => 2 * at));
      const copy = await more.tensor();
      expect(copy.tolist()).toEqual(Array.from({ length: SIZE }, (_, at) => at + 1));
      // A copy is the page's own.
      copy.data[0] = 99;
      expect(await first(more)).toBe(1);
    }));

  it('can be some of a tuple', () =>
    withModule(async (module) => {
      const places = ['page', 'device'] as const;
      const [twice, more] = (await module.call('forward', [numbers()], { outputs: places })) as [Tensor, DeviceTensor];
      expect(twice.data[1]).toBe(2);
      expect(await first(more)).toBe(1);
      await expect(module.call('forward', [numbers()], { outputs: ['device'] })).rejects.toThrow(
        "option 'outputs' has 1 places, for the values of a tuple or a list, but the result is one of 2",
      );
      await expect(module.call('add', [numbers(), numbers()], { outputs: ['device'] })).rejects.toThrow('is neither');
      await expect(module.call('forward', [numbers()], { outputs: 'gpu' as never })).rejects.toThrow(
        "option 'outputs' has to name places, 'page' or 'device', but has 'gpu'",
      );
      await expect(module.call('forward', [numbers()], { outputs: ['page', 'gpu' as never] })).rejects.toThrow(
        "option 'outputs' has to name places, 'page' or 'device', but has 'gpu'",
      );
    }));

  it('are given on without a copy, call after call, and to other models', async () => {
    await using other = await moduleOf(PAIR);
    await withModule(async (module) => {
      let [x] = (await module.call('forward', [numbers(1)], { outputs: 'device' })) as DeviceTensor[];
      for (let call = 0; call < 6; call++) {
        const next = (await (call % 2 ? module : other).call('add', [x, x], { outputs: 'device' })) as DeviceTensor;
        x.dispose();
        x = next;
      }
      expect(await first(x)).toBe(2 ** 7);
    });
  });

  it('are written to by programs, which change their shape too', () =>
    withModule(async (module) => {
      const [x] = (await module.call('forward', [numbers(1)], { outputs: 'device' })) as DeviceTensor[];
      for (let call = 0; call < 3; call++) await module.write(x);
      expect(await first(x)).toBe(2 * 27);
      await expect(module.fail(x)).rejects.toThrow('no');
      expect(await first(x)).toBe(2 * 27 + 1);
      await module.turn(x);
      expect(x.shape).toEqual([1, SIZE]);
      expect((await x.tensor()).shape).toEqual([1, SIZE]);
    }));

  it('are tensors that a module may hold, and outlive it and their calls', async () => {
    let kept: DeviceTensor;
    await withModule(async (module) => {
      const [x] = (await module.call('forward', [numbers(1)], { outputs: 'device' })) as DeviceTensor[];
      await module.hold(x);
      x.dispose();
      for (let call = 0; call < 4; call++) expect(((await module.held()) as Tensor).data[1]).toBe(4);
      for (let call = 0; call < 4; call++) {
        kept = (await module.call('give', [], { outputs: 'device' })) as DeviceTensor;
        if (call < 3) kept.dispose();
      }
      expect(((await module.held()) as Tensor).data[0]).toBe(6);
    });
    expect(await first(kept!)).toBe(6);
    kept!.dispose();
  });

  it('are given up once', () =>
    withModule(async (module) => {
      const [x, y] = (await module.call('forward', [numbers()], { outputs: 'device' })) as DeviceTensor[];
      x.dispose();
      x.dispose();
      await expect(x.data()).rejects.toMatchObject({ code: 'TENSOR_DISPOSED' });
      await expect(module.write(x)).rejects.toMatchObject({ code: 'TENSOR_DISPOSED' });
      expect(await first(y)).toBe(1);
    }));

  it('are counted, and leave no memory behind', () =>
    withModule(async (module) => {
      const before = await memory();
      const all: DeviceTensor[] = [];
      for (let call = 0; call < 20; call++) {
        all.push(...((await module.call('forward', [numbers()], { outputs: 'device' })) as DeviceTensor[]));
      }
      const during = await memory();
      expect(during.tensors - before.tensors).toBe(40);
      all.forEach((each) => each.dispose());
      const after = await memory();
      expect(after.tensors).toBe(before.tensors);
      expect(after.deviceBytes).toBeLessThanOrEqual(before.deviceBytes + 4 * 2 * 4 * SIZE);
      if (webAssembly) expect(during.deviceBytes).toBeGreaterThanOrEqual(before.deviceBytes + 40 * 4 * SIZE);
    }));

  it('of a call that nobody waits for are given up', () =>
    withModule(async (module) => {
      const { tensors } = await memory();
      const abort = new AbortController();
      const call = module.call('forward', [numbers()], { outputs: 'device', signal: abort.signal });
      abort.abort();
      await expect(call).rejects.toMatchObject({ name: 'AbortError' });
      await module.held();
      expect((await memory()).tensors).toBe(tensors);
    }));

  it('can be what a function of a program gives by default', async () => {
    await using unit = await script('def twice(x):\n    return [x * 2, x]\n', { device: 'cpu', worker: false });
    const [twice, same] = (await unit.function('twice').run([numbers(1)], { outputs: 'device' })) as DeviceTensor[];
    expect([await first(twice), await first(same)]).toEqual([2, 1]);
  });

  it('carry a cache from token to token as tensors on the page do', async () => {
    await using decoder = await decoderOn('cpu');
    let there: Cache<Tensor | DeviceTensor> = emptyCache();
    let here: Cache<Tensor> = emptyCache();
    for (let step = 0; step < 40; step++) {
      const ids = step === 0 ? token(1, 2, 3) : token((7 * step) % 50);
      const stayed = await decoder.call('forward', [ids, there], { outputs: ['page', 'device'] });
      const [logits, next] = stayed as [Tensor, Cache<DeviceTensor>];
      const [wanted, cache] = (await decoder.forward(ids, here)) as [Tensor, Cache<Tensor>];
      expect(Array.from(logits.data as Float32Array)).toEqual(
        Array.from(wanted.data as Float32Array, (each) => expect.closeTo(each, 4) as unknown),
      );
      if (step > 0) release(there as Cache<DeviceTensor>);
      [there, here] = [next, cache];
    }
    const [[keys]] = there as Cache<DeviceTensor>;
    expect(keys.shape).toEqual([1, 2, 42, 16]);
    expect(await keys.data()).toEqual((here[0][0] as Tensor).data);
    release(there as Cache<DeviceTensor>);
  });
});

it('what the page forgot is given up', async () => {
  await using module = await moduleOf(PAIR);
  const { tensors } = await memory();
  for (let call = 0; call < 50; call++) await module.call('forward', [numbers()], { outputs: 'device' });
  await vi.waitFor(
    async () => {
      collectGarbage();
      expect((await memory()).tensors).toBeLessThan(tensors + 10);
    },
    { timeout: 10_000, interval: 50 },
  );
});
