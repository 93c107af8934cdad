import { Complex, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { findRow } from '../table/register.ts';
import { OperatorCall } from './invoke.ts';
import { elements, ints, longs, run, runAll, shown, tensor } from '../operator-fixture.ts';

// Expected values and messages are PyTorch's.
describe('tensors that are written to', () => {
  it('get the sizes of the result from addbmm_, and from no other form in place', () => {
    const batch = [tensor([1, 2, 3, 4], [2, 1, 2]), tensor([1, 0, 0, 1, 1, 1, 1, 1], [2, 2, 2])] as const;
    const self = tensor([10], [1]);
    expect(shown(run('aten::addbmm_', self, ...batch, 1n, 1n))).toEqual([
      [1, 2],
      [18, 19],
    ]);
    expect(self.sizes).toEqual([1, 2]);
    expect(() => run('aten::baddbmm_', tensor([10], [1]), ...batch, 1n, 1n)).toThrow(
      'Bad in-place call: input tensor size [1] and output tensor size [2, 1, 2] should match',
    );
  });

  it('are no input of what reads at other places than it writes', () => {
    const overlap = 'unsupported operation: some elements of the input tensor and the written-to tensor';
    const fresh = (): Tensor => tensor([1, 2, 3, 4]);
    let self = fresh();
    const flags = tensor([1, 0, 1, 0], [4], 'bool');
    expect(() => run('aten::take.out', self, longs(1n, 2n), self)).toThrow(overlap);
    self = fresh();
    expect(() => run('aten::gather.out', self, 0n, longs(1n), false, self)).toThrow(overlap);
    self = fresh();
    expect(() => run('aten::masked_select.out', self, flags, self)).toThrow(overlap);
    self = fresh();
    expect(() => run('aten::index_select.out', self, 0n, longs(1n), self)).toThrow(overlap);
    self = fresh();
    expect(elements(run('aten::cumsum.out', self, 0n, null, self))).toEqual([1, 3, 6, 10]);
  });

  it('are written to where they are, unless they are read as well', () => {
    const self = tensor([1, 2, 3, 4], [2, 2]);
    expect(() => run('aten::index_copy_', self, 0n, longs(1n, 0n), self)).toThrow(
      'some elements of the input tensor and the written-to tensor refer to a single memory location',
    );
    expect(elements(run('aten::index_copy_', self, 0n, longs(1n), tensor([7, 8], [1, 2])))).toEqual([1, 2, 7, 8]);
  });

  it('are looked at for their dtype first where PyTorch does', () => {
    expect(() => run('aten::float_power_.Tensor', tensor([1, 2], [2, 1]), tensor([1, 2]))).toThrow(
      "the base given to float_power_ has dtype Float but the operation's result requires dtype Double",
    );
    expect(() => run('aten::div_.Tensor', tensor([1, 2], [2, 1], 'int64'), tensor([1, 2]))).toThrow(
      "output with shape [2, 1] doesn't match the broadcast shape [2, 2]",
    );
  });
});

/** Two elements that each stand at two places. */
const spread = (dtype: ScalarType): Tensor => tensor([1, 2], [2, 1], dtype).asStrided([2, 2], [1, 0]);

describe('a dtype that no kernel takes is refused last', () => {
  const column = (): Tensor => tensor([1, 2], [2, 1]);
  const complexes = Tensor.empty([2], 'complex64');
  const broadcast = "output with shape [2, 1] doesn't match the broadcast shape [2, 2]";
  const cast = "result type ComplexFloat can't be cast to the desired output type Float";

  it.each<[string, readonly IValue[], string]>([
    [
      'aten::bitwise_and.Tensor',
      [tensor([1, 2]), tensor([1, 2, 3])],
      'The size of tensor a (2) must match the size of',
    ],
    ['aten::bitwise_and_.Tensor', [column(), tensor([1, 2])], broadcast],
    ['aten::bitwise_and_.Tensor', [spread('float32'), tensor([1, 2])], 'unsupported operation: more than one'],
    ['aten::bitwise_and_.Tensor', [tensor([1, 2]), tensor([1, 2])], '"bitwise_and_cpu" not implemented for \'Float\''],
    ['aten::bitwise_and_.Tensor', [tensor([1, 2], [2], 'int64'), tensor([1, 2])], "result type Float can't be cast to"],
    ['aten::clamp_max_.Tensor', [column(), complexes], broadcast],
    ['aten::clamp_max_.Tensor', [tensor([1, 2]), complexes], cast],
    ['aten::lerp_.Scalar', [tensor([1, 2], [2, 1], 'int32'), tensor([1, 2], [2], 'int32'), 0.5], broadcast],
    ['aten::igamma_', [longs(1n), longs(1n)], '"igamma_cpu" not implemented for \'Long\''],
    ['aten::mvlgamma_', [spread('int64'), 2n], "mvlgamma: result type Long can't be cast"],
  ])('%s %#', (name, args, message) => {
    expect(() => run(name, ...args)).toThrow(message);
  });
});

it('tensors with elements that are one in memory are written where PyTorch does not look', () => {
  expect(elements(run('aten::fill_.Scalar', spread('float32'), 3n))).toEqual([3, 3, 3, 3]);
  expect(elements(run('aten::conj_physical_', spread('float32')))).toEqual([1, 1, 2, 2]);
  expect(elements(run('aten::nan_to_num_', spread('int32'), null, null, null))).toEqual([1, 1, 2, 2]);
  expect(() => run('aten::nan_to_num_', spread('float32'), null, null, null)).toThrow('unsupported operation');
  expect(() => run('aten::floor_', spread('float32'))).toThrow('unsupported operation');
});

describe('sizes that do not fit are told in PyTorch’s words', () => {
  const ones = (...sizes: number[]): Tensor => tensor(Array<number>(sizes.reduce((a, b) => a * b, 1)).fill(1), sizes);

  it.each<[string, readonly unknown[], string]>([
    ['aten::copy_', [ones(3, 4), ones(5)], 'The size of tensor a (4) must match the size of tensor b (5)'],
    ['aten::copy_', [ones(1, 4), ones(3, 4)], "output with shape [1, 4] doesn't match the broadcast shape [3, 4]"],
    ['aten::expand', [ones(3, 4), [5n]], 'expand(torch.FloatTensor{[3, 4]}, size=[5])'],
    ['aten::t_', [ones(2, 3, 4)], 't_() expects a tensor with <= 2 dimensions, but self is 3D'],
    ['aten::view', [ones(3, 4), [-2n, 3n]], 'invalid shape dimension -2 at index 0 of shape [-2, 3]'],
    ['aten::repeat', [ones(3, 4), [-1n, 2n]], 'Trying to create tensor with negative dimension -3: [-3, 8]'],
    ['aten::masked_select', [ones(3, 4), tensor([1, 1, 1, 1, 1], [5], 'bool')], 'The size of tensor a (5) must'],
    ['aten::index_select', [ones(3, 4), 0n, longs(3n)], 'index out of range in self'],
    ['aten::index_select', [ones(3, 4), 1n, longs(4n)], 'INDICES element is out of DATA bounds, id=4 axis_dim=4'],
    ['aten::baddbmm', [ones(3, 4), ones(3, 4), ones(3, 4)], 'Dimension out of range (expected to be in range of [-2'],
    ['aten::nll_loss', [ones(3, 4), ones(3, 4), null, 1n, -100n], '0D or 1D target tensor expected'],
    ['aten::gru_cell', [ones(3, 4), ones(3, 5), ones(15, 4), ones(12, 5)], 'weight_hh first dim must be 3 * hidden_'],
    ['aten::gru_cell', [ones(3, 4), ones(3, 5), ones(15, 4), ones(15, 4)], 'hidden0 has inconsistent hidden_size: g'],
    ['aten::bernoulli', [tensor([2])], 'Expected p_in >= 0 && p_in <= 1 to be true, but got false.'],
  ])('%s %#', (name, args, message) => {
    const given = args.map((arg) =>
      Array.isArray(arg) ? ints(...(arg as bigint[])) : (arg as Tensor | bigint | null),
    );
    expect(() => run(name, ...given)).toThrow(message);
  });

  it('and equality looks at values, whatever their dtypes', () => {
    expect(run('aten::equal', ones(2), longs(1n, 1n))).toBe(true);
    expect(run('aten::equal', tensor([1.5]), longs(1n))).toBe(false);
  });
});

describe('positions, and what is put there', () => {
  const zeros = (...sizes: number[]): Tensor => Tensor.empty(sizes, 'float32');
  const doubles = (...sizes: number[]): Tensor => Tensor.empty(sizes, 'float64');

  it.each<[string, readonly unknown[], string]>([
    [
      'index_copy',
      [longs(0n, 1n), zeros()],
      'index_copy_(): When source is scalar, index should have one element (got 2)',
    ],
    ['index_copy', [longs(1n), zeros(1)], 'index_copy_(): When source and destination are not scalars, their dimens'],
    ['index_copy', [zeros(1), zeros(1, 3)], 'index_copy_(): Expected a long tensor for index, but got Float'],
    ['index_copy', [longs(1n), doubles(1, 3)], 'index_copy_(): self and source expected to have the same dtype'],
    ['index_copy', [longs(1n), zeros(1, 4)], 'must have same slice shapes. Destination slice shape: 3 at dimension 0'],
    ['index_copy', [longs(2n ** 63n - 1n), zeros(1, 3)], 'index_copy_(): index 9223372036854775807 is out of bounds'],
    ['index_add', [zeros(1), zeros(1, 3), 1n], 'index_add_(): Expected dtype int32/int64 for index but got: Float'],
    ['index_add', [longs(0n, 1n), zeros(), 1n], 'Dimension specified as 0 but tensor has no dimensions'],
    [
      'index_add',
      [longs(1n), zeros(1), 1n],
      'source tensor shape must match self tensor shape, excluding the specified',
    ],
    ['index_add', [longs(5n), zeros(1, 3), 1n], 'index 5 is out of bounds for dimension 0 with size 3'],
    ['index_add', [tensor([5], [1], 'int32'), zeros(1, 3), 1n], 'index out of range in self'],
    ['put', [zeros(1), zeros(1), false], 'put_(): Expected a long tensor for index, but got Float'],
    ['put', [longs(1n, 2n), zeros(1), false], 'put_(): Expected source and index to have the same number of elements'],
  ])('%s %#', (name, args, message) => {
    const given = args as readonly (Tensor | bigint | boolean)[];
    const self = zeros(3, 3);
    expect(() => run(`aten::${name}`, self, ...(name === 'put' ? [] : [0n]), ...given)).toThrow(message);
  });

  it('of index_fill and isin', () => {
    expect(() => run('aten::index_fill.int_Scalar', zeros(3), 0n, zeros(1), 1)).toThrow(
      'index_fill_(): Expected dtype int64 for index.',
    );
    const long = 2n ** 53n;
    const options = [false, false] as const;
    expect(elements(run('aten::isin.Tensor_Tensor', longs(long, 5n), longs(long + 1n, 5n), ...options))).toEqual([
      0, 1,
    ]);
    expect(() => run('aten::isin.Tensor_Tensor', longs(1n), tensor([1], [1], 'bool'), ...options)).toThrow(
      'Unsupported input type encountered for isin(): Bool',
    );
  });
});

describe('arguments out of range', () => {
  it.each([
    [[3n, 0n, 0n], 'Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.'],
    [[0n, 0n, -1n], 'start (0) + length (-1) exceeds dimension size (2).'],
    [[0n, 4n, -1n], 'start out of range (expected to be in range of [-2, 2], but got 4)'],
    [[-3n, 0n, 1n], 'Dimension out of range (expected to be in range of [-2, 1], but got -3)'],
  ])('of narrow_copy %#', (args, message) => {
    expect(() => run('aten::narrow_copy', tensor([1, 2, 3, 4], [2, 2]), ...args)).toThrow(message);
  });

  it('of functions are NaN where there is no limit', () => {
    expect(elements(run('aten::special_bessel_j0', tensor([Infinity])))).toEqual([NaN]);
    expect(elements(run('aten::special_bessel_y1', tensor([Infinity, -1])))).toEqual([NaN, NaN]);
  });
});

describe('dtypes', () => {
  it('that _add_relu takes', () => {
    expect(elements(run('aten::_add_relu.Tensor', tensor([1, -2]), tensor([1, 1]), 2n))).toEqual([3, 0]);
    expect(elements(run('aten::_add_relu_.Scalar', longs(1n, -5n), 2n, 1n))).toEqual([3n, 0n]);
    expect(() => run('aten::_add_relu.Tensor', tensor([1], [1], 'float16'), tensor([1], [1], 'float16'), 1n)).toThrow(
      'Unsupported datatype for add_relu:c10::Half',
    );
  });

  it('of what addmm, and linear with a bias, multiply and add, before their sizes', () => {
    const matrix = (rows: number, columns: number, dtype?: 'float64'): Tensor =>
      tensor(new Array<number>(rows * columns).fill(1), [rows, columns], dtype);
    const addmm = (...operands: Tensor[]): unknown => run('aten::addmm', ...operands, 1n, 1n);
    const double = matrix(2, 4, 'float64');
    expect(() => addmm(tensor([1]), matrix(2, 3), double)).toThrow(
      'self and mat2 must have the same dtype, but got Float and Double',
    );
    const other = 'mat1 and mat2 must have the same dtype, but got Float and Double';
    expect(() => addmm(matrix(1, 1, 'float64'), matrix(2, 3), double)).toThrow(other);
    expect(() => run('aten::linear', matrix(2, 3), double, matrix(1, 2, 'float64'))).toThrow(other);
    expect(() => run('aten::linear', matrix(2, 4), double, null)).toThrow(
      'expected m1 and m2 to have the same dtype, but got: float != double',
    );
  });

  it('of convolutions, with the bias first where the padding is numbers, of cells, and of prelu', () => {
    const ones = (dtype: 'float32' | 'float64', ...sizes: number[]): Tensor =>
      tensor(Array<number>(sizes.reduce((a, b) => a * b, 1)).fill(1), sizes, dtype);
    const [input, weight, bias] = [ones('float64', 1, 1, 4), ones('float32', 1, 1, 2), ones('float32', 1)];
    const one = ints(1n);
    expect(() => run('aten::conv1d', input, weight, bias, one, ints(0n), one, 1n)).toThrow(
      'Input type (double) and bias type (float) should be the same',
    );
    for (const call of [
      () => run('aten::conv1d', input, weight, null, one, ints(0n), one, 1n),
      () => run('aten::conv1d.padding', input, weight, bias, one, 'same', one, 1n),
      () => run('aten::conv_transpose1d', input, weight, bias, one, ints(0n), ints(0n), 1n, one),
    ]) {
      expect(call).toThrow('expected scalar type Double but found Float');
    }
    const [square, gates] = [ones('float64', 2, 2), ones('float32', 6, 2)];
    const cell = (...biases: (Tensor | null)[]): unknown =>
      run('aten::gru_cell', square, square, gates, gates, ...biases);
    expect(() => cell(null, null)).toThrow('expected m1 and m2 to have the same dtype, but got: double != float');
    expect(() => cell(ones('float32', 6), ones('float32', 6))).toThrow(
      'mat1 and mat2 must have the same dtype, but got',
    );
    expect(() => cell(ones('float64', 6), null)).toThrow('self and mat2 must have the same dtype, but got Double and');
    expect(() => run('aten::prelu', input, bias)).toThrow('prelu: Type promoting not supported. Got Double and Float');
  });

  it('of what is multiplied or made sum to one, where there are elements', () => {
    const flags = (rows: number, columns: number): Tensor =>
      tensor(new Array<number>(rows * columns).fill(1), [rows, columns], 'bool');
    expect(shown(run('aten::mm', flags(2, 0), flags(0, 1)))).toEqual([
      [2, 1],
      [0, 0],
    ]);
    expect(() => run('aten::mm', flags(2, 1), flags(1, 1))).toThrow(`"addmm_impl_cpu_" not implemented for 'Bool'`);
    expect(shown(run('aten::softmax.int', tensor([], [2, 0], 'int32'), -1n, null))).toEqual([[2, 0], []]);
  });

  it('of products with vectors, of batches, of contracted dimensions', () => {
    const ones = (dtype: 'float32' | 'float64' | 'bool', ...sizes: number[]): Tensor =>
      tensor(Array<number>(sizes.reduce((a, b) => a * b, 1)).fill(1), sizes, dtype);
    expect(() => run('aten::mv', ones('bool', 2, 2), ones('bool', 2))).toThrow(
      `"addmv_impl_cpu" not implemented for 'Bool'`,
    );
    expect(() => run('aten::addmv', ones('float64', 2), ones('float32', 2, 2), ones('float32', 2), 1n, 1n)).toThrow(
      'addmv input tensors must have the same dtype, but got Double, Float, and Float',
    );
    const batch = ones('float32', 3, 2, 2);
    expect(() => run('aten::baddbmm', ones('float64', 3, 2, 2), batch, batch, 1n, 1n)).toThrow(
      'Input dtypes must be the same, got: input double, batch1: float, batch2: float',
    );
    expect(() => run('aten::addbmm', ones('float32', 2, 2), batch, ones('float64', 3, 2, 2), 1n, 1n)).toThrow(
      'self and mat2 must have the same dtype, but got Float and Double',
    );
    expect(() => run('aten::addbmm', ones('float32', 2, 2), batch, ones('float32', 2, 2, 2), 1n, 1n)).toThrow(
      'batch1 and batch2 must have same number of batches, got 3 and 2',
    );
    expect(() => run('aten::linear', ones('float32', 0), ones('float32', 4, 1), null)).toThrow(
      'mat1 and mat2 shapes cannot be multiplied (1x0 and 1x4)',
    );
    // Sums of nothing are 0 whatever they are multiplied by.
    expect(
      elements(run('aten::addmm', tensor([3], [1, 1]), ones('float32', 1, 0), ones('float32', 0, 1), 2n, NaN)),
    ).toEqual([6]);
  });

  it('of matrices that belong together', () => {
    const ones = (dtype: 'float32' | 'float64' | 'int64', ...sizes: number[]): Tensor =>
      tensor(Array<number>(sizes.reduce((a, b) => a * b, 1)).fill(1), sizes, dtype);
    const matrix = ones('float32', 2, 2);
    expect(() => run('aten::cholesky_solve', matrix, ones('float64', 2, 2), false)).toThrow(
      'Expected b and A to have the same dtype, but found b of type Float and A of type Double instead.',
    );
    expect(() => run('aten::cholesky_solve', ones('int64', 2, 2), ones('int64', 2, 2), false)).toThrow(
      '"cholesky_solve_cpu"',
    );
    expect(() => run('aten::orgqr', matrix, ones('float64', 2))).toThrow(
      'tau dtype Double does not match input dtype Float',
    );
    expect(() => run('aten::ormqr', matrix, ones('float32', 3, 2), matrix, true, false)).toThrow(
      'torch.ormqr: Expected tau to have one dimension less than input',
    );
    expect(() => runAll('aten::linalg_lu_factor', matrix, false)).toThrow(
      'LU without pivoting is not implemented on the CPU',
    );
    expect(() =>
      run('aten::linalg_matrix_norm', tensor([1, 2], [1, 2], 'float16'), 2n, ints(0n, 1n), false, null),
    ).toThrow('linalg.matrix_norm: Low precision dtypes not supported. Got Half');
  });

  it('of triangles of indices, of losses of classes over positions', () => {
    expect(() => run('aten::tril_indices', 2n, 2n, 0n, 2n, null, null, null)).toThrow(
      `"tril_indices" not implemented for 'Short'`,
    );
    const scores = tensor([1, 2], [1, 2, 1], 'int32');
    expect(() => run('aten::nll_loss_nd', scores, tensor([0], [1, 1], 'int64'), null, 1n, -100n)).toThrow(
      `"nll_loss2d_forward_out_frame" not implemented for 'Int'`,
    );
  });

  it('of adaptive averages, where there is anything to average', () => {
    const none = tensor([], [0, 8, 8], 'int32');
    expect(shown(run('aten::adaptive_avg_pool1d', none, ints(5n)))).toEqual([[0, 8, 5], []]);
    expect(() => run('aten::adaptive_avg_pool1d', tensor([1, 2], [1, 1, 2], 'int32'), ints(2n))).toThrow(
      `"adaptive_avg_pool2d" not implemented for 'Int'`,
    );
    expect(() => run('aten::adaptive_avg_pool1d', none, ints(1n))).toThrow('mean(): could not infer output dtype.');
  });

  it('by the overload, and by the dtype that is asked for', () => {
    const complex = Tensor.fromArray(Float64Array.of(1, 2), [1], 'complex128');
    expect(() => run('aten::lerp.Tensor', longs(1n), longs(2n), longs(1n))).toThrow('"lerp_kernel_tensor"');
    expect(() => run('aten::lerp.Scalar', longs(1n), longs(2n), 1)).toThrow('"lerp_kernel_scalar"');
    expect(() => run('aten::max.other', complex, complex)).toThrow('maximum not implemented for complex tensors.');
    expect(() => runAll('aten::sort', complex, 0n, false)).toThrow('Sort does not support complex dtypes on CPU');
    expect(() => runAll('aten::median.dim', tensor([1], [1], 'bool'), 0n, false)).toThrow('"median_out"');
    expect(() => run('aten::rand_like', longs(1n), null, null, null, null, null)).toThrow('"check_uniform_bounds"');
    expect((run('aten::rand_like', longs(1n), 6n, null, null, null, null) as Tensor).dtype).toBe('float32');
  });

  it('before anything else is found wrong with the results', () => {
    const complex = Tensor.fromArray(Float64Array.of(1, 2), [1], 'complex128');
    expect(() => new OperatorCall(findRow('aten::digamma', '')!, [complex]).outputs).toThrow(
      '"digamma" not implemented',
    );
  });

  it('that rounding and nansum write', () => {
    expect(() => run('aten::round.decimals', longs(1n), 1n)).toThrow(`"round_cpu" not implemented for 'Long'`);
    expect(elements(run('aten::nansum.out', longs(1n, 2n), null, false, null, longs(0n)))).toEqual([3n]);
    expect(() => run('aten::nansum.out', tensor([1]), null, false, null, longs(0n))).toThrow(
      `"nansum_cpu" not implemented for 'Long'`,
    );
  });

  it('of complex numbers in rms_norm, which squares them as they are', () => {
    const input = Tensor.fromArray(Float64Array.of(1, 2, 3, -1), [2], 'complex128');
    const output = run('aten::rms_norm', input, ints(2n), null, 0.5) as Tensor;
    const expected = [new Complex(0.37, 1.2), new Complex(1.76, -0.28)];
    expect([...(output.contiguousArray() as Float64Array)].map((value) => Math.round(value * 100) / 100)).toEqual(
      expected.flatMap(({ re, im }) => [re, im]),
    );
  });
});

describe('the mode', () => {
  it('is where sorting puts its last one, NaN standing where it may', () => {
    const values = tensor([1, 0, 3, 1, NaN, 1, NaN, NaN, 1, 1, NaN, 1, NaN, 2, 0, 1, 1]);
    expect(runAll('aten::mode', values, -1n, false).flatMap(elements)).toEqual([1, 15n]);
  });
});

describe('a dtype without a kernel', () => {
  const none = (dtype: ScalarType, sizes: number[]): Tensor => Tensor.empty(sizes, dtype);

  it('is refused after sizes, and where the kernel would have something to do', () => {
    const max = (sizes: number[]): unknown => run('aten::max.dim', none('complex64', sizes), 0n, false);
    expect(() => max([0, 2])).toThrow('max(): Expected reduction dim 0 to have non-zero size.');
    expect(() => max([2, 2])).toThrow('max(): does not support complex input');
    expect(elements(run('aten::amax', none('complex64', [2, 0]), ints(0n), false))).toEqual([]);
    expect(() => run('aten::kthvalue', none('bool', [2, 2]), 1n, 0n, false)).toThrow(
      `"kthvalue_cpu" not implemented for 'Bool'`,
    );
    const first = runAll('aten::kthvalue', tensor([1], [], 'bool'), 1n, 0n, false);
    expect(elements(first[0] as Tensor)).toEqual([1]);
    expect(elements(run('aten::median', none('int32', [0])))).toEqual([-(2 ** 31)]);
    expect(() => run('aten::mean.dim', none('int8', [2]), ints(5n), false, null)).toThrow(
      'mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Char',
    );
  });

  it('is refused by noise that is divided', () => {
    expect(() => run('aten::dropout', none('int32', [2]), 0.5, true)).toThrow(
      `result type Float can't be cast to the desired output type Int`,
    );
    expect(() => run('aten::alpha_dropout', none('bool', [2]), 0.5, true)).toThrow(
      `result type Float can't be cast to the desired output type Long`,
    );
    expect(elements(run('aten::dropout', tensor([NaN, 1]), 1, true))).toEqual([NaN, 0]);
  });

  it('is told from slices of nothing, along which nothing is unique', () => {
    const unique = (self: Tensor): unknown => runAll('aten::unique_dim', self, 0n, true, false, false);
    expect(() => unique(none('complex64', [2, 2]))).toThrow(`"unique_dim" not implemented for 'ComplexFloat'`);
    expect(() => unique(none('float32', [2, 0]))).toThrow(`There are 0 sized dimensions, and they aren't selected`);
    expect(() => unique(none('float32', [0, 0]))).toThrow('Number of zero sized dimensions is more than one');
  });
});

describe('parameters of a norm', () => {
  const norm = (input: ScalarType, weight: ScalarType | null, bias: ScalarType | null): unknown => {
    const [own, ...parameters] = [input, weight, bias].map((dtype) => dtype && tensor([1, 2], [2], dtype));
    return run('aten::layer_norm', own, ints(2n), parameters[0], parameters[1], 1e-5, true);
  };

  it('have its dtype, or are float32 beside half precision', () => {
    const mixed = 'mixed dtype (CPU): ';
    expect(() => norm('float32', 'float64', 'float32')).toThrow(
      `${mixed}expect parameter to have scalar type of Float`,
    );
    expect(() => norm('float64', 'float32', 'float32')).toThrow(`${mixed}all inputs must share same datatype.`);
    expect(() => norm('float32', 'float32', 'float16')).toThrow('expected scalar type Float but found Half');
    expect(() => norm('float16', 'float32', null)).not.toThrow();
  });

  it('are looked for before a kernel', () => {
    expect(() => norm('int64', 'float32', null)).toThrow('all inputs must share same datatype.');
    expect(() => norm('int64', null, null)).toThrow(`"LayerNormKernelImpl" not implemented for 'Long'`);
  });
});

it('polygamma names the kernel of its order', () => {
  const polygamma = (n: bigint): unknown => run('aten::polygamma', n, Tensor.empty([2], 'complex64'));
  for (const [n, kernel] of [
    [0n, 'digamma'],
    [1n, 'trigamma'],
    [2n, 'polygamma'],
  ] as const) {
    expect(() => polygamma(n)).toThrow(`"${kernel}" not implemented for 'ComplexFloat'`);
  }
});

describe('a dtype that LAPACK does not know', () => {
  const empty = (dtype: ScalarType, sizes: number[]): Tensor => Tensor.empty(sizes, dtype);

  it('is refused once sizes are right, and not where there are no elements', () => {
    for (const [name, kernel, ...more] of [
      ['aten::cholesky', 'cholesky_cpu', false],
      ['aten::linalg_lu_factor', 'lu_cpu', true],
      ['aten::linalg_eigvalsh', 'linalg_eigh_cpu', 'L'],
    ] as const) {
      expect(() => run(name, empty('bfloat16', [2, 2]), ...more)).toThrow(`"${kernel}" not implemented for 'BFloat16'`);
      expect((runAll(name, empty('bfloat16', [2, 0, 0]), ...more)[0] as Tensor).numel).toBe(0);
    }
    expect(() => run('aten::linalg_eigvalsh', empty('float16', [2, 3]), 'L')).toThrow(
      'linalg.eigh: A must be batches of square matrices, but they are 2 by 3 matrices',
    );
    expect(() => run('aten::geqrf', empty('int32', [0, 0]))).toThrow(`"geqrf_cpu" not implemented for 'Int'`);
    expect(() => run('aten::geqrf', empty('int32', [3]))).toThrow(
      'torch.geqrf: input must have at least 2 dimensions.',
    );
  });

  it('is refused where a bound follows from it', () => {
    const none = 'linalg.pinv(Int{[2, 2]}): expected a tensor with 2 or more dimensions of float, double';
    const unknown = "This function doesn't handle types other than float and double";
    const pinv = 'aten::linalg_pinv.atol_rtol_float';
    expect(() => run(pinv, empty('int32', [2, 2]), null, null, false)).toThrow(unknown);
    expect(() => run(pinv, empty('int32', [2, 2]), null, 0.5, false)).toThrow(none);
    expect(() => run('aten::linalg_matrix_rank.atol_rtol_float', empty('int8', [0, 2]), null, null, false)).toThrow(
      unknown,
    );
    const rank = run('aten::linalg_matrix_rank.atol_rtol_float', empty('bfloat16', [0, 2, 2]), null, 0.5, false);
    expect(elements(rank)).toEqual([]);
  });

  it('has powers, as long as no inverse is asked for', () => {
    const sevens = tensor([7, 7, 7, 7], [2, 2], 'uint8');
    expect(elements(run('aten::linalg_matrix_power', sevens, 4n))).toEqual([8, 8, 8, 8]);
    expect(() => run('aten::linalg_matrix_power', sevens, -1n)).toThrow(
      'linalg.inv: Expected a floating point or complex tensor as input. Got Byte',
    );
  });
});
