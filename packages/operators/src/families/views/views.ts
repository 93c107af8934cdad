import {
  symSame,
  complexType,
  contiguousStrides,
  elementSize,
  isComplex,
  Tensor,
  type ScalarType,
  type SymInt,
} from '@cresset/tensor';
import { TensorView, unary } from '@cresset/tensorexpr';
import { broadcastAll, expand } from '../../kernels/broadcast.ts';
import { kernel, takingSizes, view } from '../../table/builders.ts';
import { copyPieces, lowerCopy, partOf, viewAsReal } from '../../kernels/copy.ts';
import { inferSize } from '../../kernels/dimensions.ts';
import { readScalar, scalarToBigint } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import { repeat } from '../../kernels/loops/pieces.ts';
import { lowerGenerated } from '../../kernels/fill.ts';
import type { OperatorRow } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import * as views from './view-functions.ts';

/** Views of a tensor, and the same ones that change it in place (ATen/native/TensorShape.cpp). */

export interface Self {
  readonly self: Tensor;
}

/** Changes how `self` itself looks at its storage: `squeeze_` and the like. */
function inPlaceView<Args extends Self>(schema: string, fn: (args: Args) => Tensor): OperatorRow {
  return {
    schema,
    readsNoData: true,
    host: (args: Args) => {
      const { sizes, strides, storageOffset } = fn(args);
      return Object.assign(args.self, { sizes, strides, storageOffset });
    },
  } as OperatorRow;
}

/** A view where strides allow it, a copy where not. */
function reshaping<Args extends Self>(schema: string, sizesOf: (args: Args) => readonly SymInt[]): OperatorRow {
  const target = (output: Tensor, { self }: Args): Tensor =>
    output.asStrided(self.symSizes, contiguousStrides(self.symSizes));
  return kernel<Args>(schema, {
    view: (args) => views.tryView(args.self, sizesOf(args)),
    shape: (args) => ({ sizes: inferSize(sizesOf(args), args.self.symNumel), dtype: args.self.dtype }),
    takesSizes: true,
    host: (args, [output]) => copyPieces(target(output, args), args.self),
    lower: (args, [output], context) => lowerCopy(target(output, args), args.self, context, 'aten::reshape'),
    moves: true,
  });
}

interface Flatten extends Self {
  readonly start_dim: number;
  readonly end_dim: number;
}

const flattening = reshaping<Flatten>(
  'aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)',
  ({ self, start_dim: start, end_dim: end }) => views.flattenedSizes(self, start, end),
);

/** A tensor of which only one dimension is flattened is the result itself, not another one over its storage. */
const flatten: OperatorRow = {
  ...flattening,
  view: (args: Flatten) => {
    const sizes = views.flattenedSizes(args.self, args.start_dim, args.end_dim);
    return sizes.length === args.self.dim ? args.self : views.tryView(args.self, sizes);
  },
};

/** Another tensor over the same storage. */
export const itself = ({ self }: Self): Tensor => self.asStrided(self.symSizes, self.symStrides);

function reversedDims({ self }: Self): Tensor {
  return views.permute(
    self,
    self.symSizes.map((_, dim) => self.dim - 1 - dim),
  );
}

function lastTwo(name: string, { self }: Self): Tensor {
  check(
    self.dim >= 2,
    `tensor.${name} is only supported on matrices or batches of matrices. Got ${self.dim}-D tensor.`,
  );
  return views.transpose(self, -2, -1);
}

/** A real tensor is its own conjugate; of a complex one a conjugated copy is made, since there is no conjugate view. */
function conjugating(schema: string, rearranged: (args: Self) => Tensor): OperatorRow {
  return kernel<Self>(schema, {
    view: (args) => (isComplex(args.self.dtype) ? null : rearranged(args)),
    shape: (args) => ({ sizes: rearranged(args).sizes, dtype: args.self.dtype }),
    *host(args, [output]) {
      yield* copyPieces(output, rearranged(args));
      const parts = output.storageArrayForWriting() as Float32Array;
      yield* repeat(output.numel, 2, (at) => void (parts[2 * at + 1] = -parts[2 * at + 1]));
    },
    lower: (args, [output], context) => {
      const source = rearranged(args);
      lowerCopy(partOf(output, 0), partOf(source, 0), context, 'aten::conj');
      const imaginary = new TensorView(partOf(source, 1));
      lowerGenerated(partOf(output, 1), (axes) => unary('neg', imaginary.at(axes)), context, 'aten::conj');
    },
  });
}

const checkHermitian =
  (name: string) =>
  (args: Self): Tensor =>
    name === 'matrix_H' || args.self.dim > 0 ? lastTwo(name, args) : itself(args);

function viewAsComplex({ self }: Self): Tensor {
  check(
    self.dtype === 'float16' || self.dtype === 'float32' || self.dtype === 'float64',
    () =>
      `view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: ${dtypeName(self.dtype)}`,
  );
  check(self.dim > 0, 'Input tensor must have one or more dimensions');
  check(self.sizes.at(-1) === 2, 'Tensor must have a last dimension of size 2');
  check(self.strides.at(-1) === 1, 'Tensor must have a last dimension with stride 1');
  check(
    self.strides.slice(0, -1).every((stride) => stride % 2 === 0) && self.storageOffset % 2 === 0,
    'Tensor must have a stride divisible by 2 for all but last dimension',
  );
  return new Tensor(
    self.storage,
    complexType(self.dtype),
    self.sizes.slice(0, -1),
    self.strides.slice(0, -1).map((stride) => stride / 2),
    self.storageOffset / 2,
  );
}

/** The same bytes read as another dtype. */
function reinterpreted({ self, dtype }: Self & { dtype: ScalarType }): Tensor {
  const from = elementSize(self.dtype);
  const to = elementSize(dtype);
  if (from === to) return new Tensor(self.storage, dtype, self.sizes, self.strides, self.storageOffset);
  check(
    self.dim > 0,
    `self.dim() cannot be 0 to view ${dtypeName(self.dtype)} as ${dtypeName(dtype)} (different element sizes)`,
  );
  check(
    self.strides.at(-1) === 1,
    `self.stride(-1) must be 1 to view ${dtypeName(self.dtype)} as ${dtypeName(dtype)} (different element sizes), but got ${self.strides.at(-1)}`,
  );
  const scale = from / to;
  const last = self.sizes.at(-1)! * scale;
  check(
    Number.isInteger(last),
    `self.size(-1) must be divisible by ${to / from} to view ${dtypeName(self.dtype)} as ${dtypeName(dtype)} (different element sizes), but got ${self.sizes.at(-1)}`,
  );
  const strides = self.strides.map((stride, dim) => (dim === self.dim - 1 ? 1 : stride * scale));
  return new Tensor(self.storage, dtype, self.sizes.with(self.dim - 1, last), strides, self.storageOffset * scale);
}

function imaginary({ self }: Self): Tensor {
  check(isComplex(self.dtype), 'imag is not implemented for tensors with non-complex dtypes.');
  return partOf(self, 1);
}

interface Dims extends Self {
  readonly dim0: number;
  readonly dim1: number;
}

const swapped = ({ self, dim0, dim1 }: Dims): Tensor => views.transpose(self, dim0, dim1);
const swappedAxes = ({ self, axis0, axis1 }: Self & { axis0: number; axis1: number }): Tensor =>
  views.transpose(self, axis0, axis1);
const squeezedAll = ({ self }: Self): Tensor => views.squeeze(self, null);
const squeezedOne = ({ self, dim }: Self & { dim: number }): Tensor => views.squeeze(self, [dim]);
const squeezedSome = ({ self, dim }: Self & { dim: readonly number[] }): Tensor => views.squeeze(self, dim);
const unsqueezed = ({ self, dim }: Self & { dim: number }): Tensor => views.unsqueeze(self, dim);
const selected = ({ self, dim, index }: Self & { dim: number; index: number }): Tensor =>
  views.select(self, dim, index);

export interface Slice extends Self {
  readonly dim: number;
  readonly start: SymInt | null;
  readonly end: SymInt | null;
  readonly step: SymInt;
}
export const sliced = ({ self, dim, start, end, step }: Slice): Tensor => views.slice(self, dim, start, end, step);

interface Narrow extends Self {
  readonly dim: number;
  readonly start: number;
  readonly length: number;
}
const narrowed = ({ self, dim, start, length }: Narrow): Tensor => views.narrow(self, dim, start, length);

export interface Diagonal extends Self {
  readonly offset: number;
  readonly dim1: number;
  readonly dim2: number;
}
export const diagonalOf = ({ self, offset, dim1, dim2 }: Diagonal): Tensor => views.diagonal(self, offset, dim1, dim2);

export interface Strided extends Self {
  readonly size: readonly number[];
  readonly stride: readonly number[];
  readonly storage_offset: number | null;
}
export const strided = ({ self, size, stride, storage_offset: offset }: Strided): Tensor =>
  views.asStrided(self, size, stride, offset);

const expanded = ({ self, size }: Self & { size: readonly number[] }): Tensor => expand(self, size);
const viewedAs = ({ self, size }: Self & { size: readonly number[] }): Tensor => views.viewed(self, size);

export const viewRows: readonly OperatorRow[] = [
  takingSizes(view('aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)', viewedAs)),
  view('aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)', reinterpreted),
  takingSizes(view('aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor', viewedAs)),
  view<Self & { other: Tensor }>('aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)', ({ self, other }) =>
    views.viewed(self, other.symSizes),
  ),
  reshaping<Self & { shape: readonly number[] }>(
    'aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)',
    ({ shape }) => shape,
  ),
  reshaping<Self & { other: Tensor }>(
    'aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)',
    ({ other }) => other.symSizes,
  ),
  flatten,
  reshaping('aten::ravel(Tensor(a) self) -> Tensor(a)', () => [-1]),
  view<Self & { dim: number; sizes: readonly number[] }>(
    'aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)',
    ({ self, dim, sizes }) => views.unflatten(self, dim, sizes),
  ),
  view<Self & { dims: readonly number[] }>('aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)', ({ self, dims }) =>
    views.permute(self, dims),
  ),
  view('aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)', swapped),
  inPlaceView('aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)', swapped),
  view('aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)', swapped),
  inPlaceView('aten::swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)', swapped),
  view('aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)', swappedAxes),
  inPlaceView('aten::swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)', swappedAxes),
  view('aten::t(Tensor(a) self) -> Tensor(a)', ({ self }: Self) => views.matrixTranspose(self)),
  inPlaceView('aten::t_(Tensor(a!) self) -> Tensor(a!)', ({ self }: Self) => views.matrixTranspose(self, 't_')),
  view('aten::numpy_T(Tensor(a) self) -> Tensor(a)', reversedDims),
  view('aten::numpy_T.a(Tensor(a) self) -> Tensor(a)', reversedDims),
  view<Self>('aten::mT(Tensor(a) self) -> Tensor(a)', (args) => lastTwo('mT', args)),
  view<Self>('aten::mT.a(Tensor(a) self) -> Tensor(a)', (args) => lastTwo('mT', args)),
  ...['mH', 'mH.a', 'adjoint'].map((name) =>
    conjugating(`aten::${name}(Tensor(a) self) -> Tensor(a)`, checkHermitian('mH')),
  ),
  ...['matrix_H', 'matrix_H.a'].map((name) =>
    conjugating(`aten::${name}(Tensor(a) self) -> Tensor(a)`, ({ self }) => {
      check(
        self.dim === 2 || self.dim === 0,
        `tensor.H is only supported on matrices (2-D tensors). Got ${self.dim}-D tensor.`,
      );
      return views.matrixTranspose(self);
    }),
  ),
  ...['conj', '_conj'].map((name) => conjugating(`aten::${name}(Tensor(a) self) -> Tensor(a)`, ({ self }) => self)),
  takingSizes(view('aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)', expanded)),
  takingSizes(view('aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)', expanded)),
  view<Self & { other: Tensor }>('aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)', ({ self, other }) =>
    expand(self, other.symSizes),
  ),
  view<{ tensors: readonly Tensor[] }>('aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]', ({ tensors }) => {
    const sizes = broadcastAll(tensors.map((tensor) => tensor.symSizes));
    const at = (index: number): Tensor =>
      symSame(tensors[index].symSizes, sizes) ? tensors[index] : expand(tensors[index], sizes);
    return views.listOf({ count: tensors.length, at });
  }),
  view('aten::squeeze(Tensor(a) self) -> Tensor(a)', squeezedAll),
  view('aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)', squeezedOne),
  view('aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)', squeezedSome),
  inPlaceView('aten::squeeze_(Tensor(a!) self) -> Tensor(a!)', squeezedAll),
  inPlaceView('aten::squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)', squeezedOne),
  inPlaceView('aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)', squeezedSome),
  view('aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)', unsqueezed),
  inPlaceView('aten::unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)', unsqueezed),
  takingSizes(view('aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)', selected)),
  takingSizes(
    view(
      'aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)',
      sliced,
    ),
  ),
  takingSizes(view('aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)', narrowed)),
  kernel<Self & { dim: number; start: Tensor; length: number }>(
    'aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)',
    {
      host: ({ self, dim, start, length }) => {
        check(start.dim === 0 && start.dtype === 'int64', 'start must be an 0-dim integral Tensor.');
        return views.narrow(self, dim, Number(scalarToBigint(readScalar(start, start.storageOffset))), length);
      },
    },
  ),
  view<Self & { split_size: number; dim: number }>(
    'aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]',
    ({ self, split_size: size, dim }) => views.listOf(views.split(self, size, dim)),
  ),
  view<Self & { split_size: readonly number[]; dim: number }>(
    'aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]',
    ({ self, split_size: sizes, dim }) => views.listOf(views.splitWithSizes(self, sizes, dim)),
  ),
  view<Self & { split_sizes: readonly number[]; dim: number }>(
    'aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]',
    ({ self, split_sizes: sizes, dim }) => views.listOf(views.splitWithSizes(self, sizes, dim)),
  ),
  view<Self & { split_sizes: readonly number[]; dim: number }>(
    'aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]',
    ({ self, split_sizes: sizes, dim }) => views.listOf(views.splitWithSizes(self, sizes, dim)),
  ),
  view<Self & { split_size: number; dim: number }>(
    'aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]',
    ({ self, split_size: size, dim }) => views.listOf(views.split(self, size, dim)),
  ),
  view<Self & { split_sizes: readonly number[]; dim: number }>(
    'aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]',
    ({ self, split_sizes: sizes, dim }) => views.listOf(views.splitWithSizes(self, sizes, dim)),
  ),
  view<Self & { chunks: number; dim: number }>(
    'aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]',
    ({ self, chunks, dim }) => views.listOf(views.chunk(self, chunks, dim)),
  ),
  view<Self & { chunks: number; dim: number }>(
    'aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]',
    ({ self, chunks, dim }) => views.listOf(views.chunk(self, chunks, dim)),
  ),
  view<Self & { dim: number }>('aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]', ({ self, dim }) =>
    views.listOf(views.unbind(self, dim)),
  ),
  view<Self & { dimension: number; size: number; step: number }>(
    'aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)',
    ({ self, dimension, size, step }) => views.unfold(self, dimension, size, step),
  ),
  view(
    'aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)',
    strided,
  ),
  inPlaceView(
    'aten::as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)',
    strided,
  ),
  view('aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)', diagonalOf),
  view<Self & { source: number; destination: number }>(
    'aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)',
    ({ self, source, destination }) => views.movedim(self, [source], [destination]),
  ),
  view<Self & { source: readonly number[]; destination: readonly number[] }>(
    'aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)',
    ({ self, source, destination }) => views.movedim(self, source, destination),
  ),
  view<Self>('aten::real(Tensor(a) self) -> Tensor(a)', ({ self }) => (isComplex(self.dtype) ? partOf(self, 0) : self)),
  view('aten::imag(Tensor(a) self) -> Tensor(a)', imaginary),
  view<Self>('aten::view_as_real(Tensor(a) self) -> Tensor(a)', ({ self }) => {
    check(isComplex(self.dtype), 'view_as_real is only supported for complex tensors');
    return viewAsReal(self);
  }),
  view('aten::view_as_complex(Tensor(a) self) -> Tensor(a)', viewAsComplex),
  view('aten::alias(Tensor(a) self) -> Tensor(a)', itself),
  view('aten::detach(Tensor(a) self) -> Tensor(a)', ({ self }: Self) =>
    Object.assign(itself({ self }), { requiresGrad: false }),
  ),
  view<Self>('aten::positive(Tensor(a) self) -> Tensor(a)', ({ self }) => {
    check(self.dtype !== 'bool', 'The `+` operator, on a bool tensor is not supported.');
    return self;
  }),
  ...['resolve_conj', 'resolve_neg', 'lift_fresh', '_neg_view'].map((name) =>
    view<Self>(`aten::${name}(Tensor(a) self) -> Tensor(a)`, ({ self }) => self),
  ),
];
