import { expect, test } from 'vitest';
import { ShapeEnv } from './shape-env.ts';
import { Storage } from './storage.ts';
import { Tensor } from './tensor.ts';

test('a tensor that is made when the recording of its sizes is over has numbers', () => {
  const env = new ShapeEnv();
  const [rows, columns] = [env.symbol(2), env.symbol(3)];
  env.close();
  const { sizes, strides } = new Tensor(Storage.zeros('float32', 6), 'float32', [rows, columns], [columns, 1]);
  expect(sizes).toEqual([2, 3]);
  expect(strides).toEqual([3, 1]);
});
