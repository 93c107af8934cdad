import type { ZipReader } from './zip/zip-reader.ts';

/** What was saved with `_extra_files`. @param subfolder where those are, with a slash at its end */
export async function readExtraFiles(
  zip: ZipReader,
  root: string,
  subfolder = 'extra/',
): Promise<Map<string, Uint8Array>> {
  const folder = `${root}${subfolder}`;
  const names = [...zip.entries.keys()].filter((name) => name.startsWith(folder) && name.length > folder.length);
  const contents = await zip.readAll(names);
  return new Map(names.map((name, index) => [name.slice(folder.length), contents[index].slice()]));
}
