import { setJitOptions } from '@cresset/ir';
import { Storage, Tensor } from '@cresset/tensor';
import { accumulator, axis, binary, param, TensorView, type Kernel } from '@cresset/tensorexpr';
import { afterEach, expect, test, vi } from 'vitest';
import { batchedProduct } from '../../../../test-setup/batched-product.ts';
import { threadedDevice } from '../../../../test-setup/threaded-device.ts';
import { i32, type Code } from '../code.ts';
import { LinearMemory } from '../linear-memory.ts';
import { ModuleBuilder } from '../module.ts';
import { openWasmDevice, WasmDevice } from '../parts/device.ts';
import type { Call } from './task.ts';
import { startHelper, type Helper } from './start-helper.ts';
import { ThreadPool } from './thread-pool.ts';

vi.mock('./start-helper.ts', { spy: true });

const pools: ThreadPool[] = [];
afterEach(() => {
  for (const pool of pools.splice(0)) pool.dispose();
  setJitOptions({ numThreads: undefined });
  vi.unstubAllGlobals();
});

async function poolOf(size: number): Promise<[ThreadPool, LinearMemory]> {
  const linear = new LinearMemory(true);
  const pool = new ThreadPool(linear, size);
  pools.push(pool);
  while (pool.ready < size - 1) await new Promise((resolve) => setTimeout(resolve, 1));
  return [pool, linear];
}

/** A module whose `run(address, value, _)` stores the value, or what else is given, and what calls it here. */
function stores(
  pool: ThreadPool,
  linear: LinearMemory,
  given?: Code,
  after: Code = [],
): Pick<Call, 'functions' | 'module'> {
  const builder = new ModuleBuilder([], true);
  builder.define('run', 3, (_, address, value) => [i32.store(address.get, given ?? value.get), after]);
  const bytes = builder.bytes();
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { memory: linear.memory } });
  return { functions: exports as unknown as Call['functions'], module: pool.register(bytes) };
}

/** What stands for a module in this thread: it takes a task, and waits until `isOver`. */
const waits = (module: Pick<Call, 'module'>, isOver: () => boolean): Pick<Call, 'functions' | 'module'> => ({
  module: module.module,
  functions: {
    run: () => {
      for (let look = 0; !isOver() && look < 1e8; look++);
    },
  },
});

const run = (each: Pick<Call, 'functions' | 'module'>, ...args: number[]): Call => ({ ...each, name: 'run', args });

test('tasks are done by other threads too', async () => {
  const [pool, linear] = await poolOf(3);
  const { functions, module } = stores(pool, linear);
  const at = linear.take(64) >> 2;
  // What this thread takes is over when the two others are done; other threads may also have been so quick as to leave it none.
  const countDone = (): number => [0, 1, 2].filter((task) => Atomics.load(linear.integers, at + task) !== 0).length;
  let taken = 0;
  const waiting = (address: number, value: number): void => {
    taken++;
    for (let look = 0; countDone() < 2 && look < 1e8; look++);
    functions.run(address, value, 0);
  };
  linear.integers.fill(0, at, at + 16);
  const own = { functions: { run: waiting }, module };
  pool.run([0, 1, 2].map((task) => [run(own, 4 * (at + task), task + 7, 0)]));
  expect(taken).toBeLessThan(2);
  expect([...linear.integers.subarray(at, at + 3)]).toEqual([7, 8, 9]);
});

test('many jobs, one after the other, are done once each', async () => {
  const [pool, linear] = await poolOf(3);
  const module = stores(pool, linear);
  const at = linear.take(4 * 40) >> 2;
  for (let job = 1; job <= 2000; job++) {
    const count = 2 + (job % 37);
    pool.run(Array.from({ length: count }, (_, task) => [run(module, 4 * (at + task), job, 0)]));
    for (let task = 0; task < count; task++) expect(linear.integers[at + task]).toBe(job);
  }
});

test('a table of modules that is full is begun anew, and others find what they are to call', async () => {
  const [pool, linear] = await poolOf(2);
  const at = linear.take(64) >> 2;
  const { integers } = linear;
  /** Has the other thread call a module, which stores a number. */
  const value = (module: Pick<Call, 'functions' | 'module'>): number => {
    Atomics.store(integers, at, -1);
    const own = waits(module, () => Atomics.load(integers, at) !== -1);
    const elsewhere = { functions: own.functions, module: module.module };
    // Both tasks call the module elsewhere; here they wait.
    pool.run([[run(elsewhere, 4 * at, 0, 0)], [run(elsewhere, 4 * at, 0, 0)]]);
    return Atomics.load(integers, at);
  };
  const modules = Array.from({ length: 4200 }, (_, number) => stores(pool, linear, i32.const(number)));
  modules.forEach((module, number) => expect(value(module)).toBe(number));
  for (const number of [0, 103, 104, 4095, 4096, 4199, 1]) expect(value(modules[number])).toBe(number);
  expect(modules[0].module!.table).toBeGreaterThan(0);
  // A table that was begun anew just now is not again: what has no place in it one thread does.
  const large = { bytes: new Uint8Array(3 << 20), place: 0, table: -1 };
  const calls: number[] = [];
  const alone = { functions: { run: (_address: number, given: number) => void calls.push(given) }, module: large };
  pool.run([[run(alone, 0, 1, 0)], [run(alone, 0, 2, 0)]]);
  expect(calls).toEqual([1, 2]);
});

test('a thread that ends within a task is an error, and then one thread computes', async () => {
  const linear = new LinearMemory(true);
  const pool = new ThreadPool(linear, 2, 1, 200);
  pools.push(pool);
  while (pool.ready < 1) await new Promise((resolve) => setTimeout(resolve, 1));
  const helper = vi.mocked(startHelper).mock.results.at(-1)!.value as Helper;
  const at = linear.take(64);
  const { integers } = linear;
  // Says that it has begun, and goes round for ever.
  const forever = stores(pool, linear, i32.const(1), [0x03, 0x40, 0x0c, 0, 0x0b]);
  integers[at >> 2] = 0;
  const own = waits(forever, () => Atomics.load(integers, at >> 2) === 1);
  const ending = { ...own, functions: { run: () => (own.functions.run(), helper.terminate()) } };
  expect(() => pool.run([[run(ending, at, 1, 0)], [run(ending, at, 1, 0)]])).toThrow(
    expect.objectContaining({ code: 'DEVICE_ERROR', message: expect.stringContaining('ended within its work') }),
  );
  const module = stores(pool, linear);
  pool.run([[run(module, at, 5, 0)], [run(module, at + 4, 6, 0)]]);
  expect([...integers.subarray(at >> 2, (at >> 2) + 2)]).toEqual([5, 6]);
});

test('all threads have the memory that there is now', async () => {
  const [pool, linear] = await poolOf(3);
  const memorySize = [0x3f, 0];
  const module = stores(pool, linear, memorySize);
  const at = linear.take(64);
  for (let job = 0; job < 300; job++) {
    linear.memory.grow(1);
    const pages = linear.memory.buffer.byteLength >> 16;
    pool.run(Array.from({ length: 12 }, (_, task) => [run(module, at + 4 * task, 0, 0)]));
    expect([...linear.integers.subarray(at >> 2, (at >> 2) + 12)]).toEqual(new Array(12).fill(pages));
  }
});

test('what goes wrong is told, and the next job is done', async () => {
  const [pool, linear] = await poolOf(2);
  const module = stores(pool, linear);
  const at = linear.take(64);
  const outside = (): Call[] => [run(module, -8, 1, 0)];
  for (let time = 0; time < 5; time++) {
    expect(() => pool.run([outside(), outside()])).toThrow(/out of bounds|a kernel failed in a thread that helps/);
    pool.run([[run(module, at, time, 0)], [run(module, at + 4, time, 0)]]);
    expect([...linear.integers.subarray(at >> 2, (at >> 2) + 2)]).toEqual([time, time]);
  }
});

test('without a thread that helps, and where a module is no other thread’s, this one does all', async () => {
  const linear = new LinearMemory(true);
  const pool = new ThreadPool(linear, 1);
  const alone = stores(pool, linear);
  const at = linear.take(64);
  pool.run([[run(alone, at, 1, 0)], [run(alone, at + 4, 2, 0)]]);
  const [others, shared] = await poolOf(2);
  const own = { ...stores(others, shared), module: null };
  const there = shared.take(64);
  others.run([[run(own, there, 3, 0)], [run(own, there + 4, 4, 0)]]);
  expect([...linear.integers.subarray(at >> 2, (at >> 2) + 2)]).toEqual([1, 2]);
  expect([...shared.integers.subarray(there >> 2, (there >> 2) + 2)]).toEqual([3, 4]);
});

const waves = (...sizes: number[]): Tensor => {
  const count = sizes.reduce((product, size) => product * size, 1);
  const values = Float32Array.from({ length: count }, (_, at) => Math.sin(at * 0.37));
  return Tensor.fromArray(values, sizes, 'float32');
};

/** The results of kernels of many shapes, byte for byte. */
async function results(device: WasmDevice): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  const launch = async (kernel: Kernel, out: Tensor): Promise<void> => {
    device.launch(kernel);
    await out.storage.toHost();
    found.push(new Uint8Array((out.storageArray() as Float32Array).slice().buffer));
  };
  for (const [batch, m, n, k] of [
    [1, 64, 64, 64],
    [3, 5, 37, 19],
    [1, 1, 100, 41],
    [2, 130, 11, 300],
  ]) {
    const out = new Tensor(Storage.onDevice(device, 'float32', batch * m * n), 'float32', [batch, m, n], [m * n, n, 1]);
    const views = [waves(batch, m, k), waves(batch, k, n), out].map((each) => new TensorView(each));
    await launch(
      batchedProduct(views[0], views[1], views[2], () => accumulator),
      out,
    );
  }
  for (const count of [1, 7, 1001]) {
    const [x, y] = [waves(count), waves(count)];
    const i = axis('i', param('i32', count));
    const [from, to] = [new TensorView(x), new TensorView(y)];
    const value = binary('add', from.at([i]), from.at([i]));
    const stored = { operand: to.operand, offset: to.offsetAt([i]), value };
    await launch({ kind: 'nest', label: 'twice', axes: [i], innerAxes: [], stores: [stored] }, y);
  }
  device.dispose();
  return found;
}

test('results are those of one thread, to the last bit', async () => {
  expect(await results(await threadedDevice())).toEqual(await results(new WasmDevice()));
});

test('how many threads there are can be set, and needs memory that is shared', async () => {
  setJitOptions({ numThreads: 3 });
  const device = (await openWasmDevice())!;
  expect(device.description).toContain(', 3 threads');
  expect(device.linear.memory.buffer).toBeInstanceOf(SharedArrayBuffer);
  device.dispose();
  setJitOptions({ numThreads: 1 });
  expect((await openWasmDevice())!.description).not.toContain('threads');
  setJitOptions({ numThreads: 3 });
  // A page that is not isolated from other origins.
  vi.stubGlobal('crossOriginIsolated', false);
  vi.stubGlobal('process', { ...process, getBuiltinModule: undefined });
  expect((await openWasmDevice())!.description).not.toContain('threads');
});

test('where a shared memory has no addresses, one thread computes', async () => {
  setJitOptions({ numThreads: 3 });
  const { Memory } = WebAssembly;
  vi.spyOn(WebAssembly, 'Memory').mockImplementation(function (descriptor) {
    if (descriptor.shared) throw new RangeError('WebAssembly.Memory(): could not allocate memory');
    return new Memory(descriptor);
  });
  const device = (await openWasmDevice())!;
  vi.mocked(WebAssembly.Memory).mockRestore();
  expect(device.description).not.toContain('threads');
  device.dispose();
});
