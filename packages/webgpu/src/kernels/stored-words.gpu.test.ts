import {
  bfloatToNumber,
  elementSize,
  halfToNumber,
  isFloatingPoint,
  numberToBfloat,
  numberToHalf,
  Storage,
  Tensor,
} from '@cresset/tensor';
import { axis, binary, cast, constant, param, reduce, TensorView, type Kernel, type Store } from '@cresset/tensorexpr';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gpuSchedules, requestWithSchedules, type GpuSchedules } from '../../../../test-setup/gpu-schedules.ts';
import type { WebGpuDevice } from '../webgpu-device.ts';

const dtypes = ['bool', 'uint8', 'int8', 'int16', 'float16', 'bfloat16'] as const;
type Narrow = (typeof dtypes)[number];

/** Numbers that each dtype has. */
function value(dtype: Narrow, at: number): number {
  const turned = (at * 37) % 128;
  if (dtype === 'bool') return turned % 3 === 0 ? 1 : 0;
  if (dtype === 'uint8') return turned;
  return isFloatingPoint(dtype) ? (turned - 64) / 64 : turned - 64;
}

const fromBits: Partial<Record<Narrow, (bits: number) => number>> = { float16: halfToNumber, bfloat16: bfloatToNumber };
const toBits: Partial<Record<Narrow, (value: number) => number>> = { float16: numberToHalf, bfloat16: numberToBfloat };

const count = (sizes: readonly number[]): number => sizes.reduce((product, size) => product * size, 1);

describe.each(
  (Object.keys(gpuSchedules) as GpuSchedules[]).flatMap((schedules) => dtypes.map((dtype) => ({ schedules, dtype }))),
)('$dtype that kernels store, scheduled for $schedules', ({ schedules, dtype }) => {
  let device: WebGpuDevice;
  beforeAll(async () => {
    // Words of float16 that are no f16.
    device = await requestWithSchedules(schedules, { f16: false });
  });
  afterAll(() => device.dispose());

  /** A storage on the device whose elements are all `filler`. */
  function filled(length: number, filler: number): Storage {
    const storage = Storage.zeros(dtype, length);
    const array = storage.hostArrayForWriting(dtype) as Uint8Array;
    array.fill(toBits[dtype]?.(filler) ?? filler);
    storage.deviceBuffer(device, dtype);
    return storage;
  }

  const viewOf = (storage: Storage, sizes: readonly number[], strides: readonly number[], offset = 0): TensorView =>
    new TensorView(new Tensor(storage, dtype, sizes, strides, offset));

  async function elements(storage: Storage): Promise<number[]> {
    await storage.toHost();
    return Array.from(storage.hostArray(dtype) as Uint8Array, (bits) => fromBits[dtype]?.(bits) ?? bits);
  }

  /** Numbers in float32, of the sizes. */
  const numbers = (sizes: readonly number[]): TensorView =>
    new TensorView(
      Tensor.fromArray(
        Float32Array.from({ length: count(sizes) }, (_, at) => value(dtype, at)),
        sizes,
        'float32',
      ),
    );

  const nest = (to: TensorView, from: TensorView): Kernel => {
    const axes = to.axes();
    const stored = cast(dtype === 'bool' ? 'bool' : isFloatingPoint(dtype) ? 'float' : 'i32', from.at(axes));
    const store = { operand: to.operand, offset: to.offsetAt(axes), value: stored };
    return { kind: 'nest', label: 'store', axes, innerAxes: [], stores: [store] };
  };

  test.each([
    // Whole words, with and without a rest; beside what is not theirs; apart from each other.
    [[1], [1], 0, 0],
    [[7], [1], 0, 0],
    [[64], [1], 0, 5],
    [[63], [1], 0, 5],
    [[21], [1], 3, 2],
    [[8], [1], 4, 3],
    [[10007], [1], 0, 0],
    [[33, 9], [9, 1], 0, 0],
    [[12, 8], [11, 1], 1, 1],
    [[12, 8], [16, 1], 4, 0],
    [[5, 3], [1, 7], 3, 2],
    [[9, 1100], [1, 9], 0, 0],
  ] as const)('of %j with strides %j from %i on, %i after it', async (sizes, strides, offset, after) => {
    const last = sizes.reduce((sum: number, size, dim) => sum + (size - 1) * strides[dim]!, offset);
    const storage = filled(last + 1 + after, 1);
    const before = device.counters.liveBytes;
    Storage.onDevice(device, dtype, last + 1 + after);
    expect(device.counters.liveBytes - before).toBe(4 * Math.ceil(((last + 1 + after) * elementSize(dtype)) / 4));
    device.launch(nest(viewOf(storage, sizes, strides, offset), numbers(sizes)));
    const wanted = Array<number>(last + 1 + after).fill(1);
    for (let at = 0; at < count(sizes); at++) {
      const inner = sizes[1] ?? 1;
      const place =
        sizes.length === 1 ? at * strides[0] : Math.floor(at / inner) * strides[0] + (at % inner) * strides[1]!;
      wanted[offset + place] = value(dtype, at);
    }
    expect(await elements(storage)).toEqual(wanted);
  });

  test.each([
    [[40], [1], 0],
    [[41], [1], 1],
    [[6, 5], [7, 1], 0],
  ] as const)('over what is read at the same place: %j', async (sizes, strides, offset) => {
    const storage = filled(64, 1);
    const view = viewOf(storage, sizes, strides, offset);
    const axes = view.axes();
    const type = view.at(axes).type;
    const changed =
      type === 'bool'
        ? binary('eq', view.at(axes), constant('bool', false))
        : binary('add', view.at(axes), constant(type, 1));
    const kernel: Kernel = {
      kind: 'nest',
      label: 'in place',
      axes,
      innerAxes: [],
      stores: [{ operand: view.operand, offset: view.offsetAt(axes), value: changed }],
    };
    for (let turn = 0; turn < 3; turn++) device.launch(kernel);
    const inner = sizes[1] ?? sizes[0];
    const wanted = Array.from({ length: 64 }, (_, at) => {
      const from = at - offset;
      const isIn = from >= 0 && (sizes.length === 1 ? from < inner : from % 7 < inner && from < 42);
      return isIn ? (dtype === 'bool' ? 0 : 4) : 1;
    });
    expect(await elements(storage)).toEqual(wanted);
  });

  test('beside others of other widths, of rows that are reduced, and in inner loops', async () => {
    const sizes = [37, 129];
    const from = numbers(sizes);
    const [out, rows, sums] = [filled(count(sizes), 1), filled(37, 1), Tensor.empty(sizes, 'float32')];
    const [i, j] = from.axes();
    const r = axis('r', param('i32', 129));
    const most = reduce('max', [r], from.at([i, r]));
    const [to, ofRow, plain] = [viewOf(out, sizes, [129, 1]), viewOf(rows, [37], [1]), new TensorView(sums)];
    const stores: Store[] = [
      { operand: to.operand, offset: to.offsetAt([i, j]), value: binary('mul', from.at([i, j]), most) },
      { operand: plain.operand, offset: plain.offsetAt([i, j]), value: from.at([i, j]) },
      { operand: ofRow.operand, offset: ofRow.offsetAt([i]), value: most },
    ];
    const narrowed = stores.map((store) => ({
      ...store,
      value: cast(store === stores[1] ? 'float' : to.at([i, j]).type, store.value),
    }));
    device.launch({ kind: 'nest', label: 'rows', axes: [i], innerAxes: [j], stores: narrowed });
    const values = Array.from({ length: count(sizes) }, (_, at) => value(dtype, at));
    const greatest = Array.from({ length: 37 }, (_, row) => Math.max(...values.slice(row * 129, (row + 1) * 129)));
    const stored = (number: number): number => {
      if (dtype === 'bool') return number === 0 ? 0 : 1;
      if (dtype === 'uint8') return number & 0xff;
      if (dtype === 'int8') return (number << 24) >> 24;
      const bits = toBits[dtype];
      return bits ? fromBits[dtype]!(bits(Math.fround(number))) : number;
    };
    expect(await elements(rows)).toEqual(greatest.map(stored));
    expect(await elements(out)).toEqual(values.map((each, at) => stored(each * greatest[Math.floor(at / 129)])));
    await sums.storage.toHost();
    expect(Array.from(sums.contiguousArray() as Float32Array)).toEqual(values);
  });

  test('of launches that are one: parts of one storage, each its own', async () => {
    const storage = filled(300, 1);
    const parts = [
      [0, 128],
      [128, 35],
      [163, 40],
      [204, 90],
    ];
    const recorder = device.recorder!;
    const prepared = parts.map(([offset, length]) =>
      recorder.prepare(nest(viewOf(storage, [length], [1], offset), numbers([length])))!,
    );
    const joined = recorder.together(prepared)!;
    const places = joined.bindings.map((_, at) => at);
    const list = recorder.record([{ launch: joined, places }], joined.bindings.length, []);
    const buffers = joined.bindings.map(({ operand: { tensor, dtype: own }, stored }) =>
      stored ? tensor.storage.deviceBufferForWriting(device, own) : tensor.storage.deviceBuffer(device, own),
    );
    recorder.replay(list, buffers, []);
    const wanted = Array<number>(300).fill(1);
    for (const [offset, length] of parts) for (let at = 0; at < length; at++) wanted[offset + at] = value(dtype, at);
    expect(await elements(storage)).toEqual(wanted);
  });

  test('by several points that name one element: it has the value of one of them', async () => {
    const [places, points] = [6, 960];
    const storage = filled(places, 0);
    const to = viewOf(storage, [places], [1]);
    const point = axis('p', param('i32', points));
    const chosen = new TensorView(
      Tensor.fromArray(
        Int32Array.from({ length: points }, (_, at) => at % places),
        [points],
        'int32',
      ),
    );
    const from = numbers([points]);
    const stored = cast(to.at([point]).type, from.at([point]));
    const store = { operand: to.operand, offset: chosen.at([point]), value: stored };
    device.launch({ kind: 'nest', label: 'scatter', axes: [point], innerAxes: [], stores: [store] });
    (await elements(storage)).forEach((each, place) => {
      const own = Array.from({ length: points / places }, (_, at) => value(dtype, at * places + place));
      expect(own).toContain(each);
    });
  });

  test('step by step, each of what the one before it stored', async () => {
    if (dtype === 'bool') return;
    const [rows, columns, steps] = [5, 9, 6];
    const storage = filled(rows * columns * (steps + 1), 1);
    const view = viewOf(storage, [steps + 1, rows, columns], [rows * columns, columns, 1]);
    const [time, i, j] = [
      axis('t', param('i32', steps)),
      axis('i', param('i32', rows)),
      axis('j', param('i32', columns)),
    ];
    const next = binary('add', time, constant('i32', 1));
    const before = view.at([time, i, j]);
    const store = {
      operand: view.operand,
      offset: view.offsetAt([next, i, j]),
      value: binary('add', before, constant(before.type, 2)),
    };
    device.launch({ kind: 'recurrence', label: 'steps', axes: [i], innerAxes: [j], time, stores: [store] });
    const wanted = Array.from(
      { length: rows * columns * (steps + 1) },
      (_, at) => 1 + 2 * Math.floor(at / (rows * columns)),
    );
    expect(await elements(storage)).toEqual(wanted);
  });
});
