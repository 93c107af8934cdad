import { expect, test } from 'vitest';
import { flatZeros } from './flat-tensors.ts';

test('tensors of float32 lie one behind the other in storages of 16 MB at most, others by themselves', () => {
  const float = (...sizes: number[]) => ({ sizes, dtype: 'float32' as const });
  const shapes = [float(2, 3), { sizes: [4], dtype: 'complex64' as const }, float(), float(5 << 20), float(7)];
  const [a, complex, number, large, last] = flatZeros(shapes);
  expect([a, number, large, last].map(({ storageOffset }) => storageOffset)).toEqual([0, 6, 0, 0]);
  expect(number.storage).toBe(a.storage);
  expect(a.storage.byteLength).toBe(28);
  expect(new Set([a, complex, large, last].map(({ storage }) => storage)).size).toBe(4);
  expect(flatZeros([])).toEqual([]);
});
