import { numberToBfloat, numberToHalf, Tensor, type ScalarType } from '@cresset/tensor';
import {
  binary,
  binaryFunctions,
  cast,
  exprTypeOf,
  floatBinary,
  floatUnary,
  integerBinary,
  integerUnary,
  nextafterSingle,
  TensorView,
  unary,
  unaryFunctions,
  type BinaryFunction,
  type Expr,
  type UnaryFunction,
} from '@cresset/tensorexpr';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requestWebGpuDevice } from '../request-device.ts';
import type { WebGpuDevice } from '../webgpu-device.ts';

let device: WebGpuDevice;
beforeAll(async () => {
  device = await requestWebGpuDevice();
});
afterAll(() => device.dispose());

/** `value` of the elements of `inputs`, computed on the device and stored as `dtype`. */
async function elementwise(inputs: readonly Tensor[], dtype: ScalarType, value: (...elements: Expr[]) => Expr) {
  const output = Tensor.empty(inputs[0].sizes, dtype);
  const target = new TensorView(output);
  const [i] = target.axes();
  device.launch({
    kind: 'nest',
    label: 'test',
    axes: [i],
    innerAxes: [],
    stores: [
      {
        operand: target.operand,
        offset: target.offsetAt([i]),
        value: cast(exprTypeOf(dtype), value(...inputs.map((input) => new TensorView(input).at([i])))),
      },
    ],
  });
  await output.storage.toHost();
  return output.contiguousArray();
}

const floats = (values: readonly number[]) => Tensor.fromArray(Float32Array.from(values), [values.length], 'float32');
const longs = (values: readonly bigint[]) => Tensor.fromArray(BigInt64Array.from(values), [values.length], 'int64');

/** Distance in units of what float32 can tell apart at the expected value; flushed subnormals count as exact. */
function distance(actual: number, expected: number): number {
  const rounded = Math.fround(expected);
  if (Number.isNaN(rounded)) return Number.isNaN(actual) ? 0 : Infinity;
  if (actual === rounded) return 0;
  if (!Number.isFinite(rounded) || !Number.isFinite(actual)) return Infinity;
  if (Math.abs(rounded) < 2 ** -126 && Math.abs(actual) <= 2 ** -126) return 0;
  const unit = 2 ** (Math.floor(Math.log2(Math.max(Math.abs(rounded), 2 ** -126))) - 23);
  return Math.abs(actual - expected) / unit;
}

const edges = [
  0, -0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, 2, -2, 3, 10, -10, 100, -100, 1e-3, -1e-3, 1e-7, -1e-7, 1e-20, 1e-37, 1e10, -1e10, 1e30,
  3.4e38, -3.4e38, Infinity, -Infinity, NaN, 0.9999999, 1.0000001, -0.9999999, 88, 89, -88, -104, 127.5, 128, -149, Math.PI, 1e5, 8388607.5,
]; // prettier-ignore
let seed = 7;
function random(): number {
  seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
  return (seed >>> 0) / 2 ** 32;
}
const spread = Array.from({ length: 2000 }, () => (random() < 0.5 ? -1 : 1) * 10 ** (random() * 8 - 5));
const near = Array.from({ length: 1500 }, () => random() * 8 - 4);
const samples = [...edges, ...spread, ...near].map(Math.fround);

interface Accuracy {
  /** Units in the last place. */
  readonly ulp: number;
  /** Or this, where a result is a small difference of large terms. */
  readonly absolute?: number;
}
const exact: Accuracy = { ulp: 0 };
const accuracies: Partial<Record<string, Accuracy>> = {
  rsqrt: { ulp: 2 }, exp: { ulp: 2 }, exp2: { ulp: 3 }, expm1: { ulp: 3 }, log: { ulp: 4 }, log2: { ulp: 4 }, log10: { ulp: 4 }, log1p: { ulp: 4 },
  sin: { ulp: 2, absolute: 1e-8 }, cos: { ulp: 2, absolute: 1e-8 }, tan: { ulp: 4 }, asin: { ulp: 3 }, acos: { ulp: 2 }, atan: { ulp: 3 },
  sinh: { ulp: 5 }, cosh: { ulp: 5 }, tanh: { ulp: 4 }, asinh: { ulp: 4 }, acosh: { ulp: 4 }, atanh: { ulp: 4 },
  erf: { ulp: 5 }, erfc: { ulp: 16 }, erfinv: { ulp: 4 }, lgamma: { ulp: 8, absolute: 3e-6 }, digamma: { ulp: 8, absolute: 1.5e-6 },
  pow: { ulp: 400 }, atan2: { ulp: 4 }, hypot: { ulp: 3 }, div: { ulp: 2.5 },
}; // prettier-ignore

/** What is further away from the reference than the function may be, in words. */
function deviations(
  fn: string,
  at: (index: number) => string,
  actual: ArrayLike<number>,
  expected: readonly number[],
): string[] {
  const { ulp, absolute = 0 } = accuracies[fn] ?? exact;
  const wrong: string[] = [];
  expected.forEach((value, index) => {
    if (Math.abs(actual[index] - value) <= absolute) return;
    const error = distance(actual[index], value);
    if (!(error <= ulp + 0.5))
      wrong.push(`${fn}(${at(index)}) = ${actual[index]}, not ${Math.fround(value)}: ${error.toFixed(1)} ulp`);
  });
  return wrong;
}

describe('functions of one float', () => {
  test.each(unaryFunctions.filter((fn) => fn !== 'not'))('%s', async (fn) => {
    const actual = (await elementwise([floats(samples)], 'float32', (x) => unary(fn, x))) as Float32Array;
    const expected = samples.map((x) => floatUnary[fn](x));
    expect(deviations(fn, (index) => String(samples[index]), actual, expected).slice(0, 8)).toEqual([]);
  });
});

describe('functions of two floats', () => {
  const pairs = [
    ...edges.flatMap((x) => edges.map((y) => [x, y] as const)),
    ...spread.map((x, index) => [x, near[index % near.length]] as const),
    ...spread.map((x, index) => [x, Math.round(near[index % near.length])] as const),
  ].map(([x, y]) => [Math.fround(x), Math.fround(y)] as const);
  const left = pairs.map(([x]) => x);
  const right = pairs.map(([, y]) => y);
  // Where rounding to float32 on the way is part of the meaning.
  const singlePrecision: Partial<typeof floatBinary> = {
    nextafter: nextafterSingle,
    truncdiv: (x, y) => Math.trunc(Math.fround(x / y)),
  };
  const bitwise = new Set<BinaryFunction>(['and', 'or', 'xor', 'shl', 'shr']);

  test.each(binaryFunctions.filter((fn) => !bitwise.has(fn) && fn !== 'philox'))('%s', async (fn) => {
    const actual = (await elementwise([floats(left), floats(right)], 'float32', (x, y) =>
      binary(fn, x, y),
    )) as Float32Array;
    const reference = singlePrecision[fn] ?? floatBinary[fn];
    const expected = pairs.map(([x, y]) => reference(x, y));
    const usable = (index: number): boolean => {
      const [x, y] = pairs[index];
      // Subnormal operands may be taken as zero.
      if ((x !== 0 && Math.abs(x) < 2 ** -126) || (y !== 0 && Math.abs(y) < 2 ** -126)) return false;
      // From here on the quotient's last place is worth more than 1.
      return fn !== 'floordiv' || !(Math.abs(x / y) >= 2 ** 22);
    };
    const kept = pairs.map((_, index) => index).filter(usable);
    const wrong = deviations(
      fn,
      (index) => pairs[kept[index]].join(', '),
      kept.map((index) => actual[index]),
      kept.map((index) => expected[index]),
    );
    expect(wrong.slice(0, 8)).toEqual([]);
  });
});

describe('64-bit integers', () => {
  const special = [0n, 1n, -1n, 2n, -2n, 3n, 7n, -7n, 63n, 64n, 255n, 1n << 31n, -(1n << 31n), 1n << 32n, (1n << 32n) - 1n, (1n << 63n) - 1n, -(1n << 63n), 10n ** 18n]; // prettier-ignore
  const word = () => BigInt(Math.floor(random() * 2 ** 32));
  const wide = () => BigInt.asIntN(64, (word() << 32n) | word()) >> BigInt(Math.floor(random() * 62));
  const pairs = [
    ...special.flatMap((x) => special.map((y) => [x, y] as const)),
    ...Array.from({ length: 3000 }, () => [wide(), wide()] as const),
    ...Array.from({ length: 500 }, () => [wide(), BigInt(Math.floor(random() * 70))] as const),
  ];
  const left = longs(pairs.map(([x]) => x));
  const right = longs(pairs.map(([, y]) => y));

  test.each(Object.keys(integerBinary) as BinaryFunction[])('%s', async (fn) => {
    const actual = (await elementwise([left, right], 'int64', (x, y) => binary(fn, x, y))) as BigInt64Array;
    const wrong: string[] = [];
    pairs.forEach(([x, y], index) => {
      const divides = fn === 'truncdiv' || fn === 'floordiv' || fn === 'fmod' || fn === 'remainder';
      const expected = divides && y === 0n ? 0n : BigInt.asIntN(64, integerBinary[fn]!(x, y));
      if (actual[index] !== expected) wrong.push(`${fn}(${x}, ${y}) = ${actual[index]}, not ${expected}`);
    });
    expect(wrong.slice(0, 5)).toEqual([]);
  });

  test.each(Object.keys(integerUnary) as UnaryFunction[])('%s', async (fn) => {
    const actual = (await elementwise([left], 'int64', (x) => unary(fn, x))) as BigInt64Array;
    expect([...actual]).toEqual(pairs.map(([x]) => BigInt.asIntN(64, integerUnary[fn]!(x))));
  });

  test('to float, correctly rounded, and back', async () => {
    const rounded = (await elementwise([left], 'float32', (x) => cast('float', x))) as Float32Array;
    expect([...rounded]).toEqual(pairs.map(([x]) => Math.fround(Number(x))));
    const back = (await elementwise([floats([...rounded])], 'int64', (x) => cast('i64', x))) as BigInt64Array;
    const smallest = -(1n << 63n);
    expect([...back]).toEqual([...rounded].map((x) => (Math.abs(x) < 2 ** 63 ? BigInt(x) : smallest)));
    const odd = (await elementwise([floats([NaN, Infinity, -Infinity, -0.9, 1e30])], 'int64', (x) =>
      cast('i64', x),
    )) as BigInt64Array;
    expect([...odd]).toEqual([smallest, smallest, smallest, 0n, smallest]);
  });

  test('to 32 bits and to bool', async () => {
    const narrow = (await elementwise([left], 'int32', (x) => x)) as Int32Array;
    expect([...narrow]).toEqual(pairs.map(([x]) => Number(BigInt.asIntN(32, x))));
    const truth = (await elementwise([left], 'bool', (x) => x)) as Uint8Array;
    expect([...truth]).toEqual(pairs.map(([x]) => (x === 0n ? 0 : 1)));
  });
});

describe('32-bit integers', () => {
  const special = [0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 255, 65536, 2147483647, -2147483648];
  const value = () => Math.floor((random() * 2 - 1) * 2 ** (1 + random() * 30));
  const pairs = [
    ...special.flatMap((x) => special.map((y) => [x, y] as const)),
    ...Array.from({ length: 1000 }, () => [value(), value()] as const),
  ];
  const ints = (values: number[]) => Tensor.fromArray(Int32Array.from(values), [values.length], 'int32');
  const left = ints(pairs.map(([x]) => x));
  const right = ints(pairs.map(([, y]) => y));

  test.each(Object.keys(integerBinary) as BinaryFunction[])('%s', async (fn) => {
    const actual = (await elementwise([left, right], 'int32', (x, y) => cast('i32', binary(fn, x, y)))) as Int32Array;
    const wrong: string[] = [];
    pairs.forEach(([x, y], index) => {
      const divides = fn === 'truncdiv' || fn === 'floordiv' || fn === 'fmod' || fn === 'remainder';
      if (divides && (y === 0 || (x === -2147483648 && y === -1))) return;
      const shifts = fn === 'shl' || fn === 'shr';
      const count = shifts && (y < 0 || y > 31) ? 64 : y;
      const expected = Number(BigInt.asIntN(32, integerBinary[fn]!(BigInt(x), BigInt(count))));
      if (actual[index] !== expected) wrong.push(`${fn}(${x}, ${y}) = ${actual[index]}, not ${expected}`);
    });
    expect(wrong.slice(0, 5)).toEqual([]);
  });
});

describe('stores', () => {
  const values = [
    0,
    1,
    -1,
    127,
    128,
    255,
    256,
    -129,
    32768,
    65535,
    70000,
    0.5,
    1e-8,
    65519,
    65520,
    1e6,
    5.96e-8,
    2.98e-8,
    0.1,
    NaN,
    -Infinity,
  ];

  test.each(['uint8', 'int8', 'int16', 'int32'] as const)('%s wraps', async (dtype) => {
    const whole = values.filter((x) => Number.isInteger(x));
    const actual = await elementwise([floats(whole)], dtype, (x) => cast('i32', x));
    const expected = Tensor.empty([whole.length], dtype).contiguousArray() as Int32Array;
    whole.forEach((x, index) => (expected[index] = x));
    expect([...(actual as Int32Array)]).toEqual([...expected]);
  });

  test.each(['float16', 'bfloat16'] as const)('%s rounds to even', async (dtype) => {
    const actual = await elementwise([floats(values)], dtype, (x) => x);
    const round = dtype === 'float16' ? numberToHalf : numberToBfloat;
    expect([...(actual as Uint16Array)]).toEqual(values.map((x) => round(x)));
  });

  test('float64 keeps the precision of float32', async () => {
    const doubles = Tensor.fromArray(Float64Array.from([0.1, 1e300, -2]), [3], 'float64');
    expect([...((await elementwise([doubles], 'float64', (x) => x)) as Float64Array)]).toEqual([
      Math.fround(0.1),
      Infinity,
      -2,
    ]);
  });
});
