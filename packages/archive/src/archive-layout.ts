import { CressetError } from '@cresset/ir';
import type { ZipReader } from './zip/zip-reader.ts';

/** The folder of an archive, with a slash at its end: that of its `data.pkl`, or of its first entry. */
export function archiveRoot(zip: ZipReader): string {
  const first = zip.firstName.slice(0, zip.firstName.indexOf('/') + 1);
  if (zip.has(`${first}data.pkl`)) return first;
  for (const name of zip.entries.keys()) {
    const match = /^([^/]*\/)?data\.pkl$/.exec(name);
    if (match) return match[1] ?? '';
  }
  return first;
}

export async function readByteOrder(zip: ZipReader, root: string): Promise<'little' | 'big'> {
  const name = `${root}byteorder`;
  if (!zip.has(name)) return 'little';
  const text = new TextDecoder().decode(await zip.read(name)).trim();
  if (text === 'little' || text === 'big') return text;
  throw new CressetError(
    'ARCHIVE_BYTE_ORDER',
    `the file's byte order is '${text.slice(0, 20)}', which is neither little nor big`,
  );
}
