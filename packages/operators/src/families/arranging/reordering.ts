import { settleAll, symAdd, symEq, symMod, symMul, symSub, type SymInt, type Tensor } from '@cresset/tensor';
import { binary, param, TensorView } from '@cresset/tensorexpr';
import { contiguousOf, copyPieces, lowerCopy } from '../../kernels/copy.ts';
import { wrapDim, wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { lowerGenerated } from '../../kernels/fill.ts';
import type { Pieces } from '../../kernels/loops/pieces.ts';
import { kernel, type Forms } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';
import * as views from '../views/view-functions.ts';

/** Elements in another order (ATen/native/TensorTransformations.cpp). */

interface Self {
  readonly self: Tensor;
}

/** A copy of a strided view, whose strides may be negative: elements in another order. */
function moving<Args>(schema: string, shown: (args: Args) => Tensor, forms: Forms = { out: true }): OperatorRow {
  return kernel<Args>(schema, {
    shape: (args) => {
      const { symSizes: sizes, dtype } = shown(args);
      return { sizes, dtype };
    },
    host: (args, [output]) => copyPieces(output, shown(args)),
    lower: (args, [output], context) => lowerCopy(output, shown(args), context, schema.slice(0, schema.search(/[.(]/))),
    moves: true,
    ...forms,
  });
}

/** The same elements, counted backwards along some dimensions. */
export function flipped(tensor: Tensor, dims: readonly number[]): Tensor {
  const wrapped = dims.map((dim) => wrapDim(dim, tensor.dim));
  wrapped.forEach((dim, at) =>
    check(wrapped.indexOf(dim) === at, `dim ${dim} appears multiple times in the list of dims`),
  );
  const { symSizes: sizes } = tensor;
  let offset = tensor.symStorageOffset;
  const strides = tensor.symStrides.map((stride, dim) => {
    if (!wrapped.includes(dim) || symEq(sizes[dim], 0)) return stride;
    offset = symAdd(offset, symMul(symSub(sizes[dim], 1), stride));
    return symMul(stride, -1);
  });
  return tensor.asStrided(sizes, strides, offset);
}

/** By quarter turns in the plane of two dimensions. */
function rotated({ self, k, dims }: Self & { k: number; dims: readonly number[] }): Tensor {
  check(dims.length === 2, `expected total rotation dims == 2, but got dims = ${dims.length}`);
  check(self.dim >= 2, `expected total dims >= 2, but got total dims = ${self.dim}`);
  check(
    dims[0] !== dims[1] && Math.abs(dims[0] - dims[1]) !== self.dim,
    `expected rotation dims to be different, but got dim0 = ${dims[0]} and dim1 = ${dims[1]}`,
  );
  const [a, b] = dims.map((dim) => wrapDim(dim, self.dim));
  switch (((k % 4) + 4) % 4) {
    case 1:
      return views.transpose(flipped(self, [b]), a, b);
    case 2:
      return flipped(self, [a, b]);
    case 3:
      return views.transpose(flipped(self, [a]), a, b);
    default:
      return self;
  }
}

interface Roll extends Self {
  readonly shifts: readonly number[];
  readonly dims: readonly number[];
}

/** By how much each dimension is shifted, within its size. */
function shiftsByDim({ self, shifts, dims }: Roll): SymInt[] {
  const total = new Array<number>(self.dim).fill(0);
  dims.forEach((dim, at) => (total[wrapDim(dim, self.dim)] += shifts[at]));
  return total.map((shift, dim) => (symEq(self.symSizes[dim], 0) ? 0 : symMod(shift, self.symSizes[dim])));
}

function checkRoll({ self, shifts, dims }: Roll): void {
  check(shifts.length > 0, '`shifts` required');
  for (const dim of dims) wrapDimOfRanked(dim, self.dim);
  check(
    dims.length > 0 || shifts.length === 1,
    `shifts and dimensions must align. shifts: ${shifts.length}, dims:${dims.length}`,
  );
  check(
    dims.length === 0 || dims.length === shifts.length,
    `shifts and dimensions must align. shifts: ${shifts.length}, dims:${dims.length}`,
  );
}

/** Without dimensions the tensor rolls as if it were flat. */
function rollViews(
  args: Roll,
  output: Tensor,
  contiguous: (tensor: Tensor) => Tensor,
): { from: Tensor; to: Tensor; shifts: SymInt[] } {
  if (args.dims.length > 0) return { from: args.self, to: output, shifts: shiftsByDim(args) };
  const from = views.viewed(contiguous(args.self), [-1]);
  return { from, to: views.viewed(output, [-1]), shifts: shiftsByDim({ self: from, shifts: args.shifts, dims: [0] }) };
}

/** Copies the two halves along the first shifted dimension, each rolled along the rest. */
function* copyRolled(to: Tensor, from: Tensor, shifts: readonly number[]): Pieces {
  const dim = shifts.findIndex((shift) => shift !== 0);
  if (dim === -1) {
    yield* copyPieces(to, from);
    return;
  }
  const size = from.sizes[dim];
  const shift = shifts[dim];
  const rest = shifts.with(dim, 0);
  yield* copyRolled(views.slice(to, dim, shift, null, 1), views.slice(from, dim, 0, size - shift, 1), rest);
  yield* copyRolled(views.slice(to, dim, 0, shift, 1), views.slice(from, dim, size - shift, null, 1), rest);
}

const roll = kernel<Roll>('aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor', {
  shape: (args) => {
    checkRoll(args);
    return { sizes: args.self.symSizes, dtype: args.self.dtype };
  },
  *host(args, [output]) {
    if (output.numel === 0) return;
    const { from, to, shifts } = rollViews(args, output, contiguousOf);
    yield* copyRolled(to, from, settleAll(shifts));
  },
  lower: (args, [output], context) => {
    if (symEq(output.symNumel, 0)) return;
    const contiguous = (tensor: Tensor): Tensor => {
      if (tensor.isContiguous()) return tensor;
      const copy = context.temporary(tensor.symSizes, tensor.dtype);
      lowerCopy(copy, tensor, context);
      return copy;
    };
    const { from, to, shifts } = rollViews(args, output, contiguous);
    const source = new TensorView(from);
    lowerGenerated(
      to,
      (axes) =>
        source.at(
          axes.map((axis, dim) =>
            symEq(shifts[dim], 0)
              ? axis
              : binary(
                  'remainder',
                  binary('add', axis, param('i32', symSub(from.symSizes[dim], shifts[dim]))),
                  source.sizes[dim],
                ),
          ),
        ),
      context,
      'aten::roll',
    );
  },
});

export const reorderingRows: readonly OperatorRow[] = [
  moving<Self & { dims: readonly number[] }>('aten::flip(Tensor self, int[] dims) -> Tensor', ({ self, dims }) =>
    flipped(self, dims),
  ),
  moving<Self>(
    'aten::fliplr(Tensor self) -> Tensor',
    ({ self }) => {
      check(self.dim >= 2, 'Input must be >= 2-d.');
      return flipped(self, [1]);
    },
    {},
  ),
  moving<Self>(
    'aten::flipud(Tensor self) -> Tensor',
    ({ self }) => {
      check(self.dim >= 1, 'Input must be >= 1-d.');
      return flipped(self, [0]);
    },
    {},
  ),
  moving('aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor', rotated),
  roll,
];
