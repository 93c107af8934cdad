import { Tensor } from '@cresset/tensor';
import { kernel } from '../builders.ts';
import { numberReader } from '../elements.ts';
import { check } from '../errors.ts';
import type { OperatorRow } from '../row.ts';
import { roundHalfToEven } from './affine.ts';

/** Numbers rounded to what a quantised tensor could hold, which training for quantisation leaves in models (fake_quant_affine). */

interface Bounds {
  readonly self: Tensor;
  readonly quant_min: number;
  readonly quant_max: number;
}

function fakeQuantize(
  { self, quant_min: min, quant_max: max }: Bounds,
  parametersAt: (index: number) => readonly [scale: number, zeroPoint: number],
): Tensor {
  check(self.dtype === 'float32', () => `expected scalar type Float but found ${self.dtype}`);
  check(min <= max, '`quant_min` should be less than or equal to `quant_max`.');
  const values = self.contiguousArray() as Float32Array;
  const rounded = values.map((value, index) => {
    const [scale, zeroPoint] = parametersAt(index);
    const integer = roundHalfToEven(Math.fround(value * Math.fround(1 / scale) + zeroPoint));
    return (Math.min(Math.max(integer, min), max) - zeroPoint) * scale;
  });
  return Tensor.fromArray(rounded, self.sizes, 'float32');
}

function readerOf(tensor: Tensor): (index: number) => number {
  const read = numberReader(tensor);
  return (index) => read(tensor.storageOffset + index * (tensor.strides[0] ?? 0));
}

const BOUNDS = 'int quant_min, int quant_max';

export const fakeQuantizeRows: readonly OperatorRow[] = [
  kernel<Bounds & { scale: number; zero_point: number }>(
    `aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, ${BOUNDS}) -> Tensor`,
    {
      host: ({ scale, zero_point: zeroPoint, ...args }) => {
        const { quant_min: min, quant_max: max } = args;
        check(zeroPoint >= min && zeroPoint <= max, '`zero_point` must be between `quant_min` and `quant_max`.');
        return fakeQuantize(args, () => [Math.fround(scale), zeroPoint]);
      },
    },
  ),
  kernel<Bounds & { scale: Tensor; zero_point: Tensor }>(
    `aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ${BOUNDS}) -> Tensor`,
    {
      host: ({ scale, zero_point: zeroPoint, ...args }) => {
        const only = [Math.fround(readerOf(scale)(0)), readerOf(zeroPoint)(0)] as const;
        return fakeQuantize(args, () => only);
      },
    },
  ),
  kernel<Bounds & { scale: Tensor; zero_point: Tensor; axis: number }>(
    `aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, ${BOUNDS}) -> Tensor`,
    {
      host: ({ scale, zero_point: zeroPoint, axis, ...args }) => {
        const { sizes } = args.self;
        check(scale.numel === zeroPoint.numel, 'scale and zero-point need to have the same dimensions');
        check(scale.numel === sizes[axis], 'dimensions of scale and zero-point are not consistent with input tensor');
        const inner = sizes.slice(axis + 1).reduce((count, size) => count * size, 1);
        const [scales, zeroPoints] = [readerOf(scale), readerOf(zeroPoint)];
        return fakeQuantize(args, (index) => {
          const channel = Math.floor(index / inner) % sizes[axis];
          return [Math.fround(scales(channel)), zeroPoints(channel)];
        });
      },
    },
  ),
];
