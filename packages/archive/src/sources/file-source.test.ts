import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { openSource } from '../module-reader.ts';

const folder = mkdtempSync(join(tmpdir(), 'cresset-files-'));
afterAll(() => rmSync(folder, { recursive: true }));

const bytes = Uint8Array.from({ length: (2 << 20) + 17 }, (_, index) => index % 251);

/** The address of a new file, whose name says nothing that an address would have to hide. */
function written(name: string, content: Uint8Array = bytes): string {
  writeFileSync(join(folder, name), content);
  return pathToFileURL(join(folder, name)).href;
}

describe('a file of this machine', () => {
  it('is read stretch by stretch, whatever its name is', async () => {
    const progress: (number | null)[] = [];
    const source = await openSource(written('50% of #1?.pt'), {
      onProgress: ({ loaded, total }) => progress.push(loaded, total),
    });
    expect(source.size).toBe(bytes.byteLength);
    expect(await source.read(3, 5)).toEqual(bytes.slice(3, 8));
    expect(progress).toEqual([5, bytes.byteLength]);
    const pieces: Uint8Array[] = [];
    for await (const piece of source.stream(0, source.size)) pieces.push(piece);
    expect(pieces.map(({ byteLength }) => byteLength)).toEqual([1 << 20, 1 << 20, 17]);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  });

  it('may have an address that is a URL', async () => {
    const source = await openSource(new URL(written('url.pt', bytes.subarray(0, 9))));
    expect(await source.read(0, 9)).toEqual(bytes.slice(0, 9));
  });

  it('that is not there, or is a folder, is named', async () => {
    await expect(openSource(`${pathToFileURL(folder).href}/none.pt`)).rejects.toMatchObject({
      code: 'FILE_UNREADABLE',
      message: expect.stringContaining('none.pt'),
    });
    await expect(openSource(pathToFileURL(folder).href)).rejects.toMatchObject({ code: 'FILE_UNREADABLE' });
  });

  it('that changes after it was opened is not read on', async () => {
    const source = await openSource(written('changing.pt'));
    written('changing.pt', bytes.subarray(1));
    await expect(source.read(0, 10)).rejects.toMatchObject({ code: 'FILE_UNREADABLE' });
  });

  it('is not read once the call was aborted', async () => {
    const address = written('aborted.pt');
    await expect(openSource(address, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' });
    const controller = new AbortController();
    const source = await openSource(address, { signal: controller.signal });
    controller.abort();
    await expect(source.read(0, 10)).rejects.toMatchObject({ code: 'ABORTED' });
  });
});
