import { numelOf, Tensor, type ScalarType } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  exprTypeOf,
  floatBinary,
  floatUnary,
  param,
  reduce,
  select,
  TensorView,
  unary,
  unaryFunctions,
  type BinaryFunction,
  type Expr,
  type ReduceFunction,
} from '@cresset/tensorexpr';
import { describe, expect, it, test } from 'vitest';
import { hasRelaxedSimd } from '../../engine-features.ts';
import { threadedDevice } from '../../../../../test-setup/threaded-device.ts';
import { WasmDevice } from '../../device/wasm-device.ts';

const device = new WasmDevice();

/** Numbers of every size and sign, an odd count of them. */
const numbers = Float64Array.from([
  0,
  -0,
  1,
  -1,
  NaN,
  Infinity,
  -Infinity,
  0.5,
  -0.5,
  1.5,
  2,
  2.5,
  1e-320,
  -1e-320,
  1.7e308,
  709.7,
  -745,
  2 ** 31,
  ...Array.from({ length: 201 }, (_, at) => Math.sin(at) * 10 ** ((at % 40) - 20)),
]);

const doublesOf = (values: ArrayLike<number>, sizes = [values.length]): Tensor =>
  Tensor.fromArray(Float64Array.from(values), sizes, 'float64');

/** What a nest over the elements of a tensor stores. */
async function stored(
  sizes: readonly number[],
  dtype: ScalarType,
  value: (at: readonly Expr[]) => Expr,
  on: WasmDevice = device,
): Promise<number[]> {
  const out = Tensor.empty(sizes, dtype);
  const to = new TensorView(out);
  const axes = to.axes();
  const stores = [{ operand: to.operand, offset: to.offsetAt(axes), value: cast(exprTypeOf(dtype), value(axes)) }];
  on.launch({ kind: 'nest', label: 'doubles', axes, innerAxes: [], stores });
  await out.storage.toHost();
  return Array.from({ length: numelOf(sizes) }, (_, at) => Number(out.contiguousArray()[at]));
}

const x = new TensorView(doublesOf(numbers));
const y = new TensorView(doublesOf(numbers.toReversed()));

test.each(unaryFunctions.filter((name) => name !== 'not' && name !== 'exp'))(
  '%s is the reference’s, to the last bit',
  async (name) => {
    const isOfFloats = unary(name, x.at([param('i32', 0)])).type === 'float';
    const found = await stored([numbers.length], isOfFloats ? 'float64' : 'bool', (at) => unary(name, x.at(at)));
    expect(found).toEqual(Array.from(numbers, floatUnary[name]));
  },
);

test('exp is right to a unit in the last place', async () => {
  const angles = Float64Array.from([...numbers, ...Array.from({ length: 20001 }, (_, at) => (at - 10000) * 0.0745)]);
  const given = new TensorView(doublesOf(angles));
  const found = await stored([angles.length], 'float64', (at) => unary('exp', given.at(at)));
  const wrong = found.flatMap((value, at) => {
    const exact = Math.exp(angles[at]);
    if (Object.is(value, exact)) return [];
    const unit = 2 ** Math.max(Math.floor(Math.log2(exact)) - 52, -1074);
    return Math.abs(value - exact) <= unit ? [] : [[angles[at], value, exact]];
  });
  expect(wrong).toEqual([]);
});

const binaryNames: readonly BinaryFunction[] = [
  'add', 'sub', 'mul', 'div', 'truncdiv', 'floordiv', 'fmod', 'remainder', 'pow', 'atan2', 'hypot', 'copysign', 'nextafter',
  'max', 'min', 'fmax', 'fmin', 'eq', 'ne', 'lt', 'le', 'gt', 'ge',
]; // prettier-ignore
test.each(binaryNames)('%s of two is the reference’s, to the last bit', async (name) => {
  const isOfFloats = binary(name, x.at([param('i32', 0)]), y.at([param('i32', 0)])).type === 'float';
  const found = await stored([numbers.length], isOfFloats ? 'float64' : 'bool', (at) =>
    binary(name, x.at(at), y.at(at)),
  );
  expect(found).toEqual(Array.from(numbers, (value, at) => floatBinary[name](value, numbers.at(-1 - at)!)));
});

describe('elements of another dtype', () => {
  const values = Array.from({ length: 43 }, (_, at) => ((at * 37) % 101) - 50);
  const dtypes: readonly ScalarType[] = ['float32', 'float16', 'bfloat16', 'int32', 'int16', 'int8', 'int64', 'bool'];

  it.each(dtypes)('%s beside doubles, in a row or apart', async (dtype) => {
    const made = Tensor.empty([values.length], dtype);
    const given = new TensorView(made);
    const from = new TensorView(doublesOf(values.map((value) => value + 0.1)));
    const toDtype = (value: number): number => (dtype === 'bool' ? Number(value !== 0) : value);
    const axes = given.axes();
    const stores = [
      {
        operand: given.operand,
        offset: given.offsetAt(axes),
        value: cast(exprTypeOf(dtype), unary('round', from.at(axes))),
      },
    ];
    device.launch({ kind: 'nest', label: 'to', axes, innerAxes: [], stores });
    const tenth = (at: readonly Expr[]): Expr => binary('mul', cast('float', given.at(at)), param('float', 0.1));
    const beside = await stored([values.length], 'float64', (at) => binary('add', tenth(at), from.at(at)));
    expect(beside).toEqual(values.map((value) => toDtype(value) * 0.1 + (value + 0.1)));
    const last = param('i32', values.length - 1);
    const backwards = await stored([values.length], 'float64', ([at]) => {
      const place = [binary('sub', last, at)];
      return binary('add', tenth(place), from.at(place));
    });
    expect(backwards).toEqual(beside.toReversed());
    const chosen = await stored([values.length], 'float64', (at) =>
      select(cast('bool', given.at(at)), from.at(at), unary('neg', from.at(at))),
    );
    expect(chosen).toEqual(values.map((value) => (value !== 0 ? value + 0.1 : -(value + 0.1))));
  });
});

describe('reductions of doubles', () => {
  const [rows, columns] = [7, 1031];
  const elements = Float64Array.from({ length: rows * columns }, (_, at) => 1e9 * Math.sin(at) + 1e-7 * at);
  elements[2 * columns + 500] = NaN;
  const matrix = new TensorView(doublesOf(elements, [rows, columns]));
  const lines = {
    rows: Array.from({ length: rows }, (_, i) => Array.from(elements.subarray(i * columns, (i + 1) * columns))),
    columns: Array.from({ length: columns }, (_, j) =>
      Array.from({ length: rows }, (_, i) => elements[i * columns + j]),
    ),
  };
  const reduced = (fn: ReduceFunction, along: keyof typeof lines, dtype: ScalarType): Promise<number[]> =>
    stored([lines[along].length], dtype, ([own]) => {
      const other = axis('k', param('i32', lines[along][0].length));
      return reduce(fn, [other], matrix.at(along === 'rows' ? [own, other] : [other, own]));
    });

  it.each(['rows', 'columns'] as const)('of %s', async (along) => {
    expect(await reduced('max', along, 'float64')).toEqual(lines[along].map((line) => Math.max(...line)));
    expect(await reduced('min', along, 'float64')).toEqual(lines[along].map((line) => Math.min(...line)));
    const greatest = lines[along].map((line) => {
      const nan = line.findIndex(Number.isNaN);
      return nan >= 0 ? nan : line.indexOf(Math.max(...line));
    });
    expect(await reduced('argmax', along, 'int64')).toEqual(greatest);
    const sums = await reduced('sum', along, 'float64');
    lines[along].forEach((line, at) => {
      const sum = line.reduce((total, value) => total + value, 0);
      const size = line.reduce((total, value) => total + Math.abs(value), 0);
      if (Number.isNaN(sum)) expect(sums[at]).toBeNaN();
      else expect(Math.abs(sums[at] - sum)).toBeLessThan(1e-14 * size);
    });
  });
});

/** Whole numbers of which products and sums have more digits than float32 has, and no more than doubles have. */
const value = (at: number): number => ((at * 7919) % 20011) - 10005;

const devices = { 'one thread': () => new WasmDevice(null, false), threads: () => threadedDevice() };
describe.each([
  ...Object.entries(devices),
  ...(hasRelaxedSimd() ? ([['relaxed SIMD', () => new WasmDevice(null, true)]] as const) : []),
])('products of doubles, with %s', (_, open) => {
  it.each([
    [4, 5, 6],
    [5, 6, 4],
    [13, 7, 600],
    [64, 33, 17],
    [1, 40, 30],
    [30, 1, 40],
  ])('%i × %i over %i', async (m, n, k) => {
    const on = await open();
    const [left, right] = [
      doublesOf(
        Array.from({ length: m * k }, (_, at) => value(at)),
        [m, k],
      ),
      doublesOf(
        Array.from({ length: k * n }, (_, at) => value(at + 5)),
        [k, n],
      ),
    ].map((tensor) => new TensorView(tensor));
    const out = new TensorView(Tensor.empty([m, n], 'float64'));
    const [i, j] = out.axes();
    const l = axis('k', param('i32', k));
    on.launch({
      kind: 'contraction',
      label: 'mm',
      batch: [],
      m: i,
      n: j,
      k: l,
      left: left.at([i, l]),
      right: unary('neg', right.at([l, j])),
      stores: [
        {
          operand: out.operand,
          offset: out.offsetAt([i, j]),
          value: binary('add', { kind: 'accumulator', type: 'float' }, param('float', 0.5)),
        },
      ],
    });
    await out.tensor.storage.toHost();
    const wanted = Array.from({ length: m * n }, (_, at) => {
      let sum = 0;
      for (let step = 0; step < k; step++) sum -= value(Math.floor(at / n) * k + step) * value(step * n + (at % n) + 5);
      return sum + 0.5;
    });
    expect(Array.from(out.tensor.contiguousArray() as Float64Array)).toEqual(wanted);
    on.dispose();
  });
});
