import { CressetError } from '@cresset/ir';
import { deflateSync } from 'fflate';
import { ByteWriter } from './byte-writer.ts';
import { crc32 } from './crc32.ts';

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;
const END_OF_DIRECTORY_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;

const LOCAL_HEADER_SIZE = 30;
const EXTRA_HEADER_SIZE = 4;
const ZIP64_EXTRA = 0x0001;
/** The extra field that PyTorch fills up with: `FB` and as many `Z`s as are needed. */
const PADDING_EXTRA = 0x4246;
const PADDING = 'Z';
/** Contents begin at multiples of this, so that tensors can be mapped into memory. */
const ALIGNMENT = 64;

const STORED = 0;
const DEFLATED = 8;
const NAMES_ARE_UTF8 = 1 << 11;
/** The first of January 1980: files made of the same module are the same. */
const DOS_DATE = 0x21;
const IN_ZIP64 = 0xffffffff;

interface Entry {
  readonly name: Uint8Array;
  readonly method: number;
  readonly crc: number;
  readonly size: number;
  readonly compressedSize: number;
  readonly headerOffset: number;
}

export interface ZipWriterOptions {
  /** Sizes and offsets from this one on are written as those of zip64. */
  readonly zip64From?: number;
}

/** Writes a zip file as PyTorch's writer does: contents aligned, and stored unless compression is asked for. */
export class ZipWriter {
  readonly #parts: Uint8Array<ArrayBuffer>[] = [];
  readonly #entries = new Map<string, Entry>();
  readonly #zip64From: number;
  #length = 0;

  constructor({ zip64From = IN_ZIP64 }: ZipWriterOptions = {}) {
    this.#zip64From = zip64From;
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** Names and checksums of what has been written, in order. */
  get checksums(): readonly (readonly [name: string, crc: number])[] {
    return Array.from(this.#entries, ([name, { crc }]) => [name, crc]);
  }

  /** Adds an entry; `contents` are not copied. Throws `SAVE_DUPLICATE_RECORD` where the name is taken. */
  write(name: string, contents: Uint8Array<ArrayBuffer>, { compress = false }: { compress?: boolean } = {}): void {
    if (this.has(name)) throw new CressetError('SAVE_DUPLICATE_RECORD', `Tried to serialize file twice: ${name}`);
    const data = compress ? (deflateSync(contents, { level: 9 }) as Uint8Array<ArrayBuffer>) : contents;
    const entry: Entry = {
      name: new TextEncoder().encode(name),
      method: compress ? DEFLATED : STORED,
      crc: crc32(contents),
      size: contents.byteLength,
      compressedSize: data.byteLength,
      headerOffset: this.#length,
    };
    this.#entries.set(name, entry);
    this.#append(this.#localHeader(entry));
    this.#append(data);
  }

  /** The whole file. */
  finish(): Uint8Array<ArrayBuffer> {
    this.#append(this.#directory());
    const file = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      file.set(part, at);
      at += part.byteLength;
    }
    return file;
  }

  #append(part: Uint8Array<ArrayBuffer>): void {
    this.#parts.push(part);
    this.#length += part.byteLength;
  }

  #localHeader(entry: Entry): Uint8Array<ArrayBuffer> {
    const { name, size, compressedSize } = entry;
    const zip64 = new ByteWriter();
    if (this.#isLarge(size) || this.#isLarge(compressedSize)) {
      // A local header has both sizes there, or none.
      zip64.uint16(ZIP64_EXTRA).uint16(16).uint64(size).uint64(compressedSize);
    }
    const start = this.#length + LOCAL_HEADER_SIZE + name.byteLength + zip64.length + EXTRA_HEADER_SIZE;
    const padding = (ALIGNMENT - (start % ALIGNMENT)) % ALIGNMENT;
    const extraSize = zip64.length + EXTRA_HEADER_SIZE + padding;
    const writer = new ByteWriter().uint32(LOCAL_HEADER);
    this.#describe(writer, entry, zip64.length > 0)
      .uint16(extraSize)
      .bytes(name)
      .bytes(zip64.finish())
      .uint16(PADDING_EXTRA)
      .uint16(padding)
      .byteString(PADDING.repeat(padding));
    return writer.finish();
  }

  /** What local headers and the directory have in common, up to the length of the name. */
  #describe(writer: ByteWriter, entry: Entry, isZip64: boolean): ByteWriter {
    const { name, method, crc, size, compressedSize } = entry;
    return writer
      .uint16(isZip64 ? 45 : 20)
      .uint16(NAMES_ARE_UTF8)
      .uint16(method)
      .uint16(0)
      .uint16(DOS_DATE)
      .uint32(crc)
      .uint32(isZip64 ? IN_ZIP64 : compressedSize)
      .uint32(isZip64 ? IN_ZIP64 : size)
      .uint16(name.byteLength);
  }

  #directory(): Uint8Array<ArrayBuffer> {
    const writer = new ByteWriter();
    for (const entry of this.#entries.values()) this.#centralHeader(writer, entry);
    const size = writer.length;
    const offset = this.#length;
    const count = this.#entries.size;
    const isZip64 = this.#isLarge(size) || this.#isLarge(offset) || count >= 0xffff;
    if (isZip64) {
      writer
        .uint32(END_OF_DIRECTORY_64)
        .uint64(44)
        .uint16(45)
        .uint16(45)
        .uint32(0)
        .uint32(0)
        .uint64(count)
        .uint64(count)
        .uint64(size)
        .uint64(offset)
        .uint32(LOCATOR_64)
        .uint32(0)
        .uint64(offset + size)
        .uint32(1);
    }
    const countIn16 = isZip64 ? 0xffff : count;
    writer
      .uint32(END_OF_DIRECTORY)
      .uint16(0)
      .uint16(0)
      .uint16(countIn16)
      .uint16(countIn16)
      .uint32(isZip64 ? IN_ZIP64 : size)
      .uint32(isZip64 ? IN_ZIP64 : offset)
      .uint16(0);
    return writer.finish();
  }

  #centralHeader(writer: ByteWriter, entry: Entry): void {
    const { name, size, compressedSize, headerOffset } = entry;
    const sizesAreLarge = this.#isLarge(size) || this.#isLarge(compressedSize);
    const offsetIsLarge = this.#isLarge(headerOffset);
    const zip64 = new ByteWriter();
    if (sizesAreLarge || offsetIsLarge) {
      zip64.uint16(ZIP64_EXTRA).uint16((sizesAreLarge ? 16 : 0) + (offsetIsLarge ? 8 : 0));
      if (sizesAreLarge) zip64.uint64(size).uint64(compressedSize);
      if (offsetIsLarge) zip64.uint64(headerOffset);
    }
    writer.uint32(CENTRAL_HEADER).uint16(zip64.length > 0 ? 45 : 20);
    this.#describe(writer, entry, sizesAreLarge)
      .uint16(zip64.length)
      .uint16(0)
      .uint16(0)
      .uint16(0)
      .uint32(0)
      .uint32(offsetIsLarge ? IN_ZIP64 : headerOffset)
      .bytes(name)
      .bytes(zip64.finish());
  }

  #isLarge(value: number): boolean {
    return value >= this.#zip64From;
  }
}
