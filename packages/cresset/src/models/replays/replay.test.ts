import { queryObjects } from 'node:v8';
import { Execution, registerAllParts } from '@cresset/runtime';
import { StringType, TensorType } from '@cresset/ir';
import { Dict, List, Storage, Tensor, type IValue } from '@cresset/tensor';
import type { WebGpuDevice } from '@cresset/webgpu';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NullBindGroup, NullGpu, type GpuCalls } from '../../../../../test-setup/null-gpu.ts';
import { intsOf, PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

/** Thousands of runs take long on a busy machine, milliseconds. */
const patience = 1_200_000;

let gpu: NullGpu;
let device: WebGpuDevice;

beforeAll(registerAllParts);
beforeEach(() => {
  gpu = new NullGpu();
  device = gpu.open();
});

/** What `work` comes to: calls of the WebGPU API, and the device's own counts. */
async function counted(work: () => Promise<unknown>) {
  const calls = { ...gpu.calls };
  const counters = { ...device.counters };
  await work();
  const since = (name: keyof GpuCalls): number => gpu.calls[name] - calls[name];
  const { buffers, bindGroups, modules, writes, submits, dispatches } = gpu.calls;
  expect(Math.min(buffers, bindGroups, modules, writes, submits, dispatches)).toBeGreaterThanOrEqual(0);
  return {
    buffers: since('buffers'),
    bindGroups: since('bindGroups'),
    modules: since('modules'),
    writes: since('writes'),
    submits: since('submits'),
    dispatches: since('dispatches'),
    prepared: device.counters.prepared - counters.prepared,
  };
}

const source = `
def block(x: Tensor, w: Tensor):
    y = torch.softmax(x @ w, -1)
    z = torch.softmax(y @ w, -1)
    return torch.softmax(z @ w, 0)

def softmax(x: Tensor):
    return torch.softmax(torch.softmax(x, -1), 0)

def by_number(x: Tensor):
    return torch.softmax(torch.softmax(x, -1), 0) ** x.size(0)

def steps(x: Tensor, w: Tensor, n: int):
    for i in range(n):
        x = torch.softmax(x @ w, -1)
    return x

def rows(x: Tensor, w: Tensor):
    out = torch.zeros_like(x[0])
    for i in range(x.size(0)):
        out = torch.softmax((out + x[i]) @ w, -1)
    return out

def embed(table: Tensor, at: Tensor):
    return torch.softmax(torch.embedding(table, at), -1)
`;

const w = (): Tensor => tensorOf([64, 64], 5);

/** How many objects of a class there are, once those that nothing holds are gone. */
const alive = (kind: Function): number => queryObjects(kind, { format: 'count' });

/** A call with inputs that nobody has seen, whose tensors are given back afterwards. */
async function once(functions: PythonFunctions, name: string, sizes: readonly number[], ...others: IValue[]) {
  const x = tensorOf(sizes);
  const result = (await functions.call(name, [x, ...others])) as Tensor;
  x.dispose();
  result.dispose();
}

describe('a warm run', () => {
  it('lowers nothing, hashes nothing and makes nothing: one upload, one submission', async () => {
    const functions = new PythonFunctions(source, { device });
    const weight = w();
    await once(functions, 'block', [64, 64], weight);
    expect(functions.module.lastRun).toMatchObject({ dispatches: 6, replayed: 0 });
    await once(functions, 'block', [64, 64], weight);
    for (let run = 0; run < 3; run++) {
      const calls = await counted(() => once(functions, 'block', [64, 64], weight));
      expect(calls).toEqual({
        buffers: 0,
        bindGroups: 0,
        modules: 0,
        writes: 1,
        submits: 1,
        // The first softmax is attention with its products, the second a part of the product behind it.
        dispatches: 3,
        prepared: 0,
      });
      expect(functions.module.lastRun).toMatchObject({
        dispatches: 3,
        replayed: 3,
        uploads: 1,
        submits: 1,
        readbacks: 1,
        onDevice: [
          ['aten::matmul', 3],
          ['aten::softmax.int', 3],
        ],
      });
    }
  });

  it('notes faults without a trip of their own', async () => {
    const functions = new PythonFunctions(source, { device });
    const table = w();
    const run = () => functions.call('embed', [table, intsOf(...Array.from({ length: 2000 }, (_, at) => at % 64))]);
    await run();
    await run();
    expect(await counted(run)).toMatchObject({ writes: 1, submits: 1, dispatches: 1, prepared: 0 });
  });

  it('has its inputs in one transfer', async () => {
    const functions = new PythonFunctions('def f(x: Tensor, y: Tensor, z: Tensor):\n    return x @ y + z\n', {
      device,
    });
    const run = async () => {
      const given = [tensorOf([64, 64]), tensorOf([64, 64]), tensorOf([64])];
      const result = (await functions.call('f', given)) as Tensor;
      for (const tensor of [...given, result]) tensor.dispose();
    };
    for (let warm = 0; warm < 3; warm++) await run();
    expect(await counted(run)).toMatchObject({ buffers: 0, bindGroups: 0, writes: 1, submits: 1, prepared: 0 });
    expect(functions.module.lastRun).toMatchObject({ uploads: 1, uploadedBytes: 4 * (2 * 64 * 64 + 64) });
  });

  it('goes over the trips of a loop, of any number', async () => {
    const functions = new PythonFunctions(source, { device });
    const weight = w();
    await once(functions, 'steps', [64, 64], weight, 3n);
    // The first trip is recorded, the others replay it.
    expect(functions.module.lastRun).toMatchObject({ dispatches: 6, replayed: 4 });
    for (const trips of [3, 8, 7, 1, 5]) await once(functions, 'steps', [64, 64], weight, BigInt(trips));
    for (const trips of [4, 7, 2]) {
      const calls = await counted(() => once(functions, 'steps', [64, 64], weight, BigInt(trips)));
      expect(calls).toMatchObject({ buffers: 0, writes: 1, submits: 1, dispatches: 2 * trips, prepared: 0 });
    }
  });

  it('goes over trips that make a list, and over what is made of a long one', async () => {
    const functions = new PythonFunctions(
      `
def scan(x: Tensor, w: Tensor):
    h = torch.zeros_like(x[0])
    states: List[Tensor] = []
    for i in range(x.size(0)):
        h = torch.tanh(h * w + x[i])
        states.append(h)
    return torch.stack(states)
`,
      { device },
    );
    const weight = tensorOf([64, 64], 5);
    for (let run = 0; run < 4; run++) await once(functions, 'scan', [160, 64, 64], weight);
    const calls = await counted(() => once(functions, 'scan', [160, 64, 64], weight));
    // What there is at first, all trips, and the states, which lie in order already.
    expect(calls).toMatchObject({ buffers: 0, submits: 1, dispatches: 3, prepared: 0 });
    expect(functions.module.lastRun!.replayed).toBe(calls.dispatches);
    const stretches = functions.explain('scan').stretches.map(({ launches, reason }) => [launches, reason]);
    expect(stretches).toContainEqual([1, 'the end of a trip of a loop']);
    expect(stretches).toContainEqual([1, 'all trips of a loop']);
  });

  it('has one recording for all trips of a loop, and for loops of other lengths', async () => {
    const functions = new PythonFunctions(source, { device });
    const weight = w();
    for (const length of [11, 40]) await once(functions, 'rows', [length, 30, 64], weight);
    for (const length of [29, 3, 50]) {
      const calls = await counted(() => once(functions, 'rows', [length, 30, 64], weight));
      expect(calls.prepared).toBe(0);
      const { dispatches, replayed } = functions.module.lastRun!;
      expect(dispatches - replayed).toBe(0);
    }
    const recordings = functions.explain('rows').stretches.map(({ recordings: count }) => count);
    // The loop's body stands there eight times over, and once for the trips that are left.
    expect(recordings).toEqual([2, 3, 2]);
  });

  it('is explained by its stretches, and by what ends them', async () => {
    const functions = new PythonFunctions(
      `
def f(x: Tensor, d: Dict[str, Tensor], table: Tensor):
    y = torch.softmax(torch.softmax(x, 0), 0)
    d['y'] = y
    k = torch.softmax(y, 0).nonzero()
    return (torch.softmax(y, 1), k)
`,
      { device },
    );
    const ends = () =>
      functions.explain('f').stretches.map(({ launches, endsAt, reason }) => [launches, endsAt, reason]);
    expect(ends()).toEqual([]);
    const dict = () => new Dict(StringType.get(), TensorType.get());
    await functions.call('f', [tensorOf([50, 50]), dict(), tensorOf([5])]);
    expect(ends()).toEqual([
      [1, 'aten::_set_item.str', 'a container that changes'],
      [1, 'aten::nonzero', 'a wait'],
      [1, 'RETURN', 'the end of the function'],
    ]);
  });

  it('is explained by its program', async () => {
    const functions = new PythonFunctions(
      'def f(x: Tensor, s: float, l: List[Tensor]):\n    y = torch.relu(x * s)\n    l.append(y)\n    return [y.sum(-1), x], x.size(0), l\n',
      { device: gpu.open() },
    );
    for (const s of [2.5, 3, 4]) {
      await functions.call('f', [tensorOf([40, 64]), s, new List(TensorType.get(), [])]);
    }
    const [{ program }] = functions.explain('f').stretches;
    expect(program).toMatchInlineSnapshot(`
      "program:
        @0: float32, 10240 bytes, given
        @1: float32, 160 bytes, new
        @2: float32, 10240 bytes, new
        %0 = register 0, float32[40, 64] strides [64, 1] offset 0, @0
        %1 = register 1, 3, ?3
        %2 = register 2
        launch mul+relu(i: 2560)
          @2[i] = max(@0[i] * ?3, 0)
        launch aten::sum(i: 40)
          @1[i] = sum[j: 64](@2[i * 64 + j])
        %3 = tensor float32[40] strides [1] offset 0, @1
        %4 = live-in %0
        %5 = list %3, %4
        %6 = same 40
        %7 = tensor float32[40, 64] strides [64, 1] offset 0, @2
        append %7 to %2
        register 3 = nothing
        register 4 = nothing
        register 5 = nothing
        register 6 = %5
        register 7 = %6
        register 0 = nothing
      "
    `);
  });

  it.each([true, false])(
    'is explained by how its kernels are scheduled, and why; in software: %s',
    async (software) => {
      const functions = new PythonFunctions(
        'def f(x: Tensor, w: Tensor):\n    return torch.relu(torch.softmax(torch.linear(x, w), -1))\n',
        { device: gpu.open({ software }) },
      );
      await functions.call('f', [tensorOf([70, 64]), tensorOf([48, 64])]);
      const [{ launches, kernels }] = functions.explain('f').stretches;
      const reason = software
        ? 'on a software adapter threads share nothing, since to wait costs more'
        : 'no subgroups';
      expect(kernels.length).toBe(launches);
      expect(kernels.map(({ label }) => label)).toEqual(['aten::linear', 'softmax+relu']);
      expect(kernels.map(({ schedule }) => schedule)).toEqual(
        software
          ? ['8×8 to a thread, 1×8 threads', '1 to a thread, 64 threads']
          : ['32×32 shared by 8×8 threads, 2 of 2 sides by vectors', 'a row to 32 threads, kept'],
      );
      expect(kernels[0].reason).toContain('70×48 results over 64 steps; ');
      expect(kernels[1].reason).toContain('70 points of 48 steps; ');
      for (const each of kernels) expect(each.reason).toContain(reason);
    },
  );

  it('writes a changed number into the params of its launches', async () => {
    const functions = new PythonFunctions(
      `
def f(x: Tensor, s: float, n: int):
    y = torch.softmax(x * s, -1)
    return torch.softmax(torch.relu(y + n) - s, 0)

def trips(x: Tensor, n: int):
    for i in range(n):
        x = torch.softmax(x * (1.0 / (i + 1)), -1)
    return x

def power(x: Tensor, s: float):
    return torch.softmax(x ** s, -1)
`,
      { device },
    );
    const stretches = (name: string) =>
      functions.explain(name).stretches.map(({ recordings, patched }) => [recordings, patched]);
    const f = (s: number, n: bigint) => counted(() => once(functions, 'f', [64, 64], s, n));
    await f(0.5, 1n);
    // Another number makes another recording; that it does is then known of it.
    await f(0.25, 1n);
    await f(0.25, 3n);
    await f(0.5, 5n);
    for (const s of [0.125, -4, 0, Infinity]) {
      const { dispatches, ...calls } = await f(s, s < 0 ? -2n : 7n);
      expect(calls).toEqual({ buffers: 0, bindGroups: 0, modules: 0, writes: 2, submits: 1, prepared: 0 });
      expect(functions.module.lastRun).toMatchObject({ replayed: dispatches });
    }
    expect(stretches('f')).toEqual([[3, ['a number of the program']]]);
    await once(functions, 'trips', [64, 64], 3n);
    await once(functions, 'trips', [64, 64], 20n);
    const { dispatches, prepared } = await counted(() => once(functions, 'trips', [64, 64], 17n));
    expect([functions.module.lastRun!.replayed, prepared]).toEqual([dispatches, 0]);
    // Powers are kernels of their own, some of them: those go by the number.
    for (const s of [2, 3, 0.5]) await once(functions, 'power', [64, 64], s);
    expect(await counted(() => once(functions, 'power', [64, 64], 2))).toMatchObject({ prepared: 0 });
    expect(stretches('power')).toEqual([[3, []]]);
  });

  it('writes numbers of attributes, probabilities and what narrow dtypes make of a number', async () => {
    const functions = new PythonFunctions(
      `
class Scale:
    def __init__(self, by: float, plus: int):
        self.by = by
        self.plus = plus

def make(by: float, plus: int):
    return Scale(by, plus)

def change(scale: Scale, by: float, plus: int):
    scale.by = by
    scale.plus = plus

def scaled(x: Tensor, scale: Scale):
    return torch.softmax(x * scale.by + scale.plus, -1)

def dropped(x: Tensor, p: float):
    return torch.softmax(torch.dropout(x, p, True), -1)

def half(x: Tensor, s: float, n: int):
    return torch.softmax((x.half() * s + n).float(), -1)

def narrow(x: Tensor, n: int):
    y = (x * 100).to(torch.uint8) + n
    return torch.softmax((y - n * 2).to(torch.int16).float() + (y > n), -1)
`,
      { device },
    );
    const scale = await functions.call('make', [1.5, 1n]);
    const numbers: [string, (run: number) => Promise<IValue[]>, string[]][] = [
      [
        'scaled',
        async (run) => {
          await functions.call('change', [scale, run / 4, BigInt(run)]);
          return [scale];
        },
        ['a number of the program'],
      ],
      ['dropped', (run) => Promise.resolve([1 / (run + 2)]), ['a number of the program', 'random numbers']],
      ['half', (run) => Promise.resolve([run / 3, BigInt(run)]), ['a number of the program']],
      ['narrow', (run) => Promise.resolve([BigInt(run * 77)]), ['a number of the program']],
    ];
    for (const [name, make, patched] of numbers) {
      for (let run = 1; run < 5; run++) await once(functions, name, [64, 64], ...(await make(run)));
      for (const run of [9, 5, 7]) {
        const given = await make(run);
        const { dispatches, buffers, prepared } = await counted(() => once(functions, name, [64, 64], ...given));
        expect([name, buffers, prepared]).toEqual([name, 0, 0]);
        expect(functions.module.lastRun).toMatchObject({ replayed: dispatches });
      }
      expect(functions.explain(name).stretches.map((stretch) => stretch.patched)).toEqual([patched]);
    }
    // Outside of it the kernel does not do: the input is the result, and all of it is dropped.
    await once(functions, 'dropped', [64, 64], 0);
    await once(functions, 'dropped', [64, 64], 1);
    expect(functions.module.lastRun).toMatchObject({ dispatches: 1, replayed: 1 });
  });

  it('goes on over random numbers that the device draws', async () => {
    const functions = new PythonFunctions(
      `
def f(x: Tensor):
    y = torch.softmax(torch.dropout(x, 0.5, True), -1)
    return torch.softmax(y + torch.rand_like(y), 0)
`,
      { device },
    );
    await once(functions, 'f', [64, 64]);
    await once(functions, 'f', [64, 64]);
    const { dispatches, ...calls } = await counted(() => once(functions, 'f', [64, 64]));
    expect(calls).toEqual({ buffers: 0, bindGroups: 0, modules: 0, writes: 2, submits: 1, prepared: 0 });
    expect(functions.module.lastRun).toMatchObject({ replayed: dispatches });
    expect(functions.explain('f').stretches).toMatchObject([{ recordings: 1, patched: ['random numbers'] }]);
  });

  it('makes no buffers while a length moves within its size class', async () => {
    const functions = new PythonFunctions(source, { device });
    const weight = w();
    const lengths = [100, 99, 98, 97];
    for (let round = 0; round < 2; round++) {
      for (const length of lengths) await once(functions, 'block', [length, 64], weight);
    }
    for (const length of lengths) {
      const calls = await counted(() => once(functions, 'block', [length, 64], weight));
      expect(calls).toMatchObject({ buffers: 0, prepared: 0 });
    }
  });

  it(
    'leaves nothing behind on the heap',
    async () => {
      const functions = new PythonFunctions(source, { device });
      const weight = w();
      const run = async () => {
        await once(functions, 'block', [64, 64], weight);
        await once(functions, 'steps', [64, 64], weight, 5n);
      };
      const values = () => [Storage, Tensor, Execution].map(alive);
      for (let warm = 0; warm < 50; warm++) await run();
      const valuesBefore = values();
      const objectsBefore = alive(Object);
      for (let replay = 0; replay < 1000; replay++) await run();
      // What earlier tests held may be freed in the meantime, late.
      values().forEach((count, at) => expect(count).toBeLessThanOrEqual(valuesBefore[at] + 10));
      // Whatever else the process does meanwhile makes fewer than one a run would.
      expect(alive(Object) - objectsBefore).toBeLessThan(500);
    },
    patience,
  );

  it('sends what is large on its way without a copy of its own', async () => {
    const functions = new PythonFunctions(source, { device });
    for (let warm = 0; warm < 3; warm++) await once(functions, 'softmax', [300, 300]);
    const given = tensorOf([300, 300]);
    expect(await counted(() => functions.call('softmax', [given]))).toMatchObject({ writes: 1, submits: 1 });
    expect(functions.module.lastRun).toMatchObject({ uploads: 1, uploadedBytes: 4 * 300 * 300 });
    expect(gpu.lastWritten).toBe(given.storage.hostBytes());
  });

  // Of the first size, and of any other; and where a program goes by the number itself, of the last so many.
  it.each([
    ['that are open', 'softmax', 10_000, 2],
    ['that programs go by', 'by_number', 4000, 512],
  ] as const)(
    'keeps a bound over thousands of runs with changing sizes %s',
    async (_, name, runs, kept) => {
      const functions = new PythonFunctions(source, { device });
      const recorded = device.recorder!.record.bind(device.recorder);
      const forget = device.recorder!.forget.bind(device.recorder);
      let lists = 0;
      let most = 0;
      device.recorder!.record = (...args) => {
        most = Math.max(most, ++lists);
        return recorded(...args);
      };
      device.recorder!.forget = (list) => {
        lists--;
        forget(list);
      };
      let peak = 0;
      let values: number[] = [];
      let objects = 0;
      const valuesAlive = () => [Storage, Tensor, Execution].map(alive);
      for (let run = 0; run < runs; run++) {
        // What comes twice is worth a recording.
        await once(functions, name, [300 + (((run >> 1) * 797) % 1000), 4]);
        if (run !== runs / 2) continue;
        peak = device.memory().peak;
        values = valuesAlive();
        objects = alive(Object) - alive(NullBindGroup);
      }
      valuesAlive().forEach((count, at) => expect(count).toBeLessThanOrEqual(values[at] + 10));
      expect(alive(Object) - alive(NullBindGroup) - objects).toBeLessThan(1000);
      // Two generations of the device's, and four sets for each launch that is kept.
      expect(alive(NullBindGroup)).toBeLessThanOrEqual(2 * 4096 + 4 * 512);
      expect([most, lists]).toEqual([kept === 512 ? kept + 1 : kept, kept]);
      expect(device.memory()).toMatchObject({ live: 0, peak });
      functions.module.dispose();
      expect(lists).toBe(0);
    },
    patience,
  );
});
