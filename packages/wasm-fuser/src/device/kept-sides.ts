import { elementSize } from '@cresset/tensor';
import { loadsIn, type Expr, type NormalContraction } from '@cresset/tensorexpr';
import type { ListHost } from './list-host.ts';
import { bytesOfLines, type KeptLines, type Place } from './launch-memory.ts';
import type { PreparedContraction, PreparedKernel } from './programs.ts';
import type { Work } from './turns.ts';
import type { WasmBuffer } from './wasm-buffer.ts';

/** Bytes of packed weights that are kept at most. */
const MOST_BYTES = 512 << 20;
/** From so many on sides of 16 bits and of bytes are worked out each time. */
const MOST_WIDENED = 64 << 20;

interface KeptSide {
  readonly side: 'left' | 'right';
  /** Bindings that it reads, and where among those given they come from. */
  readonly given: readonly number[];
  readonly byteLength: number;
  /** Bytes that all that is kept may have with it. */
  readonly most: number;
  /** The buffers and counts of writes that it was seen with. */
  seen: (WasmBuffer | number)[];
  /** Where its lines lie packed; null where they do not, or not yet. */
  at: number | null;
}

/**
 * Sides of a recorded product that are weights: what comes a second time as it was, of buffers that nobody has written since, stays packed as
 * long as that is so.
 */
export class KeptSides implements KeptLines {
  readonly #sides: KeptSide[];

  private constructor(
    private readonly device: ListHost,
    private readonly prepared: PreparedContraction,
    private readonly block: number,
    sides: KeptSide[],
  ) {
    this.#sides = sides;
  }

  /** Null where no side can be kept: what lies in scratch memory is another one each time. @param before those that it takes the place of */
  static of(
    device: ListHost,
    prepared: PreparedKernel,
    block: number,
    places: readonly number[],
    given: number,
    before: KeptSides | null = null,
  ): KeptSides | null {
    const sides = prepared.kind === 'contraction' ? KeptSides.#sidesOf(prepared, places, given) : [];
    // What was packed for another number of lines on the other side is the same.
    for (const side of sides) {
      const known =
        before && before.#sides.find((each) => each.side === side.side && each.byteLength === side.byteLength);
      if (!known || known.given.join() !== side.given.join()) continue;
      [side.seen, side.at] = [known.seen, known.at];
      known.at = null;
    }
    before?.dispose();
    return sides.length > 0 ? new KeptSides(device, prepared as PreparedContraction, block, sides) : null;
  }

  static #sidesOf(prepared: PreparedContraction, places: readonly number[], given: number): KeptSide[] {
    const { normal, signature } = prepared;
    return (['left', 'right'] as const).flatMap((side): KeptSide[] => {
      const bindings = bindingsIn(normal, side, prepared);
      const lines = side === 'left' ? prepared.m : prepared.n;
      const byteLength = bytesOfLines(prepared, lines) * copiesOf(prepared, side);
      const isGiven = bindings.every((binding) => places[binding] < given && !signature.bindings[binding].stored);
      const most = mostFor(normal[side]);
      if (!isGiven || byteLength > most) return [];
      return [{ side, given: bindings.map((binding) => places[binding]), byteLength, most, seen: [], at: null }];
    });
  }

  get byteLength(): number {
    return this.#sides.reduce((sum, { at, byteLength }) => sum + (at === null ? 0 : byteLength), 0);
  }

  /** Looks whether the sides are as they were, and packs those that are so for the second time. */
  *see(given: readonly WasmBuffer[], places: readonly Place[]): Work {
    for (const side of this.#sides) {
      const now = side.given.flatMap((at) => [given[at], given[at].writes]);
      const isSame = side.seen.length === now.length && now.every((each, at) => each === side.seen[at]);
      if (!isSame) {
        side.seen = now;
        this.#drop(side);
      } else if (side.at === null) yield* this.#pack(side, places);
    }
  }

  at(side: 'left' | 'right', batch: number): number | null {
    const kept = this.#sides.find((each) => each.side === side);
    if (!kept || kept.at === null) return null;
    return kept.at + (this.prepared.shared[side] ? 0 : (kept.byteLength / this.prepared.batch) * batch);
  }

  *#pack(side: KeptSide, places: readonly Place[]): Work {
    const { device, prepared, block } = this;
    const { byteLength } = side;
    if (device.keptBytes + byteLength > side.most) return;
    let start;
    try {
      start = device.linear.take(byteLength);
    } catch {
      return;
    }
    let isPacked = false;
    try {
      const copies = copiesOf(prepared, side.side);
      for (let batch = 0; batch < copies; batch++) {
        const own = start + (byteLength / copies) * batch;
        yield* device.launches.packAll(prepared, side.side, block, places, batch, own);
      }
      isPacked = true;
    } finally {
      if (!isPacked) device.linear.give(start);
    }
    side.at = start;
    device.keptBytes += byteLength;
  }

  #drop(side: KeptSide): void {
    if (side.at === null) return;
    this.device.linear.give(side.at);
    this.device.keptBytes -= side.byteLength;
    side.at = null;
  }

  dispose(): void {
    this.#sides.forEach((side) => this.#drop(side));
  }
}

/** As many as the batch has, unless a side is the same for all of it. */
const copiesOf = ({ batch, shared }: PreparedContraction, side: 'left' | 'right'): number => (shared[side] ? 1 : batch);

/**
 * Up to how many bytes in all a side is kept: packed, elements of 16 bits take twice as much memory as they do themselves, and those of a byte four times, or
 * eight where two weights share one.
 */
function mostFor(side: Expr): number {
  const isWidened = loadsIn([side]).some(({ operand: { dtype } }) => elementSize(dtype) < 4);
  return isWidened ? MOST_WIDENED : MOST_BYTES;
}

function bindingsIn(kernel: NormalContraction, side: 'left' | 'right', { signature }: PreparedContraction): number[] {
  return [...new Set(loadsIn([kernel[side]]).map(({ operand }) => signature.bindingOf(operand)))];
}
