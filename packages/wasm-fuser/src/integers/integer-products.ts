import { giveUpScratch, takeScratch } from '@cresset/tensor';
import type { IntegerProducts, IntegerRows } from '@cresset/tensorexpr';
import { LinearMemory } from '../linear-memory.ts';
import { loadIntegerProducts, PANEL, SHORTS, type IntegerProductFunctions } from './integer-product-functions.ts';

/** Multiplications from which a product is worth copying its operands. */
const LEAST_WORK = 1 << 13;
/** Multiplications that are done without a stop. */
const PIECE_WORK = 1 << 25;
/** Integers that are copied into the memory in one go. */
const STAGED = 1 << 18;
/** What is read behind the last row. */
const MARGIN = 64;

/** Rows of a weight in panels: of four outputs two steps beside each other. */
interface Panels {
  readonly at: number;
  /** How many are packed, from the first on: whoever needs the weight goes on from there, for whoever began may have been ended. */
  packed: number;
}

/**
 * Products of integers in WebAssembly, eight at a time, over a memory of their own: rows are copied in and sums out, weights stay packed there in half of
 * the bytes that they have as numbers of 32 bits.
 */
export class WasmIntegerProducts implements IntegerProducts {
  readonly #memory = new LinearMemory();
  readonly #functions: IntegerProductFunctions = loadIntegerProducts(this.#memory);
  readonly #kept = new WeakMap<Int32Array, Map<string, Panels>>();
  readonly #abandoned = new FinalizationRegistry<Map<string, Panels>>((all) => {
    for (const { at } of all.values()) this.#memory.give(at);
  });

  /** Bytes that somebody has of the memory. */
  get takenBytes(): number {
    return this.#memory.takenBytes;
  }

  multiply(
    left: Int32Array,
    weight: Int32Array,
    sums: Int32Array,
    rows: IntegerRows,
  ): Generator<void, boolean, void> | null {
    const { depth, count, outputs } = rows;
    return count * outputs * depth < LEAST_WORK ? null : this.#multiply(left, weight, sums, rows);
  }

  *#multiply(left: Int32Array, weight: Int32Array, sums: Int32Array, rows: IntegerRows): Generator<void, boolean> {
    const { depth, count, outputs, outputFirst = 0, outputStride = outputs } = rows;
    const vectors = Math.ceil(depth / SHORTS);
    const panels = Math.ceil(outputs / PANEL);
    const width = panels * PANEL;
    const atOnce = Math.max(
      1,
      Math.min(count, Math.floor(STAGED / Math.max(depth, width)), Math.floor(PIECE_WORK / (depth * outputs))),
    );
    const packed = yield* this.#panels(weight, rows, vectors, panels);
    if (!packed) return false;
    const [staged, narrowed] = [4 * atOnce * depth + MARGIN, 16 * atOnce * vectors];
    for (let first = 0; first < count; first += atOnce) {
      if (first > 0) yield;
      const lines = Math.min(atOnce, count - first);
      const byteLength = staged + narrowed + 4 * atOnce * width;
      const from = this.#take(byteLength);
      if (from === null) return false;
      const [to, out] = [from + staged, from + staged + narrowed];
      const { integers } = this.#memory;
      integers.set(left.subarray(first * depth, (first + lines) * depth), from >>> 2);
      this.#functions.narrow(from, lines, depth, to, vectors);
      this.#functions.multiply(lines, panels, vectors, to, packed.at, out);
      const isBeside = width === outputStride && width === outputs;
      for (let line = 0; line < (isBeside ? 1 : lines); line++) {
        const start = (out >>> 2) + line * width;
        const length = isBeside ? lines * width : outputs;
        sums.set(integers.subarray(start, start + length), (first + line) * outputStride + outputFirst);
      }
      this.#memory.give(from);
      giveUpScratch({ byteLength });
    }
    return true;
  }

  /** The rows of a weight as they are multiplied; null where there is no room. */
  *#panels(
    weight: Int32Array,
    { depth, outputs, rightFirst = 0 }: IntegerRows,
    vectors: number,
    panels: number,
  ): Generator<void, Panels | null> {
    const layout = [rightFirst, outputs, depth].join();
    let all = this.#kept.get(weight);
    if (!all) {
      this.#kept.set(weight, (all = new Map()));
      this.#abandoned.register(weight, all);
    }
    const size = PANEL * vectors * SHORTS;
    let kept = all.get(layout);
    if (!kept) {
      const at = this.#take(2 * panels * size);
      if (at === null) return null;
      all.set(layout, (kept = { at, packed: 0 }));
    }
    let done = 0;
    while (kept.packed < panels) {
      const first = kept.packed * PANEL;
      const shorts = new Int16Array(this.#memory.memory.buffer, kept.at + 2 * kept.packed * size, size);
      shorts.fill(0);
      for (let line = 0; line < Math.min(PANEL, outputs - first); line++) {
        const from = rightFirst + (first + line) * depth;
        for (let step = 0; step < depth; step++) {
          shorts[(step >> 1) * 2 * PANEL + 2 * line + (step & 1)] = weight[from + step];
        }
      }
      kept.packed++;
      if ((done += 2 * size) < STAGED) continue;
      done = 0;
      // Somebody else may pack some in the meantime, or all.
      yield;
    }
    return kept;
  }

  /**
   * Null where the memory of all programs is full.
   *
   * @throws CressetError `MEMORY_LIMIT` where that of this one is
   */
  #take(byteLength: number): number | null {
    takeScratch(byteLength);
    try {
      return this.#memory.take(byteLength);
    } catch {
      giveUpScratch({ byteLength });
      return null;
    }
  }
}
