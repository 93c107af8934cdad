import { type ScriptObject, scratch } from '@cresset/tensor';
import { halfToNumber, numberToHalf, Tensor } from '@cresset/tensor';
import { scalarTypeIrName } from '@cresset/ir';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow, Results } from '../../table/row.ts';
import {
  centred,
  emptyQuantized,
  quantized,
  tensorQuantizer,
  tensorQuantizerOf,
  type TensorQuantizer,
} from './affine.ts';
import {
  biasOf,
  chooseQuantizer,
  integerWeightOf,
  multiplyRows,
  pack,
  PACKED,
  Requantization,
  weightOf,
} from './packed-weights.ts';
import { type Pieces, filled } from '../../kernels/loops/pieces.ts';
import { elementsInPieces } from '../../kernels/numbers/numbers.ts';

/** Products with packed weights of `qint8` or of half precision (ATen/native/quantized/cpu/qlinear*.cpp). */

interface Linear {
  readonly X: Tensor;
  readonly W_prepack: ScriptObject;
}

/** Sums of products for every element of the output, in C order. */
function* sumsOf(x: Tensor, weight: Tensor, operator: string): Pieces<Int32Array> {
  const [outputs, inputs] = weight.sizes;
  check(x.dim !== 0, 'The dimension of input tensor should be larger than 0');
  check(
    x.sizes.at(-1) === inputs,
    () =>
      `The dimension of the input tensor of ${operator} (${x.sizes.at(-1)}) has to be that of the weight (${inputs})`,
  );
  const count = x.numel / Math.max(inputs, 1);
  const sums = scratch(Int32Array, count * outputs);
  const rows = { depth: inputs, count, outputs };
  yield* multiplyRows(yield* centred(x), yield* integerWeightOf(weight, outputs), sums, rows);
  return sums;
}

function* linear({ X, W_prepack }: Linear, output: TensorQuantizer, isRelu: boolean): Pieces<Tensor> {
  check(X.dtype === 'quint8', () => `Expected input data type QUInt8 but got ${scalarTypeIrName(X.dtype)}`);
  const weight = weightOf(W_prepack);
  const [outputs] = weight.sizes;
  const requantization = new Requantization(
    tensorQuantizerOf(X).scale,
    yield* integerWeightOf(weight, outputs),
    biasOf(W_prepack),
  );
  const result = emptyQuantized([...X.sizes.slice(0, -1), outputs], 'quint8', output);
  const elements = result.storageArrayForWriting();
  const min = isRelu ? output.zeroPoint : 0;
  const sums = yield* sumsOf(X, weight, 'quantized::linear');
  yield* filled(elements as Uint8Array, 16, (index) =>
    requantization.toInteger(sums[index], index % outputs, output, min),
  );
  return result;
}

/** A product of float32 numbers that are quantised for it. */
function* floatLinear({ X, W_prepack }: Linear, quantizer: TensorQuantizer, isRelu: boolean): Pieces<Tensor> {
  const weight = weightOf(W_prepack);
  const [outputs] = weight.sizes;
  const requantization = new Requantization(
    quantizer.scale,
    yield* integerWeightOf(weight, outputs),
    biasOf(W_prepack),
  );
  const result = Tensor.empty([...X.sizes.slice(0, -1), outputs], 'float32');
  const elements = result.storageArrayForWriting();
  const sums = yield* sumsOf(yield* quantized(X, quantizer, 'quint8'), weight, 'quantized::linear_dynamic');
  yield* filled(elements as Float32Array, 8, (index) => {
    const value = requantization.toFloat(sums[index], index % outputs);
    return isRelu ? Math.max(value, 0) : value;
  });
  return result;
}

/** Linear layers whose input is quantised as its numbers are found; of half precision where the weight is. */
export function* dynamicLinear(
  X: Tensor,
  W_prepack: ScriptObject,
  reduceRange: boolean,
  isRelu = false,
): Pieces<Tensor> {
  check(X.dtype === 'float32', () => `expected scalar type Float but found ${scalarTypeIrName(X.dtype)}`);
  if (weightOf(W_prepack).quantizer === null) return yield* halfLinear({ X, W_prepack }, isRelu);
  return yield* floatLinear({ X, W_prepack }, yield* chooseQuantizer(X, 0, reduceRange ? 127 : 255), isRelu);
}

/** Works out what products take of the weight, so that the first of them does not. */
export function packLinearWeight(packed: ScriptObject): Pieces<unknown> {
  const weight = weightOf(packed);
  return weight.quantizer === null ? halfWeight(weight) : integerWeightOf(weight, weight.sizes[0]);
}

const halves = new WeakMap<Tensor, Float32Array>();

/** Weights of half precision, kept as the float32 numbers that they are. */
function* halfWeight(weight: Tensor): Pieces<Float32Array> {
  const largest = 65504;
  let known = halves.get(weight);
  if (!known) {
    const values = (yield* elementsInPieces(weight)) as Float32Array;
    known = yield* filled(scratch(Float32Array, values.length), 16, (at) =>
      halfToNumber(numberToHalf(Math.min(Math.max(values[at], -largest), largest))),
    );
    halves.set(weight, known);
  }
  return known;
}

function* halfLinear({ X, W_prepack }: Linear, isRelu: boolean): Pieces<Tensor> {
  const weight = weightOf(W_prepack);
  return yield* floatProduct(X, weight, yield* halfWeight(weight), biasOf(W_prepack), isRelu);
}

function* floatProduct(
  X: Tensor,
  weight: Tensor,
  right: Float32Array,
  bias: Tensor | null,
  isRelu: boolean,
): Pieces<Tensor> {
  const [outputs, inputs] = weight.sizes;
  check(
    X.sizes.at(-1) === inputs,
    () => `The number of columns in the input (${X.sizes.at(-1)}) has to be that of the weight (${inputs})`,
  );
  const left = (yield* elementsInPieces(X)) as Float32Array;
  const added = bias?.contiguousArray();
  const output = Tensor.empty([...X.sizes.slice(0, -1), outputs], 'float32');
  const elements = output.storageArrayForWriting();
  yield* filled(elements as Float32Array, inputs, (index) => {
    const [row, channel] = [Math.floor(index / outputs), index % outputs];
    let sum = 0;
    for (let at = 0; at < inputs; at++) sum += left[row * inputs + at] * right[channel * inputs + at];
    const value = Math.fround(Math.fround(sum) + Number(added?.[channel] ?? 0));
    return isRelu ? Math.max(value, 0) : value;
  });
  return output;
}

function packLinear(W: Tensor, B: Tensor | null): Results {
  check(W.dim === 2, 'The weight tensor for quantized::linear_prepack (fbgemm) should be 2-dimensional.');
  if (B) {
    check(B.dim === 1, 'bias should be a vector (1D Tensor)');
    check(B.sizes[0] === W.sizes[0], () => `bias should have N elements: ${W.sizes[0]}`);
  }
  return pack('quantized.LinearPackedParamsBase', { _weight: W, _bias: B }) as unknown as Results;
}

const LINEAR = `Tensor X, ${PACKED}quantized.LinearPackedParamsBase W_prepack`;

const row = <Args>(schema: string, host: (args: Args) => Results | Pieces<Results>): OperatorRow =>
  kernel<Args>(`quantized::${schema}`, { takesQuantized: true, host });

export const quantizedLinearRows: readonly OperatorRow[] = [
  ...['', '_fp16'].flatMap((half) => [
    row<{ W: Tensor; B: Tensor | null }>(
      `linear_prepack${half}(Tensor W, Tensor? B=None) -> ${PACKED}quantized.LinearPackedParamsBase W_prepack`,
      ({ W, B }) => packLinear(W, B),
    ),
    row<{ W_prepack: ScriptObject }>(
      `linear_unpack${half}(${PACKED}quantized.LinearPackedParamsBase W_prepack) -> (Tensor W_origin, Tensor? B_origin)`,
      ({ W_prepack }) => [weightOf(W_prepack), biasOf(W_prepack)],
    ),
  ]),
  ...['', '_relu'].flatMap((relu) => {
    const isRelu = relu !== '';
    return [
      row<Linear & { Y_scale_i: number; Y_zero_point_i: number }>(
        `linear${relu}(${LINEAR}, float Y_scale_i, int Y_zero_point_i) -> Tensor Y`,
        ({ Y_scale_i: scale, Y_zero_point_i: zeroPoint, ...args }) =>
          linear(args, tensorQuantizer(scale, zeroPoint), isRelu),
      ),
      row<Linear & { reduce_range: boolean }>(
        `linear${relu}_dynamic(${LINEAR}, bool reduce_range=False) -> Tensor Y`,
        ({ X, W_prepack, reduce_range: reduceRange }) => dynamicLinear(X, W_prepack, reduceRange, isRelu),
      ),
      row<Linear>(`linear${relu}_dynamic_fp16(${LINEAR}) -> Tensor Y`, (args) => halfLinear(args, isRelu)),
      row<Linear & { X_scale: number; X_zero_point: number }>(
        `linear_with_input_q_dq_qweight_dq${relu}_output_fp32(Tensor X, float X_scale, int X_zero_point, ${PACKED}quantized.LinearPackedParamsBase W_prepack) -> Tensor Y`,
        ({ X_scale: scale, X_zero_point: zeroPoint, ...args }) =>
          floatLinear(args, tensorQuantizer(scale, zeroPoint), isRelu),
      ),
    ];
  }),
  row<{ X: Tensor; weight: Tensor; bias: Tensor | null }>(
    'linear_dynamic_fp16_unpacked_weight(Tensor X, Tensor weight, Tensor? bias) -> Tensor Y',
    function* ({ X, weight, bias }) {
      return yield* floatProduct(X, weight, yield* halfWeight(weight), bias, false);
    },
  ),
];
