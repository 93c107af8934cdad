import { filled, PIECE_SIZE, repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { giveUpScratch, isComplex, scratch, type Tensor } from '@cresset/tensor';
import { copiedNumbers, type FloatArray } from '../../kernels/numbers/numbers.ts';

/** Discrete Fourier transforms of any length on doubles: radix 2 where the length allows, else Bluestein's algorithm. */

/** A transform of one length, made once: `run` replaces the line, without scaling, in pieces where it is long. */
export interface FourierPlan {
  readonly length: number;
  /** What it takes to keep it. */
  readonly byteLength: number;
  run(re: Float64Array, im: Float64Array, inverse: boolean): Pieces | void;
}

/** Transforms of longer lines rest on the way. */
const LONG_LINE = 1 << 16;

/** Plans of the lengths that were asked for last. */
const plans = new Map<number, FourierPlan>();

/** Bytes of all plans that are kept; one alone may be larger. */
const KEPT_BYTES = 32 << 20;

/** What a sine takes, in operations. */
const SINE_COST = 16;

export function* fourierPlan(length: number): Pieces<FourierPlan> {
  const plan = plans.get(length) ?? (yield* (length & (length - 1)) === 0 ? radixTwo(length) : bluestein(length));
  plans.delete(length);
  plans.set(length, plan);
  let bytes = keptPlans().byteLength;
  for (const [other, { byteLength }] of plans) {
    if (bytes <= KEPT_BYTES || other === length) break;
    plans.delete(other);
    bytes -= byteLength;
  }
  return plan;
}

/** How many plans are kept for lengths that come again, and what they take. */
export function keptPlans(): { count: number; byteLength: number } {
  let total = 0;
  for (const { byteLength } of plans.values()) total += byteLength;
  return { count: plans.size, byteLength: total };
}

function* radixTwo(length: number): Pieces<FourierPlan> {
  const half = length >> 1;
  const cos = yield* filled(scratch(Float64Array, half), SINE_COST, (k) => Math.cos((2 * Math.PI * k) / length));
  const sin = yield* filled(scratch(Float64Array, half), SINE_COST, (k) => -Math.sin((2 * Math.PI * k) / length));
  const reversed = scratch(Uint32Array, length);
  yield* filled(reversed, 2, (i) => (reversed[i >> 1] >> 1) | (i & 1 ? half : 0));
  const exchange = (re: Float64Array, im: Float64Array, i: number): void => {
    const j = reversed[i];
    if (j <= i) return;
    [re[i], re[j]] = [re[j], re[i]];
    [im[i], im[j]] = [im[j], im[i]];
  };
  const stage = (re: Float64Array, im: Float64Array, sign: number, half: number): void => {
    const stride = length / (2 * half);
    for (let block = 0; block < length; block += 2 * half) {
      for (let k = 0; k < half; k++) {
        const c = cos[k * stride];
        const s = sign * sin[k * stride];
        const a = block + k;
        const b = a + half;
        const x = re[b] * c - im[b] * s;
        const y = re[b] * s + im[b] * c;
        re[b] = re[a] - x;
        im[b] = im[a] - y;
        re[a] += x;
        im[a] += y;
      }
    }
  };
  function* inStages(re: Float64Array, im: Float64Array, sign: number): Pieces {
    yield* repeat(length, 16, (i) => exchange(re, im, i));
    for (let half = 1; half < length; half *= 2) {
      yield;
      stage(re, im, sign, half);
    }
  }
  return {
    length,
    byteLength: cos.byteLength + sin.byteLength + reversed.byteLength,
    run(re, im, inverse) {
      const sign = inverse ? -1 : 1;
      if (length > LONG_LINE) return inStages(re, im, sign);
      for (let i = 0; i < length; i++) exchange(re, im, i);
      for (let half = 1; half < length; half *= 2) stage(re, im, sign, half);
    },
  };
}

/** A transform of any length as a convolution with a chirp, done by transforms of a power of two. */
function* bluestein(length: number): Pieces<FourierPlan> {
  let padded = 1;
  while (padded < 2 * length - 1) padded *= 2;
  const inner = yield* fourierPlan(padded);
  const [cos, sin] = [scratch(Float64Array, length), scratch(Float64Array, length)];
  yield* repeat(length, 2 * SINE_COST, (k) => {
    // k² is taken modulo the period before it loses digits.
    const angle = (Math.PI * ((k * k) % (2 * length))) / length;
    cos[k] = Math.cos(angle);
    sin[k] = Math.sin(angle);
  });
  const [chirpRe, chirpIm] = [scratch(Float64Array, padded), scratch(Float64Array, padded)];
  yield* repeat(length, 4, (k) => {
    chirpRe[k] = chirpRe[(padded - k) % padded] = cos[k];
    chirpIm[k] = chirpIm[(padded - k) % padded] = sin[k];
  });
  yield* inner.run(chirpRe, chirpIm, false) ?? [];
  const isLong = padded > LONG_LINE;
  const newWork = (): readonly [Float64Array, Float64Array] => [
    scratch(Float64Array, padded),
    scratch(Float64Array, padded),
  ];
  // Others may come in between the pieces of a long line, and take the same plan.
  const shared = isLong ? null : newWork();
  return {
    length,
    // The inner plan may be kept by nobody else.
    byteLength: 16 * length + (isLong ? 16 : 32) * padded + inner.byteLength,
    run(re, im, inverse) {
      // The inverse is the transform of the conjugate, conjugated.
      const sign = inverse ? -1 : 1;
      const [workRe, workIm] = shared ?? newWork();
      workRe.fill(0);
      workIm.fill(0);
      for (let k = 0; k < length; k++) {
        const y = sign * im[k];
        workRe[k] = re[k] * cos[k] + y * sin[k];
        workIm[k] = y * cos[k] - re[k] * sin[k];
      }
      const multiply = (): void => {
        for (let k = 0; k < padded; k++) {
          const x = workRe[k] * chirpRe[k] - workIm[k] * chirpIm[k];
          workIm[k] = workRe[k] * chirpIm[k] + workIm[k] * chirpRe[k];
          workRe[k] = x;
        }
      };
      const store = (): void => {
        for (let k = 0; k < length; k++) {
          const x = workRe[k] / padded;
          const y = workIm[k] / padded;
          re[k] = x * cos[k] + y * sin[k];
          im[k] = sign * (y * cos[k] - x * sin[k]);
        }
      };
      const transform = (backward: boolean): Pieces | void => inner.run(workRe, workIm, backward);
      if (isLong) {
        return (function* () {
          yield* transform(false) ?? [];
          multiply();
          yield;
          yield* transform(true) ?? [];
          store();
          giveUpScratch(workRe, workIm);
          yield;
        })();
      }
      transform(false);
      multiply();
      transform(true);
      store();
    },
  };
}

/** Complex numbers of a tensor's sizes, C order. */
export interface ComplexArray {
  readonly re: Float64Array;
  readonly im: Float64Array;
  readonly sizes: readonly number[];
}

/** What it takes to transform an element of a short line, and to gather it from far apart, in operations. */
const LINE_COST = 64;

/** Another array whose lines along `dim` are made from those of `source`, `size` long each. */
function* mapLines(
  source: ComplexArray,
  dim: number,
  size: number,
  make: (re: Float64Array, im: Float64Array, toRe: Float64Array, toIm: Float64Array) => Pieces | void,
): Pieces<ComplexArray> {
  const sizes = source.sizes.with(dim, size);
  const step = sizes.slice(dim + 1).reduce((product, length) => product * length, 1);
  const lines = source.sizes.slice(0, dim).reduce((product, length) => product * length, 1) * step;
  const length = source.sizes[dim];
  const result = { re: scratch(Float64Array, lines * size), im: scratch(Float64Array, lines * size), sizes };
  const [re, im] = [scratch(Float64Array, length), scratch(Float64Array, length)];
  const [toRe, toIm] = [scratch(Float64Array, size), scratch(Float64Array, size)];
  let done = 0;
  for (let line = 0; line < lines; line++) {
    const from = Math.floor(line / step) * step * length + (line % step);
    const to = Math.floor(line / step) * step * size + (line % step);
    for (let i = 0; i < length; i++) {
      re[i] = source.re[from + i * step];
      im[i] = source.im[from + i * step];
    }
    if (length > LONG_LINE) yield;
    yield* make(re, im, toRe, toIm) ?? [];
    done += LINE_COST * Math.max(length, size);
    if (done >= PIECE_SIZE) {
      done = 0;
      yield;
    }
    for (let i = 0; i < size; i++) {
      result.re[to + i * step] = toRe[i];
      result.im[to + i * step] = toIm[i];
    }
  }
  return result;
}

/** Cut off or filled up with zeros along `dim`. */
export function* resizeLines(source: ComplexArray, dim: number, size: number): Pieces<ComplexArray> {
  if (source.sizes[dim] === size) return source;
  return yield* mapLines(source, dim, size, (re, im, toRe, toIm) => {
    const kept = Math.min(size, re.length);
    toRe.fill(0).set(re.subarray(0, kept));
    toIm.fill(0).set(im.subarray(0, kept));
  });
}

/** Complex to complex along `dim`, without scaling. */
export function* transformLines(source: ComplexArray, dim: number, inverse: boolean): Pieces<ComplexArray> {
  const plan = yield* fourierPlan(source.sizes[dim]);
  return yield* mapLines(source, dim, plan.length, (re, im, toRe, toIm) => {
    toRe.set(re);
    toIm.set(im);
    return plan.run(toRe, toIm, inverse);
  });
}

/** Lines of `size` with the symmetry of a real signal's spectrum, from their first halves. */
export function mirrorLines(source: ComplexArray, dim: number, size: number): Pieces<ComplexArray> {
  return mapLines(source, dim, size, (re, im, toRe, toIm) => {
    const half = Math.floor(size / 2) + 1;
    for (let i = 0; i < size; i++) {
      const at = i < half ? i : size - i;
      toRe[i] = re[at] ?? 0;
      toIm[i] = (i < half ? 1 : -1) * (im[at] ?? 0);
    }
    // What would be an imaginary part of the mean, or of the highest frequency, no real signal has.
    toIm[0] = 0;
    if (size % 2 === 0) toIm[size / 2] = 0;
  });
}

/** The elements of a tensor as complex numbers in C order; real ones have no imaginary part. */
export function* readComplex(tensor: Tensor): Pieces<ComplexArray> {
  if (!isComplex(tensor.dtype)) {
    const re = yield* copiedNumbers(tensor);
    return { re, im: scratch(Float64Array, re.length), sizes: tensor.sizes };
  }
  const parts = tensor.contiguousArray() as FloatArray;
  const pick = (part: number): Pieces<Float64Array> =>
    filled(scratch(Float64Array, tensor.numel), 2, (i) => parts[2 * i + part]);
  return { re: yield* pick(0), im: yield* pick(1), sizes: tensor.sizes };
}
