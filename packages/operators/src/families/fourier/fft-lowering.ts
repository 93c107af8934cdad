import { contiguousStrides, isComplex, type ScalarType, type Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  param,
  reduce,
  select,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
  type Store,
} from '@cresset/tensorexpr';
import { partOf } from '../../kernels/copy.ts';
import type { LoweringContext } from '../../table/row.ts';
import { add, float, index, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { computedFloat } from '../../kernels/type-promotion.ts';

/** Fourier transforms on a device: Stockham's algorithm, a pass for each factor of the length, without bit reversal. */

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

/** Lines along `dim` cut off or filled up with zeros; with `mirrored`, first halves of a real signal's spectrum made whole. */
export function resizedParts(
  parts: Parts,
  dim: number,
  length: number,
  mirrored: boolean,
  label: string,
  context: LoweringContext,
): Parts {
  const given = parts.re.sizes[dim];
  if (given === length && !mirrored) return parts;
  const read = partsReader(parts);
  const half = Math.floor(length / 2) + 1;
  return generateParts(
    parts.re.sizes.with(dim, length),
    parts.re.dtype,
    (axes) => {
      const own = axes[dim];
      const isMirrored = mirrored ? binary('ge', own, indexParam(half)) : null;
      const from = isMirrored ? select(isMirrored, sub(indexParam(length), own), own) : own;
      const isThere = binary('lt', from, indexParam(given));
      const place = select(isThere, from, index(0)) as AxisExpr;
      const value = read(axes.with(dim, place));
      const re = select(isThere, value.re, float(0));
      let im = select(isThere, value.im, float(0));
      if (isMirrored) {
        // What would be an imaginary part of the mean, or of the highest frequency, no real signal has.
        const middle = length % 2 === 0 ? length / 2 : 0;
        const isReal = binary('or', binary('eq', own, index(0)), binary('eq', own, indexParam(middle)));
        im = select(isReal, float(0), select(isMirrored, unary('neg', im), im));
      }
      return { re, im };
    },
    label,
    context,
  );
}

/** The transform along `dim`, whose length has factors that `fourierFactors` finds; without scaling. */
export function transformedParts(
  parts: Parts,
  dim: number,
  inverse: boolean,
  label: string,
  context: LoweringContext,
): Parts {
  const length = parts.re.sizes[dim];
  let current = parts;
  let done = 1;
  for (const factor of fourierFactors(length)!) {
    current = pass(current, dim, done, factor, inverse, label, context);
    done *= factor;
  }
  return current;
}

/**
 * One pass: what is `n / done` long yet is made of `factor` parts. Element q + done (factor p + k) of the result is
 * Σ_j x[q + done (p + rest j)] · w^(k (p + rest j)), w being the root of unity of `n / done`.
 */
function pass(
  parts: Parts,
  dim: number,
  done: number,
  factor: number,
  inverse: boolean,
  label: string,
  context: LoweringContext,
): Parts {
  const { sizes, dtype } = parts.re;
  const whole = sizes[dim] / done;
  const rest = whole / factor;
  // The transformed dimension as three: p, k and q, the last running fastest.
  const split = [...sizes.slice(0, dim), rest, factor, done, ...sizes.slice(dim + 1)];
  const [re, im] = [0, 1].map(() => context.temporary(sizes, computedFloat(dtype)));
  const [target, other] = [re, im].map((tensor) => new TensorView(tensor.asStrided(split, contiguousStrides(split))));
  const axes = target.axes();
  const [p, k, q] = axes.slice(dim, dim + 3);
  const read = partsReader(parts);
  const j = axis('j', param('i32', factor));
  const number = add(p, mul(indexParam(rest), j));
  const place = add(q, mul(indexParam(done), number));
  const x = read([...axes.slice(0, dim), place, ...axes.slice(dim + 3)]);
  const turn = cast('float', binary('fmod', mul(k, number), indexParam(whole)));
  const angle = mul(turn, param('float', ((inverse ? 2 : -2) * Math.PI) / whole));
  const [cosine, sine] = [unary('cos', angle), unary('sin', angle)];
  const sums = [
    reduce('sum', [j], parts.im ? sub(mul(x.re, cosine), mul(x.im, sine)) : mul(x.re, cosine)),
    reduce('sum', [j], parts.im ? add(mul(x.re, sine), mul(x.im, cosine)) : mul(x.re, sine)),
  ];
  const stores = [target, other].map((view, at) => ({
    operand: view.operand,
    offset: view.offsetAt(axes),
    value: sums[at],
  }));
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
  return { re, im };
}
