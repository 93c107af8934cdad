import { Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  constant,
  normalise,
  param,
  reduce,
  signatureOf,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
  type LoopNest,
  type ReduceFunction,
} from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { WasmDevice } from '../device/wasm-device.ts';
import { kernelModule } from './kernel-module.ts';

/** Columns for several fours at once, one four, and some left over. */
const [ROWS, COLUMNS] = [19, 39];
const device = new WasmDevice();
const elements = Float32Array.from({ length: ROWS * COLUMNS }, (_, at) => Math.sin(at * 2.3));
elements[3 * COLUMNS + 5] = NaN;
elements[7 * COLUMNS + 38] = NaN;
const x = Tensor.fromArray(elements, [ROWS, COLUMNS], 'float32');
const columnOf = (j: number): number[] => Array.from({ length: ROWS }, (_, row) => elements[row * COLUMNS + j]);
const columns = Array.from({ length: COLUMNS }, (_, j) => columnOf(j));

const view = new TensorView(x);
const indexOf = (): AxisExpr => axis('i', param('i32', ROWS));
const j = axis('j', param('i32', COLUMNS));
const reduced = (fn: ReduceFunction, body: (i: AxisExpr) => Expr): Expr => {
  const i = indexOf();
  return reduce(fn, [i], body(i));
};

async function computed(out: Tensor, value: Expr, innerAxes: readonly AxisExpr[] = []): Promise<number[]> {
  const to = new TensorView(out);
  const offset = to.offsetAt([...innerAxes, j]);
  device.launch({
    kind: 'nest',
    label: 'columns',
    axes: [j],
    innerAxes,
    stores: [{ operand: to.operand, offset, value }],
  });
  await out.storage.toHost();
  return Array.from(out.contiguousArray() as Float32Array, Number);
}

const first = (values: readonly number[], isBetter: (value: number, best: number) => boolean): number =>
  values.reduce(
    (best, value, at) =>
      isBetter(value, values[best]) || (Number.isNaN(value) && !Number.isNaN(values[best])) ? at : best,
    0,
  );

test('columns are reduced beside each other', async () => {
  const ofColumns = (fn: ReduceFunction): Promise<number[]> =>
    computed(
      Tensor.empty([COLUMNS], 'float32'),
      reduced(fn, (i) => view.at([i, j])),
    );
  expect(await ofColumns('max')).toEqual(columns.map((column) => Math.max(...column)));
  expect(await ofColumns('min')).toEqual(columns.map((column) => Math.min(...column)));
  const sums = await ofColumns('sum');
  columns.forEach((column, at) => {
    const sum = column.reduce((total, value) => total + value, 0);
    if (Number.isNaN(sum)) expect(sums[at]).toBeNaN();
    else expect(sums[at]).toBeCloseTo(sum, 5);
  });
});

test('positions of the first winners of columns, whole or as floats', async () => {
  const wanted = {
    argmax: columns.map((column) => first(column, (value, best) => value > best)),
    argmin: columns.map((column) => first(column, (value, best) => value < best)),
  };
  for (const fn of ['argmax', 'argmin'] as const) {
    const value = reduced(fn, (i) => view.at([i, j]));
    expect(await computed(Tensor.empty([COLUMNS], 'int64'), value)).toEqual(wanted[fn]);
    expect(await computed(Tensor.empty([COLUMNS], 'int32'), value)).toEqual(wanted[fn]);
    const half = binary('mul', { kind: 'cast', type: 'float', x: value }, constant('float', 0.5));
    expect(await computed(Tensor.empty([COLUMNS], 'float32'), half)).toEqual(wanted[fn].map((at) => at / 2));
    // What is worked out with whole positions is so one by one.
    const next = binary('add', value, constant('i64', 1n));
    expect(await computed(Tensor.empty([COLUMNS], 'int64'), next)).toEqual(wanted[fn].map((at) => at + 1));
  }
});

test('columns in which each element is divided by what it came to', async () => {
  const i = indexOf();
  const power = (at: AxisExpr): Expr => unary('exp', view.at([at, j]));
  const value = binary('div', power(i), reduced('sum', power));
  const results = await computed(Tensor.empty([ROWS, COLUMNS], 'float32'), value, [i]);
  columns.forEach((column, at) => {
    const sum = column.reduce((total, each) => total + Math.exp(each), 0);
    column.forEach((each, row) => {
      const result = results[row * COLUMNS + at];
      if (Number.isNaN(sum)) expect(result).toBeNaN();
      else expect(result).toBeCloseTo(Math.exp(each) / sum, 6);
    });
  });
});

test('the greater of a NaN, or of a zero with a sign, and a known number is the first', async () => {
  const from = Tensor.fromArray(Float32Array.of(NaN, -0, -1, 1, 7, -0, NaN), [7], 'float32');
  const to = Tensor.empty([7], 'float32');
  const k = axis('k', param('i32', 7));
  const [given, out] = [new TensorView(from), new TensorView(to)];
  const value = binary('min', binary('max', given.at([k]), constant('float', 0)), constant('float', 6));
  device.launch({
    kind: 'nest',
    label: 'relu6',
    axes: [k],
    innerAxes: [],
    stores: [{ operand: out.operand, offset: out.offsetAt([k]), value }],
  });
  await to.storage.toHost();
  expect(Array.from(to.contiguousArray() as Float32Array)).toEqual([NaN, -0, 0, 1, 6, -0, NaN]);
});

/** Loops in a module's code. */
function loopsIn(nest: LoopNest): number {
  const normal = normalise(nest);
  const bytes = kernelModule(normal, signatureOf(normal), null, null, false, false).bytes();
  return bytes.filter((byte, at) => byte === 0x03 && bytes[at + 1] === 0x40).length;
}

test.each([37, 3000])('sums of %d elements that meet the same row are made in one loop', async (length) => {
  const rows = 5;
  const weights = Float32Array.from({ length: 3 * rows * length }, (_, at) => Math.cos(at * 0.37));
  const row = Float32Array.from({ length }, (_, at) => Math.sin(at * 1.7));
  const w = new TensorView(Tensor.fromArray(weights, [3, rows, length], 'float32'));
  const v = new TensorView(Tensor.fromArray(row, [length], 'float32'));
  const out = Tensor.empty([rows], 'float32');
  const to = new TensorView(out);
  const [r, k] = [axis('r', param('i32', rows)), axis('k', param('i32', length))];
  const sumOf = (gate: number): Expr =>
    reduce('sum', [k], binary('mul', w.at([constant('i32', gate), r, k]), v.at([k])));
  const nestOf = (value: Expr): LoopNest => ({
    kind: 'nest',
    label: 'gates',
    axes: [r],
    innerAxes: [],
    stores: [{ operand: to.operand, offset: to.offsetAt([r]), value }],
  });
  const gates = nestOf(binary('sub', binary('mul', sumOf(0), sumOf(1)), sumOf(2)));
  device.launch(gates);
  await out.storage.toHost();
  const results = out.contiguousArray() as Float32Array;
  for (let at = 0; at < rows; at++) {
    const [x, y, z] = [0, 1, 2].map((gate) =>
      row.reduce((sum, value, j) => sum + value * weights[(gate * rows + at) * length + j], 0),
    );
    expect(results[at] / (x * y - z)).toBeCloseTo(1, 3);
  }
  expect(loopsIn(gates)).toBeLessThanOrEqual(loopsIn(nestOf(sumOf(0))));
});
