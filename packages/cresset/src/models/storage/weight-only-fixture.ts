import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { tensor, type ScriptModule, type Tensor } from '../../index.ts';

/** A module with linear layers of weights of four and of eight bits, as PyTorch saved it, and with what PyTorch got for these inputs. */
export const file = new Uint8Array(
  readFileSync(new URL('../../../../archive/fixtures/weight-only.pt', import.meta.url)),
);

/** Short binary fractions: sums of products are exact, whatever the order. */
function numbers(...shape: number[]): Tensor {
  const count = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Array.from({ length: count }, (_, at) => (((at * 37) % 17) - 8) / 4),
    { shape },
  );
}

export const inputs = [numbers(2, 5, 64), numbers(1, 256), numbers(7, 128)];

const valuesOf = (results: readonly Tensor[]): unknown[] =>
  results.map(({ data, dtype, shape }) => [dtype, [...shape], Array.from(data as ArrayLike<number>)]);

/** Calls the module, and holds what it gives against PyTorch's results. */
export async function expectResults(model: ScriptModule): Promise<void> {
  const [results, expected] = (await model.call('pair', inputs)) as [Tensor[], Tensor[]];
  expect(valuesOf(results)).toEqual(valuesOf(expected));
}
