import { CressetError } from '@cresset/ir';
import { elementSize, hostArray, Storage, Tensor, type ScalarType } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  param,
  reduce,
  TensorView,
  unary,
  type Expr,
  type Kernel,
} from '@cresset/tensorexpr';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requestWebGpuDevice } from './request-device.ts';
import type { WebGpuDevice } from './webgpu-device.ts';

let device: WebGpuDevice;
beforeAll(async () => {
  device = await requestWebGpuDevice();
});
afterAll(() => device.dispose());

function floats(...values: number[]): Tensor {
  return Tensor.fromArray(Float32Array.from(values), [values.length], 'float32');
}

function map(inputs: readonly Tensor[], output: Tensor, value: (...elements: Expr[]) => Expr): Kernel {
  const target = new TensorView(output);
  const axes = target.axes();
  return {
    kind: 'nest',
    label: 'test::map',
    axes,
    innerAxes: [],
    stores: [
      {
        operand: target.operand,
        offset: target.offsetAt(axes),
        value: value(...inputs.map((input) => new TensorView(input).at(axes))),
      },
    ],
  };
}

async function read(tensor: Tensor): Promise<number[]> {
  await tensor.storage.toHost();
  return Array.from(tensor.contiguousArray() as Float32Array);
}

const plus = (amount: number) => (x: Expr) => binary('add', x, param('float', amount));

async function difference<T>(work: () => Promise<T>) {
  const before = { ...device.counters };
  await work();
  const after = device.counters;
  return Object.fromEntries(
    (Object.keys(before) as (keyof typeof before)[]).map((key) => [key, after[key] - before[key]]),
  );
}

test.each(['float16', 'int8', 'float64', 'int64'] as const)(
  '%s goes up in pieces and comes back as it was',
  async (dtype) => {
    const count = 5_000_001;
    const sent = hostArray(dtype, new ArrayBuffer(count * elementSize(dtype)), 0, count);
    // Bit patterns of float16 that are numbers, and integers that every dtype has.
    for (let at = 0; at < count; at++)
      sent[at] = dtype === 'int64' ? BigInt(at) : dtype === 'int8' ? at & 127 : at % 31000;
    const buffer = device.allocate(count * device.deviceElementSize(dtype));
    device.upload(buffer, dtype, new Uint8Array(sent.buffer));
    const back = await device.download(buffer, dtype, count);
    expect(Buffer.compare(new Uint8Array(back), new Uint8Array(sent.buffer))).toBe(0);
    device.release(buffer);
  },
);

describe('order of work', () => {
  test('a chain of kernels and its result are one submission and one readback', async () => {
    const x = floats(1, 2, 3);
    const counts = await difference(async () => {
      let tensor = x;
      for (let step = 0; step < 10; step++) {
        const next = new Tensor(Storage.onDevice(device, 'float32', 3), 'float32', [3], [1]);
        device.launch(map([tensor], next, plus(1)));
        tensor = next;
      }
      expect(await read(tensor)).toEqual([11, 12, 13]);
    });
    expect(counts).toMatchObject({
      dispatches: 10,
      submits: 1,
      uploads: 1,
      uploadedBytes: 12,
      readbacks: 1,
      readbackBytes: 12,
    });
  });

  test('results that are fetched together travel together', async () => {
    const outputs = [floats(0), floats(0), floats(0)];
    const counts = await difference(async () => {
      outputs.forEach((output, index) => device.launch(map([output], output, plus(index))));
      await Promise.all(outputs.map((output) => output.storage.toHost()));
    });
    expect(counts).toMatchObject({ dispatches: 3, submits: 1, readbacks: 1 });
    expect(await Promise.all(outputs.map(read))).toEqual([[0], [1], [2]]);
  });

  test('a scalar is no part of the shader', async () => {
    const counts = await difference(async () => {
      for (let amount = 0; amount < 20; amount++) {
        const output = floats(0, 0);
        device.launch(map([floats(1, 2)], output, (x) => binary('mul', x, param('float', amount))));
        expect(await read(output)).toEqual([amount, 2 * amount]);
      }
    });
    expect(counts.shaders).toBe(1);
  });

  test('an upload does not overtake work that reads the old contents', async () => {
    const memory = device.allocate(12);
    device.upload(memory, 'float32', new Uint8Array(Float32Array.of(1, 2, 3).buffer));
    const copies: Tensor[] = [];
    for (let round = 0; round < 3; round++) {
      // A tensor over the same device memory, as a storage would hold it.
      const shared = floats(0, 0, 0);
      const source = new Tensor(sharedStorage(shared.storage, memory), 'float32', [3], [1]);
      const copy = floats(0, 0, 0);
      device.launch(map([source], copy, plus(0)));
      copies.push(copy);
      device.upload(memory, 'float32', new Uint8Array(Float32Array.of(round, round, round).buffer));
    }
    expect(await Promise.all(copies.map(read))).toEqual([
      [1, 2, 3],
      [0, 0, 0],
      [1, 1, 1],
    ]);
    device.upload(memory, 'float32', new Uint8Array(Float32Array.of(7).buffer));
    expect([...new Float32Array(await device.download(memory, 'float32', 3))]).toEqual([7, 2, 2]);
    device.release(memory);
  });

  test('a partial upload waits for its turn', async () => {
    const memory = device.allocate(12);
    device.upload(memory, 'float32', new Uint8Array(Float32Array.of(1, 2, 3).buffer));
    const before = device.download(memory, 'float32', 3);
    device.upload(memory, 'float32', new Uint8Array(Float32Array.of(9).buffer));
    const after = device.download(memory, 'float32', 3);
    expect([...new Float32Array(await before)]).toEqual([1, 2, 3]);
    expect([...new Float32Array(await after)]).toEqual([9, 2, 3]);
    device.release(memory);
  });

  test('host writes after device work are seen by later work only', async () => {
    const x = floats(1, 1);
    const first = floats(0, 0);
    device.launch(map([x], first, plus(1)));
    (x.storageArrayForWriting() as Float32Array).fill(5);
    const second = floats(0, 0);
    device.launch(map([x], second, plus(1)));
    expect(await read(first)).toEqual([2, 2]);
    expect(await read(second)).toEqual([6, 6]);
  });

  test('memory released while work uses it is not overwritten by an upload', async () => {
    const result = floats(0, 0, 0, 0);
    const temporary = new Tensor(Storage.onDevice(device, 'float32', 4), 'float32', [4], [1]);
    device.launch(map([floats(1, 2, 3, 4)], temporary, plus(0)));
    device.launch(map([temporary], result, plus(10)));
    temporary.dispose();
    const other = floats(9, 9, 9, 9);
    const doubled = floats(0, 0, 0, 0);
    device.launch(map([other], doubled, (x) => binary('add', x, x)));
    expect(await read(result)).toEqual([11, 12, 13, 14]);
    expect(await read(doubled)).toEqual([18, 18, 18, 18]);
  });

  test('programs of one layout are bound to uniforms of one size, whatever their own', async () => {
    const own = await requestWebGpuDevice();
    const { createBindGroup, createBindGroupLayout } = own.gpuDevice;
    const sizes = new Set<number | undefined>();
    own.gpuDevice.createBindGroup = (descriptor) => {
      const [first] = [...descriptor.entries];
      sizes.add((first.resource as GPUBufferBinding).size);
      return createBindGroup.call(own.gpuDevice, descriptor);
    };
    const declared = new Set<number | undefined>();
    own.gpuDevice.createBindGroupLayout = (descriptor) => {
      declared.add([...descriptor.entries][0].buffer?.minBindingSize);
      return createBindGroupLayout.call(own.gpuDevice, descriptor);
    };
    const x = floats(1, 2, 3);
    for (const amounts of [[1], [1, 2, 3, 4, 5], [1, 2]]) {
      const sum = (value: Expr): Expr => amounts.reduce((total, amount) => plus(amount)(total), value);
      own.launch(map([x], x, sum));
    }
    expect(await read(x)).toEqual([20, 21, 22]);
    expect(own.counters.shaders).toBe(3);
    expect([...sizes]).toEqual([256]);
    expect([...declared]).toEqual([256]);
    own.dispose();
  });

  test('a program far ahead of the GPU is asked to wait, once for all that it did', async () => {
    const own = await requestWebGpuDevice();
    const x = floats(0);
    let waits = 0;
    for (let step = 0; step < 40_000; step++) {
      own.launch(map([x], x, plus(1)));
      const room = own.room();
      if (!room) continue;
      waits++;
      await room;
      expect(own.room()).toBeNull();
    }
    expect(await read(x)).toEqual([40_000]);
    // Batches of 512 launches, of which 32 may be under way.
    expect(waits).toBe(2);
    expect(own.counters.buffersAllocated).toBe(1);
    own.dispose();
  });

  test('more launches than one batch holds', async () => {
    const x = floats(0);
    const counts = await difference(async () => {
      for (let step = 0; step < 1300; step++) device.launch(map([x], x, plus(1)));
      expect(await read(x)).toEqual([1300]);
    });
    expect(counts).toMatchObject({ dispatches: 1300, submits: 3, readbacks: 1 });
  });
});

/** A storage that answers with memory of the test's own. */
function sharedStorage(like: Storage, memory: ReturnType<WebGpuDevice['allocate']>): Storage {
  const own = { deviceBuffer: () => memory, layoutOf: () => 'float32', byteLength: like.byteLength };
  return Object.create(like, Object.getOwnPropertyDescriptors(own)) as Storage;
}

describe('operands', () => {
  test('in place', async () => {
    const x = floats(1, 2, 3);
    device.launch(map([x], x, (value) => binary('mul', value, value)));
    expect(await read(x)).toEqual([1, 4, 9]);
  });

  test('two views of one storage, one of them written', async () => {
    const storage = floats(1, 2, 3, 4, 0, 0, 0, 0);
    const low = storage.asStrided([4], [1], 0);
    const high = storage.asStrided([4], [1], 4);
    device.launch(map([low], high, plus(1)));
    expect(await read(storage)).toEqual([1, 2, 3, 4, 2, 3, 4, 5]);
  });

  test('two stores, one of which reads what the other writes', async () => {
    const [a, b] = [floats(1, 2), floats(10, 20)];
    const views = [a, b].map((tensor) => new TensorView(tensor));
    const [i] = views[0].axes();
    const swap = [0, 1].map((to) => ({
      operand: views[to].operand,
      offset: views[to].offsetAt([i]),
      value: views[1 - to].at([i]),
    }));
    device.launch({ kind: 'nest', label: 'swap', axes: [i], innerAxes: [], stores: swap });
    expect(await Promise.all([read(a), read(b)])).toEqual([
      [10, 20],
      [1, 2],
    ]);
  });

  test('permuted, expanded and sliced views', async () => {
    const base = Tensor.fromArray(
      Float32Array.from({ length: 24 }, (_, at) => at),
      [2, 3, 4],
      'float32',
    );
    const permuted = base.asStrided([4, 2, 2], [1, 12, 4], 4);
    const expanded = floats(100, 200).asStrided([4, 2, 2], [0, 1, 0]);
    const output = Tensor.empty([4, 2, 2], 'float32');
    device.launch(map([permuted, expanded], output, (x, y) => binary('add', x, y)));
    const expected: number[] = [];
    for (let i = 0; i < 4; i++)
      for (let j = 0; j < 2; j++) for (let k = 0; k < 2; k++) expected.push(4 + i + 12 * j + 4 * k + (j ? 200 : 100));
    expect(await read(output)).toEqual(expected);
  });

  test('a storage used with two dtypes is refused', () => {
    const x = floats(1);
    const reinterpreted = new Tensor(x.storage, 'int32', [1], [1]);
    expect(() => device.launch(map([reinterpreted], x, (value) => value))).toThrow(
      /as float32 and as int32|as int32 and as float32/,
    );
  });

  test('no elements, no dispatch', async () => {
    const counts = await difference(async () =>
      device.launch(map([Tensor.empty([0], 'float32')], Tensor.empty([0], 'float32'), plus(1))),
    );
    expect(counts.dispatches).toBe(0);
  });

  test('more tensors than the GPU can bind are refused by name', () => {
    const inputs = Array.from({ length: 70 }, () => floats(1));
    const kernel = map(inputs, floats(0), (...elements) => elements.reduce((a, b) => binary('add', a, b)));
    expect(() => device.launch(kernel)).toThrow(expect.objectContaining({ code: 'DEVICE_BINDING_LIMIT' }));
  });

  test('a grid of more workgroups than one dimension has', async () => {
    // Points with a loop of some length get small workgroups on every kind of adapter.
    const perWorkgroup = device.capabilities.software ? 8 : 1;
    const count = 65536 * perWorkgroup + 3;
    const output = new Tensor(Storage.onDevice(device, 'float32', count), 'float32', [count], [1]);
    const view = new TensorView(output);
    const [i] = view.axes();
    const index = cast('float', binary('remainder', i, constant('i32', 1000)));
    device.launch({
      kind: 'nest',
      label: 'iota',
      axes: [i],
      innerAxes: [],
      stores: [{ operand: view.operand, offset: i, value: reduce('sum', [axis('r', param('i32', 64))], index) }],
    });
    const tail = floats(0, 0, 0, 0, 0);
    const ends = [0, 1, 65536 * perWorkgroup - 1, 65536 * perWorkgroup, count - 1];
    const picked = new TensorView(Tensor.fromArray(Int32Array.from(ends), [5], 'int32'));
    const target = new TensorView(tail);
    const [j] = target.axes();
    const load: Expr = { kind: 'load', type: 'float', operand: view.operand, offset: picked.at([j]) };
    device.launch({
      kind: 'nest',
      label: 'gather',
      axes: [j],
      innerAxes: [],
      stores: [{ operand: target.operand, offset: target.offsetAt([j]), value: load }],
    });
    expect(await read(tail)).toEqual(ends.map((at) => 64 * (at % 1000)));
    output.dispose();
  });
});

describe('memory', () => {
  test('every dtype comes back as it went up', async () => {
    const cases: [ScalarType, number[]][] = [
      ['bool', [0, 1, 1]],
      ['uint8', [0, 127, 255]],
      ['int8', [-128, -1, 127]],
      ['int16', [-32768, -1, 32767]],
      ['int32', [-(2 ** 31), -1, 2 ** 31 - 1]],
      ['float16', [0x3c00, 0x0001, 0xfbff]],
      ['bfloat16', [0x3f80, 0x0080, 0xff7f]],
      ['float32', [0, -1.5, 3.4e38]],
      ['float64', [0, -1.5, 1024]],
    ];
    for (const [dtype, values] of cases) {
      const elements = hostArray(
        dtype,
        new ArrayBuffer(3 * hostArray(dtype, new ArrayBuffer(0), 0, 0).BYTES_PER_ELEMENT),
        0,
        3,
      );
      (elements as Float64Array).set(values);
      const memory = device.allocate(3 * device.deviceElementSize(dtype));
      device.upload(memory, dtype, new Uint8Array(elements.buffer));
      const back = hostArray(dtype, await device.download(memory, dtype, 3), 0, 3);
      expect([...(back as Float64Array)], dtype).toEqual([...(elements as Float64Array)]);
      device.release(memory);
    }
    const longs = BigInt64Array.of(-(1n << 63n), -1n, (1n << 53n) + 1n);
    const memory = device.allocate(24);
    device.upload(memory, 'int64', new Uint8Array(longs.buffer));
    expect([...new BigInt64Array(await device.download(memory, 'int64', 3))]).toEqual([...longs]);
    device.release(memory);
    expect(() => device.deviceElementSize('complex64')).toThrow(CressetError);
  });

  test('steady state makes no buffers, and what is disposed of is not counted', async () => {
    // A device of its own: what the collector finds of other tests is given back when it pleases.
    const own = await requestWebGpuDevice();
    const round = async (): Promise<void> => {
      const x = floats(...Array.from({ length: 1000 }, () => 1));
      const y = new Tensor(Storage.onDevice(own, 'float32', 1000), 'float32', [1000], [1]);
      own.launch(map([x], y, unaryExp));
      await y.storage.toHost();
      expect(own.counters.liveBytes).toBe(8000);
      x.dispose();
      y.dispose();
    };
    await round();
    await round();
    const { buffersAllocated } = own.counters;
    await round();
    expect(own.counters).toMatchObject({ buffersAllocated, liveBytes: 0 });
    own.dispose();
  });

  test('a tensor beyond the limits of the GPU is refused with both sizes', () => {
    expect(() => device.allocate(2 ** 40)).toThrow(/1099511627776 bytes on the device, but this GPU allows \d+/);
  });
});

const unaryExp = (x: Expr): Expr => unary('exp', x);

describe('failures', () => {
  /** A division of constants by zero, which WGSL itself refuses. */
  const broken = (output: Tensor): Kernel => ({
    ...map([], output, () => binary('div', constant('float', 1), constant('float', 0))),
    label: 'test::broken',
  });

  test('a shader that does not compile rejects the flush with the compiler’s words and the shader', async () => {
    const output = floats(0);
    device.launch(broken(output));
    const failure = await device.flush().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CressetError);
    expect(failure).toMatchObject({ code: 'SHADER_COMPILATION' });
    expect(String(failure)).toMatch(/test::broken[\s\S]*@compute/);
    // The device goes on working.
    const x = floats(1);
    device.launch(map([x], x, plus(1)));
    expect(await read(x)).toEqual([2]);
  });

  test('a download after a failed kernel rejects', async () => {
    const output = floats(0);
    device.launch(broken(output));
    await expect(output.storage.toHost()).rejects.toMatchObject({ code: 'SHADER_COMPILATION' });
  });

  test('a lost device rejects by name', async () => {
    const own = await requestWebGpuDevice();
    own.gpuDevice.destroy();
    await own.gpuDevice.lost;
    expect(() => own.launch(map([], floats(0), () => constant('float', 1)))).toThrow(
      expect.objectContaining({ code: 'DEVICE_LOST' }),
    );
    await expect(own.flush()).rejects.toMatchObject({ code: 'DEVICE_LOST' });
  });

  test('what was disposed of says so', async () => {
    const own = await requestWebGpuDevice();
    own.dispose();
    own.dispose();
    await expect(own.flush()).rejects.toMatchObject({ code: 'DEVICE_DISPOSED' });
  });

  test('a device of the caller’s own survives', async () => {
    const adapter = await navigator.gpu.requestAdapter();
    const gpuDevice = await adapter!.requestDevice();
    for (let round = 0; round < 5; round++) {
      const own = await requestWebGpuDevice({ device: gpuDevice });
      const x = floats(round);
      own.launch(map([x], x, plus(1)));
      expect(await read(x)).toEqual([round + 1]);
      own.dispose();
    }
    gpuDevice.destroy();
  });

  test('axes of one name stay apart', async () => {
    const output = Tensor.empty([2, 3], 'float32');
    const view = new TensorView(output);
    const [i, j] = [axis('i', view.sizes[0]), axis('i', view.sizes[1])];
    const value: Expr = { kind: 'cast', type: 'float', x: binary('sub', i, j) };
    device.launch({
      kind: 'nest',
      label: 'names',
      axes: [i, j],
      innerAxes: [],
      stores: [{ operand: view.operand, offset: view.offsetAt([i, j]), value }],
    });
    expect(await read(output)).toEqual([0, -1, -2, 1, 0, -1]);
  });
});
