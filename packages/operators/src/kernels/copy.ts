import { narrowView } from './views.ts';
import { type Pieces, finish } from './loops/pieces.ts';
import {
  symSame,
  bitsToNumber,
  elementSize,
  isComplex,
  numelOf,
  realType,
  symEq,
  Tensor,
  type ScalarType,
} from '@cresset/tensor';
import { binary, cast, exprTypeOf } from '@cresset/tensorexpr';
import { expand } from './broadcast.ts';
import { overlapsPartially } from './dimensions.ts';
import { deviceViews, evaluationPieces, hostLoad } from './loops/pointwise.ts';
import type { LoweringContext } from '../table/row.ts';
import { coalesce, StridedCursor, walkOf } from './loops/tensor-iterator.ts';

/** The parts of a complex tensor as a real one with a last dimension of size 2 (torch.view_as_real). */
export function viewAsReal(tensor: Tensor): Tensor {
  const strides = [...tensor.strides.map((stride) => 2 * stride), 1];
  return new Tensor(tensor.storage, realType(tensor.dtype), [...tensor.sizes, 2], strides, 2 * tensor.storageOffset);
}

/** The real (0) or imaginary (1) parts of a complex tensor, a view. */
export function partOf(tensor: Tensor, part: 0 | 1): Tensor {
  const strides = tensor.strides.map((stride) => 2 * stride);
  return new Tensor(tensor.storage, realType(tensor.dtype), tensor.sizes, strides, 2 * tensor.storageOffset + part);
}

/** Copies elements on the host, converting them; `source` is broadcast to the sizes of `target`. */
export function copyInto(target: Tensor, source: Tensor): void {
  if (target.numel === 0 || target === source) return;
  const expanded = source.sizes.length === target.dim ? source : expand(source, target.sizes);
  if (isComplex(target.dtype)) {
    copyIntoComplex(target, expanded);
    return;
  }
  if (isComplex(expanded.dtype)) {
    if (target.dtype === 'bool') {
      const loads = [hostLoad(partOf(expanded, 0)), hostLoad(partOf(expanded, 1))];
      finish(evaluationPieces(target, binary('or', cast('bool', loads[0]), cast('bool', loads[1])), loads, true));
    } else copyInto(target, partOf(expanded, 0));
    return;
  }
  if (overlapsPartially(target, expanded)) {
    copyInto(target, cloneOf(expanded));
    return;
  }
  if (copiedRunwise(target, expanded)) return;
  if (target.dtype === expanded.dtype && bitsToNumber(target.dtype)) {
    copyInto(asBits(target), asBits(expanded));
    return;
  }
  const load = hostLoad(expanded);
  const isDouble = target.dtype === 'float64' || expanded.dtype === 'float64' || expanded.dtype === 'int64';
  finish(evaluationPieces(target, cast(exprTypeOf(target.dtype), load), [load], isDouble));
}

/** Elements of a narrow float as the integers of their bits: what is only moved keeps those of NaN, and needs no conversion. */
const asBits = ({ storage, dtype, sizes, strides, storageOffset }: Tensor): Tensor =>
  new Tensor(storage, elementSize(dtype) === 1 ? 'uint8' : 'int16', sizes, strides, storageOffset);

/** Elements that are copied between two stops, most of a microsecond for eight of them where all have to be converted. */
const COPY_SIZE = 1 << 19;

/** As `copyInto`, in pieces. */
export function* copyPieces(target: Tensor, source: Tensor): Pieces {
  const expanded = expand(source, target.sizes);
  if (target.numel <= COPY_SIZE || overlapsPartially(target, expanded)) return copyInto(target, source);
  const dim = target.sizes.findIndex((size) => size > 1);
  const size = target.sizes[dim];
  const length = Math.max(1, Math.floor((COPY_SIZE / target.numel) * size));
  for (let start = 0; start < size; start += length) {
    if (start > 0) yield;
    const part = (tensor: Tensor): Tensor => narrowView(tensor, dim, start, Math.min(length, size - start));
    yield* copyPieces(part(target), part(expanded));
  }
}

/** A tensor of this dtype with the elements of another, which may be that one itself. */
export function* convertedPieces(tensor: Tensor, dtype: ScalarType): Pieces<Tensor> {
  if (tensor.dtype === dtype) return tensor;
  const converted = Tensor.empty(tensor.sizes, dtype);
  yield* copyPieces(converted, tensor);
  return converted;
}

function copyIntoComplex(target: Tensor, source: Tensor): void {
  if (isComplex(source.dtype)) {
    copyInto(viewAsReal(target), viewAsReal(expand(source, target.sizes)));
    return;
  }
  copyInto(partOf(target, 0), source);
  const zeros = Tensor.empty([], realType(target.dtype));
  copyInto(partOf(target, 1), zeros);
}

/** Equal dtypes whose elements lie in long runs on both sides: whole runs are moved. */
function copiedRunwise(target: Tensor, source: Tensor): boolean {
  if (target.dtype !== source.dtype || !symSame(target.sizes, source.sizes)) return false;
  if (target.numel === 1) {
    target.storageArrayForWriting()[target.storageOffset] = source.storageArray()[source.storageOffset];
    return true;
  }
  const { sizes, walks } = coalesce({ sizes: target.sizes, walks: [walkOf(target), walkOf(source)] });
  const last = sizes.length - 1;
  const isRun = last < 0 || (walks[0].strides[last] === 1 && walks[1].strides[last] === 1);
  if (!isRun || (last > 0 && sizes[last] < 8)) return false;
  const from = source.storageArray();
  const to = target.storageArrayForWriting();
  const length = last < 0 ? 1 : sizes[last];
  const outer = sizes.slice(0, -1);
  const [targets, sources] = walks.map(
    ({ strides, offset }) => new StridedCursor(outer, { strides: strides.slice(0, -1), offset }),
  );
  for (let left = numelOf(outer); left > 0; left--) {
    targets.advance(1, (at) => {
      sources.advance(1, (offset) => to.set(from.subarray(offset, offset + length) as never, at));
    });
  }
  return true;
}

/** A contiguous copy on the host. */
export function cloneOf(tensor: Tensor): Tensor {
  const copy = Tensor.empty(tensor.sizes, tensor.dtype);
  copyInto(copy, tensor);
  return copy;
}

/** As `cloneOf`, in pieces. */
export function* cloneInPieces(tensor: Tensor): Pieces<Tensor> {
  const copy = Tensor.empty(tensor.sizes, tensor.dtype);
  yield* copyPieces(copy, tensor);
  return copy;
}

/** The tensor itself where it is contiguous, a contiguous copy on the host where not. */
export function contiguousOf(tensor: Tensor): Tensor {
  return tensor.isContiguous() ? tensor : cloneOf(tensor);
}

/** As `contiguousOf`, in pieces. */
export function* contiguousInPieces(tensor: Tensor): Pieces<Tensor> {
  return tensor.isContiguous() ? tensor : yield* cloneInPieces(tensor);
}

/** Copies elements on a device, converting them; `source` must broadcast to the sizes of `target`. */
export function lowerCopy(target: Tensor, source: Tensor, context: LoweringContext, label = 'aten::copy_'): void {
  if (target === source || symEq(target.symNumel, 0)) return;
  if (isComplex(target.dtype)) {
    lowerCopy(partOf(target, 0), source, context, label);
    const zero = Tensor.empty([], realType(target.dtype));
    lowerCopy(partOf(target, 1), isComplex(source.dtype) ? partOf(source, 1) : zero, context, label);
    return;
  }
  const parts = isComplex(source.dtype) ? [partOf(source, 0), partOf(source, 1)] : [source];
  const { axes, views, target: view } = deviceViews(target, parts);
  const [own, imaginary] = views.map((each) => cast(exprTypeOf(target.dtype), each.at(axes)));
  const value = target.dtype === 'bool' && imaginary ? binary('or', own, imaginary) : own;
  context.launch({
    kind: 'nest',
    label,
    axes,
    innerAxes: [],
    stores: [{ operand: view.operand, offset: view.offsetAt(axes), value }],
  });
}
