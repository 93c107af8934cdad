import { Tensor } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  cast,
  constant,
  param,
  TensorView,
  type Contraction,
  type Kernel,
  type LaunchRecorder,
} from '@cresset/tensorexpr';
import { afterEach, expect, test, vi } from 'vitest';
import { openWasmDevice } from '../parts/device.ts';
import { WasmDevice } from './wasm-device.ts';
import type { WasmBuffer } from './wasm-buffer.ts';

afterEach(() => vi.restoreAllMocks());

const floats = (...values: number[]): Tensor => Tensor.fromArray(Float32Array.from(values), [values.length], 'float32');

function matrix(rows: number, columns: number, value: (row: number, column: number) => number): Tensor {
  const data = Float32Array.from({ length: rows * columns }, (_, at) => value(Math.floor(at / columns), at % columns));
  return Tensor.fromArray(data, [rows, columns], 'float32');
}

function product(a: Tensor, b: Tensor, c: Tensor): Contraction {
  const [m, n, k] = [
    axis('m', param('i32', a.sizes[0])),
    axis('n', param('i32', b.sizes[1])),
    axis('k', param('i32', a.sizes[1])),
  ];
  const [left, right, out] = [a, b, c].map((tensor) => new TensorView(tensor));
  return {
    kind: 'contraction',
    label: 'product',
    batch: [],
    m,
    n,
    k,
    left: left.at([m, k]),
    right: right.at([k, n]),
    stores: [{ operand: out.operand, offset: out.offsetAt([m, n]), value: binary('add', accumulator, accumulator) }],
  };
}

const bufferOf = (tensor: Tensor, device: WasmDevice): WasmBuffer =>
  tensor.storage.deviceBuffer(device, tensor.dtype) as WasmBuffer;

async function read(tensor: Tensor): Promise<number[]> {
  await tensor.storage.toHost();
  return Array.from(tensor.contiguousArray() as Float32Array);
}

/** Has a recorded product read other buffers. */
function replay(
  device: WasmDevice,
  recorder: LaunchRecorder,
  list: ReturnType<LaunchRecorder['record']>,
  tensors: Tensor[],
): void {
  const out = tensors.at(-1)!;
  out.storage.deviceBufferForWriting(device, out.dtype);
  recorder.replay(
    list,
    tensors.map((tensor) => bufferOf(tensor, device)),
    [],
  );
}

test('a recorded product follows its buffers, and keeps what does not change packed', async () => {
  const device = new WasmDevice();
  const a = matrix(8, 16, (row, column) => row - column);
  const b = matrix(16, 12, (row, column) => row * column);
  const c = matrix(8, 12, () => 0);
  const launch = device.recorder.prepare(product(a, b, c))!;
  const list = device.recorder.record([{ launch, places: [0, 1, 2] }], 3, []);
  const expected = (left: Tensor): number[] =>
    Array.from({ length: 96 }, (_, at) => {
      const row = (left.storageArray() as Float32Array).subarray(
        16 * Math.floor(at / 12),
        16 * Math.floor(at / 12) + 16,
      );
      return 2 * row.reduce((sum, value, k) => sum + value * k * (at % 12), 0);
    });
  for (let run = 0; run < 3; run++) {
    replay(device, device.recorder, list, [a, b, c]);
    expect(await read(c)).toEqual(expected(a));
  }
  expect(device.keptBytes).toBe(4 * (8 * 16 + 12 * 16));
  const other = matrix(8, 16, (row, column) => row * column - 3);
  replay(device, device.recorder, list, [other, b, c]);
  expect(await read(c)).toEqual(expected(other));
  expect(device.keptBytes).toBe(4 * 12 * 16);
  // A buffer that is filled again is packed again.
  device.upload(bufferOf(b, device), 'float32', new Uint8Array(4 * 16 * 12));
  replay(device, device.recorder, list, [other, b, c]);
  expect((await read(c)).every((value) => value === 0)).toBe(true);
  device.recorder.forget(list);
  expect(device.keptBytes).toBe(0);
});

test('weights of bytes stay packed as floats, as long as these are few', async () => {
  const device = new WasmDevice();
  const a = matrix(8, 16, (row, column) => row - column);
  const b = Tensor.fromArray(
    Int8Array.from({ length: 16 * 12 }, (_, at) => at - 96),
    [16, 12],
    'int8',
  );
  const c = matrix(8, 12, () => 0);
  const kernel = product(a, b, c);
  const launch = device.recorder.prepare({ ...kernel, right: cast('float', kernel.right) })!;
  const list = device.recorder.record([{ launch, places: [0, 1, 2] }], 3, []);
  const [left, weights] = [a.storageArray() as Float32Array, b.storageArray() as Int8Array];
  const expected = Array.from({ length: 96 }, (_, at) => {
    const row = left.subarray(16 * Math.floor(at / 12), 16 * Math.floor(at / 12) + 16);
    return 2 * row.reduce((sum, value, k) => sum + value * weights[12 * k + (at % 12)], 0);
  });
  for (let run = 0; run < 3; run++) {
    replay(device, device.recorder, list, [a, b, c]);
    expect(await read(c)).toEqual(expected);
  }
  expect(device.keptBytes).toBe(4 * (8 * 16 + 12 * 16));
  device.recorder.forget(list);
});

/** A list in which `first` and `last` are products of small matrices, with one between them that takes longer than a turn. */
function longList(device: WasmDevice) {
  const size = 1536;
  const [small, first, last] = [5, 0, 0].map((value) => matrix(16, 16, () => value));
  const large = matrix(size, size, () => 1);
  const launches = [
    product(small, small, first),
    product(
      large,
      large,
      matrix(size, size, () => 0),
    ),
  ].map((kernel) => device.recorder.prepare(kernel)!);
  const list = device.recorder.record(
    [
      { launch: launches[0], places: [1, 2] },
      { launch: launches[1], places: [0, 4] },
      { launch: launches[0], places: [1, 3] },
    ],
    4,
    [4 * size * size],
  );
  const run = (): void => {
    for (const { storage, dtype } of [first, last]) storage.deviceBufferForWriting(device, dtype);
    const buffers = [large, small, first, last].map((tensor) => bufferOf(tensor, device));
    device.recorder.replay(list, buffers, []);
  };
  return { first, last, run };
}

test('work that has not come to a store is taken back, and what it was to write is what it was', async () => {
  const device = new WasmDevice();
  const { last, run } = longList(device);
  const takeBack = device.revocable();
  run();
  expect(device.room()).not.toBeNull();
  expect(takeBack([bufferOf(last, device)])).toBe(true);
  await device.flush();
  expect(await read(last)).toEqual(Array<number>(256).fill(0));
  run();
  expect(await read(last)).toEqual(Array<number>(256).fill(2 * 16 * 25));
});

test('work that has stored something is done to its end', async () => {
  const device = new WasmDevice();
  const { first, last, run } = longList(device);
  const takeBack = device.revocable();
  run();
  expect(takeBack([first, last].map((tensor) => bufferOf(tensor, device)))).toBe(false);
  // What was stored before does not count.
  const takeLaterBack = device.revocable();
  expect(takeLaterBack([bufferOf(first, device)])).toBe(true);
  run();
  expect(await read(last)).toEqual(Array<number>(256).fill(2 * 16 * 25));
  const done = device.revocable();
  expect(done([first, last].map((tensor) => bufferOf(tensor, device)))).toBe(true);
});

test('memory that is given back is used again', () => {
  const device = new WasmDevice();
  const first = device.allocate(1000) as WasmBuffer;
  device.release(first);
  device.release(first);
  expect(device.counters.liveBytes).toBe(0);
  expect((device.allocate(1000) as WasmBuffer).address).toBe(first.address);
});

test('a kernel of the same structure is compiled once', async () => {
  const device = new WasmDevice();
  const twice = (x: Tensor, y: Tensor): Kernel => {
    const i = axis('i', param('i32', x.numel));
    const [from, to] = [new TensorView(x), new TensorView(y)];
    const value = binary('add', from.at([i]), from.at([i]));
    return {
      kind: 'nest',
      label: 'twice',
      axes: [i],
      innerAxes: [],
      stores: [{ operand: to.operand, offset: to.offsetAt([i]), value }],
    };
  };
  const outputs = [floats(0, 0, 0, 0, 0), floats(0, 0, 0)];
  device.launch(twice(floats(1, 2, 3, 4, 5), outputs[0]));
  device.launch(twice(floats(6, 7, 8), outputs[1]));
  expect(await read(outputs[0])).toEqual([2, 4, 6, 8, 10]);
  expect(await read(outputs[1])).toEqual([12, 14, 16]);
  expect(device.counters).toMatchObject({ shaders: 1, dispatches: 2, prepared: 2 });
});

test('what a store needs is read before another one writes there', async () => {
  const device = new WasmDevice();
  const [x, y] = [floats(1, 2, 3, 4, 5), floats(0, 0, 0, 0, 0)];
  const i = axis('i', param('i32', 5));
  const [from, to] = [new TensorView(x), new TensorView(y)];
  const [own, other] = [from.at([i]), from.at([i])];
  device.launch({
    kind: 'nest',
    label: 'both',
    axes: [i],
    innerAxes: [],
    stores: [
      {
        operand: from.operand,
        offset: from.offsetAt([i]),
        value: binary('add', param('float', 10), param('float', 1)),
      },
      { operand: to.operand, offset: to.offsetAt([i]), value: binary('add', own, other) },
    ],
  });
  expect(await read(y)).toEqual([2, 4, 6, 8, 10]);
  expect(await read(x)).toEqual([11, 11, 11, 11, 11]);
});

test('rows that 64-bit integers choose are packed one by one, and multiplied like others', async () => {
  const device = new WasmDevice();
  const chosen = [3, 0, 5, 5, 1, 2];
  const rows = Tensor.fromArray(BigInt64Array.from(chosen, BigInt), [6], 'int64');
  const table = matrix(7, 8, (row, column) => row * column - 3);
  const b = matrix(8, 5, (row, column) => row - 2 * column);
  const c = matrix(6, 5, () => 0);
  const whole = product(
    matrix(6, 8, () => 0),
    b,
    c,
  ) as Contraction;
  const row = cast('i32', new TensorView(rows).at([whole.m]));
  const kernel = { ...whole, left: new TensorView(table).at([row, whole.k]) };
  expect(device.prepare(kernel).kind).toBe('contraction');
  device.launch(kernel);
  const expected = chosen.flatMap((own) =>
    [0, 1, 2, 3, 4].map(
      (column) => 2 * Array.from({ length: 8 }, (_, k) => (own * k - 3) * (k - 2 * column)).reduce((x, y) => x + y),
    ),
  );
  expect(await read(c)).toEqual(expected);
});

test('there is no device under a policy that forbids to compile WebAssembly', async () => {
  vi.spyOn(WebAssembly, 'Module').mockImplementation(() => {
    throw new WebAssembly.CompileError('blocked by Content Security Policy');
  });
  expect(await openWasmDevice()).toBeNull();
});

test('what a point stores under a condition is made of what was there before it stored anything', async () => {
  const device = new WasmDevice();
  const [p, q] = [floats(1, 2, 3, 4, 5), floats(0, 0, 0, 0, 0)];
  const [from, to] = [new TensorView(p), new TensorView(q)];
  const [point] = from.axes();
  device.launch({
    kind: 'nest',
    label: 'fill',
    axes: [point],
    innerAxes: [],
    stores: [
      { operand: from.operand, offset: from.offsetAt([point]), value: constant('float', 10) },
      {
        operand: to.operand,
        offset: to.offsetAt([point]),
        value: binary('mul', from.at([point]), constant('float', 2)),
        guard: binary('lt', point, param('i32', 3)),
      },
    ],
  });
  expect(await read(p)).toEqual([10, 10, 10, 10, 10]);
  expect(await read(q)).toEqual([2, 4, 6, 0, 0]);
});
