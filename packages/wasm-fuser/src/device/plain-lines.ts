import { elementSize, hint } from '@cresset/tensor';
import {
  LinearForms,
  pointsOf,
  extentOf,
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

/** A side of a contraction as lines of a tensor, with the numbers of this launch; null where it is more than that. */
export function plainLines(kernel: NormalContraction, line: AxisExpr, side: Expr): PlainLines | null {
  if (side.kind !== 'load' || kernel.k.length > 1) return null;
  const { dtype } = side.operand;
  if (dtype !== 'float32' && dtype !== 'float64') return null;
  const { base, terms, rest } = new LinearForms().of(side.offset);
  if (rest) return null;
  const known = [...kernel.batch, line, ...kernel.k];
  if ([...terms.keys()].some((axis) => !known.includes(axis))) return null;
  const size = elementSize(dtype);
  const offsets = Array.from({ length: pointsOf(kernel.batch) }, (_, flat) => {
    let offset = hint(base);
    let left = flat;
    for (const axis of kernel.batch.toReversed()) {
      const extent = extentOf(axis);
      offset += (left % extent) * hint(terms.get(axis) ?? 0);
      left = Math.floor(left / extent);
    }
    return size * offset;
  });
  const [k] = kernel.k;
  return {
    load: side,
    offsets,
    lineStride: size * hint(terms.get(line) ?? 0),
    step: k ? size * hint(terms.get(k) ?? 0) : size,
  };
}
