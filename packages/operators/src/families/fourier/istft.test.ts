import { Tensor, type IValue } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { run } from '../../operator-fixture.ts';

const complexes = (sizes: number[], ...parts: number[]): Tensor =>
  Tensor.fromArray(Float32Array.from(parts), sizes, 'complex64');

/** Twelve numbers in four bins and three frames. */
const spectrum = complexes([4, 3], ...Array.from({ length: 12 }, (_, at) => [at % 5, at % 3]).flat());
const window = complexes([4], 1, 1, 2, 0, 1, 0, 1, -1);

const istft = (center: boolean, length: bigint | null, returnComplex: boolean, by: Tensor = window): IValue =>
  run('aten::istft', spectrum, 4n, 2n, null, by, center, false, null, length, returnComplex);

// Expected values and messages are PyTorch's.
describe('istft', () => {
  it('divides by the squares of a complex window, and ends in zeros', () => {
    const result = istft(false, 9n, true) as Tensor;
    expect(Array.from(result.contiguousArray() as Float32Array, (value) => Math.round(value * 1e4) / 1e4 + 0)).toEqual([
      1, -1, -0.125, -0.125, 0.95, 0.85, -0.35, 0.45, 1.25, 1, -0.225, -0.425, 1, 0, -0.25, 0, 0, 0,
    ]);
  });

  it('refuses a complex window for a real signal, and samples that no window covers', () => {
    expect(() => istft(true, null, false)).toThrow('Complex windows are incompatible with return_complex=False');
    const none = Tensor.fromArray(new Float32Array(4), [4], 'float32');
    expect(() => istft(true, null, true, none)).toThrow('window overlap add min: 1');
  });
});
