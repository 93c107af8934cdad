import { CressetError } from '@cresset/ir';
import { deflateSync, strToU8, zipSync } from 'fflate';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { MemorySource, type ByteSource } from '../sources/byte-source.ts';
import type { ByteRange } from '../sources/range-batches.ts';
import { crc32 } from './crc32.ts';
import { ZipReader } from './zip-reader.ts';
import { failure } from '../../../../test-setup/failure.ts';

const open = (bytes: Uint8Array): Promise<ZipReader> => ZipReader.open(new MemorySource(bytes, 'test.zip'));

interface EntryOptions {
  readonly name: string;
  readonly data: Uint8Array;
  readonly method?: number;
  readonly claimedSize?: number;
  readonly descriptor?: boolean;
  readonly offset?: number;
}

/** Writes a zip by hand, with what is asked to be odd about it. */
function makeZip(entries: readonly EntryOptions[], zip64 = false): Uint8Array<ArrayBuffer> {
  const out: number[] = [];
  const u16 = (to: number[], value: number): void => void to.push(value & 255, (value >>> 8) & 255);
  const u32 = (to: number[], value: number): void =>
    void to.push(value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24);
  const u64 = (to: number[], value: number): void => {
    u32(to, value >>> 0);
    u32(to, Math.floor(value / 2 ** 32));
  };
  const directory: number[] = [];
  for (const { name, data, method = 0, claimedSize = data.length, descriptor = false, offset } of entries) {
    const body = method === 8 ? deflateSync(data) : data;
    const start = offset ?? out.length;
    const encoded = strToU8(name);
    u32(out, 0x04034b50);
    for (const value of [20, descriptor ? 8 : 0, method, 0, 0]) u16(out, value);
    u32(out, descriptor ? 0 : crc32(data));
    u32(out, descriptor ? 0 : body.length);
    u32(out, descriptor ? 0 : claimedSize);
    u16(out, encoded.length);
    u16(out, 0);
    out.push(...encoded, ...body);
    if (descriptor) {
      u32(out, 0x08074b50);
      u32(out, crc32(data));
      u32(out, body.length);
      u32(out, claimedSize);
    }
    u32(directory, 0x02014b50);
    for (const value of [20, 20, descriptor ? 8 : 0, method, 0, 0]) u16(directory, value);
    u32(directory, crc32(data));
    u32(directory, zip64 ? 0xffffffff : body.length);
    u32(directory, zip64 ? 0xffffffff : claimedSize);
    u16(directory, encoded.length);
    u16(directory, zip64 ? 28 : 0);
    for (const value of [0, 0, 0, 0, 0]) u16(directory, value);
    u32(directory, zip64 ? 0xffffffff : start);
    directory.push(...encoded);
    if (zip64) {
      u16(directory, 1);
      u16(directory, 24);
      u64(directory, claimedSize);
      u64(directory, body.length);
      u64(directory, start);
    }
  }
  const at = out.length;
  out.push(...directory);
  if (zip64) {
    const record = out.length;
    u32(out, 0x06064b50);
    u64(out, 44);
    u32(out, 0);
    u32(out, 0);
    u32(out, 0);
    u64(out, entries.length);
    u64(out, entries.length);
    u64(out, directory.length);
    u64(out, at);
    u32(out, 0x07064b50);
    u32(out, 0);
    u64(out, record);
    u32(out, 1);
  }
  u32(out, 0x06054b50);
  for (const value of [0, 0, zip64 ? 0xffff : entries.length, zip64 ? 0xffff : entries.length]) u16(out, value);
  u32(out, zip64 ? 0xffffffff : directory.length);
  u32(out, zip64 ? 0xffffffff : at);
  u16(out, 0);
  return Uint8Array.from(out);
}

describe('ZipReader', () => {
  it('reads stored and deflated entries', async () => {
    const text = strToU8('a line of text\n'.repeat(100));
    const zip = await open(
      zipSync({ 'a/stored': [strToU8('hello'), { level: 0 }], 'a/deflated': text, 'a/empty': new Uint8Array(0) }),
    );
    expect([...zip.entries.keys()]).toEqual(['a/stored', 'a/deflated', 'a/empty']);
    expect(await zip.read('a/stored')).toEqual(strToU8('hello'));
    expect(await zip.read('a/deflated')).toEqual(text);
    expect((await zip.read('a/empty')).length).toBe(0);
    expect((await failure(zip.read('b'))).code).toBe('ZIP_NO_ENTRY');
  });

  it('begins a stream of the engine only for entries that are worth one', async () => {
    const small = strToU8('a'.repeat(65_536));
    const large = strToU8('b'.repeat(65_537));
    const zip = await open(zipSync({ small, other: small, large }));
    let streams = 0;
    class CountedStream extends DecompressionStream {
      constructor(format: ConstructorParameters<typeof DecompressionStream>[0]) {
        super(format);
        streams++;
      }
    }
    vi.stubGlobal('DecompressionStream', CountedStream);
    try {
      expect(await zip.readAll(['small', 'other'])).toEqual([small, small]);
      expect(streams).toBe(0);
      expect(await zip.read('large')).toEqual(large);
      expect(streams).toBe(1);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it('goes by the directory where local headers have zeros', async () => {
    const zip = await open(
      makeZip([
        { name: 'x', data: strToU8('one'), descriptor: true },
        { name: 'y', data: strToU8('two'), descriptor: true, method: 8 },
      ]),
    );
    expect(await zip.readAll(['y', 'x'])).toEqual([strToU8('two'), strToU8('one')]);
  });

  it('reads zip64 directories, behind other bytes too', async () => {
    const bytes = makeZip(
      [
        { name: 'x', data: strToU8('one') },
        { name: 'y', data: strToU8('two') },
      ],
      true,
    );
    expect(await (await open(bytes)).read('y')).toEqual(strToU8('two'));
    const shifted = new Uint8Array(1000 + bytes.length);
    shifted.set(bytes, 1000);
    expect(await (await open(shifted)).read('y')).toEqual(strToU8('two'));
  });

  it.each([1, 7, 64, 5000])('gives records of their own out of one stream, in pieces of %i bytes', async (size) => {
    const contents = ['', 'first', 'x'.repeat(900), 'deflated'.repeat(50), 'last'].map((text) => strToU8(text));
    const bytes = makeZip(
      contents.map((data, index) => ({
        name: `r${index}`,
        data,
        method: index === 3 ? 8 : 0,
        descriptor: index === 2,
      })),
    );
    const streams: [number, number][] = [];
    class Pieces extends MemorySource {
      override async *stream(offset: number, length: number): AsyncGenerator<Uint8Array> {
        streams.push([offset, length]);
        for (let at = 0; at < length; at += size) yield bytes.slice(offset + at, offset + Math.min(at + size, length));
      }
    }
    const zip = await ZipReader.open(new Pieces(bytes));
    const records = await Promise.all(zip.readRecords(['r4', 'r0', 'r3', 'r2', 'r1']));
    expect(records.map((each) => new Uint8Array(each))).toEqual([4, 0, 3, 2, 1].map((index) => contents[index]));
    expect(streams).toHaveLength(1);

    // What is wrong with one of them is no matter of the others.
    bytes[bytes.indexOf(120)] ^= 1;
    const [good, damaged] = await Promise.allSettled(zip.readRecords(['r4', 'r2']));
    expect([good.status, damaged.status]).toEqual(['fulfilled', 'rejected']);
    expect((damaged as PromiseRejectedResult).reason.code).toBe('ZIP_CRC');
  });

  it('addresses entries beyond 2^32', async () => {
    // A file of 5 GB of which only the ends exist.
    const front = makeZip([{ name: 'x', data: strToU8('one') }], true);
    const hole = 5 * 2 ** 30;
    const moved = front.slice();
    const local = 34; // header, name and data of x
    const view = new DataView(moved.buffer);
    // The entry's offset in its zip64 field, the directory's offset, and the record's in the locator.
    view.setBigUint64(local + 47 + 4 + 16, BigInt(hole), true);
    view.setBigUint64(local + 47 + 28 + 48, BigInt(hole + local), true);
    view.setBigUint64(local + 47 + 28 + 56 + 8, BigInt(hole + local + 47 + 28), true);
    const source: ByteSource = {
      name: 'large.zip',
      size: hole + moved.length,
      async read(offset: number, length: number) {
        expect(offset + length <= hole + moved.length).toBe(true);
        const result = new Uint8Array(length);
        const from = Math.max(offset, hole);
        result.set(moved.subarray(from - hole, offset + length - hole), from - offset);
        return result;
      },
      readAll(ranges: readonly ByteRange[]) {
        return Promise.all(ranges.map(({ offset, length }) => this.read(offset, length)));
      },
      async *stream(offset: number, length: number) {
        yield await this.read(offset, length);
      },
    };
    const zip = await ZipReader.open(source);
    expect(zip.entry('x').headerOffset).toBe(hole);
    expect(await zip.read('x')).toEqual(strToU8('one'));
  });

  it('lets the last of several entries with one name count', async () => {
    const zip = await open(
      makeZip([
        { name: 'x', data: strToU8('old') },
        { name: 'x', data: strToU8('new') },
      ]),
    );
    expect(await zip.read('x')).toEqual(strToU8('new'));
  });

  it('names what is wrong with a damaged file', async () => {
    const good = makeZip([{ name: 'x', data: strToU8('contents'.repeat(20)) }]);
    expect((await failure(open(good.subarray(0, good.length - 30)))).code).toBe('ZIP_NO_DIRECTORY');
    expect((await failure(open(good.subarray(20)))).code).toBe('ZIP_DAMAGED');
    expect((await failure(open(new Uint8Array(0)))).code).toBe('ZIP_NO_DIRECTORY');

    const flipped = good.slice();
    flipped[50] ^= 1;
    expect((await failure((await open(flipped)).read('x'))).code).toBe('ZIP_CRC');

    const zeros = new Uint8Array(100_000);
    const lies = makeZip([{ name: 'x', data: zeros, method: 8, claimedSize: 50 }]);
    expect((await failure((await open(lies)).read('x'))).code).toBe('ZIP_DAMAGED');
    const bomb = makeZip([{ name: 'x', data: zeros, method: 8, claimedSize: 2_000_000_000 }]);
    expect((await failure((await open(bomb)).read('x'))).message).toContain('more than is possible');
    const overlap = makeZip([
      { name: 'x', data: strToU8('one') },
      { name: 'y', data: strToU8('two'), offset: 0 },
    ]);
    expect((await failure(open(overlap))).code).toBe('ZIP_OVERLAP');
    const method = makeZip([{ name: 'x', data: strToU8('one'), method: 14 }]);
    expect((await failure((await open(method)).read('x'))).code).toBe('ZIP_COMPRESSION_METHOD');
  });

  it('gives a result or a CressetError for any bytes', async () => {
    const good = zipSync({
      'a/data.pkl': strToU8('12345'),
      'a/code/x.py': strToU8('x = 1\n'.repeat(50)),
      'a/version': [strToU8('3'), { level: 0 }],
    });
    const mutation = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(mutation, fc.nat(good.length), async (changes, length) => {
        const bytes = good.slice(0, length % 3 === 0 ? length : good.length);
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
        try {
          const zip = await open(bytes);
          for (const name of zip.entries.keys()) await zip.read(name).catch(onlyCressetErrors);
        } catch (error) {
          onlyCressetErrors(error);
        }
      }),
      { numRuns: 3000 },
    );
  });
});

function onlyCressetErrors(error: unknown): void {
  if (!(error instanceof CressetError)) throw error;
}

it('crc32 gives the check value of the standard', () => {
  expect(crc32(strToU8('123456789'))).toBe(0xcbf43926);
});
