import { scratch, Tensor } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow, Results, Scalar } from '../../table/row.ts';
import {
  dequantized,
  mapIntegers,
  mapNumbers,
  quantized,
  Rounding,
  tensorQuantizer,
  tensorQuantizerOf,
} from './affine.ts';
import { type Pieces, eachOffset, filled, repeat } from '../../kernels/loops/pieces.ts';
import { elementsInPieces } from '../../kernels/numbers/numbers.ts';

/** Activations of quantised tensors (ATen/native/quantized/cpu); most give a tensor with another quantiser. */

interface Output {
  readonly output_scale: number;
  readonly output_zero_point: number;
}

const outputOf = ({ output_scale: scale, output_zero_point: zeroPoint }: Output) => tensorQuantizer(scale, zeroPoint);

/** What PyTorch gives the results of functions with known bounds: 256 steps for integers of a byte. */
function boundedQuantizer({ dtype }: Tensor, low: number, high: number) {
  if (dtype === 'qint32') return tensorQuantizer((high - low) / 2 ** 32, 0);
  const scale = (high - low) / 256;
  return tensorQuantizer(scale, (dtype === 'quint8' ? 0 : -128) - low / scale);
}

export const sigmoid = (x: Tensor, output = boundedQuantizer(x, 0, 1)): Pieces<Tensor> =>
  mapNumbers([x], output, (value) => 1 / (1 + Math.exp(-value)));

export const tanh = (x: Tensor): Pieces<Tensor> => mapNumbers([x], boundedQuantizer(x, -1, 1), Math.tanh);

const relu6Of = (value: number): number => Math.min(Math.max(value, 0), 6);

export const hardsigmoid = (x: Tensor): Pieces<Tensor> =>
  mapNumbers([x], boundedQuantizer(x, 0, 1), (value) => Math.fround(relu6Of(Math.fround(value + 3))) / 6);

export function* leakyRelu(x: Tensor, slope: Scalar, output = tensorQuantizerOf(x)): Pieces<Tensor> {
  const factor = Math.fround(Number(slope));
  return yield* mapNumbers([x], output, (value) => (value > 0 ? value : value * factor));
}

export const threshold = (x: Tensor, limit: Scalar, other: Scalar): Pieces<Tensor> =>
  mapNumbers([x], tensorQuantizerOf(x), (value) => (value > Math.fround(Number(limit)) ? value : Number(other)));

/** Bounds are integers of the tensor's quantiser. */
export function* clamp(x: Tensor, min: Scalar | null, max: Scalar | null): Pieces<Tensor> {
  check(min !== null || max !== null, 'Both min and max is None');
  const quantizer = tensorQuantizerOf(x);
  const rounding = new Rounding(quantizer, x.dtype);
  const low = min === null ? -Infinity : rounding.single(Math.fround(Number(min)));
  const high = max === null ? Infinity : rounding.single(Math.fround(Number(max)));
  return yield* mapIntegers(x, quantizer, (value) => Math.min(Math.max(value, low), high));
}

export function* relu(x: Tensor): Pieces<Tensor> {
  const quantizer = tensorQuantizerOf(x);
  return yield* mapIntegers(x, quantizer, (value) => Math.max(value, quantizer.zeroPoint));
}

function* elu(x: Tensor, output: Output, alpha: number, scale: number, inputScale: number): Pieces<Tensor> {
  const [a, s, i] = [alpha, scale, inputScale].map(Math.fround);
  return yield* mapNumbers([x], outputOf(output), (value) =>
    value >= 0 ? value * s : Math.fround(Math.fround(Math.expm1(Math.fround(value * i))) * a) * s,
  );
}

/** One weight for all, or one for each index of dimension 1. */
function* prelu(x: Tensor, weight: Tensor, output: Output): Pieces<Tensor> {
  check(weight.quantizer !== null, "Could not run 'aten::q_zero_point' with arguments from the 'CPU' backend.");
  const slopes = (yield* dequantized(weight)).contiguousArray() as Float32Array;
  check(
    slopes.length === 1 || slopes.length === x.sizes[1],
    () =>
      `Mismatch of parameter numbers and input channel size. Found parameter numbers = ${slopes.length} and channel size = ${x.sizes[1]}.`,
  );
  if (slopes.length === 1) return yield* leakyRelu(x, slopes[0], outputOf(output));
  const numbers = yield* dequantized(x);
  const values = numbers.contiguousArray() as Float32Array;
  const inner = numbers.sizes.slice(2).reduce((count, size) => count * size, 1);
  const results = yield* filled(scratch(Float32Array, values.length), 8, (index) => {
    const value = values[index];
    return value > 0 ? value : value * slopes[Math.floor(index / inner) % slopes.length];
  });
  return yield* quantized(Tensor.fromArray(results, x.sizes, 'float32'), outputOf(output), x.dtype);
}

function* softmax(x: Tensor, dim: number, output: Output): Pieces<Tensor> {
  const { sizes, numel } = x;
  const axis = dim < 0 ? dim + x.dim : dim;
  const numbers = yield* dequantized(x);
  const values = (yield* elementsInPieces(numbers)) as Float32Array;
  const inner = sizes.slice(axis + 1).reduce((count, size) => count * size, 1);
  const width = sizes[axis] ?? 1;
  yield* repeat(numel / Math.max(width, 1), 8 * width, (line) => {
    const first = Math.floor(line / inner) * inner * width + (line % inner);
    let largest = -Infinity;
    let sum = 0;
    for (let at = 0; at < width; at++) largest = Math.max(largest, values[first + at * inner]);
    for (let at = 0; at < width; at++)
      sum += values[first + at * inner] = Math.exp(values[first + at * inner] - largest);
    for (let at = 0; at < width; at++) values[first + at * inner] /= sum;
  });
  return yield* quantized(Tensor.fromArray(values, sizes, 'float32'), outputOf(output), x.dtype);
}

const row = <Args>(schema: string, host: (args: Args) => Results | Pieces<Results>): OperatorRow =>
  kernel<Args>(`quantized::${schema}`, { takesQuantized: true, host });

const OUTPUT = 'float output_scale, int output_zero_point';

export const quantizedActivationRows: readonly OperatorRow[] = [
  row<Output & { input: Tensor }>(`hardswish(Tensor input, ${OUTPUT}) -> Tensor`, ({ input, ...output }) =>
    mapNumbers([input], outputOf(output), (value) => Math.fround(value * relu6Of(Math.fround(value + 3))) / 6),
  ),
  row<Output & { qx: Tensor }>(`sigmoid(Tensor qx, ${OUTPUT}) -> Tensor`, ({ qx, ...output }) =>
    sigmoid(qx, outputOf(output)),
  ),
  row<Output & { qx: Tensor; negative_slope: Scalar }>(
    `leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, ${OUTPUT}) -> Tensor`,
    ({ qx, negative_slope: slope, ...output }) => leakyRelu(qx, slope, outputOf(output)),
  ),
  row<Output & { self: Tensor; alpha: Scalar; scale: Scalar; input_scale: Scalar }>(
    `elu(Tensor self, ${OUTPUT}, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor`,
    ({ self, alpha, scale, input_scale: inputScale, ...output }) =>
      elu(self, output, Number(alpha), Number(scale), Number(inputScale)),
  ),
  row<Output & { self: Tensor; alpha: Scalar }>(
    `celu(Tensor self, ${OUTPUT}, Scalar alpha=1) -> Tensor`,
    ({ self, alpha, ...output }) => {
      check(Number(alpha) !== 0, 'ZeroDivisionError: alpha cannot be 0 for CELU');
      return elu(self, output, Number(alpha), 1, 1 / Number(alpha));
    },
  ),
  row<Output & { qx: Tensor; weight: Tensor }>(
    `prelu(Tensor qx, Tensor weight, ${OUTPUT}) -> Tensor`,
    ({ qx, weight, ...output }) => prelu(qx, weight, output),
  ),
  row<Output & { qx: Tensor; dim: number }>(
    `softmax(Tensor qx, int dim, ${OUTPUT}) -> Tensor`,
    ({ qx, dim, ...output }) => softmax(qx, dim, output),
  ),
  row<{ qx: Tensor; threshold: Scalar; value: Scalar }>(
    'threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy',
    ({ qx, threshold: limit, value }) => threshold(qx, limit, value),
  ),
  row<{ qx: Tensor; min: Scalar | null; max: Scalar | null }>(
    'clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy',
    ({ qx, min, max }) => clamp(qx, min, max),
  ),
  row<{ qx: Tensor; inplace: boolean }>('relu6(Tensor qx, bool inplace=False) -> Tensor', function* ({ qx, inplace }) {
    const result = yield* clamp(qx, 0, 6);
    if (!inplace) return result;
    yield* writeInto(qx, result);
    return qx;
  }),
  // Nothing is dropped when a model was converted, and the quantiser stays.
  row<Output & { self: Tensor }>(
    `dropout(Tensor self, ${OUTPUT}, Scalar p=0.5, bool training=False) -> Tensor`,
    ({ self }) => self,
  ),
];

/** Writes the integers of one tensor to another of the same shape, which gets its quantiser too. */
export function* writeInto(target: Tensor, result: Tensor): Pieces {
  const array = target.storageArrayForWriting();
  const elements = yield* elementsInPieces(result);
  let index = 0;
  yield* eachOffset(target.sizes, target.strides, target.storageOffset, 2, (offset) => {
    array[offset] = elements[index++];
  });
  target.quantizer = result.quantizer;
}
