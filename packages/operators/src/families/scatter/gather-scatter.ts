import { repeat, type Pieces, TURN_SIZE } from '../../kernels/loops/pieces.ts';
import { isIntegral, settle, symEq, symGt, symLe, Tensor, type ScalarType } from '@cresset/tensor';
import { binary, cast, TensorView, type AxisExpr, type Expr, type Store } from '@cresset/tensorexpr';
import { kernel, type KernelRule } from '../../table/builders.ts';
import { copyPieces } from '../../kernels/copy.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { numberReader, numberWriter, scalarToBigint, scalarToNumber, scalarWriter } from '../../kernels/elements.ts';
import { check, OperatorError } from '../../kernels/errors.ts';
import { checkScalarFits } from '../../kernels/numbers/scalar-range.ts';
import { lowerGenerated } from '../../kernels/fill.ts';
import type { LoweringContext, OperatorRow, Scalar, TensorMeta } from '../../table/row.ts';
import { scalarParam } from '../../kernels/loops/pointwise.ts';
import { launchCopy } from '../indexing/launched-copy.ts';
import {
  elementCombiner,
  elementMover,
  operandReader,
  type Combination,
  offsetsInPieces,
} from '../indexing/element-moves.ts';
import { isGatherable, lowerGatheredWrites } from '../indexing/gathered-writes.ts';
import { launchPositionCheck, outOfBounds, positionFault } from '../indexing/position-faults.ts';
import type { Indexed } from '../indexing/index-select.ts';
import { asLine, isScatterable, lowerScatteredWrites } from '../indexing/scattered-writes.ts';
import { elementPlaces, elementsAlong, elementWrites } from './writes.ts';
import { numbersInPieces } from '../../kernels/numbers/numbers.ts';

/** Operators that take or put elements at positions given by one index tensor (TensorAdvancedIndexing.cpp, TensorCompare.cpp). */

export const text = (sizes: readonly number[]): string => `[${sizes.join(', ')}]`;

function checkIndexType(name: string, index: Tensor): void {
  // An index without elements may have any dtype.
  if (symEq(index.symNumel, 0)) return;
  check(index.dtype === 'int64' || index.dtype === 'int32', `${name}(): Expected dtype int32/int64 for index`);
}

/** Index and tensor have one number of dimensions, and the index is nowhere larger but along `dim` (gather_shape_check). */
function checkIndexShape({ self, dim, index }: Indexed): number {
  const wrapped = wrapDim(dim, self.dim);
  check(
    Math.max(index.dim, 1) === Math.max(self.dim, 1),
    'Index tensor must have the same number of dimensions as input tensor',
  );
  index.symSizes.forEach((size, at) => {
    check(
      at === wrapped || symLe(size, self.symSizes[at] ?? 1),
      () =>
        `Size does not match at dimension ${at} expected index ${text(index.sizes)} to be no larger than self ${text(self.sizes)} apart from dimension ${wrapped}`,
    );
  });
  return wrapped;
}

/**
 * For each element of `index`, in C order, the offset of the element of `tensor` at the same place but with the position the
 * index holds along `dim`.
 */
export function* offsetsThrough(tensor: Tensor, dim: number, index: Tensor, lowest = 0): Pieces<Float64Array> {
  const rank = index.dim;
  const size = tensor.sizes[dim] ?? 1;
  const along = tensor.strides[dim] ?? 0;
  const others = tensor.strides.slice(0, rank).map((stride, at) => (at === dim ? 0 : stride));
  const offsets = yield* offsetsInPieces(index.sizes, others, tensor.storageOffset);
  const positions = yield* offsetsInPieces(index.sizes, index.strides, index.storageOffset);
  const read = numberReader(index);
  yield* repeat(positions.length, 8, (at) => {
    const position = read(positions[at]);
    if (position < lowest || position >= size) {
      throw new OperatorError(
        `index ${index.storageArray()[positions[at]]} is out of bounds for dimension ${dim} with size ${size}`,
      );
    }
    offsets[at] += (position < 0 ? position + size : position) * along;
  });
  return offsets;
}

const gatherRule: KernelRule<Indexed> = {
  shape: ({ self, dim, index }) => {
    checkIndexType('gather', index);
    if (!symEq(index.symNumel, 0)) checkIndexShape({ self, dim, index });
    return { sizes: index.symSizes, dtype: self.dtype };
  },
  *host({ self, dim, index }, [output]) {
    if (index.numel === 0) return;
    const move = elementMover(output, self);
    const offsets = yield* offsetsThrough(self, checkIndexShape({ self, dim, index }), index);
    yield* repeat(offsets.length, 4, (at) => move(at, offsets[at]));
  },
  lower: ({ self, dim, index }, [output], context) => {
    if (symEq(index.symNumel, 0)) return;
    const wrapped = wrapDim(dim, self.dim);
    const source = new TensorView(self);
    const target = new TensorView(output);
    const axes = target.axes();
    const given = new TensorView(index).at(axes);
    const size = settle(self.symSizes[wrapped] ?? 1);
    const position = axes.map((axis, at) => (at === wrapped ? cast('i32', given) : axis));
    const faults = positionFault(given, 0, size, outOfBounds(wrapped, size), context, 'RuntimeError');
    launchCopy('aten::gather', axes, target, source.at(position.slice(0, self.dim)), context, faults);
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
    writesInPlace: true,
    mayShare: () => ({ index: 'nothing', src: 'nothing' }),
    shape: (args): TensorMeta => {
      const { self, index } = args;
      checkIndexType('scatter', index);
      const values = source(args);
      if (values instanceof Tensor) checkScatterSource(args, values);
      else if (symGt(index.symNumel, 0)) checkScalarFits(values, self.dtype);
      combination(args);
      return { sizes: self.symSizes, dtype: self.dtype };
    },
    *host(args, [output]) {
      const { self, dim, index } = args;
      yield* copyPieces(output, self);
      if (index.numel === 0) return;
      const wrapped = wrapDim(dim, self.dim);
      const places = yield* offsetsThrough(output, wrapped, index);
      yield* put(output, places, yield* sourceReader(source(args), index.sizes, output.dtype), {
        how: combination(args),
        includesSelf: includesSelf(args),
      });
    },
    lowerable: (args) => {
      const { self, dim, index } = args;
      const how = combination(args);
      return isGatherable(self, index.symSizes[wrapDim(dim, self.dim)] ?? 1, how) || isScatterable(self.dtype, how);
    },
    lower: (args, [given], context) => {
      const { dim } = args;
      const [self, index, output] = [args.self, args.index, given].map(asLine);
      const wrapped = wrapDim(dim, self.dim);
      const size = self.symSizes[wrapped];
      launchPositionCheck(index, 0, size, outOfBounds(wrapped, size), context, 'RuntimeError');
      const from = source(args);
      const values = from instanceof Tensor ? asLine(from) : from;
      const how = combination(args);
      const includes = includesSelf(args);
      if (symEq(output.symNumel, 0)) return;
      if (!isGatherable(self, index.symSizes[wrapped], how)) {
        const places = elementPlaces(self, wrapped, index);
        const value =
          values instanceof Tensor ? new TensorView(values).at(places.axes) : scalarParam(values, self.dtype);
        const writes = { ...places, value, how, includesSelf: includes };
        lowerScatteredWrites(self, output, writes, context, 'aten::scatter');
        return;
      }
      const value = values instanceof Tensor ? elementsAlong(values, wrapped) : () => scalarParam(values, self.dtype);
      const writes = elementWrites(self, wrapped, index, value, how, includes);
      lowerGatheredWrites(self, output, writes, context, 'aten::scatter');
    },
  };
}

function checkScatterSource({ self, dim, index }: Indexed, source: Tensor): void {
  check(self.dtype === source.dtype, 'scatter(): Expected self.dtype to be equal to src.dtype');
  if (symEq(index.symNumel, 0)) return;
  const wrapped = wrapDim(dim, self.dim);
  check(
    Math.max(index.dim, 1) === Math.max(self.dim, 1),
    'Index tensor must have the same number of dimensions as self tensor',
  );
  check(
    Math.max(index.dim, 1) === Math.max(source.dim, 1),
    'Index tensor must have the same number of dimensions as src tensor',
  );
  const [own, given] = [self.symSizes, source.symSizes];
  check(
    index.symSizes.every((size, at) => (at === wrapped || symLe(size, own[at])) && symLe(size, given[at])),
    () =>
      `Expected index ${text(index.sizes)} to be no larger than self ${text(self.sizes)} apart from dimension ${wrapped} and to be no larger size than src ${text(source.sizes)}`,
  );
}

/** Elements of the source at the places of the index, in C order. */
function* sourceReader(
  source: Tensor | Scalar,
  sizes: readonly number[],
  dtype: ScalarType,
): Pieces<(at: number) => Scalar> {
  if (!(source instanceof Tensor)) {
    // A number is one of the tensor's dtype before it is combined with elements.
    const isTruth = dtype === 'bool';
    const value = isTruth
      ? BigInt(scalarToNumber(source) !== 0)
      : isIntegral(dtype, false)
        ? scalarToBigint(source)
        : source;
    return () => value;
  }
  const offsets = yield* offsetsInPieces(sizes, source.strides.slice(0, sizes.length), source.storageOffset);
  const read = operandReader(source);
  return (at) => read(offsets[at]);
}

interface PutOptions {
  readonly how: Combination | 'mean' | null;
  readonly includesSelf: boolean;
}

export function* put(
  output: Tensor,
  places: Float64Array,
  read: (at: number) => Scalar,
  { how, includesSelf }: PutOptions,
): Pieces {
  const write = scalarWriter(output);
  if (how === null) {
    return yield* repeat(places.length, 8, (at) => write(places[at], read(at)));
  }
  const counts = new Map<number, number>();
  const combine = elementCombiner(output, how === 'mean' ? 'sum' : how);
  yield* repeat(places.length, 32, (at) => {
    const place = places[at];
    const count = counts.get(place) ?? (includesSelf ? 1 : 0);
    if (count === 0) write(place, read(at));
    else combine(place, read(at));
    counts.set(place, count + 1);
  });
  if (how === 'mean') yield* divideByCounts(output, counts);
}

function* divideByCounts(output: Tensor, counts: ReadonlyMap<number, number>): Pieces {
  const read = numberReader(output);
  const write = numberWriter(output);
  const isWhole = !output.dtype.includes('float');
  let done = 0;
  for (const [place, count] of counts) {
    const mean = read(place) / count;
    write(place, isWhole ? Math.floor(mean) : mean);
    if (++done % TURN_SIZE === 0) yield;
  }
}

function legacyReduction({ reduce }: { readonly reduce: string }): Combination {
  check(reduce === 'add' || reduce === 'multiply', 'reduce argument must be either add or multiply.');
  return reduce === 'add' ? 'sum' : 'prod';
}

export function reduction({ reduce }: { readonly reduce: string }): Combination | 'mean' {
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

export interface Reduced {
  readonly reduce: string;
}

export const sameAsSelf = ({ self }: { readonly self: Tensor }): TensorMeta => ({
  sizes: self.symSizes,
  dtype: self.dtype,
});

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

/** Notes a position in C order that `self` does not have. */
export const flatFault = ({ numel }: Tensor, given: Expr, context: LoweringContext): readonly Store[] =>
  positionFault(
    given,
    -numel,
    numel,
    `out of range: tried to access index % on a tensor of ${numel} elements.`,
    context,
  );

interface OneHot {
  readonly self: Tensor;
  /** -1 for one more than the largest class there is. */
  readonly num_classes: number;
}

function* oneHot({ self, num_classes: given }: OneHot): Pieces<Tensor> {
  const classes = yield* numbersInPieces(self);
  let [least, most] = [0, 0];
  yield* repeat(classes.length, 2, (at) => {
    least = Math.min(least, classes[at]);
    most = Math.max(most, classes[at]);
  });
  check(least >= 0, 'Class values must be non-negative.');
  check(classes.length > 0 || given > 0, 'Can not infer total number of classes from empty tensor.');
  const count = given === -1 ? most + 1 : given;
  check(classes.length === 0 || most < count, 'Class values must be smaller than num_classes.');
  const result = Tensor.empty([...self.sizes, count], 'int64');
  const flags = result.storageArrayForWriting();
  yield* repeat(classes.length, 4, (at) => void (flags[at * count + classes[at]] = 1n));
  return result;
}

export const gatherScatterRows: readonly OperatorRow[] = [
  kernel('aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor', {
    ...gatherRule,
    out: 'out',
    mayShare: () => ({ self: 'nothing' }),
  }),
  ...scatterRows,
  kernel<OneHot>('aten::one_hot(Tensor self, int num_classes=-1) -> Tensor', {
    shape: ({ self, num_classes: count }) => {
      check(self.dtype === 'int64', 'one_hot is only applicable to index tensor of type LongTensor.');
      return count > 0 ? { sizes: [...self.symSizes, count], dtype: 'int64' } : null;
    },
    host: oneHot,
    lowerable: ({ num_classes: count }) => count > 0,
    lower: ({ self }, [output], context) => {
      const classes = new TensorView(self);
      const isHot = (axes: readonly AxisExpr[]): Expr =>
        binary('eq', cast('i32', classes.at(axes.slice(0, -1))), axes[axes.length - 1]);
      lowerGenerated(output, isHot, context, 'aten::one_hot');
    },
  }),
];
