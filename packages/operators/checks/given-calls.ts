import { IntType, scalarTypeCode, TensorType } from '@cresset/ir';
import { DeviceValue, List, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { run } from '../src/operator-fixture.ts';
import { side, tensorOf } from './sample-tensors.ts';

/** Arguments for large tensors of about so many elements. */
type Given = (elements: number) => readonly IValue[];

const floats = (...sizes: number[]): Tensor => tensorOf(sizes, 'float32');
const longs = (...sizes: number[]): Tensor => tensorOf(sizes, 'int64');
const ints = (...items: number[]): List => new List(IntType.get(), items.map(BigInt));
const tensors = (...items: Tensor[]): List => new List(TensorType.get(), items);
const code = (dtype: ScalarType): bigint => BigInt(scalarTypeCode(dtype));

/** Numbers of an own tensor by their places. */
const longsBy = (sizes: readonly number[], value: (at: number) => number): Tensor =>
  Tensor.fromArray(
    BigInt64Array.from({ length: sizes.reduce((product, size) => product * size, 1) }, (_, at) => BigInt(value(at))),
    sizes,
    'int64',
  );

/** A positive definite matrix. */
function definite(size: number): Tensor {
  const elements = new Float32Array(size * size);
  for (let at = 0; at < size; at++) elements[at * (size + 1)] = 2 + (at % 3);
  return Tensor.fromArray(elements, [size, size], 'float32');
}

/** Rows that an LU factorisation changed with no others. */
const pivots = (size: number): Tensor =>
  Tensor.fromArray(
    Int32Array.from({ length: size }, (_, at) => at + 1),
    [size],
    'int32',
  );

/** Height and width of so many planes. */
const plane = (elements: number, planes: number): number => side(elements / planes, 2);

const quantized = (elements: number): Tensor =>
  run('aten::quantize_per_tensor', floats(elements), 0.01, 0n, code('quint8')) as Tensor;

const sequences = (elements: number): number => side(elements / 8, 2);

/** Sequences of unequal lengths: what they are padded to, and what of it is theirs. */
function padded(elements: number): [Tensor, Tensor] {
  const length = sequences(elements);
  const mask = Uint8Array.from({ length: 8 * length }, (_, at) =>
    Number(at % length < length - Math.floor(at / length)),
  );
  return [floats(8, length, length), Tensor.fromArray(mask, [8, length], 'bool')];
}

const nested = (elements: number): Tensor => run('aten::_nested_tensor_from_mask', ...padded(elements), true) as Tensor;

/** A picture, and so many regions of it that there are about as many elements in what is pooled of them. */
const regions = (elements: number, channels: number, pooled: number): [Tensor, Tensor, number, bigint, bigint] => {
  const size = plane(elements, channels);
  const count = Math.max(1, Math.floor(elements / (channels * pooled * pooled)));
  const rois = Float32Array.from({ length: 5 * count }, (_, at) => (at % 5 < 3 ? 0 : size - 1));
  return [
    floats(1, channels, size, size),
    Tensor.fromArray(rois, [count, 5], 'float32'),
    1,
    BigInt(pooled),
    BigInt(pooled),
  ];
};

/** Arguments of operators that go by more than what their schemas say. */
export const givenCalls: Readonly<Record<string, Given | undefined>> = {
  'aten::to.device': (n) => [floats(n), DeviceValue.parse('cpu'), code('float64'), false, false, null],
  'aten::addmv': (n) => [floats(side(n, 2)), floats(side(n, 2), side(n, 2)), floats(side(n, 2)), 1n, 1n],
  'aten::addbmm': (n) => [
    floats(plane(n, 4), plane(n, 4)),
    floats(4, plane(n, 4), plane(n, 4)),
    floats(4, plane(n, 4), plane(n, 4)),
    1n,
    1n,
  ],
  'aten::einsum': (n) => ['ij,jk->ik', tensors(floats(side(n, 2), side(n, 2)), floats(side(n, 2), side(n, 2))), null],
  'aten::_grouped_mm': (n) => {
    // Rows begin at multiples of 16 bytes.
    const size = 4 * Math.max(1, Math.floor(plane(n, 4) / 4));
    return [floats(4, size, size), floats(4, size, size), null, null, null];
  },
  'aten::_convolution_mode': (n) => [
    floats(1, 4, plane(n, 4), plane(n, 4)),
    floats(4, 4, 3, 3),
    null,
    ints(1, 1),
    'same',
    ints(1, 1),
    1n,
  ],
  'aten::col2im': (n) => {
    const size = plane(n, 36);
    return [floats(1, 36, size * size), ints(size, size), ints(3, 3), ints(1, 1), ints(1, 1), ints(1, 1)];
  },
  'aten::istft': (n) => {
    const self = tensorOf([33, Math.max(4, Math.floor(n / 33))], 'complex64');
    return [self, 64n, null, null, null, true, false, null, null, false];
  },
  'torchaudio::_lfilter_core_loop': (n) => {
    const length = Math.floor(n / 8);
    return [floats(2, 4, length), floats(4, 3), Tensor.empty([2, 4, length + 2], 'float32')];
  },
  'torchaudio::forced_align': (n) => {
    const length = side(n, 2);
    const classes = longsBy([1, Math.floor(length / 4)], (at) => 1 + (at % (length - 1)));
    return [floats(1, length, length), classes, longsBy([1], () => length), longsBy([1], () => classes.numel), 0n];
  },
  'aten::native_group_norm': (n) => {
    const size = plane(n, 8);
    return [floats(2, 4, size, size), null, null, 2n, 4n, BigInt(size * size), 2n, 1e-5];
  },
  'aten::view_as_complex_copy': (n) => [floats(n / 2, 2)],
  'aten::cholesky': (n) => [definite(side(n, 2)), false],
  'aten::linalg_cholesky': (n) => [definite(side(n, 2)), false],
  'aten::lu_unpack': (n) => [definite(side(n, 2)), pivots(side(n, 2)), true, true],
  'aten::linalg_lu_solve': (n) => [
    definite(side(n, 2)),
    pivots(side(n, 2)),
    floats(side(n, 2), side(n, 2)),
    true,
    false,
  ],
  'aten::lu_solve': (n) => [floats(side(n, 2), side(n, 2)), definite(side(n, 2)), pivots(side(n, 2))],
  'aten::linalg_norm.ord_str': (n) => [floats(side(n, 2), side(n, 2)), 'nuc', null, false, null],
  'aten::linalg_cond.p_str': (n) => [floats(side(n, 2), side(n, 2)), 'nuc'],
  'aten::_nested_tensor_from_mask_left_aligned': (n) => padded(n),
  'aten::_nested_tensor_from_mask': (n) => [...padded(n), true],
  'aten::_nested_from_padded_and_nested_example': (n) => [padded(n)[0], nested(n)],
  'aten::to_padded_tensor': (n) => [nested(n), 0, null],
  'aten::nested_to_padded_tensor': (n) => [nested(n), 0, null],
  'aten::q_scale': (n) => [quantized(n)],
  'aten::q_zero_point': (n) => [quantized(n)],
  'aten::_make_per_tensor_quantized_tensor': (n) => [tensorOf([n], 'uint8'), 0.01, 0n],
  'aten::_make_per_channel_quantized_tensor': (n) => [
    tensorOf([side(n, 2), side(n, 2)], 'uint8'),
    floats(side(n, 2)),
    longs(side(n, 2)),
    0n,
  ],
  'aten::_empty_affine_quantized': (n) => [ints(n), code('quint8'), null, null, null, 0.01, 0n, null],
  'aten::_empty_per_channel_affine_quantized': (n) => [
    ints(side(n, 2), side(n, 2)),
    floats(side(n, 2)),
    longs(side(n, 2)),
    0n,
    code('quint8'),
    null,
    null,
    null,
    null,
  ],
  'aten::multinomial': (n) => [floats(side(n, 2), side(n, 2)), BigInt(side(n, 2)), true, null],
  'aten::grid_sampler': (n) => [
    floats(1, 4, plane(n, 4), plane(n, 4)),
    floats(1, plane(n, 4), plane(n, 4), 2),
    0n,
    0n,
    false,
  ],
  'aten::grid_sampler_2d': (n) => [
    floats(1, 4, plane(n, 4), plane(n, 4)),
    floats(1, plane(n, 4), plane(n, 4), 2),
    2n,
    2n,
    true,
  ],
  'aten::grid_sampler_3d': (n) => {
    const size = side(n / 4, 3);
    return [floats(1, 4, size, size, size), floats(1, size, size, size, 3), 0n, 0n, false];
  },
  'aten::randint_like.Tensor': (n) => [floats(n), longsBy([], () => 7), null, null, null, null, null],
  'aten::scatter.reduce': (n) => [
    floats(side(n, 2), side(n, 2)),
    0n,
    longs(side(n, 2), side(n, 2)),
    floats(side(n, 2), side(n, 2)),
    'add',
  ],
  'aten::scatter.value_reduce': (n) => [
    floats(side(n, 2), side(n, 2)),
    1n,
    longs(side(n, 2), side(n, 2)),
    0.5,
    'multiply',
  ],
  'aten::histogramdd.TensorList_bins': (n) => {
    const edges = Tensor.fromArray(
      Float32Array.from({ length: 65 }, (_, at) => at / 64),
      [65],
      'float32',
    );
    return [floats(n / 2, 2), tensors(edges, edges), null, null, false];
  },
  'torchvision::nms': (n) => [floats(side(n, 2), 4), floats(side(n, 2)), 0.5],
  'torchvision::box_iou_rotated': (n) => [floats(side(n, 2), 5), floats(side(n, 2), 5)],
  'torchvision::roi_align': (n) => [...regions(n, 4, 7), 2n, false],
  'torchvision::ps_roi_align': (n) => [...regions(n, 16, 2), 2n],
  'torchvision::roi_pool': (n) => regions(n, 4, 7),
  'torchvision::ps_roi_pool': (n) => regions(n, 16, 2),
  'torchvision::deform_conv2d': (n) => {
    const size = plane(n, 18);
    const planes = (count: number): Tensor => floats(1, count, size, size);
    const ones = Array<bigint>(8).fill(1n);
    return [planes(4), floats(4, 4, 3, 3), planes(18), planes(9), floats(4), ...ones, true];
  },
  'aten::_convert_weight_to_int4pack_for_cpu': (n) => {
    const size = 64 * Math.max(1, Math.floor(side(n, 2) / 64));
    return [tensorOf([size, size], 'int32'), 2n];
  },
  'aten::_weight_int4pack_mm_for_cpu': (n) => {
    const size = 64 * Math.max(1, Math.floor(side(n, 2) / 64));
    return [floats(64, size), tensorOf([size, size / 2], 'uint8'), 32n, floats(size / 32, size, 2)];
  },
  'aten::_weight_int8pack_mm': (n) => [
    floats(64, side(n, 2)),
    tensorOf([side(n, 2), side(n, 2)], 'int8'),
    floats(side(n, 2)),
  ],
};
