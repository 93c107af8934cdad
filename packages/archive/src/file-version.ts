/** What tells one version of a file from another; null where the server does not say. */
export interface FileVersion {
  readonly size: number;
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** Whether two versions are the same one; null where nothing tells. */
export function isSameVersion(a: FileVersion, b: FileVersion): boolean | null {
  if (a.size !== b.size) return false;
  if (a.etag && b.etag) return a.etag === b.etag;
  return a.lastModified && b.lastModified ? a.lastModified === b.lastModified : null;
}
