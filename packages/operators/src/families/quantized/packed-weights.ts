import { compilerServices, findCustomClass, IntType, type CompilerServices } from '@cresset/ir';
import { List, numelOf, ScriptObject, type IValue, type Tensor } from '@cresset/tensor';
import type { IntegerRows, IntegerServices } from '@cresset/tensorexpr';
import { check } from '../../kernels/errors.ts';
import {
  centred,
  isSymmetric,
  parametersOf,
  quantizerOf,
  roundHalfToEven,
  tensorQuantizer,
  type TensorQuantizer,
} from './affine.ts';
import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { elementsInPieces } from '../../kernels/numbers/numbers.ts';

/** Objects that hold the weights of layers, and what all such layers have in common (ATen/native/quantized/PackedParams.h). */

export const PACKED = '__torch__.torch.classes.';

export const weightOf = (packed: ScriptObject): Tensor => packed.getAttribute('_weight') as Tensor;
export const biasOf = (packed: ScriptObject): Tensor | null => packed.getAttribute('_bias') as Tensor | null;
export const listOf = (packed: ScriptObject, name: string): number[] =>
  (packed.getAttribute(`_${name}`) as List).items.map(Number);
export const intList = (numbers: readonly number[]): List => new List(IntType.get(), numbers.map(BigInt));

/** Makes an object of such a class. @param className with its namespace, as in `quantized.LinearPackedParamsBase` */
export function pack(className: string, attributes: Readonly<Record<string, IValue>>): ScriptObject {
  const type = findCustomClass(PACKED + className);
  check(type !== undefined, () => `the class ${className} is not there`);
  return new ScriptObject(
    type!,
    type!.attributes.map(({ name }) => attributes[name]),
  );
}

/** Weights as products take them. */
export interface IntegerWeight {
  /** Integers less their zero points, never written to again: a row of them for each output channel. */
  readonly rows: Int32Array;
  /** Whether these have no more than 16 bits. */
  readonly isShort: boolean;
  /** The scale of each output channel. */
  readonly scales: Float32Array;
  readonly isPerChannel: boolean;
  /** Whether all zero points are 0. */
  readonly isSymmetric: boolean;
}

const weights = new WeakMap<Tensor, IntegerWeight>();

/** What a weight is to products, worked out once. @param channels the output channels, from its integers */
export function* integerWeightOf(
  weight: Tensor,
  channels: number,
  arrange?: (rows: Int32Array) => Pieces<Int32Array>,
): Pieces<IntegerWeight> {
  let known = weights.get(weight);
  if (!known) {
    const quantizer = quantizerOf(weight);
    const { scale, axis } = quantizer;
    const parameters = parametersOf(quantizer, weight.sizes);
    const inner = axis === null ? 0 : numelOf(weight.sizes.slice(axis + 1));
    const rows = yield* centred(weight);
    known = {
      isShort: weight.dtype !== 'qint32',
      rows: arrange ? yield* arrange(rows) : rows,
      scales: Float32Array.from({ length: channels }, (_, channel) =>
        axis === null ? (scale as number) : parameters(channel * inner)[0],
      ),
      isPerChannel: axis !== null,
      isSymmetric: isSymmetric(quantizer),
    };
    weights.set(weight, known);
  }
  return known;
}

/** How sums of products of integers become what a layer gives, in float32 and in the order of the libraries that PyTorch has on x86. */
export class Requantization {
  readonly #productScales: Float32Array;
  readonly #bias: Float32Array | null;
  readonly #isPerChannel: boolean;

  constructor(inputScale: number, { scales, isPerChannel }: IntegerWeight, bias: Tensor | null) {
    this.#productScales = scales.map((scale) => Math.fround(inputScale) * scale);
    this.#isPerChannel = isPerChannel;
    this.#bias = bias ? (bias.contiguousArray() as Float32Array) : null;
  }

  /** The number that a sum stands for: a fused multiplication and addition. */
  toFloat(sum: number, channel: number): number {
    return Math.fround(Math.fround(sum) * this.#productScales[channel] + (this.#bias?.[channel] ?? 0));
  }

  /** As {@link toInteger}, with the zero point added before rounding: what oneDNN does. */
  toIntegerAtOnce(sum: number, channel: number, { scale, zeroPoint }: TensorQuantizer, min: number): number {
    const product = Math.fround(Math.fround(sum) * this.#productScales[channel]);
    const number = this.#bias ? Math.fround(product + this.#bias[channel]) : product;
    const scaled = Math.fround(number * Math.fround(1 / Math.fround(scale)));
    return Math.min(Math.max(roundHalfToEven(Math.fround(scaled + zeroPoint)), min), 255);
  }

  /** The sum as an integer of the output's quantiser: what FBGEMM does. */
  toInteger(sum: number, channel: number, { scale, zeroPoint }: TensorQuantizer, min: number): number {
    const productScale = this.#productScales[channel];
    const biased = this.#bias ? Math.fround(Math.fround(sum) + this.#inSums(channel)) : Math.fround(sum);
    const multiplier = Math.fround(productScale / Math.fround(scale));
    const rounded = roundHalfToEven(Math.fround(biased * multiplier)) + zeroPoint;
    return Math.min(Math.max(rounded, min), 255);
  }

  /** A bias as a sum; where there is one scale for all channels, its reciprocal was taken once. */
  #inSums(channel: number): number {
    const [bias, productScale] = [this.#bias![channel], this.#productScales[channel]];
    return Math.fround(this.#isPerChannel ? bias / productScale : bias * Math.fround(1 / productScale));
  }
}

/**
 * Products of rows of integers of 9 bits with rows of a weight, whose sums 32 bits hold.
 *
 * @param sums of `count` rows of `outputs` sums each
 */
export function* multiplyRows(
  left: Int32Array,
  { rows: right, isShort }: IntegerWeight,
  sums: Int32Array,
  rows: IntegerRows,
): Pieces {
  const { integerProducts } = compilerServices<CompilerServices & IntegerServices>();
  const known = isShort && integerProducts?.multiply(left, right, sums, rows);
  if (known && (yield* known)) return;
  const { depth, count, outputs, rightFirst = 0, outputFirst = 0, outputStride = outputs } = rows;
  yield* repeat(count, outputs * depth, (row) => {
    const start = row * depth;
    const target = row * outputStride + outputFirst;
    let channel = 0;
    // Four at a time, so that an integer of the left is read once for them.
    for (; channel + 4 <= outputs; channel += 4) {
      let [a, b, c, d] = [0, 0, 0, 0];
      const first = rightFirst + channel * depth;
      const [second, third, fourth] = [first + depth, first + 2 * depth, first + 3 * depth];
      for (let at = 0; at < depth; at++) {
        const value = left[start + at];
        a = (a + Math.imul(value, right[first + at])) | 0;
        b = (b + Math.imul(value, right[second + at])) | 0;
        c = (c + Math.imul(value, right[third + at])) | 0;
        d = (d + Math.imul(value, right[fourth + at])) | 0;
      }
      sums[target + channel] = a;
      sums[target + channel + 1] = b;
      sums[target + channel + 2] = c;
      sums[target + channel + 3] = d;
    }
    for (; channel < outputs; channel++) {
      const first = rightFirst + channel * depth;
      let sum = 0;
      for (let at = 0; at < depth; at++) sum = (sum + Math.imul(left[start + at], right[first + at])) | 0;
      sums[target + channel] = sum;
    }
  });
}

/** A quantiser for the numbers of a tensor as they are found (quant_utils::ChooseQuantizationParams). */
export function* chooseQuantizer(x: Tensor, min: number, max: number): Pieces<TensorQuantizer> {
  const SMALLEST_SCALE = Math.fround(6.1e-5);
  let [low, high] = [0, 0];
  const values = (yield* elementsInPieces(x)) as Float32Array;
  yield* repeat(values.length, 4, (at) => {
    low = Math.min(low, values[at]);
    high = Math.max(high, values[at]);
  });
  let scale = (high - low) / (max - min);
  if (Math.fround(scale) === 0 || !Number.isFinite(1 / Math.fround(scale))) scale = 0.1;
  if (scale < SMALLEST_SCALE) {
    const amplifier = SMALLEST_SCALE / scale;
    [low, high] = [Math.fround(low * amplifier), Math.fround(high * amplifier)];
    scale = SMALLEST_SCALE;
  }
  // From that end which is the less wrong.
  const isFromLow = Math.abs(min) + Math.abs(low / scale) < Math.abs(max) + Math.abs(high / scale);
  const zeroPoint = isFromLow ? min - low / scale : max - high / scale;
  const integer = Math.min(Math.max(roundHalfToEven(zeroPoint), min), max);
  return tensorQuantizer(scale, integer);
}
