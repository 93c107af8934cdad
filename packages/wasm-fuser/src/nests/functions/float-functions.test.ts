import { Tensor } from '@cresset/tensor';
import { axis, floatUnary, param, TensorView, unary, type UnaryFunction } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { hasRelaxedSimd } from '../../engine-features.ts';
import { WasmDevice } from '../../device/wasm-device.ts';

const devices = [new WasmDevice(null, false), ...(hasRelaxedSimd() ? [new WasmDevice(null, true)] : [])];

/** Numbers of every size and sign, and those at which something happens. */
const numbers = Float32Array.from(
  (function* () {
    yield* [0, -0, 1, -1, NaN, Infinity, -Infinity, 0.5, -0.5, 2, 1e-45, -1e-45, 3.4e38, -3.4e38, 88.72, 88.73, -103.9];
    for (let bits = 0x00000100; bits < 0x7f800000; bits += 0x3fd1f) {
      const [size] = new Float32Array(Int32Array.of(bits).buffer);
      yield size;
      yield -size;
    }
    for (let at = -20000; at <= 20000; at++) yield at / 1000;
  })(),
);

async function computed(fn: UnaryFunction, device: WasmDevice): Promise<Float32Array> {
  const x = Tensor.fromArray(numbers, [numbers.length], 'float32');
  const y = Tensor.empty([numbers.length], 'float32');
  const i = axis('i', param('i32', numbers.length));
  const [from, to] = [new TensorView(x), new TensorView(y)];
  device.launch({
    kind: 'nest',
    label: fn,
    axes: [i],
    innerAxes: [],
    stores: [{ operand: to.operand, offset: to.offsetAt([i]), value: unary(fn, from.at([i])) }],
  });
  await y.storage.toHost();
  return y.contiguousArray() as Float32Array;
}

/** Units in the last place of a float between two values. */
function unitsBetween(actual: number, exact: number): number {
  if (Object.is(actual, exact) || (Number.isNaN(actual) && Number.isNaN(exact))) return 0;
  const rounded = Math.fround(exact);
  if (actual === rounded) return Object.is(actual, -0) === Object.is(rounded, -0) ? 0 : Infinity;
  if (!Number.isFinite(actual) || !Number.isFinite(rounded)) return Infinity;
  const unit = 2 ** Math.max(Math.floor(Math.log2(Math.abs(exact))) - 23, -149);
  return Math.abs(actual - exact) / unit;
}

test.each([
  ['neg', 0],
  ['abs', 0],
  ['sqrt', 0.5],
  ['rsqrt', 1.5],
  ['floor', 0],
  ['ceil', 0],
  ['round', 0],
  ['trunc', 0],
  ['half', 0],
  ['bfloat', 0],
  ['exp', 2],
  ['expm1', 2.5],
  ['log', 1.5],
  ['log2', 3],
  ['log10', 3],
  ['log1p', 3],
  ['tanh', 7],
  ['erf', 8],
  ['exp2', 0.6],
  ['lgamma', 0.6],
] as const)('%s is right to %d units in the last place', async (fn, most) => {
  for (const device of devices) {
    const results = await computed(fn, device);
    let worst = 0;
    let at = 0;
    results.forEach((result, index) => {
      const units = unitsBetween(result, floatUnary[fn](numbers[index]));
      if (units > worst) [worst, at] = [units, index];
    });
    const text = `${fn}(${numbers[at]}) is ${floatUnary[fn](numbers[at])}, not ${results[at]}: ${device.description}`;
    expect(worst, text).toBeLessThanOrEqual(most);
  }
});

test.each(['sin', 'cos'] as const)('%s is right to 2 ten-millionths', async (fn) => {
  for (const device of devices) {
    const results = await computed(fn, device);
    const errors = Array.from(results, (result, at) => {
      const exact = floatUnary[fn](numbers[at]);
      return Number.isNaN(exact) && Number.isNaN(result) ? 0 : Math.abs(result - exact);
    });
    expect(Math.max(...errors.map((error) => (Number.isNaN(error) ? Infinity : error)))).toBeLessThan(2e-7);
  }
});
