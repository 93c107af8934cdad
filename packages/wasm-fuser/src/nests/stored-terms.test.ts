import { Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  constant,
  normalise,
  param,
  reduce,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
  type LoopNest,
} from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { WasmDevice } from '../device/wasm-device.ts';
import { storedTerms } from './stored-terms.ts';

const ROWS = 5;
const device = new WasmDevice();

/** Rows of powers over their sum, times what `factor` gives for an element. */
function powers(
  from: Tensor,
  to: Tensor,
  factor: (i: Expr, j: Expr, power: Expr) => Expr = () => constant('float', 1),
): LoopNest {
  const [view, out] = [new TensorView(from), new TensorView(to)];
  const [i, j] = [axis('i', param('i32', ROWS)), axis('j', param('i32', from.sizes[1]))];
  const [r, s] = ['r', 's'].map((name) => axis(name, j.extent));
  const most = reduce('max', [r], view.at([i, r]));
  const power = (at: AxisExpr): Expr => unary('exp', binary('sub', view.at([i, at]), most));
  const value = binary('mul', binary('div', power(j), reduce('sum', [s], power(s))), factor(i, j, power(j)));
  const stores = [{ operand: out.operand, offset: out.offsetAt([i, j]), value }];
  return { kind: 'nest', label: 'powers', axes: [i], innerAxes: [j], stores };
}

const numbers = (columns: number): Float32Array =>
  Float32Array.from({ length: ROWS * columns }, (_, at) =>
    at === 3 && columns > 1 ? -Infinity : 4 * Math.sin(at * 1.7),
  );

function expected(values: Float32Array, columns: number): number[] {
  return Array.from({ length: ROWS }, (_, row) => {
    const own = Array.from(values.subarray(row * columns, (row + 1) * columns));
    const most = Math.max(...own);
    const sum = own.reduce((total, each) => total + Math.exp(each - most), 0);
    return own.map((each) => Math.exp(each - most) / sum);
  }).flat();
}

const isStored = (nest: LoopNest): boolean => storedTerms(normalise(nest) as LoopNest) !== null;

async function elementsOf(tensor: Tensor): Promise<number[]> {
  await tensor.storage.toHost();
  return Array.from(tensor.contiguousArray() as Float32Array);
}

test.each([1, 3, 9, 67, 1000])('powers in rows of %d are worked out once', async (columns) => {
  const values = numbers(columns);
  const from = Tensor.fromArray(values.slice(), [ROWS, columns], 'float32');
  const to = Tensor.empty([ROWS, columns], 'float32');
  const nest = powers(from, to);
  expect(isStored(nest)).toBe(columns > 1);
  device.launch(nest);
  const results = await elementsOf(to);
  expected(values, columns).forEach((value, at) => expect(results[at]).toBeCloseTo(value, 6));
});

test('powers of a row that all points share are not stored by its sum', async () => {
  const values = numbers(9);
  const row = values.slice(0, 9);
  const from = Tensor.fromArray(row.slice(), [1, 9], 'float32').asStrided([ROWS, 9], [0, 1], 0);
  const to = Tensor.empty([ROWS, 9], 'float32');
  const nest = powers(from, to);
  expect(isStored(nest)).toBe(false);
  device.launch(nest);
  const results = await elementsOf(to);
  const rows = Float32Array.from({ length: ROWS * 9 }, (_, at) => row[at % 9]);
  expected(rows, 9).forEach((value, at) => expect(results[at]).toBeCloseTo(value, 6));
});

test('powers are right down to the least number, and NaN where one is among them, whatever its bits are', async () => {
  const columns = 1100;
  const values = Float32Array.from({ length: ROWS * columns }, (_, at) => -(at % columns) / 10);
  new Int32Array(values.buffer)[2 * columns + 7] = -1;
  const [from, to] = [
    Tensor.fromArray(values.slice(), [ROWS, columns], 'float32'),
    Tensor.empty([ROWS, columns], 'float32'),
  ];
  device.launch(powers(from, to));
  const results = await elementsOf(to);
  const wanted = expected(values, columns);
  results.forEach((value, at) => {
    if (Number.isNaN(wanted[at])) expect(value).toBeNaN();
    else expect(Math.abs(value - wanted[at])).toBeLessThanOrEqual(Math.max(4e-7 * wanted[at], 2 ** -149));
  });
  expect(results.filter(Number.isNaN).length).toBe(columns);
  expect(results[950]).toBeGreaterThan(0);
  expect(results[950]).toBeLessThan(2 ** -126);
});

test('a power is any multiple of itself where nothing but its share of the sum is needed', async () => {
  const values = numbers(67);
  const from = Tensor.fromArray(values.slice(), [ROWS, 67], 'float32');
  const to = Tensor.empty([ROWS, 67], 'float32');
  const nest = powers(from, to, (_i, _j, power) => power);
  const mostOf = (each: LoopNest): unknown => storedTerms(normalise(each) as LoopNest)!.most;
  expect(mostOf(nest)).toBeNull();
  expect(mostOf(powers(from, to))).not.toBeNull();
  device.launch(nest);
  const results = await elementsOf(to);
  expected(values, 67).forEach((share, at) => {
    const row = values.subarray(67 * Math.floor(at / 67), 67 * Math.floor(at / 67) + 67);
    expect(results[at]).toBeCloseTo(share * Math.exp(values[at] - Math.max(...row)), 6);
  });
});

test('powers are stored over the elements that they are made of', async () => {
  const values = numbers(67);
  const from = Tensor.fromArray(values.slice(), [ROWS, 67], 'float32');
  const nest = powers(from, from);
  expect(isStored(nest)).toBe(true);
  device.launch(nest);
  const results = await elementsOf(from);
  expected(values, 67).forEach((value, at) => expect(results[at]).toBeCloseTo(value, 6));
});

test('what is read when the powers are stored already is not stored over', async () => {
  const values = numbers(67);
  const from = Tensor.fromArray(values.slice(), [ROWS, 67], 'float32');
  const view = new TensorView(from);
  const nest = powers(from, from, (i, j) => view.at([i, j]));
  expect(isStored(nest)).toBe(false);
  device.launch(nest);
  const results = await elementsOf(from);
  expected(values, 67).forEach((value, at) => {
    if (Number.isFinite(values[at])) expect(results[at]).toBeCloseTo(value * values[at], 5);
  });
});

test('kernels of one structure whose rows lie elsewhere in one of them are told apart', async () => {
  const [columns, wide] = [12, 20];
  const run = async (stride: number): Promise<void> => {
    const values = Float32Array.from({ length: ROWS * wide }, (_, at) => Math.sin(at * 1.7));
    const from = Tensor.fromArray(values.slice(), [ROWS * wide], 'float32');
    const [summed, stored] = [wide, stride].map((step) => new TensorView(from.asStrided([ROWS, columns], [step, 1])));
    const to = Tensor.empty([ROWS, columns], 'float32');
    const out = new TensorView(to);
    const [i, j] = [axis('i', param('i32', ROWS)), axis('j', param('i32', columns))];
    const s = axis('s', j.extent);
    const sum = reduce('sum', [s], unary('exp', summed.at([i, s])));
    const value = binary('div', unary('exp', stored.at([i, j])), sum);
    const stores = [{ operand: out.operand, offset: out.offsetAt([i, j]), value }];
    device.launch({ kind: 'nest', label: 'rows', axes: [i], innerAxes: [j], stores });
    const results = await elementsOf(to);
    for (let row = 0; row < ROWS; row++) {
      let total = 0;
      for (let at = 0; at < columns; at++) total += Math.exp(values[row * wide + at]);
      for (let at = 0; at < columns; at++)
        expect(results[row * columns + at]).toBeCloseTo(Math.exp(values[row * stride + at]) / total, 5);
    }
  };
  await run(wide);
  await run(wide - 3);
});
