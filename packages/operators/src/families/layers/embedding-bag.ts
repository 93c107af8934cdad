import { repeat, type Pieces, PIECE_SIZE } from '../../kernels/loops/pieces.ts';
import { type Tensor, scratch } from '@cresset/tensor';
import { axis, binary, cast, constant, exprTypeOf, reduce, select, TensorView, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import { launchPositionCheck } from '../indexing/position-faults.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { add, and, div, float, index, indexParam, mul } from '../../kernels/expressions.ts';
import { fillInPieces, numbersInPieces, storeInPieces } from '../../kernels/numbers/numbers.ts';
import { checkIndices } from '../embedding/embedding.ts';

/** Sums, means and maxima of bags of embedding vectors (ATen/native/EmbeddingBag.cpp). */

interface BagArgs {
  readonly weight: Tensor;
  readonly indices: Tensor;
  readonly offsets: Tensor;
  /** 0 sums, 1 averages, 2 takes the largest. */
  readonly mode: number;
  readonly per_sample_weights: Tensor | null;
  readonly include_last_offset: boolean;
  readonly padding_idx?: number | null;
}

const modeNames = ['sum', 'mean', 'max'];

function bagCount({ offsets, include_last_offset: last }: BagArgs): number {
  return offsets.sizes[0] - (last ? 1 : 0);
}

/** The row that is left out of every bag; -1 where none is. */
const paddingRow = ({ padding_idx: padding }: BagArgs): number => padding ?? -1;

/** A row counted from the end made one from the front, where the caller names one. */
function withPaddingRow(args: BagArgs): BagArgs {
  const { padding_idx: padding, weight } = args;
  if (padding === undefined || padding === null) return args;
  const rows = weight.sizes[0];
  check(
    padding >= -rows && padding < rows,
    () => `padding_idx must be within the number of embeddings, -${rows} through ${rows - 1}, but got ${padding}`,
  );
  return { ...args, padding_idx: padding < 0 ? padding + rows : padding };
}

function bagShape(args: BagArgs): TensorMeta[] {
  const { weight, indices, offsets, mode, per_sample_weights: scales, include_last_offset: last } = args;
  checkIndices(indices, 'embedding_bag');
  check(weight.dim === 2, () => `weight has to be a 2D Tensor, but got Tensor of dimension ${weight.dim}`);
  check(indices.dim === 1, () => `input has to be a 1D or 2D Tensor, but got Tensor of dimension ${indices.dim}`);
  check(offsets.dim === 1, () => `offsets has to be a 1D Tensor, but got Tensor of dimension ${offsets.dim}`);
  check(!last || offsets.sizes[0] >= 1, 'include_last_offset: number of offset should be at least 1');
  check(
    scales === null || mode === 0,
    () =>
      `embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='${modeNames[mode]}'). Please open a feature request on GitHub.`,
  );
  const bags = bagCount(args);
  const dtype = weight.dtype;
  const integer = indices.dtype;
  // Which bag each index is in, its size, and where its largest elements come from, for the gradient.
  const sized = mode === 0 ? offsets.sizes[0] : bags;
  return [
    { sizes: [bags, weight.sizes[1]], dtype },
    { sizes: [mode === 0 && paddingRow(args) < 0 ? 0 : indices.sizes[0]], dtype: integer },
    { sizes: [sized], dtype: integer },
    { sizes: mode === 2 ? [bags, weight.sizes[1]] : [sized], dtype: integer },
  ];
}

function* hostBags(args: BagArgs, [out, bagOf, sizes, largest]: readonly Tensor[]): Pieces {
  const { mode } = args;
  const weight = yield* numbersInPieces(args.weight);
  const [rows, features] = args.weight.sizes;
  const indices = yield* numbersInPieces(args.indices);
  const offsets = yield* numbersInPieces(args.offsets);
  const scales = args.per_sample_weights && (yield* numbersInPieces(args.per_sample_weights));
  const padding = paddingRow(args);
  const bags = bagCount(args);
  const counts = scratch(Float64Array, bags);
  const bagNumbers = scratch(Float64Array, indices.length);
  const sources = scratch(Float64Array, largest.numel);
  check(
    offsets.length === 0 || offsets[0] === 0,
    () =>
      `offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got ${offsets[0]}`,
  );
  yield* fillInPieces(out, (values) => {
    values.fill(0);
    return inBags();
    function* inBags(): Pieces {
      let done = 0;
      for (let bag = 0; bag < bags; bag++) {
        yield* inBag(bag);
        done += 8 * features * ((bag + 1 < bags ? offsets[bag + 1] : indices.length) - offsets[bag]) + 64;
        if (done < PIECE_SIZE) continue;
        done = 0;
        yield;
      }
    }
    function* inBag(bag: number): Pieces {
      const end = bag + 1 < bags ? offsets[bag + 1] : indices.length;
      const to = bag * features;
      yield* repeat(end - offsets[bag], 8 * features, (at) => {
        const i = offsets[bag] + at;
        const row = indices[i];
        bagNumbers[i] = bag;
        check(
          row >= 0 && row < rows,
          () => `embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be ${row}`,
        );
        if (row === padding) return;
        const first = counts[bag]++ === 0;
        for (let j = 0; j < features; j++) {
          const element = weight[row * features + j];
          if (mode !== 2) {
            values[to + j] += scales ? element * scales[i] : element;
          } else if (first || element > values[to + j]) {
            values[to + j] = element;
            sources[to + j] = row;
          }
        }
      });
      if (mode === 1 && counts[bag] > 0) for (let j = 0; j < features; j++) values[to + j] /= counts[bag];
    }
  });
  if (bagOf.numel > 0) yield* storeInPieces(bagOf, bagNumbers);
  // A plain sum has no use for sizes, and PyTorch leaves them at zero.
  const shown = mode === 0 ? scratch(Float64Array, sizes.numel) : counts;
  yield* storeInPieces(sizes, shown);
  yield* storeInPieces(largest, mode === 2 ? sources : shown);
}

/** Every bag goes over all indices and takes its own: how long a bag is, only the device knows. */
function lowerBags(args: BagArgs, [out, bagOf, sizes, largest]: readonly Tensor[], context: LoweringContext): void {
  const label = 'aten::embedding_bag';
  const { mode } = args;
  const indices = new TensorView(args.indices);
  const offsets = new TensorView(args.offsets);
  launchPositionCheck(args.indices, 0, args.weight.sizes[0], 'index out of range in self', context, 'RuntimeError');
  if (bagOf.numel > 0) lowerBagNumbers(label, offsets, bagCount(args), bagOf, context);
  if (out.numel === 0) return;
  const target = new TensorView(out);
  const [bag, j] = target.axes();
  const i = axis('i', indices.sizes[0]);
  const row = cast('i32', indices.at([i]));
  const next = add(bag, index(1));
  const end = select(binary('ge', next, target.sizes[0]), indices.sizes[0], cast('i32', offsets.at([next])));
  const padding = paddingRow(args);
  const inBag = and(binary('ge', i, cast('i32', offsets.at([bag]))), binary('lt', i, end));
  const member = padding < 0 ? inBag : and(inBag, binary('ne', row, indexParam(padding)));
  const count = reduce('sum', [i], select(member, float(1), float(0)));
  const element = new TensorView(args.weight).at([row, j]);
  const scaled = args.per_sample_weights ? mul(element, new TensorView(args.per_sample_weights).at([i])) : element;
  const isEmpty = binary('eq', count, float(0));
  const candidate = select(member, element, constant('float', -Infinity));
  let value: Expr;
  if (mode === 2) {
    value = select(isEmpty, float(0), reduce('max', [i], candidate));
  } else {
    value = reduce('sum', [i], select(member, scaled, float(0)));
    if (mode === 1) value = div(value, binary('max', count, float(1)));
  }
  const stores = [{ operand: target.operand, offset: target.offsetAt([bag, j]), value }];
  const store = (tensor: Tensor, at: readonly Expr[], stored: Expr): void => {
    const view = new TensorView(tensor);
    stores.push({ operand: view.operand, offset: view.offsetAt(at), value: cast(exprTypeOf(tensor.dtype), stored) });
  };
  const kept = mode === 0 ? float(0) : count;
  // A last offset that begins no bag has a place of its own.
  if (sizes.numel > out.sizes[0]) for (const tensor of [sizes, largest]) lowerZeros(label, tensor, context);
  store(sizes, [bag], kept);
  if (mode === 2) {
    const source = indices.at([cast('i32', reduce('argmax', [i], candidate))]);
    store(largest, [bag, j], select(isEmpty, constant(source.type, source.type === 'i64' ? 0n : 0), source));
  } else {
    store(largest, [bag], kept);
  }
  context.launch({ kind: 'nest', label, axes: [bag], innerAxes: [j], stores });
}

/** What a plain sum leaves where the others count. */
function lowerZeros(label: string, out: Tensor, context: LoweringContext): void {
  const view = new TensorView(out);
  const axes = view.axes();
  const type = exprTypeOf(out.dtype);
  const stores = [
    { operand: view.operand, offset: view.offsetAt(axes), value: constant(type, type === 'i64' ? 0n : 0) },
  ];
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
}

/** The bag of every index: one less than the bags that have begun. */
function lowerBagNumbers(
  label: string,
  offsets: TensorView,
  bags: number,
  bagOf: Tensor,
  context: LoweringContext,
): void {
  const target = new TensorView(bagOf);
  const [i] = target.axes();
  const bag = axis('b', indexParam(bags));
  const begun = reduce('sum', [bag], select(binary('le', cast('i32', offsets.at([bag])), i), index(1), index(0)));
  const value = cast(exprTypeOf(bagOf.dtype), add(begun, index(-1)));
  const stores = [{ operand: target.operand, offset: target.offsetAt([i]), value }];
  context.launch({ kind: 'nest', label, axes: [i], innerAxes: [], stores });
}

function bagRow(schema: string, prepare = (args: BagArgs): BagArgs => args): OperatorRow {
  return kernel<BagArgs>(schema, {
    shape: (args) => bagShape(prepare(args)),
    host: (args, outputs) => hostBags(prepare(args), outputs),
    lower: (args, outputs, context) => lowerBags(prepare(args), outputs, context),
    lowerable: ({ weight }) => exprTypeOf(weight.dtype) === 'float',
  });
}

const bagOptions =
  'bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False';
const four = '(Tensor, Tensor, Tensor, Tensor)';

export const embeddingBagRows: readonly OperatorRow[] = [
  bagRow(`aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, ${bagOptions}) -> ${four}`),
  bagRow(
    `aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> ${four}`,
    withPaddingRow,
  ),
  bagRow(
    `aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, ${bagOptions}, int padding_idx=-1) -> ${four}`,
  ),
  bagRow(
    `aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, ${bagOptions}, int padding_idx=-1) -> ${four}`,
  ),
];
