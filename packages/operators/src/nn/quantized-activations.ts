import { Tensor } from '@cresset/tensor';
import { kernel } from '../builders.ts';
import type { OperatorRow, Results } from '../row.ts';
import { dequantized, quantized, quantizerOf } from '../tensor/quantized.ts';

/** Activations that give a tensor with another quantiser (ATen/native/quantized/cpu): computed as numbers and quantised once. */

interface Output {
  readonly output_scale: number;
  readonly output_zero_point: number;
}

function apply(x: Tensor, compute: (value: number) => number, scale: number, zeroPoint: number): Tensor {
  const values = (dequantized(x).contiguousArray() as Float32Array).map((value) => compute(value));
  return quantized(Tensor.fromArray(values, x.sizes, 'float32'), { scale, zeroPoint, axis: null }, x.dtype);
}

const row = <Args>(schema: string, host: (args: Args) => Results): OperatorRow =>
  kernel<Args>(`quantized::${schema}`, { takesQuantized: true, host });

const OUTPUT = 'float output_scale, int output_zero_point';

export const quantizedActivationRows: readonly OperatorRow[] = [
  row<Output & { input: Tensor }>(
    `hardswish(Tensor input, ${OUTPUT}) -> Tensor`,
    ({ input, output_scale: scale, output_zero_point: zeroPoint }) =>
      apply(input, (value) => (value * Math.min(Math.max(value + 3, 0), 6)) / 6, scale, zeroPoint),
  ),
  row<Output & { qx: Tensor }>(
    `sigmoid(Tensor qx, ${OUTPUT}) -> Tensor`,
    ({ qx, output_scale: scale, output_zero_point: zeroPoint }) =>
      apply(qx, (value) => 1 / (1 + Math.exp(-value)), scale, zeroPoint),
  ),
  row<Output & { qx: Tensor; negative_slope: number | bigint }>(
    `leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, ${OUTPUT}) -> Tensor`,
    ({ qx, negative_slope: slope, output_scale: scale, output_zero_point: zeroPoint }) =>
      apply(qx, (value) => (value < 0 ? value * Number(slope) : value), scale, zeroPoint),
  ),
  row<{ qx: Tensor }>('relu6(Tensor qx, bool inplace=False) -> Tensor', ({ qx }) => {
    const { scale, zeroPoint } = quantizerOf(qx);
    return apply(qx, (value) => Math.min(Math.max(value, 0), 6), scale as number, zeroPoint as number);
  }),
];
