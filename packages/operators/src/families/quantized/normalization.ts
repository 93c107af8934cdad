import type { Tensor } from '@cresset/tensor';
import { numelOf } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow, Results } from '../../table/row.ts';
import {
  denseElements,
  emptyQuantized,
  roundHalfToEven,
  Rounding,
  tensorQuantizer,
  tensorQuantizerOf,
  type TensorQuantizer,
} from './affine.ts';
import { type Pieces, PIECE_SIZE, repeat } from '../../kernels/loops/pieces.ts';
import { elementsInPieces } from '../../kernels/numbers/numbers.ts';

/** Normalisations of quantised tensors (ATen/native/quantized/cpu: qnormalization and qbatch_norm). */

interface Output {
  readonly eps: number;
  readonly output_scale: number;
  readonly output_zero_point: number;
}

const outputOf = ({ output_scale: scale, output_zero_point: zeroPoint }: Output): TensorQuantizer =>
  tensorQuantizer(scale, zeroPoint);

const floats = (tensor: Tensor | null): Float32Array | null => tensor && (tensor.contiguousArray() as Float32Array);

/**
 * Brings groups of elements, which lie beside each other in C order, to mean 0 and variance 1. Both are worked out of the integers.
 *
 * @param affine weight and bias of an element, by its index in all and within its group
 */
function* normalizeGroups(
  input: Tensor,
  groups: number,
  eps: number,
  output: TensorQuantizer,
  affine: (index: number, within: number) => readonly [weight: number, bias: number],
): Pieces<Tensor> {
  const { scale, zeroPoint } = tensorQuantizerOf(input);
  const inputScale = Math.fround(scale);
  const integers = (yield* elementsInPieces(input)) as Int32Array;
  const result = emptyQuantized(input.sizes, input.dtype, output);
  const target = result.storageArrayForWriting();
  const rounding = new Rounding(output, input.dtype);
  const count = integers.length / groups;
  let done = 0;
  for (let group = 0; group < groups; group++) {
    let [sum, squares] = [0, 0];
    yield* repeat(count, 2, (at) => {
      const integer = integers[group * count + at];
      sum += integer;
      squares += integer * integer;
    });
    const mean = Math.fround(Math.fround(sum) / count);
    const centre = Math.fround(mean - zeroPoint);
    const variance = Math.max(Math.fround(Math.fround(Math.fround(squares) / count) - Math.fround(mean * mean)), 0);
    const scaledVariance = Math.fround(Math.fround(variance * inputScale) * inputScale);
    const factor = Math.fround(inputScale / Math.fround(Math.sqrt(Math.fround(scaledVariance + Math.fround(eps)))));
    yield* repeat(count, 16, (at) => {
      const index = group * count + at;
      const [weight, bias] = affine(index, at);
      const difference = Math.fround(integers[index] - zeroPoint - centre);
      const scaled = Math.fround(Math.fround(difference * factor) * weight);
      target[index] = rounding.inVector(Math.fround(scaled + bias));
    });
    done += 32 * count;
    if (done < PIECE_SIZE) continue;
    done = 0;
    yield;
  }
  return result;
}

interface LayerNorm extends Output {
  readonly input: Tensor;
  readonly normalized_shape: readonly number[];
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
}

function layerNorm({ input, normalized_shape: shape, weight, bias, ...output }: LayerNorm): Pieces<Tensor> {
  const count = numelOf(shape);
  const [factors, addends] = [floats(weight), floats(bias)];
  return normalizeGroups(input, input.numel / count, output.eps, outputOf(output), (_, at) => [
    factors?.[at] ?? 1,
    addends?.[at] ?? 0,
  ]);
}

interface GroupNorm extends Output {
  readonly input: Tensor;
  readonly num_groups: number;
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
}

function groupNorm({ input, num_groups: groups, weight, bias, ...output }: GroupNorm): Pieces<Tensor> {
  const [batch, channels] = input.sizes;
  check(
    channels % groups === 0,
    () =>
      `Expected number of channels in input to be divisible by num_groups, but got input of shape [${input.sizes.join(', ')}] and num_groups=${groups}`,
  );
  const [factors, addends] = [floats(weight), floats(bias)];
  const inner = numelOf(input.sizes.slice(2));
  return normalizeGroups(input, batch * groups, output.eps, outputOf(output), (index) => {
    const channel = Math.floor(index / inner) % channels;
    return [factors?.[channel] ?? 1, addends?.[channel] ?? 0];
  });
}

interface BatchNorm extends Output {
  readonly qx: Tensor;
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly mean: Tensor;
  readonly var: Tensor;
}

/** A factor and an addend for each channel, which give integers of the output's quantiser. */
function* batchNorm({ qx, weight, bias, mean, var: variance, ...args }: BatchNorm, isRelu: boolean): Pieces<Tensor> {
  check(weight !== null, 'Weight must be provided');
  check(bias !== null, 'Bias must be provided');
  const input = tensorQuantizerOf(qx);
  const output = outputOf(args);
  const [weights, biases, means, variances] = [weight, bias, mean, variance].map((each) => floats(each)!);
  const outputScale = Math.fround(output.scale);
  const ratio = Math.fround(Math.fround(input.scale) / outputScale);
  const deviations = variances.map((each) => 1 / Math.fround(Math.sqrt(Math.fround(each + Math.fround(args.eps)))));
  const factors = deviations.map((each, channel) => Math.fround(each * weights[channel]) * ratio);
  const addends = deviations.map((each, channel) => {
    const shift = Math.fround(Math.fround(means[channel] * each) * weights[channel]);
    return Math.fround(biases[channel] - shift) / outputScale;
  });
  const { elements, strides } = yield* denseElements(qx);
  const result = emptyQuantized(qx.sizes, qx.dtype, output, strides);
  const target = result.storageArrayForWriting();
  const rounding = new Rounding(output, qx.dtype);
  const channels = qx.sizes[1];
  const stride = Math.max(strides[1], 1);
  yield* repeat(target.length, 16, (index) => {
    const channel = Math.floor(index / stride) % channels;
    // A fused multiplication and addition.
    const value = Math.fround(factors[channel] * ((elements[index] as number) - input.zeroPoint) + addends[channel]);
    const integer = rounding.clamp(roundHalfToEven(value) + output.zeroPoint);
    target[index] = isRelu ? Math.max(integer, output.zeroPoint) : integer;
  });
  return result;
}

const row = <Args>(schema: string, host: (args: Args) => Results | Pieces<Results>): OperatorRow =>
  kernel<Args>(`quantized::${schema}`, { takesQuantized: true, host });

const AFFINE = 'Tensor? weight, Tensor? bias';
const OUTPUT = 'float eps, float output_scale, int output_zero_point';

export const quantizedNormalizationRows: readonly OperatorRow[] = [
  row<LayerNorm>(`layer_norm(Tensor input, int[] normalized_shape, ${AFFINE}, ${OUTPUT}) -> Tensor`, layerNorm),
  row<GroupNorm>(`group_norm(Tensor input, int num_groups, ${AFFINE}, ${OUTPUT}) -> Tensor`, groupNorm),
  // Each channel of each image by itself.
  row<Omit<GroupNorm, 'num_groups'>>(`instance_norm(Tensor input, ${AFFINE}, ${OUTPUT}) -> Tensor`, (args) =>
    groupNorm({ ...args, num_groups: args.input.sizes[1] }),
  ),
  ...['', '1d', '2d', '3d'].flatMap((dims) =>
    ['', '_relu'].map((relu) =>
      row<BatchNorm>(
        `batch_norm${dims}${relu}(Tensor qx, ${AFFINE}, Tensor mean, Tensor var, ${OUTPUT}) -> Tensor`,
        (args) => batchNorm(args, relu !== ''),
      ),
    ),
  ),
];
