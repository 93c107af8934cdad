import { findCustomClass, IntType } from '@cresset/ir';
import {
  halfToNumber,
  List,
  numberToHalf,
  numelOf,
  ScriptObject,
  Tensor,
  type IValue,
  type Quantizer,
} from '@cresset/tensor';
import { kernel } from '../builders.ts';
import { check } from '../errors.ts';
import type { OperatorRow, Results } from '../row.ts';
import { dequantized, parametersOf, quantized, quantizerOf, roundHalfToEven } from '../tensor/quantized.ts';

/**
 * Layers with packed weights of `qint8` (ATen/native/quantized/cpu): sums of products are integers, and are scaled once, in float32 and
 * in the order of the libraries that PyTorch has on x86.
 */

const PACKED = '__torch__.torch.classes.quantized.';

const weightOf = (packed: ScriptObject): Tensor => packed.getAttribute('_weight') as Tensor;
const biasOf = (packed: ScriptObject): Tensor | null => packed.getAttribute('_bias') as Tensor | null;
const listOf = (packed: ScriptObject, name: string): number[] =>
  (packed.getAttribute(`_${name}`) as List).items.map(Number);

function pack(className: string, attributes: Readonly<Record<string, IValue>>): ScriptObject {
  const type = findCustomClass(PACKED + className);
  check(type !== undefined, () => `the class ${className} is not there`);
  const object = new ScriptObject(type!);
  for (const { name } of type!.attributes) object.slots.push(attributes[name]);
  return object;
}

const intList = (numbers: readonly number[]): List => new List(IntType.get(), numbers.map(BigInt));

/** How sums of products of integers become what a layer gives: the scale of the product and the bias of each output channel. */
class Requantization {
  readonly #productScales: Float32Array;
  readonly #bias: Float32Array | null;

  constructor(inputScale: number, weight: Tensor, bias: Tensor | null) {
    const channels = weight.sizes[0];
    const perChannel = numelOf(weight.sizes.slice(1));
    const parameters = parametersOf(quantizerOf(weight), weight.sizes);
    this.#productScales = Float32Array.from({ length: channels }, (_, channel) => {
      const [scale] = parameters(channel * perChannel);
      return Math.fround(inputScale) * scale;
    });
    this.#bias = bias ? (bias.contiguousArray() as Float32Array) : null;
  }

  /** The number that a sum stands for. */
  toFloat(sum: number, channel: number): number {
    const product = Math.fround(Math.fround(sum) * this.#productScales[channel]);
    return this.#bias ? Math.fround(product + this.#bias[channel]) : product;
  }

  /** As {@link toInteger}, with the zero point added before rounding: what oneDNN does, which computes convolutions. */
  toIntegerAtOnce(sum: number, channel: number, { scale, zeroPoint }: OutputQuantizer, min: number): number {
    const scaled = Math.fround(this.toFloat(sum, channel) * Math.fround(1 / Math.fround(scale)));
    return Math.min(Math.max(roundHalfToEven(Math.fround(scaled + zeroPoint)), min), 255);
  }

  /** The sum as an integer of the output's quantiser. */
  toInteger(sum: number, channel: number, { scale, zeroPoint }: OutputQuantizer, min: number): number {
    const productScale = this.#productScales[channel];
    const biased = this.#bias
      ? Math.fround(Math.fround(sum) + Math.fround(this.#bias[channel] / productScale))
      : Math.fround(sum);
    const multiplier = Math.fround(productScale / Math.fround(scale));
    const rounded = roundHalfToEven(Math.fround(biased * multiplier)) + zeroPoint;
    return Math.min(Math.max(rounded, min), 255);
  }
}

interface OutputQuantizer {
  readonly scale: number;
  readonly zeroPoint: number;
}

/** Integers less their zero points, in C order. */
function centred(tensor: Tensor): Int32Array {
  const parameters = parametersOf(quantizerOf(tensor), tensor.sizes);
  const elements = tensor.contiguousArray();
  return Int32Array.from({ length: tensor.numel }, (_, index) => Number(elements[index]) - parameters(index)[1]);
}

function hasZeroPointsOfZero(tensor: Tensor): boolean {
  const { zeroPoint } = quantizerOf(tensor);
  return zeroPoint instanceof Tensor
    ? Array.from<number | bigint>(zeroPoint.contiguousArray()).every((each) => Number(each) === 0)
    : zeroPoint === 0;
}

function quantizedOutput(sizes: readonly number[], { scale, zeroPoint }: OutputQuantizer): Tensor {
  const output = Tensor.empty(sizes, 'quint8');
  output.quantizer = { scale, zeroPoint, axis: null };
  return output;
}

function expectQuantizedInput(x: Tensor, operator: string): void {
  check(
    x.dtype === 'quint8' && quantizerOf(x).axis === null,
    () => `${operator}: Expected input data type ${'c10::quint8'} but got ${x.dtype}`,
  );
}

// ---- linear

interface Linear {
  readonly X: Tensor;
  readonly W_prepack: ScriptObject;
}

/** Calls `visit` with the sum of products for every element of the output, in C order. */
function forEachProduct(x: Tensor, weight: Tensor, visit: (sum: number, channel: number, index: number) => void): void {
  const [outputs, inputs] = weight.sizes;
  check(
    x.sizes.at(-1) === inputs,
    () => `The last dimension of the input (${x.sizes.at(-1)}) has to be that of the weight (${inputs})`,
  );
  const [left, right] = [centred(x), centred(weight)];
  for (let row = 0, index = 0; row * inputs < left.length; row++) {
    for (let channel = 0; channel < outputs; channel++) {
      let sum = 0;
      for (let at = 0; at < inputs; at++) sum += left[row * inputs + at] * right[channel * inputs + at];
      visit(sum, channel, index++);
    }
  }
}

function linear(isRelu: boolean): (args: Linear & { Y_scale_i: number; Y_zero_point_i: number }) => Results {
  return ({ X, W_prepack, Y_scale_i: scale, Y_zero_point_i: zeroPoint }) => {
    expectQuantizedInput(X, 'quantized_linear');
    const weight = weightOf(W_prepack);
    const output = quantizedOutput([...X.sizes.slice(0, -1), weight.sizes[0]], { scale, zeroPoint });
    const elements = output.storageArrayForWriting();
    const requantization = new Requantization(quantizerOf(X).scale as number, weight, biasOf(W_prepack));
    forEachProduct(X, weight, (sum, channel, index) => {
      elements[index] = requantization.toInteger(sum, channel, { scale, zeroPoint }, isRelu ? zeroPoint : 0);
    });
    return output;
  };
}

/** A quantiser for the numbers of a tensor as they are found (quant_utils::ChooseQuantizationParams). */
function chooseQuantizer(x: Tensor, reduceRange: boolean): Quantizer {
  const SMALLEST_SCALE = Math.fround(6.1e-5);
  const max = reduceRange ? 127 : 255;
  let [low, high] = [0, 0];
  for (const value of x.contiguousArray() as Float32Array) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  let scale = (high - low) / max;
  if (Math.fround(scale) === 0 || !Number.isFinite(1 / Math.fround(scale))) scale = 0.1;
  if (scale < SMALLEST_SCALE) {
    const amplifier = SMALLEST_SCALE / scale;
    [low, high] = [Math.fround(low * amplifier), Math.fround(high * amplifier)];
    scale = SMALLEST_SCALE;
  }
  // From that end which is the less wrong.
  const isFromLow = Math.abs(low / scale) < max + Math.abs(high / scale);
  const zeroPoint = isFromLow ? -low / scale : max - high / scale;
  return { scale: Math.fround(scale), zeroPoint: Math.min(Math.max(roundHalfToEven(zeroPoint), 0), max), axis: null };
}

function dynamicLinear(isRelu: boolean): (args: Linear & { reduce_range: boolean }) => Results {
  return ({ X, W_prepack, reduce_range: reduceRange }) => {
    check(X.dtype === 'float32', () => `The 'self' argument has to be a float tensor, but is ${X.dtype}`);
    const weight = weightOf(W_prepack);
    const quantizer = chooseQuantizer(X, reduceRange);
    const output = Tensor.empty([...X.sizes.slice(0, -1), weight.sizes[0]], 'float32');
    const elements = output.storageArrayForWriting();
    const requantization = new Requantization(quantizer.scale as number, weight, biasOf(W_prepack));
    forEachProduct(quantized(X, quantizer, 'quint8'), weight, (sum, channel, index) => {
      const value = requantization.toFloat(sum, channel);
      elements[index] = isRelu ? Math.max(value, 0) : value;
    });
    return output;
  };
}

/** Weights of half precision, kept as the float32 numbers that they are. */
function toHalf(weight: Tensor): Tensor {
  const largest = 65504;
  const halves = (weight.contiguousArray() as Float32Array).map((value) =>
    halfToNumber(numberToHalf(Math.min(Math.max(value, -largest), largest))),
  );
  return Tensor.fromArray(halves, weight.sizes, 'float32');
}

function halfLinear(isRelu: boolean): (args: Linear) => Results {
  return ({ X, W_prepack }) => {
    const [weight, bias] = [weightOf(W_prepack), biasOf(W_prepack)?.contiguousArray()];
    const [outputs, inputs] = weight.sizes;
    const [left, right] = [X.contiguousArray(), weight.contiguousArray()] as Float32Array[];
    const output = Tensor.empty([...X.sizes.slice(0, -1), outputs], 'float32');
    const elements = output.storageArrayForWriting();
    for (let index = 0; index < elements.length; index++) {
      const [row, channel] = [Math.floor(index / outputs), index % outputs];
      let sum = 0;
      for (let at = 0; at < inputs; at++) sum += left[row * inputs + at] * right[channel * inputs + at];
      const value = sum + Number(bias?.[channel] ?? 0);
      elements[index] = isRelu ? Math.max(value, 0) : value;
    }
    return output;
  };
}

// ---- convolutions

interface Convolution {
  readonly qx: Tensor;
  readonly packed_weight: ScriptObject;
  readonly output_scale: number;
  readonly output_zero_point: number;
}

/** Of one or two dimensions: a convolution of one is stored as one of two whose first has size 1. */
function convolution(dims: 1 | 2, isRelu: boolean): (args: Convolution) => Results {
  return ({ qx, packed_weight: packed, output_scale: scale, output_zero_point: zeroPoint }) => {
    const name = `qconv${dims}d`;
    expectQuantizedInput(qx, name);
    check(packed.getAttribute('_transpose') === false, `${name}: transposed convolutions are not supported`);
    check(qx.dim === dims + 2, () => `${name}: Expected input of ${dims + 2} dimensions but got ${qx.dim}`);
    const weight = weightOf(packed);
    const [batch, channels] = qx.sizes;
    const [inHeight, inWidth] = dims === 1 ? [1, qx.sizes[2]] : [qx.sizes[2], qx.sizes[3]];
    const [outputs, groupChannels, kernelHeight, kernelWidth] = weight.sizes;
    const [strideY, strideX] = listOf(packed, 'stride');
    const [paddingY, paddingX] = listOf(packed, 'padding');
    const [dilationY, dilationX] = listOf(packed, 'dilation');
    const groups = Number(packed.getAttribute('_groups'));
    check(
      channels === groupChannels * groups,
      () =>
        `${name}: given groups=${groups}, weight of size [${weight.sizes.join(', ')}], expected input to have ${groupChannels * groups} channels, but got ${channels} channels instead`,
    );
    const sizeOf = (size: number, padding: number, dilation: number, width: number, stride: number): number =>
      Math.floor((size + 2 * padding - dilation * (width - 1) - 1) / stride) + 1;
    const height = sizeOf(inHeight, paddingY, dilationY, kernelHeight, strideY);
    const width = sizeOf(inWidth, paddingX, dilationX, kernelWidth, strideX);

    const output = quantizedOutput([batch, outputs, ...(dims === 1 ? [] : [height]), width], { scale, zeroPoint });
    const elements = output.storageArrayForWriting();
    const requantization = new Requantization(quantizerOf(qx).scale as number, weight, biasOf(packed));
    const [left, right] = [centred(qx), centred(weight)];
    const isSymmetric = hasZeroPointsOfZero(weight);
    const min = isRelu ? zeroPoint : 0;
    let index = 0;
    for (let image = 0; image < batch; image++) {
      for (let channel = 0; channel < outputs; channel++) {
        const firstInput = Math.floor(channel / (outputs / groups)) * groupChannels;
        for (let y = 0; y < height; y++) {
          for (let x = 0; x < width; x++) {
            let sum = 0;
            for (let input = 0; input < groupChannels; input++) {
              for (let ky = 0; ky < kernelHeight; ky++) {
                const row = y * strideY - paddingY + ky * dilationY;
                if (row < 0 || row >= inHeight) continue;
                const line = ((image * channels + firstInput + input) * inHeight + row) * inWidth;
                const taps = ((channel * groupChannels + input) * kernelHeight + ky) * kernelWidth;
                for (let kx = 0; kx < kernelWidth; kx++) {
                  const column = x * strideX - paddingX + kx * dilationX;
                  if (column >= 0 && column < inWidth) sum += left[line + column] * right[taps + kx];
                }
              }
            }
            elements[index++] = isSymmetric
              ? requantization.toIntegerAtOnce(sum, channel, { scale, zeroPoint }, min)
              : requantization.toInteger(sum, channel, { scale, zeroPoint }, min);
          }
        }
      }
    }
    return output;
  };
}

interface Prepack {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
  readonly groups: number;
}

function prepack(dims: 1 | 2): (args: Prepack) => Results {
  return ({ weight, bias, stride, padding, dilation, groups }) => {
    const inTwo = (numbers: readonly number[], first: number): List =>
      intList(dims === 1 ? [first, numbers[0]] : numbers.length === 1 ? [numbers[0], numbers[0]] : numbers);
    let packedWeight = weight;
    if (dims === 1) {
      const [outputs, inputs, width] = weight.sizes;
      const [s0, s1, s2] = weight.strides;
      packedWeight = weight.asStrided([outputs, inputs, 1, width], [s0, s1, s2 * width, s2]);
    }
    return pack('Conv2dPackedParamsBase', {
      _weight: packedWeight,
      _bias: bias,
      _stride: inTwo(stride, 1),
      _padding: inTwo(padding, 0),
      _dilation: inTwo(dilation, 1),
      _output_padding: intList([0, 0]),
      _groups: BigInt(groups),
      _transpose: false,
    }) as unknown as Results;
  };
}

// ---- arithmetic

interface Binary {
  readonly qa: Tensor;
  readonly qb: Tensor;
  readonly scale: number;
  readonly zero_point: number;
}

/** The elements of both, where they have the same shape. */
function pairs({ qa, qb }: Binary): readonly [Int32Array, Int32Array] {
  check(
    qa.sizes.length === qb.sizes.length && qa.sizes.every((size, dim) => size === qb.sizes[dim]),
    'quantised tensors of different shapes are not broadcast',
  );
  check(qa.dtype === qb.dtype, 'qa and qb should have same data type.');
  return [centred(qa), centred(qb)];
}

/** A sum is made of numbers, and quantised once more. */
function add(isRelu: boolean): (args: Binary) => Results {
  return (args) => {
    const { qa, qb, scale, zero_point: zeroPoint } = args;
    pairs(args);
    const [a, b] = [dequantized(qa).contiguousArray(), dequantized(qb).contiguousArray()] as Float32Array[];
    const sums = a.map((value, index) => (isRelu ? Math.max(value + b[index], 0) : value + b[index]));
    return quantized(Tensor.fromArray(sums, qa.sizes, 'float32'), { scale, zeroPoint, axis: null }, qa.dtype);
  };
}

/** A product is one of integers, scaled once. */
function multiply(isRelu: boolean): (args: Binary) => Results {
  return (args) => {
    const { qa, qb, scale, zero_point: zeroPoint } = args;
    const [a, b] = pairs(args);
    const [scaleA, scaleB] = [qa, qb].map((each) => Math.fround(quantizerOf(each).scale as number));
    const multiplier = Math.fround(Math.fround(scaleA * scaleB) * Math.fround(1 / Math.fround(scale)));
    const output = Tensor.empty(qa.sizes, qa.dtype);
    output.quantizer = { scale, zeroPoint, axis: null };
    const elements = output.storageArrayForWriting();
    const [min, max] = qa.dtype === 'qint8' ? [-128, 127] : [0, 255];
    for (let index = 0; index < a.length; index++) {
      const product = roundHalfToEven(Math.fround(a[index] * b[index] * multiplier)) + zeroPoint;
      elements[index] = Math.min(Math.max(product, isRelu ? Math.max(min, zeroPoint) : min), max);
    }
    return output;
  };
}

const LINEAR = `Tensor X, ${PACKED}LinearPackedParamsBase W_prepack`;
const CONVOLUTION = `Tensor qx, ${PACKED}Conv2dPackedParamsBase packed_weight, float output_scale, int output_zero_point`;
const PREPACK = 'Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups';

const row = <Args>(schema: string, host: (args: Args) => Results): OperatorRow =>
  kernel<Args>(`quantized::${schema}`, { takesQuantized: true, host });

const unpack = (packed: ScriptObject): Results => [weightOf(packed), biasOf(packed)];

/** The weight of a convolution of one dimension without the one that it was given for storing. */
function unpackConvolution1d(packed: ScriptObject): Results {
  const weight = weightOf(packed);
  const without = (numbers: readonly number[]): number[] => numbers.filter((_, dim) => dim !== 2);
  return [weight.asStrided(without(weight.sizes), without(weight.strides)), biasOf(packed)];
}

export const quantizedLayerRows: readonly OperatorRow[] = [
  row<{ W: Tensor; B: Tensor | null }>(
    `linear_prepack(Tensor W, Tensor? B=None) -> ${PACKED}LinearPackedParamsBase W_prepack`,
    ({ W, B }) => pack('LinearPackedParamsBase', { _weight: W, _bias: B }) as unknown as Results,
  ),
  row<{ W: Tensor; B: Tensor | null }>(
    `linear_prepack_fp16(Tensor W, Tensor? B=None) -> ${PACKED}LinearPackedParamsBase W_prepack`,
    ({ W, B }) => pack('LinearPackedParamsBase', { _weight: toHalf(W), _bias: B }) as unknown as Results,
  ),
  ...['', '_fp16'].map((half) =>
    row<{ W_prepack: ScriptObject }>(
      `linear_unpack${half}(${PACKED}LinearPackedParamsBase W_prepack) -> (Tensor W_origin, Tensor? B_origin)`,
      ({ W_prepack }) => unpack(W_prepack),
    ),
  ),
  ...[false, true].flatMap((isRelu) => {
    const relu = isRelu ? '_relu' : '';
    return [
      row(`linear${relu}(${LINEAR}, float Y_scale_i, int Y_zero_point_i) -> Tensor Y`, linear(isRelu)),
      row(`linear${relu}_dynamic(${LINEAR}, bool reduce_range=False) -> Tensor Y`, dynamicLinear(isRelu)),
      row(`linear${relu}_dynamic_fp16(${LINEAR}) -> Tensor Y`, halfLinear(isRelu)),
      row(`conv1d${relu}(${CONVOLUTION}) -> Tensor`, convolution(1, isRelu)),
      row(`conv2d${relu}.new(${CONVOLUTION}) -> Tensor`, convolution(2, isRelu)),
      row(`add${relu}(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc`, add(isRelu)),
      row(`mul${relu}(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc`, multiply(isRelu)),
    ];
  }),
  ...([1, 2] as const).flatMap((dims) => [
    row(`conv${dims}d_prepack(${PREPACK}) -> ${PACKED}Conv2dPackedParamsBase`, prepack(dims)),
    row<{ packed_weights: ScriptObject }>(
      `conv${dims}d_unpack(${PACKED}Conv2dPackedParamsBase packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)`,
      ({ packed_weights: packed }) => (dims === 1 ? unpackConvolution1d(packed) : unpack(packed)),
    ),
  ]),
];
