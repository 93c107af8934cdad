import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { expect, test, vi } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

registerAllParts();

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

test('what no memory has room for is an error that says how much it has', () => {
  const device = new WasmDevice();
  expect(() => device.allocate(2 ** 31)).toThrow(/no room for \d+ bytes more: it has two gigabytes at most/);
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

test('plans and memory of the device of the host have a bound over ten thousand runs with changing shapes', async () => {
  const device = new WasmDevice();
  const { recorder, linear } = device;
  const functions = new PythonFunctions('def f(x: Tensor):\n    return torch.softmax(torch.softmax(x, -1), 0)\n', {
    device,
    limits: { smallWork: -1 },
  });
  let lists = 0;
  let most = 0;
  const [record, forget] = [recorder.record.bind(recorder), recorder.forget.bind(recorder)];
  vi.spyOn(recorder, 'record').mockImplementation((...given) => {
    most = Math.max(most, ++lists);
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
  for (let run = 0; run < 10_000; run++) {
    const x = tensorOf([30 + ((run * 797) % 1000), 4]);
    const result = (await functions.call('f', [x])) as Tensor;
    for (const tensor of [x, result]) tensor.dispose();
    if (run === 5000) before = kept();
  }
  const after = kept();
  expect(after).toMatchObject({ lists: 512, programs: before.programs, live: 0, peak: before.peak });
  // What lists work in is as large as the largest of them wants it.
  expect(after.pooled).toBeLessThan(1 << 15);
  expect(after.taken).toBeLessThan(1 << 17);
  expect(after.bytes).toBeLessThanOrEqual(1 << 18);
  expect(most).toBe(512 + 1);
  functions.module.dispose();
  expect(lists).toBe(0);
}, 600_000);
