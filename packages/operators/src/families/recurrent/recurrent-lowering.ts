import { hint, symAdd, symMul, symSub, type SymInt, type Tensor } from '@cresset/tensor';
import { axis, reduce, select, binary, TensorView, unary, type AxisExpr, type Expr } from '@cresset/tensorexpr';
import { lowerCopy } from '../../kernels/copy.ts';
import type { LoweringContext } from '../../table/row.ts';
import { add, div, float, index, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { lowerProduct } from '../products/product-lowering.ts';
import {
  cellsOf,
  gateCount,
  initialStates,
  outputOf,
  sequenceOf,
  stateOf,
  type CellWeights,
  type RecurrentArgs,
  type RecurrentKind,
  type Sequence,
  type Step,
} from './recurrent-layers.ts';
import { transposeView } from '../../kernels/views.ts';

/**
 * Recurrent layers on a device: one product for the inputs of all steps, then one kernel that goes through the steps. Where sequences differ in
 * length, where states are projected, and where a step is too much for one workgroup, it is a kernel a step (two with a projection).
 */

/** Products that a workgroup is given in a step: with more, a launch for each step, which all of a GPU works on, takes no longer. */
const LARGEST_STEP = 1 << 18;
/** Times that the host goes over weights from which it pays to turn them around. */
const LEAST_TURNS = 4;

export function sigmoid(x: Expr): Expr {
  return div(float(1), add(float(1), unary('exp', unary('neg', x))));
}

/** New states of one element from its gates' sums: from the input, and from the hidden state before. */
export function cellUpdate(
  kind: RecurrentKind,
  input: readonly Expr[],
  hidden: readonly Expr[],
  before: { readonly hidden: Expr; readonly cell: Expr | null },
): { hidden: Expr; cell: Expr | null } {
  const gate = (at: number): Expr => add(input[at], hidden[at]);
  if (kind === 'lstm') {
    const cell = add(mul(sigmoid(gate(1)), before.cell!), mul(sigmoid(gate(0)), unary('tanh', gate(2))));
    return { hidden: mul(sigmoid(gate(3)), unary('tanh', cell)), cell };
  }
  if (kind === 'gru') {
    const candidate = unary('tanh', add(input[2], mul(sigmoid(gate(0)), hidden[2])));
    return { hidden: add(candidate, mul(sigmoid(gate(1)), sub(before.hidden, candidate))), cell: null };
  }
  return { hidden: kind === 'rnn_tanh' ? unary('tanh', gate(0)) : binary('max', gate(0), float(0)), cell: null };
}

/** `Σ_k weight[gate·size + j, k] · x[k]` plus bias, for every gate, over one shared axis. */
export function gateSums(
  count: number,
  size: Expr,
  j: Expr,
  weight: TensorView,
  bias: TensorView | null,
  x: (k: AxisExpr) => Expr,
  name: string,
): Expr[] {
  const k = axis(name, weight.sizes[1]);
  const element = x(k);
  return Array.from({ length: count }, (_, gate) => {
    const row = add(mul(index(gate), size), j);
    const sum = reduce('sum', [k], mul(weight.at([row, k]), element));
    return bias ? add(sum, bias.at([row])) : sum;
  });
}

/** A store of `value` to element `at` of a tensor. */
export function storeTo(view: TensorView, at: readonly Expr[], value: Expr) {
  return { operand: view.operand, offset: view.offsetAt(at), value };
}

export function lowerRecurrent(
  kind: RecurrentKind,
  args: RecurrentArgs,
  outputs: readonly Tensor[],
  context: LoweringContext,
): void {
  const label = `aten::${kind}`;
  const contiguous = (tensor: Tensor): Tensor => {
    const copy = context.temporary(tensor.symSizes, tensor.dtype);
    lowerCopy(copy, tensor, context, label);
    return copy;
  };
  const sequence = sequenceOf(args, contiguous);
  const cells = cellsOf(kind, args);
  const initial = initialStates(args);
  const [out, finalHidden, finalCell] = outputs;
  const outRows = out.asStrided([sequence.rows.symSizes[0], out.symSizes[out.dim - 1]], [out.symSizes[out.dim - 1], 1]);
  let { rows, backRows } = sequence;
  cells.forEach((directions, layer) => {
    const last = layer + 1 === cells.length;
    const width = directions.length * directions[0].weightHh.sizes[1];
    const target = last ? outRows : context.temporary([rows.symSizes[0], width], rows.dtype);
    directions.forEach((weights, direction) => {
      const slot = (states: Tensor): Tensor => stateOf(states, layer, direction, directions.length);
      lowerDirection(
        {
          kind,
          label,
          weights,
          sequence: { ...sequence, rows: direction === 1 ? backRows : rows },
          output: outputOf(target, direction, directions.length),
          initial: { hidden: slot(initial.hidden), cell: initial.cell && slot(initial.cell) },
          final: { hidden: slot(finalHidden), cell: finalCell ? slot(finalCell) : null },
          reverse: direction === 1,
        },
        context,
      );
    });
    rows = backRows = target;
  });
}

interface Direction {
  readonly kind: RecurrentKind;
  readonly label: string;
  readonly weights: CellWeights;
  readonly sequence: Sequence;
  readonly output: Tensor;
  readonly initial: { readonly hidden: Tensor; readonly cell: Tensor | null };
  readonly final: { readonly hidden: Tensor; readonly cell: Tensor | null };
  readonly reverse: boolean;
}

function lowerDirection(direction: Direction, context: LoweringContext): void {
  const { label, weights, sequence, reverse } = direction;
  const { rows } = sequence;
  const projected = context.temporary([rows.symSizes[0], weights.weightIh.sizes[0]], rows.dtype);
  const bias = weights.biasIh && new TensorView(weights.biasIh);
  const right = transposeView(weights.weightIh, 0, 1);
  lowerProduct(label, { left: rows, right, out: projected }, context, undefined, (sum, [, column]) =>
    bias ? add(sum, bias.at([column])) : sum,
  );
  const step = weights.weightHh.sizes[0] * weights.weightHh.sizes[1];
  const isSmall = step <= LARGEST_STEP || context.device.capabilities.host;
  const { regular } = sequence;
  if (regular && isSmall && !weights.weightHr) return lowerSteps(direction, projected, regular, context);
  const inOrder = sequence.steps();
  const steps = reverse ? inOrder.toReversed() : inOrder;
  steps.forEach((_, at) => lowerStep(direction, projected, steps, at, context));
}

/** States after a step, from its part of the projected input and the states before it. */
function statesAfter(
  { kind, weights }: Pick<Direction, 'kind' | 'weights'>,
  j: AxisExpr,
  gates: (column: Expr) => Expr,
  hidden: (feature: Expr) => Expr,
  cell: Expr | null,
): { hidden: Expr; cell: Expr | null } {
  const count = gateCount[kind];
  const size = indexParam(weights.weightHh.sizes[0] / count);
  const bias = weights.biasHh && new TensorView(weights.biasHh);
  const sums = gateSums(count, size, j, new TensorView(weights.weightHh), bias, hidden, 'k');
  const inputs = sums.map((_, gate) => gates(add(mul(index(gate), size), j)));
  return cellUpdate(kind, inputs, sums, { hidden: hidden(j), cell });
}

/** All steps in one kernel, which finds the hidden state before a step in the output and the cell's in its final place. */
function lowerSteps(
  direction: Direction,
  projected: Tensor,
  { length, count, stride: timeStride }: NonNullable<Sequence['regular']>,
  context: LoweringContext,
): void {
  const { kind, label, sequence, output, initial, final, reverse } = direction;
  // Either way is right, for any sizes.
  const isTurned = context.device.capabilities.host && hint(symMul(length, count)) >= LEAST_TURNS;
  const weights = isTurned ? turned(direction.weights, label, context) : direction.weights;
  const inSteps = (rows: Tensor): TensorView => {
    const [rowLength, feature] = rows.symStrides;
    const strides = [symMul(rowLength, timeStride), symMul(rowLength, sequence.rowStride), feature];
    return new TensorView(rows.asStrided([length, count, rows.symSizes[1]], strides, rows.symStorageOffset));
  };
  const [gates, out] = [projected, output].map(inSteps);
  const h0 = new TensorView(initial.hidden);
  const c0 = initial.cell && new TensorView(initial.cell);
  const cells = final.cell && new TensorView(final.cell);
  const time = axis('t', indexParam(length));
  const b = axis('b', indexParam(count));
  const j = axis('j', indexParam(weights.weightHh.sizes[0] / gateCount[kind]));
  const row = reverse ? sub(indexParam(symSub(length, 1)), time) : time;
  const rowBefore = reverse ? add(row, index(1)) : sub(row, index(1));
  const isFirst = binary('eq', time, index(0));
  const states = isTurned
    ? statesWith(initial.hidden, [length, count, weights.weightHh.sizes[1]], label, context)
    : null;
  const hidden = (feature: Expr): Expr =>
    states ? states.at([time, b, feature]) : select(isFirst, h0.at([b, feature]), out.at([rowBefore, b, feature]));
  const cell = c0 && select(isFirst, c0.at([b, j]), cells!.at([b, j]));
  const after = statesAfter({ kind, weights }, j, (column) => gates.at([row, b, column]), hidden, cell);
  const stores = [storeTo(out, [row, b, j], after.hidden), storeTo(new TensorView(final.hidden), [b, j], after.hidden)];
  if (states) stores.push(storeTo(states, [add(time, index(1)), b, j], after.hidden));
  if (cells && after.cell) stores.push(storeTo(cells, [b, j], after.cell));
  context.launch({ kind: 'recurrence', label, time, axes: [b], innerAxes: [j], stores });
}

/** Weights of which those that neighbouring features have for the same state lie beside each other: four features are worked out at once. */
function turned(weights: CellWeights, label: string, context: LoweringContext): CellWeights {
  const { weightHh } = weights;
  const columns = transposeView(weightHh, 0, 1);
  const copy = context.temporary(columns.sizes, weightHh.dtype);
  lowerCopy(copy, columns, context, label);
  return { ...weights, weightHh: transposeView(copy, 0, 1) };
}

/** Room for hidden states, of which the first is there: no step has to ask whether it is the first. */
function statesWith(
  first: Tensor,
  [length, count, size]: readonly [SymInt, SymInt, SymInt],
  label: string,
  context: LoweringContext,
): TensorView {
  const states = context.temporary([symAdd(length, 1), count, size], first.dtype);
  lowerCopy(states.asStrided([count, size], [size, 1]), first, context, label);
  return new TensorView(states);
}

/** The rows of the matrix that hold one step: `count` rows, `rowStride` apart. */
function stepRows(tensor: Tensor, { rowStride }: Sequence, start: number, count: number): Tensor {
  const [rowLength, step] = tensor.symStrides;
  return tensor.asStrided(
    [count, tensor.symSizes[1]],
    [symMul(rowLength, rowStride), step],
    symAdd(tensor.symStorageOffset, symMul(start, rowLength)),
  );
}

function lowerStep(
  direction: Direction,
  projected: Tensor,
  steps: readonly Step[],
  at: number,
  context: LoweringContext,
): void {
  const { kind, label, weights, sequence, output, initial, final } = direction;
  const { start, count } = steps[at];
  const before = at === 0 ? null : steps[at - 1];
  const hiddenSize = weights.weightHh.sizes[0] / gateCount[kind];
  const gates = new TensorView(stepRows(projected, sequence, start, count));
  const stepOutput = stepRows(output, sequence, start, count);
  const h0 = new TensorView(initial.hidden);
  const c0 = initial.cell && new TensorView(initial.cell);
  const previous = before && new TensorView(stepRows(output, sequence, before.start, before.count));
  const cells = final.cell && new TensorView(final.cell);
  const b = axis('b', indexParam(count));
  const j = axis('j', indexParam(hiddenSize));
  // Sequences that begin with this step (in reverse, the shorter ones join later) start from the initial state.
  const joined = before && before.count < count ? binary('lt', b, indexParam(before.count)) : null;
  const stateBefore = (state: TensorView, start0: TensorView, feature: Expr): Expr => {
    const own = state.at([b, feature]);
    return joined ? select(joined, own, start0.at([b, feature])) : own;
  };
  const hiddenAt = (feature: Expr): Expr => (previous ? stateBefore(previous, h0, feature) : h0.at([b, feature]));
  const cellBefore = c0 && (before ? stateBefore(cells!, c0, j) : c0.at([b, j]));
  const after = statesAfter(direction, j, (column) => gates.at([b, column]), hiddenAt, cellBefore);
  const cellStore = cells && after.cell ? [storeTo(cells, [b, j], after.cell)] : [];
  const finalHidden = new TensorView(final.hidden);
  const target = new TensorView(stepOutput);
  if (!weights.weightHr) {
    const hiddenStores = [target, finalHidden].map((view) => storeTo(view, [b, j], after.hidden));
    context.launch({ kind: 'nest', label, axes: [b, j], innerAxes: [], stores: [...hiddenStores, ...cellStore] });
    return;
  }
  const unprojected = context.temporary([count, hiddenSize], output.dtype);
  const view = new TensorView(unprojected);
  const stores = [storeTo(view, [b, j], after.hidden), ...cellStore];
  context.launch({ kind: 'nest', label, axes: [b, j], innerAxes: [], stores });
  const p = axis('p', target.sizes[1]);
  const k = axis('k', indexParam(hiddenSize));
  const projection = reduce('sum', [k], mul(new TensorView(weights.weightHr).at([p, k]), view.at([b, k])));
  const projectedStores = [target, finalHidden].map((state) => storeTo(state, [b, p], projection));
  context.launch({ kind: 'nest', label, axes: [b, p], innerAxes: [], stores: projectedStores });
}
