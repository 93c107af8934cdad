import { isFloatingPoint, type ScalarType, type Tensor } from '@cresset/tensor';
import { axis, exprTypeOf, TensorView, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { cppTypeName } from '../../kernels/type-names.ts';
import { numbersInPieces, storeInPieces, copiedNumbers } from '../../kernels/numbers/numbers.ts';
import { hostRecurrent, hostSteps, projectInput } from './recurrent-host.ts';
import {
  gateCount,
  recurrentShape,
  type CellWeights,
  type RecurrentArgs,
  type RecurrentKind,
} from './recurrent-layers.ts';
import { cellUpdate, gateSums, lowerRecurrent, storeTo } from './recurrent-lowering.ts';
import { mapped } from '../../kernels/loops/mapped.ts';

/** Recurrent layers over whole sequences, padded or packed, and single cells (ATen/native/RNN.cpp). */

function layerRow(kind: RecurrentKind, schema: string): OperatorRow {
  return kernel<RecurrentArgs>(schema, {
    shape: (args) => recurrentShape(kind, args),
    host: (args, outputs, context) => hostRecurrent(kind, args, outputs, context),
    lower: (args, outputs, context) => lowerRecurrent(kind, args, outputs, context),
    // Which rows belong together has to be known to describe the work, and dropout draws its numbers on the host.
    lowerable: ({ input, data, batch_sizes: sizes, train, dropout }) =>
      exprTypeOf((input ?? data)!.dtype) === 'float' &&
      (sizes === undefined || sizes.storage.isOnHost) &&
      !(train && dropout > 0),
  });
}

interface CellArgs {
  readonly input: Tensor;
  readonly hx: Tensor | readonly Tensor[];
  readonly w_ih: Tensor;
  readonly w_hh: Tensor;
  readonly b_ih: Tensor | null;
  readonly b_hh: Tensor | null;
}

const weightsOf = (args: CellArgs): CellWeights => ({
  weightIh: args.w_ih,
  weightHh: args.w_hh,
  biasIh: args.b_ih,
  biasHh: args.b_hh,
  weightHr: null,
});

function statesOf({ hx }: CellArgs): readonly Tensor[] {
  return Array.isArray(hx) ? hx : [hx as Tensor];
}

function cellShape(kind: RecurrentKind, args: CellArgs): TensorMeta[] {
  const { input, w_ih: weightIh, w_hh: weightHh } = args;
  const states = statesOf(args);
  check(states.length === (kind === 'lstm' ? 2 : 1), 'lstm_cell expects two hidden states');
  const [hidden] = states;
  check(
    input.sizes[1] === weightIh.sizes[1],
    () => `input has inconsistent input_size: got ${input.sizes[1]} expected ${weightIh.sizes[1]}`,
  );
  check(
    input.sizes[0] === hidden.sizes[0],
    () => `Input batch size ${input.sizes[0]} doesn't match hidden0 batch size ${hidden.sizes[0]}`,
  );
  const hiddenSize = weightHh.sizes[1];
  const checkHidden = (): void =>
    states.forEach((state, at) =>
      check(
        state.sizes[1] === hiddenSize,
        () => `hidden${at} has inconsistent hidden_size: got ${state.sizes[1]}, expected ${hiddenSize}`,
      ),
    );
  const isPlain = kind !== 'lstm' && kind !== 'gru';
  if (!isPlain) checkHidden();
  for (const [name, weight] of Object.entries({ weight_ih: weightIh, weight_hh: weightHh })) {
    const rows = gateCount[kind] * hiddenSize;
    check(
      weight.sizes[0] === rows,
      () => `${name} first dim must be ${gateCount[kind]} * hidden_size = ${rows}, but got ${weight.sizes[0]}`,
    );
  }
  if (isPlain) checkHidden();
  checkLinearDtypes(input, weightIh, args.b_ih);
  checkLinearDtypes(hidden, weightHh, args.b_hh);
  if (!isFloatingPoint(input.dtype)) throw notImplementedFor('addmm_impl_cpu_', dtypeName(input.dtype));
  return states.map(({ sizes }) => ({ sizes, dtype: input.dtype }));
}

/** What `linear` says of its arguments' dtypes: with a bias it is one product that adds, without it a plain one. */
function checkLinearDtypes({ dtype }: Tensor, weight: Tensor, bias: Tensor | null): void {
  const want = weight.dtype;
  const refuse = (name: string, other: ScalarType): string =>
    `${name} and mat2 must have the same dtype, but got ${dtypeName(other)} and ${dtypeName(want)}`;
  check(bias === null || bias.dtype === want, () => refuse('self', bias!.dtype));
  check(dtype === want, () =>
    bias === null
      ? `expected m1 and m2 to have the same dtype, but got: ${cppTypeName(dtype)} != ${cppTypeName(want)}`
      : refuse('mat1', dtype),
  );
}

function cellRow(kind: RecurrentKind): OperatorRow {
  const name = `aten::${kind}_cell`;
  const [hx, result] = kind === 'lstm' ? ['Tensor[] hx', '(Tensor, Tensor)'] : ['Tensor hx', 'Tensor'];
  const schema = `${name}(Tensor input, ${hx}, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> ${result}`;
  return kernel<CellArgs>(schema, {
    shape: (args) => cellShape(kind, args),
    *host(args, outputs) {
      const weights = weightsOf(args);
      const count = args.input.sizes[0];
      const [hidden, cell] = yield* mapped(statesOf(args), copiedNumbers);
      const projected = yield* projectInput(yield* numbersInPieces(args.input), count, weights);
      const takeStep = yield* hostSteps(kind, weights, count);
      yield* takeStep(projected, count, { hidden, cell: cell ?? null });
      yield* storeInPieces(outputs[0], hidden);
      if (cell) yield* storeInPieces(outputs[1], cell);
    },
    lower(args, outputs, context) {
      if (outputs[0].numel === 0) return;
      const [hidden, cell] = statesOf(args).map((state) => new TensorView(state));
      const views = outputs.map((out) => new TensorView(out));
      const input = new TensorView(args.input);
      const b = axis('b', views[0].sizes[0]);
      const j = axis('j', views[0].sizes[1]);
      const sums = (weight: Tensor, bias: Tensor | null, x: TensorView, k: string): Expr[] =>
        gateSums(
          gateCount[kind],
          j.extent,
          j,
          new TensorView(weight),
          bias && new TensorView(bias),
          (at) => x.at([b, at]),
          k,
        );
      const after = cellUpdate(kind, sums(args.w_ih, args.b_ih, input, 'i'), sums(args.w_hh, args.b_hh, hidden, 'k'), {
        hidden: hidden.at([b, j]),
        cell: cell?.at([b, j]) ?? null,
      });
      const stores = [storeTo(views[0], [b, j], after.hidden)];
      if (after.cell) stores.push(storeTo(views[1], [b, j], after.cell));
      context.launch({ kind: 'nest', label: name, axes: [b, j], innerAxes: [], stores });
    },
    lowerable: ({ input }) => exprTypeOf(input.dtype) === 'float',
  });
}

const options = 'Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional';

export const recurrentRows: readonly OperatorRow[] = (['lstm', 'gru', 'rnn_tanh', 'rnn_relu'] as const).flatMap(
  (kind) => {
    const [hx, result] =
      kind === 'lstm' ? ['Tensor[] hx', '(Tensor, Tensor, Tensor)'] : ['Tensor hx', '(Tensor, Tensor)'];
    return [
      layerRow(kind, `aten::${kind}.input(Tensor input, ${hx}, ${options}, bool batch_first) -> ${result}`),
      layerRow(kind, `aten::${kind}.data(Tensor data, Tensor batch_sizes, ${hx}, ${options}) -> ${result}`),
      cellRow(kind),
    ];
  },
);
