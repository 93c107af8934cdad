import { foreignZipError } from './foreign-file.ts';
import type { LoadedModule } from './loaded-module.ts';
import type { ByteSource, TransferOptions } from './sources/byte-source.ts';
import type { ZipReader } from './zip/zip-reader.ts';

/** An archive that is none of today's `torch.jit.save`, and where it comes from. */
interface OtherArchive {
  readonly zip: ZipReader;
  /** The folder of the archive, with a slash at its end. */
  readonly root: string;
  readonly source: ByteSource;
  readonly formatVersion: () => Promise<number>;
}

/** Reads the layout of PyTorch 1.0 to 1.3. Any other archive is named: throws a CressetError whose code starts with `FILE_`. */
export async function readOtherArchive(
  { zip, root, source, formatVersion }: OtherArchive,
  { beforeCompiling, onPart }: TransferOptions,
): Promise<LoadedModule> {
  if (!zip.has(`${root}model.json`) || zip.has(`${root}data.pkl`)) throw await foreignZipError(source, zip);
  const decoder = new TextDecoder();
  const code = await zip.readAll([...zip.entries.keys()].filter((name) => name.endsWith('.py')));
  await beforeCompiling?.({ code: code.map((bytes) => decoder.decode(bytes)), pickles: [] });
  const { readLegacyModule } = await import('./legacy/legacy-module-reader.ts');
  onPart?.('legacy-module-reader', 'a file in the layout before PyTorch 1.4');
  return readLegacyModule({ zip, root, formatVersion: await formatVersion() });
}
