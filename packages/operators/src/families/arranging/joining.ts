import {
  promoteTypes,
  type ScalarType,
  type Tensor,
  symAdd,
  symEq,
  symGt,
  symLe,
  symMul,
  symSame,
  symSub,
  textOf,
  type SymInt,
} from '@cresset/tensor';
import { binary, cast, exprTypeOf, param, select, TensorView, type Expr } from '@cresset/tensorexpr';
import { expand } from '../../kernels/broadcast.ts';
import { kernel, view, type Forms } from '../../table/builders.ts';
import { copyPieces } from '../../kernels/copy.ts';
import { sizesText, wrapDim } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { lowerGenerated } from '../../kernels/fill.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import * as views from '../views/view-functions.ts';

/** Tensors joined along a dimension, and grids (ATen/native/TensorShape.cpp). */

interface Tensors {
  readonly tensors: readonly Tensor[];
}

/** What is joined, along which dimension of the result. */
interface Join {
  readonly tensors: readonly Tensor[];
  readonly dim: number;
}

/** A 1-dim tensor without elements is left out, whatever the sizes of the others. */
const isLeftOut = ({ symSizes: sizes }: Tensor): boolean => sizes.length === 1 && symEq(sizes[0], 0);

function joinMeta({ tensors, dim }: Join): TensorMeta {
  check(tensors.length > 0, 'torch.cat(): expected a non-empty list of Tensors', 'ValueError');
  tensors.forEach((tensor, at) =>
    check(tensor.dim > 0, `zero-dimensional tensor (at position ${at}) cannot be concatenated`),
  );
  const dtype = tensors.reduce<ScalarType>(
    (promoted, tensor) => promoteTypes(promoted, tensor.dtype),
    tensors[0].dtype,
  );
  const first = tensors.find((tensor) => !isLeftOut(tensor));
  if (!first) return { sizes: [0], dtype };
  const along = wrapDim(dim, first.dim);
  const { symSizes: sizes } = first;
  let total: SymInt = 0;
  tensors.forEach((tensor, at) => {
    if (isLeftOut(tensor)) return;
    check(tensor.dim === first.dim, `Tensors must have same number of dimensions: got ${first.dim} and ${tensor.dim}`);
    sizes.forEach((size, each) =>
      check(
        each === along || symEq(size, tensor.symSizes[each]),
        () =>
          `Sizes of tensors must match except in dimension ${along}. Expected size ${textOf(size)} but got size ${tensor.sizes[each]} for tensor number ${at} in the list.`,
      ),
    );
    total = symAdd(total, tensor.symSizes[along]);
  });
  return { sizes: sizes.with(along, total), dtype };
}

/** Tensors in a row that lie one behind the other in one storage, as one. */
function withoutSeams(tensors: readonly Tensor[], along: number): Tensor[] {
  const joined: Tensor[] = [];
  let last: Tensor | null = null;
  for (const tensor of tensors) {
    const whole = last && followedBy(joined.at(-1)!, last, tensor, along);
    if (whole) joined[joined.length - 1] = whole;
    else joined.push(tensor);
    last = tensor;
  }
  return joined;
}

/** The tensors up to `last` with the next one; null where that lies elsewhere, or may another time. */
function followedBy(whole: Tensor, last: Tensor, next: Tensor, along: number): Tensor | null {
  if (next.storage !== last.storage || next.dtype !== last.dtype || next.openOffset || last.openOffset) return null;
  const { symSizes: sizes, symStrides: strides } = whole;
  if (!symSame(next.symSizes, last.symSizes) || !symSame(next.symStrides, last.symStrides)) return null;
  const length = last.symSizes[along];
  const distance = symSub(next.symStorageOffset, last.symStorageOffset);
  // A single slice may be any way from the next one, as long as all are.
  const stride = whole === last && symEq(length, 1) ? distance : strides[along];
  if (symLe(distance, 0) || !symEq(distance, symMul(length, stride))) return null;
  return whole.asStrided(sizes.with(along, symAdd(sizes[along], length)), strides.with(along, stride));
}

/** The parts of the output that the tensors go to. */
function joinParts({ tensors, dim }: Join, output: Tensor): { part: Tensor; tensor: Tensor }[] {
  const along = wrapDim(dim, output.dim);
  const kept = withoutSeams(
    tensors.filter((tensor) => !isLeftOut(tensor)),
    along,
  );
  if (kept.length === 0) return [];
  const parts = views.pieces(
    output,
    along,
    kept.map((tensor) => tensor.symSizes[along]),
  );
  return kept.map((tensor, at) => ({ part: parts.at(at), tensor }));
}

/** How many tensors one kernel joins: each of its threads looks at all of them, and each takes a binding. */
const joinedAtOnce = 4;

function lowerJoin({ tensors, dim }: Join, output: Tensor, context: LoweringContext): void {
  const parts = joinParts({ tensors, dim }, output).filter(({ tensor }) => symGt(tensor.symNumel, 0));
  if (parts.length === 0) return;
  const along = wrapDim(dim, output.dim);
  for (let at = 0; at < parts.length; at += joinedAtOnce) {
    const group = parts.slice(at, at + joinedAtOnce);
    const extent = group.reduce<SymInt>((sum, { tensor }) => symAdd(sum, tensor.symSizes[along]), 0);
    const first = group[0].part;
    const target = first.asStrided(first.symSizes.with(along, extent), first.symStrides);
    lowerGenerated(
      target,
      (axes) =>
        joinedElement(
          group.map(({ tensor }) => tensor),
          axes,
          along,
          output.dtype,
        ),
      context,
      'aten::cat',
    );
  }
}

function joinedElement(tensors: readonly Tensor[], axes: readonly Expr[], dim: number, dtype: ScalarType): Expr {
  const type = exprTypeOf(dtype);
  // One tensor may stand in several places: what follows goes by place.
  let end: SymInt = 0;
  const starts = tensors.map((tensor) => {
    const start = end;
    end = symAdd(end, tensor.symSizes[dim]);
    return param('i32', start);
  });
  const elementAt = (place: number): Expr => {
    const own = place === 0 ? axes[dim] : binary('sub', axes[dim], starts[place]);
    return cast(type, new TensorView(tensors[place]).at(axes.with(dim, own)));
  };
  let value = elementAt(tensors.length - 1);
  for (let place = tensors.length - 2; place >= 0; place--) {
    value = select(binary('lt', axes[dim], starts[place + 1]), elementAt(place), value);
  }
  return value;
}

function joining<Args>(schema: string, prepare: (args: Args) => Join, forms: Forms = { out: true }): OperatorRow {
  return kernel<Args>(schema, {
    shape: (args) => joinMeta(prepare(args)),
    *host(args, [output]) {
      for (const { part, tensor } of joinParts(prepare(args), output)) {
        yield* copyPieces(part, tensor);
        yield;
      }
    },
    lower: (args, [output], context) => lowerJoin(prepare(args), output, context),
    moves: true,
    mayShare: () => ({ tensors: 'nothing' }),
    ...forms,
  });
}

function stacked({ tensors, dim }: Join): Join {
  check(tensors.length > 0, 'stack expects a non-empty TensorList');
  const along = wrapDim(dim, tensors[0].dim + 1);
  tensors.forEach((tensor, at) =>
    check(
      symSame(tensor.symSizes, tensors[0].symSizes),
      () =>
        `stack expects each tensor to be equal size, but got ${sizesText(tensors[0].sizes)} at entry 0 and ${sizesText(tensor.sizes)} at entry ${at}`,
    ),
  );
  return { tensors: tensors.map((tensor) => views.unsqueeze(tensor, along)), dim: along };
}

/** With at least `rank` dimensions, as numpy's stacking functions see a tensor. */
export function raised(tensor: Tensor, rank: number): Tensor {
  if (tensor.dim === 0) return tensor.asStrided(new Array<number>(rank).fill(1), new Array<number>(rank).fill(1));
  let result = tensor;
  if (rank > 1 && result.dim === 1) result = views.unsqueeze(result, 0);
  return rank > 2 && result.dim === 2 ? views.unsqueeze(result, 2) : result;
}

const stackingRow = (name: string, rank: number, dimOf: (first: Tensor) => number): OperatorRow =>
  joining<Tensors>(`aten::${name}(Tensor[] tensors) -> Tensor`, ({ tensors }) => {
    check(tensors.length > 0, `${name} expects a non-empty TensorList`);
    const all = tensors.map((tensor) => raised(tensor, rank));
    return { tensors: all, dim: dimOf(all[0]) };
  });

/** Vectors are columns of the result. */
function columns({ tensors }: Tensors): Join {
  check(tensors.length > 0, 'column_stack expects a non-empty TensorList');
  return {
    tensors: tensors.map((tensor) => (tensor.dim <= 1 ? views.viewed(tensor, [tensor.numel, 1]) : tensor)),
    dim: 1,
  };
}

/** One tensor a given vector, all of them of the same sizes: a grid's coordinates. */
function grid(tensors: readonly Tensor[], indexing: string): Tensor[] {
  check(tensors.length > 0, 'meshgrid expects a non-empty TensorList');
  check(
    indexing === 'ij' || indexing === 'xy',
    `torch.meshgrid: indexing must be one of "xy" or "ij", but received: ${indexing}`,
  );
  tensors.forEach((tensor) =>
    check(tensor.dim <= 1, () => `torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ${tensor.dim}`),
  );
  tensors.forEach((tensor) =>
    check(tensor.dtype === tensors[0].dtype, 'torch.meshgrid expects all tensors to have the same dtype'),
  );
  const swaps = indexing === 'xy' && tensors.length >= 2;
  const ordered = swaps ? [tensors[1], tensors[0], ...tensors.slice(2)] : tensors;
  const sizes = ordered.map((tensor) => tensor.symNumel);
  const grids = ordered.map((tensor, at) =>
    expand(
      tensor.asStrided(
        sizes.map((_, dim) => (dim === at ? tensor.symNumel : 1)),
        sizes.map((_, dim) => (dim === at ? (tensor.symStrides[0] ?? 0) : 0)),
      ),
      sizes,
    ),
  );
  return swaps ? [grids[1], grids[0], ...grids.slice(2)] : grids;
}

export const joiningRows: readonly OperatorRow[] = [
  ...['cat', 'concat', 'concatenate'].map((name) =>
    joining<Join>(`aten::${name}(Tensor[] tensors, int dim=0) -> Tensor`, (args) => args),
  ),
  joining('aten::stack(Tensor[] tensors, int dim=0) -> Tensor', stacked),
  stackingRow('hstack', 1, (first) => (first.dim === 1 ? 0 : 1)),
  stackingRow('vstack', 2, () => 0),
  stackingRow('row_stack', 2, () => 0),
  stackingRow('dstack', 3, () => 2),
  joining('aten::column_stack(Tensor[] tensors) -> Tensor', columns),
  view<Tensors>('aten::meshgrid(Tensor[] tensors) -> Tensor[]', ({ tensors }) => grid(tensors, 'ij')),
  view<Tensors & { indexing: string }>(
    'aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]',
    ({ tensors, indexing }) => grid(tensors, indexing),
  ),
];
