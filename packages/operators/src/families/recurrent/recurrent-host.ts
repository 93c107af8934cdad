import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { Tensor, type HostArray, scratch } from '@cresset/tensor';
import type { HostContext } from '../../table/row.ts';
import { gemmPieces } from '../products/gemm.ts';
import {
  stridedNumbers,
  type FloatArray,
  type Matrix,
  numbersInPieces,
  storeInPieces,
  copiedNumbers,
} from '../../kernels/numbers/numbers.ts';
import {
  cellsOf,
  gateCount,
  initialStates,
  sequenceOf,
  stateOf,
  type CellWeights,
  type RecurrentArgs,
  type RecurrentKind,
  type Sequence,
} from './recurrent-layers.ts';

/** Hidden and, for an LSTM, cell state of a batch: rows of numbers. */
export interface CellState {
  readonly hidden: Float64Array;
  readonly cell: Float64Array | null;
}

/** What it takes to work out the gates of one feature, in operations. */
const CELL_COST = 64;

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** A matrix that is another one transposed: weights are `[gates × hidden, features]`. */
function* transposedMatrix(tensor: Tensor): Pieces<Matrix> {
  const { data, offset, strides } = yield* stridedNumbers(tensor);
  return { data, offset, rowStride: strides[1], columnStride: strides[0] };
}

function rowMajor(data: FloatArray, columns: number): Matrix {
  return { data, offset: 0, rowStride: columns, columnStride: 1 };
}

/** Adds `bias` to each of `rows` rows. */
function* addRow(values: Float64Array, rows: number, bias: Tensor | null): Pieces {
  if (!bias) return;
  const own = yield* numbersInPieces(bias);
  yield* repeat(rows, own.length, (row) => {
    for (let i = 0; i < own.length; i++) values[row * own.length + i] += own[i];
  });
}

/**
 * One step of `count` sequences. `projected` holds their gates' part from the input (with its bias), one row each; the
 * first `count` rows of `state` are replaced.
 */
export function* hostStep(
  kind: RecurrentKind,
  weights: CellWeights,
  projected: Float64Array,
  count: number,
  state: CellState,
): Pieces {
  const hiddenSize = weights.weightHh.sizes[0] / gateCount[kind];
  const width = weights.weightHh.sizes[0];
  const features = weights.weightHh.sizes[1];
  const recurrent = new Float64Array(count * width);
  const hidden = rowMajor(state.hidden, features);
  yield* gemmPieces(count, width, features, hidden, yield* transposedMatrix(weights.weightHh), recurrent, 0, width);
  yield* addRow(recurrent, count, weights.biasHh);
  const fresh = weights.weightHr ? new Float64Array(count * hiddenSize) : state.hidden;
  yield* repeat(count, CELL_COST * hiddenSize, (b) => {
    for (let j = 0; j < hiddenSize; j++) {
      const at = b * hiddenSize + j;
      const gate = (index: number): number => projected[b * width + index * hiddenSize + j];
      const own = (index: number): number => recurrent[b * width + index * hiddenSize + j];
      if (kind === 'lstm') {
        const cell =
          sigmoid(gate(1) + own(1)) * state.cell![at] + sigmoid(gate(0) + own(0)) * Math.tanh(gate(2) + own(2));
        state.cell![at] = cell;
        fresh[at] = sigmoid(gate(3) + own(3)) * Math.tanh(cell);
      } else if (kind === 'gru') {
        const candidate = Math.tanh(gate(2) + sigmoid(gate(0) + own(0)) * own(2));
        fresh[at] = candidate + sigmoid(gate(1) + own(1)) * (fresh[at] - candidate);
      } else {
        const sum = gate(0) + own(0);
        fresh[at] = kind === 'rnn_tanh' ? Math.tanh(sum) : Math.max(sum, 0);
      }
    }
  });
  if (weights.weightHr) {
    const projection = yield* transposedMatrix(weights.weightHr);
    yield* gemmPieces(count, features, hiddenSize, rowMajor(fresh, hiddenSize), projection, state.hidden, 0, features);
  }
}

/** The gates' part from the input, all rows at once. */
export function* projectInput(
  rows: FloatArray,
  count: number,
  { weightIh, biasIh }: CellWeights,
): Pieces<Float64Array> {
  const [width, features] = weightIh.sizes;
  const projected = new Float64Array(count * width);
  yield* gemmPieces(
    count,
    width,
    features,
    rowMajor(rows, features),
    yield* transposedMatrix(weightIh),
    projected,
    0,
    width,
  );
  yield* addRow(projected, count, biasIh);
  return projected;
}

/** One direction of one layer; `output` gets the hidden states in the order of the rows. */
function* runDirection(
  kind: RecurrentKind,
  weights: CellWeights,
  { steps, rowStride }: Omit<Sequence, 'rows'>,
  rows: FloatArray,
  rowCount: number,
  state: CellState,
  output: { readonly values: Float64Array; readonly width: number; readonly offset: number },
  reverse: boolean,
): Pieces {
  const projected = yield* projectInput(rows, rowCount, weights);
  const width = weights.weightIh.sizes[0];
  const features = weights.weightHh.sizes[1];
  for (const { start, count } of reverse ? steps.toReversed() : steps) {
    const gates = new Float64Array(count * width);
    for (let b = 0; b < count; b++) {
      const row = start + b * rowStride;
      gates.set(projected.subarray(row * width, (row + 1) * width), b * width);
    }
    yield* hostStep(kind, weights, gates, count, state);
    for (let b = 0; b < count; b++) {
      const to = (start + b * rowStride) * output.width + output.offset;
      output.values.set(state.hidden.subarray(b * features, (b + 1) * features), to);
    }
    yield;
  }
}

/** Outputs are `[output, hidden]` or `[output, hidden, cell]`. */
export function* hostRecurrent(
  kind: RecurrentKind,
  args: RecurrentArgs,
  outputs: readonly Tensor[],
  context: HostContext,
): Pieces {
  const cells = cellsOf(kind, args);
  const contiguous = (tensor: Tensor): Tensor =>
    Tensor.fromArray(tensor.contiguousArray().slice() as HostArray, tensor.sizes, tensor.dtype);
  const sequence = sequenceOf(args, contiguous);
  const initial = initialStates(args);
  const rowCount = sequence.rows.sizes[0];
  const [out, finalHidden, finalCell] = outputs;
  let rows = yield* numbersInPieces(sequence.rows);
  for (const [layer, directions] of cells.entries()) {
    const features = directions[0].weightHh.sizes[1];
    const width = directions.length * features;
    const values = scratch(Float64Array, rowCount * width);
    for (const [direction, weights] of directions.entries()) {
      const stateNumbers = (states: Tensor): Pieces<Float64Array> =>
        copiedNumbers(stateOf(states, layer, direction, directions.length));
      const state = {
        hidden: yield* stateNumbers(initial.hidden),
        cell: initial.cell && (yield* stateNumbers(initial.cell)),
      };
      const output = { values, width, offset: direction * features };
      yield* runDirection(kind, weights, sequence, rows, rowCount, state, output, direction === 1);
      yield* storeInPieces(stateOf(finalHidden, layer, direction, directions.length), state.hidden);
      if (state.cell) yield* storeInPieces(stateOf(finalCell, layer, direction, directions.length), state.cell);
    }
    if (args.train && args.dropout > 0 && layer + 1 < cells.length) dropElements(values, args.dropout, context);
    rows = values;
  }
  yield* storeInPieces(out, rows);
}

/** Puts zeros in place of some elements, and makes up for them with the others. */
export function dropElements(values: FloatArray, probability: number, { generator }: HostContext): void {
  const scale = probability === 1 ? 0 : 1 / (1 - probability);
  for (let i = 0; i < values.length; i++) values[i] = generator.nextUniform() < probability ? 0 : values[i] * scale;
}
