import {
  hostArray,
  numelOf,
  Storage,
  Tensor,
  contiguousStrides,
  type Quantizer,
  type ScalarType,
} from '@cresset/tensor';
import { kernel, property } from '../builders.ts';
import { check } from '../errors.ts';
import { numberReader } from '../elements.ts';
import type { OperatorRow } from '../row.ts';

interface Self {
  readonly self: Tensor;
}

/** The integers of a quantised tensor are of this dtype, and within these bounds. */
const INTEGERS: Partial<Record<ScalarType, readonly [dtype: ScalarType, min: number, max: number]>> = {
  qint8: ['int8', -128, 127],
  quint8: ['uint8', 0, 255],
  qint32: ['int32', -(2 ** 31), 2 ** 31 - 1],
};

export function quantizerOf(self: Tensor): Quantizer {
  check(self.quantizer !== null, 'this tensor is not quantized');
  return self.quantizer!;
}

function isPerChannel({ axis }: Quantizer): boolean {
  return axis !== null;
}

/** Scale and zero point for each index of the elements in C order. */
export function parametersOf(
  { scale, zeroPoint, axis }: Quantizer,
  sizes: readonly number[],
): (index: number) => [number, number] {
  if (axis === null) return () => [Math.fround(scale as number), zeroPoint as number];
  const scales = numberReader(scale as Tensor);
  const zeroPoints = numberReader(zeroPoint as Tensor);
  const inner = numelOf(sizes.slice(axis + 1));
  return (index) => {
    const channel = Math.floor(index / inner) % sizes[axis];
    return [Math.fround(scales(channel)), zeroPoints(channel)];
  };
}

export function dequantized(self: Tensor): Tensor {
  if (!self.quantizer) return self;
  const source = self.contiguousArray();
  const parameters = parametersOf(self.quantizer, self.sizes);
  const values = Float32Array.from({ length: self.numel }, (_, index) => {
    const [scale, zeroPoint] = parameters(index);
    return (Number(source[index]) - zeroPoint) * scale;
  });
  return Tensor.fromArray(values, self.sizes, 'float32');
}

export function quantized(self: Tensor, quantizer: Quantizer, dtype: ScalarType): Tensor {
  const integers = INTEGERS[dtype];
  check(integers !== undefined, () => `a tensor cannot be quantized to ${dtype}`);
  check(self.dtype === 'float32', () => `Quantize only works on Float Tensor, got ${self.dtype}`);
  const [, min, max] = integers!;
  const values = self.contiguousArray() as Float32Array;
  const parameters = parametersOf(quantizer, self.sizes);
  const result = Tensor.empty(self.sizes, dtype);
  const target = result.storageArrayForWriting();
  for (let index = 0; index < values.length; index++) {
    const [scale, zeroPoint] = parameters(index);
    const value = roundHalfToEven(Math.fround(zeroPoint + Math.fround(values[index] * Math.fround(1 / scale))));
    target[index] = Math.min(Math.max(value, min), max);
  }
  result.quantizer = quantizer;
  return result;
}

export function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

/** The integers as a tensor of their own. */
function integersOf(self: Tensor): Tensor {
  quantizerOf(self);
  const [dtype] = INTEGERS[self.dtype]!;
  const elements = self.contiguousArray().slice();
  const storage = Storage.onHost(elements.buffer as ArrayBuffer);
  return new Tensor(storage, dtype, self.sizes, contiguousStrides(self.sizes));
}

function perTensor(self: Tensor, what: string): Quantizer {
  const quantizer = quantizerOf(self);
  check(!isPerChannel(quantizer), () => `Expected quantizer->qscheme() == kPerTensorAffine for ${what}`);
  return quantizer;
}

function perChannel(self: Tensor): Quantizer {
  const quantizer = quantizerOf(self);
  check(isPerChannel(quantizer), 'Expected quantizer->qscheme() == kPerChannelAffine');
  return quantizer;
}

function copyAs(tensor: Tensor, dtype: ScalarType): Tensor {
  const read = numberReader(tensor);
  const array = hostArray(dtype, new ArrayBuffer(8 * tensor.numel), 0, tensor.numel);
  for (let index = 0; index < tensor.numel; index++) {
    const value = read(tensor.storageOffset + index * tensor.strides[0]);
    array[index] = dtype === 'int64' ? BigInt(value) : value;
  }
  return Tensor.fromArray(array, tensor.sizes, dtype);
}

/** Making and taking apart quantised tensors; hardly any other operator takes them. */
export const quantizedRows: readonly OperatorRow[] = [
  kernel<Self>('aten::dequantize.self(Tensor self) -> Tensor', {
    takesQuantized: true,
    host: ({ self }) => dequantized(self),
  }),
  kernel<{ tensors: readonly Tensor[] }>('aten::dequantize.tensors(Tensor[] tensors) -> Tensor[]', {
    takesQuantized: true,
    host: ({ tensors }) => tensors.map(dequantized),
  }),
  kernel<Self>('aten::int_repr(Tensor self) -> Tensor', { takesQuantized: true, host: ({ self }) => integersOf(self) }),
  property<Self>('aten::q_scale(Tensor self) -> float', ({ self }) => perTensor(self, 'q_scale').scale as number),
  property<Self>(
    'aten::q_zero_point(Tensor self) -> int',
    ({ self }) => perTensor(self, 'q_zero_point').zeroPoint as number,
  ),
  kernel<Self>('aten::q_per_channel_scales(Tensor self) -> Tensor', {
    takesQuantized: true,
    host: ({ self }) => copyAs(perChannel(self).scale as Tensor, 'float64'),
  }),
  kernel<Self>('aten::q_per_channel_zero_points(Tensor self) -> Tensor', {
    takesQuantized: true,
    host: ({ self }) => copyAs(perChannel(self).zeroPoint as Tensor, 'int64'),
  }),
  property<Self>('aten::q_per_channel_axis(Tensor self) -> int', ({ self }) => perChannel(self).axis),
  kernel<Self & { scale: number; zero_point: number; dtype: ScalarType }>(
    'aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor',
    {
      host: ({ self, scale, zero_point: zeroPoint, dtype }) => quantized(self, { scale, zeroPoint, axis: null }, dtype),
    },
  ),
  kernel<Self & { scales: Tensor; zero_points: Tensor; axis: number; dtype: ScalarType }>(
    'aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor',
    {
      host: ({ self, scales, zero_points: zeroPoints, axis, dtype }) =>
        quantized(self, { scale: copyAs(scales, 'float64'), zeroPoint: copyAs(zeroPoints, 'int64'), axis }, dtype),
    },
  ),
];
