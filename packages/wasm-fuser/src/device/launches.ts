import { LINE_DONE } from '../routines/routine-functions.ts';
import { perform, type Call, type Task } from '../threads/task.ts';
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

/** Elements of packed lines that are multiplied at once, and of their sums: they stay in the second cache. */
const BLOCK = 1 << 18;
const SUMS = 1 << 17;
/** Elements of the left side that are kept packed while columns go by. */
const WHOLE_LEFT = 1 << 22;
/** Steps of points, multiplications and elements to pack below which a part of the work is not worth a thread's waking up. */
const PART = { steps: 1 << 15, products: 1 << 18, packed: 1 << 15 };
/** Rows and columns of which tiles of any shape are made. */
const TILE_ROWS = 12;
const TILE_COLUMNS = 24;

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
          this.#do(left.map(({ call }) => [call]));
          left = left.filter(({ state }) => this.host.linear.integers[state] !== LINE_DONE);
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
    const lines = (elements: number): number => Math.min(1024, Math.max(4, Math.floor(elements / depth / 4) * 4));
    const height = Math.min(m, lines(BLOCK));
    const width = Math.min(n, Math.max(12, Math.min(lines(BLOCK), Math.floor(SUMS / height / 12) * 12)));
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
        const hasRight = shared.right && b > first && columns === n;
        if (keptRight === null && !hasRight) this.packLines(prepared, 'right', block, places, b, j, columns, rightAt);
        const right = keptRight === null ? rightAt : keptRight + size * j * k;
        for (let i = 0; i < m; i += height) {
          const rows = Math.min(height, m - i);
          const own = isWhole ? leftAt + size * i * k : leftAt;
          const hasLeft = isWhole && (j > 0 || (shared.left && b > first));
          if (keptLeft === null && !hasLeft) this.packLines(prepared, 'left', block, places, b, i, rows, own);
          const left = keptLeft === null ? own : keptLeft + size * i * k;
          this.#multiplyBlock(prepared, block, b, [i, rows, left], [j, columns, right], sums);
          done += rows * columns * depth;
          if (done < PIECE_STEPS) continue;
          done = 0;
          yield;
        }
      }
    }
  }

  /** Multiplies a block of packed lines and stores what comes of it: stretches of its longer side beside each other. */
  #multiplyBlock(
    prepared: PreparedContraction,
    block: number,
    batch: number,
    [i, rows, left]: readonly [first: number, count: number, address: number],
    [j, columns, right]: readonly [first: number, count: number, address: number],
    sums: number,
  ): void {
    const { k } = prepared;
    const isTall = rows / TILE_ROWS > columns / TILE_COLUMNS;
    const work = rows * columns * Math.max(k, 1);
    const parts = isTall
      ? this.#partsOf(rows, TILE_ROWS, work, PART.products)
      : this.#partsOf(columns, TILE_COLUMNS, work, PART.products);
    const size = floatBytes(prepared);
    const products = size === 4 ? this.products.packed() : this.products.doubles();
    let to = sums;
    const tasks = parts.map((part) => {
      const [row, rowEnd] = isTall ? part : [0, rows];
      const [column, columnEnd] = isTall ? [0, columns] : part;
      const vectors = Math.ceil(((columnEnd - column) * size) / 16);
      const [stride, own] = [16 * vectors, to];
      to += (rowEnd - row) * stride;
      const [a, b] = [left + size * row * k, right + size * column * k];
      const [m, mEnd, n, nEnd] = [i + row, i + rowEnd, j + column, j + columnEnd];
      return [
        callOf(products, 'multiply', rowEnd - row, vectors, k, a, 16 * k, b, 16 * k, own, stride, 0),
        callOf(prepared, 'store', block, batch, batch + 1, m, mEnd, n, nEnd, own, stride, 0),
      ];
    });
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
    const { lines, bandLines, planeLines, pitch, vectors, imageBytes, leftBytes, table } = layout;
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
        const images = this.#partsOf(groups, 1, (groups * imageBytes) / 4, PART.packed).map(([from, to]) => {
          const target = imageAt + from * imageBytes;
          return [callOf(prepared, 'image', block, b + from, b + to, line, line + planeLines, pitch, target)];
        });
        this.#do(images);
        for (let i = 0; i < m; i += layout.rows) {
          const rows = Math.min(layout.rows, m - i);
          const left = (keptLeft ?? leftAt) + 4 * i * k;
          this.#multiplyBand(prepared, layout, block, [b, groups], [i, rows], [line, band], {
            left,
            image: imageAt,
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

  /** Multiplies with lines of images and stores what comes of it: stretches of products, lines or rows beside each other, of which there are most. */
  #multiplyBand(
    prepared: PreparedContraction,
    layout: ImageLayout,
    block: number,
    [batch, groups]: readonly [first: number, count: number],
    [i, rows]: readonly [first: number, count: number],
    [line, band]: readonly [first: number, count: number],
    at: { readonly left: number; readonly image: number; readonly table: number; readonly sums: number },
  ): void {
    const { k, shared } = prepared;
    const { pitch, vectors, imageBytes } = layout;
    const leftBytes = shared.left ? 0 : layout.leftBytes;
    const work = groups * rows * band * vectors * 4 * k;
    const counts = [groups, band, Math.ceil(rows / TILE_ROWS)];
    const longest = counts.indexOf(Math.max(...counts));
    const partsOf = (kind: number, count: number, of = 1): readonly (readonly [number, number])[] =>
      kind === longest ? this.#partsOf(count, of, work, PART.products) : [[0, count]];
    let to = at.sums;
    const tasks: Call[][] = [];
    for (const [group, groupEnd] of partsOf(0, groups)) {
      for (const [first, end] of partsOf(1, band)) {
        for (const [row, rowEnd] of partsOf(2, rows, TILE_ROWS)) {
          const left = at.left + group * leftBytes + 4 * row * k;
          const image = at.image + group * imageBytes + 4 * pitch * first;
          const [own, count] = [to, rowEnd - row];
          const sumGroup = count * 16 * vectors * (end - first);
          to += (groupEnd - group) * sumGroup;
          const sizes = [groupEnd - group, count, end - first, vectors, k];
          const sides = [left, leftBytes, image, imageBytes, 4 * pitch, at.table];
          tasks.push([
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
  { functions, module }: { readonly functions: object; readonly module: number | null },
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
