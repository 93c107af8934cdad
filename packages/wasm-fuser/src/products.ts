import { countUp, f32x4, i32, repeatWhile, v128, when, type Code, type Local } from './code.ts';
import type { FunctionBody, ModuleBuilder } from './module.ts';

/**
 * Matrix products of single precision. Both sides are packed: lines (rows of the left side, columns of the right one) in fours whose elements
 * are interleaved, `[lines / 4][length][4]`, so that the inner loop reads memory in order and edges are nothing special: lines that are
 * missing at the end repeat the last one, and nobody looks at what comes of them. Addresses and strides are in bytes.
 */
export interface ProductFunctions {
  /** Packs `lines` lines of `length` elements. */
  pack(from: number, lineStride: number, step: number, lines: number, length: number, to: number): void;
  /**
   * Packs what lies at `from + depths[i] + positions[line]`: lines are positions of a window, and elements what it covers. Both tables
   * are of 32-bit integers; the last of the positions is repeated up to a multiple of four.
   */
  gather(from: number, positions: number, lines: number, depths: number, length: number, to: number): void;
  /**
   * `c = a · b`, or what is added to `c` where `accumulate` is 1, for `rows` rows and four times `vectors` columns. `aStride` and `bStride`
   * lead from four lines to the next, `cStride` from row to row.
   */
  multiply(
    rows: number,
    vectors: number,
    length: number,
    a: number,
    aStride: number,
    b: number,
    bStride: number,
    c: number,
    cStride: number,
    accumulate: number,
  ): void;
  /** Copies `rows` rows of `byteLength` bytes. */
  copyRows(from: number, fromStride: number, to: number, toStride: number, rows: number, byteLength: number): void;
}

/** Rows that a tile has at most, and columns in vectors: twelve sums, three vectors of columns and an element of a row are all registers there are. */
const TILE_ROWS = 4;
const TILE_VECTORS = 3;
/** Elements that are summed up in a tile before they are added to others: columns of a tile stay in the innermost cache, and sums stay precise. */
const DEPTH = 512;

export function defineProducts(module: ModuleBuilder, isRelaxed: boolean): void {
  module.define('pack', 6, packLines);
  module.define('gather', 6, gatherLines);
  module.define('copyRows', 6, copyRows);
  const tiles = Array.from({ length: TILE_ROWS }, (_, rows) =>
    Array.from({ length: TILE_VECTORS }, (_, vectors) => tile(module, rows + 1, vectors + 1, isRelaxed)),
  );
  module.define('multiply', 10, (body, ...parameters) => multiplyTiles(body, parameters, tiles));
}

/** Four elements side by side of four addresses. */
const fourOf = (addresses: readonly Local[]): Code =>
  addresses.reduce<Code>(
    (vector, address, lane) => (lane === 0 ? v128.loadSplat(address.get) : v128.loadLane(address.get, vector, lane)),
    v128.zero,
  );

function packLines(body: FunctionBody, ...parameters: Local[]): Code {
  const [from, lineStride, step, lines, length, to] = parameters;
  const [line, rest] = body.integers(2);
  const four = body.integers(4);
  const loaded = body.vectors(4);
  const pairs = body.vectors(4);
  const store = (vector: Code, at = 0): Code => v128.store(to.get, vector, 16 * at);
  const [a, b, c, d] = loaded.map(({ get }) => get);
  const [ab, cd, ef, gh] = pairs.map(({ get }) => get);
  const transposed = [
    pairs[0].set(v128.shuffle(a, b, [0, 4, 1, 5])),
    pairs[1].set(v128.shuffle(c, d, [0, 4, 1, 5])),
    pairs[2].set(v128.shuffle(a, b, [2, 6, 3, 7])),
    pairs[3].set(v128.shuffle(c, d, [2, 6, 3, 7])),
    store(v128.shuffle(ab, cd, [0, 1, 4, 5])),
    store(v128.shuffle(ab, cd, [2, 3, 6, 7]), 1),
    store(v128.shuffle(ef, gh, [0, 1, 4, 5]), 2),
    store(v128.shuffle(ef, gh, [2, 3, 6, 7]), 3),
  ];
  const whileRest = (count: number, each: Code): Code =>
    when(
      i32.gt(rest.get, i32.const(count - 1)),
      repeatWhile([each, to.advance(16 * count), rest.advance(-count)], i32.gt(rest.get, i32.const(count - 1))),
    );
  const isBeside = i32.and(i32.eq(lineStride.get, i32.const(4)), i32.gt(lines.get, i32.add(line.get, i32.const(3))));
  return countUp(line, i32.const(0), lines.get, 4, [
    four.map((address, lane) => [
      address.set(i32.add(line.get, i32.const(lane))),
      rest.set(i32.sub(lines.get, i32.const(1))),
      address.set(i32.add(from.get, i32.mul(i32.min(address.get, rest.get), lineStride.get))),
    ]),
    rest.set(length.get),
    when(
      isBeside,
      whileRest(1, [store(v128.load(four[0].get)), four[0].advance(step.get)]),
      when(
        i32.eq(step.get, i32.const(4)),
        whileRest(4, [
          loaded.map((vector, lane) => vector.set(v128.load(four[lane].get))),
          transposed,
          four.map((address) => address.advance(16)),
        ]),
      ),
    ),
    whileRest(1, [store(fourOf(four)), four.map((address) => address.advance(step.get))]),
  ]);
}

function gatherLines(body: FunctionBody, ...parameters: Local[]): Code {
  const [from, positions, lines, depths, length, to] = parameters;
  const [line, depth, end, offset] = body.integers(4);
  const four = body.integers(4);
  const places = body.integers(4);
  const isBeside = [1, 2, 3]
    .map((lane) => i32.eq(i32.sub(four[lane].get, four[0].get), i32.const(4 * lane)))
    .reduce(i32.and);
  const overDepths = (each: Code): Code =>
    countUp(depth, depths.get, end.get, 4, [offset.set(i32.load(depth.get)), each, to.advance(16)]);
  return [
    end.set(i32.add(depths.get, i32.shl(length.get, 2))),
    countUp(line, i32.const(0), lines.get, 4, [
      four.map((place, lane) => place.set(i32.add(from.get, i32.load(positions.get, 4 * lane)))),
      positions.advance(16),
      when(
        isBeside,
        overDepths(v128.store(to.get, v128.load(i32.add(four[0].get, offset.get)))),
        overDepths([
          places.map((place, lane) => place.set(i32.add(four[lane].get, offset.get))),
          v128.store(to.get, fourOf(places)),
        ]),
      ),
    ]),
  ];
}

function copyRows(body: FunctionBody, ...parameters: Local[]): Code {
  const [from, fromStride, to, toStride, rows, byteLength] = parameters;
  const row = body.integer();
  return countUp(row, i32.const(0), rows.get, 1, [
    [to.get, from.get, byteLength.get, 0xfc, 10, 0, 0],
    from.advance(fromStride.get),
    to.advance(toStride.get),
  ]);
}

type Tile = ReturnType<ModuleBuilder['define']>;

/** A function for `rows` rows and `vectors` vectors of columns: `c`, `cStride`, `a`, `b`, `bStride`, `length`, `accumulate`. */
function tile(module: ModuleBuilder, rows: number, vectors: number, isRelaxed: boolean): Tile {
  // An addition waits for the one before it: small tiles have several sums of the same thing, of which each takes every other element.
  const sets = Math.min(4, Math.floor(12 / (rows * vectors)));
  return module.define(null, 7, (body, c, cStride, a, b, bStride, length, accumulate) => {
    const sums = Array.from({ length: sets }, () => body.vectors(rows * vectors));
    const columns = body.vectors(vectors);
    const element = body.vector();
    const right = [b, ...body.integers(vectors - 1)];
    const step = (at: number, sum: readonly Local[]): Code => [
      columns.map((column, vector) => column.set(v128.load(right[vector].get, 16 * at))),
      Array.from({ length: rows }, (_, row) => [
        element.set(v128.loadSplat(a.get, 16 * at + 4 * row)),
        columns.map((column, vector) => {
          const own = sum[row * vectors + vector];
          return own.set(f32x4.multiplyAdd(element.get, column.get, own.get, isRelaxed));
        }),
      ]),
    ];
    const whileLength = (count: number): Code =>
      when(
        i32.gt(length.get, i32.const(count - 1)),
        repeatWhile(
          [
            Array.from({ length: count }, (_, at) => step(at, sums[at % sets])),
            [a, ...right].map((address) => address.advance(16 * count)),
            length.advance(-count),
          ],
          i32.gt(length.get, i32.const(count - 1)),
        ),
      );
    const total = sums[0].map((sum, at) => sums.slice(1).map((other) => sum.set(f32x4.add(sum.get, other[at].get))));
    const perPlace = (each: (sum: Local, offset: number) => Code): Code =>
      Array.from({ length: rows }, (_, row) => [
        sums[0].slice(row * vectors, (row + 1) * vectors).map((sum, vector) => each(sum, 16 * vector)),
        c.advance(cStride.get),
      ]);
    return [
      right.slice(1).map((address, at) => address.set(i32.add(right[at].get, bStride.get))),
      whileLength(Math.max(sets, 2)),
      whileLength(1),
      total,
      when(
        accumulate.get,
        perPlace((sum, offset) => v128.store(c.get, f32x4.add(sum.get, v128.load(c.get, offset)), offset)),
        perPlace((sum, offset) => v128.store(c.get, sum.get, offset)),
      ),
    ];
  });
}

/** The code for a number from 1 on, the last first: most tiles are whole. */
const byNumber = (value: Local, cases: readonly Code[]): Code =>
  cases.reduce((otherwise, code, at) => when(i32.eq(value.get, i32.const(at + 1)), code, otherwise), []);

function multiplyTiles(body: FunctionBody, parameters: readonly Local[], tiles: readonly (readonly Tile[])[]): Code {
  const [rows, vectors, length, a, aStride, b, bStride, c, cStride, accumulate] = parameters;
  const [depth, restVectors, restRows, taken, takenRows, left, right, target, column] = body.integers(9);
  const call = (own: Tile): Code =>
    own(target.get, cStride.get, left.get, right.get, bStride.get, depth.get, accumulate.get);
  const rowsOfTiles = [
    takenRows.set(i32.min(restRows.get, i32.const(TILE_ROWS))),
    byNumber(
      takenRows,
      tiles.map((own) => byNumber(taken, own.map(call))),
    ),
    left.advance(aStride.get),
    target.advance(i32.mul(i32.const(TILE_ROWS), cStride.get)),
    restRows.advance(-TILE_ROWS),
  ];
  const columnsOfTiles = [
    // Two tiles of two vectors take less time than one of three and one of one.
    taken.set(i32.min(restVectors.get, i32.const(TILE_VECTORS))),
    when(i32.eq(restVectors.get, i32.const(4)), taken.set(i32.const(2))),
    left.set(a.get),
    target.set(column.get),
    restRows.set(rows.get),
    repeatWhile(rowsOfTiles, i32.gt(restRows.get, i32.const(0))),
    right.advance(i32.mul(taken.get, bStride.get)),
    column.advance(i32.shl(taken.get, 4)),
    restVectors.set(i32.sub(restVectors.get, taken.get)),
  ];
  return repeatWhile(
    [
      depth.set(i32.min(length.get, i32.const(DEPTH))),
      right.set(b.get),
      column.set(c.get),
      restVectors.set(vectors.get),
      repeatWhile(columnsOfTiles, i32.gt(restVectors.get, i32.const(0))),
      a.advance(16 * DEPTH),
      b.advance(16 * DEPTH),
      accumulate.set(i32.const(1)),
      length.advance(-DEPTH),
    ],
    i32.gt(length.get, i32.const(0)),
  );
}
