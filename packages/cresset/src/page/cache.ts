import type { CachedFile } from '@cresset/archive';
import type { FileCache } from '@cresset/archive/parts/file-cache';

/** Few pages ask. */
async function fileCache(): Promise<typeof FileCache> {
  return (await import('@cresset/archive/parts/file-cache')).FileCache;
}

/** Files that `load(url, { cache: true })` keeps for later visits of this site. */
export const cache = {
  /** What is kept: addresses, sizes, and how much of each is there so far. */
  async entries(): Promise<CachedFile[]> {
    return (await fileCache()).list();
  },

  /** Forgets the file of an address; false where nothing was kept of it. */
  async delete(url: string | URL): Promise<boolean> {
    return (await fileCache()).delete(new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href).href);
  },

  /** Forgets all files. */
  async clear(): Promise<void> {
    await (await fileCache()).delete();
  },
} as const;
