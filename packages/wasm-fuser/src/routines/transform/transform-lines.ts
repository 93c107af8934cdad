import { i32, repeatWhile, v128, when, type Code, type Local } from '../../code.ts';
import type { FunctionBody } from '../../module.ts';
import { whileTrue, type Defined } from '../order-elements.ts';
import { ELEMENT_BYTES, isBelow, PART_BYTES, type TransformFloats } from './transform-floats.ts';

/** What both functions here are told beside each other: see `defineLoad`. */
const PARAMETERS = 8;

/**
 * `load(address, inner, element, imaginary, count, lines, to, exchange)`: elements of lines, the first at `address`, side by side in vectors. In bytes
 * go `inner` from line to line, `element` within a line and `imaginary` from a real part to its imaginary one, 0 where there is none. Where there are fewer
 * lines than lanes the last one stands in several. `exchange` is the place of real parts, 0 or 16.
 */
export function defineLoad(own: TransformFloats): Defined {
  return own.module.define(null, PARAMETERS, (body, address, inner, element, imaginary, count, lines, to, exchange) => {
    const way = new Way(own, body, { address, inner, element, imaginary, count, lines, lane: to, exchange });
    const { re, im, end } = way;
    const columns = repeatWhile(
      [
        way.low.set(v128.load(address.get)),
        way.high.set(v128.load(address.get, 16)),
        storeParts(own, way, way.low.get, way.high.get),
        address.advance(element.get),
        way.advance(1),
      ],
      isBelow(re, end.get),
    );
    const single = (isComplex: boolean): Code => {
      const gathered = (part: Code, vector: Local): Code => [
        vector.set(v128.zero),
        way.pointers.map((pointer, lane) => vector.set(own.loadLane(i32.add(pointer.get, part), vector.get, lane))),
      ];
      return [
        gathered(i32.const(0), way.low),
        v128.store(re.get, way.low.get),
        isComplex
          ? [gathered(imaginary.get, way.high), v128.store(im.get, way.high.get)]
          : v128.store(im.get, v128.zero),
        way.pointers.map((pointer) => pointer.advance(element.get)),
        way.advance(1),
      ];
    };
    /** What lies in order in memory comes in whole vectors, which are turned. */
    const turned = (): Code => {
      const rows = body.vectors(own.lanes);
      const loads = rows.map((row, lane) => row.set(v128.load(way.pointers[lane].get)));
      const steps = way.pointers.map((pointer) => pointer.advance(16));
      if (own.lanes === 2) return [loads, steps, storeParts(own, way, rows[0].get, rows[1].get), way.advance(1)];
      const columnsOf = turn(
        rows.map((row) => row.get),
        body,
      );
      return [
        loads,
        steps,
        columnsOf.steps,
        [re, im, re, im].map((place, at) => v128.store(place.get, columnsOf.columns[at], at < 2 ? 0 : ELEMENT_BYTES)),
        way.advance(2),
      ];
    };
    return way.choose(columns, turned(), single);
  });
}

/** `store(address, inner, element, imaginary, count, lines, from, exchange, factors)`: the other way round; parts times a factor each. */
export function defineStore(own: TransformFloats): Defined {
  return own.module.define(
    null,
    PARAMETERS + 1,
    (body, address, inner, element, imaginary, count, lines, from, exchange, factors) => {
      const way = new Way(own, body, { address, inner, element, imaginary, count, lines, lane: from, exchange });
      const { re, im, end } = way;
      const [reFactor, imFactor] = body.vectors(2);
      const real = (offset = 0): Code => own.product(v128.load(re.get, offset), reFactor.get);
      const imaginaryPart = (offset = 0): Code => own.product(v128.load(im.get, offset), imFactor.get);
      const fetched = [way.low.set(real()), way.high.set(imaginaryPart())];
      const pairs = own.pairs(way.low.get, way.high.get);
      const columns = repeatWhile(
        [
          fetched,
          pairs.map((pair, at) => v128.store(address.get, pair, 16 * at)),
          address.advance(element.get),
          way.advance(1),
        ],
        isBelow(re, end.get),
      );
      const single = (isComplex: boolean): Code => [
        fetched,
        way.pointers.map((pointer, lane) => own.storeLane(pointer.get, way.low.get, lane)),
        isComplex
          ? way.pointers.map((pointer, lane) => own.storeLane(i32.add(pointer.get, imaginary.get), way.high.get, lane))
          : [],
        way.pointers.map((pointer) => pointer.advance(element.get)),
        way.advance(1),
      ];
      const turned = (): Code => {
        const steps = way.pointers.map((pointer) => pointer.advance(16));
        if (own.lanes === 2) {
          const stores = pairs.map((pair, lane) => v128.store(way.pointers[lane].get, pair));
          return [fetched, stores, steps, way.advance(1)];
        }
        const rows = body.vectors(4);
        const parts = [real(), imaginaryPart(), real(ELEMENT_BYTES), imaginaryPart(ELEMENT_BYTES)];
        const { steps: turning, columns: turnedLines } = turn(
          rows.map((row) => row.get),
          body,
        );
        return [
          rows.map((row, at) => row.set(parts[at])),
          turning,
          turnedLines.map((line, lane) => v128.store(way.pointers[lane].get, line)),
          steps,
          way.advance(2),
        ];
      };
      return [
        reFactor.set(own.splat(factors.get)),
        imFactor.set(own.splat(factors.get, 8)),
        way.choose(columns, turned(), single),
      ];
    },
  );
}

interface LineParameters {
  readonly address: Local;
  readonly inner: Local;
  readonly element: Local;
  readonly imaginary: Local;
  readonly count: Local;
  readonly lines: Local;
  /** Where lanes lie. */
  readonly lane: Local;
  readonly exchange: Local;
}

/** How lines lie, and where it is at in them. */
class Way {
  readonly re: Local;
  readonly im: Local;
  readonly end: Local;
  readonly low: Local;
  readonly high: Local;
  readonly pointers: readonly Local[];
  readonly #index: Local;

  constructor(
    private readonly own: TransformFloats,
    body: FunctionBody,
    private readonly given: LineParameters,
  ) {
    [this.re, this.im, this.end, this.#index] = body.integers(4);
    [this.low, this.high] = body.vectors(2);
    this.pointers = body.integers(own.lanes);
  }

  advance(elements: number): Code {
    return [this.re, this.im].map((place) => place.advance(elements * ELEMENT_BYTES));
  }

  /**
   * @param columns for complex numbers whose lines lie side by side
   * @param turned for complex numbers that lie in order, in vectors
   * @param single for all others
   */
  choose(columns: Code, turned: Code, single: (isComplex: boolean) => Code): Code {
    const { own, given, re, im, end, pointers } = this;
    const { address, inner, element, imaginary, count, lines, lane, exchange } = given;
    const isPair = i32.eq(imaginary.get, i32.const(own.floatBytes));
    const isFull = i32.eq(lines.get, i32.const(own.lanes));
    const pair = i32.const(own.pairBytes);
    const together = own.lanes / 2;
    const rest = end.set(i32.add(re.get, i32.mul(this.#index.get, i32.const(ELEMENT_BYTES))));
    return [
      re.set(i32.add(lane.get, exchange.get)),
      im.set(i32.add(lane.get, i32.sub(i32.const(PART_BYTES), exchange.get))),
      this.#index.set(count.get),
      when(
        i32.and(i32.and(isPair, isFull), i32.eq(inner.get, pair)),
        [rest, columns],
        [
          pointers.map((pointer, at) => {
            const last = i32.sub(lines.get, i32.const(1));
            return pointer.set(i32.add(address.get, i32.mul(inner.get, i32.min(i32.const(at), last))));
          }),
          when(i32.and(isPair, i32.eq(element.get, pair)), [
            this.#index.set(i32.and(count.get, i32.const(-together))),
            rest,
            whileTrue(isBelow(re, end.get), turned),
            this.#index.set(i32.and(count.get, i32.const(together - 1))),
          ]),
          rest,
          when(
            imaginary.get,
            whileTrue(isBelow(re, end.get), single(true)),
            whileTrue(isBelow(re, end.get), single(false)),
          ),
        ],
      ),
    ];
  }
}

const storeParts = (own: TransformFloats, { re, im }: Way, low: Code, high: Code): Code => {
  const parts = own.parts(low, high);
  return [v128.store(re.get, parts.re), v128.store(im.get, parts.im)];
};

/** Four vectors of four as a square that is turned. */
function turn(rows: readonly Code[], body: FunctionBody): { readonly steps: Code; readonly columns: readonly Code[] } {
  const halves = body.vectors(4);
  const [a, b, c, d] = rows;
  const [lowFirst, highFirst, lowLast, highLast] = halves.map(({ get }) => get);
  return {
    steps: [
      halves[0].set(v128.shuffle(a, b, [0, 4, 1, 5])),
      halves[1].set(v128.shuffle(a, b, [2, 6, 3, 7])),
      halves[2].set(v128.shuffle(c, d, [0, 4, 1, 5])),
      halves[3].set(v128.shuffle(c, d, [2, 6, 3, 7])),
    ],
    columns: [
      v128.shuffle(lowFirst, lowLast, [0, 1, 4, 5]),
      v128.shuffle(lowFirst, lowLast, [2, 3, 6, 7]),
      v128.shuffle(highFirst, highLast, [0, 1, 4, 5]),
      v128.shuffle(highFirst, highLast, [2, 3, 6, 7]),
    ],
  };
}
