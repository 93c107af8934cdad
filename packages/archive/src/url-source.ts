import { CressetError } from '@cresset/ir';
import {
  abortable,
  abortError,
  MemorySource,
  throwIfAborted,
  type ByteRange,
  type ByteSource,
  type TransferOptions,
} from './byte-source.ts';
import { batchRanges, BATCH_BYTES } from './range-batches.ts';

/** The first request asks for this much: a smaller file comes whole with it. */
const FIRST_REQUEST_BYTES = 1 << 20;
/** Requests under way at a time; browsers allow six a server with HTTP/1.1. */
const PARALLEL_REQUESTS = 4;
const ATTEMPTS = 3;

/**
 * Opens an address: by HTTP ranges where the server answers them, by one streamed download where it does not.
 *
 * Throws a CressetError: `DOWNLOAD_FAILED` (unreachable, or an HTTP status that is no success), `DOWNLOAD_TRUNCATED`
 * (fewer bytes came than were announced; the message has both counts), `ABORTED`.
 */
export async function openUrl(url: string | URL, options: TransferOptions = {}): Promise<ByteSource> {
  const { signal } = options;
  throwIfAborted(signal);
  const address = String(url);
  const response = await request(address, { offset: 0, length: FIRST_REQUEST_BYTES }, signal);

  // An empty file has no first byte to ask for.
  if (response.status === 416) return new MemorySource(new Uint8Array(0), address);
  if (!response.ok) {
    throw new CressetError('DOWNLOAD_FAILED', `${address} answered with HTTP status ${statusText(response)}`);
  }
  if (response.status !== 206) return new MemorySource(await wholeBody(response, address, options), address);

  const extent = contentRange(response);
  if (extent === null || extent.offset !== 0) {
    // A part without readable place and total (a server of another origin must expose Content-Range) is of no use.
    await response.body?.cancel();
    const whole = await request(address, null, signal);
    if (!whole.ok)
      throw new CressetError('DOWNLOAD_FAILED', `${address} answered with HTTP status ${statusText(whole)}`);
    return new MemorySource(await wholeBody(whole, address, options), address);
  }
  const source = new RangedUrlSource(address, extent.total, response.headers.get('etag'), options);
  await source.receiveFront(response, extent.length);
  return source;
}

/** A file read by HTTP ranges. The front stays in memory, since the first request brought it anyway. */
class RangedUrlSource implements ByteSource {
  #front: Uint8Array = new Uint8Array(0);
  #received = 0;

  constructor(
    readonly name: string,
    readonly size: number,
    private readonly etag: string | null,
    private readonly options: TransferOptions,
  ) {}

  async receiveFront(response: Response, length: number): Promise<void> {
    this.#front = await this.#receive(response, length);
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const [bytes] = await this.readAll([{ offset, length }]);
    return bytes;
  }

  async readAll(ranges: readonly ByteRange[]): Promise<Uint8Array[]> {
    const results = new Array<Uint8Array>(ranges.length);
    const missing: number[] = [];
    ranges.forEach(({ offset, length }, index) => {
      if (offset < 0 || length < 0 || !(offset + length <= this.size)) {
        throw new CressetError(
          'ARCHIVE_TRUNCATED',
          `${this.name} has ${this.size} bytes, but bytes ${offset} to ${offset + length} were asked for`,
        );
      }
      if (offset + length <= this.#front.byteLength) results[index] = this.#front.subarray(offset, offset + length);
      else missing.push(index);
    });
    const batches = batchRanges(ranges, missing);
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < batches.length) {
        const { extent, members } = batches[next++];
        const bytes = await this.#fetchRange(extent);
        for (const index of members) {
          const start = ranges[index].offset - extent.offset;
          results[index] = bytes.subarray(start, start + ranges[index].length);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL_REQUESTS, batches.length) }, worker));
    return results;
  }

  async #fetchRange(extent: ByteRange): Promise<Uint8Array> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#fetchOnce(extent);
      } catch (error) {
        const transient = error instanceof CressetError && TRANSIENT.has(error.code);
        if (!transient || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #fetchOnce(extent: ByteRange): Promise<Uint8Array> {
    const { signal } = this.options;
    throwIfAborted(signal);
    const response = await request(this.name, extent, signal);
    if (response.status !== 206) {
      await response.body?.cancel();
      throw new CressetError(
        'DOWNLOAD_FAILED',
        `${this.name} answered a request for bytes ${extent.offset} to ${extent.offset + extent.length} with HTTP status ${statusText(response)}`,
      );
    }
    const got = contentRange(response);
    const etag = response.headers.get('etag');
    if (
      got === null ||
      got.offset !== extent.offset ||
      got.total !== this.size ||
      (this.etag && etag && this.etag !== etag)
    ) {
      await response.body?.cancel();
      throw new CressetError(
        'DOWNLOAD_CHANGED',
        `${this.name} changed on the server while it was being read; load it again`,
      );
    }
    return this.#receive(response, extent.length);
  }

  async #receive(response: Response, length: number): Promise<Uint8Array> {
    const { signal, onProgress } = this.options;
    const before = this.#received;
    let counted = 0;
    const bytes = await readBody(response, length, signal, (loaded) => {
      // Parallel requests report through one count; a repeated request may not make it fall.
      this.#received += loaded - counted;
      counted = loaded;
      onProgress?.({ loaded: Math.min(this.#received, this.size), total: this.size });
    });
    if (bytes.byteLength !== length) {
      throw new CressetError(
        'DOWNLOAD_TRUNCATED',
        `${this.name}: ${bytes.byteLength} bytes came where ${length} were announced (${before} bytes before)`,
      );
    }
    return bytes;
  }
}

const TRANSIENT: ReadonlySet<string> = new Set(['DOWNLOAD_TRUNCATED', 'DOWNLOAD_FAILED']);

async function request(address: string, range: ByteRange | null, signal: AbortSignal | undefined): Promise<Response> {
  const headers: Record<string, string> = range
    ? { Range: `bytes=${range.offset}-${range.offset + range.length - 1}` }
    : {};
  try {
    return await fetch(address, { headers, ...(signal ? { signal } : {}) });
  } catch (cause) {
    if (signal?.aborted) throw abortError(signal);
    throw new CressetError(
      'DOWNLOAD_FAILED',
      `${address} could not be fetched: no connection, a wrong address, or a server of another origin that does not allow it (CORS)`,
      { cause },
    );
  }
}

function statusText(response: Response): string {
  return response.statusText ? `${response.status} (${response.statusText})` : String(response.status);
}

function contentRange(response: Response): { offset: number; length: number; total: number } | null {
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(response.headers.get('content-range') ?? '');
  if (!match) return null;
  const [offset, last, total] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (last < offset || total <= last) return null;
  return { offset, length: last - offset + 1, total };
}

/** The whole of a response that is not a part. */
async function wholeBody(
  response: Response,
  address: string,
  { signal, onProgress }: TransferOptions,
): Promise<Uint8Array> {
  const announced = Number(response.headers.get('content-length') ?? NaN);
  // Content-Length counts what travels, which is another number where the server compresses. A response of another
  // origin does not show whether it was compressed.
  const comparable = response.type !== 'cors' && response.headers.get('content-encoding') === null;
  const total = comparable && Number.isSafeInteger(announced) ? announced : null;
  const bytes = await readBody(
    response,
    total ?? 0,
    signal,
    (loaded) => onProgress?.({ loaded, total }),
    (loaded) => {
      throw new CressetError(
        'DOWNLOAD_TRUNCATED',
        total === null
          ? `${address}: the connection broke after ${loaded} bytes`
          : `${address}: the connection broke after ${loaded} of ${total} bytes`,
      );
    },
  );
  if (total !== null && bytes.byteLength < total) {
    throw new CressetError(
      'DOWNLOAD_TRUNCATED',
      `${address}: ${bytes.byteLength} bytes came where ${total} were announced`,
    );
  }
  return bytes;
}

/** Reads a body into one array; `expected` is a first guess of its size and nothing more. */
async function readBody(
  response: Response,
  expected: number,
  signal: AbortSignal | undefined,
  progress: (loaded: number) => void,
  broken?: (loaded: number) => never,
): Promise<Uint8Array> {
  if (!response.body) return new Uint8Array(0);
  const reader = response.body.getReader();
  // An announced size is a claim: memory is taken as bytes come, beyond a first modest piece.
  let buffer = new Uint8Array(Math.min(expected, BATCH_BYTES));
  let loaded = 0;
  try {
    for (;;) {
      const { done, value } = await abortable(reader.read(), signal);
      if (done) break;
      if (loaded + value.byteLength > buffer.byteLength) {
        const needed = loaded + value.byteLength;
        const grown = new Uint8Array(needed <= expected ? Math.min(expected, 2 * needed) : 2 * needed);
        grown.set(buffer.subarray(0, loaded));
        buffer = grown;
      }
      buffer.set(value, loaded);
      loaded += value.byteLength;
      progress(loaded);
    }
  } catch (cause) {
    reader.cancel().catch(() => {});
    if (signal?.aborted) throw abortError(signal);
    if (cause instanceof CressetError) throw cause;
    broken?.(loaded);
    throw new CressetError('DOWNLOAD_TRUNCATED', `the connection broke after ${loaded} of ${expected} bytes`, {
      cause,
    });
  }
  return loaded === buffer.byteLength ? buffer : buffer.slice(0, loaded);
}
