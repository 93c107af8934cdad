import { CressetError } from '@cresset/ir';
import type { ScalarType } from '@cresset/tensor';
import { batchRanges, type ByteRange } from './range-batches.ts';

/**
 * How far a transfer has come, in bytes. `loaded` never falls; `total` is null where the server does not say. Of a large file only what is
 * needed is transferred: then `loaded` need not come to `total`.
 */
export interface TransferProgress {
  readonly loaded: number;
  readonly total: number | null;
}

export interface TransferOptions {
  /** Aborting rejects the call at once with a CressetError of code `ABORTED` and name `AbortError` (`TimeoutError` after AbortSignal.timeout), whose cause is the signal's reason. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: TransferProgress) => void;
  /** Keeps what comes from an address for later visits; see FileCache. */
  readonly cache?: boolean;
  /** Called when all is known of a program that it tells of itself, and waited for before anything of it is compiled. */
  readonly beforeCompiling?: (contents: ArchiveContents) => Promise<void>;
  /** Told of what of the library is fetched to read this file, and why. */
  readonly onPart?: (name: string, reason: string) => void;
  /** Which program of an archive that has several is read. */
  readonly program?: string | undefined;
  /** Told of what goes wrong and does no harm. */
  readonly onWarning?: (text: string) => void;
}

/** What of a program's file says what it needs. */
export interface ArchiveContents {
  /** Texts of its code files, or of one that would call what the program calls. */
  readonly code: readonly string[];
  readonly pickles: readonly Uint8Array[];
  /** Element types of its tensors. */
  readonly dtypes?: readonly ScalarType[];
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
  /** Reads one stretch in pieces as they come, so that a large one need not be in memory as a whole. */
  stream(offset: number, length: number): AsyncIterable<Uint8Array>;
  /** Fetches what is missing of a file that is kept for later visits, while nobody waits for anything else. Never rejects. */
  fill?(): Promise<void>;
  /** A stretch was read for the last time: a source in memory need not keep it. */
  release?(offset: number, length: number): void;
  /** A source over the same bytes, for one of several who read them: memory is free when all have given it up. Of no more use itself then. */
  share?(): ByteSource;
  /** Forgets what was kept for later visits, since it is no good. */
  discard?(): Promise<void>;
}

/** Throws the error that an aborted call ends with. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortError(signal);
}

/** The error of an aborted call: the signal's reason is its cause, and a timeout goes by that name. */
export function abortError({ reason }: AbortSignal): CressetError {
  const { name, message = String(reason) } = (reason ?? {}) as Partial<Error>;
  const why = name === 'AbortError' ? '' : `: ${message}`;
  const error = new CressetError('ABORTED', `the call was aborted${why}`, { cause: reason });
  // The web's own names for it, which callers test for.
  error.name = name === 'TimeoutError' ? name : 'AbortError';
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

export function checkRange(source: ByteSource, { offset, length }: ByteRange): void {
  const inside = Number.isSafeInteger(offset) && Number.isSafeInteger(length) && offset >= 0 && length >= 0;
  if (!inside || offset + length > source.size) {
    throw new CressetError(
      'ARCHIVE_TRUNCATED',
      `${source.name} has ${source.size} bytes, but bytes ${offset} to ${offset + length} were asked for: the file is damaged or was not transferred completely`,
    );
  }
}

/** What messages call a file that has no name. */
export const GIVEN_FILE = 'the given file';

/** A source over bytes in memory. Results are windows onto them, not copies. */
export class MemorySource implements ByteSource {
  readonly name: string;
  discard?: () => Promise<void>;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, name = GIVEN_FILE) {
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

  async *stream(offset: number, length: number): AsyncGenerator<Uint8Array> {
    yield await this.read(offset, length);
  }
}

/** Requests under way at a time; browsers allow six a server with HTTP/1.1. */
const PARALLEL_READS = 4;
/** A stretch that claims to be longer than this gets memory as its bytes come. */
const BELIEVED_BYTES = 16 << 20;

/** A source that gives bytes as a stream; stretches that lie near each other are read as one. */
export abstract class StreamedSource implements ByteSource {
  abstract readonly name: string;
  abstract readonly size: number;
  discard?(): Promise<void>;
  /** Stretches that are in memory already. */
  readonly #windows: { readonly offset: number; readonly bytes: Uint8Array }[] = [];

  abstract stream(offset: number, length: number): AsyncIterable<Uint8Array>;

  /** Keeps a stretch in memory: what lies within it need not be read again. */
  keepBytes(offset: number, bytes: Uint8Array): void {
    this.#windows.push({ offset, bytes });
  }

  /** What is in memory from `offset` on, up to `length` bytes of it. */
  protected kept(offset: number, length: number): Uint8Array | null {
    for (const { offset: start, bytes } of this.#windows) {
      if (offset >= start && offset < start + bytes.byteLength)
        return bytes.subarray(offset - start, offset - start + length);
    }
    return null;
  }

  /** Reads a stretch and keeps it. */
  async keep(offset: number, length: number): Promise<void> {
    this.keepBytes(offset, await this.#collect({ offset, length }));
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const [bytes] = await this.readAll([{ offset, length }]);
    return bytes;
  }

  async readAll(ranges: readonly ByteRange[]): Promise<Uint8Array[]> {
    const results = new Array<Uint8Array>(ranges.length);
    const missing: number[] = [];
    ranges.forEach((range, index) => {
      checkRange(this, range);
      const kept = this.kept(range.offset, range.length);
      if (kept?.byteLength === range.length) results[index] = kept;
      else missing.push(index);
    });
    const batches = batchRanges(ranges, missing);
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < batches.length) {
        const { extent, members } = batches[next++];
        const bytes = await this.#collect(extent);
        for (const index of members) {
          const start = ranges[index].offset - extent.offset;
          results[index] = bytes.subarray(start, start + ranges[index].length);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL_READS, batches.length) }, worker));
    return results;
  }

  async #collect({ offset, length }: ByteRange): Promise<Uint8Array> {
    return collect(this.stream(offset, length), length);
  }
}

/** The pieces of a stream as one array; `expected` is a first guess of its size and nothing more. */
export async function collect(stream: AsyncIterable<Uint8Array>, expected: number): Promise<Uint8Array> {
  let buffer = new Uint8Array(Math.min(expected, BELIEVED_BYTES));
  let loaded = 0;
  for await (const piece of stream) {
    const needed = loaded + piece.byteLength;
    if (needed > buffer.byteLength) {
      const grown = new Uint8Array(needed <= expected ? Math.min(expected, 2 * needed) : 2 * needed);
      grown.set(buffer.subarray(0, loaded));
      buffer = grown;
    }
    buffer.set(piece, loaded);
    loaded = needed;
  }
  return loaded === buffer.byteLength ? buffer : buffer.slice(0, loaded);
}

/** The pieces of a body, until `signal` is aborted. */
export async function* piecesOf(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await abortable(reader.read(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    // Who stops early wants no more of it.
    reader.cancel().catch(() => {});
  }
}

/** A source over a Blob or File: only what is asked for comes into memory. */
export class BlobSource extends StreamedSource {
  readonly name: string;
  readonly size: number;
  readonly #blob: Blob;
  readonly #options: TransferOptions;
  #loaded = 0;

  constructor(blob: Blob, options: TransferOptions = {}) {
    super();
    this.#blob = blob;
    this.#options = options;
    this.size = blob.size;
    const { name } = blob as Partial<File>;
    this.name = name ? name : GIVEN_FILE;
  }

  async *stream(offset: number, length: number): AsyncGenerator<Uint8Array> {
    const { signal, onProgress } = this.#options;
    throwIfAborted(signal);
    try {
      for await (const piece of piecesOf(this.#blob.slice(offset, offset + length).stream(), signal)) {
        this.#loaded = Math.min(this.#loaded + piece.byteLength, this.size);
        onProgress?.({ loaded: this.#loaded, total: this.size });
        yield piece;
      }
    } catch (cause) {
      if (cause instanceof CressetError) throw cause;
      throw new CressetError('FILE_UNREADABLE', `${this.name} cannot be read: it was changed or removed`, { cause });
    }
  }
}
