import { Complex, numelOf, Tensor } from '@cresset/tensor';
import { binary, cast, TensorView, type AxisExpr, type Expr } from '@cresset/tensorexpr';
import { broadcastAll } from '../broadcast.ts';
import { kernel, type KernelRule } from '../builders.ts';
import { contiguousOf, copyInto } from '../copy.ts';
import { wrapDim } from '../dimensions.ts';
import { numberReader, numberWriter, scalarWriter } from '../elements.ts';
import { check, notImplementedFor, OperatorError } from '../errors.ts';
import { lowerGenerated } from '../fill.ts';
import type { LoweringContext, OperatorRow, Scalar, TensorMeta } from '../row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { dtypeName } from '../type-promotion.ts';
import { scalarParam } from '../pointwise.ts';
import { launchCopy, wrappedPosition } from './advanced-indexing.ts';
import { elementCombiner, elementMover, offsetsOf, operandReader, type Combination } from './element-moves.ts';
import { elementsAlong, elementWrites, isGatherable, lowerGatheredWrites, sliceWrites } from './gathered-writes.ts';

/** Operators that take or put elements at positions given by one index tensor (TensorAdvancedIndexing.cpp, TensorCompare.cpp). */

interface Indexed {
  readonly self: Tensor;
  readonly dim: number;
  readonly index: Tensor;
}

const text = (sizes: readonly number[]): string => `[${sizes.join(', ')}]`;

function checkIndexType(name: string, index: Tensor): void {
  // An index without elements may have any dtype.
  if (index.numel === 0) return;
  check(index.dtype === 'int64' || index.dtype === 'int32', `${name}(): Expected dtype int32/int64 for index`);
}

/** Index and tensor have one number of dimensions, and the index is nowhere larger but along `dim` (gather_shape_check). */
function checkIndexShape({ self, dim, index }: Indexed): number {
  const wrapped = wrapDim(dim, self.dim);
  check(
    Math.max(index.dim, 1) === Math.max(self.dim, 1),
    'Index tensor must have the same number of dimensions as input tensor',
  );
  index.sizes.forEach((size, at) => {
    check(
      at === wrapped || size <= (self.sizes[at] ?? 1),
      `Size does not match at dimension ${at} expected index ${text(index.sizes)} to be no larger than self ${text(self.sizes)} apart from dimension ${wrapped}`,
    );
  });
  return wrapped;
}

/**
 * For each element of `index`, in C order, the offset of the element of `tensor` at the same place but with the position the
 * index holds along `dim`.
 */
function offsetsThrough(tensor: Tensor, dim: number, index: Tensor): Float64Array {
  const rank = index.dim;
  const size = tensor.sizes[dim] ?? 1;
  const along = tensor.strides[dim] ?? 0;
  const others = tensor.strides.slice(0, rank).map((stride, at) => (at === dim ? 0 : stride));
  const offsets = offsetsOf(index.sizes, others, tensor.storageOffset);
  const positions = offsetsOf(index.sizes, index.strides, index.storageOffset);
  const read = numberReader(index);
  positions.forEach((offset, at) => {
    const position = read(offset);
    if (position < 0 || position >= size) {
      throw new OperatorError(`index ${position} is out of bounds for dimension ${dim} with size ${size}`);
    }
    offsets[at] += position * along;
  });
  return offsets;
}

const gatherRule: KernelRule<Indexed> = {
  shape: ({ self, dim, index }) => {
    checkIndexType('gather', index);
    if (index.numel > 0) checkIndexShape({ self, dim, index });
    return { sizes: index.sizes, dtype: self.dtype };
  },
  host: ({ self, dim, index }, [output]) => {
    if (index.numel === 0) return;
    const move = elementMover(output, self);
    offsetsThrough(self, checkIndexShape({ self, dim, index }), index).forEach((offset, at) => move(at, offset));
  },
  lower: ({ self, dim, index }, [output], context) => {
    if (index.numel === 0) return;
    const wrapped = wrapDim(dim, self.dim);
    const source = new TensorView(self);
    const target = new TensorView(output);
    const axes = target.axes();
    const position = axes.map((axis, at) =>
      at === wrapped ? wrappedPosition(new TensorView(index).at(axes), source.sizes[wrapped]) : axis,
    );
    launchCopy('aten::gather', axes, target, source.at(position.slice(0, self.dim)), context);
  },
};

/** Every form of scatter: `self` with elements put, or combined, at the places an index names. */
function scatterRule<Args extends Indexed>(
  source: (args: Args) => Tensor | Scalar,
  combination: (args: Args) => Combination | 'mean' | null = () => null,
  includesSelf: (args: Args) => boolean = () => true,
): KernelRule<Args> {
  return {
    inPlace: true,
    shape: (args): TensorMeta => {
      const { self, index } = args;
      checkIndexType('scatter', index);
      const values = source(args);
      if (values instanceof Tensor) checkScatterSource(args, values);
      combination(args);
      return { sizes: self.sizes, dtype: self.dtype };
    },
    host: (args, [output]) => {
      const { self, dim, index } = args;
      copyInto(output, self);
      if (index.numel === 0) return;
      const wrapped = wrapDim(dim, self.dim);
      put(output, offsetsThrough(output, wrapped, index), sourceReader(source(args), index.sizes), {
        how: combination(args),
        includesSelf: includesSelf(args),
      });
    },
    lowerable: (args) => {
      const { self, dim, index } = args;
      return self.dim > 0 && isGatherable(self, index.sizes[wrapDim(dim, self.dim)], combination(args));
    },
    lower: (args, [output], context) => {
      const { self, dim, index } = args;
      const wrapped = wrapDim(dim, self.dim);
      const values = source(args);
      const value = values instanceof Tensor ? elementsAlong(values, wrapped) : () => scalarParam(values, self.dtype);
      const writes = elementWrites(self, wrapped, index, value, combination(args), includesSelf(args));
      lowerGatheredWrites(self, output, writes, context, 'aten::scatter');
    },
  };
}

function checkScatterSource({ self, dim, index }: Indexed, source: Tensor): void {
  check(self.dtype === source.dtype, 'scatter(): Expected self.dtype to be equal to src.dtype');
  if (index.numel === 0) return;
  check(
    Math.max(index.dim, 1) === Math.max(self.dim, 1),
    'Index tensor must have the same number of dimensions as self tensor',
  );
  check(
    Math.max(index.dim, 1) === Math.max(source.dim, 1),
    'Index tensor must have the same number of dimensions as src tensor',
  );
  const wrapped = wrapDim(dim, self.dim);
  const fits = index.sizes.every((size, at) => (at === wrapped || size <= self.sizes[at]) && size <= source.sizes[at]);
  check(
    fits,
    `Expected index ${text(index.sizes)} to be no larger than self ${text(self.sizes)} apart from dimension ${wrapped} and to be no larger size than src ${text(source.sizes)}`,
  );
}

/** Elements of the source at the places of the index, in C order. */
function sourceReader(source: Tensor | Scalar, sizes: readonly number[]): (at: number) => Scalar {
  if (!(source instanceof Tensor)) return () => source;
  const offsets = offsetsOf(sizes, source.strides.slice(0, sizes.length), source.storageOffset);
  const read = operandReader(source);
  return (at) => read(offsets[at]);
}

interface PutOptions {
  readonly how: Combination | 'mean' | null;
  readonly includesSelf: boolean;
}

function put(
  output: Tensor,
  places: Float64Array,
  read: (at: number) => Scalar,
  { how, includesSelf }: PutOptions,
): void {
  const write = scalarWriter(output);
  if (how === null) {
    places.forEach((place, at) => write(place, read(at)));
    return;
  }
  const counts = new Map<number, number>();
  const combine = elementCombiner(output, how === 'mean' ? 'sum' : how);
  places.forEach((place, at) => {
    const count = counts.get(place) ?? (includesSelf ? 1 : 0);
    if (count === 0) write(place, read(at));
    else combine(place, read(at));
    counts.set(place, count + 1);
  });
  if (how === 'mean') divideByCounts(output, counts);
}

function divideByCounts(output: Tensor, counts: ReadonlyMap<number, number>): void {
  const read = numberReader(output);
  const write = numberWriter(output);
  const isWhole = !output.dtype.includes('float');
  for (const [place, count] of counts) {
    const mean = read(place) / count;
    write(place, isWhole ? Math.floor(mean) : mean);
  }
}

function legacyReduction({ reduce }: { readonly reduce: string }): Combination {
  check(reduce === 'add' || reduce === 'multiply', 'reduce argument must be either add or multiply.');
  return reduce === 'add' ? 'sum' : 'prod';
}

function reduction({ reduce }: { readonly reduce: string }): Combination | 'mean' {
  check(
    ['sum', 'prod', 'mean', 'amax', 'amin'].includes(reduce),
    `reduce argument must be either sum, prod, mean, amax or amin, got ${reduce}`,
  );
  return reduce as Combination | 'mean';
}

interface FromSource extends Indexed {
  readonly src: Tensor;
}

interface FromValue extends Indexed {
  readonly value: Scalar;
}

interface Reduced {
  readonly reduce: string;
}

const scatterRows: readonly OperatorRow[] = [
  kernel('aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor', {
    ...scatterRule<FromSource>(({ src }) => src),
    out: 'src_out',
  }),
  kernel('aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor', {
    ...scatterRule<FromValue>(({ value }) => value),
    out: 'value_out',
  }),
  kernel('aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor', {
    ...scatterRule<FromSource & Reduced>(({ src }) => src, legacyReduction),
    out: 'reduce_out',
  }),
  kernel('aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor', {
    ...scatterRule<FromValue & Reduced>(({ value }) => value, legacyReduction),
    out: 'value_reduce_out',
  }),
  kernel('aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor', {
    ...scatterRule<FromSource>(
      ({ src }) => src,
      () => 'sum',
    ),
    out: 'out',
  }),
  kernel(
    'aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor',
    {
      ...scatterRule<FromSource & Reduced & { readonly include_self: boolean }>(
        ({ src }) => src,
        reduction,
        ({ include_self }) => include_self,
      ),
      out: 'two_out',
    },
  ),
];

/** Sizes of `self` with that of `dim` replaced. */
const withSize = (self: Tensor, dim: number, size: number): number[] =>
  self.sizes.map((own, at) => (at === dim ? size : own));

const indexSelectRule: KernelRule<Indexed> = {
  shape: ({ self, dim, index }) => {
    check(index.dim <= 1, 'index_select(): Index is supposed to be a vector', 'IndexError');
    check(
      index.dtype === 'int64' || index.dtype === 'int32',
      'index_select(): Expected dtype int32 or int64 for index',
    );
    return { sizes: withSize(self, wrapDim(dim, self.dim), index.numel), dtype: self.dtype };
  },
  host: ({ self, dim, index }, [output]) => {
    if (self.dim === 0) {
      copyInto(output, self);
      return;
    }
    const wrapped = wrapDim(dim, self.dim);
    const positions = vectorPositions(
      index,
      self.sizes[wrapped],
      (position, size) => `INDICES element is out of DATA bounds, id=${position} axis_dim=${size}`,
    );
    moveSlices(output, self, wrapped, (slice) => [slice, positions[slice]], positions.length);
  },
  lower: ({ self, dim, index }, [output], context) =>
    lowerIndexSelect(self, wrapDim(dim, self.dim), index, output, context),
};

function lowerIndexSelect(self: Tensor, dim: number, index: Tensor, output: Tensor, context: LoweringContext): void {
  if (output.numel === 0) return;
  const source = new TensorView(self);
  const target = new TensorView(output);
  const axes = target.axes();
  const vector = index.dim === 0 ? index.asStrided([1], [0]) : index;
  const position = axes.map((axis, at) =>
    at === dim ? wrappedPosition(new TensorView(vector).at([axis]), source.sizes[dim]) : axis,
  );
  launchCopy('aten::index_select', axes, target, source.at(position), context);
}

/** Positions an index vector holds; throws what `complaint` says where one is out of range. */
function vectorPositions(index: Tensor, size: number, complaint: (position: number, size: number) => string): number[] {
  const read = numberReader(index);
  return Array.from(offsetsOf(index.sizes, index.strides, index.storageOffset), (offset) => {
    const position = read(offset);
    if (position < 0 || position >= size) throw new OperatorError(complaint(position, size), 'IndexError');
    return position;
  });
}

/** Offsets of the slice at `position` along `dim`. */
function sliceOffsets(tensor: Tensor, dim: number, position: number): Float64Array {
  if (tensor.dim === 0) return Float64Array.of(tensor.storageOffset);
  const without = (values: readonly number[]): number[] => values.filter((_, at) => at !== dim);
  const start = tensor.storageOffset + position * tensor.strides[dim];
  return offsetsOf(without(tensor.sizes), without(tensor.strides), start);
}

function moveSlices(
  target: Tensor,
  source: Tensor,
  dim: number,
  pair: (slice: number) => readonly [to: number, from: number],
  count: number,
): void {
  const move = elementMover(target, source);
  for (let slice = 0; slice < count; slice++) {
    const [to, from] = pair(slice);
    const froms = sliceOffsets(source, dim, from);
    sliceOffsets(target, dim, to).forEach((offset, at) => move(offset, froms[at]));
  }
}

interface IndexSource extends Indexed {
  readonly source: Tensor;
}

const outOfBounds = (dim: number) => (position: number, size: number) =>
  `index ${position} is out of bounds for dimension ${dim} with size ${size}`;

function combineSlices(
  output: Tensor,
  { dim, index, source }: IndexSource,
  how: Combination,
  scale: (value: Scalar) => Scalar = (value) => value,
): void {
  const wrapped = wrapDim(dim, output.dim);
  const positions = vectorPositions(index, output.sizes[wrapped] ?? 1, outOfBounds(wrapped));
  const combine = elementCombiner(output, how);
  const read = operandReader(source);
  positions.forEach((position, slice) => {
    const froms = sliceOffsets(source, wrapped, slice);
    sliceOffsets(output, wrapped, position).forEach((offset, at) => combine(offset, scale(read(froms[at]))));
  });
}

const sameAsSelf = ({ self }: { readonly self: Tensor }): TensorMeta => ({ sizes: self.sizes, dtype: self.dtype });

function checkIndexSource(name: string, { self, dim, index, source }: IndexSource, separator: string): void {
  const wrapped = wrapDim(dim, self.dim);
  check(
    index.dim <= 1,
    `${name}(): Index is supposed to be a vector, but got dim: ${index.dim} with type: Long and size: ${text(index.sizes)}`,
  );
  check(
    index.numel === (source.sizes[wrapped] ?? 1),
    `${name}(): Number of indices (${index.numel}) should be equal to source.size(dim)${separator} (${source.sizes[wrapped]})${separator && `, for dim: ${wrapped}`}`,
  );
}

const toComplexNumber = (value: Scalar): Complex => (value instanceof Complex ? value : new Complex(Number(value), 0));

const timesScalar =
  (factor: Scalar) =>
  (value: Scalar): Scalar => {
    if (typeof value === 'bigint') return value * BigInt(factor as bigint | boolean);
    if (typeof value === 'number') return value * Number(factor);
    return complex.multiply(toComplexNumber(value), toComplexNumber(factor));
  };

const indexRows: readonly OperatorRow[] = [
  kernel('aten::index_select(Tensor self, int dim, Tensor index) -> Tensor', { ...indexSelectRule, out: 'out' }),
  kernel('aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor', {
    inPlace: true,
    out: 'out',
    shape: (args: IndexSource & { readonly alpha: Scalar }) => {
      checkIndexSource('index_add_', args, ':');
      check(args.self.dtype === args.source.dtype, 'index_add_(): self and source must have the same scalar type');
      return sameAsSelf(args);
    },
    host: (args, [output]) => {
      copyInto(output, args.self);
      combineSlices(output, args, 'sum', timesScalar(args.alpha));
    },
    lowerable: ({ self, index }) => self.dim > 0 && isGatherable(self, index.numel, 'sum'),
    lower: ({ self, dim, index, source, alpha }, [output], context) => {
      const wrapped = wrapDim(dim, self.dim);
      const element = elementsAlong(source, wrapped);
      const factor = scalarParam(alpha, self.dtype);
      const scaled = (k: Expr, axes: readonly AxisExpr[]): Expr => binary('mul', element(k, axes), factor);
      const writes = sliceWrites(self, wrapped, index, alpha === 1n ? element : scaled, 'sum');
      lowerGatheredWrites(self, output, writes, context, 'aten::index_add');
    },
  }),
  kernel('aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor', {
    inPlace: true,
    out: 'out',
    shape: (args: IndexSource) => {
      checkIndexSource('index_copy_', args, '');
      check(
        args.self.dtype === args.source.dtype,
        `index_copy_(): self and source expected to have the same dtype, but got (self) ${dtypeName(args.self.dtype)} and (source) ${dtypeName(args.source.dtype)}`,
      );
      return sameAsSelf(args);
    },
    host: ({ self, dim, index, source }, [output]) => {
      copyInto(output, self);
      const wrapped = wrapDim(dim, self.dim);
      const complaint = outOfBounds(wrapped);
      const positions = vectorPositions(
        index,
        self.sizes[wrapped] ?? 1,
        (position, size) => `index_copy_(): ${complaint(position, size)}`,
      );
      moveSlices(output, source, wrapped, (slice) => [positions[slice], slice], positions.length);
    },
    lowerable: ({ self, index }) => self.dim > 0 && isGatherable(self, index.numel, null),
    lower: ({ self, dim, index, source }, [output], context) => {
      const wrapped = wrapDim(dim, self.dim);
      const writes = sliceWrites(self, wrapped, index, elementsAlong(source, wrapped));
      lowerGatheredWrites(self, output, writes, context, 'aten::index_copy');
    },
  }),
  ...(['Scalar', 'Tensor'] as const).map((type) =>
    kernel(`aten::index_fill.int_${type}(Tensor self, int dim, Tensor index, ${type} value) -> Tensor`, {
      inPlace: true,
      out: `int_${type}_out`,
      shape: (args: Indexed & { readonly value: Scalar | Tensor }) => {
        const { value } = args;
        check(
          !(value instanceof Tensor) || value.dim === 0,
          () =>
            `index_fill_ only supports a 0-dimensional value tensor, but got tensor with ${(value as Tensor).dim} dimension(s).`,
        );
        return sameAsSelf(args);
      },
      host: ({ self, dim, index, value }, [output]) => {
        copyInto(output, self);
        const wrapped = wrapDim(dim, self.dim);
        const filling = value instanceof Tensor ? operandReader(value)(value.storageOffset) : value;
        const write = scalarWriter(output);
        const size = self.sizes[wrapped] ?? 1;
        const read = numberReader(index);
        for (const offset of offsetsOf(index.sizes, index.strides, index.storageOffset)) {
          const position = read(offset);
          check(position >= -size && position < size, () => outOfBounds(wrapped)(position, size), 'IndexError');
          for (const place of sliceOffsets(output, wrapped, position < 0 ? position + size : position))
            write(place, filling);
        }
      },
      lowerable: ({ self, index }) => self.dim > 0 && isGatherable(self, index.numel, null),
      lower: ({ self, dim, index, value }, [output], context) => {
        const filling = value instanceof Tensor ? new TensorView(value).at([]) : scalarParam(value, self.dtype);
        const writes = sliceWrites(self, wrapDim(dim, self.dim), index, () => filling);
        lowerGatheredWrites(self, output, writes, context, 'aten::index_fill');
      },
    }),
  ),
  kernel(
    'aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor',
    {
      inPlace: true,
      out: 'out',
      shape: (args: IndexSource & Reduced & { readonly include_self: boolean }) => {
        checkIndexSource('index_reduce_', args, ':');
        return sameAsSelf(args);
      },
      host: (args, [output]) => {
        const { self, dim, index, source, reduce, include_self: includesSelf } = args;
        copyInto(output, self);
        const wrapped = wrapDim(dim, self.dim);
        const positions = vectorPositions(index, self.sizes[wrapped] ?? 1, outOfBounds(wrapped));
        const read = operandReader(source);
        const how = reduction({ reduce });
        const places = positions.map((position) => sliceOffsets(output, wrapped, position));
        const values = positions.map((_, slice) => sliceOffsets(source, wrapped, slice));
        const width = places[0]?.length ?? 0;
        const flatPlaces = Float64Array.from(
          { length: places.length * width },
          (_, at) => places[Math.floor(at / width)][at % width],
        );
        put(output, flatPlaces, (at) => read(values[Math.floor(at / width)][at % width]), { how, includesSelf });
      },
    },
  ),
];

/** Offsets of elements by their position in C order, counted from the end where negative. */
function flatOffsets(self: Tensor, index: Tensor): number[] {
  const { numel } = self;
  const places = offsetsOf(self.sizes, self.strides, self.storageOffset);
  const read = numberReader(index);
  return Array.from(offsetsOf(index.sizes, index.strides, index.storageOffset), (offset) => {
    const position = read(offset);
    check(
      position >= -numel && position < numel,
      `out of range: tried to access index ${position} on a tensor of ${numel} elements.`,
      'IndexError',
    );
    return places[position < 0 ? position + numel : position];
  });
}

function bincount({ self, weights, minlength }: { self: Tensor; weights: Tensor | null; minlength: number }): Tensor {
  check(minlength >= 0, 'minlength should be >= 0');
  if (self.dtype.includes('float') || self.dtype === 'bool')
    throw notImplementedFor('bincount_cpu', dtypeName(self.dtype));
  const values = Array.from(contiguousOf(self).contiguousArray(), Number);
  check(
    self.dim === 1 && values.every((value) => value >= 0),
    'bincount only supports 1-d non-negative integral inputs.',
  );
  check(
    weights === null || numelOf(weights.sizes) === values.length,
    'weights should be 1-d and have the same length as input',
  );
  const size = values.reduce((largest, value) => Math.max(largest, value + 1), minlength);
  if (!weights) {
    const counts = new BigInt64Array(size);
    for (const value of values) counts[value]++;
    return Tensor.fromArray(counts, [size], 'int64');
  }
  const output = Tensor.empty([size], weights.dtype === 'float32' ? 'float32' : 'float64');
  const write = numberWriter(output);
  const sums = new Float64Array(size);
  const read = numberReader(weights);
  values.forEach((value, at) => (sums[value] += read(weights.storageOffset + at * weights.strides[0])));
  sums.forEach((sum, at) => write(at, sum));
  return output;
}

interface OneHot {
  readonly self: Tensor;
  /** -1 for one more than the largest class there is. */
  readonly num_classes: number;
}

function oneHot({ self, num_classes: given }: OneHot): Tensor {
  check(self.dtype === 'int64', 'one_hot is only applicable to index tensor of type LongTensor.');
  const classes = Array.from(contiguousOf(self).contiguousArray(), Number);
  check(
    classes.every((value) => value >= 0),
    'Class values must be non-negative.',
  );
  check(classes.length > 0 || given > 0, 'Can not infer total number of classes from empty tensor.');
  const count = given === -1 ? Math.max(...classes) + 1 : given;
  check(count >= 1, 'num_classes should be positive');
  check(
    classes.every((value) => value < count),
    'Class values must be smaller than num_classes.',
  );
  const flags = new BigInt64Array(classes.length * count);
  classes.forEach((value, at) => (flags[at * count + value] = 1n));
  return Tensor.fromArray(flags, [...self.sizes, count], 'int64');
}

export const gatherScatterRows: readonly OperatorRow[] = [
  kernel('aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor', {
    ...gatherRule,
    out: 'out',
  }),
  ...scatterRows,
  ...indexRows,
  kernel('aten::take(Tensor self, Tensor index) -> Tensor', {
    out: 'out',
    shape: ({ self, index }: { self: Tensor; index: Tensor }) => {
      check(index.dtype === 'int64', `take(): Expected a long tensor for index, but got ${dtypeName(index.dtype)}`);
      return { sizes: index.sizes, dtype: self.dtype };
    },
    host: ({ self, index }, [output]) => {
      const move = elementMover(output, self);
      flatOffsets(self, index).forEach((offset, at) => move(at, offset));
    },
  }),
  kernel('aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor', {
    inPlace: true,
    out: 'out',
    shape: sameAsSelf,
    host: (
      { self, index, source, accumulate }: { self: Tensor; index: Tensor; source: Tensor; accumulate: boolean },
      [output],
    ) => {
      copyInto(output, self);
      const froms = offsetsOf(source.sizes, source.strides, source.storageOffset);
      const read = operandReader(source);
      put(output, Float64Array.from(flatOffsets(output, index)), (at) => read(froms[at]), {
        how: accumulate ? 'sum' : null,
        includesSelf: true,
      });
    },
  }),
  kernel('aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor', {
    out: 'out',
    shape: ({ self, indices, dim }: { self: Tensor; indices: Tensor; dim: number | null }) => {
      if (dim === null) return { sizes: [indices.numel], dtype: self.dtype };
      check(
        self.dim === indices.dim,
        `torch.take_along_dim(): input and indices should have the same number of dimensions, but got ${self.dim} dimensions for input, and ${indices.dim} dimensions for indices`,
      );
      const wrapped = wrapDim(dim, self.dim);
      const others = broadcastAll([withSize(self, wrapped, 1), withSize(indices, wrapped, 1)]);
      return { sizes: others.map((size, at) => (at === wrapped ? indices.sizes[wrapped] : size)), dtype: self.dtype };
    },
    host: ({ self, indices, dim }, [output]) => {
      const move = elementMover(output, self);
      if (dim === null) {
        flatOffsets(self, indices).forEach((offset, at) => move(at, offset));
        return;
      }
      const wrapped = wrapDim(dim, self.dim);
      const spread = (tensor: Tensor): Tensor =>
        tensor.asStrided(
          tensor.sizes.map((size, at) => (at === wrapped ? size : output.sizes[at])),
          tensor.strides.map((stride, at) => (at !== wrapped && tensor.sizes[at] !== output.sizes[at] ? 0 : stride)),
        );
      offsetsThrough(spread(self), wrapped, spread(indices)).forEach((offset, at) => move(at, offset));
    },
  }),
  kernel('aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor', {
    host: bincount,
    out: 'out',
  }),
  kernel<OneHot>('aten::one_hot(Tensor self, int num_classes=-1) -> Tensor', {
    shape: ({ self, num_classes: count }) => (count > 0 ? { sizes: [...self.sizes, count], dtype: 'int64' } : null),
    host: oneHot,
    lowerable: ({ self, num_classes: count }) => count > 0 && self.dtype === 'int64',
    lower: ({ self }, [output], context) => {
      const classes = new TensorView(self);
      const isHot = (axes: readonly AxisExpr[]): Expr =>
        binary('eq', cast('i32', classes.at(axes.slice(0, -1))), axes[axes.length - 1]);
      lowerGenerated(output, isHot, context, 'aten::one_hot');
    },
  }),
];
