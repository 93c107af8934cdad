import { scalarTypeIrName } from '@cresset/ir';
import { Tensor, type ScalarType } from '@cresset/tensor';
import { kernel, property, scalar } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import { numberReader } from '../../kernels/elements.ts';
import type { OperatorRow } from '../../table/row.ts';
import {
  asQuantized,
  copyAs,
  dequantized,
  emptyQuantized,
  integersOf,
  quantized,
  quantizedTypeOf,
  quantizerOf,
  rangeOf,
  tensorQuantizer,
  tensorQuantizerOf,
  type TensorQuantizer,
} from './affine.ts';
import { chooseQuantizer } from './packed-weights.ts';
import type { Quantizer } from '@cresset/tensor';
import { mapped } from '../../kernels/loops/mapped.ts';
import type { Pieces } from '../../kernels/loops/pieces.ts';

interface Self {
  readonly self: Tensor;
}

/** Throws what PyTorch does of a tensor that is not quantised. */
function expectQuantized(self: Tensor, operator: string): Tensor {
  check(self.quantizer !== null, () => `Could not run 'aten::${operator}' with arguments from the 'CPU' backend.`);
  return self;
}

function perChannel(self: Tensor, operator: string): Quantizer {
  const quantizer = quantizerOf(expectQuantized(self, operator));
  check(
    quantizer.axis !== null,
    'Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)',
  );
  return quantizer;
}

function perTensor(self: Tensor, operator: string): TensorQuantizer {
  return tensorQuantizerOf(expectQuantized(self, operator));
}

/** A quantiser of one pair, where the dtype holds the zero point. */
function checkedQuantizer(scale: number, zeroPoint: number, dtype: ScalarType): TensorQuantizer {
  const [min, max] = rangeOf(dtype);
  const said = (bound: string): string =>
    `quantize_tensor_per_tensor_affine zero_point ${zeroPoint} is ${bound} bound.`;
  check(zeroPoint >= min, () => said('below lower'));
  check(zeroPoint <= max, () => said('above upper'));
  return tensorQuantizer(scale, zeroPoint);
}

/** A pair for each index of a dimension; zero points that are no integers stay so. */
function* channelQuantizer(self: Tensor, scales: Tensor, zeroPoints: Tensor, axis: number): Pieces<Quantizer> {
  check(scales.dim === 1, 'scale tensor must have dimension 1');
  check(zeroPoints.dim === 1, 'zero_points tensor must have dimension 1');
  check(scales.numel === zeroPoints.numel, 'number of elements in scales and zero_points must match');
  check(axis >= 0 && axis < self.dim, 'Channel axis out of range in per channel affine quantization.');
  check(
    self.sizes[axis] === scales.numel,
    `length of scales must equal to channel, expected ${self.sizes[axis]} got, ${scales.numel}`,
  );
  const isFloating = zeroPoints.dtype === 'float32';
  return {
    scale: yield* copyAs(scales, isFloating ? 'float32' : 'float64'),
    zeroPoint: yield* copyAs(zeroPoints, isFloating ? 'float32' : 'int64'),
    axis,
  };
}

const numberAt = (tensor: Tensor, index: number): number =>
  numberReader(tensor)(tensor.storageOffset + index * (tensor.strides[0] ?? 0));

const boundsOf = (dtype: ScalarType, reduceRange: boolean): readonly [number, number] => {
  const [min, max] = rangeOf(dtype);
  return reduceRange ? [Math.trunc(min / 2), Math.trunc(max / 2)] : [min, max];
};

/** Integers of a tensor's own, copied, with a quantiser. */
function fromIntegers(self: Tensor, quantizer: Quantizer): Tensor {
  const dtype = quantizedTypeOf(self.dtype);
  check(dtype !== undefined, () => `"_make_quantized_tensor" not implemented for '${scalarTypeIrName(self.dtype)}'`);
  const copy = Tensor.fromArray(self.contiguousArray().slice() as Int32Array, self.sizes, self.dtype);
  return asQuantized(copy, quantizer, dtype!);
}

interface Parameters {
  readonly scale: number;
  readonly zero_point: number;
}

const MAKING = 'ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None';

/** Making and taking apart quantised tensors. */
export const quantizedTensorRows: readonly OperatorRow[] = [
  ...['self(Tensor self)', 'tensor(Tensor qtensor)'].map((form) =>
    kernel<{ self?: Tensor; qtensor?: Tensor }>(`aten::dequantize.${form} -> Tensor`, {
      takesQuantized: true,
      host: ({ self, qtensor }) => dequantized((self ?? qtensor)!),
    }),
  ),
  ...['tensors(Tensor[] tensors)', 'list(Tensor[] qtensors)'].map((form) =>
    kernel<{ tensors?: readonly Tensor[]; qtensors?: readonly Tensor[] }>(`aten::dequantize.${form} -> Tensor[]`, {
      takesQuantized: true,
      host: ({ tensors, qtensors }) => mapped((tensors ?? qtensors)!, dequantized),
    }),
  ),
  kernel<Self>('aten::int_repr(Tensor self) -> Tensor', {
    takesQuantized: true,
    host: ({ self }) => integersOf(expectQuantized(self, 'int_repr')),
  }),
  property<Self>('aten::q_scale(Tensor self) -> float', ({ self }) => perTensor(self, 'q_scale').scale),
  property<Self>('aten::q_zero_point(Tensor self) -> int', ({ self }) => perTensor(self, 'q_zero_point').zeroPoint),
  kernel<Self>('aten::q_per_channel_scales(Tensor self) -> Tensor', {
    takesQuantized: true,
    host: ({ self }) => {
      const scale = perChannel(self, 'q_per_channel_scales').scale as Tensor;
      return copyAs(scale, scale.dtype);
    },
  }),
  kernel<Self>('aten::q_per_channel_zero_points(Tensor self) -> Tensor', {
    takesQuantized: true,
    host: ({ self }) => {
      const zeroPoint = perChannel(self, 'q_per_channel_zero_points').zeroPoint as Tensor;
      return copyAs(zeroPoint, zeroPoint.dtype);
    },
  }),
  // Affine schemes by their numbers: one for all, and one a channel.
  scalar('aten::qscheme(Tensor self) -> QScheme', (self) =>
    quantizerOf(expectQuantized(self as Tensor, 'qscheme')).axis === null ? 0n : 1n,
  ),
  property<Self>(
    'aten::q_per_channel_axis(Tensor self) -> int',
    ({ self }) => perChannel(self, 'q_per_channel_axis').axis,
  ),
  kernel<Self & Parameters & { dtype: ScalarType }>(
    'aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor',
    {
      host: ({ self, scale, zero_point: zeroPoint, dtype }) =>
        quantized(self, checkedQuantizer(scale, zeroPoint, dtype), dtype),
    },
  ),
  kernel<Self & { scale: Tensor; zero_point: Tensor; dtype: ScalarType }>(
    'aten::quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) -> Tensor',
    {
      host: ({ self, scale, zero_point: zeroPoint, dtype }) =>
        quantized(self, checkedQuantizer(numberAt(scale, 0), numberAt(zeroPoint, 0), dtype), dtype),
    },
  ),
  kernel<{ tensors: readonly Tensor[]; scales: Tensor; zero_points: Tensor; dtype: ScalarType }>(
    'aten::quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype) -> Tensor[]',
    {
      host: ({ tensors, scales, zero_points: zeroPoints, dtype }) =>
        mapped(tensors, (each, at) =>
          quantized(each, checkedQuantizer(numberAt(scales, at), numberAt(zeroPoints, at), dtype), dtype),
        ),
    },
  ),
  kernel<Self & { dtype: ScalarType; reduce_range: boolean }>(
    'aten::quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor',
    {
      *host({ self, dtype, reduce_range: reduceRange }) {
        return yield* quantized(self, yield* chooseQuantizer(self, ...boundsOf(dtype, reduceRange)), dtype);
      },
    },
  ),
  kernel<Self & { reduce_range: boolean }>(
    'aten::_choose_qparams_per_tensor(Tensor self, bool reduce_range=False) -> (float, int)',
    {
      *host({ self, reduce_range: reduceRange }) {
        const { scale, zeroPoint } = yield* chooseQuantizer(self, 0, reduceRange ? 127 : 255);
        return [scale, zeroPoint];
      },
    },
  ),
  kernel<Self & { scales: Tensor; zero_points: Tensor; axis: number; dtype: ScalarType }>(
    'aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor',
    {
      *host({ self, scales, zero_points: zeroPoints, axis, dtype }) {
        return yield* quantized(self, yield* channelQuantizer(self, scales, zeroPoints, axis), dtype);
      },
    },
  ),
  kernel<Self & Parameters>(
    'aten::_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor',
    { host: ({ self, scale, zero_point: zeroPoint }) => fromIntegers(self, tensorQuantizer(scale, zeroPoint)) },
  ),
  kernel<Self & { scale: Tensor; zero_point: Tensor; axis: number }>(
    'aten::_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int axis) -> Tensor',
    {
      *host({ self, scale, zero_point: zeroPoint, axis }) {
        return fromIntegers(self, yield* channelQuantizer(self, scale, zeroPoint, axis));
      },
    },
  ),
  kernel<{ size: readonly number[]; dtype: ScalarType | null } & Parameters>(
    `aten::_empty_affine_quantized(SymInt[] size, *, ${MAKING}, float scale=1., int zero_point=0, MemoryFormat? memory_format=0) -> Tensor`,
    {
      host: ({ size, dtype, scale, zero_point: zeroPoint }) => {
        check(dtype !== null, 'Must provide data type for Tensor creation functions.');
        return emptyQuantized(size, dtype!, tensorQuantizer(scale, zeroPoint));
      },
    },
  ),
  kernel<{ size: readonly number[]; scales: Tensor; zero_points: Tensor; axis: number; dtype: ScalarType | null }>(
    `aten::_empty_per_channel_affine_quantized(SymInt[] size, *, Tensor scales, Tensor zero_points, int axis, ${MAKING}, MemoryFormat? memory_format=0) -> Tensor`,
    {
      *host({ size, scales, zero_points: zeroPoints, axis, dtype }) {
        check(dtype !== null, 'Must provide data type for Tensor creation functions.');
        const result = Tensor.empty(size, dtype!);
        result.quantizer = yield* channelQuantizer(result, scales, zeroPoints, axis);
        return result;
      },
    },
  ),
];
