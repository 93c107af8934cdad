import { tensor } from 'cresset';
import { expect, test } from 'vitest';
import { resultText } from './result-text.ts';

test('a tensor with its dtype and shape', () => {
  expect(
    resultText(
      tensor([
        [1, 0.123456789],
        [3, 4],
      ]),
    ),
  ).toBe('tensor([[1, 0.12346],\n        [3, 4]], dtype=float32, shape=[2, 2])');
});

test('a long tensor is shortened', () => {
  expect(resultText(tensor(Int32Array.from({ length: 100 }, (_, index) => index)))).toBe(
    'tensor([0, 1, 2, …, 97, 98, 99], dtype=int32, shape=[100])',
  );
});

test('containers and single values', () => {
  expect(resultText(null)).toBe('None');
  expect(resultText(true)).toBe('True');
  expect(resultText('a')).toBe('"a"');
  expect(resultText([])).toBe('[]');
  expect(resultText([1, new Map([['key', 2.5]])])).toBe('[\n  1,\n  {\n    "key": 2.5\n  }\n]');
});
