import type { Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { elements, ints, run, tensor } from '../../operator-fixture.ts';

// Expected values are PyTorch's. 12 and 13 are the codes of qint8 and quint8.
const quantize = (values: readonly number[], scale: number, zeroPoint: bigint, dtype = 12n): Tensor =>
  run('aten::quantize_per_tensor', tensor([...values]), scale, zeroPoint, dtype) as Tensor;

describe('quantised tensors', () => {
  it('round half to even, with the zero point added before', () => {
    const result = quantize([0.5, 1.5, 2.5, -0.5, -1.5, 3.5, 0.3, 100, -100, 200], 1, 3n);
    expect(elements(run('aten::int_repr', result))).toEqual([4, 4, 6, 2, 2, 6, 3, 103, -97, 127]);
    expect([run('aten::q_scale', result), run('aten::q_zero_point', result)]).toEqual([1, 3n]);
  });

  it('give back the numbers that their integers stand for', () => {
    const result = quantize([1, 2, 7, -5], 0.1, 3n, 13n);
    expect(elements(run('aten::dequantize.self', result))).toEqual(
      [1, 2, 7, -0.3].map((value) => expect.closeTo(value, 6)),
    );
    expect(
      elements(run('aten::dequantize.self', run('aten::transpose.int', run('aten::unsqueeze', result, 0n), 0n, 1n))),
    ).toHaveLength(4);
  });

  it('have a scale for each channel', () => {
    const x = tensor([0, 1, 0, 4], [2, 2]);
    const result = run(
      'aten::quantize_per_channel',
      x,
      tensor([0.5, 2]),
      tensor([10, 20], [2], 'int64'),
      0n,
      13n,
    ) as Tensor;
    expect(elements(run('aten::int_repr', result))).toEqual([10, 12, 20, 22]);
    expect(elements(run('aten::dequantize.self', result))).toEqual([0, 1, 0, 4]);
    expect(elements(run('aten::q_per_channel_scales', result))).toEqual([0.5, 2]);
    expect(elements(run('aten::q_per_channel_zero_points', result))).toEqual([10n, 20n]);
    expect(run('aten::q_per_channel_axis', result)).toBe(0n);
    expect(() => run('aten::q_scale', result)).toThrow('kPerTensorAffine');
  });

  it('are refused by what does not know them', () => {
    const result = quantize([1, 2], 1, 0n);
    expect(() => run('aten::add.Tensor', result, result, 1n)).toThrow(
      "Could not run 'aten::add.out' with arguments from the 'QuantizedCPU' backend.",
    );
    expect(() => run('aten::q_scale', tensor([1]))).toThrow();
  });
});

// Sums of PyTorch's integers: those of an image in C order, then of one with its channels beside each other, four fifths of which are taken in vectors.
describe('a quantised image that is resized', () => {
  const numbers = Array.from({ length: 20 * 8 * 8 }, (_, at) => (((at * 37) % 251) - 125) / 25);

  it.each<[memoryFormat: bigint, isAligned: boolean, sum: number, weighted: number]>([
    [0n, false, 579573, 27827693],
    [0n, true, 580713, 27857346],
    [2n, false, 579572, 27827692],
    [2n, true, 580712, 27857338],
  ])('has the integers of PyTorch in memory format %s, aligned %s', (memoryFormat, isAligned, sum, weighted) => {
    const image = run('aten::view', quantize(numbers, 0.05, 63n, 13n), ints(1n, 20n, 8n, 8n));
    const laid = run('aten::contiguous', image, memoryFormat);
    const resized = run('aten::upsample_bilinear2d', laid, ints(19n, 23n), isAligned, null, null);
    const found = elements(run('aten::int_repr', resized)).map(Number);
    expect(found.reduce((total, value) => total + value, 0)).toBe(sum);
    expect(found.reduce((total, value, at) => total + value * (at % 97), 0)).toBe(weighted);
  });
});
