import { isComplex, type ScalarType, type Tensor } from '@cresset/tensor';
import { cast, TensorView, type AxisExpr, type Expr, type Store } from '@cresset/tensorexpr';
import { partOf } from '../../kernels/copy.ts';
import { float } from '../../kernels/expressions.ts';
import { computedFloat } from '../../kernels/type-promotion.ts';
import type { LoweringContext } from '../../table/row.ts';

/** Real and imaginary parts of equal sizes; none where all is real. */
export interface Parts {
  readonly re: Tensor;
  readonly im: Tensor | null;
}

/** Longest sum that a pass may take for one result: a length with a larger prime factor is left to the host. */
const largestFactor = 1024;

/** Factors of a length, up to 16 each where it has small primes; null where a prime factor is too large. */
export function fourierFactors(length: number): number[] | null {
  const factors: number[] = [];
  let rest = length;
  for (const factor of [16, 8, 4, 2, 9, 3, 5, 7]) {
    while (rest % factor === 0) {
      factors.push(factor);
      rest /= factor;
    }
  }
  for (let prime = 11; prime * prime <= rest; prime += 2) {
    while (rest % prime === 0) {
      factors.push(prime);
      rest /= prime;
    }
  }
  if (rest > 1) factors.push(rest);
  return factors.every((factor) => factor <= largestFactor) ? factors : null;
}

export const partsOf = (tensor: Tensor): Parts =>
  isComplex(tensor.dtype) ? { re: partOf(tensor, 0), im: partOf(tensor, 1) } : { re: tensor, im: null };

/** New parts, contiguous, with every element worked out from its indices. */
export function generateParts(
  sizes: readonly number[],
  dtype: ScalarType,
  element: (axes: readonly AxisExpr[]) => { re: Expr; im: Expr },
  label: string,
  context: LoweringContext,
): { re: Tensor; im: Tensor } {
  const [re, im] = [0, 1].map(() => context.temporary(sizes, computedFloat(dtype)));
  storeParts({ re, im }, element, label, context);
  return { re, im };
}

/** Writes elements worked out from their indices to parts that lie anywhere. */
export function storeParts(
  { re, im }: Parts,
  element: (axes: readonly AxisExpr[]) => { re: Expr; im: Expr },
  label: string,
  context: LoweringContext,
): void {
  if (re.numel === 0) return;
  const target = new TensorView(re);
  const axes = target.axes();
  const value = element(axes);
  const stores: Store[] = [{ operand: target.operand, offset: target.offsetAt(axes), value: value.re }];
  if (im) {
    const view = new TensorView(im);
    stores.push({ operand: view.operand, offset: view.offsetAt(axes), value: value.im });
  }
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
}

/** Elements of parts as floats, for use in expressions. */
export function partsReader({ re, im }: Parts): (at: readonly Expr[]) => { re: Expr; im: Expr } {
  const [real, imaginary] = [new TensorView(re), im && new TensorView(im)];
  return (at) => ({
    re: cast('float', real.at(at)),
    im: imaginary ? cast('float', imaginary.at(at)) : float(0),
  });
}
