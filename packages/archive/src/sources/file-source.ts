import { CressetError } from '@cresset/ir';
import { StreamedSource, throwIfAborted, type TransferOptions } from './byte-source.ts';

/** What is needed of Node's `fs.promises`, which Deno and Bun have too. */
interface FileFunctions {
  open(address: URL): Promise<FileHandle>;
}

interface FileHandle {
  stat(): Promise<{ readonly size: number; readonly mtimeMs: number; isFile(): boolean }>;
  read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

/** Size of the pieces that a stretch is read in. */
const PIECE_BYTES = 1 << 20;

/** Asked for when it is needed and not imported: no bundler meets the name of a module that pages do not have. */
function fileFunctions(): FileFunctions | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  return process?.getBuiltinModule?.('node:fs/promises') as FileFunctions | undefined;
}

/** A source over a file of this machine, outside of browsers: only what is asked for comes into memory. */
export class FileSource extends StreamedSource {
  readonly name: string;
  readonly size: number;
  readonly #files: FileFunctions;
  readonly #changed: number;
  readonly #options: TransferOptions;
  #loaded = 0;

  private constructor(address: string, size: number, changed: number, files: FileFunctions, options: TransferOptions) {
    super();
    this.name = address;
    this.size = size;
    this.#changed = changed;
    this.#files = files;
    this.#options = options;
  }

  /** Opens a `file:` address; null where there are no files. Throws `FILE_UNREADABLE` where there is no such file. */
  static async open(address: string, options: TransferOptions): Promise<FileSource | null> {
    const files = fileFunctions();
    if (!files) return null;
    throwIfAborted(options.signal);
    return withFile(files, address, async (handle) => {
      const { size, mtimeMs } = await statOf(handle, address);
      return new FileSource(address, size, mtimeMs, files, options);
    });
  }

  async *stream(offset: number, length: number): AsyncGenerator<Uint8Array> {
    const { signal, onProgress } = this.#options;
    const end = offset + length;
    for (let start = offset; start < end; start += PIECE_BYTES) {
      throwIfAborted(signal);
      const piece = new Uint8Array(Math.min(PIECE_BYTES, end - start));
      await withFile(this.#files, this.name, (handle) => this.#fill(handle, piece, start));
      this.#loaded = Math.min(this.#loaded + piece.byteLength, this.size);
      onProgress?.({ loaded: this.#loaded, total: this.size });
      yield piece;
    }
  }

  async #fill(handle: FileHandle, piece: Uint8Array, start: number): Promise<void> {
    const { size, mtimeMs } = await statOf(handle, this.name);
    if (size !== this.size || mtimeMs !== this.#changed) throw unreadable(this.name, 'it was changed');
    for (let filled = 0; filled < piece.byteLength;) {
      const { bytesRead } = await handle.read(piece, filled, piece.byteLength - filled, start + filled);
      if (bytesRead === 0) throw unreadable(this.name, 'it was changed');
      filled += bytesRead;
    }
  }
}

async function statOf(handle: FileHandle, name: string): Promise<{ size: number; mtimeMs: number }> {
  const stats = await handle.stat();
  if (!stats.isFile()) throw unreadable(name, 'it is no file');
  return stats;
}

/** Opens a file for as long as `work` takes: one that stayed open would have to be closed by whoever loads a model. */
async function withFile<T>(
  files: FileFunctions,
  address: string,
  work: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  let handle: FileHandle | undefined;
  try {
    handle = await files.open(new URL(address));
    return await work(handle);
  } catch (cause) {
    if (cause instanceof CressetError) throw cause;
    throw unreadable(address, cause instanceof Error ? cause.message : String(cause), cause);
  } finally {
    await handle?.close();
  }
}

function unreadable(name: string, why: string, cause?: unknown): CressetError {
  return new CressetError('FILE_UNREADABLE', `${name} cannot be read: ${why}`, { cause });
}
