import { symSame, contiguousStrides, isComplex, Tensor } from '@cresset/tensor';
import { kernel, view } from '../../table/builders.ts';
import { lowerCopy, copyPieces, cloneInPieces } from '../../kernels/copy.ts';
import { inferSize, sizesText, wrapDim } from '../../kernels/dimensions.ts';
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
import { PIECE_SIZE, type Pieces } from '../../kernels/loops/pieces.ts';

/** Operators that give views' elements in memory of their own, and the inverses of views (ATen/native/TensorShape.cpp). */

/** Views that have a copying form, named `<name>_copy`. */
const copied: ReadonlySet<string> = new Set([
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
  const shown = (args: object): Tensor => view!(args as never) as Tensor;
  const copy = schema.replace(/^(aten::\w+)/, '$1_copy').replaceAll('Tensor(a)', 'Tensor');
  const overload = overloadOf(copy);
  return kernel<object>(copy, {
    out: overload === '' || `${overload}_out`,
    shape(args) {
      const { sizes, dtype } = shown(args);
      return { sizes, dtype };
    },
    host: (args, [output]) => copyPieces(output, shown(args)),
    lower: (args, [output], context) => lowerCopy(output, shown(args), context),
  });
}

/** What making and copying a part takes, in operations. */
const PART_COST = 1 << 10;

/** What a list of views shows, each in memory of its own. Their forms with `out=` take a list, and return nothing. */
function partCopies<Args extends Self>(schema: string, partsOf: (args: Args) => views.Parts): OperatorRow {
  // Where there are more, each is made when its turn comes.
  const areFew = (args: Args): boolean => partsOf(args).count <= views.FEW_PARTS;
  return kernel<Args>(schema, {
    shape(args) {
      const { count, at } = partsOf(args);
      if (count > views.FEW_PARTS) return null;
      return Array.from({ length: count }, (_, index) => {
        const { sizes, dtype } = at(index);
        return { sizes, dtype };
      });
    },
    *host(args, outputs) {
      const parts = partsOf(args);
      const copies: Tensor[] = [];
      let done = 0;
      for (let at = 0; at < parts.count; at++) {
        const part = parts.at(at);
        const copy = outputs[at] ?? Tensor.empty(part.sizes, part.dtype);
        yield* copyPieces(copy, part);
        copies.push(copy);
        done += PART_COST + part.numel;
        if (done < PIECE_SIZE) continue;
        done = 0;
        yield;
      }
      return copies;
    },
    lower(args, outputs, context) {
      const parts = partsOf(args);
      outputs.forEach((output, at) => lowerCopy(output, parts.at(at), context));
    },
    lowerable: areFew,
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
    symSame(part.sizes, src.sizes),
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

/** Elements that lie one after the other, in another tensor's shape. */
const inShapeOf = (output: Tensor, { sizes }: Tensor): Tensor => output.asStrided(sizes, contiguousStrides(sizes));

export const viewCopyRows: readonly OperatorRow[] = [
  // What no view can show it gives all the same.
  kernel<Self & { size: readonly number[] }>('aten::view_copy(Tensor self, SymInt[] size) -> Tensor', {
    shape: ({ self, size }) => ({ sizes: inferSize(size, self.numel), dtype: self.dtype }),
    host: ({ self }, [output]) => copyPieces(inShapeOf(output, self), self),
    lower: ({ self }, [output], context) => lowerCopy(inShapeOf(output, self), self, context),
    out: true,
  }),
  ...viewRows.filter(({ schema }) => copied.has(schema.slice('aten::'.length, schema.indexOf('(')))).map(viewCopy),
  partCopies<Self & { split_size: number; dim: number }>(
    'aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]',
    ({ self, split_size: size, dim }) => views.split(self, size, dim),
  ),
  partCopies<Self & { split_sizes: readonly number[]; dim: number }>(
    'aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]',
    ({ self, split_sizes: sizes, dim }) => views.splitWithSizes(self, sizes, dim),
  ),
  partCopies<Self & { dim: number }>('aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]', ({ self, dim }) =>
    views.unbind(self, dim),
  ),
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
