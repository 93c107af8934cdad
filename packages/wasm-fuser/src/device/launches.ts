import { CressetError } from '@cresset/ir';
import { LINE_DONE, LINE_WORDS } from '../routines/routine-functions.ts';
import { perform, type Call, type Task, type ThreadModule } from '../threads/task.ts';
import type { ThreadPool } from '../threads/thread-pool.ts';
import { runAttention } from './attention.ts';
import { aligned, type ImageLayout } from './image-layout.ts';
import { floatBytes, type KeptLines, type MemoryHost, type Place } from './launch-memory.ts';
import {
  PIECE_STEPS,
  type PreparedContraction,
  type PreparedKernel,
  type PreparedNest,
  type PreparedRoutine,
} from './programs.ts';
import type { ProductModules } from './product-modules.ts';
import type { Work } from './turns.ts';

/** Rows and columns of which tiles of any shape are made. */
const TILE_ROWS = 12;
const TILE_COLUMNS = 24;
/** Elements of packed lines that are multiplied at once, and of their sums: they stay in the second cache. */
const BLOCK = 1 << 18;
const SUMS = 1 << 17;
/** Rows, and columns for each thread, that are multiplied at once at most: tiles lie alike however many threads there are. */
const ROWS = 1024;
const COLUMNS = 43 * TILE_COLUMNS;
/** Elements of the left side that are kept packed while columns go by. */
const WHOLE_LEFT = 1 << 22;
/** Steps of points, multiplications and elements to pack below which a part of the work is not worth a thread's waking up: some ten microseconds. */
const PART = { steps: 1 << 16, products: 1 << 18, packed: 1 << 15 };
/** As many multiplications take as long as an element that is packed, and one that is stored. */
const PACKED_PRODUCTS = PART.products / PART.packed;
const STORED_PRODUCTS = 16;
/** Tiles of fewer rows take as long. */
const LEAST_TILE_ROWS = 4;
/** Lines of one side of a product: where they lie packed, or are to lie. */
interface Lines {
  readonly first: number;
  readonly count: number;
  readonly at: number;
  readonly isPacked: boolean;
}

/** Runs prepared kernels over the memory, with lines packed in scratch memory of its own. What is worth it is shared with threads that help. */
export class Launches {
  #scratch = 0;
  #scratchBytes = 0;

  constructor(
    private readonly host: MemoryHost,
    private readonly products: ProductModules,
    private readonly threads: ThreadPool | null,
  ) {}

  /** Whether a launch is one piece of work: `runAtOnce` does it. */
  isShort(prepared: PreparedKernel): prepared is PreparedNest {
    return prepared.kind === 'nest' && prepared.points <= prepared.pointsAtOnce;
  }

  /** Does a launch, with its block written. */
  *run(prepared: PreparedKernel, block: number, places: readonly Place[], kept: KeptLines | null): Work {
    if (prepared.kind === 'contraction') {
      // A right side that stays packed is not worked out at all.
      const { image } = prepared;
      if (image && (kept?.at('right', 0) ?? null) === null) {
        yield* this.#multiplyImage(prepared, image, block, places, kept);
      } else yield* this.multiply(prepared, block, places, kept, 0, prepared.batch);
      return;
    }
    if (prepared.kind === 'attention') {
      yield* runAttention(this, this.host, prepared, block, places);
      return;
    }
    if (prepared.kind === 'routine') {
      yield* this.#runRoutine(prepared, block);
      return;
    }
    const { points, pointsAtOnce } = prepared;
    for (let from = 0; from < points; from += pointsAtOnce) {
      if (from > 0) yield;
      this.runPoints(prepared, block, from, Math.min(points, from + pointsAtOnce));
    }
  }

  /** Goes over points of a nest. */
  runPoints(
    { functions, module, steps, points, pointsTogether, sequences }: PreparedNest,
    block: number,
    from: number,
    to: number,
  ): void {
    const { count, together } = sequences ?? { count: to - from, together: pointsTogether };
    const work = (steps / points) * (to - from);
    const parts = module === null ? [] : this.#partsOf(count, together, work, PART.steps);
    if (parts.length < 2) {
      functions.run(block, from, to, 0, count);
      return;
    }
    if (sequences) {
      this.#do(parts.map(([first, end]) => [callOf({ functions, module }, 'run', block, from, to, first, end)]));
      return;
    }
    this.threads!.run(
      parts.map(([start, end]) => [callOf({ functions, module }, 'run', block, from + start, from + end)]),
    );
  }

  /**
   * Stretches of `count` things, of which there are as many as threads may do beside each other: some for each, since no two threads are equally fast.
   * One stretch where the whole is too little.
   */
  #partsOf(count: number, together: number, work: number, least: number): [start: number, end: number][] {
    const { size, grain } = this.threads ?? { size: 0, grain: 1 };
    const wanted = Math.min(4 * size, Math.floor(work / (least * grain)));
    const length = Math.max(1, Math.ceil(count / Math.max(1, wanted) / together)) * together;
    return Array.from({ length: Math.ceil(count / length) }, (_, at) => [
      at * length,
      Math.min(count, (at + 1) * length),
    ]);
  }

  #do(tasks: readonly Task[]): void {
    if (this.threads) this.threads.run(tasks);
    else tasks.forEach(perform);
  }

  /** Lines of a routine, short ones some at a time, long ones up to their stops; each thread has memory of its own to work in. */
  *#runRoutine(prepared: PreparedRoutine, block: number): Work {
    const { lines, stepsOfLine, scratchBytes, table } = prepared.lines;
    const isLong = stepsOfLine > PIECE_STEPS;
    const atOnce = isLong ? (this.threads?.size ?? 1) : Math.max(1, Math.floor(PIECE_STEPS / stepsOfLine));
    const bytes = aligned(scratchBytes);
    const partsOf = (count: number): readonly (readonly [number, number])[] =>
      isLong
        ? Array.from({ length: count }, (_, at) => [at, at + 1])
        : this.#partsOf(count, 1, count * stepsOfLine, PART.steps);
    const tableBytes = aligned(table?.byteLength ?? 0);
    const taken = this.host.takeMemory(tableBytes + bytes * partsOf(Math.min(atOnce, lines)).length);
    const scratch = taken + tableBytes;
    try {
      if (table) new Uint8Array(this.host.linear.memory.buffer, taken, table.byteLength).set(table);
      for (let from = 0; from < lines; from += atOnce) {
        if (from > 0) yield;
        const parts = partsOf(Math.min(atOnce, lines - from)).map(([start, end], at) => ({
          call: callOf(prepared, 'run', block, from + start, from + end, scratch + at * bytes, isLong ? 0 : 1, taken),
          state: (scratch + at * bytes) >>> 2,
        }));
        for (const { state } of parts) this.host.linear.integers.fill(0, state, state + 2);
        for (let left = parts; left.length > 0;) {
          if (left !== parts) yield;
          // Short lines are done at once: nobody asks how far they were.
          const before = isLong
            ? left.map(({ state }) => this.host.linear.integers.slice(state, state + LINE_WORDS))
            : [];
          this.#do(left.map(({ call }) => [call]));
          const { integers } = this.host.linear;
          left = left.filter(({ state }, at) => {
            if (integers[state] === LINE_DONE) return false;
            if (isLong && before[at].some((word, place) => word !== integers[state + place])) return true;
            throw new CressetError(
              'DEVICE_ERROR',
              `${prepared.label} is not done with a line, and does not go on with it`,
            );
          });
        }
      }
    } finally {
      this.host.linear.give(taken);
    }
  }

  /** Does some products of the batch, of packed sides. */
  *multiply(
    prepared: PreparedContraction,
    block: number,
    places: readonly Place[],
    kept: KeptLines | null,
    first: number,
    end: number,
  ): Work {
    const { m, n, k, shared } = prepared;
    const depth = Math.max(k, 1);
    const threads = this.threads?.size ?? 1;
    const lines = (elements: number, most: number): number =>
      Math.min(most, Math.max(4, Math.floor(elements / depth / 4) * 4));
    const height = Math.min(m, lines(BLOCK, ROWS));
    // Threads have stretches of columns, each in a second cache of its own.
    const columnsOfSums = Math.floor((threads * SUMS) / height / 12) * 12;
    const width = Math.min(n, Math.max(12, Math.min(lines(BLOCK, threads * COLUMNS), columnsOfSums)));
    const isWhole = m * k <= WHOLE_LEFT;
    const size = floatBytes(prepared);
    const bytesOf = (count: number): number => 4 * size * Math.ceil(count / 4) * depth;
    const sizes = [bytesOf(isWhole ? m : height), bytesOf(width), 4 * size * height * Math.ceil(width / 4)];
    const scratch = this.#take(sizes.reduce((sum, size) => sum + size, 0));
    const [leftAt, rightAt, sums] = [scratch, scratch + sizes[0], scratch + sizes[0] + sizes[1]];
    let done = 0;
    for (let b = first; b < end; b++) {
      const keptLeft = kept?.at('left', b) ?? null;
      const keptRight = kept?.at('right', b) ?? null;
      for (let j = 0; j < n; j += width) {
        const columns = Math.min(width, n - j);
        const hasRight = keptRight !== null || (shared.right && b > first && columns === n);
        const right = { at: keptRight === null ? rightAt : keptRight + size * j * k, isPacked: hasRight };
        for (let i = 0; i < m; i += height) {
          const rows = Math.min(height, m - i);
          const isPacked = keptLeft !== null || (isWhole && (j > 0 || (shared.left && b > first)));
          const own = isWhole ? leftAt + size * i * k : leftAt;
          const left = { at: keptLeft === null ? own : keptLeft + size * i * k, isPacked };
          this.#multiplyBlock(
            prepared,
            block,
            places,
            b,
            { ...left, first: i, count: rows },
            { ...right, first: j, count: columns },
            sums,
          );
          right.isPacked = true;
          done += rows * columns * depth;
          if (done < PIECE_STEPS) continue;
          done = 0;
          yield;
        }
      }
    }
  }

  /**
   * Multiplies a block of lines and stores what comes of it: stretches of its longer side beside each other, whose lines are packed by who multiplies them.
   */
  #multiplyBlock(
    prepared: PreparedContraction,
    block: number,
    places: readonly Place[],
    batch: number,
    left: Lines,
    right: Lines,
    sums: number,
  ): void {
    const { k } = prepared;
    const isTall = left.count / TILE_ROWS > right.count / TILE_COLUMNS;
    const [long, short] = isTall ? [left, right] : [right, left];
    const [longSide, shortSide] = isTall ? (['left', 'right'] as const) : (['right', 'left'] as const);
    if (!short.isPacked) this.packLines(prepared, shortSide, block, places, batch, short.first, short.count, short.at);
    const packed = long.isPacked ? 0 : long.count * k * PACKED_PRODUCTS;
    const work = left.count * right.count * (k + STORED_PRODUCTS) + packed;
    const size = floatBytes(prepared);
    const products = size === 4 ? this.products.packed() : this.products.doubles();
    let to = sums;
    const tasks = this.#partsOf(long.count, isTall ? TILE_ROWS : TILE_COLUMNS, work, PART.products).map(
      ([start, end]) => {
        const own = { ...long, first: long.first + start, count: end - start, at: long.at + size * start * k };
        const [a, b] = isTall ? [own, short] : [short, own];
        const vectors = Math.ceil((b.count * size) / 16);
        const [stride, from] = [16 * vectors, to];
        to += a.count * stride;
        const [m, mEnd, n, nEnd] = [a.first, a.first + a.count, b.first, b.first + b.count];
        const calls = [
          callOf(products, 'multiply', a.count, vectors, k, a.at, 16 * k, b.at, 16 * k, from, stride, 0),
          callOf(prepared, 'store', block, batch, batch + 1, m, mEnd, n, nEnd, from, stride, 0),
        ];
        if (long.isPacked) return calls;
        return [this.#packing(prepared, longSide, block, places, batch, own.first, own.count, own.at), ...calls];
      },
    );
    this.#do(tasks);
  }

  *#multiplyImage(
    prepared: PreparedContraction,
    layout: ImageLayout,
    block: number,
    places: readonly Place[],
    kept: KeptLines | null,
  ): Work {
    const { batch, m, k, shared } = prepared;
    const { lines, bandLines, vectors, imageBytes, leftBytes, table } = layout;
    const together = layout.groups;
    const tableAt = this.#take(layout.scratchBytes);
    const leftAt = tableAt + aligned(table.byteLength);
    const imageAt = leftAt + aligned(together * leftBytes);
    const sums = imageAt + aligned(together * imageBytes);
    this.host.linear.integers.set(table, tableAt >>> 2);
    let done = 0;
    for (let b = 0; b < batch; b += together) {
      const groups = Math.min(together, batch - b);
      const keptLeft = kept?.at('left', b) ?? null;
      const packed = !shared.left ? groups : b === 0 ? 1 : 0;
      for (let group = 0; keptLeft === null && group < packed; group++) {
        this.packLines(prepared, 'left', block, places, b + group, 0, m, leftAt + group * leftBytes);
      }
      for (let line = 0; line < lines; line += bandLines) {
        const band = Math.min(bandLines, lines - line);
        const split = this.#splitOf(groups, band, Math.min(layout.rows, m));
        // Who multiplies with images makes them, where that is once.
        const isApart = split !== 'groups' || layout.rows < m;
        if (isApart) this.#makeImages(prepared, layout, block, [b, groups], line, imageAt);
        for (let i = 0; i < m; i += layout.rows) {
          const rows = Math.min(layout.rows, m - i);
          const left = (keptLeft ?? leftAt) + 4 * i * k;
          this.#multiplyBand(prepared, layout, block, [b, groups], [i, rows], [line, band], {
            split,
            left,
            image: imageAt,
            isMade: isApart,
            table: tableAt,
            sums,
          });
          done += groups * rows * band * vectors * 4 * k;
          if (done < PIECE_STEPS) continue;
          done = 0;
          yield;
        }
      }
    }
  }

  /** Makes the images of a band: some of them, or lines of one, beside each other. */
  #makeImages(
    prepared: PreparedContraction,
    { pitch, planeLines, imageBytes }: ImageLayout,
    block: number,
    [batch, groups]: readonly [first: number, count: number],
    line: number,
    to: number,
  ): void {
    const isOne = groups === 1;
    const parts = this.#partsOf(isOne ? planeLines : groups, 1, (groups * imageBytes) / 4, PART.packed);
    const tasks = parts.map(([from, end]) => {
      const [first, last] = isOne ? [batch, batch + 1] : [batch + from, batch + end];
      const [top, bottom] = isOne ? [line + from, line + end] : [line, line + planeLines];
      const target = to + from * (isOne ? 4 * pitch : imageBytes);
      const gap = 4 * pitch * (planeLines - (bottom - top));
      return [callOf(prepared, 'image', block, first, last, top, bottom, pitch, target, gap)];
    });
    this.#do(tasks);
  }

  /** What threads have stretches of: products where there are enough, else what there is most of. */
  #splitOf(groups: number, lines: number, rows: number): 'groups' | 'lines' | 'rows' {
    const tiles = Math.ceil(rows / TILE_ROWS);
    if (groups >= Math.min(4 * (this.threads?.size ?? 1), Math.max(lines, tiles))) return 'groups';
    return lines >= tiles ? 'lines' : 'rows';
  }

  /** Multiplies with lines of images and stores what comes of it: stretches of products, lines or rows beside each other. */
  #multiplyBand(
    prepared: PreparedContraction,
    layout: ImageLayout,
    block: number,
    [batch, groups]: readonly [first: number, count: number],
    [i, rows]: readonly [first: number, count: number],
    [line, band]: readonly [first: number, count: number],
    at: {
      readonly split: 'groups' | 'lines' | 'rows';
      readonly left: number;
      readonly image: number;
      readonly isMade: boolean;
      readonly table: number;
      readonly sums: number;
    },
  ): void {
    const { k, shared } = prepared;
    const { pitch, planeLines, vectors, imageBytes } = layout;
    const leftBytes = shared.left ? 0 : layout.leftBytes;
    const results = groups * band * vectors * 4;
    const making = at.isMade ? 0 : ((groups * imageBytes) / 4) * PACKED_PRODUCTS;
    const work = results * (Math.max(rows, LEAST_TILE_ROWS) * k + rows * STORED_PRODUCTS) + making;
    const partsOf = (split: typeof at.split, count: number, of = 1): readonly (readonly [number, number])[] =>
      split === at.split ? this.#partsOf(count, of, work, PART.products) : [[0, count]];
    let to = at.sums;
    const tasks: Call[][] = [];
    for (const [group, groupEnd] of partsOf('groups', groups)) {
      for (const [first, end] of partsOf('lines', band)) {
        for (const [row, rowEnd] of partsOf('rows', rows, TILE_ROWS)) {
          const left = at.left + group * leftBytes + 4 * row * k;
          const image = at.image + group * imageBytes + 4 * pitch * first;
          const [own, count] = [to, rowEnd - row];
          const sumGroup = count * 16 * vectors * (end - first);
          to += (groupEnd - group) * sumGroup;
          const sizes = [groupEnd - group, count, end - first, vectors, k];
          const sides = [left, leftBytes, image, imageBytes, 4 * pitch, at.table];
          const images = [batch + group, batch + groupEnd, line, line + planeLines, pitch, image, 0];
          tasks.push([
            ...(at.isMade ? [] : [callOf(prepared, 'image', block, ...images)]),
            callOf(this.products.images(), 'multiplyImage', ...sizes, ...sides, own, sumGroup),
            ...storesOf(
              prepared,
              layout,
              block,
              [batch + group, batch + groupEnd],
              [i + row, i + rowEnd],
              [line + first, end - first],
              own,
            ),
          ]);
        }
      }
    }
    this.#do(tasks);
  }

  /** Packs all lines of one side of a product, some at a time. */
  *packAll(
    prepared: PreparedContraction,
    side: 'left' | 'right',
    block: number,
    places: readonly Place[],
    batch: number,
    to: number,
  ): Work {
    const { m, n, k } = prepared;
    const lines = side === 'left' ? m : n;
    const atOnce = Math.max(4, Math.floor(PIECE_STEPS / Math.max(k, 1) / 4) * 4);
    for (let from = 0; from < lines; from += atOnce) {
      const count = Math.min(atOnce, lines - from);
      this.packLines(prepared, side, block, places, batch, from, count, to + floatBytes(prepared) * from * k);
      yield;
    }
  }

  /** Packs lines of one side of a product. */
  packLines(
    prepared: PreparedContraction,
    side: 'left' | 'right',
    block: number,
    places: readonly Place[],
    batch: number,
    from: number,
    count: number,
    to: number,
  ): void {
    const { k } = prepared;
    const tasks = this.#partsOf(count, 4, count * k, PART.packed).map(([first, end]) => {
      const target = to + floatBytes(prepared) * first * k;
      return [this.#packing(prepared, side, block, places, batch, from + first, end - first, target)];
    });
    this.#do(tasks);
  }

  #packing(
    prepared: PreparedContraction,
    side: 'left' | 'right',
    block: number,
    places: readonly Place[],
    batch: number,
    from: number,
    count: number,
    to: number,
  ): Call {
    const plain = prepared[side];
    if (!plain) {
      return callOf(prepared, side === 'left' ? 'packLeft' : 'packRight', block, batch, from, from + count, to);
    }
    const { load, offsets, lineStride, step } = plain;
    const { address } = places[prepared.signature.bindingOf(load.operand)];
    const first = address + offsets[batch] + from * lineStride;
    return callOf(this.products.packing(), 'pack', first, lineStride, step, count, prepared.k, to);
  }

  #take(byteLength: number): number {
    if (byteLength > this.#scratchBytes) {
      if (this.#scratchBytes > 0) this.host.linear.give(this.#scratch);
      this.#scratchBytes = 0;
      this.#scratch = this.host.takeMemory(byteLength);
      this.#scratchBytes = byteLength;
    }
    return this.#scratch;
  }
}

const callOf = (
  { functions, module }: { readonly functions: object; readonly module: ThreadModule | null },
  name: Call['name'],
  ...args: readonly number[]
): Call => ({ functions: functions as Call['functions'], module, name, args });

/** What stores lines of windows: all at once where their sums lie without gaps. */
function storesOf(
  prepared: PreparedContraction,
  { width, vectors }: ImageLayout,
  block: number,
  [batch, batchEnd]: readonly [number, number],
  [row, rowEnd]: readonly [number, number],
  [line, count]: readonly [number, number],
  sums: number,
): Call[] {
  const stride = 16 * vectors * count;
  const isDense = width === 4 * vectors;
  const step = isDense ? count : 1;
  return Array.from({ length: count / step }, (_, at) => {
    const from = (line + at * step) * width;
    const own = sums + 16 * vectors * at * step;
    const group = (rowEnd - row) * stride;
    return callOf(
      prepared,
      'store',
      block,
      batch,
      batchEnd,
      row,
      rowEnd,
      from,
      from + step * width,
      own,
      stride,
      group,
    );
  });
}
