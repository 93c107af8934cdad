import { CressetError } from '@cresset/ir';
import { type ByteSource, StreamedSource } from './byte-source.ts';
import { ChunkedSource } from './chunked-source.ts';
import { BLOCK_BYTES, type FileCache } from './file-cache.ts';

/** Blocks that are fetched with one request when nobody waits for them. */
const BLOCKS_AHEAD = 8;

/** A file whose blocks come from the cache, and those that are not there from the server, into the cache. */
export class CachedSource extends StreamedSource {
  readonly name: string;
  readonly size: number;
  readonly #cache: FileCache;
  #remote: ByteSource | null;
  readonly #offline: CressetError | null;
  /** Streams that somebody waits for. */
  #active = 0;

  /**
   * @param remote null where the server is not needed, or was not reached
   * @param offline why it was not
   */
  constructor(cache: FileCache, remote: ByteSource | null, offline: CressetError | null = null) {
    super();
    this.name = cache.address;
    this.size = cache.version!.size;
    this.#cache = cache;
    this.#remote = remote;
    this.#offline = offline;
  }

  async *stream(offset: number, length: number): AsyncGenerator<Uint8Array> {
    const end = offset + length;
    let at = offset;
    this.#active++;
    try {
      while (at < end) {
        const block = Math.floor(at / BLOCK_BYTES);
        const kept = await this.#cache.read(block);
        const pieces = kept ? [kept] : this.#download(block, this.#endOfGap(block, end));
        for await (const piece of pieces) {
          const start = Math.floor(at / BLOCK_BYTES) * BLOCK_BYTES;
          yield piece.subarray(at - start, Math.min(end - start, piece.byteLength));
          at = start + piece.byteLength;
        }
      }
    } finally {
      this.#active--;
    }
  }

  /** Fetches what is missing, while nobody waits for anything else. Never rejects: what cannot be had now is left for later. */
  async fill(): Promise<void> {
    const { blockCount } = this.#cache;
    try {
      for (let block = 0; block < blockCount && !this.#cache.isStopped;) {
        if (this.#active > 0) {
          await new Promise((resolve) => setTimeout(resolve, 100));
        } else if (this.#cache.has(block)) {
          block++;
        } else {
          const end = Math.min((block + BLOCKS_AHEAD) * BLOCK_BYTES, this.size);
          for await (const _ of this.#download(block, this.#endOfGap(block, end))) {
            block++;
            if (this.#active > 0 || this.#cache.isStopped) break;
          }
        }
      }
      // A file that came as a whole lies in the cache now, and need not in memory.
      if (this.#remote instanceof ChunkedSource && !this.#cache.isStopped) this.#remote = null;
    } catch {
      // The server is gone, or has another version of the file: who needs the rest will be told.
    }
  }

  override async discard(): Promise<void> {
    await this.#cache.remove();
  }

  /** The first block after `block` that is there or begins at `end` or later. */
  #endOfGap(block: number, end: number): number {
    let next = block + 1;
    while (next * BLOCK_BYTES < end && !this.#cache.has(next)) next++;
    return next;
  }

  async *#download(first: number, last: number): AsyncGenerator<Uint8Array> {
    const remote = this.#remote;
    if (!remote) {
      throw new CressetError(
        'DOWNLOAD_FAILED',
        `${this.name} was not kept as a whole at an earlier visit, and cannot be fetched now`,
        { cause: this.#offline },
      );
    }
    let block = first;
    let bytes = new Uint8Array(this.#cache.blockLength(block));
    let filled = 0;
    const offset = first * BLOCK_BYTES;
    for await (const piece of remote.stream(offset, Math.min(last * BLOCK_BYTES, this.size) - offset)) {
      for (let at = 0; at < piece.byteLength;) {
        const part = piece.subarray(at, at + bytes.byteLength - filled);
        bytes.set(part, filled);
        filled += part.byteLength;
        at += part.byteLength;
        if (filled < bytes.byteLength) continue;
        await this.#cache.write(block, bytes);
        yield bytes;
        if (++block >= last) return;
        bytes = new Uint8Array(this.#cache.blockLength(block));
        filled = 0;
      }
    }
  }
}
