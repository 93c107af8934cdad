import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { serveArchive, SyntheticArchive, type ArchiveServer } from '../../../../test-setup/synthetic-archive.ts';
import { BLOCK_BYTES, FileCache } from './file-cache.ts';
import { openUrl } from './url-source.ts';

/** A folder of the origin private file system, in memory, with what can go wrong in one. */
class Folder {
  readonly kind = 'directory';
  readonly entries = new Map<string, Folder | File_>();

  constructor(
    readonly name: string,
    readonly disk: Disk,
  ) {}

  async getDirectoryHandle(name: string, { create = false } = {}): Promise<Folder> {
    let found = this.entries.get(name) as Folder | undefined;
    if (!found && !create) throw new DOMException('no such folder', 'NotFoundError');
    if (!found) this.entries.set(name, (found = new Folder(name, this.disk)));
    return found;
  }

  async getFileHandle(name: string, { create = false } = {}): Promise<File_> {
    let found = this.entries.get(name) as File_ | undefined;
    if (!found && !create) throw new DOMException('no such file', 'NotFoundError');
    if (!found) this.entries.set(name, (found = new File_(name, this.disk)));
    return found;
  }

  async removeEntry(name: string): Promise<void> {
    if (!this.entries.delete(name)) throw new DOMException('no such entry', 'NotFoundError');
  }

  async *values(): AsyncGenerator<Folder | File_> {
    yield* this.entries.values();
  }
}

class File_ {
  readonly kind = 'file';
  bytes = new Uint8Array(0);

  constructor(
    readonly name: string,
    readonly disk: Disk,
  ) {}

  async getFile(): Promise<Blob> {
    return new Blob([this.bytes]);
  }

  async createSyncAccessHandle() {
    if (this.disk.isLocked) throw new DOMException('another tab has it', 'NoModificationAllowedError');
    return {
      truncate: (size: number) => void (this.bytes = this.bytes.slice(0, size)),
      write: (bytes: Uint8Array) => {
        this.disk.written += bytes.byteLength;
        if (this.disk.written > this.disk.quota) throw new DOMException('the disk is full', 'QuotaExceededError');
        this.bytes = bytes.slice(0, this.disk.crashesAfter);
        return bytes.byteLength;
      },
      flush: () => undefined,
      close: () => undefined,
    };
  }
}

class Disk {
  readonly root = new Folder('', this);
  quota = Infinity;
  written = 0;
  isLocked = false;
  crashesAfter = Infinity;

  /** Files of blocks, of all addresses. */
  blocks(): File_[] {
    const folders = [...((this.root.entries.get('cresset') as Folder | undefined)?.entries.values() ?? [])] as Folder[];
    return folders.flatMap((folder) => [...folder.entries.values()] as File_[]).filter(({ name }) => name !== 'index');
  }
}

const small = new SyntheticArchive([{ name: 'weight', shape: [3, 1 << 18], value: 2 }], '');
const large = new SyntheticArchive([{ name: 'weight', shape: [10, 1 << 20], value: 2 }], '');

let disk: Disk;
let server: ArchiveServer;
let etag = '"1"';
const headers = (): Record<string, string> => ({ etag });
beforeEach(() => {
  disk = new Disk();
  etag = '"1"';
  vi.stubGlobal('navigator', {
    storage: {
      getDirectory: async () => disk.root,
      estimate: async () => ({ usage: disk.written, quota: disk.quota }),
    },
  });
});
afterEach(() => {
  server.close();
  vi.unstubAllGlobals();
});

async function readAll(url: string, warnings: string[] = []): Promise<void> {
  const source = await openUrl(url, { cache: true, onWarning: (text) => warnings.push(text) });
  const archive = source.size === small.size ? small : large;
  expect(source.size).toBe(archive.size);
  for (const offset of [0, 1_000_000, source.size - 500_000]) {
    expect(Buffer.compare(await source.read(offset, 500_000), archive.bytes(offset, 500_000))).toBe(0);
  }
}

describe('load with cache', { timeout: 60_000 }, () => {
  it('keeps a file, and asks with one byte whether it is still the same', async () => {
    server = await serveArchive(small, { headers });
    await readAll(server.url);
    expect(disk.blocks().map(({ bytes }) => bytes.byteLength)).toEqual([BLOCK_BYTES + 4, small.size - BLOCK_BYTES + 4]);
    expect(await FileCache.list()).toEqual([{ url: server.url, size: small.size, stored: small.size }]);
    const before = server.sent.bytes;
    await readAll(server.url);
    expect(server.requests.at(-1)).toBe('bytes=0-0');
    expect(server.sent.bytes - before).toBe(1);
  });

  it('works where the server cannot be reached', async () => {
    server = await serveArchive(small, { headers });
    await readAll(server.url);
    server.close();
    await readAll(server.url);
  });

  it('keeps the parts that were read of a large file, and fetches the rest when nobody waits', async () => {
    server = await serveArchive(large, { headers });
    await readAll(server.url);
    const [{ stored }] = await FileCache.list();
    expect(stored).toBeLessThan(10 << 20);
    await expect.poll(async () => (await FileCache.list())[0].stored).toBe(large.size);
    server.close();
    const source = await openUrl(server.url, { cache: true });
    expect(await source.read(20 << 20, 1000)).toEqual(large.bytes(20 << 20, 1000));
  });

  it('says what is missing where a part was not kept and the server is gone', async () => {
    server = await serveArchive(large, { headers });
    await readAll(server.url);
    server.close();
    const source = await openUrl(server.url, { cache: true });
    await expect(source.read(20 << 20, 1000)).rejects.toThrow('was not kept as a whole');
  });

  it('forgets a version that the server has no more', async () => {
    server = await serveArchive(small, { headers });
    await readAll(server.url);
    const before = disk.blocks().map(({ name }) => name);
    etag = '"2"';
    const requests = server.requests.length;
    await readAll(server.url);
    expect(server.requests.length).toBeGreaterThan(requests + 1);
    const after = disk.blocks().map(({ name }) => name);
    expect(after).toHaveLength(2);
    expect(after.some((name) => before.includes(name))).toBe(false);
  });

  it('compares the end of the file where the server tells nothing of versions', async () => {
    let current = small;
    const changing = { size: small.size, bytes: (at: number, length: number) => current.bytes(at, length) };
    server = await serveArchive(changing, { headers: () => ({ etag: '' }) });
    await readAll(server.url);
    const before = server.sent.bytes;
    await readAll(server.url);
    expect(server.sent.bytes - before).toBe(1 + (64 << 10));
    current = new SyntheticArchive([{ name: 'weight', shape: [3, 1 << 18], value: 5 }], '');
    expect(current.size).toBe(small.size);
    const source = await openUrl(server.url, { cache: true });
    expect(await source.read(1_000_000, 1000)).toEqual(current.bytes(1_000_000, 1000));
    expect(disk.blocks()).toHaveLength(2);
  });

  it('keeps what a server without ranges sends', async () => {
    server = await serveArchive(small, { headers, ranges: false });
    await readAll(server.url);
    const before = server.requests.length;
    await readAll(server.url);
    expect(server.requests.length - before).toBe(1);
    server.close();
    await readAll(server.url);
  });

  it('goes on with one warning where the disk is full, and comes to no harm from it', async () => {
    server = await serveArchive(large, { headers });
    disk.quota = 3 << 20;
    const warnings: string[] = [];
    await readAll(server.url, warnings);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/cannot be kept.*uses \d+ of the 3145728 bytes/);
    disk.quota = Infinity;
    await readAll(server.url);
  });

  it('reads again what a crash left half written', async () => {
    server = await serveArchive(small, { headers });
    disk.crashesAfter = 1000;
    await readAll(server.url);
    disk.crashesAfter = Infinity;
    await readAll(server.url);
    expect(disk.blocks().every(({ bytes }) => bytes.byteLength > 1000)).toBe(true);
    // A bit that fell over on the disk is found by the checksum.
    disk.blocks()[0].bytes[12345] ^= 1;
    await readAll(server.url);
  });

  it('takes nothing into the cache that breaks off', async () => {
    let broken = true;
    server = await serveArchive(small, {
      headers,
      intercept(request, response) {
        if (!broken || request.headers.range === 'bytes=0-131071') return false;
        response.writeHead(206, { 'content-range': `bytes 131072-${small.size - 1}/${small.size}`, etag });
        response.flushHeaders();
        setTimeout(() => response.destroy(), 20);
        return true;
      },
    });
    await expect(readAll(server.url)).rejects.toThrow('broke');
    expect(disk.blocks()).toHaveLength(0);
    broken = false;
    await readAll(server.url);
  });

  it('lets two tabs load at a time', async () => {
    server = await serveArchive(small, { headers });
    await Promise.all([readAll(server.url), readAll(server.url)]);
    disk.isLocked = true;
    etag = '"2"';
    const warnings: string[] = [];
    await readAll(server.url, warnings);
    expect(warnings).toEqual([]);
  });

  it('does without where the browser gives no storage', async () => {
    server = await serveArchive(small, { headers });
    const refused = { getDirectory: () => Promise.reject(new DOMException('private window', 'SecurityError')) };
    vi.stubGlobal('navigator', { storage: refused });
    const warnings: string[] = [];
    await readAll(server.url, warnings);
    expect(warnings).toEqual([expect.stringContaining('SecurityError')]);
    expect(await FileCache.list()).toEqual([]);
  });

  it('is emptied by address or as a whole', async () => {
    server = await serveArchive(small, { headers });
    await readAll(server.url);
    expect(await FileCache.delete('http://localhost/other.pt')).toBe(false);
    expect(await FileCache.delete(server.url)).toBe(true);
    expect(await FileCache.list()).toEqual([]);
    await readAll(server.url);
    expect(await FileCache.delete()).toBe(true);
    expect(await FileCache.list()).toEqual([]);
  });
});
