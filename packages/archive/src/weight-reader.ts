import { Storage } from '@cresset/tensor';
import type { TransferProgress } from './sources/byte-source.ts';
import type { ZipEntry, ZipReader } from './zip/zip-reader.ts';

/** So much is asked for at a time when reading ahead. */
const BATCH_BYTES = 8 << 20;
const PARALLEL_BATCHES = 2;

interface Wanted {
  readonly name: string;
  resolve(bytes: Promise<ArrayBuffer>): void;
}

/**
 * Reads the storages of an archive when something first needs them. What is asked for in one go comes with few requests, and once
 * it is known what a run will need that is read ahead, as far as there is room for it.
 */
export class WeightReader {
  readonly #zip: ZipReader;
  #wanted: Wanted[] = [];
  /** To be read ahead, in this order. */
  #ahead: Storage[] = [];
  /** What is needed with a storage, where that is only known once it is needed itself: the rest of its branch. */
  readonly #companions = new Map<Storage, readonly Storage[]>();
  #window = 0;
  /** Bytes on their way, and bytes that came and were not given up since. */
  #underWay = 0;
  #held = 0;
  #batches = 0;
  #isReadingAhead = false;
  #closed = false;
  readonly #unread = new Set<Storage>();
  readonly #followers = new Set<(read: Storage) => void>();

  constructor(zip: ZipReader) {
    this.#zip = zip;
  }

  /** The storage behind a record. `arrange` puts its bytes in this machine's order. */
  storage(entry: ZipEntry, arrange: (bytes: Uint8Array) => void): Storage {
    const { name, size } = entry;
    const storage = Storage.fromSource({
      byteLength: size,
      read: async () => {
        if (!this.#isReadingAhead) this.#noteDemand(storage);
        this.#underWay += size;
        try {
          const bytes = await new Promise<ArrayBuffer>((resolve) => this.#want({ name, resolve }));
          this.#zip.release(name);
          arrange(new Uint8Array(bytes));
          this.#held += size;
          this.#unread.delete(storage);
          for (const tell of this.#followers) tell(storage);
          return bytes;
        } finally {
          this.#underWay -= size;
        }
      },
      released: () => {
        this.#held = Math.max(0, this.#held - size);
        this.#readAhead();
      },
    });
    this.#unread.add(storage);
    return storage;
  }

  /** The storages that were not read so far. */
  get unread(): readonly Storage[] {
    return [...this.#unread];
  }

  /**
   * Tells how many of the bytes of some storages were read, from now until what it returns is called; nothing where all were before. What
   * is read besides, for a branch that is taken, counts from when it is there.
   */
  follow(storages: readonly Storage[], onProgress: (progress: TransferProgress) => void): () => void {
    const missing = new Set(storages.filter((each) => this.#unread.has(each)));
    let loaded = 0;
    let total = [...missing].reduce((sum, { byteLength }) => sum + byteLength, 0);
    const tell = (read: Storage): void => {
      loaded += read.byteLength;
      if (!missing.has(read)) total += read.byteLength;
      onProgress({ loaded, total });
    };
    if (total > 0) onProgress({ loaded, total });
    this.#followers.add(tell);
    return () => this.#followers.delete(tell);
  }

  /**
   * Begins to read what will be needed, while at most `window` bytes lie on the host at a time.
   *
   * @param storages in the order of need
   * @param branches what is needed together, if at all
   */
  prefetch(storages: readonly Storage[], branches: readonly (readonly Storage[])[], window: number): void {
    this.#window = window;
    this.#ahead = [...storages.filter(({ isUnread }) => isUnread), ...this.#ahead];
    for (const branch of branches) for (const storage of branch) this.#companions.set(storage, branch);
    this.#readAhead();
  }

  /** Ends reading ahead: nobody needs the rest. */
  close(): void {
    this.#closed = true;
    this.#ahead = [];
  }

  /** What was asked for and not read ahead shows how far the program is: all that came before was used. */
  #noteDemand(storage: Storage): void {
    this.#held = 0;
    const companions = this.#companions.get(storage);
    if (companions) this.#ahead = [...companions.filter((each) => each.isUnread && each !== storage), ...this.#ahead];
    queueMicrotask(() => this.#readAhead());
  }

  #readAhead(): void {
    while (this.#batches < PARALLEL_BATCHES && this.#ahead.length > 0 && !this.#closed) {
      const batch = this.#nextBatch();
      if (batch.length === 0) return;
      this.#batches++;
      this.#isReadingAhead = true;
      // A failure is told to who needs the storage, which is then read once more.
      const reading = Promise.allSettled(batch.map((storage) => storage.toHost()));
      this.#isReadingAhead = false;
      void reading.then((outcomes) => {
        this.#batches--;
        if (outcomes.some(({ status }) => status === 'rejected')) this.#ahead = [];
        this.#readAhead();
      });
    }
  }

  #nextBatch(): Storage[] {
    const batch: Storage[] = [];
    let bytes = 0;
    while (this.#ahead.length > 0 && bytes < BATCH_BYTES) {
      const [next] = this.#ahead;
      const used = this.#underWay + this.#held + bytes;
      if (next.isUnread && !next.isDisposed) {
        if (used > 0 && used + next.byteLength > this.#window) break;
        batch.push(next);
        bytes += next.byteLength;
      }
      this.#ahead.shift();
    }
    return batch;
  }

  #want(wanted: Wanted): void {
    this.#wanted.push(wanted);
    if (this.#wanted.length === 1) queueMicrotask(() => this.#readWanted());
  }

  /** What was asked for in one go. */
  #readWanted(): void {
    const wanted = this.#wanted;
    this.#wanted = [];
    const contents = this.#zip.readRecords(wanted.map(({ name }) => name));
    wanted.forEach(({ resolve }, index) => resolve(contents[index]));
  }
}
