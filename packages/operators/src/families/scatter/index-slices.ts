import {
  symEq,
  symMul,
  symNe,
  symSame,
  textOf,
  Complex,
  isComplex,
  Tensor,
  scratch,
  type SymInt,
} from '@cresset/tensor';
import { binary, TensorView, type AxisExpr, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { copyPieces } from '../../kernels/copy.ts';
import { warnOfExpanded, wrapDim, wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { numberReader, scalarWriter } from '../../kernels/elements.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { checkValueFits } from '../../kernels/numbers/scalar-range.ts';
import type { LoweringContext, OperatorRow, Scalar } from '../../table/row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { argumentParam, scalarParam } from '../../kernels/loops/pointwise.ts';
import { elementCombiner, operandReader, type Combination, offsetsInPieces } from '../indexing/element-moves.ts';
import { isGatherable, lowerGatheredWrites, sliceWrites } from '../indexing/gathered-writes.ts';
import { launchPositionCheck, outOfBounds as complaintOf, outOfBoundsAt } from '../indexing/position-faults.ts';
import { asLine, isScatterable, lowerScatteredWrites } from '../indexing/scattered-writes.ts';
import { elementsAlong, slicePlaces } from './writes.ts';
import { moveSlices, sliceOffsets, vectorPositions, type Indexed } from '../indexing/index-select.ts';
import { put, reduction, sameAsSelf, text, type Reduced } from './gather-scatter.ts';
import { type Pieces, filled, PIECE_SIZE, repeat, inRuns } from '../../kernels/loops/pieces.ts';

/** Operators that put whole slices at positions given by a vector (TensorAdvancedIndexing.cpp). */

interface IndexSource extends Indexed {
  readonly source: Tensor;
}

const outOfBounds = (dim: number) => (position: number | bigint, size: number) => outOfBoundsAt(position, dim, size);

/** What kernels that go through a vector of positions say of one. */
const outOfRange = 'index out of range in self';

function* combineSlices(
  output: Tensor,
  { dim, index, source }: IndexSource,
  how: Combination,
  scale: (value: Scalar) => Scalar,
): Pieces {
  const wrapped = wrapDim(dim, output.dim);
  // Positions of 64 bits in several dimensions are a scatter's.
  const [complaint, kind] = isScattered(output, index)
    ? ([outOfBounds(wrapped), 'RuntimeError'] as const)
    : ([() => outOfRange, 'IndexError'] as const);
  const positions = yield* vectorPositions(index, output.sizes[wrapped] ?? 1, complaint, kind);
  const combine = elementCombiner(output, how);
  const read = operandReader(source);
  const froms = yield* sliceOffsets(source, wrapped, 0);
  const places = yield* sliceOffsets(output, wrapped, 0);
  const [fromStride, stride] = [source, output].map(({ strides }) => strides[wrapped] ?? 0);
  yield* inRuns(positions.length, places.length, 32, (slice, start, end) => {
    const [to, from] = [positions[slice] * stride, slice * fromStride];
    for (let at = start; at < end; at++) combine(places[at] + to, scale(read(froms[at] + from)));
  });
}

const isScattered = (self: Tensor, index: Tensor): boolean => self.dim > 1 && index.dtype === 'int64';

const sizesBeside = ({ symSizes: sizes }: Tensor, dim: number): readonly SymInt[] =>
  sizes.filter((_, at) => at !== dim);

/** Throws what index_add and index_reduce say of an index, a source or both that do not fit (index_func_meta_impl). */
function checkIndexSource(name: string, { self, dim, index, source }: IndexSource): void {
  const wrapped = wrapDim(dim, self.dim);
  check(
    index.dtype === 'int64' || index.dtype === 'int32',
    () => `${name}(): Expected dtype int32/int64 for index but got: ${dtypeName(index.dtype)}`,
  );
  check(
    self.dtype === source.dtype,
    () =>
      `${name}(): self (${dtypeName(self.dtype)}) and source (${dtypeName(source.dtype)}) must have the same scalar type`,
  );
  check(
    index.dim <= 1,
    () =>
      `${name}(): Index is supposed to be a vector, but got dim: ${index.dim} with type: ${dtypeName(index.dtype)} and size: ${text(index.sizes)}`,
    'IndexError',
  );
  const count = index.symNumel;
  if (source.dim === 0 && symNe(count, 1)) wrapDimOfRanked(wrapped, 0);
  check(
    source.dim === 0 || wrapped >= source.dim || symEq(count, source.symSizes[wrapped]),
    () =>
      `${name}(): Number of indices (${index.numel}) should be equal to source.size(dim): (${source.sizes[wrapped]}), for dim: ${wrapped}`,
  );
  check(
    self.dim === source.dim && symSame(sizesBeside(self, wrapped), sizesBeside(source, wrapped)),
    () =>
      `source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ${text(self.sizes)} source.shape = ${text(source.sizes)}`,
  );
}

/** As `checkIndexSource`, for index_copy, which has words of its own. */
function checkCopied({ self, dim, index, source }: IndexSource): void {
  const wrapped = wrapDim(dim, self.dim);
  check(index.dim <= 1, () => `index_copy_(): Index should have dimension 1 or 0 (got ${index.dim})`, 'IndexError');
  check(
    source.dim > 0 || symEq(index.symNumel, 1),
    () => `index_copy_(): When source is scalar, index should have one element (got ${index.numel})`,
    'IndexError',
  );
  check(
    source.dim === self.dim || source.dim === 0 || self.dim === 0,
    () =>
      `index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality (${source.dim}), destination dimensionality (${self.dim})`,
    'IndexError',
  );
  check(
    index.dtype === 'int64',
    () => `index_copy_(): Expected a long tensor for index, but got ${dtypeName(index.dtype)}`,
  );
  check(
    self.dtype === source.dtype,
    () =>
      `index_copy_(): self and source expected to have the same dtype, but got (self) ${dtypeName(self.dtype)} and (source) ${dtypeName(source.dtype)}`,
  );
  const [own, other] = [sizesBeside(self, wrapped), sizesBeside(source, wrapped)];
  check(
    symSame(own, other),
    () =>
      `index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: ${own.map(textOf).join(' ')} at dimension ${wrapped} and source slice shape: ${other.map(textOf).join(' ')} at dimension 0.`,
  );
  check(
    source.dim === 0 || symEq(index.symNumel, source.symSizes[wrapped]),
    () =>
      `index_copy_(): Number of indices (${index.numel}) should be equal to source.size(dim) (${source.sizes[wrapped]})`,
    'IndexError',
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

interface IndexFill extends Indexed {
  readonly value: Scalar | Tensor;
}

function* fillSlices({ self, dim, index, value }: IndexFill, [output]: readonly Tensor[]): Pieces {
  yield* copyPieces(output, self);
  const wrapped = wrapDim(dim, self.dim);
  const filling = value instanceof Tensor ? operandReader(value)(value.storageOffset) : value;
  const write = scalarWriter(output);
  const size = self.sizes[wrapped] ?? 1;
  const read = numberReader(index);
  const stride = output.strides[wrapped] ?? 0;
  const slice = yield* sliceOffsets(output, wrapped, 0);
  let done = 0;
  for (const offset of yield* offsetsInPieces(index.sizes, index.strides, index.storageOffset)) {
    const position = read(offset);
    check(position >= -size && position < size, () => outOfBounds(wrapped)(position, size), 'IndexError');
    const first = (position < 0 ? position + size : position) * stride;
    yield* repeat(slice.length, 8, (at) => write(slice[at] + first, filling));
    done += 8 * slice.length + 64;
    if (done < PIECE_SIZE) continue;
    done = 0;
    yield;
  }
}

/** Writes slices on a device: by looking for them where that is little work, else each to its place. */
function lowerSlices(
  self: Tensor,
  dim: number,
  positions: Tensor,
  value: (k: Expr, axes: readonly AxisExpr[]) => Expr,
  output: Tensor,
  context: LoweringContext,
  label: string,
  how: Combination | 'mean' | null = null,
  includesSelf = true,
): void {
  if (symEq(output.symNumel, 0)) return;
  const count = positions.symNumel;
  // A single slice meets no other: where the rest stays as it is, only that is written.
  const isAlone = self === output && symEq(count, 1) && isScatterable(self.dtype, how);
  if (!isAlone && isGatherable(self, count, how)) {
    const writes = sliceWrites(self, dim, positions, value, how, includesSelf);
    lowerGatheredWrites(self, output, writes, context, label);
    return;
  }
  const places = slicePlaces(self, dim, positions, true);
  const writes = { ...places, value: value(places.axes[dim], places.axes), how, includesSelf };
  lowerScatteredWrites(self, output, writes, context, label);
}

export const indexSliceRows: readonly OperatorRow[] = [
  kernel('aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor', {
    inPlace: true,
    writesInPlace: true,
    mayShare: () => ({ index: 'nothing', source: 'nothing' }),
    out: 'out',
    shape: (args: IndexSource & { readonly alpha: Scalar }) => {
      checkIndexSource('index_add_', args);
      return sameAsSelf(args);
    },
    *host(args, [output]) {
      yield* copyPieces(output, args.self);
      yield* combineSlices(output, args, 'sum', timesScalar(args.alpha));
    },
    lower: ({ dim, index, alpha, ...args }, outputs, context) => {
      const [self, source, output] = [args.self, args.source, outputs[0]].map(asLine);
      const wrapped = wrapDim(dim, self.dim);
      const size = self.symSizes[wrapped];
      if (isScattered(args.self, index)) {
        launchPositionCheck(index, 0, size, complaintOf(wrapped, size), context, 'RuntimeError');
      } else launchPositionCheck(index, 0, size, outOfRange, context);
      const element = elementsAlong(source, wrapped);
      const factor = argumentParam(context, 4, alpha, self.dtype);
      const scaled = (k: Expr, axes: readonly AxisExpr[]): Expr => binary('mul', element(k, axes), factor);
      lowerSlices(
        self,
        wrapped,
        index,
        alpha === 1n && !factor.open ? element : scaled,
        output,
        context,
        'aten::index_add',
        'sum',
      );
    },
  }),
  kernel('aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor', {
    inPlace: true,
    writesInPlace: true,
    mayShare: () => ({ index: 'nothing', source: 'nothing' }),
    out: 'out',
    shape: (args: IndexSource) => {
      checkCopied(args);
      return sameAsSelf(args);
    },
    *host({ self, dim, index, source }, [output]) {
      yield* copyPieces(output, self);
      const wrapped = wrapDim(dim, self.dim);
      const complaint = outOfBounds(wrapped);
      const positions = yield* vectorPositions(
        index,
        self.sizes[wrapped] ?? 1,
        (position, size) => `index_copy_(): ${complaint(position, size)}`,
      );
      yield* moveSlices(output, source, wrapped, (slice) => [positions[slice], slice], positions.length);
    },
    lower: ({ dim, index, ...args }, outputs, context) => {
      const [self, source, output] = [args.self, args.source, outputs[0]].map(asLine);
      const wrapped = wrapDim(dim, self.dim);
      const { text, size } = complaintOf(wrapped, self.symSizes[wrapped]);
      launchPositionCheck(index, 0, size, { text: `index_copy_(): ${text}`, size }, context);
      lowerSlices(self, wrapped, index, elementsAlong(source, wrapped), output, context, 'aten::index_copy');
    },
  }),
  ...(['Scalar', 'Tensor'] as const).map((type) =>
    kernel(`aten::index_fill.int_${type}(Tensor self, int dim, Tensor index, ${type} value) -> Tensor`, {
      inPlace: true,
      writesInPlace: true,
      mayShare: () => ({ index: 'nothing', value: 'anything' }),
      onExpanded: (args, _, context) => {
        warnOfExpanded('index_fill_', 'tensor[mask] = scalar', context);
        return fillSlices(args, [args.self]);
      },
      out: `int_${type}_out`,
      shape: (args: IndexFill) => {
        const { self, dim, index, value } = args;
        check(
          !(value instanceof Tensor) || value.dim === 0,
          () =>
            `index_fill_ only supports a 0-dimensional value tensor, but got tensor with ${(value as Tensor).dim} dimension(s).`,
        );
        check(index.dtype === 'int64', 'index_fill_(): Expected dtype int64 for index.', 'IndexError');
        wrapDim(dim, self.dim);
        check(index.dim <= 1, 'Index has to be a vector/scalar');
        const dtype = value instanceof Tensor ? value.dtype : value instanceof Complex ? 'complex128' : 'bool';
        check(
          isComplex(self.dtype) || !isComplex(dtype),
          'index_fill_(): Converting complex Scalar to non-complex type is not supported',
        );
        checkValueFits(value, self.dtype);
        return sameAsSelf(args);
      },
      host: fillSlices,
      lower: ({ dim, index, value, ...args }, outputs, context) => {
        const [self, output] = [args.self, outputs[0]].map(asLine);
        const filling = value instanceof Tensor ? new TensorView(value).at([]) : scalarParam(value, self.dtype);
        const wrapped = wrapDim(dim, self.dim);
        const size = self.symSizes[wrapped];
        launchPositionCheck(index, symMul(size, -1), size, complaintOf(wrapped, size), context);
        lowerSlices(self, wrapped, index, () => filling, output, context, 'aten::index_fill');
      },
    }),
  ),
  kernel(
    'aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor',
    {
      inPlace: true,
      writesInPlace: true,
      mayShare: () => ({ index: 'nothing', source: 'nothing' }),
      out: 'out',
      shape: (args: IndexSource & Reduced & { readonly include_self: boolean }) => {
        const { self, reduce } = args;
        const isKnown = ['prod', 'mean', 'amax', 'amin'].includes(reduce);
        check(isKnown, `index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ${reduce}.`);
        checkIndexSource('index_reduce_', args);
        const isVector = self.dim <= 1;
        if (isVector && (self.dtype === 'bool' || isComplex(self.dtype))) {
          throw notImplementedFor('index_func_', dtypeName(self.dtype));
        }
        return sameAsSelf(args);
      },
      *host(args, [output]) {
        const { self, dim, index, source, reduce, include_self: includesSelf } = args;
        yield* copyPieces(output, self);
        const wrapped = wrapDim(dim, self.dim);
        const size = self.sizes[wrapped] ?? 1;
        // Elements that do not count are filled over first, and filling knows positions from the end.
        const isTold = (position: number): boolean => !includesSelf && (position < -size || position >= size);
        const positions = yield* vectorPositions(index, size, (position) =>
          isTold(Number(position)) ? outOfBounds(wrapped)(position, size) : outOfRange,
        );
        const read = operandReader(source);
        const how = reduction({ reduce });
        const froms = yield* sliceOffsets(source, wrapped, 0);
        const slice = yield* sliceOffsets(output, wrapped, 0);
        const [fromStride, stride] = [source, output].map(({ strides }) => strides[wrapped] ?? 0);
        const width = slice.length;
        const places = yield* filled(
          scratch(Float64Array, positions.length * width),
          8,
          (at) => slice[at % width] + positions[Math.floor(at / width)] * stride,
        );
        const readAt = (at: number): Scalar => read(froms[at % width] + Math.floor(at / width) * fromStride);
        yield* put(output, places, readAt, { how, includesSelf });
      },
      lowerable: ({ self, index, reduce }) => {
        const how = reduction({ reduce });
        return isGatherable(self, index.symNumel, how) || isScatterable(self.dtype, how);
      },
      lower: ({ dim, index, reduce, include_self: includesSelf, ...args }, outputs, context) => {
        const [self, source, output] = [args.self, args.source, outputs[0]].map(asLine);
        const wrapped = wrapDim(dim, self.dim);
        const size = self.symSizes[wrapped];
        if (!includesSelf) launchPositionCheck(index, symMul(size, -1), size, complaintOf(wrapped, size), context);
        launchPositionCheck(index, 0, size, outOfRange, context);
        const element = elementsAlong(source, wrapped);
        const how = reduction({ reduce });
        lowerSlices(self, wrapped, index, element, output, context, 'aten::index_reduce', how, includesSelf);
      },
    },
  ),
];
