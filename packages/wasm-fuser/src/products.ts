import { countUp, f32x4, f64x2, i32, repeatWhile, v128, when, type Code, type Local } from './code.ts';
import type { FunctionBody, ModuleBuilder } from './module.ts';

/**
 * Matrix products of single precision. Both sides are packed: lines (rows of the left side, columns of the right one) in fours whose elements
 * are interleaved, `[lines / 4][length][4]`, so that the inner loop reads memory in order and edges are nothing special: lines that are
 * missing at the end repeat the last one, and nobody looks at what comes of them. Addresses and strides are in bytes.
 */
export interface PackingFunctions {
  /** Packs `lines` lines of `length` elements. */
  pack(from: number, lineStride: number, step: number, lines: number, length: number, to: number): void;
}

/** Products of sides that are both packed. */
export interface PackedProductFunctions {
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
}

/** Products of a packed side and images. */
export interface ImageProductFunctions {
  /**
   * Products with images, one after the other: `c[row][line][column] = Σ a[row][i] · b[line · bStride + table[i] + 4 · column]`, for `rows` rows,
   * `lines` lines of an image and four times `vectors` columns. The table is of 32-bit integers, offsets in bytes; `aGroup`, `bGroup` and
   * `cGroup` lead from one product to the next.
   */
  multiplyImage(
    groups: number,
    rows: number,
    lines: number,
    vectors: number,
    length: number,
    a: number,
    aGroup: number,
    b: number,
    bGroup: number,
    bStride: number,
    table: number,
    c: number,
    cGroup: number,
  ): void;
}

/** The tiles that a module has: their rows by the fours of lines that these come from, and their columns in vectors. */
interface TileShapes {
  readonly rows: readonly (readonly number[])[];
  readonly vectors: number;
  /** Lines that are interleaved, and numbers of a vector: four of single precision, two of double. */
  readonly lanes: 2 | 4;
}

/**
 * Twelve sums, columns and an element of a row are all the registers there are. Engines keep the sixteenth for themselves, which an engine that
 * adds a product in one instruction has to do without: it takes six rows of two vectors, and six rows and six more are three fours. Another needs
 * a register for each product too, and is faster with four rows of three vectors.
 */
const relaxedTiles: TileShapes = { rows: [[1], [2], [3], [4], [4, 2]], vectors: 2, lanes: 4 };
const plainTiles: TileShapes = { rows: [[1], [2], [3], [4]], vectors: 3, lanes: 4 };
const doubleTiles: TileShapes = { rows: [[1], [2], [2, 1], [2, 2]], vectors: 3, lanes: 2 };
/** Elements that are summed up in a tile before they are added to others: columns of a tile stay in the innermost cache, and sums stay precise. */
const DEPTH = 512;

/** Defines functions of a kind in a module. */
export type Definition = (module: ModuleBuilder, isRelaxed: boolean) => void;

export const definePacking: Definition = (module) => {
  module.define('pack', 6, packLines);
};

export const definePackedProducts: Definition = (module, isRelaxed) => {
  const tiles = tilesOf(module, isRelaxed ? relaxedTiles : plainTiles, 'packed', isRelaxed);
  module.define('multiply', 10, (body, ...parameters) => multiplyPacked(body, parameters, tiles, 4));
};

export const defineImageProducts: Definition = (module, isRelaxed) => {
  const tiles = tilesOf(module, isRelaxed ? relaxedTiles : plainTiles, 'image', isRelaxed);
  module.define('multiplyImage', 13, (body, ...parameters) => multiplyImage(body, parameters, tiles));
};

/** `PackedProductFunctions` of double precision: of lines in twos, `[lines / 2][length][2]`, and columns in vectors of two. */
export const defineDoubleProducts: Definition = (module, isRelaxed) => {
  const tiles = tilesOf(module, doubleTiles, 'packed', isRelaxed);
  module.define('multiply', 10, (body, ...parameters) => multiplyPacked(body, parameters, tiles, doubleTiles.lanes));
};

const tilesOf = (
  module: ModuleBuilder,
  { rows, vectors, lanes }: TileShapes,
  side: Columns,
  isRelaxed: boolean,
): Tile[][] =>
  rows.map((panels) =>
    Array.from({ length: vectors }, (_, at) => tile(module, panels, at + 1, side, lanes, isRelaxed)),
  );

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

/** How the columns of a tile lie: in packed fours, or beside each other in an image, at the offsets of a table. */
type Columns = 'packed' | 'image';
type Tile = ReturnType<ModuleBuilder['define']>;

/**
 * A function for rows of one or two fours (or twos) of lines and `vectors` vectors of columns: `c`, `aside`, `cStride`, `a`, `beside`, `b`, `next`,
 * `length`, `accumulate`. The rows of the second four are at `beside`, their sums at `aside`; `next` leads from a vector of packed columns to
 * the next, or is where the table of offsets lies.
 */
function tile(
  module: ModuleBuilder,
  panels: readonly number[],
  vectors: number,
  side: Columns,
  lanes: 2 | 4,
  isRelaxed: boolean,
): Tile {
  const { add, multiplyAdd } = lanes === 4 ? f32x4 : f64x2;
  const loadSplat = lanes === 4 ? v128.loadSplat : v128.loadSplatPair;
  const rows = panels.reduce((sum, count) => sum + count, 0);
  // An addition waits for the one before it: small tiles have several sums of the same thing, of which each takes every other element.
  const sets = Math.min(4, Math.floor(12 / (rows * vectors)));
  return module.define(null, 9, (body, c, aside, cStride, a, beside, b, next, length, accumulate) => {
    const sums = Array.from({ length: sets }, () => body.vectors(rows * vectors));
    const columns = body.vectors(vectors);
    const element = body.vector();
    const lefts = [a, beside].slice(0, panels.length);
    const isPacked = side === 'packed';
    const right = isPacked ? [b, ...body.integers(vectors - 1)] : [body.integer()];
    const loadColumns = (at: number): Code =>
      isPacked
        ? columns.map((column, vector) => column.set(v128.load(right[vector].get, 16 * at)))
        : [
            right[0].set(i32.add(b.get, i32.load(next.get, 4 * at))),
            columns.map((column, vector) => column.set(v128.load(right[0].get, 16 * vector))),
          ];
    const step = (at: number, sum: readonly Local[]): Code => [
      loadColumns(at),
      panels.map((count, panel) =>
        Array.from({ length: count }, (_, row) => [
          element.set(loadSplat(lefts[panel].get, 16 * at + (16 / lanes) * row)),
          columns.map((column, vector) => {
            const own = sum[(lanes * panel + row) * vectors + vector];
            return own.set(multiplyAdd(element.get, column.get, own.get, isRelaxed));
          }),
        ]),
      ),
    ];
    const whileLength = (count: number): Code =>
      when(
        i32.gt(length.get, i32.const(count - 1)),
        repeatWhile(
          [
            Array.from({ length: count }, (_, at) => step(at, sums[at % sets])),
            [...lefts, ...(isPacked ? right : [])].map((address) => address.advance(16 * count)),
            isPacked ? [] : next.advance(4 * count),
            length.advance(-count),
          ],
          i32.gt(length.get, i32.const(count - 1)),
        ),
      );
    const total = sums[0].map((sum, at) => sums.slice(1).map((other) => sum.set(add(sum.get, other[at].get))));
    const perPlace = (each: (sum: Local, address: Code, offset: number) => Code): Code =>
      panels.map((count, panel) => {
        const place = [c, aside][panel];
        return Array.from({ length: count }, (_, row) => [
          sums[0]
            .slice((lanes * panel + row) * vectors, (lanes * panel + row + 1) * vectors)
            .map((sum, vector) => each(sum, place.get, 16 * vector)),
          place.advance(cStride.get),
        ]);
      });
    return [
      isPacked ? right.slice(1).map((address, at) => address.set(i32.add(right[at].get, next.get))) : [],
      whileLength(Math.max(sets, 2)),
      whileLength(1),
      total,
      when(
        accumulate.get,
        perPlace((sum, place, offset) => v128.store(place, add(sum.get, v128.load(place, offset)), offset)),
        perPlace((sum, place, offset) => v128.store(place, sum.get, offset)),
      ),
    ];
  });
}

/** The code for a number from 1 on, the last first: most tiles are whole. */
const byNumber = (value: Local, cases: readonly Code[]): Code =>
  cases.reduce((otherwise, code, at) => when(i32.eq(value.get, i32.const(at + 1)), code, otherwise), []);

/** What a block of tiles is made of. */
interface TileBlock {
  readonly rows: Local;
  readonly vectors: Local;
  /** Elements of a line in this block. */
  readonly depth: Local;
  readonly a: Local;
  readonly aStride: Local;
  readonly b: Local;
  /** Leads from a vector of columns to the next. */
  readonly bStride: Code;
  /** As tiles take it. */
  readonly next: Code;
  readonly c: Local;
  readonly cStride: Local;
  readonly accumulate: Local;
  readonly lanes: 2 | 4;
}

/** All tiles of a block: those of the same columns after each other. */
function overTiles(body: FunctionBody, block: TileBlock, tiles: readonly (readonly Tile[])[]): Code {
  const { rows, vectors, depth, a, aStride, b, bStride, next, c, cStride, accumulate, lanes: together } = block;
  const [restVectors, restRows, taken, takenRows, left, right, target, column] = body.integers(8);
  const after = (address: Local, stride: Local, times: number): Code =>
    i32.add(address.get, i32.mul(stride.get, i32.const(times)));
  /** `first` and `second` say by how many rows the fours of lines are from here, and their sums. */
  const call = (own: readonly Tile[], [first, second]: readonly [number, number] = [0, together]): Code => {
    const lines = (row: number): Code =>
      i32.add(after(left, aStride, Math.floor(row / together)), i32.const((16 / together) * (row % together)));
    return byNumber(
      taken,
      own.map((tile) =>
        tile(
          after(target, cStride, first),
          after(target, cStride, second),
          cStride.get,
          lines(first),
          lines(second),
          right.get,
          next,
          depth.get,
          accumulate.get,
        ),
      ),
    );
  };
  const goOn = (lines: number): Code => [
    left.set(after(left, aStride, lines / together)),
    target.set(after(target, cStride, lines)),
    restRows.advance(-lines),
  ];
  const [six] = tiles.slice(4);
  const fours = [
    takenRows.set(i32.min(restRows.get, i32.const(4))),
    byNumber(
      takenRows,
      tiles.slice(0, 4).map((own) => call(own)),
    ),
    goOn(4),
  ];
  const rowsOfTiles = six
    ? when(
        i32.gt(restRows.get, i32.const(11)),
        [call(six), call(six, [8, 6]), goOn(12)],
        when(i32.eq(restRows.get, i32.const(6)), [call(six), restRows.set(i32.const(0))], fours),
      )
    : fours;
  const most = tiles[0].length;
  return [
    right.set(b.get),
    column.set(c.get),
    restVectors.set(vectors.get),
    repeatWhile(
      [
        taken.set(i32.min(restVectors.get, i32.const(most))),
        // Two tiles of two vectors take less time than one of three and one of one.
        when(i32.eq(restVectors.get, i32.const(4)), taken.set(i32.const(2))),
        left.set(a.get),
        target.set(column.get),
        restRows.set(rows.get),
        repeatWhile(rowsOfTiles, i32.gt(restRows.get, i32.const(0))),
        right.advance(i32.mul(taken.get, bStride)),
        column.advance(i32.shl(taken.get, 4)),
        restVectors.set(i32.sub(restVectors.get, taken.get)),
      ],
      i32.gt(restVectors.get, i32.const(0)),
    ),
  ];
}

/** Runs `block` for `DEPTH` elements after the other, with so many of them in `depth`. */
const byDepth = (depth: Local, rest: Local, accumulate: Local, block: Code): Code =>
  repeatWhile(
    [depth.set(i32.min(rest.get, i32.const(DEPTH))), block, accumulate.set(i32.const(1)), rest.advance(-DEPTH)],
    i32.gt(rest.get, i32.const(0)),
  );

function multiplyPacked(
  body: FunctionBody,
  parameters: readonly Local[],
  tiles: readonly (readonly Tile[])[],
  lanes: 2 | 4,
): Code {
  const [rows, vectors, length, a, aStride, b, bStride, c, cStride, accumulate] = parameters;
  const depth = body.integer();
  const block = {
    rows,
    vectors,
    depth,
    a,
    aStride,
    b,
    bStride: bStride.get,
    next: bStride.get,
    c,
    cStride,
    accumulate,
    lanes,
  };
  return byDepth(depth, length, accumulate, [
    overTiles(body, block, tiles),
    a.advance(16 * DEPTH),
    b.advance(16 * DEPTH),
  ]);
}

function multiplyImage(body: FunctionBody, parameters: readonly Local[], tiles: readonly (readonly Tile[])[]): Code {
  const [groups, rows, lines, vectors, length, a, aGroup, b, bGroup, bStride, table, c, cGroup] = parameters;
  const [group, line, depth, rest, left, right, column, offsets, aStride, cStride, cLine, accumulate] =
    body.integers(12);
  const block: TileBlock = {
    rows,
    vectors,
    depth,
    a: left,
    aStride,
    b: right,
    bStride: i32.const(16),
    next: offsets.get,
    c: column,
    cStride,
    accumulate,
    lanes: 4,
  };
  return [
    aStride.set(i32.shl(length.get, 4)),
    cLine.set(i32.shl(vectors.get, 4)),
    cStride.set(i32.mul(cLine.get, lines.get)),
    countUp(group, i32.const(0), groups.get, 1, [
      left.set(a.get),
      offsets.set(table.get),
      rest.set(length.get),
      accumulate.set(i32.const(0)),
      byDepth(depth, rest, accumulate, [
        right.set(b.get),
        column.set(c.get),
        countUp(line, i32.const(0), lines.get, 1, [
          overTiles(body, block, tiles),
          right.advance(bStride.get),
          column.advance(cLine.get),
        ]),
        left.advance(16 * DEPTH),
        offsets.advance(4 * DEPTH),
      ]),
      a.advance(aGroup.get),
      b.advance(bGroup.get),
      c.advance(cGroup.get),
    ]),
  ];
}
