import { CressetError } from '@cresset/ir';
import { batchRanges } from './range-batches.ts';

/** How far a transfer has come, in bytes. `loaded` never falls; `total` is null where the server does not say. */
export interface TransferProgress {
  readonly loaded: number;
  readonly total: number | null;
}

export interface TransferOptions {
  /** Aborting rejects the call at once with a CressetError of code `ABORTED` and name `AbortError`. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: TransferProgress) => void;
}

/** A stretch of a source: `length` bytes from `offset`. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** Bytes at known offsets, wherever they are. Offsets and lengths are doubles, so files beyond 4 GiB are addressed. */
export interface ByteSource {
  /** What an error message calls it: a file name or an address. */
  readonly name: string;
  /** Size in bytes. */
  readonly size: number;
  /** Reads one stretch, which must lie within the source. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Reads several stretches, in as few requests as the source can do it; one result a range, in their order. */
  readAll(ranges: readonly ByteRange[]): Promise<Uint8Array[]>;
}

/** Throws the error that an aborted call ends with. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortError(signal);
}

export function abortError(signal: AbortSignal): CressetError {
  const error = new CressetError('ABORTED', 'the call was aborted', { cause: signal.reason });
  // The web's own name for it, which callers test for.
  error.name = 'AbortError';
  return error;
}

/** Rejects as soon as `signal` is aborted, whether or not `work` notices. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(abortError(signal));
    if (signal.aborted) {
      abort();
      // The work goes on with nobody waiting for it: its failure is nobody's news.
      work.catch(() => {});
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function checkRange(source: ByteSource, { offset, length }: ByteRange): void {
  const inside = Number.isSafeInteger(offset) && Number.isSafeInteger(length) && offset >= 0 && length >= 0;
  if (!inside || offset + length > source.size) {
    throw new CressetError(
      'ARCHIVE_TRUNCATED',
      `${source.name} has ${source.size} bytes, but bytes ${offset} to ${offset + length} were asked for: the file is damaged or was not transferred completely`,
    );
  }
}

/** A source over bytes in memory. Results are windows onto them, not copies. */
export class MemorySource implements ByteSource {
  readonly name: string;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, name = 'the given bytes') {
    this.#bytes = bytes;
    this.name = name;
  }

  get size(): number {
    return this.#bytes.byteLength;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    checkRange(this, { offset, length });
    return this.#bytes.subarray(offset, offset + length);
  }

  readAll(ranges: readonly ByteRange[]): Promise<Uint8Array[]> {
    return Promise.all(ranges.map(({ offset, length }) => this.read(offset, length)));
  }
}

/** A source over a Blob or File: only what is asked for comes into memory. */
export class BlobSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #blob: Blob;
  readonly #options: TransferOptions;
  #loaded = 0;

  constructor(blob: Blob, options: TransferOptions = {}) {
    this.#blob = blob;
    this.#options = options;
    this.size = blob.size;
    const { name } = blob as Partial<File>;
    this.name = name ? name : 'the given blob';
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    checkRange(this, { offset, length });
    const { signal, onProgress } = this.#options;
    throwIfAborted(signal);
    const bytes = await abortable(this.#blob.slice(offset, offset + length).arrayBuffer(), signal);
    this.#loaded = Math.min(this.#loaded + length, this.size);
    onProgress?.({ loaded: this.#loaded, total: this.size });
    return new Uint8Array(bytes);
  }

  async readAll(ranges: readonly ByteRange[]): Promise<Uint8Array[]> {
    const results = new Array<Uint8Array>(ranges.length);
    for (const { extent, members } of batchRanges(ranges, [...ranges.keys()])) {
      const bytes = await this.read(extent.offset, extent.length);
      for (const index of members) {
        const start = ranges[index].offset - extent.offset;
        results[index] = bytes.subarray(start, start + ranges[index].length);
      }
    }
    return results;
  }
}
