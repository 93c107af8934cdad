import { CressetError } from '@cresset/ir';
import type { ByteSource, TransferOptions } from './byte-source.ts';
import { CachedSource } from './cached-source.ts';
import { FileCache } from './file-cache.ts';
import { isSameVersion, type FileVersion } from '../file-version.ts';

/** By this much of its end a file is recognised where the server tells nothing of its version: checksums of all parts are there. */
const COMPARED_BYTES = 64 << 10;

/** What a server has of a file. */
export interface Remote {
  readonly version: FileVersion;
  /** Null where the server has no ranges, and what it has is in the cache as a whole. */
  readonly source: ByteSource | null;
}

/**
 * Opens an address through what is kept of it from earlier visits; null where this browser keeps nothing.
 *
 * @param openRemote asks the server, with what is kept in mind
 */
export async function openThroughCache(
  address: string,
  options: TransferOptions,
  openRemote: (cache: FileCache) => Promise<Remote>,
): Promise<ByteSource | null> {
  const cache = await FileCache.open(address, options.onWarning);
  if (!cache) return null;
  const { version } = cache;
  let remote: Remote;
  try {
    remote = await openRemote(cache);
  } catch (error) {
    // A server that was not reached says nothing about the file; one that does not have it any more does.
    const isOffline = error instanceof CressetError && error.code === 'DOWNLOAD_FAILED' && error.cause !== undefined;
    if (!version || !isOffline) throw error;
    return new CachedSource(cache, null, error);
  }
  if (!version || !(await isStillSame(cache, version, remote))) await cache.adopt(remote.version);
  return new CachedSource(cache, remote.source);
}

async function isStillSame(cache: FileCache, version: FileVersion, remote: Remote): Promise<boolean> {
  const verdict = isSameVersion(version, remote.version);
  if (verdict !== null || !remote.source) return verdict ?? true;
  const length = Math.min(COMPARED_BYTES, version.size);
  try {
    const [kept, there] = await Promise.all(
      [new CachedSource(cache, null), remote.source].map((each) => each.read(version.size - length, length)),
    );
    return kept.every((byte, index) => byte === there[index]);
  } catch {
    return false;
  }
}
