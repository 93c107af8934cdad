import type { ScriptObject } from '@cresset/tensor';
import { halfToNumber, numberToHalf, Tensor } from '@cresset/tensor';
import { declared, kernel } from '../../table/builders.ts';
import { numberReader } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow, Results } from '../../table/row.ts';
import { quantizerOf, roundHalfToEven } from './affine.ts';
import { pack, PACKED, weightOf } from './packed-weights.ts';
import { filled, PIECE_SIZE, repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { elementsInPieces, numbersInPieces } from '../../kernels/numbers/numbers.ts';

/**
 * Tables of embeddings whose rows have a scale and a smallest number each (ATen/native/quantized/cpu: qembeddingbag). As plain tensors
 * they are bytes: the integers of a row, several to a byte where they have less than 8 bits, then scale and smallest number, float32
 * for 8 bits and float16 for less.
 */

/** Rows as an integer times a scale plus a bias. */
interface Table {
  readonly rows: number;
  readonly features: number;
  /** The number at a place of a row. */
  integer(row: number, feature: number): number;
  scale(row: number): number;
  bias(row: number): number;
}

type Bits = 8 | 4 | 2;

/** The table in a packed object: a tensor of integers whose zero points are numbers. */
function packedTable(packed: ScriptObject): Table {
  const weight = weightOf(packed);
  const [rows, features] = weight.sizes;
  const { scale, zeroPoint } = quantizerOf(weight);
  const [scales, zeroPoints] = [scale as Tensor, zeroPoint as Tensor].map(numberReader);
  const elements = weight.contiguousArray();
  return {
    rows,
    features,
    integer: (row, feature) => elements[row * features + feature] as number,
    scale: (row) => Math.fround(scales(row)),
    bias: (row) => Math.fround(-Math.fround(zeroPoints(row)) * Math.fround(scales(row))),
  };
}

/** Bytes of a row after its integers. */
const trailerOf = (bits: Bits): number => (bits === 8 ? 8 : 4);

function fusedTable(weight: Tensor, bits: Bits): Table {
  const [rows, width] = weight.sizes;
  const perByte = 8 / bits;
  const features = (width - trailerOf(bits)) * perByte;
  const bytes = weight.contiguousArray() as Uint8Array;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const number = (row: number, at: 0 | 1): number => {
    const offset = (row + 1) * width - trailerOf(bits) + (at * trailerOf(bits)) / 2;
    return bits === 8 ? view.getFloat32(offset, true) : halfToNumber(view.getUint16(offset, true));
  };
  return {
    rows,
    features,
    integer: (row, feature) =>
      (bytes[row * width + Math.floor(feature / perByte)] >> ((feature % perByte) * bits)) & (2 ** bits - 1),
    scale: (row) => number(row, 0),
    bias: (row) => number(row, 1),
  };
}

/** A table of float32 rows as bytes, each row between its smallest and its largest number. */
function* fuse(weight: Tensor, bits: Bits): Pieces<Tensor> {
  const [rows, features] = weight.sizes;
  const perByte = 8 / bits;
  check(
    features % perByte === 0,
    () => `qembeddingbag_${bits}bit_prepack only works for the number of columns a multiple of ${perByte}`,
  );
  const width = features / perByte + trailerOf(bits);
  const bytes = new Uint8Array(rows * width);
  const view = new DataView(bytes.buffer);
  const values = (yield* elementsInPieces(weight)) as Float32Array;
  const half = (value: number): number => halfToNumber(numberToHalf(value));
  yield* repeat(rows, 32 * features, (row) => {
    const own = values.subarray(row * features, (row + 1) * features);
    const trailer = (row + 1) * width - trailerOf(bits);
    let low = own.reduce((a, b) => Math.min(a, b), Infinity);
    const high = own.reduce((a, b) => Math.max(a, b), -Infinity);
    let inverse: number;
    if (bits === 8) {
      const range = Math.fround(high - low);
      inverse = Math.fround(255 / Math.fround(range + Math.fround(1e-8)));
      view.setFloat32(trailer, Math.fround(range / 255), true);
      view.setFloat32(trailer + 4, low, true);
    } else {
      low = half(low);
      const range = Math.fround(high - low);
      let scale = half(range === 0 ? 1 : Math.fround(range / (2 ** bits - 1)));
      if (scale === 0) scale = 1;
      inverse = Math.fround(1 / scale);
      if (!Number.isFinite(inverse)) [scale, inverse] = [1, 1];
      view.setUint16(trailer, numberToHalf(scale), true);
      view.setUint16(trailer + 2, numberToHalf(low), true);
    }
    own.forEach((value, feature) => {
      const integer = roundHalfToEven(Math.fround(Math.fround(value - low) * inverse));
      const kept = Math.min(Math.max(integer, 0), 2 ** bits - 1);
      bytes[row * width + Math.floor(feature / perByte)] |= kept << ((feature % perByte) * bits);
    });
  });
  return Tensor.fromArray(bytes, [rows, width], 'uint8');
}

function* unfuse(weight: Tensor, bits: Bits): Pieces<Tensor> {
  const { rows, features, integer, scale, bias } = fusedTable(weight, bits);
  const result = Tensor.empty([rows, features], 'float32');
  yield* filled(result.storageArrayForWriting() as Float32Array, 16, (index) => {
    const row = Math.floor(index / features);
    return integer(row, index % features) * scale(row) + bias(row);
  });
  return result;
}

/** Sums of rows, each with a factor. */
function* sumRows(
  { rows, features, integer, scale, bias }: Table,
  indices: ArrayLike<number>,
  bags: readonly (readonly [from: number, to: number])[],
  factors: ArrayLike<number> | null,
): Pieces<Tensor> {
  const result = Tensor.empty([bags.length, features], 'float32');
  const values = result.storageArrayForWriting();
  let done = 0;
  for (let bag = 0; bag < bags.length; bag++) {
    const [from, to] = bags[bag];
    yield* repeat(to - from, 16 * features, (index) => {
      const at = from + index;
      const row = indices[at];
      check(row >= 0 && row < rows, 'index out of bounds');
      const factor = factors?.[at] ?? 1;
      const [rowScale, rowBias] = [Math.fround(scale(row) * factor), Math.fround(bias(row) * factor)];
      for (let feature = 0; feature < features; feature++) {
        const place = bag * features + feature;
        values[place] = integer(row, feature) * rowScale + Math.fround((values[place] as number) + rowBias);
      }
    });
    done += 16 * features * (to - from) + 64;
    if (done < PIECE_SIZE) continue;
    done = 0;
    yield;
  }
  return result;
}

function checkIndices(indices: Tensor, name: string): void {
  check(
    indices.dtype === 'int32' || indices.dtype === 'int64',
    `Expect 32 or 64 bit indices, but found ${indices.dtype} instead.`,
  );
  check(indices.dim === 1 || indices.dim === 2, `${name} operator supports 1 or 2d indices`);
}

interface BagArgs {
  readonly indices: Tensor;
  readonly offsets: Tensor | null;
  readonly per_sample_weights: Tensor | null;
  readonly include_last_offset: boolean;
}

function* sumBags(table: Table, args: BagArgs, name: string): Pieces<Tensor> {
  const { indices, offsets, per_sample_weights: weights, include_last_offset: includesLast } = args;
  checkIndices(indices, name);
  const rows = yield* numbersInPieces(indices);
  const factors = weights && (weights.contiguousArray() as Float32Array);
  if (indices.dim === 2) {
    check(
      offsets === null,
      `${name}: if indices is 2D, then offsets has to be None, as indices is treated is a mini-batch of fixed length sequences.`,
    );
    const [count, length] = indices.sizes;
    return yield* sumRows(
      table,
      rows,
      Array.from({ length: count }, (_, bag) => [bag * length, (bag + 1) * length]),
      factors,
    );
  }
  check(offsets !== null, `${name} expects offsets to be set for 1D indices.`);
  const starts = Array.from(yield* numbersInPieces(offsets!));
  if (!includesLast) starts.push(rows.length);
  const bags = starts.slice(1).map((end, bag) => [starts[bag], end] as const);
  return yield* sumRows(table, rows, bags, factors);
}

function* lookUp(table: Table, indices: Tensor, name: string): Pieces<Tensor> {
  checkIndices(indices, name);
  const rows = yield* numbersInPieces(indices);
  const bags = Array.from(rows, (_, at) => [at, at + 1] as const);
  const found = yield* sumRows(table, rows, bags, null);
  const sizes = [...indices.sizes, table.features];
  return found.asStrided(sizes, Tensor.empty(sizes, 'float32').strides);
}

const row = <Args>(schema: string, host: (args: Args) => Results | Pieces<Results>): OperatorRow =>
  kernel<Args>(`quantized::${schema}`, { takesQuantized: true, host });

const CLASS = `${PACKED}quantized.EmbeddingPackedParamsBase`;
const BAG =
  'Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool include_last_offset=False';

export const quantizedEmbeddingRows: readonly OperatorRow[] = [
  row<{ weight: Tensor }>(`embedding_bag_prepack(Tensor weight) -> ${CLASS} W_prepack`, ({ weight }) => {
    check(
      quantizerOf(weight).axis !== null,
      'Expect embedding_bag weights to be quantized using kPerChannelAffineFloatQParams',
    );
    return pack('quantized.EmbeddingPackedParamsBase', { _weight: weight, _bit_rate: 8n }) as unknown as Results;
  }),
  row<{ W_prepack: ScriptObject }>(`embedding_bag_unpack(${CLASS} W_prepack) -> Tensor W_origin`, ({ W_prepack }) =>
    weightOf(W_prepack),
  ),
  row<{ weight: ScriptObject; indices: Tensor }>(
    `embedding_byte(${CLASS} weight, Tensor indices, bool pruned_weights=False) -> Tensor`,
    ({ weight, indices }) => lookUp(packedTable(weight), indices, 'embedding_byte'),
  ),
  row<BagArgs & { weight: ScriptObject }>(
    `embedding_bag_byte(${CLASS} weight, ${BAG}) -> Tensor`,
    ({ weight, ...args }) => sumBags(packedTable(weight), args, 'embedding_bag_byte'),
  ),
  // Tensors of integers of four bits cannot be read, so nothing of that sort is ever packed; programs name these all the same.
  declared(`quantized::embedding_4bit(${CLASS} weight, Tensor indices, bool pruned_weights=False) -> Tensor`),
  declared(`quantized::embedding_bag_4bit(${CLASS} weight, ${BAG}) -> Tensor`),
  ...([8, 4, 2] as const).flatMap((bits) => {
    const name = bits === 8 ? 'byte' : `${bits}bit`;
    const options = bits === 8 ? '' : ', bool optimized_qparams=False, int nbins=200, float ratio=0.16';
    return [
      row<{ weight: Tensor }>(`embedding_bag_${name}_prepack(Tensor weight${options}) -> Tensor`, ({ weight }) =>
        fuse(weight, bits),
      ),
      row<{ weight: Tensor }>(`embedding_bag_${name}_unpack(Tensor weight) -> Tensor`, ({ weight }) =>
        unfuse(weight, bits),
      ),
      row<BagArgs & { weight: Tensor }>(
        `embedding_bag_${name}_rowwise_offsets(Tensor weight, ${BAG}) -> Tensor`,
        ({ weight, ...args }) => sumBags(fusedTable(weight, bits), args, `embedding_bag_${name}_rowwise_offsets`),
      ),
    ];
  }),
];
