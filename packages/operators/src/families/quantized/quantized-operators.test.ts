import { numelOf, Tensor, type IValue } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { elements, ints, run, tensor, tensors } from '../../operator-fixture.ts';
import { asQuantized, tensorQuantizer } from './affine.ts';

// Expected values are PyTorch's. 12, 13 and 14 are the codes of qint8, quint8 and qint32.
const quantize = (x: Tensor, scale: number, zeroPoint: bigint, dtype = 13n): Tensor =>
  run('aten::quantize_per_tensor', x, scale, zeroPoint, dtype) as Tensor;
/** Integers, scale and zero point. */
const shown = (q: IValue): unknown[] => [
  elements(run('aten::int_repr', q)),
  run('aten::q_scale', q),
  run('aten::q_zero_point', q),
];
/** Halves from -4 to 15.5, with 8 as the zero point. */
const halves = (count: number): Tensor =>
  quantize(tensor(Array.from({ length: count }, (_, index) => (index % 40) / 2 - 4)), 0.5, 8n);

describe('element-wise kernels', () => {
  it('round with the zero point in vectors of 128 elements and without it in the rest', () => {
    const zeros = quantize(tensor(new Array<number>(300).fill(0)), 0.5, 8n);
    const sums = elements(run('aten::int_repr', run('quantized::add', halves(300), zeros, 1, 3n))) as number[];
    // 0.5 in the vectors, and behind the last of them.
    expect([sums[9], sums[9 + 240], sums[9 + 280]]).toEqual([3, 3, 4]);
  });

  it('give bounded functions a quantiser of their own', () => {
    const q = quantize(tensor([-2, 0, 3]), 0.1, 100n);
    expect(shown(run('aten::sigmoid', q))).toEqual([[31, 128, 244], 1 / 256, 0n]);
    expect(shown(run('aten::tanh', q))).toEqual([[5, 128, 255], 1 / 128, 128n]);
    expect(shown(run('aten::hardsigmoid', q))).toEqual([[43, 128, 255], 1 / 256, 0n]);
    const signed = quantize(tensor([-2, 0, 3]), 0.1, 10n, 12n);
    expect(shown(run('aten::sigmoid', signed))).toEqual([[-97, 0, 116], 1 / 256, -128n]);
  });

  it('bound integers by integers', () => {
    const q = quantize(tensor([-2, 0, 0.34, 7]), 0.1, 100n);
    expect(shown(run('quantized::relu6', q, false))[0]).toEqual([100, 100, 103, 160]);
    expect(shown(run('aten::clamp', q, -1n, 0.26))[0]).toEqual([90, 100, 103, 103]);
    expect(shown(run('quantized::threshold', q, 0.2, -1))[0]).toEqual([90, 90, 103, 170]);
    expect(run('aten::relu_', q)).toBe(q);
    expect(shown(q)[0]).toEqual([100, 100, 103, 170]);
  });

  it('have activations with two branches', () => {
    const q = quantize(tensor([-2, -0.5, 3]), 0.1, 100n);
    expect(shown(run('quantized::leaky_relu', q, 0.1, false, 0.1, 50n))[0]).toEqual([48, 50, 80]);
    expect(shown(run('quantized::elu', q, 0.1, 50n, 1, 1, 1))[0]).toEqual([41, 46, 80]);
    expect(shown(run('quantized::celu', q, 0.1, 50n, 2))[0]).toEqual([37, 46, 80]);
    expect(shown(run('quantized::hardswish', q, 0.1, 50n))[0]).toEqual([47, 48, 80]);
    const slopes = quantize(tensor([0.4]), 0.01, 0n);
    expect(shown(run('quantized::prelu', q, slopes, 0.1, 50n))[0]).toEqual([42, 48, 80]);
  });
});

describe('arithmetic', () => {
  it('stretches a quantiser that a number would leave', () => {
    const q = quantize(tensor([-2, 0, 3]), 0.1, 100n);
    expect(shown(run('quantized::add_scalar', q, 1.5))).toEqual([[80, 100, 130], 0.1, 85n]);
    const [integers, scale, zeroPoint] = shown(run('quantized::add_scalar', q, 100));
    expect([integers, zeroPoint]).toEqual([[216, 221, 227], 0n]);
    expect(scale).toBeCloseTo(0.4529411, 6);
    expect(shown(run('quantized::mul_scalar', q, -2))).toEqual([[175, 155, 125], 0.2, 155n]);
    expect(shown(run('quantized::mul_scalar', q, 0n))).toEqual([[0, 0, 0], 1, 0n]);
  });

  it('broadcasts, and refuses two dtypes', () => {
    const a = quantize(tensor([1, 2, 3, 4], [2, 2]), 0.1, 0n);
    const b = quantize(tensor([0.5, -0.5]), 0.1, 10n);
    expect(shown(run('quantized::add', a, b, 0.1, 5n))[0]).toEqual([20, 20, 40, 40]);
    expect(shown(run('quantized::mul_relu', a, b, 0.1, 5n))[0]).toEqual([10, 5, 20, 5]);
    const c = quantize(tensor([0.5]), 0.1, 10n, 12n);
    expect(() => run('quantized::add', a, c, 0.1, 5n)).toThrow('Add operands should have same data type.');
    expect(() => run('quantized::mul', a, c, 0.1, 5n)).toThrow('Mul operands should have same data type.');
  });

  it('joins tensors of different quantisers', () => {
    const [a, b] = [quantize(tensor([1, 2]), 0.1, 0n), quantize(tensor([0.6, -1]), 0.2, 10n)];
    expect(shown(run('quantized::cat', tensors(a, b), 0n, 0.1, 20n))).toEqual([[30, 40, 26, 10], 0.1, 20n]);
    expect(shown(run('quantized::cat_relu', tensors(a, b), 0n, null, null))).toEqual([[10, 20, 6, 0], 0.1, 0n]);
    expect(shown(run('aten::cat', tensors(a, b), 0n))).toEqual([[10, 20, 6, 0], 0.1, 0n]);
  });
});

describe('operators that know plain tensors', () => {
  const q = quantize(tensor([0, 1, 2, 3, 4, 5, 6, 8], [1, 2, 2, 2]), 0.5, 7n);

  it('round means of windows with the zero point in them', () => {
    expect(shown(run('aten::avg_pool2d', q, ints(2n), ints(), ints(0n), false, true, null))[0]).toEqual([10, 18]);
    expect(shown(run('aten::_adaptive_avg_pool2d', q, ints(1n, 1n)))[0]).toEqual([10, 18]);
    expect(shown(run('aten::mean.dim', q, ints(2n, 3n), false, null))[0]).toEqual([10, 18]);
  });

  describe('add numbers up as they lie in memory', () => {
    /** Integers from -40 to 56. */
    function pattern(sizes: readonly number[], factor: number, isChannelsLast = false, scale = 0.05): Tensor {
      const integers = Array.from({ length: numelOf(sizes) }, (_, i) => ((i * i * factor + i * 13 + factor) % 97) - 40);
      const plain = Tensor.fromArray(Int8Array.from(integers), sizes, 'int8');
      const format = isChannelsLast ? 2n : 0n;
      return asQuantized(run('aten::contiguous', plain, format) as Tensor, tensorQuantizer(scale, 3), 'qint8');
    }
    const mean = (q: Tensor, ...dims: bigint[]): unknown =>
      shown(run('aten::mean.dim', q, ints(...dims), false, null))[0];

    it('over dimensions', () => {
      // Of 10.5, -4.5 and 0.5, in the integers.
      expect(mean(pattern([1, 4, 3, 4], 58, true, 0.3), 2n, 3n)).toEqual([13, 11, -4, 1]);
      // Of 15.5 and -0.5.
      expect(mean(pattern([1, 2, 3, 6], 4, true), 3n)).toEqual([1, 3, 3, 16, -7, -1]);
      // Of 8.5 and 4.5.
      expect(mean(pattern([1, 10, 2, 2], 43), 1n)).toEqual([8, 2, 5, -4]);
      // Columns in vectors and those behind them.
      expect(mean(pattern([2, 10, 3, 12], 2), 0n, 1n)).toEqual([
        16, 17, 17, 11, 14, 7, 3, 8, 13, 12, 15, 16, 18, 13, 12, 16, 14, 5, 6, 6, 6, 14, 16, 12, 13, 18, 16, 15, 12, 13,
        8, 3, 7, 14, 11, 17,
      ]);
      expect(mean(pattern([2, 3, 20], 1), 0n, 1n)).toEqual([
        10, 10, 29, 2, 9, 34, 12, -7, 24, -8, 11, 16, 6, 15, 9, 6, 20, -11, 7, 28,
      ]);
    });

    it('in windows that follow from sizes, and in space', () => {
      const pool = (name: string, q: Tensor, ...sizes: bigint[]): unknown => shown(run(name, q, ints(...sizes)))[0];
      expect(pool('aten::adaptive_avg_pool2d', pattern([1, 4, 5, 6], 64), 1n, 1n)).toEqual([17, 19, 2, 13]);
      expect(pool('aten::adaptive_avg_pool2d', pattern([1, 9, 4, 9], 18, true), 1n, 3n)).toEqual([
        -10, 11, 0, 11, -1, 13, 7, 3, 1, 2, 6, -5, -4, 24, 22, 13, -7, -2, 13, 1, -2, -4, 16, 13, 2, -10, 11,
      ]);
      const q = pattern([1, 20, 1, 2, 3], 1);
      expect(shown(run('aten::avg_pool3d', q, ints(1n, 2n, 3n), ints(), ints(0n), false, true, null))[0]).toEqual([
        3, 1, 7, 20, 8, 4, 23, 33, 2, 11, 11, 18, 0, 5, 19, 23, 2, 4, 14, 16,
      ]);
    });
  });

  it('move integers, and fill with integers', () => {
    expect(shown(run('aten::max_pool2d', q, ints(2n), ints(), ints(0n), ints(1n), false))[0]).toEqual([13, 23]);
    expect(shown(run('aten::flip', q, ints(3n)))[0]).toEqual([9, 7, 13, 11, 17, 15, 23, 19]);
    expect(shown(run('aten::pad', quantize(tensor([1, 2]), 0.5, 7n), ints(1n, 1n), 'constant', 1.5))[0]).toEqual([
      10, 9, 11, 10,
    ]);
  });

  it('compare numbers', () => {
    expect(elements(run('aten::gt.Scalar', quantize(tensor([1, 2]), 0.5, 7n), 1.4))).toEqual([0, 1]);
  });

  it('are refused under the name of the kernel that PyTorch misses', () => {
    expect(() => run('aten::exp', q)).toThrow(
      "Could not run 'aten::exp.out' with arguments from the 'QuantizedCPU' backend.",
    );
    expect(() => run('aten::hardswish', q)).toThrow("Could not run 'aten::hardswish' with");
    expect(() => run('aten::sigmoid_', q)).toThrow("Could not run 'aten::sigmoid.out' with");
    expect(() => run('aten::to.dtype', q, 6n, false, false, null)).toThrow('Creation of quantized tensor requires');
  });
});
