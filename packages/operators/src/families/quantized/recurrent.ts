import type { ScriptObject } from '@cresset/tensor';
import { List, numelOf, settle, Tensor } from '@cresset/tensor';
import { TensorType } from '@cresset/ir';
import { cloneOf, cloneInPieces } from '../../kernels/copy.ts';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { dropElements } from '../recurrent/recurrent-host.ts';
import { sequenceOf, type RecurrentArgs, type Sequence, type Step } from '../recurrent/recurrent-layers.ts';
import type { HostContext, OperatorRow, Results } from '../../table/row.ts';
import { dynamicLinear } from './linear.ts';
import { pack, PACKED } from './packed-weights.ts';
import type { Pieces } from '../../kernels/loops/pieces.ts';

/** Recurrent layers whose products are of packed weights (ATen/native/RNN.cpp: quantized_lstm, quantized_gru and the cells). */

type Kind = 'lstm' | 'gru' | 'rnn_tanh' | 'rnn_relu';

/** The two products of a cell. */
interface Cell {
  readonly input: ScriptObject;
  readonly hidden: ScriptObject;
  readonly reduceRange: boolean;
}

function cellOf(params: ScriptObject): Cell {
  const [input, hidden] = (params.getAttribute('_packed') as List).items as ScriptObject[];
  return { input, hidden, reduceRange: params.getAttribute('_reduce_range') === true };
}

interface State {
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
}

const numbersOf = (tensor: Tensor): Float32Array => tensor.contiguousArray() as Float32Array;
const sigmoid = (x: number): number => Math.fround(1 / (1 + Math.exp(-x)));
const tanh = (x: number): number => Math.fround(Math.tanh(x));

/** What a step makes of the states of some sequences, given their gates' part from the input. */
function* stepOf(
  kind: Kind,
  { hidden: weight, reduceRange }: Cell,
  projected: Float32Array,
  before: State,
): Pieces<State> {
  const own = numbersOf(yield* dynamicLinear(before.hidden, weight, reduceRange));
  const [count, size] = before.hidden.sizes;
  const width = own.length / Math.max(count, 1);
  const hidden = Tensor.empty([count, size], 'float32');
  const cell = before.cell && Tensor.empty([count, size], 'float32');
  const after = hidden.storageArrayForWriting();
  const afterCell = cell?.storageArrayForWriting();
  const [earlier, earlierCell] = [numbersOf(before.hidden), before.cell && numbersOf(before.cell)];
  for (let at = 0; at < after.length; at++) {
    const first = Math.floor(at / size) * width + (at % size);
    const sum = (gate: number): number => Math.fround(projected[first + gate * size] + own[first + gate * size]);
    if (kind === 'lstm') {
      const kept = Math.fround(sigmoid(sum(1)) * earlierCell![at]);
      afterCell![at] = kept + Math.fround(sigmoid(sum(0)) * tanh(sum(2)));
      after[at] = sigmoid(sum(3)) * tanh(afterCell![at] as number);
    } else if (kind === 'gru') {
      const reset = Math.fround(own[first + 2 * size] * sigmoid(sum(0)));
      const candidate = tanh(Math.fround(projected[first + 2 * size] + reset));
      after[at] = Math.fround(Math.fround(earlier[at] - candidate) * sigmoid(sum(1))) + candidate;
    } else {
      after[at] = kind === 'rnn_tanh' ? tanh(sum(0)) : Math.max(sum(0), 0);
    }
  }
  return { hidden, cell };
}

/** The first rows of a state, which sequences that are long enough have. */
const firstRows = (state: Tensor, count: number): Tensor => state.asStrided([count, state.sizes[1]], state.strides);

/** A layer in one direction: its outputs are written beside those of the other one. */
function* runDirection(
  kind: Kind,
  cell: Cell,
  sequence: Sequence,
  initial: State,
  outputs: Float32Array,
  { isReverse, column, columns }: { readonly isReverse: boolean; readonly column: number; readonly columns: number },
): Pieces<State> {
  const rows = isReverse ? sequence.backRows : sequence.rows;
  const [steps, rowStride] = [sequence.steps(), settle(sequence.rowStride)];
  const projected = numbersOf(yield* dynamicLinear(rows, cell.input, cell.reduceRange));
  const width = projected.length / Math.max(rows.sizes[0], 1);
  const size = initial.hidden.sizes[1];
  const last: State = {
    hidden: yield* cloneInPieces(initial.hidden),
    cell: initial.cell && (yield* cloneInPieces(initial.cell)),
  };
  const stepRow = ({ start }: Step, at: number): number => start + at * rowStride;
  for (const step of isReverse ? steps.toReversed() : steps) {
    const part = new Float32Array(step.count * width);
    for (let sequence = 0; sequence < step.count; sequence++) {
      const row = stepRow(step, sequence);
      part.set(projected.subarray(row * width, (row + 1) * width), sequence * width);
    }
    const before = {
      hidden: firstRows(last.hidden, step.count),
      cell: last.cell && firstRows(last.cell, step.count),
    };
    const after = yield* stepOf(kind, cell, part, before);
    for (const [state, values] of [
      [last.hidden, after.hidden],
      [last.cell, after.cell],
    ] as const) {
      if (state && values) (state.storageArrayForWriting() as Float32Array).set(numbersOf(values));
    }
    const values = numbersOf(after.hidden);
    for (let sequence = 0; sequence < step.count; sequence++) {
      const target = stepRow(step, sequence) * columns + column;
      outputs.set(values.subarray(sequence * size, (sequence + 1) * size), target);
    }
  }
  return last;
}

type LayerArgs = Omit<RecurrentArgs, 'params' | 'hx'> & {
  readonly params: List | readonly ScriptObject[];
  readonly hx: Tensor | readonly Tensor[];
};

function* runLayers(kind: Kind, args: LayerArgs, context: HostContext): Pieces<Results> {
  const params = ((args.params as List).items ?? args.params) as readonly ScriptObject[];
  const { num_layers: layers, bidirectional, train, dropout } = args;
  const directions = bidirectional ? 2 : 1;
  check(params.length === layers * directions, 'got an incorrect number of quantized RNN parameters');
  const initial = (kind === 'lstm' ? args.hx : [args.hx]) as readonly Tensor[];
  check(kind !== 'lstm' || initial.length === 2, 'lstm expects two hidden states');
  const [, , size] = initial[0].sizes;
  const finals = initial.map(({ sizes }) => Tensor.empty(sizes, 'float32'));
  const { input, data } = args;
  for (const { dtype } of [(input ?? data)!, ...initial]) {
    check(dtype === 'float32', () => `expected scalar type Float but found ${dtypeName(dtype)}`);
  }
  let sequence = sequenceOf(args as unknown as RecurrentArgs, cloneOf);
  for (let layer = 0; layer < layers; layer++) {
    const columns = directions * size;
    const output = Tensor.empty([sequence.rows.sizes[0], columns], 'float32');
    const values = output.storageArrayForWriting() as Float32Array;
    for (let direction = 0; direction < directions; direction++) {
      const slot = layer * directions + direction;
      const stateAt = (states: Tensor): Tensor =>
        states.asStrided(
          states.sizes.slice(1),
          states.strides.slice(1),
          states.storageOffset + slot * states.strides[0],
        );
      const [hidden, cell] = initial.map(stateAt);
      const last = yield* runDirection(kind, cellOf(params[slot]), sequence, { hidden, cell: cell ?? null }, values, {
        isReverse: direction === 1,
        column: direction * size,
        columns,
      });
      [last.hidden, last.cell].forEach((state, at) => {
        if (state)
          (finals[at].storageArrayForWriting() as Float32Array).set(numbersOf(state), slot * numelOf(state.sizes));
      });
    }
    if (train && dropout > 0 && layer + 1 < layers) {
      dropElements(values, dropout, context);
    }
    sequence = { ...sequence, rows: output, backRows: output };
  }
  const { rows } = sequence;
  const shaped = input
    ? rows.asStrided([...input.sizes.slice(0, 2), rows.sizes[1]], [input.sizes[1] * rows.sizes[1], rows.sizes[1], 1])
    : rows;
  return [shaped, ...finals];
}

const OPTIONS = `${PACKED}rnn.CellParamsBase[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional`;

function layerRows(kind: 'lstm' | 'gru'): OperatorRow[] {
  const [hx, dtype, result] =
    kind === 'lstm'
      ? ['Tensor[] hx', ', *, ScalarType? dtype=None, bool use_dynamic=False', '(Tensor, Tensor, Tensor)']
      : ['Tensor hx', '', '(Tensor, Tensor)'];
  return [
    `input(Tensor input, ${hx}, ${OPTIONS}, bool batch_first${dtype})`,
    `data(Tensor data, Tensor batch_sizes, ${hx}, ${OPTIONS}${dtype})`,
  ].map((form) =>
    kernel<LayerArgs>(`aten::quantized_${kind}.${form} -> ${result}`, {
      host: (args, _, context) => runLayers(kind, args, context),
    }),
  );
}

interface CellArgs {
  readonly input: Tensor;
  readonly hx: Tensor | readonly Tensor[];
  readonly w_ih: ScriptObject;
  readonly w_hh: ScriptObject;
}

function cellRow(kind: Kind): OperatorRow {
  const [hx, biases, result] =
    kind === 'lstm'
      ? ['Tensor[] hx', 'Tensor bias_ih, Tensor bias_hh', '(Tensor, Tensor)']
      : ['Tensor hx', 'Tensor b_ih, Tensor b_hh', 'Tensor'];
  const weights = ['w_ih', 'w_hh'].map((name) => `${PACKED}quantized.LinearPackedParamsBase ${name}`).join(', ');
  return kernel<CellArgs>(
    `quantized::quantized_${kind}_cell_dynamic(Tensor input, ${hx}, ${weights}, ${biases}) -> ${result}`,
    {
      *host({ input, hx: states, w_ih: inputWeight, w_hh: hiddenWeight }) {
        const [hidden, cell] = (Array.isArray(states) ? states : [states]) as Tensor[];
        const weightsOfCell = { input: inputWeight, hidden: hiddenWeight, reduceRange: true };
        const projected = numbersOf(yield* dynamicLinear(input, inputWeight, true));
        const after = yield* stepOf(kind, weightsOfCell, projected, { hidden, cell: cell ?? null });
        return after.cell ? [after.hidden, after.cell] : after.hidden;
      },
    },
  );
}

interface MakeParams {
  readonly w_ih: ScriptObject;
  readonly w_hh: ScriptObject;
  readonly bias_ih?: Tensor;
  readonly bias_hh?: Tensor;
  readonly reduce_range?: boolean;
}

function makeParams(
  kind: string,
  { w_ih: input, w_hh: hidden, bias_ih: biasIh, bias_hh: biasHh, reduce_range: reduceRange }: MakeParams,
): Results {
  return pack('rnn.CellParamsBase', {
    _kind: kind,
    _biases: new List(TensorType.get(), biasIh && biasHh ? [biasIh, biasHh] : []),
    _reduce_range: reduceRange ?? false,
    _packed: new List(input.type, [input, hidden]),
  }) as unknown as Results;
}

const LINEARS = `${PACKED}quantized.LinearPackedParamsBase w_ih, ${PACKED}quantized.LinearPackedParamsBase w_hh`;

export const quantizedRecurrentRows: readonly OperatorRow[] = [
  ...layerRows('lstm'),
  ...layerRows('gru'),
  ...(['lstm', 'gru', 'rnn_tanh', 'rnn_relu'] as const).map(cellRow),
  kernel<MakeParams>(
    `quantized::make_quantized_cell_params_dynamic(${LINEARS}, Tensor bias_ih, Tensor bias_hh, bool reduce_range=False) -> ${PACKED}rnn.CellParamsBase`,
    { host: (args) => makeParams('quantized_dynamic', args) },
  ),
  kernel<MakeParams>(`quantized::make_quantized_cell_params_fp16(${LINEARS}) -> ${PACKED}rnn.CellParamsBase`, {
    host: (args) => makeParams('quantized_fp16', args),
  }),
];
