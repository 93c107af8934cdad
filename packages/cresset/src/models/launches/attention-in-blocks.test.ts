import { registerAllParts } from '@cresset/runtime';
import { Tensor, type IValue } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { describe, expect, test } from 'vitest';
import { threadedDevice } from '../../../../../test-setup/threaded-device.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

registerAllParts();

const signature = 'q: Tensor, k: Tensor, v: Tensor';
const operator = (rest: string): string =>
  `def f(${signature}):\n    return torch.scaled_dot_product_attention(q, k, v${rest})\n`;
const masked = (mask: string): string =>
  `def f(${signature}, m: Tensor):\n    return torch.scaled_dot_product_attention(q, k, v, ${mask})\n`;

const numbers = async (functions: PythonFunctions, args: readonly IValue[]): Promise<Float32Array> => {
  const result = (await functions.call('f', args)) as Tensor;
  return Float32Array.from(result.contiguousArray() as Float32Array);
};

/** Elements of scores of 600 queries and positions: more than a block has, and no multiple of it. */
const LENGTH = 600;
const heads = (count: number, width = 16, length = LENGTH): Tensor[] =>
  [1, 2, 3].map((seed) => tensorOf([count, length, width], seed));
const computedAs = (dtype: string): string => {
  const [q, k, v] = ['q', 'k', 'v'].map((name) => `${name}.to(torch.${dtype})`);
  return `def f(${signature}):\n    return torch.scaled_dot_product_attention(${q}, ${k}, ${v}).to(torch.float32)\n`;
};

const addedMask = tensorOf([LENGTH, LENGTH], 4);
/** The first row sees nothing. */
const chosenMask = Tensor.fromArray(
  Uint8Array.from({ length: LENGTH * LENGTH }, (_, at) => (at < LENGTH || at % 3 === 0 ? 0 : 1)),
  [LENGTH, LENGTH],
  'bool',
);

const cases: readonly (readonly [name: string, source: string, args: readonly Tensor[], digits: number])[] = [
  ['plain', operator(''), heads(2), 5],
  ['causal, with a scale', operator(', None, 0.0, True, scale=0.3'), heads(2), 5],
  ['a mask that is added', masked('m'), [...heads(2), addedMask], 5],
  ['a mask that chooses', masked('m'), [...heads(2), chosenMask], 5],
  [
    'two queries’ heads to each of keys',
    operator(', enable_gqa=True'),
    [tensorOf([4, LENGTH, 8]), tensorOf([2, LENGTH, 8], 2), tensorOf([2, LENGTH, 8], 3)],
    5,
  ],
  ['double precision', computedAs('float64'), heads(1), 6],
  ['bfloat16', computedAs('bfloat16'), heads(1), 2],
  [
    'more positions than queries',
    operator(''),
    [tensorOf([5, 16]), tensorOf([60000, 16], 2), tensorOf([60000, 7], 3)],
    5,
  ],
];

describe.each(cases)('attention in blocks of rows: %s', (_, source, args, digits) => {
  test.each([
    ['one thread', () => new WasmDevice()],
    ['threads', () => threadedDevice()],
  ] as const)('%s', async (_name, open) => {
    const device = await open();
    const wanted = await numbers(new PythonFunctions(source, { device: null }), args);
    const functions = new PythonFunctions(source, { device });
    for (let call = 0; call < 4; call++) {
      const found = await numbers(functions, args);
      let worst = 0;
      found.forEach((value, at) => {
        if (!Number.isNaN(wanted[at]) || !Number.isNaN(value)) worst = Math.max(worst, Math.abs(value - wanted[at]));
      });
      expect(worst).toBeLessThan(10 ** -digits);
    }
    expect(functions.module.lastRun!.replayed).toBeGreaterThan(0);
    device.dispose();
  });
});

test('no scores lie in memory, however long the sequence', async () => {
  const device = new WasmDevice();
  const functions = new PythonFunctions(operator(''), { device });
  const args = heads(2, 8, 4096);
  for (let call = 0; call < 3; call++) await numbers(functions, args);
  const scores = 4 * 2 * 4096 * 4096;
  expect(device.memory().peak).toBeLessThan(scores / 20);
  // What the memory has grown to, scratch among it.
  expect(device.linear.memory.buffer.byteLength).toBeLessThan(scores / 20);
});

test('attention that is written out is one launch from the first replay on', async () => {
  const device = new WasmDevice();
  const source = `def f(${signature}):\n    return torch.softmax((q @ k.transpose(1, 2)) * 0.25, -1) @ v\n`;
  const functions = new PythonFunctions(source, { device });
  const args = heads(2);
  const first = await numbers(functions, args);
  for (let call = 0; call < 3; call++) {
    const { dispatches } = device.counters;
    const found = await numbers(functions, args);
    found.forEach((value, at) => expect(Math.abs(value - first[at])).toBeLessThan(1e-6));
    if (functions.module.lastRun!.replayed > 0) expect(device.counters.dispatches - dispatches).toBe(1);
  }
  expect(functions.module.lastRun!.replayed).toBeGreaterThan(0);
  expect(device.memory().pooled).toBeLessThan(4 * LENGTH * LENGTH);
});
