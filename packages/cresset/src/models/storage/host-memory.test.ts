import { readModule } from '@cresset/archive';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import { Tensor, type IValue, type Tuple } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { ThreadPool } from '@cresset/wasm-fuser/parts/threads';
import { describe, expect, it, test, vi } from 'vitest';
import { SyntheticArchive } from '../../../../../test-setup/synthetic-archive.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

registerAllParts();

const tensorsIn = (value: IValue): Tensor[] =>
  value instanceof Tensor ? [value] : (value as Tuple).items.flatMap(tensorsIn);

test('a replay for which a WebAssembly memory has no room is done operator by operator', async () => {
  const device = new WasmDevice();
  const line = '    y = torch.softmax(y @ w, -1)\n';
  const functions = new PythonFunctions(
    `def f(x: Tensor, w: Tensor):\n    x.add_(1.0)\n    y = x + 0.5\n${line.repeat(3)}    return y\n`,
    { device },
  );
  const w = tensorOf([64, 64], 3);
  const numbers = async (): Promise<Float32Array> =>
    ((await functions.call('f', [tensorOf([64, 64]), w])) as Tensor).contiguousArray() as Float32Array;
  const wanted = await numbers();
  for (let call = 0; call < 3; call++) expect(await numbers()).toEqual(wanted);
  expect(functions.module.lastRun!.replayed).toBeGreaterThan(0);

  const { scratchBytes } = device.recorder;
  expect(scratchBytes).toBeGreaterThan(0);
  // A program that needs more than this one finds that there is no more.
  const take = device.linear.take.bind(device.linear);
  const larger = new PythonFunctions(
    `def g(x: Tensor, w: Tensor):\n    x.add_(1.0)\n    y = x + 0.5\n${line.repeat(3)}    return y\n`,
    { device },
  );
  const v = tensorOf([96, 96], 3);
  const outcome = async (): Promise<Float32Array> =>
    ((await larger.call('g', [tensorOf([96, 96]), v])) as Tensor).contiguousArray() as Float32Array;
  const other = await outcome();
  await outcome();
  vi.spyOn(device.linear, 'take').mockImplementation((byteLength) => {
    if (byteLength > scratchBytes) throw new RangeError('WebAssembly.Memory.grow(): Maximum memory size exceeded');
    return take(byteLength);
  });
  // The host's kernels round otherwise.
  const without = await outcome();
  other.forEach((value, at) => expect(without[at]).toBeCloseTo(value, 5));
  expect(larger.module.lastRun!.replayed).toBe(0);
  vi.mocked(device.linear.take).mockRestore();
  expect(await outcome()).toEqual(other);
  expect(larger.module.lastRun!.replayed).toBeGreaterThan(0);
});

test('weights of a file lie in memory once: on the host until they are in WebAssembly, and are told from there', async () => {
  const shape = [256, 128];
  const archive = new SyntheticArchive(
    [{ name: 'w', shape, value: 0.5 }],
    '  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return torch.matmul(x, self.w)\n',
  );
  const device = new WasmDevice();
  const { module, unit } = await readModule(archive.bytes(0, archive.size));
  const model = new ScriptModule(module, unit, new RuntimeContext({ device }));
  const { storage } = module.getAttribute('w') as Tensor;
  expect([storage.isOnHost, storage.isOnDevice]).toEqual([true, false]);
  for (let call = 0; call < 3; call++) {
    const result = (await model.call('forward', [tensorOf([4, 256])], { resultToHost: true })) as Tensor;
    expect(result.sizes).toEqual([4, 128]);
    expect([storage.isOnHost, storage.isOnDevice]).toEqual([false, true]);
  }
  await storage.toHost();
  expect(new Set(storage.hostArray('float32') as Float32Array)).toEqual(new Set([0.5]));
});

test('what no memory has room for is an error that says how much it has', () => {
  const device = new WasmDevice();
  device.allocate(2 ** 31);
  expect(() => device.allocate(2 ** 31)).toThrow(/no room for \d+ bytes more: it has four gigabytes at most/);
});

// What a call takes lies around the address of which the highest bit is the first, a little more of it beyond each time.
const beginnings = [0, ...[8, 6, 5, 4, 3, 2, 1].map((pages) => 2 ** 31 - pages * 2 ** 16)];

describe.each([1, 2])('around two gigabytes, where addresses have their highest bit, with %d threads', (size) => {
  it.each([
    ['products', '    return torch.softmax(x @ x.t(), -1) @ x, (x @ x.t())[:3] @ x'],
    ['convolutions', '    return F.conv2d(x.view(1, 4, 30, 40), x.view(-1)[:288].view(8, 4, 3, 3), None, padding=1)'],
    [
      'windows',
      '    y = x.view(1, 4, 30, 40)\n    return F.max_pool2d(y, 3, 2), F.conv2d(y, y[0, :, :5, :5].unsqueeze(1), None, groups=4)',
    ],
    ['sorting', '    return torch.sort(x, dim=1, stable=True), torch.sort(x.view(-1)), torch.sort(x.double()[:, :20])'],
    [
      'selection',
      '    return torch.topk(x, 5), torch.topk(x.view(-1), 1500), torch.kthvalue(x.view(-1), 3000), x.median()',
    ],
    ['sums and scans', '    return x.sum(0), x.sum(), torch.cumsum(x, 0), torch.cumsum(x.view(-1), 0), x.argmax(1)'],
    [
      'transpositions and halves',
      '    return x.t().contiguous(), x.half().float() + 1.0, (x > 0.0).to(torch.int8), x.long() * 3',
    ],
    [
      'lookups',
      '    i = (x[:, 0].abs() * 100.0).long() % 120\n    return x[i], F.embedding(i, x), torch.zeros(120, 40).index_add(0, i, x)',
    ],
  ])('%s give the numbers that they give elsewhere', async (_, body) => {
    const results: Float32Array[][] = [];
    for (const beginning of beginnings) {
      const device = new WasmDevice(size > 1 ? (linear) => new ThreadPool(linear, size, 0) : null);
      if (beginning > 0) device.linear.take(beginning);
      // What a shared memory begins with is used up too.
      while (device.linear.take(1 << 12) < beginning);
      const functions = new PythonFunctions(`def f(x: Tensor):\n${body}\n`, { device, limits: { smallWork: -1 } });
      const x = tensorOf([120, 40]);
      for (let call = 0; call < 3; call++) {
        const given = await functions.call('f', [x]);
        const tensors = tensorsIn(given);
        results.push(tensors.map((tensor) => tensor.contiguousArray() as Float32Array));
      }
      expect(device.counters.dispatches).toBeGreaterThan(0);
      expect(device.memory().live).toBeGreaterThan(0);
      device.dispose();
    }
    for (const found of results) expect(found).toEqual(results[0]);
  });
});

test('a run whose memory fails, wherever it does, leaves the next one right', async () => {
  const device = new WasmDevice();
  const functions = new PythonFunctions(
    'def f(x: Tensor, w: Tensor):\n    y = torch.softmax(x @ w, -1)\n    z = torch.softmax(y.sum(0), 0)\n    return torch.softmax(z @ w, 0)\n',
    { device, limits: { smallWork: -1 } },
  );
  const w = tensorOf([64, 64], 3);
  const outcome = async (rows: number): Promise<number[]> => {
    const x = tensorOf([rows, 64]);
    try {
      const result = (await functions.call('f', [x, w])) as Tensor;
      const values = Array.from(result.contiguousArray() as Float32Array);
      result.dispose();
      return values;
    } finally {
      x.dispose();
    }
  };
  const wanted = await outcome(24);
  await outcome(24);
  const { live } = device.memory();
  const take = device.linear.take.bind(device.linear);
  for (let lacking = 0; lacking < 16; lacking++) {
    let asked = 0;
    vi.spyOn(device.linear, 'take').mockImplementation((byteLength) => {
      if (asked++ === lacking) throw new RangeError('WebAssembly.Memory.grow(): Maximum memory size exceeded');
      return take(byteLength);
    });
    // Another size each time, which is recorded only when it comes again.
    for (const time of [0, 1, 2]) {
      const found = await outcome(32 + lacking).catch((error: unknown) => error);
      if (found instanceof Error) expect(found).toMatchObject({ code: 'DEVICE_BUFFER_TOO_LARGE' });
      else expect(found, `call ${time} without memory ${lacking}`).toHaveLength(64);
    }
    vi.mocked(device.linear.take).mockRestore();
    expect(await outcome(24)).toEqual(wanted);
    expect(await outcome(24)).toEqual(wanted);
    expect(device.memory().live).toBe(live);
  }
});

test.each([
  ['that are open', '', 10_000, 2],
  ['that programs go by', ' ** x.size(0)', 4000, 512],
])(
  'plans and memory of the host have a bound over thousands of runs with changing sizes %s',
  async (_, more, runs, most) => {
    const device = new WasmDevice();
    const { recorder, linear } = device;
    const source = `def f(x: Tensor):\n    return torch.softmax(torch.softmax(x, -1), 0)${more}\n`;
    const functions = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
    let lists = 0;
    let peak = 0;
    const [record, forget] = [recorder.record.bind(recorder), recorder.forget.bind(recorder)];
    vi.spyOn(recorder, 'record').mockImplementation((...given) => {
      peak = Math.max(peak, ++lists);
      return record(...given);
    });
    vi.spyOn(recorder, 'forget').mockImplementation((list) => {
      lists--;
      forget(list);
    });
    const kept = () => ({
      lists,
      programs: device.counters.shaders,
      ...device.memory(),
      taken: linear.takenBytes,
      bytes: linear.memory.buffer.byteLength,
    });
    let before = kept();
    for (let run = 0; run < runs; run++) {
      // What comes twice is worth a recording.
      const x = tensorOf([30 + (((run >> 1) * 797) % 1000), 4]);
      const result = (await functions.call('f', [x])) as Tensor;
      for (const tensor of [x, result]) tensor.dispose();
      if (run === runs / 2) before = kept();
    }
    const after = kept();
    expect(after).toMatchObject({ lists: most, programs: before.programs, live: 0, peak: before.peak });
    // What lists work in is as large as the largest of them wants it.
    expect(after.pooled).toBeLessThan(1 << 15);
    expect(after.taken).toBeLessThan(1 << 17);
    expect(after.bytes).toBeLessThanOrEqual(1 << 18);
    expect(peak).toBe(most === 512 ? most + 1 : most);
    functions.module.dispose();
    expect(lists).toBe(0);
  },
  600_000,
);

describe('weights of 16 bits', () => {
  const program = 'def f(x: Tensor, w: Tensor):\n    return torch.linear(x, w)\n';
  const halves = async (dtype: string, ...sizes: number[]): Promise<Tensor> => {
    const source = `def c(x: Tensor):\n    return x.to(torch.${dtype})\n`;
    return (await new PythonFunctions(source, { device: null }).call('c', [tensorOf(sizes)])) as Tensor;
  };

  it.each([
    ['float16', 512, 2],
    ['bfloat16', 512, 2],
    // 33 MB, which would be 67 MB.
    ['float16', 4200, 0],
  ])('%s, %d rows: packed they are kept as singles only where that is little', async (dtype, rows, times) => {
    const device = new WasmDevice();
    const functions = new PythonFunctions(program, { device, limits: { smallWork: -1 } });
    const w = await halves(dtype, rows, rows === 512 ? 64 : 4000);
    const x = await halves(dtype, 4, w.sizes[1]);
    const numbers = async (on: PythonFunctions): Promise<Uint16Array> =>
      Uint16Array.from(((await on.call('f', [x, w])) as Tensor).contiguousArray() as Uint16Array);
    const wanted = rows === 512 ? await numbers(new PythonFunctions(program, { device: null })) : null;
    for (let call = 0; call < 4; call++) {
      const found = await numbers(functions);
      // The last bit is as sums were rounded.
      wanted?.forEach((bits, at) => expect(Math.abs(bits - found[at])).toBeLessThan(3));
    }
    expect(functions.module.lastRun!.replayed).toBeGreaterThan(0);
    const ofInput = 2 * 2 * x.numel;
    expect(device.keptBytes).toBe(times * 2 * w.numel + ofInput);
  });
});
