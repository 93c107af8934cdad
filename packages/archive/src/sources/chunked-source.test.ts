import { describe, expect, it } from 'vitest';
import { SyntheticArchive } from '../../../../test-setup/synthetic-archive.ts';
import { ChunkedSource, chunksOf as chunksOfStream } from './chunked-source.ts';
import { readModule } from '../module-reader.ts';

const chunksOf = (bytes: Uint8Array, length: number): ArrayBuffer[] =>
  Array.from(
    { length: Math.ceil(bytes.byteLength / length) },
    (_, at) => bytes.slice(at * length, (at + 1) * length).buffer as ArrayBuffer,
  );

describe('ChunkedSource', () => {
  it('cuts a stream into chunks of one length, whatever its pieces are', async () => {
    const bytes = Uint8Array.from({ length: (2 << 20) + 5 }, (_, at) => at % 251);
    const lengths = [0, 1, 300_000, 1 << 20, 1_500_000];
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      for (let at = 0, next = 0; at < bytes.length; at += lengths[next++ % 5])
        yield bytes.subarray(at, at + lengths[next % 5]);
    };
    const source = new ChunkedSource(await chunksOfStream(pieces()), 'a stream');
    expect(source.size).toBe(bytes.length);
    expect(Buffer.compare(await source.read(0, bytes.length), bytes)).toBe(0);
    expect((await chunksOfStream(pieces())).map(({ byteLength }) => byteLength)).toEqual([1 << 20, 1 << 20, 5]);
    expect(await chunksOfStream(new ChunkedSource([]).stream(0, 0))).toEqual([]);
  });

  it('reads across chunks, and gives them up when all that is in them was released', async () => {
    const bytes = Uint8Array.from({ length: 10 }, (_, at) => at);
    const chunks = chunksOf(bytes, 4);
    const source = new ChunkedSource(chunks);
    expect(source.size).toBe(10);
    expect([...(await source.read(2, 7))]).toEqual([2, 3, 4, 5, 6, 7, 8]);
    const pieces: number[][] = [];
    for await (const piece of source.stream(3, 6)) pieces.push([...piece]);
    expect(pieces).toEqual([[3], [4, 5, 6, 7], [8]]);

    source.release(0, 3);
    expect(chunks.map(({ byteLength }) => byteLength)).toEqual([4, 4, 2]);
    source.release(3, 5);
    expect(chunks.map(({ byteLength }) => byteLength)).toEqual([0, 0, 2]);
    await expect(source.read(2, 2)).rejects.toMatchObject({ code: 'ARCHIVE_TRUNCATED' });
    await expect(source.read(8, 3)).rejects.toMatchObject({ code: 'ARCHIVE_TRUNCATED' });
    expect([...(await source.read(8, 2))]).toEqual([8, 9]);
  });

  it.each([
    ['read when they are needed', 12],
    ['read at once', 2],
  ])('weights that are %s are in memory once', async (_, megabytes) => {
    const count = 4;
    const parameters = Array.from({ length: count }, (_each, at) => ({
      name: `w${at}`,
      shape: [(megabytes << 20) / 4],
      value: at + 1,
    }));
    const archive = new SyntheticArchive(
      parameters,
      '  def forward(self: __torch__.Net) -> Tensor:\n    return self.w0\n',
    );
    const chunks = chunksOf(archive.bytes(0, archive.size), 1 << 20);
    const held = (): number => chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const { module, weights } = await readModule(new ChunkedSource(chunks));
    expect(weights === null).toBe(megabytes === 2);
    let onHost = 0;
    for (let at = 0; at < count; at++) {
      const { storage } = module.getAttribute(`w${at}`) as { storage: { toHost(): Promise<void>; byteLength: number } };
      await storage.toHost();
      onHost += storage.byteLength;
      // Chunks that two records share stay until both were read.
      if (weights) expect(held() + onHost).toBeLessThan(archive.size + (3 << 20));
    }
    expect(held()).toBeLessThan(2 << 20);
  });
});
