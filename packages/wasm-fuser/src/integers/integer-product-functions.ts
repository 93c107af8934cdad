import { countUp, i32, i32x4, repeatWhile, v128, when, type Code, type Local } from '../code.ts';
import type { LinearMemory } from '../linear-memory.ts';
import { functionsOf, moduleBytes } from '../load.ts';
import type { FunctionBody, ModuleBuilder } from '../module.ts';
import type { Definition } from '../products.ts';

/** Elements of 16 bits in a vector: lines are as long as so many times a whole number, with zeros behind them on one side at least. */
export const SHORTS = 8;
/** Outputs whose weights lie beside each other, two steps of a line to each. */
export const PANEL = 4;

/** Products of integers of 16 bits, whose sums are those of 32 bits, on an overflow too. */
export interface IntegerProductFunctions {
  /**
   * Makes integers of 16 bits of such of 32. What lies behind a line is read with it, up to a vector: its products are with zeros.
   *
   * @param from `lines` lines, `length` apart
   * @param to as many of `vectors` vectors each
   */
  narrow(from: number, lines: number, length: number, to: number, vectors: number): void;
  /**
   * Multiplies lines with panels of lines.
   *
   * @param left lines of `vectors` vectors
   * @param right panels of so many lines, with two steps of each line beside each other
   * @param sums a line of `panels` vectors for each on the left
   */
  multiply(lines: number, panels: number, vectors: number, left: number, right: number, sums: number): void;
}

type Tile = (...values: Code[]) => Code;

/** Lines and panels of which a tile is made at most: their sums stay in registers. */
const TILE_LINES = 4;
const TILE_PANELS = 2;
/** Pairs of steps in a vector of the left side. */
const PAIRS = SHORTS / 2;

const defineIntegerProducts: Definition = (module) => {
  module.define('narrow', 5, narrowLines);
  const tiles = [1, TILE_LINES].map((lines) => [1, TILE_PANELS].map((panels) => tile(module, lines, panels)));
  module.define('multiply', 6, (body, ...parameters) => multiplyLines(body, parameters, tiles));
};

/** The functions of products of integers over a memory. */
export const loadIntegerProducts = (memory: LinearMemory): IntegerProductFunctions =>
  functionsOf(moduleBytes([defineIntegerProducts], false, memory.isShared), memory);

function narrowLines(body: FunctionBody, ...parameters: Local[]): Code {
  const [from, lines, length, to, vectors] = parameters;
  const [line, vector, at] = body.integers(3);
  const step = [
    v128.store(to.get, i32x4.narrow(v128.load(at.get), v128.load(at.get, 16))),
    at.advance(32),
    to.advance(16),
  ];
  return countUp(line, i32.const(0), lines.get, 1, [
    at.set(from.get),
    countUp(vector, i32.const(0), vectors.get, 1, step),
    from.advance(i32.shl(length.get, 2)),
  ]);
}

/** `tile(left, leftStride, right, rightStride, sums, sumStride, vectors)`: the sums of some lines with some panels. */
function tile(module: ModuleBuilder, lines: number, panels: number): Tile {
  return module.define(null, 7, (body, left, leftStride, right, rightStride, sums, sumStride, vectors) => {
    const totals = body.vectors(lines * panels);
    const columns = body.vectors(panels);
    const pair = body.vector();
    const lefts = [left, ...body.integers(lines - 1)];
    const rights = [right, ...body.integers(panels - 1)];
    const follow = ([, ...others]: readonly Local[], all: readonly Local[], stride: Local): Code =>
      others.map((each, at) => each.set(i32.add(all[at].get, stride.get)));
    const steps = Array.from({ length: PAIRS }, (_, at) => [
      columns.map((column, panel) => column.set(v128.load(rights[panel].get, 16 * at))),
      lefts.map((address, line) => [
        pair.set(v128.loadSplat(address.get, 4 * at)),
        columns.map((column, panel) => {
          const total = totals[line * panels + panel];
          return total.set(i32x4.add(total.get, i32x4.dotShorts(pair.get, column.get)));
        }),
      ]),
    ]);
    return [
      follow(lefts, lefts, leftStride),
      follow(rights, rights, rightStride),
      when(
        vectors.get,
        repeatWhile(
          [
            steps,
            lefts.map((address) => address.advance(16)),
            rights.map((address) => address.advance(16 * PAIRS)),
            vectors.advance(-1),
          ],
          vectors.get,
        ),
      ),
      Array.from({ length: lines }, (_, line) => [
        totals
          .slice(line * panels, (line + 1) * panels)
          .map((total, panel) => v128.store(sums.get, total.get, 16 * panel)),
        sums.advance(sumStride.get),
      ]),
    ];
  });
}

function multiplyLines(body: FunctionBody, parameters: readonly Local[], tiles: readonly (readonly Tile[])[]): Code {
  const [lines, panels, vectors, left, right, sums] = parameters;
  const [leftStride, rightStride, sumStride, panel, line, own, to] = body.integers(7);
  const overLines = (which: number): Code => {
    const together = which === 0 ? 1 : TILE_PANELS;
    const some = (count: number, ofLines: number): Code =>
      when(
        i32.le(line.get, i32.sub(lines.get, i32.const(count))),
        repeatWhile(
          [
            tiles[ofLines][which](
              own.get,
              leftStride.get,
              right.get,
              rightStride.get,
              to.get,
              sumStride.get,
              vectors.get,
            ),
            own.advance(i32.mul(leftStride.get, i32.const(count))),
            to.advance(i32.mul(sumStride.get, i32.const(count))),
            line.advance(count),
          ],
          i32.le(line.get, i32.sub(lines.get, i32.const(count))),
        ),
      );
    return [
      line.set(i32.const(0)),
      own.set(left.get),
      to.set(i32.add(sums.get, i32.shl(panel.get, 4))),
      some(TILE_LINES, 1),
      some(1, 0),
      right.advance(i32.mul(rightStride.get, i32.const(together))),
      panel.advance(together),
    ];
  };
  const some = (count: number, which: number): Code => {
    const isLeft = i32.le(panel.get, i32.sub(panels.get, i32.const(count)));
    return when(isLeft, repeatWhile(overLines(which), isLeft));
  };
  return [
    leftStride.set(i32.shl(vectors.get, 4)),
    rightStride.set(i32.shl(vectors.get, 6)),
    sumStride.set(i32.shl(panels.get, 4)),
    panel.set(i32.const(0)),
    some(TILE_PANELS, 1),
    some(1, 0),
  ];
}
