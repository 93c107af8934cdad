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

interface SharedBuffer {
  /** Null where none was asked for since it was given back. */
  buffer: PooledBuffer | null;
  /** How many lists have it. */
  lists: number;
}

/**
 * What lies between the launches of recorded work. The contents serve one replay, and replays follow each other on the GPU, so all
 * lists of a device share these buffers: memory goes with the list that needs most, not with their number. A buffer stays as long as a list has
 * its place, however large it is, unless no list was replayed for some time.
 */
export class ScratchBuffers {
  readonly #bySize = new Map<number, SharedBuffer[]>();
  /** Changes when a buffer that a list has is one no longer. */
  generation = 0;

  constructor(private readonly pool: BufferPool) {}

  /** Bytes of the buffers that there are. */
  get byteLength(): number {
    let bytes = 0;
    for (const { buffer } of this.#all()) if (buffer && buffer.state !== 'failed') bytes += buffer.byteLength;
    return bytes;
  }

  /** One more list has these places. */
  hold(places: readonly ScratchPlace[]): void {
    for (const place of places) this.#shared(place).lists++;
  }

  /** A list has them no longer: what no other has goes back to the pool. */
  release(places: readonly ScratchPlace[]): void {
    for (const place of places) {
      const shared = this.#shared(place);
      if (--shared.lists === 0) this.#giveBack(shared);
    }
  }

  /** The buffer of a place that a list has. */
  at(place: ScratchPlace): PooledBuffer {
    const shared = this.#shared(place);
    if (shared.buffer?.state === 'failed') this.#giveBack(shared);
    return (shared.buffer ??= this.pool.take(place.size));
  }

  /** Hands those back to the pool that no batch after `idleSince` uses; their lists ask anew. */
  trim(idleSince: number): void {
    for (const shared of this.#all()) {
      if (!shared.buffer || shared.buffer.lastBatch > idleSince) continue;
      this.#giveBack(shared);
      this.generation++;
    }
  }

  #giveBack(shared: SharedBuffer): void {
    if (shared.buffer) this.pool.give(shared.buffer);
    shared.buffer = null;
  }

  #shared({ size, index }: ScratchPlace): SharedBuffer {
    let all = this.#bySize.get(size);
    if (!all) this.#bySize.set(size, (all = []));
    // Places of a class are used from the first on.
    while (all.length <= index) all.push({ buffer: null, lists: 0 });
    return all[index];
  }

  #all(): SharedBuffer[] {
    return [...this.#bySize.values()].flat();
  }
}
