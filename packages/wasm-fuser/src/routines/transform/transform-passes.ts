import { i32, repeatWhile, v128, when, type Code, type Local } from '../../code.ts';
import type { FunctionBody } from '../../module.ts';
import { whileTrue, type Defined } from '../order-elements.ts';
import {
  ComplexSteps,
  ELEMENT_BYTES,
  elementsOn,
  isBelow,
  PART_BYTES,
  type ComplexCode,
  type TransformFloats,
} from './transform-floats.ts';

/**
 * Stockham's algorithm, a pass for each factor of a length and no bit reversal. With `together` = s the product of the factors before, `rest` = m that of
 * those behind, and w the root number 1 of m · radix, a pass makes of elements x and of points 0 ≤ p < m, 0 ≤ q < s, 0 ≤ k < radix
 *
 *     y[q + s (radix p + k)] = w^(p k) · Σ_j x[q + s (p + m j)] · (root number j k of radix)
 */
export function definePass(own: TransformFloats, radix: number): Defined {
  return radix in butterflies ? defineShortPass(own, radix) : defineLongPass(own);
}

type Butterfly = (steps: ComplexSteps, x: readonly ComplexCode[], own: TransformFloats) => readonly ComplexCode[];

const cosine = (number: number, of: number): number => Math.cos((2 * Math.PI * number) / of);
const sine = (number: number, of: number): number => Math.sin((2 * Math.PI * number) / of);

/** What becomes of the elements that meet in a pass. */
const butterflies: Readonly<Record<number, Butterfly>> = {
  2: (steps, [a, b]) => [steps.sum(a, b), steps.difference(a, b)],
  3: (steps, [a, b, c], own) => {
    const sum = steps.sum(b, c);
    const middle = steps.scaledSum(sum, own.constant(cosine(1, 3)), a);
    const [low, high] = steps.crossed(middle, steps.scaled(steps.difference(b, c), own.constant(sine(1, 3))));
    return [steps.sum(a, sum), low, high];
  },
  4: (steps, [a, b, c, d]) => {
    const [even, odd] = [steps.sum(a, c), steps.sum(b, d)];
    const [low, high] = steps.crossed(steps.difference(a, c), steps.difference(b, d));
    return [steps.sum(even, odd), low, steps.difference(even, odd), high];
  },
  5: (steps, [a, b, c, d, e], own) => {
    const [outer, inner] = [steps.sum(b, e), steps.sum(c, d)];
    const [outerTurned, innerTurned] = [steps.difference(b, e), steps.difference(c, d)];
    const [cos1, cos2, sin1, sin2] = [cosine(1, 5), cosine(2, 5), sine(1, 5), sine(2, 5)].map((value) =>
      own.constant(value),
    );
    const middle = (x: Code, y: Code): ComplexCode => steps.scaledSum(inner, y, steps.scaledSum(outer, x, a));
    const turned = (x: Code, y: Code): ComplexCode => steps.scaledSum(innerTurned, y, steps.scaled(outerTurned, x));
    const [first, fourth] = steps.crossed(middle(cos1, cos2), turned(sin1, sin2));
    const [second, third] = steps.crossed(middle(cos2, cos1), turned(sin2, own.constant(-sine(1, 5))));
    return [steps.sum(a, steps.sum(outer, inner)), first, second, third, fourth];
  },
};

/** `pass(from, to, rest, together, roots)` for a small factor. */
function defineShortPass(own: TransformFloats, radix: number): Defined {
  return own.module.define(null, 5, (body, from, to, rest, together, roots) => {
    const [end, span] = body.integers(2);
    const leaps = body.integers(radix - 1);
    const spans = body.integers(radix - 1);
    const turns = Array.from({ length: radix - 1 }, () => ({ re: body.vector(), im: body.vector() }));
    const at = (base: Code, by: readonly { readonly get: Code }[], number: number): Code =>
      number === 0 ? base : i32.add(base, by[number - 1].get);
    const goOverLine = (isTurned: boolean): Code => {
      const steps = new ComplexSteps(own, body);
      const x = Array.from({ length: radix }, (_, j) => steps.load(at(from.get, leaps, j)));
      const y = butterflies[radix](steps, x, own);
      const turned = y.map((value, k) =>
        isTurned && k > 0 ? steps.product(value, { re: turns[k - 1].re.get, im: turns[k - 1].im.get }) : value,
      );
      return [
        end.set(i32.add(from.get, span.get)),
        repeatWhile(
          [
            steps.steps,
            turned.map((value, k) => own.store(at(to.get, spans, k), value)),
            from.advance(ELEMENT_BYTES),
            to.advance(ELEMENT_BYTES),
          ],
          isBelow(from, end.get),
        ),
        to.advance(spans[radix - 2].get),
      ];
    };
    return [
      span.set(i32.mul(together.get, i32.const(ELEMENT_BYTES))),
      spans.map((local, k) => local.set(i32.mul(span.get, i32.const(k + 1)))),
      leaps.map((local, j) => local.set(i32.mul(i32.mul(span.get, rest.get), i32.const(j + 1)))),
      goOverLine(false),
      rest.advance(-1),
      whileTrue(rest.get, [
        turns.map(({ re, im }, k) => [
          re.set(own.splat(roots.get, k * own.pairBytes)),
          im.set(own.splat(roots.get, k * own.pairBytes + own.floatBytes)),
        ]),
        roots.advance((radix - 1) * own.pairBytes),
        goOverLine(true),
        rest.advance(-1),
      ]),
    ];
  });
}

/**
 * `pass(from, to, rest, together, roots, radix, room)` for any prime. With u_j = x_j + x_(radix - j), v_j = x_j - x_(radix - j), results number k and
 * radix - k are A ∓ i B for A = x_0 + Σ_j u_j cos(2π j k / radix), B = Σ_j v_j sin(2π j k / radix).
 */
function defineLongPass(own: TransformFloats): Defined {
  return own.module.define(null, 7, (body, from, to, rest, together, roots, radix, room) => {
    const [span, leap, line, end, low, high, pair, pairEnd] = body.integers(8);
    const [k, number, lowTo, highTo, turns, table] = body.integers(6);
    const complex = () => ({ re: body.vector(), im: body.vector() });
    const [first, total, middle, turned, cross] = [complex(), complex(), complex(), complex(), complex()];
    const code = ({ re, im }: ReturnType<typeof complex>): ComplexCode => ({ re: re.get, im: im.get });
    const set = ({ re, im }: ReturnType<typeof complex>, value: ComplexCode): Code => [
      re.set(value.re),
      im.set(value.im),
    ];
    const rootAt = (base: Code, at: Code): Code => i32.add(base, i32.mul(at, i32.const(own.pairBytes)));
    const stepsOf = (write: (steps: ComplexSteps) => Code): Code => {
      const steps = new ComplexSteps(own, body);
      const last = write(steps);
      return [steps.steps, last];
    };
    const storeTurned = (address: Code, value: ComplexCode, at: Code): Code =>
      stepsOf((steps) => {
        const root = i32.add(turns.get, i32.mul(i32.sub(at, i32.const(1)), i32.const(own.pairBytes)));
        return own.store(address, steps.product(value, { re: own.splat(root), im: own.splat(root, own.floatBytes) }));
      });
    const gather = [
      low.set(i32.add(from.get, leap.get)),
      high.set(i32.add(from.get, i32.mul(leap.get, i32.sub(radix.get, i32.const(1))))),
      pair.set(room.get),
      set(first, own.load(from.get)),
      set(total, code(first)),
      repeatWhile(
        stepsOf((steps) => {
          const [x, y] = [steps.load(low.get), steps.load(high.get)];
          const sum = steps.sum(x, y);
          return [
            own.store(pair.get, sum),
            own.store(pair.get, steps.difference(x, y), ELEMENT_BYTES),
            set(total, steps.sum(code(total), sum)),
            low.advance(leap.get),
            high.set(i32.sub(high.get, leap.get)),
            pair.advance(2 * ELEMENT_BYTES),
          ];
        }),
        isBelow(pair, pairEnd.get),
      ),
      own.store(to.get, code(total)),
    ];
    const sums = [
      set(middle, code(first)),
      turned.re.set(v128.zero),
      turned.im.set(v128.zero),
      number.set(k.get),
      pair.set(room.get),
      repeatWhile(
        stepsOf((steps) => {
          const root = rootAt(table.get, number.get);
          const [u, v] = [own.load(pair.get), own.load(pair.get, ELEMENT_BYTES)];
          // What is kept of roots has a minus before the sine.
          return [
            set(middle, steps.scaledSum(u, steps.keepVector(own.splat(root)), code(middle))),
            set(turned, steps.scaledSum(v, steps.keepVector(own.splat(root, own.floatBytes)), code(turned))),
            number.advance(k.get),
            when(i32.geUnsigned(number.get, radix.get), number.set(i32.sub(number.get, radix.get))),
            pair.advance(2 * ELEMENT_BYTES),
          ];
        }),
        isBelow(pair, pairEnd.get),
      ),
      stepsOf((steps) => {
        const [above, below] = steps.crossed(code(middle), code(turned));
        return [set(cross, above), set(middle, below)];
      }),
      storeTurned(lowTo.get, code(middle), k.get),
      storeTurned(highTo.get, code(cross), i32.sub(radix.get, k.get)),
    ];
    return [
      span.set(i32.mul(together.get, i32.const(ELEMENT_BYTES))),
      leap.set(i32.mul(span.get, rest.get)),
      pairEnd.set(elementsOn(room.get, i32.sub(radix.get, i32.const(1)))),
      table.set(roots.get),
      turns.set(rootAt(roots.get, radix.get)),
      line.set(rest.get),
      repeatWhile(
        [
          end.set(i32.add(from.get, span.get)),
          repeatWhile(
            [
              gather,
              k.set(i32.const(1)),
              lowTo.set(i32.add(to.get, span.get)),
              highTo.set(i32.add(to.get, i32.mul(span.get, i32.sub(radix.get, i32.const(1))))),
              repeatWhile(
                [sums, k.advance(1), lowTo.advance(span.get), highTo.set(i32.sub(highTo.get, span.get))],
                i32.lt(i32.shl(k.get, 1), radix.get),
              ),
              from.advance(ELEMENT_BYTES),
              to.advance(ELEMENT_BYTES),
            ],
            isBelow(from, end.get),
          ),
          to.advance(i32.mul(span.get, i32.sub(radix.get, i32.const(1)))),
          turns.set(rootAt(turns.get, i32.sub(radix.get, i32.const(1)))),
          line.advance(-1),
        ],
        line.get,
      ),
    ];
  });
}

/** `split(from, to, points, roots)`: spectra of real numbers, of which pairs were transformed as complex ones, from those. */
export function defineSplit(own: TransformFloats): Defined {
  return own.module.define(null, 4, (body, from, to, points, roots) => {
    const [mirror, end] = body.integers(2);
    const half = own.constant(0.5);
    return [
      end.set(elementsOn(from.get, points.get)),
      mirror.set(end.get),
      own.store(end.get, own.load(from.get)),
      repeatWhile(
        [
          acrossHalves(own, body, from.get, mirror.get, roots.get, (steps, parts) => {
            const { sum, difference, cos, sin } = parts;
            // sum / 2 + w (difference.im - i difference.re) / 2, of which the roots have the half.
            const re = own.productAdded(
              sin,
              difference.re,
              own.productAdded(cos, difference.im, own.product(sum.re, half)),
            );
            const im = own.difference(
              own.productAdded(sin, difference.im, own.product(sum.im, half)),
              own.product(cos, difference.re),
            );
            return own.store(to.get, steps.keep({ re, im }));
          }),
          advanceHalves(own, from, mirror, to, roots),
        ],
        i32.leUnsigned(from.get, end.get),
      ),
    ];
  });
}

/** `join(from, to, points, roots, sign)`: the other way round, with parts exchanged; `sign` is where that of imaginary parts lies. */
export function defineJoin(own: TransformFloats): Defined {
  return own.module.define(null, 5, (body, from, to, points, roots, sign) => {
    const [mirror, end] = body.integers(2);
    const signs = body.vector();
    const two = own.constant(2);
    return [
      signs.set(own.splat(sign.get)),
      end.set(elementsOn(from.get, points.get)),
      mirror.set(end.get),
      // The mean and the highest frequency of real numbers have no imaginary parts.
      v128.store(from.get, v128.zero, PART_BYTES),
      v128.store(end.get, v128.zero, PART_BYTES),
      repeatWhile(
        [
          acrossHalves(own, body, from.get, mirror.get, roots.get, (steps, { sum, difference, cos, sin }) => {
            const im = steps.keepVector(own.product(sum.im, signs.get));
            const turned = steps.keepVector(own.product(difference.im, signs.get));
            // With o = difference / w, of which the roots have the half: (sum + i o), parts exchanged.
            const oRe = own.productAdded(sin, turned, own.product(cos, difference.re));
            const oIm = own.difference(own.product(cos, turned), own.product(sin, difference.re));
            return own.store(to.get, {
              re: own.productAdded(two, oRe, im),
              im: own.difference(sum.re, own.product(two, oIm)),
            });
          }),
          advanceHalves(own, from, mirror, to, roots),
        ],
        isBelow(from, end.get),
      ),
    ];
  });
}

interface Halves {
  /** x + conj y, x - conj y */
  readonly sum: ComplexCode;
  readonly difference: ComplexCode;
  readonly cos: Code;
  readonly sin: Code;
}

/** With an element and the one that lies opposite. */
function acrossHalves(
  own: TransformFloats,
  body: FunctionBody,
  from: Code,
  mirror: Code,
  root: Code,
  write: (steps: ComplexSteps, parts: Halves) => Code,
): Code {
  const steps = new ComplexSteps(own, body);
  const [x, y] = [steps.load(from), steps.load(mirror)];
  const sum = steps.keep({ re: own.sum(x.re, y.re), im: own.difference(x.im, y.im) });
  const difference = steps.keep({ re: own.difference(x.re, y.re), im: own.sum(x.im, y.im) });
  const [cos, sin] = [steps.keepVector(own.splat(root)), steps.keepVector(own.splat(root, own.floatBytes))];
  const last = write(steps, { sum, difference, cos, sin });
  return [steps.steps, last];
}

function advanceHalves(own: TransformFloats, ...[from, mirror, to, roots]: readonly Local[]): Code {
  return [
    from.advance(ELEMENT_BYTES),
    mirror.advance(-ELEMENT_BYTES),
    to.advance(ELEMENT_BYTES),
    roots.advance(own.pairBytes),
  ];
}
