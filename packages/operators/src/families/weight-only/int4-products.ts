import { scratch, Tensor } from '@cresset/tensor';
import { accumulator, axis, binary, cast, reduce, TensorView } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { add, and, float, index, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { PIECE_SIZE, repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { numbersInPieces } from '../../kernels/numbers/numbers.ts';
import { checkActivations, checkScaleType, multiplyRows } from './activations.ts';
import {
  columnStart,
  packedBlocks,
  packedRows,
  rowsOfByte,
  rowsOfByteExpr,
  weightPlace,
  type PackedRows,
} from './packed-rows.ts';

/** Weights of four bits, two to a byte, and products with them (ATen/native/LinearAlgebra.cpp). */

interface Convert {
  /** `[rows, columns]` of 0 to 15, int32. */
  readonly self: Tensor;
}

function convertShape({ self }: Convert): TensorMeta {
  const name = '_convert_weight_to_int4pack_cpu : expect';
  check(self.dim === 2, `${name} weight to be 2D tensor.`);
  check(self.dtype === 'int32', `${name} weight to be kInt.`);
  const [rows, columns] = self.sizes;
  check(rows % 16 === 0, `${name} N to be dividable by 16`);
  check(columns % 2 === 0, '_convert_weight_to_int4pack: expect K to be dividable by 2');
  return { sizes: [rows, columns / 2], dtype: 'uint8' };
}

/** What it takes to pack two weights, in operations. */
const BYTE_COST = 32;

function* convert({ self }: Convert, [out]: readonly Tensor[]): Pieces {
  const [rows, columns] = self.sizes;
  const weights = yield* numbersInPieces(self);
  const bytes = out.storageArrayForWriting() as Uint8Array;
  let done = 0;
  for (const { first, block } of packedBlocks(rows)) {
    const width = block / 2;
    const start = out.storageOffset + (first / 2) * columns;
    yield* repeat(columns * width, BYTE_COST, (at) => {
      const column = Math.floor(at / width);
      const [lower, upper] = rowsOfByte(block, at % width).map((row) => weights[(first + row) * columns + column]);
      bytes[start + at] = (upper << 4) | lower;
    });
    // A block is little where the weight has few columns, and there may be many of them.
    if ((done += columns * width * BYTE_COST) < PIECE_SIZE) continue;
    done = 0;
    yield;
  }
}

/** Each thread makes a byte. */
function lowerConvert({ self }: Convert, [out]: readonly Tensor[], context: LoweringContext): void {
  const [rows, columns] = self.sizes;
  const [from, to] = [self, out].map((tensor) => new TensorView(tensor));
  for (const packed of columns === 0 ? [] : packedRows(rows)) {
    const { first, count, block } = packed;
    const at = axis('b', indexParam(count / block));
    const column = axis('k', indexParam(columns));
    const byte = axis('j', indexParam(block / 2));
    const [lower, upper] = rowsOfByteExpr(block, byte).map((row) =>
      from.at([add(indexParam(first), add(mul(at, indexParam(block)), row)), column]),
    );
    const offset = add(to.offsetAt([index(0), index(0)]), add(columnStart(packed, at, column, columns), byte));
    const stores = [{ operand: to.operand, offset, value: binary('or', mul(upper, index(16)), lower) }];
    const label = 'aten::_convert_weight_to_int4pack_for_cpu';
    context.launch({ kind: 'nest', label, axes: [at, column, byte], innerAxes: [], stores });
  }
}

interface Product {
  /** `[m, k]`. */
  readonly self: Tensor;
  /** `[n, k / 2]`, as `_convert_weight_to_int4pack_for_cpu` makes them. */
  readonly mat2: Tensor;
  /** Columns of the weights that share a scale and a zero. */
  readonly qGroupSize: number;
  /** `[k / qGroupSize, n, 2]`: what a weight stands for is `(weight - 8) * scale + zero`. */
  readonly qScaleAndZeros: Tensor;
}

function productShape({ self, mat2, qGroupSize, qScaleAndZeros: scales }: Product): TensorMeta {
  const name = '_weight_int4pack_mm_cpu';
  checkActivations(`${name} :`, self, mat2);
  check(self.isContiguous(), `${name} : expect A to be contiguous.`);
  check(self.dim === 2, `${name} : expect A to be 2D tensor.`);
  check(mat2.dtype === 'uint8', `${name} : expect B to be uint8 tensor.`);
  check(mat2.isContiguous(), `${name} : expect B to be contiguous.`);
  const [rows, inner] = self.sizes;
  const columns = mat2.sizes[0];
  wrapDimOfRanked(1, mat2.dim);
  check(mat2.sizes[1] === Math.floor(inner / 2), () => `${name} : expect B.size(1) to be K/2, got ${mat2.sizes[1]}`);
  check(
    [32, 64, 128, 256].includes(qGroupSize),
    () => `${name}: expect qGroupSize to be 32, 64, 128 or 256, got ${qGroupSize}`,
  );
  check(
    inner % qGroupSize === 0,
    () => `${name}: expect K to be divisible by qGroupSize, got K:${inner}, qGroupSize:${qGroupSize}`,
  );
  // PyTorch does not count the groups, and reads what lies behind them in memory where some are missing.
  check(
    scales.dim === 3 && scales.sizes[1] === columns && scales.sizes[2] === 2 && scales.sizes[0] >= inner / qGroupSize,
    () => `${name}: expect qScaleAndZeros to be 3d tensor with sizes [:, ${columns}, 2]`,
  );
  checkScaleType(self, scales);
  check(rows === 0 || columns % 16 === 0, () => `Unsupported n block size: ${columns % 64}`);
  return { sizes: [rows, columns], dtype: self.dtype };
}

function* hostProduct({ self, mat2, qGroupSize, qScaleAndZeros }: Product, [out]: readonly Tensor[]): Pieces {
  const [columns, inner] = [mat2.sizes[0], self.sizes[1]];
  const bytes = mat2.contiguousArray() as Uint8Array;
  const scales = yield* numbersInPieces(qScaleAndZeros);
  for (const { first, block } of packedBlocks(columns)) {
    const width = block / 2;
    const start = (first / 2) * inner;
    const weights = scratch(Float32Array, block * inner);
    yield* repeat(inner * width, 8, (at) => {
      const [k, byte] = [Math.floor(at / width), bytes[start + at]];
      const pairs = 2 * (Math.floor(k / qGroupSize) * columns + first);
      const [lower, upper] = rowsOfByte(block, at % width);
      weights[lower * inner + k] = ((byte & 15) - 8) * scales[pairs + 2 * lower] + scales[pairs + 2 * lower + 1];
      weights[upper * inner + k] = ((byte >> 4) - 8) * scales[pairs + 2 * upper] + scales[pairs + 2 * upper + 1];
    });
    yield* multiplyRows(self, Tensor.fromArray(weights, [block, inner], 'float32'), out, first);
  }
}

/** Weights stay as they are in memory: each is worked out where the product wants it, with its group's scale and zero. */
function lowerProduct(args: Product, [out]: readonly Tensor[], context: LoweringContext): void {
  if (out.numel === 0) return;
  for (const rows of packedRows(args.mat2.sizes[0])) launchRows(args, out, rows, context);
}

function launchRows(
  { self, mat2, qGroupSize, qScaleAndZeros }: Product,
  out: Tensor,
  rows: PackedRows,
  context: LoweringContext,
): void {
  const label = 'aten::_weight_int4pack_mm_for_cpu';
  const [left, packed, scales, target] = [self, mat2, qScaleAndZeros, out].map((tensor) => new TensorView(tensor));
  const [m, n, k] = [axis('m', left.sizes[0]), axis('n', indexParam(rows.count)), axis('k', left.sizes[1])];
  const column = add(n, indexParam(rows.first));
  const { byte, factor } = weightPlace(rows, n, k, self.sizes[1]);
  const origin = packed.at(mat2.sizes.map(() => index(0)));
  const shared = { ...origin, offset: add(origin.offset, byte) };
  // Sixteen times the weight, less 8 · 16: whole numbers of single precision.
  const bits = sub(and(mul(shared, factor), index(240)), index(128));
  const group = binary('truncdiv', k, index(qGroupSize));
  const [scale, zero] = [0, 1].map((which) => cast('float', scales.at([group, column, index(which)])));
  const right = add(mul(cast('float', bits), mul(scale, float(1 / 16))), zero);
  const activation = cast('float', left.at([m, k]));
  const store = { operand: target.operand, offset: target.offsetAt([m, column]) };
  if (out.sizes[0] === 1) {
    // One row has nothing to share in tiles.
    const stores = [{ ...store, value: reduce('sum', [k], mul(activation, right)) }];
    context.launch({ kind: 'nest', label, axes: [m, n], innerAxes: [], stores });
    return;
  }
  const stores = [{ ...store, value: accumulator }];
  context.launch({ kind: 'contraction', label, batch: [], m, n, k, left: activation, right, stores });
}

export const int4ProductRows: readonly OperatorRow[] = [
  kernel<Convert>('aten::_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor', {
    shape: convertShape,
    host: convert,
    lower: lowerConvert,
  }),
  kernel<Product>(
    'aten::_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor',
    { shape: productShape, host: hostProduct, lower: lowerProduct },
  ),
];
