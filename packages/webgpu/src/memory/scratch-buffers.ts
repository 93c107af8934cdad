import { sizeClass, type BufferPool, type PooledBuffer } from './buffer-pool.ts';

/** The scratch buffer of this size class with this number among those that one list uses at a time. */
export interface ScratchPlace {
  readonly size: number;
  readonly index: number;
}

/** Places for scratch buffers of these sizes: as many of a class as there are, so that lists of like sizes get the same. */
export function scratchPlaces(sizes: readonly number[]): ScratchPlace[] {
  const used = new Map<number, number>();
  return sizes.map((bytes) => {
    const size = sizeClass(bytes);
    const index = used.get(size) ?? 0;
    used.set(size, index + 1);
    return { size, index };
  });
}

/**
 * What lies between the launches of recorded work. The contents serve one replay, and replays follow each other on the GPU, so all
 * lists of a device share these buffers: memory goes with the list that needs most, not with their number.
 */
export class ScratchBuffers {
  readonly #bySize = new Map<number, PooledBuffer[]>();
  /** Changes when a buffer that was handed out is one no longer. */
  generation = 0;
  /** What was asked for. */
  #bytes = 0;

  constructor(private readonly pool: BufferPool) {}

  /** Bytes of the buffers that there are. */
  get byteLength(): number {
    const made = [...this.#bySize.values()].flat().filter(({ state }) => state !== 'failed');
    return made.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  at({ size, index }: ScratchPlace): PooledBuffer {
    let buffers = this.#bySize.get(size);
    if (!buffers) this.#bySize.set(size, (buffers = []));
    const known = buffers.at(index);
    if (known && known.state !== 'failed') return known;
    // Those before it come with it: places of a class are used from the first on.
    for (let at = 0; at <= index; at++) {
      if (buffers.at(at) && buffers[at].state !== 'failed') continue;
      if (buffers.at(at)) this.pool.discard(buffers[at]);
      else this.#bytes += size;
      buffers[at] = this.pool.take(size);
    }
    return buffers[index];
  }

  /** Hands all back to the pool that no batch after `idleSince` uses, where they are more than `kept` bytes. */
  trim(idleSince: number, kept: number): void {
    if (this.#bytes <= kept) return;
    for (const [size, buffers] of this.#bySize) {
      if (buffers.some(({ lastBatch }) => lastBatch > idleSince)) continue;
      for (const buffer of buffers) this.pool.give(buffer);
      this.#bytes -= size * buffers.length;
      this.#bySize.delete(size);
      this.generation++;
    }
  }
}
