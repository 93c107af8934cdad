import { complexType, type Tensor } from '@cresset/tensor';
import { LARGEST_FACTOR, type Transform } from '@cresset/tensorexpr';
import type { LoweringContext } from '../../table/row.ts';
import { computedFloat } from '../../kernels/type-promotion.ts';
import { fourierFactors, partsOf, partsReader, storeParts, type Parts } from './fourier-parts.ts';

/** Longest line that a routine transforms: nothing stops it within one, and the memory it works in stays in a cache. */
const LONGEST_LINE = 1 << 14;

/** A transform along a dimension, whose `length` is that of the whole lines. */
export interface LineTransform extends Pick<Transform, 'form' | 'length' | 'inverse' | 'label'> {
  readonly dim: number;
}

/** Where results may be stored right away, and what they are multiplied with there. */
export interface ScaledParts {
  readonly parts: Parts;
  readonly scale: number;
}

/** Elements of half a spectrum. */
export const halfOf = (length: number): number => Math.floor(length / 2) + 1;

/** Whether the device has a routine for lines of this length. */
export const hasRoutineFor = (length: number, { device }: LoweringContext): boolean =>
  device.hasTransforms === true &&
  length <= LONGEST_LINE &&
  fourierFactors(length)!.every((factor) => factor <= LARGEST_FACTOR);

/** The first elements of lines. */
export function firstOf({ re, im }: Parts, dim: number, count: number): Parts {
  const cut = (part: Tensor): Tensor => part.asStrided(part.sizes.with(dim, count), part.strides);
  return { re: cut(re), im: im && cut(im) };
}

/** A transform by the routine of a device. Gives `target`'s parts where it could store there, else parts of its own, not scaled. */
export function transformedByRoutine(
  parts: Parts,
  { dim, form, length, inverse, label }: LineTransform,
  context: LoweringContext,
  target: ScaledParts | null,
): Parts {
  const given = form === 'real' ? firstOf(parts, dim, halfOf(length)) : parts;
  const float = computedFloat(parts.re.dtype);
  const sizes = parts.re.sizes.with(dim, form === 'half spectrum' ? halfOf(length) : length);
  const fresh = (isReal: boolean, of: readonly number[]): Parts =>
    partsOf(context.temporary(of, isReal ? float : complexType(float)));
  const launch = (source: Parts, { parts: result, scale }: ScaledParts): Parts | null => {
    if (result.re.storage === source.re.storage || !liesAs(source, float) || !liesAs(result, float)) return null;
    for (let split = 0; split < sizes.length; split++) {
      const [from, to] = [source.re, result.re].map((part) => linesOf(part, dim, split));
      if (!from || !to) continue;
      context.launchRoutine!({
        kind: 'transform',
        label,
        form,
        length,
        inverse,
        scale,
        source: { numbers: from, isComplex: source.im !== null },
        target: { numbers: to, isComplex: result.im !== null },
      });
      return result;
    }
    return null;
  };
  const stored = target && launch(given, target);
  if (stored) return stored;
  const own: ScaledParts = { parts: fresh(form === 'real', sizes), scale: 1 };
  const done = launch(given, own);
  if (done) return done;
  const copied = fresh(given.im === null, given.re.sizes);
  storeParts(copied, partsReader(given), label, context);
  return launch(copied, own)!;
}

/** Whether parts are floats of this type and complex numbers as memory has them. */
function liesAs({ re, im }: Parts, dtype: string): boolean {
  if (re.dtype !== dtype) return false;
  return (
    im === null ||
    (im.storage === re.storage &&
      im.storageOffset === re.storageOffset + 1 &&
      im.strides.every((stride, at) => stride === re.strides[at]))
  );
}

/** Lines along `dim` as `[outer, inner, elements]`, the first `split` of the other dimensions being the outer ones; null where one stride is not enough for them. */
function linesOf(part: Tensor, dim: number, split: number): Tensor | null {
  const others = part.sizes.map((size, at) => ({ size, stride: part.strides[at] })).filter((_, at) => at !== dim);
  const [outer, inner] = [others.slice(0, split), others.slice(split)].map(joined);
  return (
    outer &&
    inner &&
    part.asStrided([outer.size, inner.size, part.sizes[dim]], [outer.stride, inner.stride, part.strides[dim]])
  );
}

interface Dimension {
  readonly size: number;
  readonly stride: number;
}

function joined(dimensions: readonly Dimension[]): Dimension | null {
  let whole: Dimension = { size: 1, stride: 0 };
  for (const { size, stride } of dimensions) {
    if (size === 1) continue;
    if (whole.size > 1 && whole.stride !== size * stride) return null;
    whole = { size: whole.size * size, stride };
  }
  return whole;
}
