import { Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  normalise,
  param,
  reduce,
  signatureOf,
  TensorView,
  type LoopNest,
  type NormalKernel,
} from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { WasmDevice } from '../device/wasm-device.ts';
import { hasRelaxedSimd } from '../engine-features.ts';
import { moduleText } from '../text/module-text.ts';
import { kernelModule } from './kernel-module.ts';

const [ROWS, COLUMNS] = [7, 83];
const numbers = (seed: number): Float32Array<ArrayBuffer> =>
  Float32Array.from({ length: ROWS * COLUMNS }, (_, at) => Math.sin(at * 1.7 + seed));
const [left, right] = [1, 2].map((seed) => Tensor.fromArray(numbers(seed), [ROWS, COLUMNS], 'float32'));

function rowProducts(to: Tensor): LoopNest {
  const [x, y, out] = [left, right, to].map((tensor) => new TensorView(tensor));
  const [i, k] = [axis('i', param('i32', ROWS)), axis('k', param('i32', COLUMNS))];
  const value = reduce('sum', [k], binary('mul', x.at([i, k]), y.at([i, k])));
  const stores = [{ operand: out.operand, offset: out.offsetAt([i]), value }];
  return { kind: 'nest', label: 'products', axes: [i], innerAxes: [], stores };
}

/** How often a kernel has an instruction of four lanes. */
function countOf(opcode: readonly number[], isRelaxed: boolean): number {
  const normal = normalise(rowProducts(Tensor.empty([ROWS], 'float32'))) as NormalKernel;
  const bytes = kernelModule(normal, signatureOf(normal), null, null, false, isRelaxed).bytes();
  const isThere = (at: number): boolean => [0xfd, ...opcode].every((byte, next) => bytes[at + next] === byte);
  return [...bytes.keys()].filter(isThere).length;
}

test('a sum of products takes one instruction for both where the engine has it', () => {
  const [multiply, multiplyAdd] = [
    [0xe6, 1],
    [0x85, 2],
  ];
  expect(countOf(multiplyAdd, false)).toBe(0);
  expect(countOf(multiply, true)).toBe(0);
  expect(countOf(multiplyAdd, true)).toBe(countOf(multiply, false));
  expect(countOf(multiplyAdd, true)).toBeGreaterThan(0);
});

test.each([false, ...(hasRelaxedSimd() ? [true] : [])])('sums of products, relaxed: %s', async (isRelaxed) => {
  const to = Tensor.empty([ROWS], 'float32');
  new WasmDevice(null, isRelaxed).launch(rowProducts(to));
  await to.storage.toHost();
  const results = Array.from(to.contiguousArray() as Float32Array);
  const [x, y] = [numbers(1), numbers(2)];
  results.forEach((result, row) => {
    let sum = 0;
    for (let at = row * COLUMNS; at < (row + 1) * COLUMNS; at++) sum += x[at] * y[at];
    expect(result).toBeCloseTo(sum, 4);
  });
});

test.each([
  ['int8', Int8Array],
  ['uint8', Uint8Array],
  ['int16', Int16Array],
  ['int32', Int32Array],
  ['float64', Float64Array],
] as const)('sums of %s, several fours of a row at once', async (dtype, Elements) => {
  const elements = new Elements(Array.from({ length: ROWS * COLUMNS }, (_, at) => (at * 37) % 101));
  const from = new TensorView(Tensor.fromArray(elements, [ROWS, COLUMNS], dtype));
  const to = Tensor.empty([ROWS], 'float32');
  const out = new TensorView(to);
  const [i, k] = [axis('i', param('i32', ROWS)), axis('k', param('i32', COLUMNS))];
  const value = reduce('sum', [k], cast('float', from.at([i, k])));
  const stores = [{ operand: out.operand, offset: out.offsetAt([i]), value }];
  new WasmDevice().launch({ kind: 'nest', label: 'sums', axes: [i], innerAxes: [], stores });
  await to.storage.toHost();
  const sumOf = (row: number): number =>
    Array.from(elements.subarray(row * COLUMNS, (row + 1) * COLUMNS)).reduce((sum, each) => sum + each, 0);
  expect(Array.from(to.contiguousArray() as Float32Array)).toEqual(
    Array.from({ length: ROWS }, (_, row) => sumOf(row)),
  );
});

/** A matrix times a vector, in elements of `dtype`. */
function matrixTimesVector(dtype: 'float32' | 'float64', rows: number, length: number, to: Tensor): LoopNest {
  const elements = (count: number, seed: number): Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer> => {
    const doubles = Float64Array.from({ length: count }, (_, at) => Math.sin(at * 1.7 + seed));
    return dtype === 'float64' ? doubles : Float32Array.from(doubles);
  };
  const w = new TensorView(Tensor.fromArray(elements(rows * length, 1), [rows, length], dtype));
  const x = new TensorView(Tensor.fromArray(elements(length, 2), [length], dtype));
  const out = new TensorView(to);
  const [i, k] = [axis('i', param('i32', rows)), axis('k', param('i32', length))];
  const value = reduce('sum', [k], binary('mul', w.at([i, k]), x.at([k])));
  const stores = [{ operand: out.operand, offset: out.offsetAt([i]), value }];
  return { kind: 'nest', label: 'matrix times vector', axes: [i], innerAxes: [], stores };
}

test.each([
  ['float32', 7, 83],
  ['float32', 9, 3000],
  ['float64', 7, 83],
  ['float64', 5, 3001],
] as const)('a matrix of %s, %d × %d, times a vector', async (dtype, rows, length) => {
  const to = Tensor.empty([rows], dtype);
  new WasmDevice().launch(matrixTimesVector(dtype, rows, length, to));
  await to.storage.toHost();
  Array.from(to.contiguousArray() as Float32Array).forEach((result, row) => {
    let sum = 0;
    for (let at = 0; at < length; at++) sum += Math.sin((row * length + at) * 1.7 + 1) * Math.sin(at * 1.7 + 2);
    expect(result).toBeCloseTo(sum, dtype === 'float32' ? 3 : 9);
  });
});

/** The most products of four lanes in a loop, and vectors that are loaded there. */
function innermost(nest: LoopNest): { readonly products: number; readonly loads: number } {
  const normal = normalise(nest) as NormalKernel;
  const text = moduleText(kernelModule(normal, signatureOf(normal), null, null, false, false).bytes());
  const count = (part: string, instruction: string): number => part.split(`${instruction}\n`).length - 1;
  const loops = text.split('loop\n').map((part) => {
    const loads = part.match(/v128\.load (?:offset=\d+ )?align=1\n/g)?.length ?? 0;
    return { products: count(part, 'f32x4.mul'), loads };
  });
  return loops.reduce((most, each) => (each.products > most.products ? each : most));
}

test('four rows that lie in a cache are multiplied at once, and the vector is loaded once for them', () => {
  const of = (rows: number): LoopNest => matrixTimesVector('float32', rows, 64, Tensor.empty([rows], 'float32'));
  expect(innermost(of(16))).toEqual({ products: 8, loads: 10 });
  expect(innermost(of(1 << 15))).toEqual({ products: 4, loads: 8 });
});
