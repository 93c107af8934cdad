import { NestedTensor, Storage, Tensor, type ScalarType, scratch } from '@cresset/tensor';
import {
  binary,
  cast,
  constant,
  exprTypeOf,
  reduce,
  select,
  TensorView,
  type Expr,
  type Store,
} from '@cresset/tensorexpr';
import { kernel, view } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import type { KernelRule } from '../../table/builders.ts';
import type { LoweringContext, OperatorRow, Results } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { add, index, indexParam, sub, within } from '../../kernels/expressions.ts';
import { numbersInPieces, storeInPieces } from '../../kernels/numbers/numbers.ts';
import { deviceTensor } from '../indexing/flagged-elements.ts';
import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';

/** Sequences of different lengths between the layers of a transformer encoder (ATen/native/nested). */

interface MaskArgs {
  /** `[batch, longest, width]`. */
  readonly t: Tensor;
  /** `[batch, longest]`, true for what is part of a sequence. */
  readonly mask: Tensor;
  readonly mask_check?: boolean;
}

function checkMask({ t, mask }: MaskArgs): void {
  check(
    mask.dtype === 'bool',
    () => `Expected mask to be of ScalarType Bool, but got ${dtypeName(mask.dtype)} instead.`,
  );
  check(mask.dim === 2, 'Padding mask should be 2D');
  check(t.dim === 3, 'Input should be a 3D tensor, N * L * D');
  check(
    mask.sizes.every((size, dim) => size === t.sizes[dim]),
    'Mask size should match input size',
  );
}

const misaligned = 'Mask must be left-aligned without gaps';

const countOf = (line: ArrayLike<number>): number => Array.from(line).reduce((sum, value) => sum + value, 0);

/** How many vectors each sequence has; a mask's lines need not be left-aligned for it. */
function* lengthsOf(mask: Tensor): Pieces<number[]> {
  const flags = yield* numbersInPieces(mask);
  const [batch, longest] = mask.sizes;
  return Array.from({ length: batch }, (_, line) => countOf(flags.subarray(line * longest, (line + 1) * longest)));
}

function* isLeftAligned(mask: Tensor): Pieces<boolean> {
  const flags = yield* numbersInPieces(mask);
  const longest = mask.sizes[1];
  return flags.every((flag, at) => at % longest === 0 || flag <= flags[at - 1]);
}

type Sizes = readonly [number, number, number];

const nestedOnHost = (dtype: ScalarType, sizes: Sizes): NestedTensor =>
  new NestedTensor(Tensor.empty([NestedTensor.elementsOf(sizes)], dtype).storage, dtype, sizes);

function nestedOnDevice(dtype: ScalarType, sizes: Sizes, { device }: LoweringContext): NestedTensor {
  const count = NestedTensor.elementsOf(sizes);
  return count === 0
    ? nestedOnHost(dtype, sizes)
    : new NestedTensor(Storage.onDevice(device, dtype, count), dtype, sizes);
}

/** Copies the vectors of `source`, `[batch, longest, width]`, that count; the others are 0. */
function* fillOnHost(nested: NestedTensor, source: Tensor, counts: ArrayLike<number>): Pieces {
  const width = nested.paddedSizes[2];
  const values = yield* numbersInPieces(source);
  yield* storeInPieces(nested.counted, counts);
  const counted = scratch(Float64Array, values.length);
  yield* repeat(counts.length, width, (line) => {
    if (counts[line]) counted.set(values.subarray(line * width, (line + 1) * width), line * width);
  });
  yield;
  yield* storeInPieces(nested.padded, counted);
}

function* hostFromMask({ t, mask, mask_check: checksMask }: MaskArgs): Pieces<NestedTensor> {
  check(!checksMask || (yield* isLeftAligned(mask)), misaligned);
  const nested = nestedOnHost(t.dtype, t.sizes as unknown as Sizes);
  const lengths = yield* lengthsOf(mask);
  const longest = mask.sizes[1];
  const counts = Float64Array.from({ length: mask.numel }, (_, at) =>
    at % longest < lengths[Math.trunc(at / longest)] ? 1 : 0,
  );
  yield* fillOnHost(nested, t, counts);
  return nested;
}

const zeroOf = (tensor: Tensor): Expr => cast(exprTypeOf(tensor.dtype), index(0));
const storeAt = (target: TensorView, at: readonly Expr[], value: Expr): Store => ({
  operand: target.operand,
  offset: target.offsetAt(at),
  value,
});

/** As `fillOnHost`; `counts` says which vectors do. */
function launchFill(
  nested: NestedTensor,
  source: Tensor,
  counts: (at: readonly Expr[]) => Expr,
  label: string,
  context: LoweringContext,
  further: (at: readonly Expr[]) => readonly Store[] = () => [],
): void {
  if (nested.numel === 0) return;
  const [flags, rows] = [nested.counted, nested.padded].map((tensor) => new TensorView(tensor));
  const places = flags.axes();
  const flag = cast(exprTypeOf(nested.dtype), counts(places));
  const stores = [storeAt(flags, places, flag), ...further(places)];
  context.launch({ kind: 'nest', label, axes: places, innerAxes: [], stores });
  if (source.numel === 0) return;
  const axes = rows.axes();
  const value = select(counts(axes.slice(0, 2)), new TensorView(source).at(axes), zeroOf(source));
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: [storeAt(rows, axes, value)] });
}

function deviceFromMask({ t, mask, mask_check: checksMask }: MaskArgs, context: LoweringContext): NestedTensor {
  const nested = nestedOnDevice(t.dtype, t.sizes as unknown as Sizes, context);
  const flags = new TensorView(mask);
  const counts = ([line, place]: readonly Expr[]): Expr => {
    const [, other] = flags.axes();
    return binary('lt', place, reduce('sum', [other], cast('i32', flags.at([line, other]))));
  };
  const misplaced = (at: readonly Expr[]): readonly Store[] =>
    checksMask
      ? context.faults(
          binary('ne', cast('i32', counts(at)), cast('i32', flags.at(at))),
          at[1],
          misaligned,
          'RuntimeError',
        )
      : [];
  launchFill(nested, t, counts, 'aten::_nested_tensor_from_mask', context, misplaced);
  return nested;
}

/** Whether a condition holds anywhere, once the device has found out. */
async function holdsAnywhere(
  mask: Tensor,
  condition: (at: readonly Expr[]) => Expr,
  label: string,
  context: LoweringContext,
): Promise<boolean> {
  const found = context.temporary([], 'int32');
  const target = new TensorView(found);
  const axes = new TensorView(mask).axes();
  const value = cast('i32', reduce('any', axes, condition(axes)));
  context.launch({ kind: 'nest', label, axes: [], innerAxes: [], stores: [storeAt(target, [], value)] });
  await context.fetch(found);
  return (found.storageArray() as Int32Array)[0] !== 0;
}

async function deviceIsLeftAligned(mask: Tensor, context: LoweringContext): Promise<boolean> {
  if (mask.numel === 0) return true;
  const flags = new TensorView(mask);
  const rises = ([line, place]: readonly Expr[]): Expr => {
    const before = flags.at([line, binary('max', sub(place, index(1)), index(0))]);
    return binary('gt', cast('i32', flags.at([line, place])), cast('i32', before));
  };
  return !(await holdsAnywhere(mask, rises, 'aten::_nested_tensor_from_mask_left_aligned', context));
}

interface PaddedArgs {
  readonly self: Tensor;
  readonly padding: number;
  readonly output_size: readonly number[] | null;
}

const truncates = 'Value in output_size is less than NestedTensor padded size. Truncation is not supported.';
const nothingThere = 'to_padded_tensor: at least one constituent tensor should have non-zero numel';

/** The sequences, and the sizes that are asked for; the longest sequence's where none are. */
function paddedRequest({ self, output_size: asked }: PaddedArgs): {
  nested: NestedTensor;
  asked: readonly number[] | null;
} {
  check(
    self instanceof NestedTensor,
    "Could not run 'aten::to_padded_tensor' with arguments from the 'CPU' backend.",
    'NotImplementedError',
  );
  if (asked === null) return { nested: self, asked };
  const [batch, , width] = self.paddedSizes;
  check(
    asked.length === self.dim,
    'Length of output_size does not match NestedTensor dims. Broadcasting is not supported.',
  );
  check(asked[0] >= batch && asked[2] >= width, truncates);
  return { nested: self, asked };
}

function* hostPadded(args: PaddedArgs): Pieces<Tensor> {
  const { nested, asked } = paddedRequest(args);
  const [batch, longest, width] = nested.paddedSizes;
  const lengths = yield* lengthsOf(nested.counted);
  const needed = Math.max(0, ...lengths);
  check(needed * width > 0, nothingThere);
  const sizes = asked ?? [batch, needed, width];
  check(sizes[1] >= needed, truncates);
  const out = Tensor.empty(sizes, nested.dtype);
  const values = yield* numbersInPieces(nested.padded);
  const filled = scratch(Float64Array, out.numel).fill(args.padding);
  yield* repeat(batch * longest, width, (at) => {
    const [line, place] = [Math.trunc(at / longest), at % longest];
    if (place >= lengths[line]) return;
    filled.set(values.subarray(at * width, (at + 1) * width), (line * sizes[1] + place) * sizes[2]);
  });
  yield;
  yield* storeInPieces(out, filled);
  return out;
}

async function longestOnDevice(nested: NestedTensor, context: LoweringContext): Promise<number> {
  const longest = context.temporary([], 'int32');
  const flags = new TensorView(nested.counted);
  const axes = flags.axes();
  const value = reduce(
    'max',
    axes,
    select(binary('ne', flags.at(axes), zeroOf(nested)), add(axes[1], index(1)), index(0)),
  );
  const stores = [storeAt(new TensorView(longest), [], value)];
  context.launch({ kind: 'nest', label: 'aten::to_padded_tensor', axes: [], innerAxes: [], stores });
  await context.fetch(longest);
  return (longest.storageArray() as Int32Array)[0];
}

function launchPadded(
  nested: NestedTensor,
  padding: number,
  sizes: readonly number[],
  context: LoweringContext,
): Tensor {
  const label = 'aten::to_padded_tensor';
  const out = deviceTensor(sizes, nested.dtype, context);
  if (out.numel === 0) return out;
  const [target, rows, flags] = [out, nested.padded, nested.counted].map((tensor) => new TensorView(tensor));
  const axes = target.axes();
  const isWithin = axes.map((own, dim) => within(own, rows.sizes[dim])).reduce((a, b) => binary('and', a, b));
  const isCounted = (at: readonly Expr[]): Expr => binary('ne', flags.at(at), zeroOf(nested));
  const places = axes.slice(0, 2);
  const filling = cast(exprTypeOf(nested.dtype), constant('float', padding));
  const value = select(binary('and', isWithin, isCounted(places)), rows.at(axes), filling);
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: [storeAt(target, axes, value)] });
  return out;
}

/** Notes sequences that do not fit, and that there is none at all. */
function checkPadded(nested: NestedTensor, room: number, context: LoweringContext): void {
  const flags = new TensorView(nested.counted);
  const axes = flags.axes();
  const isCounted = binary('ne', flags.at(axes), zeroOf(nested));
  const any = reduce('any', axes, isCounted);
  const over = reduce('any', axes, binary('and', isCounted, binary('ge', axes[1], indexParam(room))));
  const stores = [
    ...context.faults(binary('eq', cast('i32', any), index(0)), index(0), nothingThere, 'RuntimeError'),
    ...context.faults(over, index(0), truncates, 'RuntimeError'),
  ];
  context.launch({ kind: 'nest', label: 'aten::to_padded_tensor', axes: [], innerAxes: [], stores });
}

function devicePadded(args: PaddedArgs, context: LoweringContext): Results | Promise<Results> {
  const { nested, asked } = paddedRequest(args);
  const [batch, , width] = nested.paddedSizes;
  check(nested.numel > 0 && width > 0, nothingThere);
  if (asked) {
    checkPadded(nested, asked[1], context);
    return launchPadded(nested, args.padding, asked, context);
  }
  return longestOnDevice(nested, context).then((longest) => {
    check(longest > 0, nothingThere);
    return launchPadded(nested, args.padding, [batch, longest, width], context);
  });
}

const padding: KernelRule<PaddedArgs> = {
  host: hostPadded,
  device: devicePadded,
};

interface ExampleArgs {
  readonly padded: Tensor;
  readonly nt_example: NestedTensor;
}

export const nestedRows: readonly OperatorRow[] = [
  kernel<MaskArgs>('aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool', {
    *host(args) {
      checkMask(args);
      return yield* isLeftAligned(args.mask);
    },
    device: (args, context) => {
      checkMask(args);
      return deviceIsLeftAligned(args.mask, context);
    },
  }),
  kernel<MaskArgs>('aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor', {
    *host(args) {
      checkMask(args);
      return yield* hostFromMask(args);
    },
    device: (args, context) => {
      checkMask(args);
      return deviceFromMask(args, context);
    },
  }),
  kernel<ExampleArgs>('aten::_nested_from_padded_and_nested_example(Tensor padded, Tensor nt_example) -> Tensor', {
    *host({ padded, nt_example: example }) {
      const nested = nestedOnHost(padded.dtype, padded.sizes as unknown as Sizes);
      yield* fillOnHost(nested, padded, yield* numbersInPieces(example.counted));
      return nested;
    },
    device: ({ padded, nt_example: example }, context) => {
      const nested = nestedOnDevice(padded.dtype, padded.sizes as unknown as Sizes, context);
      const flags = new TensorView(example.counted);
      const counts = (at: readonly Expr[]): Expr => binary('ne', flags.at(at), zeroOf(example));
      launchFill(nested, padded, counts, 'aten::_nested_from_padded_and_nested_example', context);
      return nested;
    },
  }),
  kernel<PaddedArgs>(
    'aten::to_padded_tensor(Tensor self, float padding, SymInt[]? output_size=None) -> Tensor',
    padding,
  ),
  kernel<PaddedArgs>(
    'aten::nested_to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor',
    padding,
  ),
  // How the operators that are said in TorchScript see sequences: filled up, and where that is.
  view<{ self: NestedTensor }>('cresset::nested_rows(Tensor(a) self) -> Tensor(a)', ({ self }) => self.padded),
  view<{ self: NestedTensor }>('cresset::nested_counts(Tensor(a) self) -> Tensor(a)', ({ self }) => self.counted),
];
