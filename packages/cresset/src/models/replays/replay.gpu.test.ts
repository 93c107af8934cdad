import { queryObjects } from 'node:v8';
import { registerAllParts, type RuntimeContextOptions } from '@cresset/runtime';
import { TensorType } from '@cresset/ir';
import { List, Storage, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failure } from '../../../../../test-setup/failure.ts';
import { ForgetfulGpu } from '../../../../../test-setup/forgetful-gpu.ts';
import { intsOf, PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

let device: WebGpuDevice;

beforeAll(registerAllParts);
beforeEach(async () => {
  device = await requestWebGpuDevice();
});
afterEach(() => device.dispose());

/** Everything runs on the device that can, however little it is. */
const onDevice = (source: string, options: RuntimeContextOptions = {}) =>
  new PythonFunctions(source, { device, limits: { smallWork: -1 }, ...options });
const onHost = (source: string) => new PythonFunctions(source, {});

function numbers(value: IValue): unknown {
  if (value instanceof Tensor) return [value.sizes, Array.from(value.contiguousArray() as Float32Array)];
  if (value instanceof List || value instanceof Tuple) return value.items.map(numbers);
  return value;
}

function expectClose(got: unknown, want: unknown): void {
  if (typeof want === 'number') expect(got).toBeCloseTo(want, 4);
  else if (Array.isArray(want)) {
    expect(got).toHaveLength(want.length);
    want.forEach((each, at) => expectClose((got as unknown[])[at], each));
  } else expect(got).toEqual(want);
}

/** Calls a function several times here and there; results are compared when all calls are over. */
async function expectSame(source: string, calls: readonly (() => IValue[])[], name = 'f'): Promise<PythonFunctions> {
  const functions = onDevice(source);
  const host = onHost(source);
  const outcomes: [IValue, IValue][] = [];
  const inputs: [IValue[], IValue[]][] = [];
  for (const make of calls) {
    const [here, there] = [make(), make()];
    outcomes.push([await functions.call(name, here), await host.call(name, there)]);
    inputs.push([here, there]);
  }
  for (const [here, there] of inputs) {
    for (const value of here) if (value instanceof Tensor) await value.storage.toHost();
    expectClose(here.map(numbers), there.map(numbers));
  }
  for (const [got, want] of outcomes) expectClose(numbers(got), numbers(want));
  return functions;
}

const times = (count: number, make: (run: number) => IValue[]): (() => IValue[])[] =>
  Array.from({ length: count }, (_, run) => () => make(run));

describe('a replayed run', () => {
  it('gives results that later runs leave alone', async () => {
    const functions = await expectSame(
      `
def f(x: Tensor, w: Tensor):
    y = torch.softmax(x @ w, -1)
    z = torch.relu(y - 0.2)
    return (z, [y, torch.exp(z)], y.t(), x)
`,
      times(5, (run) => [tensorOf([5, 6], run), tensorOf([6, 6], 2 * run)]),
    );
    const { dispatches, replayed } = functions.module.lastRun!;
    expect(replayed).toBe(dispatches);
    expect(dispatches).toBeGreaterThan(1);
  });

  it('writes where the program writes: to arguments, and through views', async () => {
    await expectSame(
      `
def f(x: Tensor, y: Tensor):
    v = x[1]
    v.mul_(2)
    y.add_(torch.softmax(x, 0))
    x[:, 0] = y[:, 1]
    return torch.sum(x, 1)
`,
      times(4, (run) => [tensorOf([4, 3], run), tensorOf([4, 3], run + 9)]),
    );
  });

  it('knows inputs that are one from inputs that are two', async () => {
    const one = (run: number): IValue[] => {
      const x = tensorOf([6], run);
      return [x, x.asStrided([3], [1], 0), x.asStrided([3], [1], 3)];
    };
    const three = (run: number): IValue[] => [tensorOf([6], run), tensorOf([3], run + 1), tensorOf([3], run + 2)];
    await expectSame(
      `
def f(x: Tensor, a: Tensor, b: Tensor):
    a.add_(b)
    return torch.softmax(x, 0) + torch.cat([b, a])
`,
      [0, 1, 2, 3, 4, 5, 6, 7].map((run) => () => (run % 3 === 1 ? one(run) : three(run))),
    );
  });

  it('goes by shapes, strides, offsets, dtypes and numbers', async () => {
    const wide = (run: number): Tensor => tensorOf([8, 8], run);
    await expectSame(
      `
def f(x: Tensor, s: float, n: int):
    y = torch.softmax(x * s, -1)
    return y.sum(0) if n > 1 else y * n
`,
      [0, 1].flatMap(() => [
        () => [wide(1), 0.5, 1n],
        () => [wide(2).asStrided([8, 8], [1, 8], 0), 0.5, 1n],
        () => [wide(3).asStrided([4, 4], [8, 1], 9), 0.5, 2n],
        () => [wide(4).asStrided([4, 4], [8, 1], 2), 0.5, 2n],
        () => [wide(5), 1.5, 2n],
        () => [wide(6), 1.5, 3n],
      ]),
    );
  });

  it('takes numbers that change as those they are, in every type', async () => {
    const functions = await expectSame(
      `
def f(x: Tensor, i: Tensor, h: Tensor, s: float, n: int):
    y = torch.softmax(x * s, -1) - n
    k = (i + n) * n - (i // (n * n + 1))
    z = torch.clamp(x, -abs(s), n + 2.5) / (s + 9)
    w = torch.where(x > s, x, y) + torch.add(x, y, alpha=n)
    p = torch.pow(torch.abs(x), n)
    return (y, k, z, w, p, h * s + n, x.mul_(s))

`,
      [0.5, 0.5, -1.5, 3, 3, 1e-3].map((s, run) => () => [
        tensorOf([4, 5], run),
        intsOf(run, 7 - run, 2 ** 40),
        Tensor.fromArray(Uint16Array.of(0x3c00, 0x4248, 0xb555), [3], 'float16'),
        s,
        [1n, 2n, 3n, 3n, -2n, 5n][run],
      ]),
    );
    expect(functions.module.lastRun!.dispatches).toBeGreaterThan(5);
    const looped = await expectSame(
      `
def f(x: Tensor, s: float, n: int):
    for i in range(n):
        x = torch.softmax(x * (s / (i + 1)) + i, -1) * s
    return x
`,
      [2n, 5n, 3n].map((n, run) => () => [tensorOf([4, 5], run), run + 0.5, n]),
    );
    expect(looped.explain('f').stretches.some(({ patched }) => patched.includes('a number of the program'))).toBe(true);
  });

  it('has probabilities, attributes and narrow numbers of the moment', async () => {
    const source = `
class Scale:
    def __init__(self, by: float, plus: int):
        self.by = by
        self.plus = plus

def f(x: Tensor, by: float, n: int, scale: Scale):
    a = torch.dropout(x, by, True)
    b = torch.softmax(x * scale.by + scale.plus, -1)
    h = x.half()
    i = (x * 100).to(torch.uint8)
    k = (x * 100).to(torch.int16)
    c = [(h * by + n).float(), (h - by).float(), (h > by).float()]
    d = (i + n, i * n, i > n % 200, k - n, k // (n % 50 + 1), (k > by).float() * n)
    e = torch.alpha_dropout(x, by, True)
    scale.by += 0.25
    scale.plus = scale.plus * 3 - 1
    return (a, b, c, d, e)

def make(by: float, plus: int):
    return Scale(by, plus)
`;
    const here = onDevice(source);
    const there = onHost(source);
    const scales = [await here.call('make', [0.5, 1n]), await there.call('make', [0.5, 1n])];
    for (const functions of [here, there]) functions.module.context.generator.manualSeed(7n);
    const probabilities = [0.5, 0.25, 0.1, 0.7, 0, 0.3, 1, 0.05, 0.9];
    const outcomes: unknown[][] = [];
    for (const [run, by] of probabilities.entries()) {
      const make = (): IValue[] => [tensorOf([6, 5], run), by, BigInt(run * 371 - 500)];
      const got = await here.call('f', [...make(), scales[0]]);
      outcomes.push([numbers(got), numbers(await there.call('f', [...make(), scales[1]]))]);
    }
    for (const [got, want] of outcomes) expectClose(got, want);
    expect(here.explain('f').stretches.flatMap(({ patched }) => patched)).toContain('a number of the program');
    expect(here.module.lastRun!.replayed).toBeGreaterThan(0);
  });

  it('computes the little that is left to the host, anew each time', async () => {
    const source = `
def f(mask: Tensor, x: Tensor, s: float, state: List[Tensor]):
    m = (1.0 - mask.float()) * s
    parts = [m[1:], x[0, :4], torch.zeros(2)]
    joined = torch.cat(parts)
    y = torch.softmax(x + torch.cat([m, joined[:-7]]), -1)
    z = torch.relu(y @ y) * joined.sum()
    shown = joined.flip(0)
    state[0] = joined + state[0]
    return (z, shown[:2], m, y + state[0][0])

def loop(mask: Tensor, x: Tensor, n: int):
    h = mask.float()
    for i in range(n):
        g = h[i % 3:i % 3 + 2].sum() * (i + 0.5)
        x = torch.softmax(x * g + h[0], -1)
    return (x, h + 1)

def written(mask: Tensor, x: Tensor, n: int):
    h = mask.float()
    h.mul_(n)
    y = torch.softmax(x * h.sum(), -1)
    h.add_(1)
    return (y, h)
`;
    const functions = new PythonFunctions(source, { device, limits: { smallWork: 32 } });
    const host = onHost(source);
    const mask = (run: number): Tensor => intsOf(run % 2, 1, run, 0, run % 3);
    const calls: [string, (run: number) => IValue[]][] = [
      ['f', (run) => [mask(run), tensorOf([8, 8], run), run / 2, new List(TensorType.get(), [tensorOf([10], run)])]],
      ['loop', (run) => [mask(run), tensorOf([9, 8], run), BigInt(2 + (run % 4))]],
      ['written', (run) => [mask(run), tensorOf([9, 8], run), BigInt(run % 3)]],
    ];
    for (const [name, make] of calls) {
      const outcomes: [IValue, IValue][] = [];
      for (let run = 0; run < 9; run++)
        outcomes.push([await functions.call(name, make(run)), await host.call(name, make(run))]);
      const { replayed } = functions.module.lastRun!;
      expect(replayed).toBeGreaterThanOrEqual({ f: 2, loop: 2, written: 0 }[name]!);
      for (const [got, want] of outcomes) expectClose(numbers(got), numbers(want));
    }
  });

  it('sees what the host looks at', async () => {
    const source = `
def f(x: Tensor, i: Tensor, s: Tensor):
    y = torch.softmax(x, 0)
    k = int(i.sum())
    return (y + s) * k
`;
    const functions = new PythonFunctions(source, { device });
    const host = onHost(source);
    for (let run = 0; run < 6; run++) {
      const make = (): IValue[] => [
        tensorOf([40, 40], run),
        intsOf(run, 1),
        Tensor.fromArray(Float32Array.of(run / 2), [], 'float32'),
      ];
      expectClose(numbers(await functions.call('f', make())), numbers(await host.call('f', make())));
    }
  });

  it('has the attributes of the moment: replaced, written to, and looked at by the host', async () => {
    const source = `
class Layer:
    def __init__(self, weight: Tensor, scale: Tensor, state: Tensor):
        self.weight = weight
        self.scale = scale
        self.state = state
        self.count = 0

def make(weight: Tensor, scale: Tensor, state: Tensor):
    return Layer(weight, scale, state)

def f(x: Tensor, layer: Layer):
    y = torch.softmax(x @ layer.weight, -1) * layer.scale
    layer.state = layer.state * 0.5 + y
    z = torch.relu(layer.state)
    layer.count += 1
    return (y, z + layer.count)

def change(layer: Layer, how: int):
    if how == 1:
        layer.weight = layer.weight + 1
    elif how == 2:
        layer.weight.mul_(2)
    elif how == 3:
        layer.scale.add_(1)
    elif how == 4:
        layer.state.zero_()
    return layer.weight
`;
    for (const limits of [{ smallWork: -1 }, { smallWork: 20 }, {}]) {
      const here = new PythonFunctions(source, { device, limits });
      const there = onHost(source);
      const make = (): IValue[] => [
        tensorOf([5, 5]),
        Tensor.fromArray(Float32Array.of(3), [], 'float32'),
        tensorOf([5, 5]),
      ];
      const layers = [await here.call('make', make()), await there.call('make', make())];
      for (let round = 0; round < 12; round++) {
        const x = (): Tensor => tensorOf([5, 5], round);
        const got = await here.call('f', [x(), layers[0]]);
        expectClose(numbers(got), numbers(await there.call('f', [x(), layers[1]])));
        const how = BigInt(round % 6);
        const weights = [await here.call('change', [layers[0], how]), await there.call('change', [layers[1], how])];
        expectClose(numbers(weights[0]), numbers(weights[1]));
      }
    }
  });

  it('goes on where shaders are refused', async () => {
    const functions = onDevice(`
def f(x: Tensor, w: Tensor):
    return torch.softmax(x @ w, -1)
`);
    const w = tensorOf([4, 4], 2);
    const compile = device.gpuDevice.createComputePipelineAsync.bind(device.gpuDevice);
    device.gpuDevice.createComputePipelineAsync = () => Promise.reject(new Error('not this time'));
    expect(await failure(functions.call('f', [tensorOf([4, 4]), w]))).toMatchObject({ code: 'SHADER_COMPILATION' });
    device.gpuDevice.createComputePipelineAsync = compile;
    // The weight went up with what was refused, and is there for others.
    const others = onDevice('def f(w: Tensor):\n    return w + 1\n');
    const want = Array.from(w.contiguousArray() as Float32Array, (value) => value + 1);
    expectClose(numbers(await others.call('f', [w])), [[4, 4], want]);
  });

  it('follows loops of changing length, branches on data and lists', async () => {
    await expectSame(
      `
def f(x: Tensor, n: int):
    parts: List[Tensor] = []
    h = torch.zeros_like(x[0])
    for i in range(n):
        h = torch.tanh(h * 0.5 + x[i])
        if float(h.sum()) > 0.1:
            parts.append(h * 2)
        else:
            parts.append(h - 1)
    a, b = h, x[0]
    for i in range(n):
        a, b = torch.sin(b), torch.cos(a)
    return (torch.stack(parts), a, b)
`,
      times(6, (run) => [tensorOf([9, 4], run), BigInt(3 + (run % 4))]),
    );
  });

  it('puts values at the ends of lists, whoever else looks at these', async () => {
    const source = `
def f(x: Tensor, n: int):
    steps: List[Tensor] = []
    sums: List[float] = []
    trips: List[int] = []
    pairs: List[List[Tensor]] = []
    same = steps
    h = torch.zeros_like(x[0])
    for i in range(n):
        h = torch.tanh(h * 0.5 + x[i])
        steps.append(h)
        same.append(x[i])
        trips.append(i * 2)
        inner = [h * 2]
        inner.append(h - 1)
        pairs.append(inner)
        if len(steps) > 5:
            h = h + steps[-2]
        sums.append(0.5 * i)
    return torch.stack(steps), len(same), sums, trips, pairs, torch.cat(pairs[n - 1])

def extend(a: List[Tensor], b: List[Tensor], x: Tensor):
    y = torch.sin(x * 2)
    b.append(y)
    n = len(a)
    z = torch.cos(y) * n
    b.append(z)
    return z + len(b), a, b
`;
    const functions = await expectSame(
      source,
      times(8, (run) => [tensorOf([9, 4], run), BigInt(4 + (run % 3))]),
    );
    const lists = (isOne: boolean, seed: number): IValue[] => {
      const [first, second] = [1, 2].map(() => new List(TensorType.get(), [tensorOf([3], seed)]));
      return [first, isOne ? first : second, tensorOf([3], seed)];
    };
    await expectSame(
      source,
      times(8, (run) => lists(run % 4 > 1, run)),
      'extend',
    );
    expect(functions.module.lastRun!.replayed).toBeGreaterThan(0);
  });

  it('goes over rows, columns and slices with one recording each', async () => {
    const functions = await expectSame(
      `
def f(x: Tensor, out: Tensor, step: int):
    h = torch.zeros_like(x[0])
    total = torch.zeros_like(x[:, 0])
    i = 0
    while i < x.size(0):
        h = torch.tanh(h * 0.5 + x[i]) + x[-1 - i].flip(0)
        out[i] = h
        out[i:i + 2, 1:3].mul_(2)
        i += step
    for j in range(x.size(1)):
        c = x[:, j]
        total = torch.softmax(total + c * c[1], 0) + x[:, j:].sum(1) * j
        for k in range(2):
            total = total + x.t()[j] @ x[:, k]
    return (h, total, x[1:].unbind(1))
`,
      // What is of another size in each trip is recorded when it comes again.
      [5, 9, 6, 9, 5, 9, 5, 9, 5].map((length, run) => () => [
        tensorOf([length, 4], run),
        tensorOf([length + 1, 4]),
        BigInt(1 + (run % 2)),
      ]),
    );
    const { dispatches, replayed } = functions.module.lastRun!;
    expect(replayed / dispatches).toBeGreaterThan(0.75);
  });

  it('draws other numbers each time, and the same ones for a seed', async () => {
    const source = `
def f(x: Tensor):
    y = torch.softmax(x, 0)
    return torch.relu(y + torch.rand_like(y)) + torch.dropout(x, 0.5, True)
`;
    const functions = onDevice(source);
    const x = tensorOf([4, 8]);
    const draw = async (): Promise<unknown> => numbers(await functions.call('f', [x]));
    const first = [await draw(), await draw(), await draw()];
    expect(new Set(first.map(String)).size).toBe(3);
    expect(functions.module.lastRun!.replayed).toBe(functions.module.lastRun!.dispatches);
    functions.module.context.generator.manualSeed(3n);
    const again = [await draw(), await draw()];
    functions.module.context.generator.manualSeed(3n);
    expect([await draw(), await draw()]).toEqual(again);
    // The host, which records nothing, draws the same.
    const host = onHost(source);
    host.module.context.generator.manualSeed(3n);
    expectClose(again, [numbers(await host.call('f', [x])), numbers(await host.call('f', [x]))]);
  });

  it('raises for an index out of range, where it stands, and goes on', async () => {
    const source = `
def f(table: Tensor, at: Tensor):
    a = torch.softmax(table, -1)
    return torch.embedding(a, at)
`;
    const functions = onDevice(source);
    const table = tensorOf([5, 3]);
    const look = (...at: number[]): Promise<IValue> => functions.call('f', [table, intsOf(...at)]);
    const right = numbers(await look(0, 4));
    const messages: string[] = [];
    for (let round = 0; round < 3; round++) {
      expect(numbers(await look(0, 4))).toEqual(right);
      expect(functions.module.lastRun!.replayed).toBe(round === 0 ? 2 : functions.module.lastRun!.replayed);
      messages.push((await failure(look(0, 7))).message);
    }
    expect(new Set(messages).size).toBe(1);
    expect(messages[0]).toContain('return torch.embedding(a, at)');
    expect(numbers(await look(0, 4))).toEqual(right);
  });

  it('is stopped by an abort, and the next one is right', async () => {
    const source = `
def f(x: Tensor, n: int):
    for i in range(n):
        x = torch.softmax(x + 1, -1)
    return x
`;
    const functions = onDevice(source);
    const x = tensorOf([4, 4]);
    const want = numbers(await functions.call('f', [x, 3n]));
    const controller = new AbortController();
    const long = functions.call('f', [x, 1_000_000n], { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    expect(await failure(long)).toMatchObject({ code: 'ABORTED' });
    expect(numbers(await functions.call('f', [x, 3n]))).toEqual(want);
    expect(functions.module.lastRun!.replayed).toBe(functions.module.lastRun!.dispatches);
  });

  it('fails for want of memory, and the next one is right', async () => {
    const gpu = new ForgetfulGpu(device.gpuDevice);
    const functions = onDevice(`
def f(x: Tensor):
    y = torch.softmax(x, -1)
    return torch.softmax(torch.cat([y, y]), 0)
`);
    const call = async (size: number): Promise<unknown> => numbers(await functions.call('f', [tensorOf([size, size])]));
    const want = [await call(8), await call(40)];
    for (let lacking = 0; lacking < 6; lacking++) {
      const from = gpu.asked;
      gpu.fails = (index) => index >= from + lacking;
      // Another size each time: its buffers are new.
      const outcome = await call(50 + 10 * lacking).catch((error: unknown) => error);
      if (gpu.asked > from + lacking) expect(outcome).toMatchObject({ code: 'DEVICE_OUT_OF_MEMORY' });
      gpu.fails = () => false;
      expect([await call(8), await call(40)]).toEqual(want);
      expect([await call(8), await call(40)]).toEqual(want);
    }
  });

  it('keeps a bound over runs with changing shapes', async () => {
    const functions = onDevice('def f(x: Tensor):\n    return torch.softmax(torch.softmax(x, -1), 0)\n');
    const alive = () => [Storage, Tensor].map((kind) => queryObjects(kind, { format: 'count' }));
    const sizes = Array.from({ length: 40 }, (_, at) => 20 + 3 * at);
    const round = async (): Promise<void> => {
      for (const size of sizes) {
        const x = tensorOf([size, 4]);
        const y = (await functions.call('f', [x])) as Tensor;
        for (const tensor of [x, y]) tensor.dispose();
      }
    };
    for (let warm = 0; warm < 3; warm++) await round();
    const values = alive();
    const { peak, pooled } = device.memory();
    for (let again = 0; again < 5; again++) await round();
    expect(functions.module.lastRun!.replayed).toBe(functions.module.lastRun!.dispatches);
    // What earlier tests held may be freed in the meantime, late.
    alive().forEach((count, at) => expect(count).toBeLessThanOrEqual(values[at] + 10));
    expect(device.memory()).toEqual({ live: 0, pooled, peak });
  });

  it('ends at its limit to memory where it would have ended step by step, and the next run is right', async () => {
    const source = `
def f(x: Tensor, trips: int):
    kept: List[Tensor] = []
    for i in range(trips):
        y = torch.softmax(x * 3, -1) @ x
        kept.append(
            torch.relu(y - i)
        )
    return torch.stack(kept).sum(0)
`;
    const functions = onDevice(source, { memoryLimit: 100 * 4 * 64 * 64 });
    const x = tensorOf([64, 64]);
    const call = async (trips: number): Promise<unknown> => numbers(await functions.call('f', [x, BigInt(trips)]));
    const want = await call(20);
    for (let run = 0; run < 3; run++) {
      const error = await failure(call(1000));
      expect(error).toMatchObject({ code: 'MEMORY_LIMIT' });
      expect(error.message).toMatch(/torch\.(relu|softmax)\(.*~ <--- HERE/s);
      expect(await call(20)).toEqual(want);
    }
    expect(functions.module.lastRun!.replayed).toBeGreaterThan(0);
  });

  it('shares a device with another model', async () => {
    const source = `
def f(x: Tensor):
    for i in range(20):
        x = torch.softmax(x * 3, -1) @ x
    return x
`;
    const models = [onDevice(source), onDevice(source)];
    const host = onHost(source);
    for (let round = 0; round < 3; round++) {
      const outcomes = await Promise.all(models.map((model, at) => model.call('f', [tensorOf([4, 4], at + round)])));
      for (const [at, outcome] of outcomes.entries()) {
        expectClose(numbers(outcome), numbers(await host.call('f', [tensorOf([4, 4], at + round)])));
      }
    }
  });
});
