import { CressetError } from '@cresset/ir';
import { checkRange, GIVEN_FILE, type ByteSource } from './byte-source.ts';
import type { ByteRange } from './range-batches.ts';

/** Size of the chunks that a stream is kept in. */
const CHUNK_BYTES = 1 << 20;

/** A whole stream as chunks for a {@link ChunkedSource}: nothing is copied again when more comes. */
export async function chunksOf(stream: AsyncIterable<Uint8Array>): Promise<ArrayBuffer[]> {
  const chunks: ArrayBuffer[] = [];
  let filled = CHUNK_BYTES;
  for await (const piece of stream) {
    for (let at = 0; at < piece.byteLength;) {
      if (filled === CHUNK_BYTES) {
        chunks.push(new ArrayBuffer(CHUNK_BYTES));
        filled = 0;
      }
      const part = piece.subarray(at, at + CHUNK_BYTES - filled);
      new Uint8Array(chunks[chunks.length - 1]).set(part, filled);
      filled += part.byteLength;
      at += part.byteLength;
    }
  }
  if (filled < CHUNK_BYTES) chunks.push(chunks.pop()!.slice(0, filled));
  return chunks;
}

/**
 * A source over bytes in chunks, all of one length but the last, which are its own: it gives them up one by one as it is told that
 * what is in them was read. So a file that is handed over as bytes lies in memory once beside its caller's copy, and one that is fetched as a whole, once.
 */
export class ChunkedSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  discard?: () => Promise<void>;
  /** Bytes of each chunk that were not released; the array is the given one, so that nobody else keeps what is released. */
  readonly #chunks: ArrayBuffer[];
  readonly #left: number[];
  readonly #chunkBytes: number;
  /** Shares that have not given a chunk up; all of them have this list. */
  readonly #holders: number[];

  constructor(chunks: ArrayBuffer[], name = GIVEN_FILE, holders = chunks.map(() => 0)) {
    this.name = name;
    this.#holders = holders;
    this.#chunks = chunks;
    this.#chunkBytes = chunks[0]?.byteLength ?? 1;
    this.#left = chunks.map(({ byteLength }) => byteLength);
    this.size = this.#left.reduce((sum, length) => sum + length, 0);
  }

  /** To be asked for before any of them gives up anything; this one is not to be used then. */
  share(): ChunkedSource {
    this.#chunks.forEach((_, index) => this.#holders[index]++);
    const other = new ChunkedSource([...this.#chunks], this.name, this.#holders);
    if (this.discard) other.discard = this.discard;
    return other;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    checkRange(this, { offset, length });
    const result = new Uint8Array(length);
    let filled = 0;
    for (const piece of this.#pieces(offset, length)) {
      result.set(piece, filled);
      filled += piece.byteLength;
    }
    return result;
  }

  readAll(ranges: readonly ByteRange[]): Promise<Uint8Array[]> {
    return Promise.all(ranges.map(({ offset, length }) => this.read(offset, length)));
  }

  async *stream(offset: number, length: number): AsyncGenerator<Uint8Array> {
    checkRange(this, { offset, length });
    yield* this.#pieces(offset, length);
  }

  release(offset: number, length: number): void {
    for (const [index, from, to] of this.#parts(offset, length)) {
      this.#left[index] -= to - from;
      if (this.#left[index] > 0) continue;
      const chunk = this.#chunks[index];
      this.#chunks[index] = new ArrayBuffer(0);
      // At once, where that can be: the collector takes its time, and the whole file would be in memory twice.
      if (--this.#holders[index] <= 0) chunk.transfer?.(0);
    }
  }

  *#pieces(offset: number, length: number): Generator<Uint8Array> {
    for (const [index, from, to] of this.#parts(offset, length)) {
      const chunk = this.#chunks[index];
      if (chunk.byteLength < to) {
        throw new CressetError(
          'ARCHIVE_TRUNCATED',
          `bytes ${offset} to ${offset + length} of ${this.name} were given up`,
        );
      }
      yield new Uint8Array(chunk, from, to - from);
    }
  }

  /** The chunks that a stretch lies in, with where it begins and ends in each. */
  *#parts(offset: number, length: number): Generator<readonly [index: number, from: number, to: number]> {
    const end = offset + length;
    for (let at = offset; at < end;) {
      const index = Math.floor(at / this.#chunkBytes);
      const from = at - index * this.#chunkBytes;
      const to = Math.min(this.#chunkBytes, end - index * this.#chunkBytes);
      yield [index, from, to];
      at += to - from;
    }
  }
}
