import { FileCache, type CachedFile } from '@cresset/archive';

/** Files that `load(url, { cache: true })` keeps for later visits of this site. */
export const cache = {
  /** What is kept: addresses, sizes, and how much of each is there so far. */
  entries(): Promise<CachedFile[]> {
    return FileCache.list();
  },

  /** Forgets the file of an address; false where nothing was kept of it. */
  delete(url: string | URL): Promise<boolean> {
    return FileCache.delete(new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href).href);
  },

  /** Forgets all files. */
  async clear(): Promise<void> {
    await FileCache.delete();
  },
} as const;
