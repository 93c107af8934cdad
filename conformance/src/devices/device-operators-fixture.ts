import { IntType, TensorType } from '@cresset/ir';
import {
  deviceRefusal,
  findRow,
  registerAllOperators,
  runOnDevice,
  runOnHost,
  type Precision,
} from '@cresset/operators';
import { PhiloxGenerator } from '@cresset/runtime';
import { List, numelOf, Tensor, type IValue } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loweringOn } from '../../../packages/operators/src/operator-fixture.ts';

/** Operators that take another way where there is much to do, on a device against the host; with doubles too, where it has such. */
export function testDeviceOperators(open: () => Promise<ComputeDevice>, { doubles }: Precision): void {
  registerAllOperators();
  let device: ComputeDevice;
  beforeAll(async () => {
    device = await open();
  });
  afterAll(() => device.dispose());

  let seed = 7;
  const random = (): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

  function floats(...sizes: number[]): Tensor {
    return Tensor.fromArray(
      Float32Array.from({ length: numelOf(sizes) }, () => random() - 0.5),
      sizes,
      'float32',
    );
  }

  /** Whole numbers below `end`. */
  function longs(end: number, ...sizes: number[]): Tensor {
    const values = BigInt64Array.from({ length: numelOf(sizes) }, () => BigInt(Math.floor(random() * end)));
    return Tensor.fromArray(values, sizes, 'int64');
  }

  /** Integers of a byte, whatever they stand for. */
  function bytes(dtype: 'uint8' | 'int8', ...sizes: number[]): Tensor {
    const values = Uint8Array.from({ length: numelOf(sizes) }, () => Math.floor(random() * 256));
    return Tensor.fromArray(dtype === 'uint8' ? values : new Int8Array(values.buffer), sizes, dtype);
  }

  /** Of 0 to 15. */
  function fourBits(...sizes: number[]): Tensor {
    return Tensor.fromArray(
      Int32Array.from({ length: numelOf(sizes) }, () => Math.floor(random() * 16)),
      sizes,
      'int32',
    );
  }

  /** Complex numbers; single precision. */
  function complexes(...sizes: number[]): Tensor {
    const values = Float32Array.from({ length: 2 * numelOf(sizes) }, () => random() - 0.5);
    return Tensor.fromArray(values, sizes, 'complex64');
  }

  /** A window that leaves no sample out. */
  function windowOf(length: number): Tensor {
    return Tensor.fromArray(
      Float32Array.from({ length }, () => 0.5 + random()),
      [length],
      'float32',
    );
  }

  /** From 0 to 1. */
  const sortedPoints = (length: number): Tensor =>
    Tensor.fromArray(
      Float32Array.from({ length }, (_, at) => at / (length - 1)),
      [length],
      'float32',
    );

  const options = [null, null, null, null] as const;

  function flags(share: number, ...sizes: number[]): Tensor {
    const values = Uint8Array.from({ length: numelOf(sizes) }, () => (random() < share ? 1 : 0));
    return Tensor.fromArray(values, sizes, 'bool');
  }

  function withNaN(tensor: Tensor, ...places: number[]): Tensor {
    const values = tensor.storageArrayForWriting() as Float32Array;
    for (const place of places) values[place] = NaN;
    return tensor;
  }

  function sortedFloats(length: number): Tensor {
    return Tensor.fromArray(Float32Array.from({ length }, () => random() - 0.5).sort(), [length], 'float32');
  }

  /** Each position once. */
  function permutation(length: number): Tensor {
    const order = Array.from({ length }, (_, at) => [random(), at]).sort((a, b) => a[0] - b[0]);
    return Tensor.fromArray(
      BigInt64Array.from(order, ([, at]) => BigInt(at)),
      [length],
      'int64',
    );
  }

  const ints = (...values: number[]): List => new List(IntType.get(), values.map(BigInt));
  const tensors = (...values: Tensor[]): List => new List(TensorType.get(), values);
  const transposed = (tensor: Tensor): Tensor =>
    tensor.asStrided(tensor.sizes.toReversed(), tensor.strides.toReversed());

  type Example = readonly [name: string, args: () => IValue[]];

  const examples: readonly Example[] = [
    ['aten::cumsum', () => [floats(3, 5000), 1n, null]],
    ['aten::cumsum', () => [transposed(longs(1000, 3, 5000)), 0n, null]],
    ['aten::cumsum', () => [longs(2 ** 40, 20011), 0n, null]],
    ['aten::cumprod', () => [longs(2 ** 20, 2, 300), 1n, null]],
    ['aten::cummax', () => [withNaN(floats(2, 3001), 1700, 5000), 1n]],
    ['aten::cummin', () => [longs(50, 1000, 3), 0n]],
    ['aten::logcumsumexp', () => [floats(2, 1501), 1n]],
    ['aten::nonzero', () => [flags(0.3, 37, 41, 11)]],
    ['aten::nonzero', () => [transposed(flags(0.01, 300, 301))]],
    ['aten::masked_select', () => [floats(100, 200), flags(0.5, 200)]],
    ['aten::masked_scatter', () => [floats(100, 200), flags(0.5, 100, 200), floats(20000)]],
    ['aten::index.Tensor', () => [floats(500, 7), tensors(flags(0.2, 500))]],
    ['aten::scatter.src', () => [floats(100_000), 0n, permutation(100_000), floats(100_000)]],
    ['aten::scatter_add', () => [floats(20_000), 0n, longs(20_000, 30_000), floats(30_000)]],
    ['aten::scatter_add', () => [longs(9, 20_000), 0n, longs(20_000, 30_000), longs(2 ** 50, 30_000)]],
    ['aten::scatter_reduce.two', () => [floats(9000), 0n, longs(9000, 20_000), floats(20_000), 'amax', false]],
    ['aten::scatter_reduce.two', () => [floats(9000), 0n, longs(9000, 20_000), floats(20_000), 'mean', true]],
    ['aten::index_add', () => [floats(3000, 5), 0n, longs(3000, 9000), floats(9000, 5), 1n]],
    ['aten::index_put', () => [floats(60, 50), tensors(longs(60, 3000), longs(50, 3000)), floats(3000), true]],
    ['aten::index_put', () => [floats(60, 50), tensors(flags(0.4, 60, 50)), floats(1), false]],
    ['aten::take', () => [floats(60, 50), longs(3000, 7, 9)]],
    ['aten::sort', () => [withNaN(floats(3, 5000), 17, 6000), 1n, false]],
    ['aten::sort', () => [longs(100, 3001, 2), 0n, true]],
    ['aten::sort', () => [floats(60, 600), 1n, false]],
    ['aten::argsort.stable', () => [flags(0.5, 2100), true, 0n, false]],
    ['aten::topk', () => [floats(2, 9000), 7n, 1n, true, true]],
    ['aten::kthvalue', () => [longs(2 ** 40, 3, 1500), 700n, 1n, false]],
    ['aten::searchsorted.Tensor', () => [sortedFloats(5000), floats(7, 11), false, true, null, null]],
    ['aten::bucketize.Tensor', () => [withNaN(floats(300), 7), sortedFloats(33), true, false]],
    ['aten::isin.Tensor_Tensor', () => [longs(5000, 90, 7), longs(5000, 2500), false, true]],
    ['aten::_unique2', () => [longs(300, 70, 30), true, true, true]],
    ['aten::unique_consecutive', () => [flags(0.3, 3000), true, true, null]],
    ['aten::repeat_interleave.self_Tensor', () => [floats(4, 300), longs(5, 300), 1n, null]],
    ['aten::repeat_interleave.Tensor', () => [longs(4, 500), null]],
    ['aten::fft_fft', () => [floats(3, 1000), null, 1n, null]],
    ['aten::fft_rfft', () => [floats(1009, 2), 1024n, 0n, 'ortho']],
    ['aten::fft_irfft', () => [floats(2, 61), 121n, 1n, null]],
    ['aten::fft_fft2', () => [floats(2, 48, 36), null, ints(-2, -1), null]],
    ['aten::stft', () => [floats(2, 5000), 400n, 160n, null, null, false, true, false, null]],
    ['aten::put', () => [floats(60, 50), permutation(3000), floats(3000), false]],
    ['aten::median', () => [floats(30, 41)]],
    ['aten::median.dim', () => [withNaN(floats(7, 300, 2), 17, 18, 601), 1n, true]],
    ['aten::nanmedian.dim', () => [withNaN(floats(7, 3), 3, 4, 5, 6), -1n, false]],
    ['aten::median.dim', () => [longs(9, 2000, 3), 0n, false]],
    ['aten::quantile.scalar', () => [floats(30, 41), 0.3, null, true, 'linear']],
    ['aten::quantile', () => [withNaN(floats(5, 300), 3), sortedPoints(7), 1n, true, 'nearest']],
    ['aten::nanquantile', () => [withNaN(floats(5, 3), 3, 4, 5, 7), sortedPoints(3), 1n, false, 'midpoint']],
    ['aten::take_along_dim', () => [floats(1, 30, 4), longs(30, 5, 2, 1), 1n]],
    ['aten::take_along_dim', () => [floats(3, 30), longs(90, 7), null]],
    ['aten::bincount', () => [longs(700, 5000), null, 1000n]],
    ['aten::bincount', () => [longs(7, 500), floats(500), 0n]],
    ...['hann', 'blackman', 'bartlett'].map((name): Example => [
      `aten::${name}_window.periodic`,
      () => [1000n, false, ...options],
    ]),
    ['aten::kaiser_window.beta', () => [400n, true, 14.5, ...options]],
    ['aten::hamming_window.periodic_alpha', () => [1n, true, 0.5, ...options]],
    ['aten::linspace.Tensor_Tensor', () => [floats(), floats(), 901n, ...options]],
    ['aten::logspace.Tensor_Scalar', () => [floats(), 2.5, 50n, 3, ...options]],
    ['aten::pad', () => [floats(2, 3, 6, 7), ints(-1, 1, -2, 3), 'circular', null]],
    ['aten::pad', () => [floats(3, 6, 7), ints(2, -3), 'circular', null]],
    ...['same', 'valid'].map((padding): Example => [
      'aten::conv2d.padding',
      () => [floats(2, 5, 9, 8), floats(6, 5, 2, 4), floats(6), ints(1, 1), padding, ints(1, 1), 1n],
    ]),
    ['aten::einsum', () => ['bij,bjk,k->bi', tensors(complexes(3, 4, 5), complexes(3, 5, 6), complexes(6)), null]],
    ['aten::pixel_shuffle', () => [complexes(2, 8, 3, 2), 2n]],
    ['aten::pixel_unshuffle', () => [complexes(2, 4, 6), 2n]],
    ['aten::channel_shuffle', () => [complexes(2, 6, 3), 3n]],
    ['aten::tensordot', () => [complexes(3, 4, 5), complexes(5, 4, 2), ints(1, 2), ints(1, 0)]],
    ['aten::istft', () => [complexes(2, 201, 30), 400n, 160n, null, windowOf(400), true, true, null, null, false]],
    ['aten::istft', () => [complexes(64, 9), 64n, 20n, 50n, windowOf(50), true, false, false, 150n, true]],
    ...[16, 48, 64, 80, 176].map((rows): Example => [
      'aten::_convert_weight_to_int4pack_for_cpu',
      () => [fourBits(rows, 10), 1n],
    ]),
    ...(
      [
        [1, 16, 32, 32],
        [1, 176, 128, 64],
        [2, 64, 64, 32],
        [3, 48, 256, 128],
        [5, 128, 320, 32],
        [7, 80, 256, 256],
        [33, 208, 1056, 32],
        [150, 192, 64, 64],
      ] as const
    ).map(([m, n, k, group]): Example => [
      'aten::_weight_int4pack_mm_for_cpu',
      () => [floats(m, k), bytes('uint8', n, k / 2), BigInt(group), floats(k / group, n, 2)],
    ]),
    ...(
      [
        [1, 7, 40],
        [3, 33, 5],
        [6, 130, 67],
        [41, 3, 300],
      ] as const
    ).map(([m, n, k]): Example => ['aten::_weight_int8pack_mm', () => [floats(m, k), bytes('int8', n, k), floats(n)]]),
  ];

  const numbersOf = (tensor: Tensor): number[] => Array.from(tensor.contiguousArray() as ArrayLike<number>, Number);

  it('writes truth values into complex numbers', async () => {
    const row = findRow('aten::logical_not_', '')!;
    const self = complexes(3, 4);
    (self.storageArrayForWriting() as Float32Array).fill(0, 0, 10);
    await runOnDevice(row, [self], loweringOn(device));
    await self.storage.toHost();
    expect(numbersOf(self)).toEqual(Array.from({ length: 24 }, (_, at) => (at < 10 && at % 2 === 0 ? 1 : 0)));
  });

  async function expectAlike(name: string, args: readonly IValue[]): Promise<void> {
    const [operator, overload = ''] = name.split('.');
    const row = findRow(operator, overload)!;
    const generator = new PhiloxGenerator();
    const host = { gradEnabled: false, print: () => undefined, warn: () => undefined, generator };
    const expected = runOnHost(row, args, host);
    const got = await runOnDevice(row, args, loweringOn(device));
    for (const [at, result] of got.entries()) {
      const [a, b] = [result as Tensor, expected[at] as Tensor];
      await a.storage.toHost();
      expect(a.sizes).toEqual(b.sizes);
      expect(a.dtype).toBe(b.dtype);
      if (a.dtype === 'int64') expect(a.contiguousArray()).toEqual(b.contiguousArray());
      const want = numbersOf(b);
      const error = b.dtype === 'float64' || b.dtype === 'complex128' ? 1e-11 : 1e-4;
      const wrong = numbersOf(a).findIndex(
        (value, place) =>
          !(Math.abs(value - want[place]) <= error + error * Math.abs(want[place])) && !Object.is(value, want[place]),
      );
      expect(wrong, `${numbersOf(a)[wrong]} for ${want[wrong]}`).toBe(-1);
    }
  }

  const named = examples.map(([name, args], at) => [`${name} (${at})`, name, args] as const);
  describe('as on the host', () => {
    it.each(named)('%s', (_, name, make) => expectAlike(name, make()));
  });

  /** With doubles in the place of singles. */
  function widened(value: IValue): IValue {
    if (value instanceof List) return new List(value.elementType, value.items.map(widened));
    if (!(value instanceof Tensor) || (value.dtype !== 'float32' && value.dtype !== 'complex64')) return value;
    const elements = Float64Array.from(value.contiguousArray() as Float32Array);
    return Tensor.fromArray(elements, value.sizes, value.dtype === 'float32' ? 'float64' : 'complex128');
  }

  if (!doubles) return;
  describe('in double precision', () => {
    const taken = named.filter(([, name, make]) => {
      const [operator, overload = ''] = name.split('.');
      const args = make();
      const wide = args.map(widened);
      return (
        wide.some((value, at) => value !== args[at]) &&
        !isSinglesOnly(name) &&
        deviceRefusal(findRow(operator, overload)!, wide, { doubles }) === null
      );
    });
    it.each(taken)('%s', (_, name, make) => expectAlike(name, make().map(widened)));
  });
}

/** Weights of few bits have scales of single precision. */
const isSinglesOnly = (name: string): boolean => name.startsWith('aten::_weight');
