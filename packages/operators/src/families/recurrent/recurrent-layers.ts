import {
  hint,
  isComplex,
  isFloatingPoint,
  settle,
  symEq,
  symFloorDiv,
  symGt,
  symMul,
  type ScalarType,
  type SymInt,
  type Tensor,
} from '@cresset/tensor';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { cppTypeName } from '../../kernels/type-names.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import type { TensorMeta } from '../../table/row.ts';
import { narrowView, selectView } from '../../kernels/views.ts';

/** What recurrent layers have in common (ATen/native/RNN.cpp). */

export type RecurrentKind = 'lstm' | 'gru' | 'rnn_tanh' | 'rnn_relu';

/** Blocks of rows in the weights: LSTM's input, forget, cell and output gates; GRU's reset, update and new gates. */
export const gateCount: Record<RecurrentKind, number> = { lstm: 4, gru: 3, rnn_tanh: 1, rnn_relu: 1 };

export interface CellWeights {
  readonly weightIh: Tensor;
  readonly weightHh: Tensor;
  readonly biasIh: Tensor | null;
  readonly biasHh: Tensor | null;
  /** Projects the hidden state to fewer features (LSTM with `proj_size`). */
  readonly weightHr: Tensor | null;
}

/** The sequences a layer runs over as rows of a matrix: sequence `b` at step `t` is row `start + b * rowStride`. */
export interface Step {
  readonly start: number;
  /** How many sequences are that long; those are the first ones. */
  readonly count: number;
}

export interface Sequence {
  /** Rows by features. */
  readonly rows: Tensor;
  /** What whoever goes through the steps from the last one back has for rows: as many, up to the last one that there is. */
  readonly backRows: Tensor;
  readonly steps: () => readonly Step[];
  /** So many steps of as many sequences each, which begin so many rows apart; null where there are none, or they are not alike. */
  readonly regular: { readonly length: SymInt; readonly count: SymInt; readonly stride: SymInt } | null;
  readonly rowStride: SymInt;
}

export interface RecurrentArgs {
  readonly input?: Tensor;
  readonly data?: Tensor;
  readonly batch_sizes?: Tensor;
  readonly hx: Tensor | readonly Tensor[];
  readonly params: readonly Tensor[];
  readonly has_biases: boolean;
  readonly num_layers: number;
  readonly dropout: number;
  readonly train: boolean;
  readonly bidirectional: boolean;
  readonly batch_first?: boolean;
}

export function initialStates({ hx }: RecurrentArgs): { hidden: Tensor; cell: Tensor | null } {
  return Array.isArray(hx) ? { hidden: hx[0], cell: hx[1] } : { hidden: hx as Tensor, cell: null };
}

/** The weights of every layer, and within it of each direction. */
export function cellsOf(kind: RecurrentKind, args: RecurrentArgs): CellWeights[][] {
  const { params, has_biases: biases, num_layers: layers, bidirectional } = args;
  const { hidden, cell } = initialStates(args);
  // With a projection, hidden and cell state differ in size and there is one more weight.
  const projected = kind === 'lstm' && cell !== null && !symEq(hidden.symSizes[2], cell.symSizes[2]);
  const each = (biases ? 4 : 2) + (projected ? 1 : 0);
  const directions = bidirectional ? 2 : 1;
  check(params.length === each * layers * directions, 'got an incorrect number of RNN parameters');
  return Array.from({ length: layers }, (_, layer) =>
    Array.from({ length: directions }, (_direction, direction) => {
      const own = params.slice((layer * directions + direction) * each, (layer * directions + direction + 1) * each);
      return {
        weightIh: own[0],
        weightHh: own[1],
        biasIh: biases ? own[2] : null,
        biasHh: biases ? own[3] : null,
        weightHr: projected ? own[each - 1] : null,
      };
    }),
  );
}

/** Input as a matrix of rows; `contiguous` is called where a copy is needed for that. */
export function sequenceOf(args: RecurrentArgs, contiguous: (tensor: Tensor) => Tensor): Sequence {
  if (args.input) {
    const input = args.input.isContiguous() ? args.input : contiguous(args.input);
    const [first, second, features] = input.symSizes;
    const [length, count] = args.batch_first ? [second, first] : [first, second];
    const stride = args.batch_first ? 1 : count;
    const steps = (): Step[] => {
      const [each, apart] = [count, stride].map(settle);
      return Array.from({ length: settle(length) }, (_, t) => ({ start: t * apart, count: each }));
    };
    const rows = input.asStrided([symMul(first, second), features], [features, 1]);
    const regular = symGt(length, 0) ? { length, count, stride } : null;
    return { rows, backRows: rows, steps, regular, rowStride: args.batch_first ? length : 1 };
  }
  const data = args.data!.isContiguous() ? args.data! : contiguous(args.data!);
  const packed = packedSteps(args);
  const count = rowsOf(packed);
  const rows = narrowView(data, 0, 0, count);
  const backRows = count === data.sizes[0] ? rows : narrowView(data, 0, data.sizes[0] - count, count);
  return { rows, backRows, steps: () => packed, regular: regularSteps(packed), rowStride: 1 };
}

function regularSteps(steps: readonly Step[]): Sequence['regular'] {
  const stride = steps.length > 1 ? steps[1].start - steps[0].start : 0;
  const isRegular = steps.every(({ start, count }, at) => start === at * stride && count === steps[0].count);
  return steps.length > 0 && isRegular ? { length: steps.length, count: steps[0].count, stride } : null;
}

const rowsOf = (steps: readonly Step[]): number => steps.reduce((rows, { count }) => rows + count, 0);

/** The steps of packed sequences, which go through the rows from the first one on. Throws what PyTorch says of rows that are not there. */
function packedSteps({ data, batch_sizes: sizes }: RecurrentArgs): Step[] {
  check(sizes!.dtype === 'int64', () => `expected scalar type Long but found ${dtypeName(sizes!.dtype)}`);
  const [length] = data!.sizes;
  let start = 0;
  return Array.from(sizes!.contiguousArray(), Number).map((count) => {
    check(count >= 0, 'narrow(): length must be non-negative.');
    check(start + count <= length, () => `start (${start}) + length (${count}) exceeds dimension size (${length}).`);
    const step = { start, count };
    start += count;
    return step;
  });
}

/** How many rows a layer gives; null where that is not known yet. */
function rowsMade(args: RecurrentArgs): number | null {
  if (!args.batch_sizes!.storage.isOnHost) return null;
  // Zeros are put in the place of sizes that nobody knows.
  return rowsOf(packedSteps(args)) || args.data!.sizes[0];
}

/** Refuses integers, where sigmoids are, as PyTorch does; and complex numbers. */
function checkComputes(kind: RecurrentKind, dtype: ScalarType): void {
  if (isComplex(dtype) && kind === 'rnn_relu')
    check(false, 'clamp is not supported for complex types', 'NotImplementedError');
  if (isComplex(dtype)) throw notImplementedFor(kind, dtypeName(dtype));
  check(
    isFloatingPoint(dtype) || kind === 'rnn_tanh' || kind === 'rnn_relu',
    () => `result type Float can't be cast to the desired output type ${dtypeName(dtype)}`,
  );
}

/** Refuses rows that a weight does not take, and a bias that is none of its results. */
function checkProduct(rows: SymInt, features: SymInt, weight: Tensor, bias: Tensor | null): void {
  const [width, taken] = weight.sizes;
  check(
    symEq(features, taken),
    () => `mat1 and mat2 shapes cannot be multiplied (${hint(rows)}x${hint(features)} and ${taken}x${width})`,
  );
  const added = bias?.sizes.at(-1) ?? 1;
  check(
    added === width || added === 1,
    () =>
      `The expanded size of the tensor (${width}) must match the existing size (${added}) at non-singleton dimension 1.  ` +
      `Target sizes: ${sizesText([hint(rows), width])}.  Tensor sizes: ${sizesText(bias!.sizes)}`,
  );
}

function checkSum(a: SymInt, b: SymInt): void {
  check(
    symEq(a, b),
    () => `The size of tensor a (${hint(a)}) must match the size of tensor b (${hint(b)}) at non-singleton dimension 1`,
  );
}

/** Refuses weights that do not go together, or with the states, which are `hidden` and `cell` numbers for each of `batch` sequences. */
function checkCell(
  kind: RecurrentKind,
  { weightIh, weightHh, biasIh, biasHh, weightHr }: CellWeights,
  input: { readonly rows: SymInt; readonly features: SymInt },
  { batch, hidden, cell }: { readonly batch: SymInt; readonly hidden: SymInt; readonly cell: SymInt },
): void {
  checkProduct(input.rows, input.features, weightIh, biasIh);
  checkProduct(batch, hidden, weightHh, biasHh);
  const [made, recurrent] = [weightIh, weightHh].map(({ sizes }) => sizes[0] / gateCount[kind]);
  if (kind === 'gru') checkSum(recurrent, made);
  else checkSum(weightHh.sizes[0], weightIh.sizes[0]);
  if (kind === 'lstm') checkSum(made, cell);
  else if (kind === 'gru') checkSum(hidden, made);
  else checkProduct(batch, made, weightHh, null);
  if (!weightHr) return;
  checkProduct(batch, cell, weightHr, null);
  checkProduct(batch, weightHr.sizes[0], weightHh, null);
}

/** Refuses an input, or states, of another dtype than the weights, as the products of the first layer do. */
function checkDtypes(
  kind: RecurrentKind,
  { batch_first: isBatchFirst = false }: RecurrentArgs,
  input: Tensor,
  hidden: Tensor,
  { weightIh, weightHh, biasIh }: CellWeights,
): void {
  const refuse = (mat1: ScalarType, mat2: ScalarType, isSum: boolean) => (): string =>
    isSum
      ? `mat1 and mat2 must have the same dtype, but got ${dtypeName(mat1)} and ${dtypeName(mat2)}`
      : `expected m1 and m2 to have the same dtype, but got: ${cppTypeName(mat1)} != ${cppTypeName(mat2)}`;
  // Time comes first in the product, which adds its bias by itself where that lies as it is.
  const isPlain = (): boolean => (isBatchFirst ? input.sizes[0] === 1 || input.sizes[1] === 1 : input.isContiguous());
  check(input.dtype === weightIh.dtype, () => refuse(input.dtype, weightIh.dtype, biasIh !== null && isPlain())());
  const isFused = kind === 'lstm' && input.dtype === 'float32' && hidden.dtype !== 'float32';
  check(!isFused, 'get_mkldnn_dtype: unsupported data type');
  check(hidden.dtype === weightHh.dtype, refuse(hidden.dtype, weightHh.dtype, biasIh !== null));
}

/** Sizes of the output and of the final states; null where they depend on what a device has. */
export function recurrentShape(kind: RecurrentKind, args: RecurrentArgs): TensorMeta[] | null {
  const cells = cellsOf(kind, args);
  const { hidden, cell } = initialStates(args);
  const input = (args.input ?? args.data)!;
  const last = cells[cells.length - 1];
  const features = last.length * (last[0].weightHr ?? last[0].weightHh).sizes[last[0].weightHr ? 0 : 1];
  const inputSize = cells[0][0].weightIh.sizes[1];
  check(input.dim === (args.input ? 3 : 2), () => `input must have ${args.input ? 3 : 2} dimensions, got ${input.dim}`);
  check(
    symEq(input.symSizes[input.dim - 1], inputSize),
    () => `input.size(-1) must be equal to input_size. Expected ${inputSize}, got ${input.sizes[input.dim - 1]}`,
  );
  if (args.input) {
    const batch = input.symSizes[args.batch_first ? 0 : 1];
    const states = cells.length * last.length;
    check(
      hidden.dim === 3 && symEq(hidden.symSizes[0], states) && symEq(hidden.symSizes[1], batch),
      () => `Expected hidden size ${sizesText([states, hint(batch), hidden.sizes[2]])}, got ${sizesText(hidden.sizes)}`,
    );
  }
  checkDtypes(kind, args, input, hidden, cells[0][0]);
  const rows = symFloorDiv(input.symNumel, inputSize);
  const [, batch, features0] = hidden.symSizes;
  const state = { batch, hidden: features0, cell: (cell ?? hidden).symSizes[2] };
  for (const [layer, directions] of cells.entries()) {
    for (const each of directions) checkCell(kind, each, { rows, features: layer === 0 ? inputSize : features }, state);
  }
  const { dtype } = input;
  checkComputes(kind, dtype);
  const states = cell ? [hidden, cell] : [hidden];
  const outer = args.input ? input.symSizes.slice(0, -1) : [rowsMade(args)];
  if (outer[0] === null) return null;
  return [
    { sizes: [...(outer as SymInt[]), features], dtype },
    ...states.map(({ symSizes: sizes }) => ({ sizes, dtype })),
  ];
}

/** The part of a layer's output that belongs to one direction, and its slot in the states. */
export function outputOf(rows: Tensor, direction: number, directions: number): Tensor {
  const features = symFloorDiv(rows.symSizes[1], directions);
  return narrowView(rows, 1, symMul(direction, features), features);
}

export function stateOf(states: Tensor, layer: number, direction: number, directions: number): Tensor {
  return selectView(states, 0, layer * directions + direction);
}
