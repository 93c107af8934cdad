import { compilerServices, type CompilerServices } from '@cresset/ir';
import type { IntegerServices } from '@cresset/tensorexpr';
import { expect, test, vi } from 'vitest';
import { createModule, memory, setJitOptions, tensor, type Tensor } from '../index.ts';

const numbers = (count: number, seed: number): Float32Array<ArrayBuffer> =>
  Float32Array.from({ length: count }, (_, at) => (((at + seed) * 7919) % 2003) / 1000 - 1);

async function answerOf(webAssembly: boolean): Promise<readonly number[]> {
  setJitOptions({ webAssembly });
  try {
    await using module = await createModule('Net', { device: 'cpu', worker: false });
    await module.registerBuffer('weight', tensor(numbers(96 * 150, 1), [96, 150]));
    await module.define(`def forward(self, x):
    weight = torch.quantize_per_tensor(self.weight, 0.01, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(weight, None)
    y = torch.ops.quantized.linear_dynamic(x, packed)
    return torch.ops.quantized.linear_dynamic(x + y[3, 5], packed)
`);
    const x = tensor(numbers(20 * 150, 2), [20, 150]);
    const first = ((await module.forward(x)) as Tensor).tolist() as number[][];
    const again = ((await module.forward(x)) as Tensor).tolist();
    expect(again).toEqual(first);
    return first.flat();
  } finally {
    setJitOptions({ webAssembly: undefined });
  }
}

/** Bytes of 96 rows of 150 integers as the products keep them: of 16 bits, in 24 panels of four lines of 19 vectors. */
const PACKED = 2 * 24 * 4 * 19 * 8;

test('layers with quantised weights multiply in WebAssembly, and give the same as without', async () => {
  const alone = await answerOf(false);
  expect(compilerServices<CompilerServices & IntegerServices>().integerProducts).toBeUndefined();
  const before = (await memory()).pooledBytes;
  const first = await answerOf(true);
  expect((await memory()).pooledBytes - before).toBeGreaterThanOrEqual(PACKED);
  expect(first).toEqual(alone);
  const { integerProducts } = compilerServices<CompilerServices & IntegerServices>();
  const multiply = vi.spyOn(integerProducts!, 'multiply');
  expect(await answerOf(true)).toEqual(alone);
  expect(multiply.mock.results.map(({ value }) => value !== null)).toEqual([true, true, true, true]);
});
