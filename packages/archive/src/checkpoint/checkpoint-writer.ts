import type { IValue } from '@cresset/tensor';
import { Pickler } from '../pickle/pickler.ts';
import { ZipWriter } from '../zip/zip-writer.ts';

/** The version of the format that torch.save writes. */
const FORMAT_VERSION = 3;

/**
 * Writes a value of dicts, lists, tuples, tensors, numbers and texts as `torch.save` does: `torch.load` reads it, with `weights_only` too. Tensors have to be
 * on the host.
 *
 * @param name of the folder in the archive
 *
 * Throws what {@link Pickler} throws.
 */
export function writeCheckpoint(value: IValue, name = 'archive'): Uint8Array<ArrayBuffer> {
  const zip = new ZipWriter();
  const pickler = new Pickler({ isPlain: true });
  const text = (content: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(content);
  zip.write(`${name}/data.pkl`, pickler.pickle(value));
  zip.write(`${name}/byteorder`, text('little'));
  pickler.storages.forEach((storage, key) => zip.write(`${name}/data/${key}`, new Uint8Array(storage.hostBytes())));
  zip.write(`${name}/version`, text(`${FORMAT_VERSION}\n`));
  return zip.finish();
}
