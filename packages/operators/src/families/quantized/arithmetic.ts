import { Tensor, scratch } from '@cresset/tensor';
import { broadcastSizes, expand } from '../../kernels/broadcast.ts';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow, Results, Scalar } from '../../table/row.ts';
import { relu, writeInto } from './activations.ts';
import {
  channelsLastStrides,
  denseElements,
  dequantized,
  emptyQuantized,
  isChannelsLast,
  mapIntegers,
  mapNumbers,
  quantized,
  rangeOf,
  Reading,
  roundHalfToEven,
  Rounding,
  tensorQuantizer,
  tensorQuantizerOf,
  type TensorQuantizer,
} from './affine.ts';
import { type Pieces, filled, repeat } from '../../kernels/loops/pieces.ts';
import { elementsInPieces } from '../../kernels/numbers/numbers.ts';

/** Sums, products and joins of quantised tensors (ATen/native/quantized/cpu: qadd, qmul, qconcat, qmatmul). */

interface Binary {
  readonly qa: Tensor;
  readonly qb: Tensor;
}

interface Output {
  readonly scale: number;
  readonly zero_point: number;
}

/** Both operands in the shape of the result. */
function operandsOf({ qa, qb }: Binary, name: string): [Tensor, Tensor] {
  for (const each of [qa, qb]) {
    check(each.quantizer !== null, "Could not run 'aten::qscheme' with arguments from the 'CPU' backend.");
    tensorQuantizerOf(each, `Only per tensor quantization is supported in ${name}.`);
  }
  check(qa.dtype === qb.dtype, `${name} operands should have same data type.`);
  const sizes = broadcastSizes(qa.sizes, qb.sizes);
  return [expand(qa, sizes), expand(qb, sizes)];
}

function* add(args: Binary, output: TensorQuantizer, isRelu: boolean): Pieces<Tensor> {
  return yield* mapNumbers(operandsOf(args, 'Add'), output, (a, b) => (isRelu ? Math.max(a + b, 0) : a + b));
}

/** A product is one of integers, scaled once. */
function* multiply(args: Binary, output: TensorQuantizer, isRelu: boolean): Pieces<Tensor> {
  const operands = operandsOf(args, 'Mul');
  const [a, b] = operands.map((each) => tensorQuantizerOf(each)) as [TensorQuantizer, TensorQuantizer];
  const inverse = Math.fround(1 / Math.fround(output.scale));
  const multiplier = Math.fround(Math.fround(Math.fround(a.scale) * Math.fround(b.scale)) * inverse);
  const left = (yield* elementsInPieces(operands[0])) as Int32Array;
  const right = (yield* elementsInPieces(operands[1])) as Int32Array;
  const { sizes, dtype } = operands[0];
  const result = emptyQuantized(sizes, dtype, output);
  const target = result.storageArrayForWriting();
  const [min, max] = rangeOf(dtype);
  const lowest = isRelu ? Math.max(min, output.zeroPoint) : min;
  yield* repeat(target.length, 16, (index) => {
    const product = Math.imul(left[index] - a.zeroPoint, right[index] - b.zeroPoint);
    const integer = roundHalfToEven(Math.fround(Math.fround(product) * multiplier)) + output.zeroPoint;
    target[index] = Math.min(Math.max(integer, lowest), max);
  });
  return result;
}

/**
 * A number is added to the zero point, and the integers stay; where it leaves their bounds, the quantiser is stretched so far that it
 * does not, and the integers are scaled to it.
 */
function* addScalar(self: Tensor, other: Scalar, isRelu: boolean): Pieces<Tensor> {
  const { scale, zeroPoint } = tensorQuantizerOf(self, 'Only per tensor quantization is supported in Add.');
  const [min, max] = rangeOf(self.dtype);
  const shift = roundHalfToEven(Number(other) / scale);
  const shifted = zeroPoint - shift;
  if (shifted >= min && shifted <= max) {
    const result = yield* mapIntegers(self, tensorQuantizer(scale, shifted), (integer) => integer);
    return isRelu ? yield* relu(result) : result;
  }
  const isBelow = shifted < min;
  const stretched = ((isBelow ? max - shifted : shifted - min) / (max - min)) * scale;
  const output = tensorQuantizer(stretched, isBelow ? min : max);
  const multiplier = Math.fround(Math.fround(scale) * Math.fround(1 / Math.fround(stretched)));
  const result = yield* mapIntegers(
    self,
    output,
    (integer) => roundHalfToEven(Math.fround((integer - zeroPoint + shift) * multiplier)) + output.zeroPoint,
  );
  return isRelu ? yield* relu(result) : result;
}

/** A factor changes the scale, and the integers only by its sign. */
function* multiplyScalar(self: Tensor, other: Scalar, isRelu: boolean): Pieces<Tensor> {
  const { scale, zeroPoint } = tensorQuantizerOf(self, 'Only per tensor quantization is supported in Mul.');
  const [min, max] = rangeOf(self.dtype);
  const factor = Number(other);
  function scaled(): Pieces<Tensor> {
    if (factor > 0) return mapIntegers(self, tensorQuantizer(factor * scale, zeroPoint), (integer) => integer);
    if (factor === 0) return mapIntegers(self, tensorQuantizer(1, 0), () => 0);
    const mirrored = tensorQuantizer(-factor * scale, max - (zeroPoint - min));
    return mapIntegers(self, mirrored, (integer) => max + min - integer);
  }
  const result = yield* scaled();
  return isRelu ? yield* relu(result) : result;
}

/** Tensors one after the other along a dimension; their numbers are quantised once more. */
export function* join(
  tensors: readonly Tensor[],
  dim: number,
  output: TensorQuantizer,
  isRelu: boolean,
): Pieces<Tensor> {
  const [{ dtype }] = tensors;
  for (const each of tensors) {
    tensorQuantizerOf(each, "Only per-tensor quantization is supported in 'cat'!");
    check(each.dtype === dtype, 'All dtypes must be the same.');
  }
  if (dim === 1 && tensors.every((each) => isChannelsLast(each) && !each.isContiguous())) {
    return yield* joinChannels(tensors, output, isRelu);
  }
  const numbers: Tensor[] = [];
  for (const each of tensors) numbers.push(yield* dequantized(each));
  const joined = yield* quantized(yield* concatenated(numbers, dim), output, dtype);
  return isRelu ? yield* relu(joined) : joined;
}

/** Channels that lie beside each other are taken in vectors of 8, and what is left of a tensor's one by one. */
function* joinChannels(tensors: readonly Tensor[], output: TensorQuantizer, isRelu: boolean): Pieces<Tensor> {
  const [{ dtype, sizes }] = tensors;
  const width = tensors.reduce((sum, each) => sum + each.sizes[1], 0);
  const joined = sizes.with(1, width);
  const result = emptyQuantized(joined, dtype, output, channelsLastStrides(joined));
  const target = result.storageArrayForWriting();
  const rounding = new Rounding(output, dtype, Math.fround(1 / output.scale));
  let first = 0;
  for (const each of tensors) {
    const channels = each.sizes[1];
    const reading = new Reading(tensorQuantizerOf(each));
    const inVectors = channels - (channels % 8);
    const { elements } = yield* denseElements(each);
    yield* repeat(elements.length, 16, (index) => {
      const integer = elements[index] as number;
      const channel = index % channels;
      const isVector = channel < inVectors;
      const number = isVector ? reading.inVector(integer) : reading.single(integer);
      const value = isRelu ? Math.max(number, 0) : number;
      const place = Math.floor(index / channels) * width + first + channel;
      target[place] = isVector ? rounding.inVector(value) : rounding.single(value);
    });
    first += channels;
  }
  return result;
}

/** Float32 tensors of equal rank as one. */
function* concatenated(tensors: readonly Tensor[], dim: number): Pieces<Tensor> {
  const [first] = tensors;
  const axis = dim < 0 ? dim + first.dim : dim;
  const width = tensors.reduce((sum, { sizes }) => sum + sizes[axis], 0);
  const sizes = first.sizes.with(axis, width);
  const inner = sizes.slice(axis + 1).reduce((count, size) => count * size, 1);
  const result = Tensor.empty(sizes, 'float32');
  const target = result.storageArrayForWriting() as Float32Array;
  let start = 0;
  for (const each of tensors) {
    const source = each.contiguousArray() as Float32Array;
    const block = each.sizes[axis] * inner;
    yield* repeat(source.length / Math.max(block, 1), block, (index) =>
      target.set(source.subarray(index * block, (index + 1) * block), index * width * inner + start),
    );
    start += block;
  }
  return result;
}

interface Join {
  readonly qx: readonly Tensor[];
  readonly dim: number;
}

function* joinRow({ qx, dim, scale, zero_point: zeroPoint }: Join & Partial<Output>, isRelu: boolean): Pieces<Tensor> {
  const first = tensorQuantizerOf(qx[0], "Only per-tensor quantization is supported in 'cat'!");
  return yield* join(qx, dim, tensorQuantizer(scale ?? first.scale, zeroPoint ?? first.zeroPoint), isRelu);
}

/** Products of the matrices that the integers stand for, over dimensions that are equal. */
function* matrixProduct({ qa, qb }: Binary, output: TensorQuantizer): Pieces<Tensor> {
  check(
    qa.dim === qb.dim,
    () => `MatMul operands should have the same dimensionality. (${qa.dim} and ${qb.dim} provided)`,
  );
  check(
    qa.dim >= 2,
    () => `Quantized Matmul currently only suports operands which are at least 2-dimensional. (${qa.dim} provided)`,
  );
  check(qa.dtype !== 'qint32', 'MatMul operands should use QInt8 or QUInt8 data types.');
  check(qa.dtype === qb.dtype, 'MatMul operands should have same data type.');
  const [rows, shared] = qa.sizes.slice(-2);
  const [depth, columns] = qb.sizes.slice(-2);
  check(
    shared === depth,
    () =>
      `For Quantized Matmul, size of tensor a (${shared}) at dimension ${qa.dim - 1} must match size of tensor b (${depth}) at dimension ${qb.dim - 2}.`,
  );
  const left = (yield* dequantized(qa)).contiguousArray() as Float32Array;
  const right = (yield* dequantized(qb)).contiguousArray() as Float32Array;
  const sizes = [...qa.sizes.slice(0, -1), columns];
  const products = yield* filled(scratch(Float32Array, (qa.numel / depth) * columns), depth, (index) => {
    const row = Math.floor(index / columns);
    const first = Math.floor(row / rows) * depth * columns + (index % columns);
    let sum = 0;
    for (let at = 0; at < depth; at++) sum += left[row * depth + at] * right[first + at * columns];
    return sum;
  });
  return yield* quantized(Tensor.fromArray(products, sizes, 'float32'), output, qa.dtype);
}

const row = <Args>(schema: string, host: (args: Args) => Results | Pieces<Results>): OperatorRow =>
  kernel<Args>(`quantized::${schema}`, { takesQuantized: true, host });

function* into(out: Tensor, result: Pieces<Tensor>): Pieces<Tensor> {
  yield* writeInto(out, yield* result);
  return out;
}

/** The forms of an operator on two tensors: with a quantiser, and into a tensor that has one. */
function binaryRows(
  name: string,
  compute: (args: Binary, output: TensorQuantizer, isRelu: boolean) => Pieces<Tensor>,
): OperatorRow[] {
  return ['', '_relu'].flatMap((relu) => [
    row<Binary & Output>(
      `${name}${relu}(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc`,
      ({ scale, zero_point: zeroPoint, ...args }) => compute(args, tensorQuantizer(scale, zeroPoint), relu !== ''),
    ),
    ...[`${name}${relu}.out`, `${name}${relu}_out`].map((form) =>
      row<Binary & { out: Tensor }>(
        `${form}(Tensor qa, Tensor qb, Tensor(a!) out) -> Tensor(a!) out`,
        ({ out, ...args }) => into(out, compute(args, tensorQuantizerOf(out), relu !== '')),
      ),
    ),
  ]);
}

/** The forms of an operator on a tensor and a number, which comes in a tensor too. */
function scalarRows(
  name: string,
  compute: (self: Tensor, other: Scalar, isRelu: boolean) => Pieces<Tensor>,
): OperatorRow[] {
  return ['', '_relu'].flatMap((relu) => {
    const isRelu = relu !== '';
    return [
      ...[
        `${name}_scalar${relu}(Tensor qa, Scalar b)`,
        `${name}${relu}.Scalar(Tensor qa, Scalar b)`,
        `${name}${relu}.Scalar2(Scalar b, Tensor qa)`,
      ].map((schema) =>
        row<{ qa: Tensor; b: Scalar }>(`${schema} -> Tensor qc`, ({ qa, b }) => compute(qa, b, isRelu)),
      ),
      row<{ qa: Tensor; b: Tensor }>(`${name}_scalar${relu}.Tensor(Tensor qa, Tensor b) -> Tensor qc`, ({ qa, b }) =>
        compute(qa, Number(b.contiguousArray()[0]), isRelu),
      ),
      ...[`${name}_scalar${relu}_out`, `${name}${relu}.Scalar_out`].map((form) =>
        row<{ qa: Tensor; b: Scalar; out: Tensor }>(
          `${form}(Tensor qa, Scalar b, Tensor(a!) out) -> Tensor(a!) out`,
          ({ qa, b, out }) => into(out, compute(qa, b, isRelu)),
        ),
      ),
      row<{ qa: Tensor; b: Tensor; out: Tensor }>(
        `${name}_scalar${relu}_out.Tensor(Tensor qa, Tensor b, Tensor(a!) out) -> Tensor(a!) out`,
        ({ qa, b, out }) => into(out, compute(qa, Number(b.contiguousArray()[0]), isRelu)),
      ),
    ];
  });
}

export const quantizedArithmeticRows: readonly OperatorRow[] = [
  ...binaryRows('add', add),
  ...binaryRows('mul', multiply),
  ...scalarRows('add', addScalar),
  ...scalarRows('mul', multiplyScalar),
  ...['', '_relu'].flatMap((relu) => [
    row<Join & Partial<Output>>(`cat${relu}(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor`, (args) =>
      joinRow(args, relu !== ''),
    ),
    row<Join & { out: Tensor }>(
      `cat${relu}_out(Tensor[] qx, int dim, Tensor(a!) out) -> Tensor(a!)`,
      ({ qx, dim, out }) => into(out, join(qx, dim, tensorQuantizerOf(out), relu !== '')),
    ),
  ]),
  row<Binary & Output>(
    'matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc',
    ({ scale, zero_point: zeroPoint, ...args }) => matrixProduct(args, tensorQuantizer(scale, zeroPoint)),
  ),
];
