import { scalarTypeIrName } from '@cresset/ir';
import { numelOf, type ScriptObject, type Tensor, scratch } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow, Results } from '../../table/row.ts';
import {
  centred,
  channelsLastStrides,
  dequantized,
  emptyQuantized,
  quantized,
  tensorQuantizer,
  tensorQuantizerOf,
  type TensorQuantizer,
} from './affine.ts';
import {
  biasOf,
  chooseQuantizer,
  intList,
  integerWeightOf,
  type IntegerWeight,
  listOf,
  multiplyRows,
  pack,
  PACKED,
  Requantization,
  weightOf,
} from './packed-weights.ts';
import { type Pieces, PIECE_SIZE, repeat, filled } from '../../kernels/loops/pieces.ts';

/** Convolutions with packed weights (ATen/native/quantized/cpu/qconv*.cpp). One of one dimension is stored as one of two. */

interface Convolution {
  readonly qx: Tensor;
  readonly packed_weight: ScriptObject;
}

type Triple = readonly [number, number, number];

/** Numbers of one to three dimensions as those of three, the first ones being `missing`. */
const inThree = (numbers: readonly number[], missing: number): Triple =>
  [...new Array<number>(3 - numbers.length).fill(missing), ...numbers] as unknown as Triple;

/** A convolution's numbers; `source` is where in the input a tap of the kernel reads for a place of the output, along one dimension. */
interface Geometry {
  readonly inputs: number;
  readonly outputs: number;
  readonly groups: number;
  readonly from: Triple;
  readonly to: Triple;
  readonly kernel: Triple;
  source(dim: number, place: number, tap: number): number;
}

function geometryOf(packed: ScriptObject, sizes: readonly number[], name: string): Geometry {
  const weight = weightOf(packed);
  const groups = Number(packed.getAttribute('_groups'));
  const isTransposed = packed.getAttribute('_transpose') === true;
  const [inputs, outputs] = isTransposed
    ? [weight.sizes[0], weight.sizes[1] * groups]
    : [weight.sizes[1] * groups, weight.sizes[0]];
  check(
    sizes[1] === inputs,
    () =>
      `Given groups=${groups}, weight of size ${sizesText(weight.sizes)}, expected input${sizesText(sizes)} to have ${inputs} channels, but got ${sizes[1]} channels instead`,
  );
  const from = inThree(sizes.slice(2), 1);
  const kernelSizes = inThree(weight.sizes.slice(2), 1);
  const stride = inThree(listOf(packed, 'stride'), 1);
  const padding = inThree(listOf(packed, 'padding'), 0);
  const dilation = inThree(listOf(packed, 'dilation'), 1);
  const outputPadding = inThree(listOf(packed, 'output_padding'), 0);
  const to = from.map((size, dim) => {
    const reach = dilation[dim] * (kernelSizes[dim] - 1);
    return isTransposed
      ? (size - 1) * stride[dim] - 2 * padding[dim] + reach + outputPadding[dim] + 1
      : Math.floor((size + 2 * padding[dim] - reach - 1) / stride[dim]) + 1;
  }) as unknown as Triple;
  check(
    to.every((size) => size > 0),
    () => `${name}: each dimension of output tensor should be greater than 0`,
  );
  const source = isTransposed
    ? (dim: number, place: number, tap: number): number => {
        const at = place + padding[dim] - tap * dilation[dim];
        return at % stride[dim] === 0 ? at / stride[dim] : -1;
      }
    : (dim: number, place: number, tap: number): number => place * stride[dim] - padding[dim] + tap * dilation[dim];
  return { inputs, outputs, groups, from, to, kernel: kernelSizes, source };
}

/**
 * The weight as products take it, which is worked out once. Its rows have all taps of an output channel beside each other; a transposed
 * one is stored with its input channels first.
 */
export function packedConvolutionWeight(packed: ScriptObject): Pieces<IntegerWeight> {
  const weight = weightOf(packed);
  const [first, perGroup, ...kernelSizes] = weight.sizes;
  if (packed.getAttribute('_transpose') !== true) return integerWeightOf(weight, first);
  const groups = Number(packed.getAttribute('_groups'));
  const taps = numelOf(kernelSizes);
  const own = first / groups;
  return integerWeightOf(weight, perGroup * groups, (integers) =>
    filled(scratch(Int32Array, integers.length), 16, (index) => {
      const tap = index % taps;
      const input = Math.floor(index / taps) % own;
      const output = Math.floor(index / (taps * own));
      const channel = Math.floor(output / perGroup) * own + input;
      return integers[(channel * perGroup + (output % perGroup)) * taps + tap];
    }),
  );
}

/**
 * oneDNN computes what it can on processors with instructions for it, FBGEMM the rest (onednn_utils::should_use_onednn_quant). Its
 * transposed convolutions do not give what they should, so those are computed as FBGEMM does.
 */
function isForOneDnn(packed: ScriptObject, isSymmetric: boolean, groups: number): boolean {
  return isSymmetric && groups <= 100 && packed.getAttribute('_transpose') === false;
}

function* convolve(
  qx: Tensor,
  packed: ScriptObject,
  output: TensorQuantizer,
  isRelu: boolean,
  name: string,
): Pieces<Tensor> {
  check(
    qx.dtype === 'quint8',
    () => `${name}: Expected activation data type QUInt8 but got ${scalarTypeIrName(qx.dtype)}`,
  );
  const { scale } = tensorQuantizerOf(qx);
  const geometry = geometryOf(packed, qx.sizes, name);
  const { inputs, outputs, groups, from, to, kernel: taps } = geometry;
  const weight = yield* packedConvolutionWeight(packed);
  const requantization = new Requantization(scale, weight, biasOf(packed));
  const min = isRelu ? output.zeroPoint : 0;
  const atOnce = isForOneDnn(packed, weight.isSymmetric, groups);

  const integers = yield* centred(qx);
  const [batch] = qx.sizes;
  const own = inputs / groups;
  const perGroup = outputs / groups;
  const depth = own * taps[0] * taps[1] * taps[2];
  const window = scratch(Int32Array, to[2] * depth);
  const sums = scratch(Int32Array, to[2] * outputs);
  const sizes = [batch, outputs, ...to.slice(5 - qx.dim)];
  const result = emptyQuantized(sizes, 'quint8', output, channelsLastStrides(sizes));
  const elements = result.storageArrayForWriting();
  let index = 0;
  let done = 0;
  for (let line = 0; line < batch * to[0] * to[1]; line++) {
    const y = line % to[1];
    const z = Math.floor(line / to[1]) % to[0];
    const image = Math.floor(line / (to[0] * to[1]));
    for (let group = 0; group < groups; group++) {
      yield* gather(
        integers,
        (image * inputs + group * own) * from[0] * from[1] * from[2],
        own,
        geometry,
        z,
        y,
        window,
      );
      yield* multiplyRows(window, weight, sums, {
        depth,
        count: to[2],
        outputs: perGroup,
        rightFirst: group * perGroup * depth,
        outputFirst: group * perGroup,
        outputStride: outputs,
      });
    }
    yield* repeat(sums.length, 16, (at) => {
      elements[index++] = atOnce
        ? requantization.toIntegerAtOnce(sums[at], at % outputs, output, min)
        : requantization.toInteger(sums[at], at % outputs, output, min);
    });
    done += sums.length * depth;
    if (done < PIECE_SIZE) continue;
    done = 0;
    yield;
  }
  return result;
}

/** What the taps read for each place of a line of the output: a row for each, with zeros where there is padding. */
function* gather(
  integers: Int32Array,
  first: number,
  channels: number,
  { from: [depth, height, width], to, kernel: [taps0, taps1, taps2], source }: Geometry,
  z: number,
  y: number,
  window: Int32Array,
): Pieces {
  window.fill(0);
  const rowLength = channels * taps0 * taps1 * taps2;
  for (let tapX = 0; tapX < taps2; tapX++) {
    yield* repeat(to[2], 4 * channels * taps0 * taps1, (x) => {
      const fromX = source(2, x, tapX);
      if (fromX < 0 || fromX >= width) return;
      for (let tapZ = 0; tapZ < taps0; tapZ++) {
        const fromZ = source(0, z, tapZ);
        if (fromZ < 0 || fromZ >= depth) continue;
        for (let tapY = 0; tapY < taps1; tapY++) {
          const fromY = source(1, y, tapY);
          if (fromY < 0 || fromY >= height) continue;
          let at = first + (fromZ * height + fromY) * width + fromX;
          let target = x * rowLength + (tapZ * taps1 + tapY) * taps2 + tapX;
          for (let channel = 0; channel < channels; channel++) {
            window[target] = integers[at];
            at += depth * height * width;
            target += taps0 * taps1 * taps2;
          }
        }
      }
    });
  }
}

interface Prepack {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly output_padding?: readonly number[];
  readonly dilation: readonly number[];
  readonly groups: number;
}

/** Adds or takes away the dimension of size 1 before the last that a convolution of one dimension is stored with. */
const withLine = (x: Tensor): Tensor =>
  x.asStrided(x.sizes.toSpliced(2, 0, 1), x.strides.toSpliced(2, 0, x.strides[2] * x.sizes[2]));
const withoutLine = (x: Tensor): Tensor => x.asStrided(x.sizes.toSpliced(2, 1), x.strides.toSpliced(2, 1));

function prepack(dims: 1 | 2 | 3, isTransposed: boolean, args: Prepack): Results {
  const { weight, bias, stride, padding, dilation, output_padding: outputPadding, groups } = args;
  const what = `quantized::conv${isTransposed ? '_transpose' : ''}${dims}d_prepack`;
  check(weight.dim === dims + 2, () => `Weights are expected to have ${dims + 2} dimensions`);
  if (dims > 1) {
    for (const [name, numbers] of Object.entries({ stride, padding, dilation })) {
      check(numbers.length === dims, () => `${name} should contain ${dims} elements for ${dims}D convolution.`);
    }
  }
  const stored = Math.max(dims, 2);
  // Of one dimension, the first number counts.
  const numbersOf = (numbers: readonly number[], first: number): readonly number[] =>
    dims === 1 ? [first, numbers[0]] : numbers;
  check(weight.sizes[0] % groups === 0, () => `${what}: output channels have to be divisible by groups`);
  return pack(`quantized.Conv${stored}dPackedParamsBase`, {
    _weight: dims === 1 ? withLine(weight) : weight,
    _bias: bias,
    _stride: intList(numbersOf(stride, 1)),
    _padding: intList(numbersOf(padding, 0)),
    _dilation: intList(numbersOf(dilation, 1)),
    _output_padding: intList(numbersOf(outputPadding ?? new Array<number>(dims).fill(0), 0)),
    _groups: BigInt(groups),
    _transpose: isTransposed,
  }) as unknown as Results;
}

const row = <Args>(schema: string, host: (args: Args) => Results | Pieces<Results>): OperatorRow =>
  kernel<Args>(`quantized::${schema}`, { takesQuantized: true, host });

const OUTPUT = 'float output_scale, int output_zero_point';
const LISTS = 'int[] stride, int[] padding, int[] dilation, int groups';
const TRANSPOSED_LISTS = 'int[] stride, int[] padding, int[] output_padding, int[] dilation, int groups';

const classOf = (dims: number): string => `${PACKED}quantized.Conv${Math.max(dims, 2)}dPackedParamsBase`;

interface Output {
  readonly output_scale: number;
  readonly output_zero_point: number;
}

/** Everything of convolutions of a number of dimensions: computing, computing what comes as float32, packing and looking into what was packed. */
function convolutionRows(dims: 1 | 2 | 3, isTransposed: boolean): OperatorRow[] {
  const name = `conv${isTransposed ? '_transpose' : ''}${dims}d`;
  const operator = `quantized::${name}`;
  function* run({ qx, packed_weight: packed }: Convolution, output: TensorQuantizer, isRelu: boolean): Pieces<Tensor> {
    check(
      qx.dim === dims + 2,
      () => `Expected activation data to be ${dims + 2} dimensional for ${operator}, but got ${qx.dim}`,
    );
    if (dims > 1) return yield* convolve(qx, packed, output, isRelu, `${operator} (fbgemm)`);
    return withoutLine(yield* convolve(withLine(qx), packed, output, isRelu, `${operator} (fbgemm)`));
  }
  const packedArgument = `${classOf(dims)} packed_weight`;
  const overload = dims > 1 && !isTransposed ? '.new' : '';
  return [
    ...(isTransposed ? [''] : ['', '_relu']).map((relu) =>
      row<Convolution & Output>(
        `${name}${relu}${overload}(Tensor qx, ${packedArgument}, ${OUTPUT}) -> Tensor`,
        ({ output_scale: scale, output_zero_point: zeroPoint, ...args }) =>
          run(args, tensorQuantizer(scale, zeroPoint), relu !== ''),
      ),
    ),
    row<Convolution & { reduce_range: boolean }>(
      `${name}_dynamic(Tensor qx, ${packedArgument}, bool reduce_range=False) -> Tensor`,
      function* ({ qx, packed_weight: packed, reduce_range: reduceRange }) {
        const quantizer = yield* chooseQuantizer(qx, 0, reduceRange ? 127 : 255);
        const integers = yield* quantized(qx, quantizer, 'quint8');
        return yield* dequantized(yield* run({ qx: integers, packed_weight: packed }, quantizer, false));
      },
    ),
    row<Prepack>(
      `${name}_prepack(Tensor weight, Tensor? bias, ${isTransposed ? TRANSPOSED_LISTS : LISTS}) -> ${classOf(dims)}`,
      (args) => prepack(dims, isTransposed, args),
    ),
    row<{ packed_weights: ScriptObject }>(
      `${name}_unpack(${classOf(dims)} packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)`,
      ({ packed_weights: packed }) => [dims === 1 ? withoutLine(weightOf(packed)) : weightOf(packed), biasOf(packed)],
    ),
    ...(dims === 1 ? [] : inspectionRows(name, dims)),
  ];
}

function inspectionRows(name: string, dims: number): OperatorRow[] {
  const argument = `${classOf(dims)} packed_weights`;
  return [
    ...['stride', 'padding', 'output_padding', 'dilation'].map((list) =>
      row<{ packed_weights: ScriptObject }>(`${name}_${list}(${argument}) -> int[]`, ({ packed_weights: packed }) =>
        listOf(packed, list),
      ),
    ),
    row<{ packed_weights: ScriptObject }>(`${name}_groups(${argument}) -> int`, ({ packed_weights: packed }) =>
      Number(packed.getAttribute('_groups')),
    ),
    row<{ packed_weights: ScriptObject }>(`${name}_transpose(${argument}) -> int`, ({ packed_weights: packed }) =>
      Number(packed.getAttribute('_transpose')),
    ),
  ];
}

export const quantizedConvolutionRows: readonly OperatorRow[] = [
  ...([1, 2, 3] as const).flatMap((dims) => [...convolutionRows(dims, false), ...convolutionRows(dims, true)]),
  // The names of two dimensions before there were others.
  row<Prepack>(`conv_prepack(Tensor weight, Tensor? bias, ${LISTS}) -> ${classOf(2)}`, (args) =>
    prepack(2, false, args),
  ),
  row<{ packed_weights: ScriptObject }>(
    `conv_unpack(${classOf(2)} packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)`,
    ({ packed_weights: packed }) => [weightOf(packed), biasOf(packed)],
  ),
];
