import { CressetError } from '@cresset/ir';
import { describe, expect, it } from 'vitest';
import { failure } from '../../../../test-setup/failure.ts';
import { MemorySource, type ByteSource, type TransferOptions } from './byte-source.ts';
import { ChunkedSource } from './chunked-source.ts';
import { openTogether } from './shared-opening.ts';

/** Transfers that are ended by hand. */
class Transfers {
  readonly begun: {
    readonly options: TransferOptions;
    resolve(source: ByteSource): void;
    reject(error: Error): void;
  }[] = [];

  readonly open = (_: string, options: TransferOptions): Promise<ByteSource> =>
    new Promise((resolve, reject) => this.begun.push({ options, resolve, reject }));
}

const file = new MemorySource(Uint8Array.of(1, 2, 3), 'model.pt');

describe('openTogether', () => {
  it('transfers once for all who come before it is done, and anew for who comes later', async () => {
    const { begun, open } = new Transfers();
    const both = [1, 2].map(() => openTogether(open, 'a', {}));
    const others = [openTogether(open, 'b', {}), openTogether(open, 'a', { cache: true })];
    expect(begun.length).toBe(3);
    for (const { resolve } of begun) resolve(file);
    expect(await Promise.all([...both, ...others])).toEqual([file, file, file, file]);
    const later = openTogether(open, 'a', {});
    expect(begun.length).toBe(4);
    begun[3].resolve(file);
    await later;
  });

  it('gives each a share of what is in memory, which is free when all have given theirs up', async () => {
    const { begun, open } = new Transfers();
    const opened = [1, 2].map(() => openTogether(open, 'a', {}));
    begun[0].resolve(new ChunkedSource([Uint8Array.of(1, 2, 3).buffer], 'model.pt'));
    const [first, second] = await Promise.all(opened);
    first.release!(0, 3);
    expect((await failure(first.read(0, 1))).code).toBe('ARCHIVE_TRUNCATED');
    expect([[...(await second.read(0, 3))], second.name]).toEqual([[1, 2, 3], 'model.pt']);
  });

  it('tells everybody how far it is', async () => {
    const { begun, open } = new Transfers();
    const told: string[] = [];
    const listener = (name: string): TransferOptions => ({
      onProgress: ({ loaded }) => told.push(`${name} ${loaded}`),
    });
    const early = openTogether(open, 'a', listener('early'));
    const [{ options, resolve }] = begun;
    options.onProgress!({ loaded: 1, total: 3 });
    const late = openTogether(open, 'a', listener('late'));
    options.onProgress!({ loaded: 3, total: 3 });
    resolve(file);
    await Promise.all([early, late]);
    expect(told).toEqual(['early 1', 'early 3', 'late 3']);
  });

  it('goes on as long as somebody wants it, and rejects at once for who does not', async () => {
    const { begun, open } = new Transfers();
    const aborts = [new AbortController(), new AbortController()];
    const [first, second] = aborts.map(({ signal }) => openTogether(open, 'a', { signal }));
    const [{ options, resolve }] = begun;
    aborts[0].abort();
    expect((await failure(first)).code).toBe('ABORTED');
    expect(options.signal!.aborted).toBe(false);
    resolve(file);
    expect(await second).toBe(file);
    // What is read of the file later is nobody's any more either.
    aborts[1].abort(new Error('enough'));
    expect(options.signal!.reason).toEqual(new Error('enough'));
  });

  it('begins anew for who comes when all others have left, or after a failure, which is told to all', async () => {
    const { begun, open } = new Transfers();
    const abort = new AbortController();
    const left = openTogether(open, 'a', { signal: abort.signal });
    abort.abort();
    await failure(left);
    const both = [1, 2].map(() => openTogether(open, 'a', {}));
    expect(begun.length).toBe(2);
    begun[1].reject(new CressetError('DOWNLOAD_FAILED', 'gone'));
    expect(await Promise.all(both.map(async (each) => (await failure(each)).code))).toEqual([
      'DOWNLOAD_FAILED',
      'DOWNLOAD_FAILED',
    ]);
    const again = openTogether(open, 'a', {});
    begun[2].resolve(file);
    expect(await again).toBe(file);
  });
});
