import { CressetError } from '@cresset/ir';
import {
  abortError,
  type ByteSource,
  collect,
  piecesOf,
  StreamedSource,
  throwIfAborted,
  type TransferOptions,
} from './byte-source.ts';
import { ChunkedSource, chunksOf } from './chunked-source.ts';
import { openTogether } from './shared-opening.ts';
import type { Remote } from './cached-download.ts';
import type { FileCache } from './file-cache.ts';
import type { ByteRange } from './range-batches.ts';
import { isSameVersion, type FileVersion } from '../file-version.ts';

/** The first request asks for this much: a smaller file comes whole with it. */
const FIRST_REQUEST_BYTES = 128 << 10;
/** A file up to this size is read as a whole; of a larger one, only what is needed. */
export const WHOLE_FILE_BYTES = 32 << 20;
/** Directory, pickles and code of a TorchScript file stand at its end. */
const TAIL_BYTES = 256 << 10;
/** The rest of a large file is fetched into the cache when the model is likely to be loaded. */
const FILL_DELAY_MS = 2000;
/** Requests one after the other that bring nothing, before a stretch is given up. */
const ATTEMPTS = 3;

/**
 * Opens an address, once for all who do at a time: by HTTP ranges where the server answers them, by one streamed download where it does not. A small file is read
 * at once; one that is kept from an earlier visit comes from there, once the server has said that it is still the same.
 *
 * Throws a CressetError: `DOWNLOAD_FAILED` (unreachable, or an HTTP status that is no success), `DOWNLOAD_TRUNCATED`
 * (fewer bytes came than were announced; the message has both counts), `DOWNLOAD_CHANGED`, `ABORTED`.
 */
export function openUrl(url: string | URL, options: TransferOptions = {}): Promise<ByteSource> {
  return openTogether(openAddress, String(url), options);
}

async function openAddress(address: string, options: TransferOptions): Promise<ByteSource> {
  const source =
    (options.cache && (await openCached(address, options))) || (await openRemote(address, options)).source!;
  if (!(source instanceof StreamedSource)) return source;
  if (source.size > WHOLE_FILE_BYTES) {
    await source.keep(source.size - TAIL_BYTES, TAIL_BYTES);
    const { fill }: ByteSource = source;
    if (fill) setTimeout(() => void fill.call(source), FILL_DELAY_MS);
    return source;
  }
  const whole = new ChunkedSource(await chunksOf(source.stream(0, source.size)), address);
  if (source.discard) whole.discard = source.discard.bind(source);
  return whole;
}

/** The file as it is kept, and kept in step; null where nothing can be kept here. */
async function openCached(address: string, options: TransferOptions): Promise<ByteSource | null> {
  const { openThroughCache } = await import('./cached-download.ts');
  options.onPart?.('cached-download', 'a file that is kept for later visits');
  return openThroughCache(address, options, (cache) => openRemote(address, options, cache));
}

async function openRemote(address: string, options: TransferOptions, cache?: FileCache): Promise<Remote> {
  const { signal } = options;
  // One byte tells whether a file that is kept is still the same.
  const asked = cache?.version ? 1 : FIRST_REQUEST_BYTES;
  let response = await request(address, { offset: 0, length: asked }, signal);
  // An empty file has no first byte to ask for.
  if (response.status === 416) return { version: versionOf(response, 0), source: new ChunkedSource([], address) };
  if (!response.ok) throw statusError(address, response);
  if (response.status === 206) {
    const part = contentRange(response);
    if (part?.offset === 0) {
      const version = versionOf(response, part.total);
      const source = new RangedUrlSource(address, version, options);
      await source.receiveFront(response, part.length);
      return { version, source };
    }
    // A part without readable place and total (a server of another origin must expose Content-Range) is of no use.
    await response.body?.cancel();
    response = await requestWhole(address, signal);
  }
  const announced = announcedSize(response);
  if (cache?.version) {
    const version = versionOf(response, announced ?? cache.version.size);
    const isComplete = Array.from({ length: cache.blockCount }, (_, block) => cache.has(block)).every(Boolean);
    if (isComplete && isSameVersion(cache.version, version)) {
      await response.body?.cancel();
      return { version, source: null };
    }
  }
  let source = await wholeBody(response, address, options, asked);
  if (source.size === asked) {
    // Just what was asked for, as though it were the file: addresses of browser extensions answer so, with status 200.
    response = await requestWhole(address, signal);
    source = await wholeBody(response, address, options);
  }
  return { version: versionOf(response, source.size), source };
}

function versionOf({ headers }: Response, size: number): FileVersion {
  return { size, etag: headers.get('etag'), lastModified: headers.get('last-modified') };
}

/** A file read by HTTP ranges. */
class RangedUrlSource extends StreamedSource {
  #received = 0;

  constructor(
    readonly name: string,
    private readonly version: FileVersion,
    private readonly options: TransferOptions,
  ) {
    super();
  }

  get size(): number {
    return this.version.size;
  }

  /** Keeps what came with the first request. */
  async receiveFront(response: Response, length: number): Promise<void> {
    try {
      const bytes = await collect(this.#counted(response, length), length);
      this.keepBytes(0, bytes);
    } catch {
      // It is asked for again when it is needed.
      throwIfAborted(this.options.signal);
    }
  }

  async *stream(offset: number, length: number): AsyncGenerator<Uint8Array> {
    const end = offset + length;
    let at = offset;
    const kept = this.kept(offset, length);
    if (kept) {
      yield kept;
      at += kept.byteLength;
    }
    for (let attempt = 1; at < end;) {
      try {
        // What broke off is taken up where it broke.
        for await (const piece of this.#counted(await this.#requestPart(at, end - at), end - at)) {
          yield piece;
          at += piece.byteLength;
          attempt = 1;
        }
        if (at < end) throw this.#broken(at - offset, length);
      } catch (cause) {
        throwIfAborted(this.options.signal);
        const error = cause instanceof CressetError ? cause : this.#broken(at - offset, length, cause);
        if (error.code === 'DOWNLOAD_CHANGED' || ++attempt > ATTEMPTS) throw error;
      }
    }
  }

  #broken(loaded: number, length: number, cause?: unknown): CressetError {
    return new CressetError(
      'DOWNLOAD_TRUNCATED',
      `${this.name}: the connection broke after ${loaded} of ${length} bytes`,
      { cause },
    );
  }

  async #requestPart(offset: number, length: number): Promise<Response> {
    const response = await request(this.name, { offset, length }, this.options.signal);
    const { status } = response;
    const part = status === 206 ? contentRange(response) : null;
    const isChanged =
      status === 412 ||
      status === 416 ||
      (part !== null && part.offset !== offset) ||
      ((part !== null || status === 200) &&
        isSameVersion(this.version, versionOf(response, part?.total ?? announcedSize(response) ?? this.size)) ===
          false);
    if (part && !isChanged) return response;
    await response.body?.cancel();
    if (isChanged) {
      throw new CressetError(
        'DOWNLOAD_CHANGED',
        `${this.name} changed on the server while it was being read; load it again`,
      );
    }
    throw statusError(this.name, response, ` a request for bytes ${offset} to ${offset + length}`);
  }

  /** The pieces of a response, no more of them than were asked for. */
  async *#counted(response: Response, length: number): AsyncGenerator<Uint8Array> {
    const { signal, onProgress } = this.options;
    let left = length;
    for await (const piece of piecesOf(response.body, signal)) {
      const wanted = piece.subarray(0, left);
      left -= wanted.byteLength;
      this.#received += wanted.byteLength;
      onProgress?.({ loaded: Math.min(this.#received, this.size), total: this.size });
      yield wanted;
      if (left === 0) return;
    }
  }
}

async function request(address: string, range: ByteRange | null, signal: AbortSignal | undefined): Promise<Response> {
  const headers: Record<string, string> = range
    ? { Range: `bytes=${range.offset}-${range.offset + range.length - 1}` }
    : {};
  // The browser's own cache has little room: a large file would drive out everything else, and not fit in the end.
  const cache = range && range.length > FIRST_REQUEST_BYTES ? 'no-store' : 'default';
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetch(address, { headers, cache, ...(signal ? { signal } : {}) });
    } catch (cause) {
      if (signal?.aborted) throw abortError(signal);
      // A connection that was kept open for the next request may have been closed by the other side meanwhile.
      if (attempt < 2) continue;
      throw new CressetError(
        'DOWNLOAD_FAILED',
        address.startsWith('file:')
          ? `${address} could not be fetched: read the file, and load its bytes`
          : `${address} could not be fetched: no connection, a wrong address, or a server of another origin that does not allow it (CORS)`,
        { cause },
      );
    }
  }
}

async function requestWhole(address: string, signal: AbortSignal | undefined): Promise<Response> {
  const response = await request(address, null, signal);
  if (!response.ok) throw statusError(address, response);
  return response;
}

function statusError(address: string, { status, statusText }: Response, what = ''): CressetError {
  const text = statusText ? `${status} (${statusText})` : String(status);
  return new CressetError('DOWNLOAD_FAILED', `${address} answered${what} with HTTP status ${text}`);
}

/** Null also for a part of what was compressed on its way: it is none of the file. */
function contentRange(response: Response): { offset: number; length: number; total: number } | null {
  if ((response.headers.get('content-encoding') ?? 'identity') !== 'identity') return null;
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(response.headers.get('content-range') ?? '');
  if (!match) return null;
  const [offset, last, total] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (last < offset || total <= last) return null;
  return { offset, length: last - offset + 1, total };
}

/** Bytes of a whole file by its response. */
function announcedSize({ headers, type }: Response): number | null {
  const announced = Number(headers.get('content-length') ?? NaN);
  // Content-Length counts what travels, which is another number where the server compresses. A response of another
  // origin does not show whether it was compressed.
  const comparable = type !== 'cors' && headers.get('content-encoding') === null;
  return comparable && Number.isSafeInteger(announced) ? announced : null;
}

/**
 * The whole of a response that is not a part.
 *
 * @param doubtful so many bytes may be a part after all, and are not told as progress
 */
async function wholeBody(
  response: Response,
  address: string,
  { signal, onProgress }: TransferOptions,
  doubtful = 0,
): Promise<ChunkedSource> {
  const total = announcedSize(response);
  let loaded = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of piecesOf(response.body, signal)) {
      loaded += piece.byteLength;
      if (loaded > doubtful) onProgress?.({ loaded, total });
      yield piece;
    }
  };
  const of = (): string => (total === null ? '' : ` of ${total}`);
  let chunks: ArrayBuffer[];
  try {
    chunks = await chunksOf(counted());
  } catch (cause) {
    if (cause instanceof CressetError) throw cause;
    throw new CressetError('DOWNLOAD_TRUNCATED', `${address}: the connection broke after ${loaded}${of()} bytes`, {
      cause,
    });
  }
  if (total !== null && loaded < total) {
    throw new CressetError('DOWNLOAD_TRUNCATED', `${address}: ${loaded} bytes came where ${total} were announced`);
  }
  return new ChunkedSource(chunks, address);
}
