import { unzipSync } from 'fflate';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemorySource } from '../sources/byte-source.ts';
import { ZipReader } from './zip-reader.ts';
import { ZipWriter } from './zip-writer.ts';

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** Where the contents of the entries begin, by the local headers. */
function contentOffsets(zip: Uint8Array): number[] {
  const view = new DataView(zip.buffer);
  const offsets: number[] = [];
  for (let at = 0; view.getUint32(at, true) === 0x04034b50;) {
    const start = at + 30 + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
    offsets.push(start);
    at = start + view.getUint32(at + 18, true);
  }
  return offsets;
}

describe('ZipWriter', () => {
  it('writes what the reader and other readers get back', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.uint8Array(), fc.boolean()), {
          maxLength: 8,
        }),
        async (entries) => {
          const writer = new ZipWriter();
          const expected = new Map<string, Uint8Array>();
          entries.forEach(([text, contents, compress], index) => {
            const name = `root/${index}${text.replace(/[\\/]/g, '')}`;
            writer.write(name, new Uint8Array(contents), { compress });
            expected.set(name, contents);
          });
          const zip = writer.finish();
          const reader = await ZipReader.open(new MemorySource(zip));
          expect([...reader.entries.keys()]).toEqual([...expected.keys()]);
          for (const [name, contents] of expected) expect([...(await reader.read(name))]).toEqual([...contents]);
          expect(Object.keys(unzipSync(zip)).length).toBe(expected.size);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('begins contents at multiples of 64', () => {
    const writer = new ZipWriter();
    for (let length = 0; length < 70; length++) writer.write(`a/${'n'.repeat(length)}`, new Uint8Array(length));
    const offsets = contentOffsets(writer.finish());
    expect(offsets.length).toBe(70);
    expect(offsets.every((offset) => offset % 64 === 0)).toBe(true);
  });

  it('writes sizes and offsets that do not fit in 32 bits as zip64 does', async () => {
    const writer = new ZipWriter({ zip64From: 1000 });
    const contents = ['small', 'large'.repeat(400), 'small, far from the beginning'].map(bytesOf);
    contents.forEach((each, index) => writer.write(`a/${index}`, each));
    writer.write('a/deflated', contents[1], { compress: true });
    const zip = writer.finish();
    const reader = await ZipReader.open(new MemorySource(zip));
    for (const [index, each] of contents.entries()) expect(await reader.read(`a/${index}`)).toEqual(each);
    expect(await reader.read('a/deflated')).toEqual(contents[1]);
    // Its directory's end says that the numbers are elsewhere.
    expect(new DataView(zip.buffer).getUint32(zip.length - 6, true)).toBe(0xffffffff);
  });

  it('has more entries than 16 bits count', async () => {
    const writer = new ZipWriter();
    for (let index = 0; index < 70_000; index++) writer.write(`a/${index}`, new Uint8Array(0));
    const reader = await ZipReader.open(new MemorySource(writer.finish()));
    expect(reader.entries.size).toBe(70_000);
  });

  it('refuses a second entry of a name', () => {
    const writer = new ZipWriter();
    writer.write('a/b', new Uint8Array(1));
    expect(() => writer.write('a/b', new Uint8Array(2))).toThrow('Tried to serialize file twice: a/b');
  });
});
