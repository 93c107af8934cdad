import type { ZipReader } from './zip/zip-reader.ts';

/** What was saved with `_extra_files`. */
export async function readExtraFiles(zip: ZipReader, root: string): Promise<Map<string, Uint8Array>> {
  const folder = `${root}extra/`;
  const names = [...zip.entries.keys()].filter((name) => name.startsWith(folder) && name.length > folder.length);
  const contents = await zip.readAll(names);
  return new Map(names.map((name, index) => [name.slice(folder.length), contents[index].slice()]));
}
