import { Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { deviceRefusal } from '../dispatch/invoke.ts';
import { findRow } from '../table/register.ts';
import { elements, ints, longs, run, runAll, shown, tensor, tensors } from '../operator-fixture.ts';

// Expected values are PyTorch's.
const matrix = (): Tensor => tensor([0, 1, 2, 3, 4, 5], [2, 3], 'int64');
const bytes = (...values: number[]): Tensor => Tensor.fromArray(Int8Array.from(values), [values.length], 'int8');
const options = [null, null, null, null] as const;

describe('creation', () => {
  it('counts in int64 from whole numbers, in float32 from others', () => {
    expect(elements(run('aten::arange.start_step', 5n, 0n, -2n, ...options))).toEqual([5n, 3n, 1n]);
    expect(elements(run('aten::arange.start_step', 1n, 2.5, 0.5, ...options))).toEqual([1, 1.5, 2]);
    expect(() => run('aten::arange.start_step', 0n, 5n, -1n, ...options)).toThrow(
      'upper bound and lower bound inconsistent with step sign',
    );
  });

  it('spaces points evenly', () => {
    expect(elements(run('aten::linspace', -1n, 1n, 5n, ...options))).toEqual([-1, -0.5, 0, 0.5, 1]);
    expect(elements(run('aten::logspace', 0n, 2n, 3n, 10, ...options))).toEqual([1, 10, 100]);
  });

  it('rounds evenly spaced points as their dtype does', () => {
    const points = (steps: bigint, dtype: bigint): (number | bigint)[] =>
      elements(run('aten::linspace', 0.1, 0.3, steps, dtype, null, null, null));
    const single = points(37n, 6n);
    expect([3, 12, 14, 17, 18, 26].map((at) => single[at])).toEqual([
      0.11666666716337204, 0.1666666716337204, 0.17777778208255768, 0.1944444626569748, 0.20000000298023224,
      0.24444444477558136,
    ]);
    expect(points(7n, 5n)).toEqual([
      0.0999755859375, 0.13330078125, 0.166748046875, 0.199951171875, 0.2333984375, 0.2666015625, 0.300048828125,
    ]);
  });

  it('leaves whole points to the host, which has the precision to cut them off', () => {
    const onDevice = (out: Tensor): boolean =>
      deviceRefusal(findRow('aten::logspace', 'out')!, [3n, 10n, 100n, 10, out], {}) === null;
    expect(onDevice(Tensor.empty([100], 'float32'))).toBe(true);
    expect(onDevice(Tensor.empty([100], 'int64'))).toBe(false);
  });

  it('cuts triangles', () => {
    expect(shown(run('aten::tril', matrix(), -1n))[1]).toEqual([0, 0, 0, 3, 0, 0]);
    expect(shown(run('aten::triu', matrix(), 0n))[1]).toEqual([0, 1, 2, 0, 4, 5]);
    expect(shown(run('aten::diag', longs(1n, 2n), 1n))).toEqual([
      [3, 3],
      [0, 1, 0, 0, 0, 2, 0, 0, 0],
    ]);
  });

  it('keeps the layout it is modelled on', () => {
    const turned = run('aten::t', matrix()) as Tensor;
    expect((run('aten::zeros_like', turned, ...options, null) as Tensor).strides).toEqual([1, 3]);
    expect((run('aten::empty.memory_format', ints(1n, 2n, 3n, 4n), ...options, 2n) as Tensor).strides).toEqual([
      24, 1, 8, 2,
    ]);
  });
});

describe('joining and rearranging', () => {
  it('promotes what it joins, and leaves empty vectors out', () => {
    expect(shown(run('aten::cat', tensors(longs(1n, 2n), tensor([0.5])), 0n))).toEqual([[3], [1, 2, 0.5]]);
    expect(shown(run('aten::cat', tensors(Tensor.empty([0], 'int64'), matrix()), 1n))[0]).toEqual([2, 3]);
    expect(shown(run('aten::stack', tensors(longs(1n, 2n), longs(3n, 4n)), 1n))).toEqual([
      [2, 2],
      [1, 3, 2, 4],
    ]);
    expect(() => run('aten::cat', tensors(matrix(), longs(1n)), 0n)).toThrow(
      'Tensors must have same number of dimensions: got 2 and 1',
    );
  });

  it('rolls, flips and turns', () => {
    expect(shown(run('aten::roll', matrix(), ints(1n), ints()))[1]).toEqual([5, 0, 1, 2, 3, 4]);
    expect(shown(run('aten::roll', matrix(), ints(1n, -1n), ints(0n, 1n)))[1]).toEqual([4, 5, 3, 1, 2, 0]);
    expect(shown(run('aten::flip', matrix(), ints(1n)))[1]).toEqual([2, 1, 0, 5, 4, 3]);
    expect(shown(run('aten::rot90', matrix(), 1n, ints(0n, 1n)))).toEqual([
      [3, 2],
      [2, 5, 1, 4, 0, 3],
    ]);
  });

  it('repeats as a whole and element by element', () => {
    expect(shown(run('aten::repeat', matrix(), ints(2n, 1n, 2n)))).toEqual([
      [2, 2, 6],
      [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5],
    ]);
    expect(shown(run('aten::repeat_interleave.self_int', matrix(), 2n, 1n, null))).toEqual([
      [2, 6],
      [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
    ]);
    expect(shown(run('aten::repeat_interleave.self_int', matrix(), 2n, null, null))[0]).toEqual([12]);
  });

  it('makes grids both ways round', () => {
    const grids = run('aten::meshgrid.indexing', tensors(longs(1n, 2n), longs(3n, 4n, 5n)), 'xy');
    expect((grids as { items: Tensor[] }).items.map(shown)).toEqual([
      [
        [3, 2],
        [1, 2, 1, 2, 1, 2],
      ],
      [
        [3, 2],
        [3, 3, 4, 4, 5, 5],
      ],
    ]);
    expect(shown(run('aten::kron', longs(1n, 2n), longs(1n, 10n)))[1]).toEqual([1, 10, 2, 20]);
  });
});

describe('arithmetic of whole numbers and quotients', () => {
  it('keeps every digit of multiples and divisors, and wraps as C++ does', () => {
    expect(elements(run('aten::lcm', tensor([1000000007, 3], [2], 'int32'), tensor([2, 0], [2], 'int32')))).toEqual([
      2000000014, 0,
    ]);
    expect(elements(run('aten::lcm', longs(2n ** 62n + 1n), longs(3n)))).toEqual([2n ** 62n - 3n]);
    expect(elements(run('aten::lcm', bytes(100), bytes(99)))).toEqual([-84]);
    expect(elements(run('aten::gcd', bytes(-128, -128), bytes(6, 0)))).toEqual([-2, -128]);
    expect(elements(run('aten::gcd', longs(2n ** 62n), longs(3n * 2n ** 60n)))).toEqual([2n ** 60n]);
  });

  it('rounds a quotient before its fraction is cut off', () => {
    expect(elements(run('aten::div.Tensor_mode', tensor([3, -3, 7]), tensor([0.3, 0.3, 2]), 'trunc'))).toEqual([
      10, -10, 3,
    ]);
  });

  it('names what is wrong with sizes as PyTorch does', () => {
    expect(() => run('aten::expand', tensor([1, 2, 3]), ints(-1n, 5n, 5n), false)).toThrow(
      'The expanded size of the tensor (5) must match the existing size (3) at non-singleton dimension 2',
    );
    expect(() => run('aten::expand', tensor([1, 2, 3]), ints(-1n, 3n), false)).toThrow(
      "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0",
    );
  });
});

describe('scans, order statistics and searching', () => {
  it('scans lines', () => {
    expect(shown(run('aten::cumsum', matrix(), 1n, null))[1]).toEqual([0, 1, 3, 3, 7, 12]);
    expect(runAll('aten::cummax', tensor([1, 3, 2, 3]), 0n).map(shown)).toEqual([
      [[4], [1, 3, 3, 3]],
      [[4], [0, 1, 1, 3]],
    ]);
    const limits = longs(2n ** 63n - 2n, 2n ** 63n - 1n, -(2n ** 63n));
    expect(runAll('aten::cummax', limits, 0n).map((each) => elements(each))).toEqual([
      [2n ** 63n - 2n, 2n ** 63n - 1n, 2n ** 63n - 1n],
      [0n, 1n, 1n],
    ]);
    expect(elements(run('aten::logcumsumexp', tensor([0, 1, 2]), 0n)).map((value) => Number(value).toFixed(5))).toEqual(
      ['0.00000', '1.31326', '2.40761'],
    );
  });

  it('finds the middle, the commonest and what lies between', () => {
    expect(elements(run('aten::median', tensor([3, 1, 2, 4])))).toEqual([2]);
    expect(runAll('aten::mode', longs(2n, 1n, 2n, 1n, 3n), -1n, false).map((value) => elements(value)[0])).toEqual([
      1n,
      3n,
    ]);
    expect(
      Number(elements(run('aten::quantile.scalar', tensor([1, 2, 3, 4]), 0.4, null, false, 'linear'))[0]),
    ).toBeCloseTo(2.2, 6);
  });

  it('searches, collects and counts', () => {
    expect(
      elements(run('aten::searchsorted.Tensor', tensor([1, 3, 5]), tensor([0, 3, 6]), false, true, null, null)),
    ).toEqual([0n, 2n, 3n]);
    expect(runAll('aten::_unique2', longs(3n, 1n, 3n, 2n), true, true, true).map((value) => shown(value)[1])).toEqual([
      [1, 2, 3],
      [2, 0, 2, 1],
      [1, 1, 2],
    ]);
    expect(elements(run('aten::histc', tensor([1, 2, 1, 4]), 4n, 0n, 4n))).toEqual([0, 2, 1, 1]);
  });
});

describe('random tensors', () => {
  it('draw from the generator of the run', () => {
    expect(elements(run('aten::rand', ints(2n), ...options))).toEqual([0.5, 0.5]);
    expect(elements(run('aten::randint.low', 2n, 8n, ints(2n), 4n, null, null, null))).toEqual([4n, 4n]);
    // PyTorch reads the limit as an integer, of a tensor without dimensions.
    const like = (high: Tensor) => run('aten::randint_like.Tensor', tensor([0, 0]), high, ...options, null);
    expect(elements(like(tensor([5.9]).asStrided([], [])))).toEqual([3, 3]);
    expect(() => like(tensor([5]))).toThrow('high must be a scalar tensor and on CPU');
    const self = tensor([0, 0]);
    expect(run('aten::uniform_', self, 10, 20, null)).toBe(self);
    expect(elements(self)).toEqual([15, 15]);
    expect(() => run('aten::uniform_', self, 2, 1, null)).toThrow(
      'uniform_ expects to return a [from, to) range, but found from=2 > to=1',
    );
  });
});
