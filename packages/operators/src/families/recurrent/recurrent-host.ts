import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { giveUpScratch, scratch, settle, settleAll, Tensor } from '@cresset/tensor';
import { cloneOf } from '../../kernels/copy.ts';
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
  recurrentShape,
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

/** Rows times a weight, and its bias added to each of them. */
function* weighted(
  rows: FloatArray,
  count: number,
  [width, features]: readonly number[],
  weight: Matrix,
  bias: FloatArray | null,
  result: Float64Array,
): Pieces {
  yield* gemmPieces(count, width, features, rowMajor(rows, features), weight, result, 0, width);
  if (!bias) return;
  yield* repeat(count, width, (row) => {
    for (let i = 0; i < width; i++) result[row * width + i] += bias[i];
  });
}

/** The gates' part from the input, all rows at once. */
export function* projectInput(
  rows: FloatArray,
  count: number,
  { weightIh, biasIh }: CellWeights,
): Pieces<Float64Array> {
  const projected = scratch(Float64Array, count * weightIh.sizes[0]);
  const bias = biasIh && (yield* numbersInPieces(biasIh));
  yield* weighted(rows, count, weightIh.sizes, yield* transposedMatrix(weightIh), bias, projected);
  return projected;
}

/** What takes sequences one step on. `projected` holds their gates' part from the input (with its bias), one row each; the first `count` rows
 * of `state` are replaced. */
export type HostStep = (projected: Float64Array, count: number, state: CellState) => Pieces;

/** The steps of a cell, for at most so many sequences at a time: weights are read, and there is room to work in, once for all of them. */
export function* hostSteps(kind: RecurrentKind, weights: CellWeights, most: number): Pieces<HostStep> {
  const [width, features] = weights.weightHh.sizes;
  const hiddenSize = width / gateCount[kind];
  const weight = yield* transposedMatrix(weights.weightHh);
  const bias = weights.biasHh && (yield* numbersInPieces(weights.biasHh));
  const projection = weights.weightHr && (yield* transposedMatrix(weights.weightHr));
  const recurrent = scratch(Float64Array, most * width);
  const whole = projection && scratch(Float64Array, most * hiddenSize);
  return function* (projected, count, state) {
    yield* weighted(state.hidden, count, [width, features], weight, bias, recurrent);
    const fresh = whole ?? state.hidden;
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
    if (whole && projection) yield* weighted(whole, count, [features, hiddenSize], projection, null, state.hidden);
  };
}

/** One direction of one layer; `output` gets the hidden states in the order of the rows. */
function* runDirection(
  kind: RecurrentKind,
  weights: CellWeights,
  sequence: Pick<Sequence, 'steps' | 'rowStride'>,
  rows: FloatArray,
  rowCount: number,
  state: CellState,
  output: { readonly values: Float64Array; readonly width: number; readonly offset: number },
  reverse: boolean,
): Pieces {
  const [steps, rowStride] = [sequence.steps(), settle(sequence.rowStride)];
  const projected = yield* projectInput(rows, rowCount, weights);
  const width = weights.weightIh.sizes[0];
  const features = weights.weightHh.sizes[1];
  const most = steps.reduce((longest, { count }) => Math.max(longest, count), 0);
  const gates = scratch(Float64Array, most * width);
  const takeStep = yield* hostSteps(kind, weights, most);
  for (const { start, count } of reverse ? steps.toReversed() : steps) {
    for (let b = 0; b < count; b++) {
      const row = start + b * rowStride;
      gates.set(projected.subarray(row * width, (row + 1) * width), b * width);
    }
    yield* takeStep(gates, count, state);
    for (let b = 0; b < count; b++) {
      const to = (start + b * rowStride) * output.width + output.offset;
      output.values.set(state.hidden.subarray(b * features, (b + 1) * features), to);
    }
    yield;
  }
  giveUpScratch(projected, gates);
}

/** Outputs are `[output, hidden]` or `[output, hidden, cell]`; they are made here where their sizes were not known before. */
export function* hostRecurrent(
  kind: RecurrentKind,
  args: RecurrentArgs,
  given: readonly Tensor[],
  context: HostContext,
): Pieces<readonly Tensor[]> {
  const outputs =
    given.length > 0
      ? given
      : recurrentShape(kind, args)!.map(({ sizes, dtype }) => Tensor.empty(settleAll(sizes), dtype));
  const cells = cellsOf(kind, args);
  const sequence = sequenceOf(args, cloneOf);
  const initial = initialStates(args);
  const rowCount = sequence.rows.sizes[0];
  const [out, finalHidden, finalCell] = outputs;
  let rows = yield* numbersInPieces(sequence.rows);
  let backRows = sequence.backRows === sequence.rows ? rows : yield* numbersInPieces(sequence.backRows);
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
      const isBack = direction === 1;
      yield* runDirection(kind, weights, sequence, isBack ? backRows : rows, rowCount, state, output, isBack);
      yield* storeInPieces(stateOf(finalHidden, layer, direction, directions.length), state.hidden);
      if (state.cell) yield* storeInPieces(stateOf(finalCell, layer, direction, directions.length), state.cell);
    }
    if (args.train && args.dropout > 0 && layer + 1 < cells.length) dropElements(values, args.dropout, context);
    rows = backRows = values;
  }
  yield* storeInPieces(out, rows);
  return outputs;
}

/** Puts zeros in place of some elements, and makes up for them with the others. */
export function dropElements(values: FloatArray, probability: number, { generator }: HostContext): void {
  const scale = probability === 1 ? 0 : 1 / (1 - probability);
  for (let i = 0; i < values.length; i++) values[i] = generator.nextUniform() < probability ? 0 : values[i] * scale;
}
