import { Tensor } from '@cresset/tensor';
import { axis, param, reduce, TensorView } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { WasmDevice } from '../device/wasm-device.ts';

const device = new WasmDevice();

/** Positions of winners along rows, as the kernel finds them. */
async function positions(fn: 'argmax' | 'argmin', array: Float32Array | Int32Array, rows: number): Promise<number[]> {
  const dtype = array instanceof Float32Array ? 'float32' : 'int32';
  const view = new TensorView(Tensor.fromArray(array, [rows, array.length / rows], dtype));
  const out = Tensor.empty([rows], 'int64');
  const to = new TensorView(out);
  const row = axis('row', param('i32', rows));
  const at = axis('at', param('i32', array.length / rows));
  const value = reduce(fn, [at], view.at([row, at]));
  const stores = [{ operand: to.operand, offset: to.offsetAt([row]), value }];
  device.launch({ kind: 'nest', label: 'positions', axes: [row], innerAxes: [], stores });
  await out.storage.toHost();
  return Array.from(out.contiguousArray() as BigInt64Array, Number);
}

const first = (values: readonly number[], isBetter: (value: number, best: number) => boolean): number =>
  values.reduce(
    (best, value, at) =>
      isBetter(value, values[best]) || (Number.isNaN(value) && !Number.isNaN(values[best])) ? at : best,
    0,
  );

/** Rows for several fours at once, one four, and some left over; few values, so that winners have equals. */
test.each([8, 9, 12, 15, 24, 39])('the first winner of rows of %i is found', async (length) => {
  const rows = 40;
  for (const values of [
    Float32Array.from({ length: rows * length }, (_, at) => ((at * 7919) % 13) - 6),
    Float32Array.from(
      { length: rows * length },
      (_, at) => [NaN, -Infinity, Infinity, 0, -0][(at * 31 + (at >> 3)) % 5],
    ),
    Float32Array.from({ length: rows * length }, (_, at) => ((at * 101) % 37 === 0 ? NaN : -((at * 53) % 11))),
    new Float32Array(rows * length).fill(-Infinity),
    Int32Array.from({ length: rows * length }, (_, at) => ((at * 7919) % 17) - 20),
    new Int32Array(rows * length).fill(-(2 ** 31)),
  ]) {
    const lines = Array.from({ length: rows }, (_, row) =>
      Array.from(values.subarray(row * length, (row + 1) * length), Number),
    );
    expect(await positions('argmax', values, rows)).toEqual(lines.map((line) => first(line, (x, best) => x > best)));
    expect(await positions('argmin', values, rows)).toEqual(lines.map((line) => first(line, (x, best) => x < best)));
  }
});
