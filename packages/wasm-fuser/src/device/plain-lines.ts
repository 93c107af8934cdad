import { elementSize, hint, type SymInt } from '@cresset/tensor';
import {
  LinearForms,
  symExtentOf,
  type AxisExpr,
  type Expr,
  type LoadExpr,
  type NormalContraction,
} from '@cresset/tensorexpr';

/** Lines of a side that are elements of a tensor with fixed strides, in bytes. */
export interface PlainLines {
  readonly load: LoadExpr;
  /** Of the first line's first element, for each of the batch. */
  readonly offsets: readonly number[];
  readonly lineStride: number;
  readonly step: number;
}

/** What gives a side of a contraction as lines of a tensor, with the numbers of now; null where it is more than that. */
export function plainLines(kernel: NormalContraction, line: AxisExpr, side: Expr): (() => PlainLines) | null {
  if (side.kind !== 'load' || kernel.k.length > 1) return null;
  const { dtype } = side.operand;
  if (dtype !== 'float32' && dtype !== 'float64') return null;
  const { base, terms, rest } = new LinearForms().of(side.offset);
  if (rest) return null;
  const known = [...kernel.batch, line, ...kernel.k];
  if ([...terms.keys()].some((axis) => !known.includes(axis))) return null;
  const size = elementSize(dtype);
  const strideOf = (axis: AxisExpr | undefined): SymInt => (axis ? (terms.get(axis) ?? 0) : 1);
  const batch = kernel.batch.map((axis) => ({ extent: symExtentOf(axis), stride: strideOf(axis) })).reverse();
  const [lineStride, step] = [strideOf(line), strideOf(kernel.k[0])];
  return () => {
    const loops = batch.map(({ extent, stride }) => ({ extent: hint(extent), stride: hint(stride) }));
    const points = loops.reduce((product, { extent }) => product * extent, 1);
    const offsets = Array.from({ length: points }, (_, flat) => {
      let offset = hint(base);
      let left = flat;
      for (const { extent, stride } of loops) {
        offset += (left % extent) * stride;
        left = Math.floor(left / extent);
      }
      return size * offset;
    });
    return { load: side, offsets, lineStride: size * hint(lineStride), step: size * hint(step) };
  };
}
