import { Complex, Tensor } from '@cresset/tensor';
import { binary, cast, TensorView, type AxisExpr, type Expr } from '@cresset/tensorexpr';
import { kernel, type KernelRule } from '../../table/builders.ts';
import { copyInto, lowerCopy } from '../../kernels/copy.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { numberReader, scalarWriter } from '../../kernels/elements.ts';
import { check, OperatorError } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow, Scalar } from '../../table/row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { scalarParam } from '../../kernels/pointwise.ts';
import { launchCopy } from './advanced-indexing.ts';
import { elementCombiner, elementMover, offsetsOf, operandReader, type Combination } from './element-moves.ts';
import { elementsAlong, isGatherable, lowerGatheredWrites, sliceWrites } from './gathered-writes.ts';
import { launchPositionCheck, outOfBounds as complaintOf, positionFault } from './position-faults.ts';
import { asLine, isScatterable, lowerScatteredWrites, slicePlaces } from './scattered-writes.ts';
import { sameSizes } from '../views/view-functions.ts';
import { put, reduction, sameAsSelf, text, withSize, type Indexed, type Reduced } from './gather-scatter.ts';

/** Operators that take or put whole slices at positions given by a vector (TensorAdvancedIndexing.cpp). */

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
  if (self.dim === 0) {
    lowerCopy(output, self, context, 'aten::index_select');
    return;
  }
  const source = new TensorView(self);
  const target = new TensorView(output);
  const axes = target.axes();
  const vector = index.dim === 0 ? index.asStrided([1], [0]) : index;
  const given = new TensorView(vector).at([axes[dim]]);
  const position = axes.map((axis, at) => (at === dim ? cast('i32', given) : axis));
  const size = self.sizes[dim];
  const complaint = `INDICES element is out of DATA bounds, id=% axis_dim=${size}`;
  const fault = positionFault(given, 0, size, complaint, context);
  launchCopy('aten::index_select', axes, target, source.at(position), context, [fault]);
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
  complaintOf(dim, size).replace('%', String(position));

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
  if (output.numel === 0) return;
  // A single slice meets no other: where the rest stays as it is, only that is written.
  const isAlone = self === output && positions.numel === 1 && isScatterable(self.dtype, how);
  if (!isAlone && isGatherable(self, positions.numel, how)) {
    const writes = sliceWrites(self, dim, positions, value, how, includesSelf);
    lowerGatheredWrites(self, output, writes, context, label);
    return;
  }
  const places = slicePlaces(self, dim, positions, true);
  const writes = { ...places, value: value(places.axes[dim], places.axes), how, includesSelf };
  lowerScatteredWrites(self, output, writes, context, label);
}

export const indexSliceRows: readonly OperatorRow[] = [
  kernel('aten::index_select(Tensor self, int dim, Tensor index) -> Tensor', {
    ...indexSelectRule,
    out: 'out',
    refusesOverlap: true,
  }),
  kernel('aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor', {
    inPlace: true,
    writesInPlace: true,
    out: 'out',
    shape: (args: IndexSource & { readonly alpha: Scalar }) => {
      checkIndexSource('index_add_', args, ':');
      const { self, dim, source } = args;
      check(
        self.dtype === source.dtype,
        () =>
          `index_add_(): self (${dtypeName(self.dtype)}) and source (${dtypeName(source.dtype)}) must have the same scalar type`,
      );
      const others = ({ sizes }: Tensor): readonly number[] => sizes.toSpliced(wrapDim(dim, self.dim), 1);
      check(
        sameSizes(others(self), others(source)),
        () =>
          `source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ${text(self.sizes)} source.shape = ${text(source.sizes)}`,
      );
      return sameAsSelf(args);
    },
    host: (args, [output]) => {
      copyInto(output, args.self);
      combineSlices(output, args, 'sum', timesScalar(args.alpha));
    },
    lower: ({ dim, index, alpha, ...args }, outputs, context) => {
      const [self, source, output] = [args.self, args.source, outputs[0]].map(asLine);
      const wrapped = wrapDim(dim, self.dim);
      launchPositionCheck(index, 0, self.sizes[wrapped], complaintOf(wrapped, self.sizes[wrapped]), context);
      const element = elementsAlong(source, wrapped);
      const factor = scalarParam(alpha, self.dtype);
      const scaled = (k: Expr, axes: readonly AxisExpr[]): Expr => binary('mul', element(k, axes), factor);
      lowerSlices(self, wrapped, index, alpha === 1n ? element : scaled, output, context, 'aten::index_add', 'sum');
    },
  }),
  kernel('aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor', {
    inPlace: true,
    writesInPlace: true,
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
    lower: ({ dim, index, ...args }, outputs, context) => {
      const [self, source, output] = [args.self, args.source, outputs[0]].map(asLine);
      const wrapped = wrapDim(dim, self.dim);
      const complaint = `index_copy_(): ${complaintOf(wrapped, self.sizes[wrapped])}`;
      launchPositionCheck(index, 0, self.sizes[wrapped], complaint, context);
      lowerSlices(self, wrapped, index, elementsAlong(source, wrapped), output, context, 'aten::index_copy');
    },
  }),
  ...(['Scalar', 'Tensor'] as const).map((type) =>
    kernel(`aten::index_fill.int_${type}(Tensor self, int dim, Tensor index, ${type} value) -> Tensor`, {
      inPlace: true,
      writesInPlace: true,
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
      lower: ({ dim, index, value, ...args }, outputs, context) => {
        const [self, output] = [args.self, outputs[0]].map(asLine);
        const filling = value instanceof Tensor ? new TensorView(value).at([]) : scalarParam(value, self.dtype);
        const wrapped = wrapDim(dim, self.dim);
        const size = self.sizes[wrapped];
        launchPositionCheck(index, -size, size, complaintOf(wrapped, size), context);
        lowerSlices(self, wrapped, index, () => filling, output, context, 'aten::index_fill');
      },
    }),
  ),
  kernel(
    'aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor',
    {
      inPlace: true,
      writesInPlace: true,
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
      lowerable: ({ self, index, reduce }) => {
        const how = reduction({ reduce });
        return isGatherable(self, index.numel, how) || isScatterable(self.dtype, how);
      },
      lower: ({ dim, index, reduce, include_self: includesSelf, ...args }, outputs, context) => {
        const [self, source, output] = [args.self, args.source, outputs[0]].map(asLine);
        const wrapped = wrapDim(dim, self.dim);
        launchPositionCheck(index, 0, self.sizes[wrapped], complaintOf(wrapped, self.sizes[wrapped]), context);
        const element = elementsAlong(source, wrapped);
        const how = reduction({ reduce });
        lowerSlices(self, wrapped, index, element, output, context, 'aten::index_reduce', how, includesSelf);
      },
    },
  ),
];
