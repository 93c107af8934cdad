import type { KernelSignature } from '@cresset/tensorexpr';
import type { LinearMemory } from '../linear-memory.ts';
import { bindingPlace, blockBytes, paramPlace, writeParam } from '../nests/launch-block.ts';
import type { ProductFunctions } from '../products.ts';
import { aligned, type ImageLayout } from './image-layout.ts';
import type { PlainLines } from './plain-lines.ts';
import { PIECE_STEPS, type PreparedContraction, type PreparedKernel, type PreparedNest } from './programs.ts';
import type { Work } from './turns.ts';

/** Where a binding lies. */
export interface Place {
  readonly address: number;
  readonly byteLength: number;
}

/** Elements of packed lines that are multiplied at once, and of their sums: they stay in the second cache. */
const BLOCK = 1 << 18;
const SUMS = 1 << 17;
/** Elements of the left side that are kept packed while columns go by. */
const WHOLE_LEFT = 1 << 22;

export const bytesOfBlock = ({ bindings, params }: KernelSignature): number =>
  blockBytes(bindings.length, params.length);

/** Writes params to where a launch finds them. */
export function writeParams(memory: LinearMemory, block: number, { bindings, params }: KernelSignature): void {
  const { view } = memory;
  params.forEach((param, at) => writeParam(view, block + paramPlace(bindings.length, at), param, param.value));
}

/** Writes where bindings lie. */
export function writePlaces(memory: LinearMemory, block: number, places: readonly Place[]): void {
  const { integers } = memory;
  for (let at = 0; at < places.length; at++) {
    const to = (block + bindingPlace(at)) >> 2;
    integers[to] = places[at].address;
    integers[to + 1] = places[at].byteLength;
  }
}

/** Packed lines that stay from launch to launch. */
export interface KeptLines {
  /** Where those of one of the batch lie; null where they are to be packed. */
  at(side: 'left' | 'right', batch: number): number | null;
}

/** Who has the memory. */
export interface MemoryHost {
  readonly linear: LinearMemory;
  /** As `linear.take`; throws a CressetError where there is no more memory. */
  takeMemory(byteLength: number): number;
}

/** Runs prepared kernels over the memory, with lines packed in scratch memory of its own. */
export class Launches {
  #scratch = 0;
  #scratchBytes = 0;

  constructor(
    private readonly host: MemoryHost,
    private readonly products: ProductFunctions,
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
      } else yield* this.#multiply(prepared, block, places, kept);
      return;
    }
    const { functions, points, pointsAtOnce } = prepared;
    for (let from = 0; from < points; from += pointsAtOnce) {
      if (from > 0) yield;
      functions.run(block, from, Math.min(points, from + pointsAtOnce));
    }
  }

  *#multiply(prepared: PreparedContraction, block: number, places: readonly Place[], kept: KeptLines | null): Work {
    const { batch, m, n, k, functions } = prepared;
    const depth = Math.max(k, 1);
    const lines = (elements: number): number => Math.min(1024, Math.max(4, Math.floor(elements / depth / 4) * 4));
    const height = Math.min(m, lines(BLOCK));
    const width = Math.min(n, Math.max(12, Math.min(lines(BLOCK), Math.floor(SUMS / height / 12) * 12)));
    const isWhole = m * k <= WHOLE_LEFT;
    const bytesOf = (count: number): number => 16 * Math.ceil(count / 4) * depth;
    const sizes = [bytesOf(isWhole ? m : height), bytesOf(width), 16 * height * Math.ceil(width / 4)];
    const scratch = this.#take(sizes.reduce((sum, size) => sum + size, 0));
    const [leftAt, rightAt, sums] = [scratch, scratch + sizes[0], scratch + sizes[0] + sizes[1]];
    let done = 0;
    for (let b = 0; b < batch; b++) {
      const keptLeft = kept?.at('left', b) ?? null;
      const keptRight = kept?.at('right', b) ?? null;
      for (let j = 0; j < n; j += width) {
        const columns = Math.min(width, n - j);
        const vectors = Math.ceil(columns / 4);
        if (keptRight === null) this.packLines(prepared, 'right', block, places, b, j, columns, rightAt);
        const right = keptRight === null ? rightAt : keptRight + 4 * j * k;
        for (let i = 0; i < m; i += height) {
          const rows = Math.min(height, m - i);
          const own = isWhole ? leftAt + 4 * i * k : leftAt;
          if (keptLeft === null && (!isWhole || j === 0))
            this.packLines(prepared, 'left', block, places, b, i, rows, own);
          const left = keptLeft === null ? own : keptLeft + 4 * i * k;
          this.products.multiply(rows, vectors, k, left, 16 * k, right, 16 * k, sums, 16 * vectors, 0);
          functions.store(block, b, b + 1, i, i + rows, j, j + columns, sums, 16 * vectors, 0);
          done += rows * columns * depth;
          if (done < PIECE_STEPS) continue;
          done = 0;
          yield;
        }
      }
    }
  }

  *#multiplyImage(
    prepared: PreparedContraction,
    layout: ImageLayout,
    block: number,
    places: readonly Place[],
    kept: KeptLines | null,
  ): Work {
    const { batch, m, k, functions } = prepared;
    const { lines, bandLines, planeLines, pitch, vectors, imageBytes, leftBytes, table } = layout;
    const together = layout.groups;
    const tableAt = this.#take(layout.scratchBytes);
    const leftAt = tableAt + aligned(table.byteLength);
    const imageAt = leftAt + aligned(together * leftBytes);
    const sums = imageAt + aligned(together * imageBytes);
    this.host.linear.integers.set(table, tableAt >> 2);
    let done = 0;
    for (let b = 0; b < batch; b += together) {
      const groups = Math.min(together, batch - b);
      const keptLeft = kept?.at('left', b) ?? null;
      for (let group = 0; keptLeft === null && group < groups; group++) {
        this.packLines(prepared, 'left', block, places, b + group, 0, m, leftAt + group * leftBytes);
      }
      for (let line = 0; line < lines; line += bandLines) {
        const band = Math.min(bandLines, lines - line);
        functions.image!(block, b, b + groups, line, line + planeLines, pitch, imageAt);
        for (let i = 0; i < m; i += layout.rows) {
          const rows = Math.min(layout.rows, m - i);
          const left = (keptLeft ?? leftAt) + 4 * i * k;
          const sumStride = 16 * vectors * band;
          const sumGroup = rows * sumStride;
          this.products.multiplyImage(
            groups,
            rows,
            band,
            vectors,
            k,
            left,
            leftBytes,
            imageAt,
            imageBytes,
            4 * pitch,
            tableAt,
            sums,
            sumGroup,
          );
          this.#storeLines(prepared, layout, block, [b, b + groups], [i, i + rows], [line, band], sums);
          done += groups * rows * band * vectors * 4 * k;
          if (done < PIECE_STEPS) continue;
          done = 0;
          yield;
        }
      }
    }
  }

  /** Stores lines of windows: all at once where their sums lie without gaps. */
  #storeLines(
    { functions }: PreparedContraction,
    { width, vectors }: ImageLayout,
    block: number,
    [batch, batchEnd]: readonly [number, number],
    [row, rowEnd]: readonly [number, number],
    [line, count]: readonly [number, number],
    sums: number,
  ): void {
    const stride = 16 * vectors * count;
    const isDense = width === 4 * vectors;
    const step = isDense ? count : 1;
    for (let at = 0; at < count; at += step) {
      const from = (line + at) * width;
      functions.store(
        block,
        batch,
        batchEnd,
        row,
        rowEnd,
        from,
        from + step * width,
        sums + 16 * vectors * at,
        stride,
        (rowEnd - row) * stride,
      );
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
    const plain = prepared[side];
    if (plain) this.#packPlain(prepared, plain, places, batch, from, count, to);
    else if (side === 'left') prepared.functions.packLeft(block, batch, from, from + count, to);
    else prepared.functions.packRight(block, batch, from, from + count, to);
  }

  #packPlain(
    { signature, k }: PreparedContraction,
    { load, offsets, lineStride, step }: PlainLines,
    places: readonly Place[],
    batch: number,
    from: number,
    count: number,
    to: number,
  ): void {
    const { address } = places[signature.bindingOf(load.operand)];
    this.products.pack(address + offsets[batch] + from * lineStride, lineStride, step, count, k, to);
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
