/**
 * Special functions of real numbers at double precision, by integrals, recurrences and series that converge fast enough to
 * need no tables. Names are those of `torch.special`.
 */
import { digamma, erfc, erfcx, erfinv, lgamma } from '@cresset/tensorexpr';

/** e^−|x| Iₙ(x) for n = 0, 1: the mean of e^(|x| (cos θ − 1)) cos nθ over a period, which the trapezoid rule gives exactly. */
function scaledBesselI(order: 0 | 1, x: number): number {
  const size = Math.abs(x);
  const sign = order === 1 && x < 0 ? -1 : 1;
  if (Number.isNaN(x)) return NaN;
  if (size > 1e5) return (sign * (1 + (order === 0 ? 1 : -3) / (8 * size))) / Math.sqrt(2 * Math.PI * size);
  const count = 48 + 20 * Math.ceil(Math.sqrt(size));
  let sum = 0;
  for (let at = 0; at < count; at++) {
    const angle = (2 * Math.PI * at) / count;
    sum += Math.exp(size * (Math.cos(angle) - 1)) * (order === 0 ? 1 : Math.cos(angle));
  }
  return (sign * sum) / count;
}

/** To the type that is computed in. */
type Rounding = (value: number) => number;

const exactly: Rounding = (value) => value;

export const i0e = (x: number): number => scaledBesselI(0, x);
export const i1e = (x: number): number => (x === 0 ? 0 : scaledBesselI(1, x));
export const i0 = (x: number, round = exactly): number => i0e(x) * round(Math.exp(Math.abs(x)));
export const i1 = (x: number, round = exactly): number => i1e(x) * round(Math.exp(Math.abs(x)));

/** eˣ Kᵥ(x) = ∫₀^∞ e^(−x (cosh t − 1)) cosh vt dt. */
export function scaledBesselK(order: number, x: number): number {
  if (Number.isNaN(x) || x < 0) return NaN;
  if (x === 0) return Infinity;
  const limit = Math.acosh(1 + 745 / x);
  const step = Math.min(1 / 32, limit / 128);
  let sum = 0.5;
  for (let t = step; t < limit; t += step) sum += Math.exp(-x * (Math.cosh(t) - 1)) * Math.cosh(order * t);
  return sum * step;
}

export const besselK = (order: number, x: number): number => scaledBesselK(order, x) * Math.exp(-x);

/** J₀(x), J₁(x), … for x ≥ 0 by Miller's recurrence downwards, which J₀ + 2 Σ J₂ₖ = 1 puts to scale. */
function besselJs(x: number): Float64Array {
  const top = 2 * Math.ceil((x + 12 + 6 * Math.cbrt(x + 1)) / 2) + 20;
  const values = new Float64Array(top + 2);
  values[top] = 1e-300;
  let total = 0;
  for (let n = top; n > 0; n--) {
    values[n - 1] = (2 * n * values[n]) / x - values[n + 1];
    if (Math.abs(values[n - 1]) > 1e200) for (let k = n - 1; k <= top; k++) values[k] *= 1e-200;
  }
  for (let n = 2; n <= top; n += 2) total += 2 * values[n];
  total += values[0];
  return values.map((value) => value / total);
}

/** Hankel's expansion of Jₙ and Yₙ far out: amplitudes of cosine and sine of x − (2n + 1) π/4. */
function hankel(order: 0 | 1, x: number): { cosine: number; sine: number; angle: number } {
  const mu = 4 * order * order;
  let term = 1;
  let cosine = 1;
  let sine = 0;
  for (let k = 1; k < 12; k++) {
    term *= (mu - (2 * k - 1) ** 2) / (k * 8 * x);
    if (k % 2 === 1) sine += k % 4 === 1 ? term : -term;
    else cosine += k % 4 === 2 ? -term : term;
  }
  return { cosine, sine, angle: x - ((2 * order + 1) * Math.PI) / 4 };
}

const faraway = 60;

function besselJ(order: 0 | 1, x: number): number {
  const size = Math.abs(x);
  const sign = order === 1 && x < 0 ? -1 : 1;
  // Of infinities PyTorch gives none either: there the cosine of the asymptotic formula has no value.
  if (!Number.isFinite(x)) return NaN;
  if (size < 1e-8) return order === 0 ? 1 : x / 2;
  if (size < faraway) return sign * besselJs(size)[order];
  const { cosine, sine, angle } = hankel(order, size);
  return sign * Math.sqrt(2 / (Math.PI * size)) * (cosine * Math.cos(angle) - sine * Math.sin(angle));
}

const gamma = 0.5772156649015329;

/** By Neumann's series over all Jₙ. */
function besselY(order: 0 | 1, x: number): number {
  if (!Number.isFinite(x) || x < 0) return NaN;
  if (x === 0) return -Infinity;
  if (x >= faraway) {
    const { cosine, sine, angle } = hankel(order, x);
    return Math.sqrt(2 / (Math.PI * x)) * (cosine * Math.sin(angle) + sine * Math.cos(angle));
  }
  const j = besselJs(x);
  let sum = 0;
  if (order === 0) {
    for (let k = 1; 2 * k < j.length; k++) sum += ((k % 2 === 1 ? 1 : -1) * j[2 * k]) / k;
    return (2 / Math.PI) * (Math.log(x / 2) + gamma) * j[0] + (4 / Math.PI) * sum;
  }
  // Y₁ = −Y₀′, term by term.
  for (let k = 1; 2 * k + 1 < j.length; k++) sum += ((k % 2 === 1 ? 1 : -1) * (j[2 * k - 1] - j[2 * k + 1])) / k;
  return (2 / Math.PI) * ((Math.log(x / 2) + gamma) * j[1] - j[0] / x - sum);
}

export const besselJ0 = (x: number): number => besselJ(0, x);
export const besselJ1 = (x: number): number => besselJ(1, x);
export const besselY0 = (x: number): number => besselY(0, x);
export const besselY1 = (x: number): number => besselY(1, x);
export const sphericalBesselJ0 = (x: number): number => (x === 0 ? 1 : Math.abs(x) === Infinity ? 0 : Math.sin(x) / x);

/** Values of Ai and −Ai′ at 0. */
const airyAt0 = 0.3550280538878172;
const airySlopeAt0 = 0.2588194037928068;

export function airyAi(x: number): number {
  if (Number.isNaN(x)) return NaN;
  if (x > 4) return (Math.sqrt(x / 3) / Math.PI) * besselK(1 / 3, (2 / 3) * x ** 1.5);
  if (x > -8) return airySeries(x);
  return x === -Infinity ? NaN : airyOscillation(-x);
}

function airySeries(x: number): number {
  const cube = x * x * x;
  let even = airyAt0;
  let odd = -airySlopeAt0 * x;
  let sum = even + odd;
  for (let k = 1; k < 60; k++) {
    even *= cube / (3 * k * (3 * k - 1));
    odd *= cube / (3 * k * (3 * k + 1));
    sum += even + odd;
  }
  return sum;
}

/** Ai(−z) for large z, by its asymptotic expansion. */
function airyOscillation(z: number): number {
  const zeta = (2 / 3) * z ** 1.5;
  let term = 1;
  let cosine = 1;
  let sine = 0;
  for (let k = 1; k < 12; k++) {
    term *= ((6 * k - 5) * (6 * k - 3) * (6 * k - 1)) / (216 * k * (2 * k - 1) * zeta);
    if (k % 2 === 1) sine += k % 4 === 1 ? term : -term;
    else cosine += k % 4 === 2 ? -term : term;
  }
  const angle = zeta - Math.PI / 4;
  return (cosine * Math.cos(angle) + sine * Math.sin(angle)) / (Math.sqrt(Math.PI) * z ** 0.25);
}

/** Bernoulli numbers B₂, B₄, … over (2k)!. */
const bernoulliTerms = [1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600];

/** Hurwitz's ζ(s, q) = Σ (q + k)⁻ˢ, by Euler's and Maclaurin's formula. */
export function zeta(s: number, q: number): number {
  if (s === 1) return Infinity;
  if (s < 1 || Number.isNaN(s) || Number.isNaN(q)) return NaN;
  if (q <= 0) {
    if (q === Math.floor(q)) return Infinity;
    if (!Number.isInteger(s)) return NaN;
  }
  let sum = 0;
  let base = q;
  while (base < 12) sum += (base++) ** -s;
  sum += base ** (1 - s) / (s - 1) + 0.5 * base ** -s;
  let factor = s * base ** (-s - 1);
  bernoulliTerms.forEach((term, k) => {
    sum += term * factor;
    factor *= ((s + 2 * k + 1) * (s + 2 * k + 2)) / (base * base);
  });
  return sum;
}

/** The nth derivative of the digamma function. */
export function polygamma(n: number, x: number): number {
  if (n === 0) return digamma(x);
  if (n === 1 && x < 0.5 && !(x <= 0 && Number.isInteger(x))) {
    const sine = Math.sin(Math.PI * x);
    return (Math.PI * Math.PI) / (sine * sine) - polygamma(1, 1 - x);
  }
  return (n % 2 === 0 ? -1 : 1) * Math.exp(lgamma(n + 1)) * zeta(n + 1, x);
}

/** ln Γₚ(x), the multivariate log-gamma function. */
export function multigammaln(x: number, p: number): number {
  let sum = (p * (p - 1) * Math.log(Math.PI)) / 4;
  for (let j = 0; j < p; j++) sum += lgamma(x - j / 2);
  return sum;
}

/** e⁻ˣ xᵃ / Γ(a + 1); for large a by Stirling's series, where the logarithms would cancel. */
function gammaFactor(a: number, x: number): number {
  if (a < 20) return Math.exp(a * Math.log(x) - x - lgamma(a + 1));
  const inverse = 1 / (a * a);
  const tail = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / a;
  return Math.exp(-a * excess(a, x) - tail) / Math.sqrt(2 * Math.PI * a);
}

/** μ − ln(1 + μ) for 1 + μ = x/a. */
function excess(a: number, x: number): number {
  const mu = (x - a) / a;
  if (Math.abs(mu) > 0.1) return mu - Math.log(x / a);
  let power = mu;
  let sum = 0;
  for (let n = 2; n < 18; n++) sum += (power *= n === 2 ? mu : -mu) / n;
  return sum;
}

/**
 * The regularised lower incomplete gamma function P(a, x), by the kinds of expansion that PyTorch takes: a series, a continued
 * fraction, and near x = a for large a Temme's uniform expansion.
 */
export function gammainc(a: number, x: number): number {
  if (Number.isNaN(a) || Number.isNaN(x) || a < 0 || x < 0) return NaN;
  if (a === 0) return x > 0 ? 1 : NaN;
  if (x === 0) return 0;
  if (a === Infinity) return x === Infinity ? NaN : 0;
  if (x === Infinity) return 1;
  if (isTransition(a, x)) return uniformExpansion(a, x, -1);
  return x > 1 && x > a ? 1 - gammaincc(a, x) : lowerSeries(a, x);
}

/** The upper one, Q(a, x) = 1 − P(a, x). */
export function gammaincc(a: number, x: number): number {
  if (Number.isNaN(a) || Number.isNaN(x) || a < 0 || x < 0) return NaN;
  if (a === 0) return x > 0 ? 0 : NaN;
  if (x === 0) return 1;
  if (a === Infinity) return x === Infinity ? NaN : 1;
  if (x === Infinity) return 0;
  if (isTransition(a, x)) return uniformExpansion(a, x, 1);
  if (x > 1.1) return x < a ? 1 - lowerSeries(a, x) : upperFraction(a, x);
  const isLowerSmall = x <= 0.5 ? -0.4 / Math.log(x) < a : x * 1.1 < a;
  return isLowerSmall ? 1 - lowerSeries(a, x) : upperSeries(a, x);
}

/** Where P and Q go from 0 to 1, in so many terms of the other expansions that they take long. */
const isTransition = (a: number, x: number): boolean => a > 200 && Math.abs(x - a) < 4.5 * Math.sqrt(a);

/**
 * Coefficients of Temme's expansion: row k holds Cₖ as a power series in η, where η²/2 = μ − ln(1 + μ). From μ μ′ = η (1 + μ)
 * follow the powers of μ, from these 1/μ; C₀ = 1/μ − 1/η, and each next one is Cₖ₋₁′/η with its pole at 0 taken off by a
 * multiple of 1/μ.
 */
const temmeRows = ((): readonly Float64Array[] => {
  const size = 40;
  const mu = new Float64Array(size + 2);
  mu[1] = 1;
  for (let n = 2; n <= size; n++) {
    let sum = mu[n - 1];
    for (let k = 2; k < n; k++) sum -= k * mu[k] * mu[n + 1 - k];
    mu[n] = sum / (n + 1);
  }
  // η/μ
  const inverse = new Float64Array(size);
  inverse[0] = 1;
  for (let n = 1; n < size; n++) for (let k = 1; k <= n; k++) inverse[n] -= mu[k + 1] * inverse[n - k];
  const rows = [inverse.slice(1)];
  while (rows.length < 6) {
    const last = rows[rows.length - 1];
    rows.push(last.slice(2).map((value, n) => (n + 2) * value - last[1] * inverse[n + 1]));
  }
  return rows;
})();

/** Q for sign 1, P for −1. */
function uniformExpansion(a: number, x: number, sign: 1 | -1): number {
  const half = excess(a, x);
  const eta = Math.sign(x - a) * Math.sqrt(2 * half);
  const correction = temmeRows.reduceRight(
    (sum, row) => sum / a + row.reduceRight((value, c) => value * eta + c, 0),
    0,
  );
  return (
    erfc(sign * eta * Math.sqrt(a / 2)) / 2 + (sign * Math.exp(-a * half) * correction) / Math.sqrt(2 * Math.PI * a)
  );
}

/** Q for small x, without the difference that would leave nothing of it for small a. */
function upperSeries(a: number, x: number): number {
  let term = 1;
  let sum = 0;
  for (let n = 1; n < 100 && Math.abs(term) > 1e-17 * Math.abs(sum) * (a + n); n++) {
    term *= -x / n;
    sum += term / (a + n);
  }
  const log = a * Math.log(x);
  return -Math.expm1(log - lgammaOfNext(a)) - a * Math.exp(log - lgammaOfNext(a)) * sum;
}

/** ln Γ(1 + a), with its digits for small a too. */
function lgammaOfNext(a: number): number {
  if (a > 0.01) return lgamma(1 + a);
  // −γ a + Σ ζ(n) (−a)ⁿ / n
  let power = a;
  let sum = -gamma * a;
  for (let n = 2; n < 10; n++) sum += (zeta(n, 1) * (power *= n === 2 ? a : -a)) / n;
  return sum;
}

function lowerSeries(a: number, x: number): number {
  let term = 1;
  let sum = 1;
  for (let n = 1; n < 100000 && term > 1e-17 * sum; n++) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * gammaFactor(a, x);
}

/** Lentz's evaluation of the continued fraction. */
function upperFraction(a: number, x: number): number {
  const tiny = 1e-300;
  let b = x + 1 - a;
  let c = 1 / tiny;
  let d = 1 / b;
  let value = d;
  for (let n = 1; n < 10000; n++) {
    const step = -n * (n - a);
    b += 2;
    d = 1 / nonzero(step * d + b, tiny);
    c = nonzero(b + step / c, tiny);
    value *= c * d;
    if (Math.abs(c * d - 1) < 1e-16) break;
  }
  return value * a * gammaFactor(a, x);
}

const nonzero = (value: number, tiny: number): number => (Math.abs(value) < tiny ? tiny : value);

/** ln of the standard normal distribution function. */
export function logNdtr(x: number): number {
  const t = x * Math.SQRT1_2;
  return x < -1 ? Math.log(erfcx(-t) / 2) - t * t : Math.log1p(-erfc(t) / 2);
}

/** The inverse of the standard normal distribution function. */
export function ndtri(p: number): number {
  if (p === 0) return -Infinity;
  if (p === 1) return Infinity;
  let x = Math.SQRT2 * erfinv(2 * p - 1);
  // Where 2p − 1 has lost digits of p, one step of Newton's method on the logarithm brings them back.
  if (p < 1e-3 && Number.isFinite(x)) {
    const log = logNdtr(x);
    x -= (log - Math.log(p)) * Math.exp(log + (x * x) / 2) * Math.sqrt(2 * Math.PI);
  }
  return x;
}

/** A polynomial of a degree, each step rounded to the type that is computed in: what overflows there ends as NaN. */
export type Polynomial = (x: number, degree: number, round?: Rounding) => number;

/** What a polynomial is where that takes no recurrence; null elsewhere. */
type KnownValue = (x: number, degree: number, round: Rounding) => number | null;

/**
 * A polynomial by degree: `P₀ = 1`, `P₁ = first(x)`, and from two neighbours the next. A negative degree gives 0, and so does one that no
 * int64 holds, which C++ makes the smallest of them.
 */
const recurrence =
  (
    first: (x: number) => number,
    next: (x: number, degree: number, current: number, previous: number) => number,
    known: KnownValue = () => null,
  ): Polynomial =>
  (x, given, round = exactly) => {
    const degree = Math.abs(given) < 2 ** 63 ? Math.trunc(given) : -1;
    if (degree < 0) return 0;
    const value = known(x, degree, round);
    if (value !== null) return value;
    let previous = 1;
    if (degree === 0) return previous;
    let current = round(first(x));
    for (let k = 1; k < degree && !Number.isNaN(current); k++) {
      [previous, current] = [current, round(next(x, k, current, previous))];
    }
    return current;
  };

const isEven = (degree: number): boolean => degree % 2 === 0;

/** Chebyshev's polynomials have values at ±1 that need no steps, and those of many degrees are functions of an angle between. */
const chebyshev = (
  first: (x: number) => number,
  degrees: number,
  atOne: (degree: number) => number,
  atMinusOne: (degree: number) => number,
  ofAngle: (angle: number, degree: number, round: Rounding) => number,
): Polynomial =>
  recurrence(
    first,
    (x, _, current, previous) => 2 * x * current - previous,
    (x, degree, round) => {
      if (Math.abs(x) === 1) return x > 0 ? atOne(degree) : atMinusOne(degree);
      return degree > degrees && Math.abs(x) < 1 ? ofAngle(round(Math.acos(x)), degree, round) : null;
    },
  );

const one = (): number => 1;
const alternating = (degree: number): number => (isEven(degree) ? 1 : -1);
const odd = (degree: number): number => 2 * degree + 1;

export const chebyshevT = chebyshev(
  (x) => x,
  6,
  one,
  alternating,
  (angle, degree, round) => Math.cos(round(degree * angle)),
);
export const chebyshevU = chebyshev(
  (x) => 2 * x,
  8,
  (degree) => degree + 1,
  (degree) => alternating(degree) * (degree + 1),
  (angle, degree, round) => Math.sin(round((degree + 1) * angle)) / Math.sin(angle),
);
export const chebyshevV = chebyshev(
  (x) => 2 * x - 1,
  8,
  one,
  (degree) => alternating(degree) * odd(degree),
  (angle, degree, round) => Math.cos(round((degree + 0.5) * angle)) / Math.cos(angle / 2),
);
export const chebyshevW = chebyshev(
  (x) => 2 * x + 1,
  8,
  odd,
  alternating,
  (angle, degree, round) => {
    return Math.sin(round((degree + 0.5) * angle)) / Math.sin(angle / 2);
  },
);

/** Past these degrees PyTorch gives up. */
const hermiteLimit: KnownValue = (_, degree, round) => (degree > (round === exactly ? 512 : 128) ? NaN : null);

export const hermiteH = recurrence(
  (x) => 2 * x,
  (x, k, current, previous) => 2 * x * current - 2 * k * previous,
  hermiteLimit,
);
export const hermiteHe = recurrence(
  (x) => x,
  (x, k, current, previous) => x * current - k * previous,
  hermiteLimit,
);
export const laguerreL = recurrence(
  (x) => 1 - x,
  (x, k, current, previous) => ((2 * k + 1 - x) * current - k * previous) / (k + 1),
  (x) => (x === 0 ? 1 : null),
);
export const legendreP = recurrence(
  (x) => x,
  (x, k, current, previous) => ((2 * k + 1) * x * current - k * previous) / (k + 1),
  (x, degree) => (x === 1 || (x === -1 && isEven(degree)) ? 1 : x === -1 ? -1 : null),
);
