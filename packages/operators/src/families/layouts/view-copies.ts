import { isComplex, Tensor } from '@cresset/tensor';
import { kernel, view } from '../../table/builders.ts';
import { lowerCopy, copyPieces, cloneInPieces } from '../../kernels/copy.ts';
import { sizesText, wrapDim } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { overloadOf } from '../../table/variants.ts';
import * as views from '../views/view-functions.ts';
import {
  diagonalOf,
  sliced,
  strided,
  viewRows,
  type Diagonal,
  type Self,
  type Slice,
  type Strided,
} from '../views/views.ts';
import { type Pieces, inTurn } from '../../kernels/loops/pieces.ts';

/** Operators that give views' elements in memory of their own, and the inverses of views (ATen/native/TensorShape.cpp). */

/** Views that have a copying form, named `<name>_copy`. */
const copied: ReadonlySet<string> = new Set([
  'view',
  'view.dtype',
  'permute',
  'transpose.int',
  't',
  'expand',
  'squeeze',
  'squeeze.dim',
  'squeeze.dims',
  'unsqueeze',
  'select.int',
  'slice.Tensor',
  'split.Tensor',
  'split_with_sizes',
  'unbind.int',
  'unfold',
  'as_strided',
  'diagonal',
  'view_as_real',
  'view_as_complex',
  'alias',
  'detach',
]);

/** What a view shows, in memory of its own. */
function viewCopy({ schema, view }: OperatorRow): OperatorRow {
  const shown = (args: object): Tensor[] => [view!(args as never)].flat() as Tensor[];
  const copy = schema
    .replace(/^(aten::\w+)/, '$1_copy')
    .replaceAll('(a -> *)', '')
    .replaceAll('Tensor(a)', 'Tensor');
  const overload = overloadOf(copy);
  return kernel<object>(copy, {
    // Those that give a list have another form with `out=`, which takes a list and returns nothing.
    out: !copy.endsWith('[]') && (overload === '' || `${overload}_out`),
    shape: (args) => shown(args).map(({ sizes, dtype }) => ({ sizes, dtype })),
    host: (args, outputs) => inTurn(shown(args), (from, at) => copyPieces(outputs[at], from)),
    lower: (args, outputs, context) => shown(args).forEach((from, at) => lowerCopy(outputs[at], from, context)),
  });
}

interface Narrow extends Self {
  readonly dim: number;
  readonly start: number;
  readonly length: number;
}

/** Its checks are not the view's: what is out of range is said in other words. */
function narrowCopied({ self, dim, start, length }: Narrow): Tensor {
  check(self.dim > 0, 'narrow() cannot be applied to a 0-dim tensor.');
  check(dim < self.dim, 'Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.');
  const part = views.narrow(self, dim, start, Math.max(length, 0));
  const size = self.sizes[wrapDim(dim, self.dim)];
  const from = start < 0 ? start + size : start;
  check(length >= 0, `start (${from}) + length (${length}) exceeds dimension size (${size}).`);
  return part;
}

function checkPart(part: Tensor, src: Tensor): void {
  check(
    views.sameSizes(part.sizes, src.sizes),
    () =>
      `expected src to have a size equal to the slice of self. src size = ${sizesText(src.sizes)}, slice size = ${sizesText(part.sizes)}`,
  );
}

/** A copy of all memory that a tensor lies in, seen as it is (PyTorch: clone_preserve_strides): strides say where to write. */
function* cloneWithStrides(self: Tensor): Pieces<Tensor> {
  if (self.strides.some((stride, dim) => stride === 0 && self.sizes[dim] > 1)) return yield* cloneInPieces(self);
  const elements = self.storageArray().slice();
  const length = isComplex(self.dtype) ? elements.length / 2 : elements.length;
  const { storage } = Tensor.fromArray(elements, [length], self.dtype);
  return new Tensor(storage, self.dtype, self.sizes, self.strides, self.storageOffset);
}

/** `src` written over a part of a copy of `self`: the inverse of a view. */
function scattering<Args extends Self & { src: Tensor }>(
  schema: string,
  part: (tensor: Tensor, args: Args) => Tensor,
): OperatorRow {
  const checkedPart = (tensor: Tensor, args: Args): Tensor => {
    const shown = part(tensor, args);
    checkPart(shown, args.src);
    return shown;
  };
  return kernel<Args>(schema, {
    shape: ({ self }) => ({ sizes: self.sizes, dtype: self.dtype }),
    *host(args, [output]) {
      yield* copyPieces(output, args.self);
      yield* copyPieces(checkedPart(output, args), args.src);
    },
    lower: (args, [output], context) => {
      lowerCopy(output, args.self, context);
      lowerCopy(checkedPart(output, args), args.src, context);
    },
    out: true,
  });
}

export const viewCopyRows: readonly OperatorRow[] = [
  ...viewRows.filter(({ schema }) => copied.has(schema.slice('aten::'.length, schema.indexOf('(')))).map(viewCopy),
  viewCopy(view('aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)', narrowCopied)),
  scattering<Self & { src: Tensor; dim: number; index: number }>(
    'aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor',
    (self, { dim, index }) => views.select(self, dim, index),
  ),
  scattering<Slice & { src: Tensor }>(
    'aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor',
    (self, args) => sliced({ ...args, self }),
  ),
  scattering<Diagonal & { src: Tensor }>(
    'aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor',
    (self, args) => diagonalOf({ ...args, self }),
  ),
  kernel<Strided & { src: Tensor }>(
    'aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor',
    {
      *host(args) {
        const output = yield* cloneWithStrides(args.self);
        const part = strided({ ...args, self: output });
        checkPart(part, args.src);
        yield* copyPieces(part, args.src);
        return output;
      },
    },
  ),
];
