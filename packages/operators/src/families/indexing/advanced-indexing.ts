import { mapped } from '../../kernels/loops/mapped.ts';
import { repeat, type Pieces, eachOffset, filled, finish } from '../../kernels/loops/pieces.ts';
import {
  isComplex,
  isIntegral,
  scratch,
  settle,
  settleAll,
  symEq,
  symGt,
  symMul,
  Tensor,
  type ScalarType,
  type SymInt,
} from '@cresset/tensor';
import { binary, cast, constant, select, TensorView, type AxisExpr, type Expr, type Store } from '@cresset/tensorexpr';
import { broadcastAll, broadcastSizes, expand } from '../../kernels/broadcast.ts';
import { kernel, type KernelRule } from '../../table/builders.ts';
import { convertedPieces, copyPieces, partOf } from '../../kernels/copy.ts';
import { warnOfExpanded } from '../../kernels/dimensions.ts';
import { numberReader } from '../../kernels/elements.ts';
import { check, OperatorError } from '../../kernels/errors.ts';
import { checkValueFits } from '../../kernels/numbers/scalar-range.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import type { LoweringContext, OperatorRow, Sharing, TensorMeta } from '../../table/row.ts';
import { elementCombiner, elementMover, operandReader, offsetsInPieces } from './element-moves.ts';
import { launchCopy } from './launched-copy.ts';
import { isGatherable, lowerGatheredWrites, sliceWrites } from './gathered-writes.ts';
import { deviceNonzero, deviceNonzeroColumns, deviceTensor } from './flagged-elements.ts';
import { deviceMaskedSelect, lowerMaskedScatter } from './masked-elements.ts';
import { launchPositionCheck, outOfBounds, positionFault } from './position-faults.ts';
import { lowerScatteredWrites, wrappedPlace } from './scattered-writes.ts';
import * as views from '../views/view-functions.ts';

/** `x[i, mask, :, j]` and assignment to it (ATen/native/TensorAdvancedIndexing.cpp). */

type Indices = readonly (Tensor | null)[];

/** Where the elements that an index names lie: masks replaced by positions, index tensors broadcast together. */
interface IndexPlan {
  /** One for each dimension of the indexed tensor; null where the whole dimension is taken. */
  readonly indices: Indices;
  /** Sizes of the index tensors, broadcast. */
  readonly indexSizes: readonly SymInt[];
  /** How many dimensions of the result come before those of the index tensors. */
  readonly lead: number;
  readonly sizes: readonly SymInt[];
}

const isMask = ({ dtype }: Tensor): boolean => dtype === 'bool' || dtype === 'uint8';

/** Whether the result's size can only be known by looking at a mask. */
const dependsOnMask = (indices: Indices): boolean => indices.some((index) => index !== null && isMask(index));

/** Whether the element at an offset is not zero; of complex ones, either part. */
function truthReader(tensor: Tensor): (offset: number) => boolean {
  if (isComplex(tensor.dtype)) {
    const [re, im] = ([0, 1] as const).map((part) => numberReader(partOf(tensor, part)));
    return (offset) => re(2 * offset) !== 0 || im(2 * offset + 1) !== 0;
  }
  const read = numberReader(tensor);
  return (offset) => read(offset) !== 0;
}

/** Positions of the elements that are not zero, one column a dimension (Tensor.nonzero().unbind(1)). */
export function* nonzeroColumns(tensor: Tensor): Pieces<Tensor[]> {
  const rank = Math.max(tensor.dim, 1);
  const found: number[][] = Array.from({ length: rank }, () => []);
  const sizes = tensor.dim === 0 ? [1] : tensor.sizes;
  const position = sizes.map(() => 0);
  const isSet = truthReader(tensor);
  yield* eachOffset(tensor.sizes, tensor.strides, tensor.storageOffset, 16 + 8 * rank, (offset) => {
    if (isSet(offset)) found.forEach((column, dim) => column.push(position[dim]));
    for (let dim = rank - 1; dim >= 0 && ++position[dim] === sizes[dim]; dim--) position[dim] = 0;
  });
  return yield* mapped(found, function* (column) {
    const positions = Tensor.empty([column.length], 'int64');
    yield* filled(positions.storageArrayForWriting() as BigInt64Array, 4, (at) => BigInt(column[at]));
    return positions;
  });
}

function* withoutMasks(self: Tensor, indices: Indices): Pieces<(Tensor | null)[]> {
  const expanded: (Tensor | null)[] = [];
  for (const index of indices) {
    checkIndex(self, index, expanded.length);
    if (index && isMask(index)) expanded.push(...(yield* nonzeroColumns(index)));
    else expanded.push(index);
  }
  return expanded;
}

/** As `withoutMasks`, of masks on a device. */
async function deviceIndices(
  self: Tensor,
  indices: Indices,
  label: string,
  context: LoweringContext,
): Promise<(Tensor | null)[]> {
  const expanded: (Tensor | null)[] = [];
  for (const index of indices) {
    checkIndex(self, index, expanded.length);
    if (index && isMask(index)) expanded.push(...(await deviceNonzeroColumns(index, label, context)));
    else expanded.push(index);
  }
  return expanded;
}

function checkIndex(self: Tensor, index: Tensor | null, at: number): void {
  if (index === null) return;
  check(isIntegral(index.dtype, true), 'tensors used as indices must be long, int, byte or bool tensors', 'IndexError');
  if (!isMask(index)) return;
  index.symSizes.forEach((size, dim) => {
    check(
      symEq(size, self.symSizes[at + dim] ?? -1),
      () =>
        `The shape of the mask [${index.sizes.join(', ')}] at index ${dim} does not match the shape of the indexed tensor [${self.sizes.join(', ')}] at index ${at + dim}`,
      'IndexError',
    );
  });
  // A mask without dimensions takes none of the tensor's, so no positions say what it picks: PyTorch's kernel asserts.
  check(index.dim > 0, 'a mask without dimensions cannot be used as an index', 'IndexError');
}

function planIndex(self: Tensor, given: Indices): IndexPlan {
  check(given.length <= self.dim, `too many indices for tensor of dimension ${self.dim}`, 'IndexError');
  const expanded = finish(withoutMasks(self, given));
  check(expanded.length <= self.dim, `too many indices for tensor of dimension ${self.dim}`, 'IndexError');
  const tensors = expanded.filter((index) => index !== null);
  const indexSizes = broadcastIndices(tensors);
  const indices = self.symSizes.map((_, dim) => {
    const index = expanded[dim] ?? null;
    return index && expand(index, indexSizes);
  });
  const dims = indices.flatMap((index, dim) => (index ? [dim] : []));
  const isAdjacent = dims.every((dim, at) => dim === dims[0] + at);
  const lead = isAdjacent && dims.length > 0 ? dims[0] : 0;
  const kept = self.symSizes.filter((_, dim) => indices[dim] === null);
  const sizes = [...kept.slice(0, lead), ...indexSizes, ...kept.slice(lead)];
  check(
    tensors.every(({ symNumel }) => symEq(symNumel, 0)) || dims.every((dim) => symGt(self.symSizes[dim], 0)),
    () => `index is out of bounds for dimension with size 0`,
    'IndexError',
  );
  return { indices, indexSizes, lead, sizes };
}

function broadcastIndices(tensors: readonly Tensor[]): readonly SymInt[] {
  try {
    return broadcastAll(tensors.map(({ symSizes }) => symSizes));
  } catch {
    const shapes = tensors.map(({ sizes }) => `[${sizes.join(', ')}]`).join(', ');
    throw new OperatorError(
      `shape mismatch: indexing tensors could not be broadcast together with shapes ${shapes}`,
      'IndexError',
    );
  }
}

/** Offsets of the named elements in the order of the result. */
function* plannedOffsets(self: Tensor, { indices, lead, indexSizes }: IndexPlan): Pieces<Float64Array> {
  const kept = self.sizes.flatMap((_, dim) => (indices[dim] ? [] : [dim]));
  const offsetsAlong = (dims: readonly number[], start: number): Pieces<Float64Array> =>
    offsetsInPieces(
      dims.map((dim) => self.sizes[dim]),
      dims.map((dim) => self.strides[dim]),
      start,
    );
  const before = yield* offsetsAlong(kept.slice(0, lead), self.storageOffset);
  const after = yield* offsetsAlong(kept.slice(lead), 0);
  const picked = scratch(
    Float64Array,
    settleAll(indexSizes).reduce((count, size) => count * size, 1),
  );
  for (const [dim, index] of indices.entries()) {
    if (!index) continue;
    const read = numberReader(index);
    const size = self.sizes[dim];
    let at = 0;
    yield* eachOffset(index.sizes, index.strides, index.storageOffset, 8, (offset) => {
      const position = read(offset);
      if (position < -size || position >= size) {
        throw new OperatorError(
          `index ${position} is out of bounds for dimension ${dim} with size ${size}`,
          'IndexError',
        );
      }
      picked[at++] += (position < 0 ? position + size : position) * self.strides[dim];
    });
  }
  const offsets = scratch(Float64Array, before.length * picked.length * after.length);
  let at = 0;
  for (const first of before) {
    yield* repeat(picked.length, 4 * after.length, (index) => {
      for (const last of after) offsets[at++] = first + picked[index] + last;
    });
    yield;
  }
  return offsets;
}

interface IndexArguments {
  readonly self: Tensor;
  readonly indices: Indices;
}

const indexRule: KernelRule<IndexArguments> = {
  shape: ({ self, indices }) =>
    dependsOnMask(indices) ? null : { sizes: planIndex(self, indices).sizes, dtype: self.dtype },
  *host({ self, indices }, [given]) {
    const plan = planIndex(self, yield* withoutMasks(self, indices));
    const output = given ?? Tensor.empty(settleAll(plan.sizes), self.dtype);
    const move = elementMover(output, self);
    const offsets = yield* plannedOffsets(self, plan);
    yield* repeat(offsets.length, 4, (at) => move(at, offsets[at]));
    return output;
  },
  lower: lowerIndex,
  device: async ({ self, indices }, context) => {
    const positions = await deviceIndices(self, indices, 'aten::index', context);
    const output = deviceTensor(settleAll(planIndex(self, positions).sizes), self.dtype, context);
    lowerIndex({ self, indices: positions }, [output], context);
    return output;
  },
};

/** A position counted from the end made one from the front. */
export function wrappedPosition(position: Expr, size: Expr): Expr {
  const narrow = cast('i32', position);
  return select(binary('lt', narrow, constant('i32', 0)), binary('add', narrow, size), narrow);
}

function lowerIndex({ self, indices }: IndexArguments, [output]: readonly Tensor[], context: LoweringContext): void {
  if (symEq(output.symNumel, 0)) return;
  const plan = planIndex(self, indices);
  const target = new TensorView(output);
  const axes = target.axes();
  const { place, faults } = plannedPlaces(self, plan, axes, context);
  launchCopy('aten::index', axes, target, new TensorView(self).at(place), context, faults);
}

interface IndexPutArguments extends IndexArguments {
  readonly values: Tensor;
  readonly accumulate: boolean;
}

const indexPutRule: KernelRule<IndexPutArguments> = {
  writesInPlace: true,
  // One number is taken out before it is put where a mask holds.
  mayShare: (args): Sharing => (filledMask(args) ? { values: 'anything' } : { indices: 'nothing', values: 'nothing' }),
  onExpanded: (args, _, context) => {
    warnOfExpanded('index_put_', 'tensor[indices] = tensor', context);
    return putAtIndices(args, [args.self]);
  },
  shape: (args): TensorMeta | null => {
    const { self, indices, values } = args;
    check(indices.length <= self.dim, () => `too many indices for tensor of dimension ${self.dim}`, 'IndexError');
    check(
      values.dtype === self.dtype || filledMask(args) !== null,
      () =>
        `Index put requires the source and destination dtypes match, got ${indexPutName(self.dtype)} for the destination and ${indexPutName(values.dtype)} for the source.`,
    );
    const mask = filledMask(args);
    if (mask) checkValueFits(values, self.dtype);
    // Positions that a mask picks have to be counted before anything is put there.
    return dependsOnMask(indices) && !mask ? null : { sizes: self.symSizes, dtype: self.dtype };
  },
  host: putAtIndices,
  device: async (args, context) => {
    const { self, indices } = args;
    const output = deviceTensor(self.sizes, self.dtype, context);
    const positions = await deviceIndices(self, indices, 'aten::index_put', context);
    lowerIndexPut({ ...args, indices: positions }, output, context);
    return output;
  },
  lower: (args, [output], context) => {
    const mask = filledMask(args);
    if (mask) lowerMaskedPut(args.self, onlyIndexed(args.indices), mask, oneNumber(args.values), output, context);
    else lowerIndexPut(args, output, context);
  },
};

function* putAtIndices(args: IndexPutArguments, [given]: readonly Tensor[]): Pieces<Tensor> {
  const { self, indices, values, accumulate } = args;
  const output = given ?? Tensor.empty(self.sizes, self.dtype);
  yield* copyPieces(output, self);
  const mask = filledMask(args);
  if (mask?.dim === 0) {
    if (numberReader(mask)(mask.storageOffset) !== 0)
      yield* copyPieces(output, expand(oneNumber(values), output.sizes));
    return output;
  }
  const plan = planIndex(output, yield* withoutMasks(output, indices));
  const source = valuesFor(plan.sizes, yield* convertedPieces(values, self.dtype));
  const offsets = yield* plannedOffsets(output, plan);
  const sources = yield* offsetsInPieces(source.sizes, source.strides, source.storageOffset);
  if (accumulate) {
    const combine = elementCombiner(output, 'sum');
    const read = operandReader(source);
    yield* repeat(offsets.length, 16, (at) => combine(offsets[at], read(sources[at])));
  } else {
    const move = elementMover(output, source);
    yield* repeat(offsets.length, 4, (at) => move(offsets[at], sources[at]));
  }
  return output;
}

/**
 * The mask that decides, element by element, between a tensor and one number; null where more is asked for. Such a write takes a number of any
 * dtype and a mask without dimensions, as `masked_fill_` does (PyTorch: canDispatchToMaskedFill).
 */
function filledMask({ self, indices, values, accumulate }: IndexPutArguments): Tensor | null {
  const dim = onlyIndexed(indices);
  const index = indices[dim];
  if (!index || !isMask(index) || !symEq(values.symNumel, 1) || accumulate) return null;
  if (indices.length > self.dim || dim + index.dim > self.dim) return null;
  if (!index.symSizes.every((size, at) => symEq(size, self.symSizes[dim + at]))) return null;
  check(index.dtype === 'bool', 'masked_fill_ only supports boolean masks, but got mask with dtype unsigned char');
  return index;
}

/** A tensor of one element without its dimensions. */
const oneNumber = (tensor: Tensor): Tensor => tensor.asStrided([], []);

function lowerIndexPut(
  { self, indices, values, accumulate }: IndexPutArguments,
  output: Tensor,
  context: LoweringContext,
): void {
  if (symEq(output.symNumel, 0)) return;
  const label = 'aten::index_put';
  const plan = planIndex(self, indices);
  const shown = valuesFor(plan.sizes, values);
  const how = accumulate ? 'sum' : null;
  const dim = onlyIndexed(indices);
  const index = indices[dim];
  // A single slice meets no other: where the rest stays as it is, only that is written.
  const isAlone = self === output && index !== null && symEq(index?.symNumel ?? 0, 1);
  if (index && index.dim <= 1 && !isAlone && isGatherable(self, index.symNumel, how)) {
    const size = settle(self.symSizes[dim]);
    launchPositionCheck(index, -size, size, outOfBounds(dim, size), context);
    // The values have the indexed dimension where the index is a vector, and none where it is a single position.
    const view = new TensorView(index.dim === 1 ? shown : views.unsqueeze(shown, dim));
    const value = (k: Expr, axes: readonly AxisExpr[]): Expr => view.at(axes.map((own, at) => (at === dim ? k : own)));
    lowerGatheredWrites(self, output, sliceWrites(self, dim, index, value, how), context, label);
    return;
  }
  const source = new TensorView(shown);
  const axes = source.axes();
  const { place, isInside, faults } = plannedPlaces(self, plan, axes, context);
  if (faults.length > 0 && !symEq(shown.symNumel, 0)) {
    context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: faults });
  }
  const writes = { axes, place, isInside, value: source.at(axes), how, includesSelf: true } as const;
  lowerScatteredWrites(self, output, writes, context, label);
}

/** Where the element at `axes` of what an index names lies in `self`. */
function plannedPlaces(
  self: Tensor,
  { indices, lead, indexSizes }: IndexPlan,
  axes: readonly AxisExpr[],
  context: LoweringContext,
): { place: Expr[]; isInside: Expr; faults: Store[] } {
  const indexAxes = axes.slice(lead, lead + indexSizes.length);
  const kept = [...axes.slice(0, lead), ...axes.slice(lead + indexSizes.length)].values();
  const faults: Store[] = [];
  let allInside: Expr = constant('bool', true);
  const place = indices.map((index, dim): Expr => {
    if (!index) return kept.next().value!;
    const size = self.symSizes[dim];
    const given = new TensorView(index).at(indexAxes);
    const { at, isInside } = wrappedPlace(given, size, true);
    faults.push(...positionFault(given, symMul(size, -1), size, outOfBounds(dim, size), context));
    allInside = binary('and', allInside, isInside);
    return at;
  });
  return { place, isInside: allInside, faults };
}

/** One value put where a mask holds, whose dimensions are those of `self` from `dim` on. */
function lowerMaskedPut(
  self: Tensor,
  dim: number,
  mask: Tensor,
  value: Tensor,
  output: Tensor,
  context: LoweringContext,
): void {
  const [source, flags, target] = [self, mask, output].map((tensor) => new TensorView(tensor));
  const axes = target.axes();
  const isPut = flags.at(axes.slice(dim, dim + mask.dim));
  const own = source.at(axes);
  const put = cast(own.type, new TensorView(value).at([]));
  launchCopy('aten::index_put', axes, target, select(isPut, put, own), context);
}

/** The one dimension that is indexed; -1 where there are several. */
function onlyIndexed(indices: Indices): number {
  const dims = indices.flatMap((index, dim) => (index ? [dim] : []));
  return dims.length === 1 ? dims[0] : -1;
}

const indexPutNames: Partial<Record<ScalarType, string>> = {
  float32: 'Float', float64: 'Double', float16: 'Half', bfloat16: 'BFloat16', int64: 'Long', int32: 'Int', int16: 'Short',
  int8: 'Char', uint8: 'Byte', bool: 'Bool', complex64: 'ComplexFloat', complex128: 'ComplexDouble',
}; // prettier-ignore
const indexPutName = (dtype: ScalarType): string => indexPutNames[dtype] ?? dtype;

function valuesFor(sizes: readonly SymInt[], values: Tensor): Tensor {
  // Leading dimensions of size 1 beyond those of the place are dropped, as PyTorch does for assignments.
  let trimmed = values;
  while (trimmed.dim > sizes.length && symEq(trimmed.symSizes[0], 1)) {
    trimmed = trimmed.asStrided(trimmed.symSizes.slice(1), trimmed.symStrides.slice(1));
  }
  const fits =
    trimmed.dim <= sizes.length &&
    trimmed.symSizes.every((size, dim) => symEq(size, 1) || symEq(size, sizes[dim + sizes.length - trimmed.dim]));
  check(
    fits,
    () =>
      `shape mismatch: value tensor of shape [${values.sizes.join(', ')}] cannot be broadcast to indexing result of shape [${settleAll(sizes).join(', ')}]`,
  );
  return expand(trimmed, sizes);
}

/** A tensor's positions where it is not zero, `[count, rank]`. */
function* nonzero(self: Tensor): Pieces<Tensor> {
  const columns = self.dim === 0 ? [] : yield* nonzeroColumns(self);
  const count = self.dim === 0 ? Number(numberReader(self)(self.storageOffset) !== 0) : columns[0].sizes[0];
  const positions = Tensor.empty([count, columns.length], 'int64');
  for (const [dim, column] of columns.entries())
    yield* copyPieces(positions.asStrided([count], [columns.length], dim), column);
  return positions;
}

/** What `nonzero_numpy` is given, or `where` with nothing to choose from. */
type Picked =
  | { readonly self: Tensor; readonly condition: undefined }
  | { readonly self: undefined; readonly condition: Tensor };

interface MaskArguments {
  readonly self: Tensor;
  readonly mask: Tensor;
}

function* maskedSelect({ self, mask }: MaskArguments): Pieces<Tensor> {
  check(mask.dtype === 'bool', 'masked_select: expected BoolTensor for mask');
  const sizes = broadcastSizes(mask.sizes, self.sizes);
  const [source, chosen] = [expand(self, sizes), expand(mask, sizes)];
  const flags = chosen.storageArray();
  const sources = yield* offsetsInPieces(sizes, source.strides, source.storageOffset);
  const flagged = yield* offsetsInPieces(sizes, chosen.strides, chosen.storageOffset);
  let count = 0;
  yield* repeat(sources.length, 4, (at) => {
    if (flags[flagged[at]] !== 0) sources[count++] = sources[at];
  });
  const output = Tensor.empty([count], self.dtype);
  const move = elementMover(output, source);
  yield* repeat(count, 4, (at) => move(at, sources[at]));
  return output;
}

interface MaskedScatterArguments extends MaskArguments {
  readonly source: Tensor;
}

function checkMaskedScatter({ self, mask, source }: MaskedScatterArguments): void {
  const [own, given, chosen] = [self, source, mask].map(({ dtype }) => dtypeName(dtype));
  check(own === given, `masked_scatter: expected self and source to have same dtypes but got${own} and ${given}`);
  check(mask.dtype === 'bool', `masked_scatter_ only supports boolean masks, but got mask with dtype ${chosen}`);
}

const maskedScatterRule: KernelRule<MaskedScatterArguments> = {
  inPlace: true,
  out: true,
  shape: (args) => {
    const { self, mask } = args;
    checkMaskedScatter(args);
    return { sizes: broadcastSizes(mask.sizes, self.sizes), dtype: self.dtype };
  },
  lower: ({ self, mask, source }, [output], context) => lowerMaskedScatter(self, mask, source, output, context),
  *host({ self, mask, source }, [output]) {
    yield* copyPieces(output, self);
    const chosen = expand(mask, output.sizes);
    const flags = chosen.storageArray();
    const targets = yield* offsetsInPieces(output.sizes, output.strides, output.storageOffset);
    const sources = yield* offsetsInPieces(source.sizes, source.strides, source.storageOffset);
    const move = elementMover(output, source);
    let used = 0;
    const flagged = yield* offsetsInPieces(chosen.sizes, chosen.strides, chosen.storageOffset);
    yield* repeat(flagged.length, 8, (at) => {
      if (flags[flagged[at]] === 0) return;
      check(used < sources.length, 'Number of elements of source < number of ones in mask');
      move(targets[at], sources[used++]);
    });
  },
};

export const advancedIndexingRows: readonly OperatorRow[] = [
  kernel('aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor', {
    ...indexRule,
    out: 'Tensor_out',
    mayShare: () => ({ self: 'nothing', indices: 'nothing' }),
  }),
  kernel('aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor', indexRule),
  kernel('aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor', indexRule),
  kernel('aten::_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor', indexRule),
  kernel('aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor', {
    ...indexPutRule,
    inPlace: true,
    out: 'out',
  }),
  kernel('aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor', {
    ...indexPutRule,
    inPlace: true,
  }),
  kernel(
    'aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor',
    indexPutRule,
  ),
  kernel(
    'aten::_unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor',
    indexPutRule,
  ),
  kernel(
    'aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor',
    { ...indexPutRule, inPlace: true, out: 'out' },
  ),
  kernel<MaskArguments>('aten::masked_select(Tensor self, Tensor mask) -> Tensor', {
    host: maskedSelect,
    device: ({ self, mask }, context) => {
      check(mask.dtype === 'bool', 'masked_select: expected BoolTensor for mask');
      return deviceMaskedSelect(self, mask, context);
    },
    out: 'out',
    mayShare: () => ({ self: 'nothing', mask: 'nothing' }),
  }),
  kernel('aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor', {
    ...maskedScatterRule,
    out: 'out',
  }),
  ...(['nonzero', 'argwhere'] as const).map((name) =>
    kernel<{ self: Tensor }>(`aten::${name}(Tensor self) -> Tensor`, {
      host: ({ self }) => nonzero(self),
      device: ({ self }, context) => deviceNonzero(self, `aten::${name}`, context),
      out: name === 'nonzero',
      mayShare: () => ({ self: 'nothing' }),
    }),
  ),
  ...['aten::nonzero_numpy(Tensor self)', 'aten::where(Tensor condition)'].map((schema) =>
    kernel(`${schema} -> Tensor[]`, {
      host: ({ self, condition }: Picked) => nonzeroColumns(self ?? condition),
      device: ({ self, condition }: Picked, context) =>
        deviceNonzeroColumns(self ?? condition, schema.slice(0, schema.indexOf('(')), context),
    }),
  ),
];
