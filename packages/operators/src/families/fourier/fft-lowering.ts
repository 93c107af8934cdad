import { contiguousStrides } from '@cresset/tensor';
import { axis, binary, cast, param, reduce, select, TensorView, unary, type AxisExpr } from '@cresset/tensorexpr';
import type { LoweringContext } from '../../table/row.ts';
import { add, float, index, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { computedFloat } from '../../kernels/type-promotion.ts';
import { fourierFactors, generateParts, partsReader, type Parts } from './fourier-parts.ts';
import {
  firstOf,
  halfOf,
  hasRoutineFor,
  transformedByRoutine,
  type LineTransform,
  type ScaledParts,
} from './line-transforms.ts';

/** Fourier transforms on a device: Stockham's algorithm, a pass for each factor of the length, without bit reversal. */

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
  const half = halfOf(length);
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

/**
 * A transform whose length has factors that `fourierFactors` finds: by a routine, where the device has one, else a pass for each factor. Not scaled, unless it was stored
 * to `target`, whose parts it gives then.
 */
export function transformedParts(
  parts: Parts,
  transform: LineTransform,
  context: LoweringContext,
  target: ScaledParts | null = null,
): Parts {
  const { dim, form, length, inverse, label } = transform;
  if (hasRoutineFor(length, context)) return transformedByRoutine(parts, transform, context, target);
  let current = form === 'real' ? resizedParts(parts, dim, length, true, label, context) : parts;
  let done = 1;
  for (const factor of fourierFactors(length)!) {
    current = pass(current, dim, done, factor, inverse, label, context);
    done *= factor;
  }
  return form === 'half spectrum' ? firstOf(current, dim, halfOf(length)) : current;
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
