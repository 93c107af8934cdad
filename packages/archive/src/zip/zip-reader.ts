import { CressetError } from '@cresset/ir';
import type { ByteSource } from '../sources/byte-source.ts';
import type { ByteRange } from '../sources/range-batches.ts';
import { crc32 } from './crc32.ts';
import { inflate } from './inflate.ts';
import { batchRanges } from '../sources/range-batches.ts';

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;
const END_OF_DIRECTORY_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;

const LOCAL_HEADER_SIZE = 30;
const CENTRAL_HEADER_SIZE = 46;
const END_SIZE = 22;
const END_64_SIZE = 56;
const LOCATOR_64_SIZE = 20;
const MAX_COMMENT = 0xffff;
const ZIP64_EXTRA = 0x0001;
/** A local header with the longest name and extra field, and a zip64 data descriptor. */
const MAX_ENTRY_OVERHEAD = LOCAL_HEADER_SIZE + 2 * 0xffff + 24;

const STORED = 0;
const DEFLATED = 8;
/** Deflate cannot do better than this many bytes out for one in. */
const DEFLATE_LIMIT = 1032;

const MAX_DIRECTORY_BYTES = 256 << 20;
const MAX_INFLATED_BYTES = 256 << 20;
/** Records of code have some kilobytes each, and there are dozens of them. */
const MAX_INFLATED_AT_ONCE = 1 << 16;

/** One file of a zip, as the central directory describes it. */
export interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly encrypted: boolean;
  readonly crc: number;
  /** Bytes in the file. */
  readonly compressedSize: number;
  /** Bytes when inflated. */
  readonly size: number;
  readonly headerOffset: number;
  /** The first byte after `headerOffset` that cannot belong to this entry. */
  readonly limit: number;
}

/**
 * Reads a zip file by its central directory: stored and deflated entries, zip64, data descriptors.
 *
 * Whatever the file says is checked before it is believed: offsets and sizes against the file, local headers against the
 * directory, inflated data against its announced size and CRC. Entries must not overlap, which makes the sum of what can be
 * inflated a bounded multiple of the file; of entries with one name the last counts.
 */
export class ZipReader {
  readonly entries: ReadonlyMap<string, ZipEntry>;
  /** The name of the first entry of the directory: its folder is the archive's. */
  readonly firstName: string;
  readonly #source: ByteSource;
  #inflateBudget: number;

  private constructor(source: ByteSource, entries: readonly ZipEntry[]) {
    this.#source = source;
    this.entries = new Map(entries.map((entry) => [entry.name, entry]));
    this.firstName = entries.length === 0 ? '' : entries[0].name;
    this.#inflateBudget = Math.max(MAX_INFLATED_BYTES, 64 * source.size);
  }

  /** Reads the central directory. Throws a CressetError whose code starts with `ZIP_`. */
  static async open(source: ByteSource): Promise<ZipReader> {
    const directory = await findDirectory(source);
    const bytes = await source.read(directory.offset, directory.size);
    return new ZipReader(source, parseDirectory(bytes, directory, source.name));
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  entry(name: string): ZipEntry {
    const entry = this.entries.get(name);
    if (!entry) throw new CressetError('ZIP_NO_ENTRY', `${this.#source.name} has no entry '${name}'`);
    return entry;
  }

  async read(name: string): Promise<Uint8Array> {
    const [bytes] = await this.readAll([name]);
    return bytes;
  }

  /** Contents of several entries, fetched together. */
  async readAll(names: readonly string[]): Promise<Uint8Array[]> {
    const entries = names.map((name) => this.entry(name));
    for (const entry of entries) this.#checkReadable(entry);
    const stretches = await this.#source.readAll(
      entries.map(({ headerOffset, limit }) => ({ offset: headerOffset, length: limit - headerOffset })),
    );
    return Promise.all(entries.map((entry, index) => this.#contents(entry, stretches[index])));
  }

  /**
   * Contents of entries, each in memory of its own, which for stored ones is all the memory that reading takes. Those that lie near each
   * other come with one request, and each is there as soon as its bytes are.
   */
  readRecords(names: readonly string[]): Promise<ArrayBuffer>[] {
    const sinks = names.map((name) => new RecordSink(this.entry(name)));
    const stored = [...sinks.keys()].filter((index) => sinks[index].entry.method === STORED);
    const ranges = sinks.map(({ entry }) => ({ offset: entry.headerOffset, length: entry.limit - entry.headerOffset }));
    for (const { extent, members } of batchRanges(ranges, stored)) {
      void this.#readRun(
        extent,
        members.map((index) => sinks[index]),
      );
    }
    for (const { entry, resolve, reject } of sinks) {
      if (entry.method !== STORED) this.read(entry.name).then((bytes) => resolve(bytes.buffer as ArrayBuffer), reject);
    }
    return sinks.map(({ contents }) => contents);
  }

  /** Reads entries that stand one after the other; what is wrong with one of them is told to who wants that one. */
  async #readRun({ offset, length }: ByteRange, sinks: readonly RecordSink[]): Promise<void> {
    const cursor = new StreamCursor(this.#source.stream(offset, length), offset);
    try {
      for (const { entry, resolve, reject } of sinks) {
        try {
          this.#checkReadable(entry);
          const header = new Uint8Array(LOCAL_HEADER_SIZE);
          await cursor.skipTo(entry.headerOffset);
          await cursor.readInto(header);
          const start = this.#dataStart(entry, header);
          const room = entry.limit - entry.headerOffset - start;
          if (entry.size > room) throw this.#overlap(entry, Math.max(0, room));
          await cursor.skipTo(entry.headerOffset + start);
          const contents = this.#allocate(entry);
          this.#checkCrc(entry, await cursor.readInto(contents));
          resolve(contents.buffer);
        } catch (error) {
          if (!(error instanceof CressetError) || !OF_ONE_ENTRY.test(error.code)) throw error;
          reject(error);
        }
      }
    } catch (error) {
      // For those that are there already this comes too late to matter.
      for (const { reject } of sinks) reject(error);
    } finally {
      await cursor.end();
    }
  }

  /** The contents of an entry are not needed again. */
  release(name: string): void {
    const { headerOffset, limit } = this.entry(name);
    this.#source.release?.(headerOffset, limit - headerOffset);
  }

  /** A reader of these entries alone, which holds no more of the file than they take. */
  async subset(names: readonly string[]): Promise<ZipReader> {
    const entries = names.map((name) => this.entry(name));
    const stretches = await this.#source.readAll(
      entries.map(({ headerOffset, limit }) => ({ offset: headerOffset, length: limit - headerOffset })),
    );
    const pieces = new Map(entries.map(({ headerOffset }, index) => [headerOffset, stretches[index].slice()]));
    return new ZipReader(new PiecesSource(this.#source.name, this.#source.size, pieces), entries);
  }

  #checkReadable(entry: ZipEntry): void {
    const { name, method, size, compressedSize } = entry;
    if (entry.encrypted)
      throw new CressetError('ZIP_ENCRYPTED', `entry '${name}' of ${this.#source.name} is encrypted`);
    if (method === STORED) {
      if (size !== compressedSize) {
        throw this.#damaged(`entry '${name}' is stored with ${compressedSize} bytes, but claims to have ${size}`);
      }
    } else if (method === DEFLATED) {
      if (size > compressedSize * DEFLATE_LIMIT) {
        throw this.#damaged(
          `entry '${name}' claims to inflate from ${compressedSize} to ${size} bytes, more than is possible`,
        );
      }
    } else {
      throw new CressetError(
        'ZIP_COMPRESSION_METHOD',
        `entry '${name}' of ${this.#source.name} is compressed by method ${method}; only stored and deflated entries can be read`,
      );
    }
  }

  /** Cuts the contents out of everything from the local header to the next entry. */
  async #contents(entry: ZipEntry, stretch: Uint8Array): Promise<Uint8Array> {
    const { method, compressedSize } = entry;
    const start = this.#dataStart(entry, stretch);
    if (start + compressedSize > stretch.byteLength) {
      throw this.#overlap(entry, Math.max(0, stretch.byteLength - start));
    }
    const data = stretch.subarray(start, start + compressedSize);
    const contents = method === STORED ? data : await this.#inflate(entry, data);
    if (entry.crc !== 0) this.#checkCrc(entry, crc32(contents));
    return contents;
  }

  #allocate({ name, size }: ZipEntry): Uint8Array<ArrayBuffer> {
    try {
      return new Uint8Array(size);
    } catch (cause) {
      const message = `there is no memory for entry '${name}' of ${this.#source.name}, which has ${size} bytes`;
      throw new CressetError('OUT_OF_MEMORY', message, { cause });
    }
  }

  /** Where the data begins, from the local header at the front of `stretch`. */
  #dataStart({ name, headerOffset }: ZipEntry, stretch: Uint8Array): number {
    const view = viewOf(stretch);
    if (stretch.byteLength < LOCAL_HEADER_SIZE || view.getUint32(0, true) !== LOCAL_HEADER) {
      throw this.#damaged(`there is no header of entry '${name}' at offset ${headerOffset}`);
    }
    // Sizes in a local header may be zero with the true ones behind the data: the directory's are the ones that count.
    return LOCAL_HEADER_SIZE + view.getUint16(26, true) + view.getUint16(28, true);
  }

  #overlap({ name, compressedSize }: ZipEntry, own: number): CressetError {
    return new CressetError(
      'ZIP_OVERLAP',
      `entry '${name}' of ${this.#source.name} claims ${compressedSize} bytes where ${own} are its own`,
    );
  }

  #checkCrc({ name, crc, size }: ZipEntry, found: number): void {
    // PyTorch writes 0 where it was told to compute no checksums.
    if (crc === 0 || crc === found) return;
    throw new CressetError(
      'ZIP_CRC',
      `entry '${name}' of ${this.#source.name} is damaged: its checksum is wrong (${size} bytes)`,
    );
  }

  async #inflate(entry: ZipEntry, data: Uint8Array): Promise<Uint8Array> {
    const { name, size } = entry;
    this.#inflateBudget -= size;
    if (this.#inflateBudget < 0) {
      throw new CressetError('ZIP_TOO_LARGE', `${this.#source.name} inflates to more than is reasonable for its size`);
    }
    const contents = this.#allocate(entry);
    let filled = 0;
    try {
      if (size <= MAX_INFLATED_AT_ONCE) filled = inflate(data, contents);
      else {
        for await (const piece of inflatedPieces(data)) {
          // What runs on is not kept.
          if (filled + piece.byteLength <= size) contents.set(piece, filled);
          filled += piece.byteLength;
          if (filled > size) break;
        }
      }
    } catch (cause) {
      throw this.#damaged(`entry '${name}' cannot be inflated (${(cause as Error).message})`);
    }
    if (filled !== size) {
      throw this.#damaged(`entry '${name}' inflates to another size than the ${size} bytes it announces`);
    }
    return contents;
  }

  #damaged(what: string): CressetError {
    return new CressetError('ZIP_DAMAGED', `${this.#source.name} is damaged: ${what}`);
  }
}

/** What raw deflated data inflates to, as far as it is asked for. Throws the platform's error where it is damaged. */
async function* inflatedPieces(data: Uint8Array): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new DecompressionStream('deflate-raw');
  const writer = writable.getWriter();
  const written = Promise.all([writer.write(data as Uint8Array<ArrayBuffer>), writer.close()]);
  // Whoever reads hears of it.
  written.catch(() => undefined);
  const reader = readable.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Errors that leave other entries of a file readable. */
const OF_ONE_ENTRY = /^(ZIP|OUT_OF)_/;

/** Where the contents of an entry are wanted. */
class RecordSink {
  readonly contents: Promise<ArrayBuffer>;
  resolve!: (contents: ArrayBuffer) => void;
  reject!: (error: unknown) => void;

  constructor(readonly entry: ZipEntry) {
    this.contents = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
  }
}

/** Takes a stream in portions of one's own. */
class StreamCursor {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #piece: Uint8Array = new Uint8Array(0);
  #position: number;

  constructor(stream: AsyncIterable<Uint8Array>, position: number) {
    this.#pieces = stream[Symbol.asyncIterator]();
    this.#position = position;
  }

  async skipTo(position: number): Promise<void> {
    while (this.#position < position) await this.#take(position - this.#position);
  }

  /** Fills an array, and gives the CRC of what it was filled with. */
  async readInto(target: Uint8Array): Promise<number> {
    let crc = 0;
    for (let filled = 0; filled < target.byteLength;) {
      const part = await this.#take(target.byteLength - filled);
      target.set(part, filled);
      crc = crc32(part, crc);
      filled += part.byteLength;
    }
    return crc;
  }

  /** No more of the stream is wanted. */
  async end(): Promise<void> {
    await this.#pieces.return?.();
  }

  /** Some of the next bytes, `most` at most. */
  async #take(most: number): Promise<Uint8Array> {
    while (this.#piece.byteLength === 0) {
      const { done, value } = await this.#pieces.next();
      if (done) throw new CressetError('DOWNLOAD_TRUNCATED', `the file ends at byte ${this.#position}`);
      this.#piece = value;
    }
    const part = this.#piece.subarray(0, most);
    this.#piece = this.#piece.subarray(part.byteLength);
    this.#position += part.byteLength;
    return part;
  }
}

/** The stretches of a file that some of its entries take. */
class PiecesSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #pieces: ReadonlyMap<number, Uint8Array>;

  constructor(name: string, size: number, pieces: ReadonlyMap<number, Uint8Array>) {
    this.name = name;
    this.size = size;
    this.#pieces = pieces;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const piece = this.#pieces.get(offset);
    if (!piece || length > piece.byteLength) {
      throw new CressetError(
        'ARCHIVE_TRUNCATED',
        `bytes ${offset} to ${offset + length} of ${this.name} were not kept`,
      );
    }
    return piece.subarray(0, length);
  }

  readAll(ranges: readonly ByteRange[]): Promise<Uint8Array[]> {
    return Promise.all(ranges.map(({ offset, length }) => this.read(offset, length)));
  }

  async *stream(offset: number, length: number): AsyncGenerator<Uint8Array> {
    yield await this.read(offset, length);
  }
}

interface Directory {
  readonly offset: number;
  readonly size: number;
  readonly count: number;
  /** What has to be added to offsets in the file: bytes that were put before the zip. */
  readonly shift: number;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A 64-bit number that has to be an offset or size. */
function readUint64(view: DataView, at: number): number {
  const value = view.getBigUint64(at, true);
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Infinity : Number(value);
}

async function findDirectory(source: ByteSource): Promise<Directory> {
  const tailSize = Math.min(source.size, END_SIZE + MAX_COMMENT);
  const tailOffset = source.size - tailSize;
  const tail = await source.read(tailOffset, tailSize);
  const view = viewOf(tail);
  let end = tailSize - END_SIZE;
  while (
    end >= 0 &&
    !(view.getUint32(end, true) === END_OF_DIRECTORY && end + END_SIZE + view.getUint16(end + 20, true) <= tailSize)
  ) {
    end--;
  }
  if (end < 0) {
    throw new CressetError(
      'ZIP_NO_DIRECTORY',
      `${source.name} has no zip directory at its end: the file is no zip, or its end is missing (${source.size} bytes are there)`,
    );
  }
  const directory = (await findDirectory64(source, view, tailOffset, end)) ?? {
    count: view.getUint16(end + 10, true),
    size: view.getUint32(end + 12, true),
    offset: view.getUint32(end + 16, true),
    shift: 0,
    end: tailOffset + end,
  };
  // A zip may stand behind other bytes; then every offset in it is short by their number.
  const shift = directory.end - directory.size - directory.offset;
  if (!(shift >= 0) || !(directory.offset + directory.size + shift <= source.size)) {
    throw new CressetError(
      'ZIP_DAMAGED',
      `${source.name} is damaged: its directory should have ${directory.size} bytes at offset ${directory.offset}, but the file has ${source.size} bytes`,
    );
  }
  if (directory.size > MAX_DIRECTORY_BYTES || directory.count * CENTRAL_HEADER_SIZE > directory.size) {
    throw new CressetError(
      'ZIP_DAMAGED',
      `${source.name} is damaged: ${directory.count} entries cannot stand in a directory of ${directory.size} bytes`,
    );
  }
  return { offset: directory.offset + shift, size: directory.size, count: directory.count, shift };
}

async function findDirectory64(
  source: ByteSource,
  tail: DataView,
  tailOffset: number,
  end: number,
): Promise<(Directory & { readonly end: number }) | null> {
  const at = end - LOCATOR_64_SIZE;
  if (at < 0 || tail.getUint32(at, true) !== LOCATOR_64) return null;
  const announced = readUint64(tail, at + 8);
  // Where bytes were put before the zip the announced place is wrong, and the record stands right before its locator.
  for (const offset of [announced, tailOffset + at - END_64_SIZE]) {
    if (offset < 0 || !(offset + END_64_SIZE <= source.size)) continue;
    const view = viewOf(await source.read(offset, END_64_SIZE));
    if (view.getUint32(0, true) !== END_OF_DIRECTORY_64) continue;
    return {
      count: readUint64(view, 32),
      size: readUint64(view, 40),
      offset: readUint64(view, 48),
      shift: 0,
      end: offset,
    };
  }
  throw new CressetError('ZIP_DAMAGED', `${source.name} is damaged: its zip64 directory is not where it should be`);
}

const decoder = new TextDecoder();

function parseDirectory(bytes: Uint8Array, directory: Directory, name: string): ZipEntry[] {
  const view = viewOf(bytes);
  const found: Omit<ZipEntry, 'limit'>[] = [];
  let at = 0;
  for (let index = 0; index < directory.count; index++) {
    if (at + CENTRAL_HEADER_SIZE > bytes.byteLength || view.getUint32(at, true) !== CENTRAL_HEADER) {
      throw new CressetError(
        'ZIP_DAMAGED',
        `${name} is damaged: entry ${index + 1} of ${directory.count} of its directory is missing`,
      );
    }
    const nameEnd = at + CENTRAL_HEADER_SIZE + view.getUint16(at + 28, true);
    const extraEnd = nameEnd + view.getUint16(at + 30, true);
    const next = extraEnd + view.getUint16(at + 32, true);
    if (next > bytes.byteLength) {
      throw new CressetError(
        'ZIP_DAMAGED',
        `${name} is damaged: entry ${index + 1} of its directory runs over its end`,
      );
    }
    const numbers = readNumbers(view, at, nameEnd, extraEnd);
    found.push({
      name: decoder.decode(bytes.subarray(at + CENTRAL_HEADER_SIZE, nameEnd)),
      method: view.getUint16(at + 10, true),
      encrypted: (view.getUint16(at + 8, true) & 1) !== 0,
      crc: view.getUint32(at + 16, true),
      compressedSize: numbers.compressedSize,
      size: numbers.size,
      headerOffset: numbers.headerOffset + directory.shift,
    });
    at = next;
  }
  return withLimits(found, directory.offset, name);
}

/** The three numbers that zip64 moves into an extra field where they do not fit. */
function readNumbers(
  view: DataView,
  at: number,
  extraStart: number,
  extraEnd: number,
): { size: number; compressedSize: number; headerOffset: number } {
  let compressedSize = view.getUint32(at + 20, true);
  let size = view.getUint32(at + 24, true);
  let headerOffset = view.getUint32(at + 42, true);
  for (let field = extraStart; field + 4 <= extraEnd;) {
    const end = field + 4 + view.getUint16(field + 2, true);
    if (view.getUint16(field, true) === ZIP64_EXTRA && end <= extraEnd) {
      let number = field + 4;
      const take = (value: number): number => {
        if (value !== 0xffffffff || number + 8 > end) return value;
        number += 8;
        return readUint64(view, number - 8);
      };
      size = take(size);
      compressedSize = take(compressedSize);
      headerOffset = take(headerOffset);
      break;
    }
    field = end;
  }
  return { size, compressedSize, headerOffset };
}

/** Each entry's bytes end where the next entry or the directory begins. */
function withLimits(found: readonly Omit<ZipEntry, 'limit'>[], directoryOffset: number, archive: string): ZipEntry[] {
  const starts = [...new Set(found.map(({ headerOffset }) => headerOffset))].sort((a, b) => a - b);
  const limits = new Map(starts.map((start, index) => [start, starts[index + 1] ?? directoryOffset]));
  const names = new Map<number, string>();
  return found.map((entry) => {
    const { name, headerOffset, compressedSize } = entry;
    const limit = limits.get(headerOffset) ?? directoryOffset;
    if (!(headerOffset + LOCAL_HEADER_SIZE + compressedSize <= directoryOffset)) {
      throw new CressetError(
        'ZIP_DAMAGED',
        `${archive} is damaged: entry '${name}' claims ${compressedSize} bytes at offset ${headerOffset}, which are not there`,
      );
    }
    const other = names.get(headerOffset);
    if (headerOffset + LOCAL_HEADER_SIZE + compressedSize > limit || (other !== undefined && other !== name)) {
      throw new CressetError('ZIP_OVERLAP', `${archive} is damaged: entry '${name}' overlaps another entry`);
    }
    names.set(headerOffset, name);
    // Whatever lies between this entry's data descriptor and the next entry need not be fetched.
    return { ...entry, limit: Math.min(limit, headerOffset + compressedSize + MAX_ENTRY_OVERHEAD) };
  });
}
