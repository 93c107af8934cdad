import {
  scratch,
  symAdd,
  symEq,
  symGe,
  symGt,
  symSub,
  Tensor,
  textOf,
  type ScalarType,
  type SymInt,
} from '@cresset/tensor';
import { binary, constant, exprTypeOf, param, select, TensorView, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { copyPieces } from '../../kernels/copy.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { scalarToBigint, scalarToNumber, scalarWriter } from '../../kernels/elements.ts';
import { checkScalarFits } from '../../kernels/numbers/scalar-range.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow, Scalar, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { add, index, indexParam, mul, sub, where, within } from '../../kernels/expressions.ts';
import { narrowView } from '../../kernels/views.ts';
import { filled, repeat, type Pieces } from '../../kernels/loops/pieces.ts';

/** Padding at the borders (ATen/native/PadNd.cpp, ReflectionPad.cpp, ReplicationPadding.cpp). */

type Mode = 'constant' | 'reflect' | 'replicate' | 'circular';

/** How far each dimension grows in front and behind; negative numbers crop. */
interface Border {
  readonly before: number;
  readonly after: number;
}

/** `pad` lists pairs from the last dimension on. */
function bordersOf(rank: number, pad: readonly number[]): Border[] {
  return Array.from({ length: rank }, (_, dim) => {
    const pair = 2 * (rank - 1 - dim);
    return { before: pad[pair] ?? 0, after: pad[pair + 1] ?? 0 };
  });
}

/** The input position that padded position `at` takes its value from; out of range where it takes the constant. */
function sourcePosition(mode: Mode, at: number, size: number): number {
  if (mode === 'replicate') return Math.min(Math.max(at, 0), size - 1);
  if (mode === 'circular') return ((at % size) + size) % size;
  if (mode === 'constant') return at;
  const mirrored = Math.abs(at);
  return mirrored < size ? mirrored : 2 * (size - 1) - mirrored;
}

function sourceExpr(mode: Mode, at: Expr, size: Expr): Expr {
  const last = sub(size, index(1));
  if (mode === 'replicate') return binary('min', binary('max', at, index(0)), last);
  if (mode === 'circular') {
    // Padding wraps around once at most: one turn on either side is enough.
    const lifted = select(binary('lt', at, index(0)), add(at, size), at);
    return select(binary('ge', lifted, size), sub(lifted, size), lifted);
  }
  if (mode === 'constant') return at;
  const mirrored = select(binary('lt', at, index(0)), sub(index(0), at), at);
  return select(binary('lt', mirrored, size), mirrored, sub(mul(index(2), last), mirrored));
}

const paddedSizes = (self: Tensor, borders: readonly Border[]): SymInt[] =>
  self.symSizes.map((size, dim) => symAdd(size, borders[dim].before + borders[dim].after));

interface Run {
  readonly length: number;
  /** From one position to the next. */
  readonly step: number;
}

/** How many positions from `at` on follow each other in equal steps: forward in the middle, backward or not at all at a border. */
function runAt(positions: ArrayLike<number>, at: number): Run {
  const step = at + 1 < positions.length ? positions[at + 1] - positions[at] : 0;
  let length = 1;
  while (at + length < positions.length && positions[at + length] - positions[at + length - 1] === step) length++;
  return { length, step };
}

/** The positions of a run along `dim`, which may go backward. */
function runView(source: Tensor, dim: number, first: number, { length, step }: Run): Tensor {
  const { storage, dtype, sizes, strides, storageOffset } = source;
  const start = storageOffset + first * strides[dim];
  return new Tensor(storage, dtype, sizes.with(dim, length), strides.with(dim, step * strides[dim]), start);
}

/** Copies run by run: along one dimension positions that go to neighbours in the input. */
function* hostPad(self: Tensor, mode: Mode, borders: readonly Border[], value: Scalar, out: Tensor): Pieces {
  if (mode === 'constant') {
    const write = scalarWriter(out);
    yield* repeat(out.numel, 16, (at) => write(out.storageOffset + at, value));
    let target = out;
    let source = self;
    borders.forEach(({ before, after }, dim) => {
      const start = Math.max(before, 0);
      const length = out.sizes[dim] - start - Math.max(after, 0);
      target = narrowView(target, dim, start, Math.max(length, 0));
      source = narrowView(source, dim, Math.max(-before, 0), Math.max(length, 0));
    });
    yield* copyPieces(target, source);
    return;
  }
  let source = self;
  for (let dim = 0; dim < borders.length; dim++) {
    const { before: front, after } = borders[dim];
    if (front === 0 && after === 0) continue;
    let before = front;
    // What is cropped does not come round again.
    if (mode === 'circular') {
      const kept = source.sizes[dim] - Math.max(-front, 0) - Math.max(-after, 0);
      source = narrowView(source, dim, Math.max(-front, 0), kept);
      before = Math.max(front, 0);
    }
    const sizes = source.sizes.with(dim, out.sizes[dim]);
    const padded = Tensor.empty(sizes, out.dtype);
    const length = source.sizes[dim];
    const positions = yield* filled(scratch(Float64Array, sizes[dim]), 16, (at) =>
      sourcePosition(mode, at - before, length),
    );
    for (let at = 0; at < positions.length;) {
      const run = runAt(positions, at);
      yield* copyPieces(narrowView(padded, dim, at, run.length), runView(source, dim, positions[at], run));
      at += run.length;
      yield;
    }
    source = padded;
  }
  yield* copyPieces(out, source);
}

function lowerPad(
  label: string,
  self: Tensor,
  mode: Mode,
  borders: readonly Border[],
  value: Scalar,
  out: Tensor,
  context: LoweringContext,
): void {
  if (symEq(out.symNumel, 0)) return;
  const target = new TensorView(out);
  const input = new TensorView(self);
  const axes = target.axes();
  const conditions: Expr[] = [];
  const at = axes.map((own, dim) => {
    const { before, after } = borders[dim];
    if (before === 0 && after === 0) return own;
    if (mode === 'circular' && (before < 0 || after < 0)) {
      const cropped = Math.max(-before, 0);
      const kept = indexParam(symSub(self.symSizes[dim], cropped + Math.max(-after, 0)));
      return add(sourceExpr(mode, sub(own, indexParam(Math.max(before, 0))), kept), indexParam(cropped));
    }
    const moved = before === 0 ? own : sub(own, indexParam(before));
    if (mode === 'constant') conditions.push(within(moved, input.sizes[dim]));
    return sourceExpr(mode, moved, input.sizes[dim]);
  });
  const element = input.at(at);
  const padded = where(conditions, element, scalarExpr(out.dtype, value));
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value: padded }];
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
}

function scalarExpr(dtype: ScalarType, value: Scalar): Expr {
  const type = exprTypeOf(dtype);
  if (type === 'float') return param('float', scalarToNumber(value));
  if (type === 'bool') return constant('bool', scalarToNumber(value) !== 0);
  return type === 'i64' ? param('i64', scalarToBigint(value)) : param('i32', Number(scalarToBigint(value)));
}

interface Padding {
  readonly self: Tensor;
  readonly mode: Mode;
  readonly pad: readonly number[];
  readonly value: Scalar;
}

function paddingRow<Args>(schema: string, rule: (args: Args) => Padding, out: boolean): OperatorRow {
  const label = schema.slice(0, schema.indexOf('('));
  return kernel<Args>(schema, {
    out,
    shape(args): TensorMeta {
      const { self, mode, pad, value } = rule(args);
      const borders = bordersOf(self.dim, pad);
      checkPadding(self, mode, pad, borders);
      if (mode === 'constant' && pad.some((size) => size > 0)) checkScalarFits(value, self.dtype);
      return { sizes: paddedSizes(self, borders), dtype: self.dtype };
    },
    *host(args, [result]) {
      const { self, mode, pad, value } = rule(args);
      yield* hostPad(self, mode, bordersOf(self.dim, pad), value, result);
    },
    lower(args, [result], context) {
      const { self, mode, pad, value } = rule(args);
      lowerPad(label, self, mode, bordersOf(self.dim, pad), value, result, context);
    },
    moves: true,
  });
}

function checkPadding(self: Tensor, mode: Mode, pad: readonly number[], borders: readonly Border[]): void {
  if (mode === 'constant') checkConstant(self, pad, borders);
  else if (mode === 'circular') checkCircular(self, pad, borders);
  else checkMirrored(self, mode, pad, borders);
}

function checkConstant(self: Tensor, pad: readonly number[], borders: readonly Border[]): void {
  check(pad.length % 2 === 0, () => `Length of pad must be even but instead it equals ${pad.length}`);
  check(
    pad.length <= 2 * self.dim,
    () =>
      `Length of pad should be no more than twice the number of dimensions of the input. Pad length is ${pad.length}while the input has ${self.dim}dimensions.`,
  );
  borders.forEach(({ before, after }, dim) => {
    // Neither crops more than there is, nor both together.
    check(
      symGe(self.symSizes[dim], Math.max(-before, 0) + Math.max(-after, 0)),
      'narrow(): length must be non-negative.',
    );
  });
}

function checkCircular(self: Tensor, pad: readonly number[], borders: readonly Border[]): void {
  check(pad.length % 2 === 0, 'Padding length must be divisible by 2');
  check(pad.length / 2 + 2 === self.dim || pad.length / 2 + 1 === self.dim, () => unsupported(self, pad));
  borders.forEach(({ before, after }, dim) => {
    const size = self.symSizes[dim];
    check(symGe(size, before) && symGe(size, after), 'Padding value causes wrapping around more than once.');
    check(symGe(size, -before - after), 'Negative padding value is resulting in an empty dimension');
  });
}

function checkMirrored(self: Tensor, mode: Mode, pad: readonly number[], borders: readonly Border[]): void {
  const rank = pad.length / 2;
  check(self.dim === rank + 1 || self.dim === rank + 2, () => unsupported(self, pad));
  check(
    self.symSizes.every((size, dim) => symGt(size, 0) || (dim === 0 && self.dim === rank + 2)),
    () =>
      `Expected ${rank + 1}D or ${rank + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ${sizesText(self.sizes)}`,
  );
  const names = ['D', 'H', 'W'];
  for (let dim = self.dim - 1; dim >= self.dim - rank; dim--) {
    const { before, after } = borders[dim];
    const size = self.symSizes[dim];
    check(
      mode !== 'reflect' || (symGt(size, before) && symGt(size, after)),
      () =>
        `Argument #${2 * (self.dim - dim) + 2}: Padding size should be less than the corresponding input dimension, but got: padding (${before}, ${after}) at dimension ${dim} of input ${sizesText(self.sizes)}`,
    );
  }
  const padded = paddedSizes(self, borders).slice(-rank);
  const shown = (values: readonly SymInt[]): string =>
    values.map((size, dim) => `${names.slice(-rank)[dim]}: ${textOf(size)}`).join(' ');
  check(
    padded.every((size) => symGe(size, 1)),
    () => `input (${shown(self.symSizes.slice(-rank))}) is too small. Calculated output ${shown(padded)}`,
  );
  const kernelName = `${mode === 'reflect' ? 'reflection' : 'replication'}_pad${rank}d`;
  if (self.dtype === 'bool') throw notImplementedFor(kernelName, dtypeName(self.dtype));
}

const unsupported = (self: Tensor, pad: readonly number[]): string =>
  `Padding size ${pad.length} is not supported for ${self.dim}D input tensor.\nSupported combinations for non-constant padding:\n` +
  '  - 2D or 3D input: padding size = 2 (pads last dimension)\n' +
  '  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n' +
  '  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)';

interface PadArgs {
  readonly self: Tensor;
  readonly pad: readonly number[];
  readonly mode: string;
  readonly value: number | null;
}

const modes: readonly Mode[] = ['constant', 'reflect', 'replicate', 'circular'];

function padOf({ self, pad, mode, value }: PadArgs): Padding {
  const known = modes.find((own) => own === mode);
  check(known !== undefined, () => `Unrecognised padding mode ${mode}`);
  check(pad.length % 2 === 0, 'Padding length must be divisible by 2');
  check(
    pad.length <= 2 * self.dim,
    () =>
      `Padding length should be less than or equal to two times the input dimension but got padding length ${pad.length} and input of dimension ${self.dim}`,
  );
  if (known === 'constant') return { self, mode: known, pad, value: value ?? 0 };
  check(value === null || value === 0, () => `Padding mode "${mode}" doesn't take in value argument`);
  check([2, 4, 6].includes(pad.length) && (self.dim === pad.length / 2 + 1 || self.dim === pad.length / 2 + 2), () =>
    unsupported(self, pad),
  );
  return { self, mode: known!, pad, value: 0 };
}

interface BorderArgs {
  readonly self: Tensor;
  readonly padding: readonly number[];
}

const mirroredRows = ([1, 2, 3] as const).flatMap((rank) =>
  (['reflect', 'replicate'] as const).map((mode) =>
    paddingRow<BorderArgs>(
      `aten::${mode === 'reflect' ? 'reflection' : 'replication'}_pad${rank}d(Tensor self, SymInt[${2 * rank}] padding) -> Tensor`,
      ({ self, padding }) => ({ self, mode, pad: padding, value: 0 }),
      true,
    ),
  ),
);

export const paddingRows: readonly OperatorRow[] = [
  paddingRow<PadArgs>(
    'aten::pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor',
    padOf,
    false,
  ),
  paddingRow<{ self: Tensor; pad: readonly number[]; value: Scalar }>(
    'aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor',
    (args) => ({ ...args, mode: 'constant' }),
    true,
  ),
  paddingRow<{ self: Tensor; pad: readonly number[] }>(
    'aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor',
    (args) => ({ ...args, mode: 'circular', value: 0 }),
    false,
  ),
  paddingRow<Omit<PadArgs, 'mode'> & { mode: number }>(
    'aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor',
    (args) => padOf({ ...args, mode: modes[args.mode] }),
    false,
  ),
  ...mirroredRows,
];
