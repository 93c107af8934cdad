import { crc32 } from '../zip/crc32.ts';
import type { FileVersion } from '../file-version.ts';

/** A file that is kept for later visits. */
export interface CachedFile {
  readonly url: string;
  /** Bytes of the whole file. */
  readonly size: number;
  /** Bytes of it that are kept. */
  readonly stored: number;
}

/** Files are kept in blocks of this size, each a file of its own. */
export const BLOCK_BYTES = 2 << 20;
const FOLDER = 'cresset';
const INDEX = 'index';
const CHECKSUM_BYTES = 4;

/**
 * What is kept of the file at one address, in the origin private file system.
 *
 * Every block ends with its checksum, so one that was not written to its end (a crash, a full disk, another tab at work) counts as
 * absent. Names of blocks begin with their file's version: blocks of two versions are never taken together.
 */
export class FileCache {
  /** The version whose blocks these are; null where nothing is kept. */
  version: FileVersion | null = null;
  #prefix = '';
  #salt = '';
  #stopped = false;
  /** Sizes of files, by name. */
  readonly #files = new Map<string, number>();

  private constructor(
    readonly address: string,
    private readonly directory: FileSystemDirectoryHandle,
    private readonly onWarning: ((text: string) => void) | undefined,
  ) {}

  /** Null, with a warning, where the browser gives no storage: in a private window, or to a page that is not secure. */
  static async open(address: string, onWarning?: (text: string) => void): Promise<FileCache | null> {
    try {
      const root = await rootFolder(true);
      const cache = new FileCache(
        address,
        await root.getDirectoryHandle(await folderOf(address), { create: true }),
        onWarning,
      );
      await cache.#readIndex();
      return cache;
    } catch (error) {
      onWarning?.(`${address} cannot be kept for the next visit: there is no storage for it here (${String(error)})`);
      return null;
    }
  }

  /** Everything that is kept; nothing where the browser gives no storage. */
  static async list(): Promise<CachedFile[]> {
    const found: CachedFile[] = [];
    const root = await rootFolder(true).catch(() => null);
    if (!root) return found;
    for await (const directory of root.values()) {
      const cache = new FileCache('', directory as FileSystemDirectoryHandle, undefined);
      const url = await cache.#readIndex();
      if (url !== null && cache.version) found.push({ url, size: cache.version.size, stored: cache.#stored });
    }
    return found;
  }

  /** Forgets a file, or everything; false where nothing was kept of it. */
  static async delete(address?: string): Promise<boolean> {
    try {
      if (address === undefined)
        await (await navigator.storage.getDirectory()).removeEntry(FOLDER, { recursive: true });
      else await (await rootFolder(false)).removeEntry(await folderOf(address), { recursive: true });
      return true;
    } catch (error) {
      if ((error as Error).name === 'NotFoundError') return false;
      throw error;
    }
  }

  get blockCount(): number {
    return Math.ceil((this.version?.size ?? 0) / BLOCK_BYTES);
  }

  blockLength(block: number): number {
    return Math.min(BLOCK_BYTES, this.version!.size - block * BLOCK_BYTES);
  }

  /** Whether a block seems to be there; only reading it tells. */
  has(block: number): boolean {
    return this.#files.get(this.#prefix + block) === this.blockLength(block) + CHECKSUM_BYTES;
  }

  /** Whether nothing more will be kept. */
  get isStopped(): boolean {
    return this.#stopped;
  }

  /** A block, or null where it is not there as it should be. */
  async read(block: number): Promise<Uint8Array | null> {
    if (!this.has(block)) return null;
    const bytes = await this.#get(this.#prefix + block);
    if (bytes?.byteLength === this.blockLength(block)) return bytes;
    this.#files.delete(this.#prefix + block);
    return null;
  }

  async write(block: number, bytes: Uint8Array): Promise<void> {
    await this.#put(this.#prefix + block, bytes);
  }

  /** Keeps this version from now on, and forgets what it has of another. */
  async adopt(version: FileVersion): Promise<void> {
    // Where nothing tells versions apart, each that comes is one of its own.
    this.#use(version, version.etag || version.lastModified ? '' : crypto.randomUUID());
    for (const name of this.#files.keys()) if (!name.startsWith(this.#prefix)) await this.#remove(name);
    await this.#put(
      INDEX,
      new TextEncoder().encode(JSON.stringify({ url: this.address, ...version, salt: this.#salt })),
    );
  }

  async remove(): Promise<void> {
    this.#stopped = true;
    await FileCache.delete(this.address).catch(() => false);
  }

  #use(version: FileVersion, salt: string): void {
    this.version = version;
    this.#salt = salt;
    const { size, etag, lastModified } = version;
    const text = JSON.stringify([size, etag, lastModified, salt]);
    this.#prefix = `${crc32(new TextEncoder().encode(text)).toString(16)}-`;
  }

  get #stored(): number {
    let sum = 0;
    for (const [name, size] of this.#files) if (name.startsWith(this.#prefix)) sum += size - CHECKSUM_BYTES;
    return sum;
  }

  async #readIndex(): Promise<string | null> {
    for await (const handle of this.directory.values()) {
      const { size } = await (handle as FileSystemFileHandle).getFile();
      this.#files.set(handle.name, size);
    }
    const bytes = await this.#get(INDEX);
    if (!bytes) return null;
    const { url, size, etag, lastModified, salt } = JSON.parse(new TextDecoder().decode(bytes)) as FileVersion & {
      url: string;
      salt: string;
    };
    this.#use({ size, etag, lastModified }, salt);
    return url;
  }

  async #get(name: string): Promise<Uint8Array | null> {
    try {
      const file = await (await this.directory.getFileHandle(name)).getFile();
      const bytes = new Uint8Array(await file.arrayBuffer());
      const end = bytes.byteLength - CHECKSUM_BYTES;
      const contents = bytes.subarray(0, end);
      return end >= 0 && new DataView(bytes.buffer).getUint32(end, true) === crc32(contents) ? contents : null;
    } catch {
      return null;
    }
  }

  async #put(name: string, contents: Uint8Array): Promise<void> {
    if (this.#stopped) return;
    const bytes = new Uint8Array(contents.byteLength + CHECKSUM_BYTES);
    bytes.set(contents);
    new DataView(bytes.buffer).setUint32(contents.byteLength, crc32(contents), true);
    try {
      await writeFile(await this.directory.getFileHandle(name, { create: true }), bytes);
      this.#files.set(name, bytes.byteLength);
    } catch (error) {
      // Another tab is writing the same.
      if ((error as Error).name === 'NoModificationAllowedError') return;
      this.#stopped = true;
      await this.#remove(name);
      const { usage = 0, quota = 0 } = await navigator.storage.estimate().catch(() => ({}) as StorageEstimate);
      this.onWarning?.(
        `${this.address} cannot be kept for the next visit as a whole (${String(error)}): this site uses ${usage} of the ${quota} bytes that the browser allows it. Loading goes on`,
      );
    }
  }

  async #remove(name: string): Promise<void> {
    this.#files.delete(name);
    await this.directory.removeEntry(name).catch(() => undefined);
  }
}

async function rootFolder(create: boolean): Promise<FileSystemDirectoryHandle> {
  return (await navigator.storage.getDirectory()).getDirectoryHandle(FOLDER, { create });
}

/** A name that every address can have. */
async function folderOf(address: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(address)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Writes a file anew. Only workers have access handles, and not every browser lets others write at all. */
async function writeFile(handle: FileSystemFileHandle, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  if ('createSyncAccessHandle' in handle) {
    const access = await (handle as FileSystemFileHandle & AccessHandles).createSyncAccessHandle();
    try {
      access.truncate(0);
      // A full disk gives another number, in some browsers a larger one, and no error.
      if (access.write(bytes, { at: 0 }) !== bytes.byteLength) throw new Error('there is no room for it');
      access.flush();
    } finally {
      access.close();
    }
  } else {
    const stream = await handle.createWritable();
    await stream.write(bytes);
    await stream.close();
  }
}

/** What TypeScript's types of a page lack of those of a worker. */
interface AccessHandles {
  createSyncAccessHandle(): Promise<{
    truncate(size: number): void;
    write(bytes: Uint8Array, options: { at: number }): number;
    flush(): void;
    close(): void;
  }>;
}
