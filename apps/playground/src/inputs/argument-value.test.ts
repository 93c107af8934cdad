import { Tensor, type Input } from 'cresset';
import { describe, expect, test } from 'vitest';
import { chosenValue, firstChoice, type Choice } from './argument-value.ts';
import { parseParameters } from './schema.ts';

const argument = (type: string) => parseParameters(`forward(Net self, ${type} x) -> Tensor`)[0];

function choose(type: string, choice: Partial<Choice>): Input {
  const parameter = argument(type);
  return chosenValue(parameter, { ...firstChoice(parameter), ...choice });
}

describe('a tensor', () => {
  test('is filled as chosen', () => {
    const ones = choose('Tensor', { fill: 'ones', shape: '2, 3', dtype: 'float64' }) as Tensor;
    expect(ones.dtype).toBe('float64');
    expect(ones.tolist()).toEqual([
      [1, 1, 1],
      [1, 1, 1],
    ]);
    const random = choose('Tensor?', { fill: 'random', shape: '1000', dtype: 'int64' }) as Tensor;
    expect(random.tolist()).toSatisfy((values: number[]) => values.every((value) => value >= 0 && value < 10));
    expect((choose('Tensor', { fill: 'zeros', shape: '[]' }) as Tensor).shape).toEqual([]);
  });

  test('is read from JSON with the dtype chosen', () => {
    const read = choose('Tensor', { fill: 'JSON', text: '[[1, 2], [3, 4]]', dtype: 'int32' }) as Tensor;
    expect([read.dtype, read.shape]).toEqual(['int32', [2, 2]]);
  });

  test('within other values is int64 where all numbers are whole, and what is asked for elsewhere', () => {
    const [whole, broken, asked] = choose('Tensor[]', {
      text: '[[1, 2], [1.5], {"dtype": "float16", "data": [1]}]',
    }) as Tensor[];
    expect([whole.dtype, broken.dtype, asked.dtype]).toEqual(['int64', 'float32', 'float16']);
    const { key } = choose('Dict(str, (Tensor, int))', { text: '{"key": [[1], 2]}' }) as { key: [Tensor, number] };
    expect(key[0]).toBeInstanceOf(Tensor);
    expect(key[1]).toBe(2);
  });
});

describe('what cannot be read', () => {
  test.each([
    ['Tensor', { fill: 'ones', shape: '2, two' }, 'PLAYGROUND_SHAPE'],
    ['Tensor', { fill: 'ones', shape: '-1' }, 'PLAYGROUND_SHAPE'],
    ['int[]', { text: '[1,' }, 'PLAYGROUND_JSON'],
  ] as const)('%s %o', (type, choice, code) => {
    expect(() => choose(type, choice)).toThrow(expect.objectContaining({ code }));
  });
});

test('every type has an example that can be read', () => {
  for (const type of [
    'int',
    'float',
    'bool',
    'str',
    'int[]',
    'Tensor[]',
    '(Tensor, float)',
    'Dict(str, int)',
    'str?',
  ]) {
    expect(() => choose(type, {}), type).not.toThrow();
  }
});
