import { CressetError } from '@cresset/ir';
import { elementSize, isComplex, Storage, type ScalarType } from '@cresset/tensor';
import { StorageReference } from './pickle-value.ts';
import type { ZipReader } from './zip-reader.ts';

/** Records are read in groups of about this size, so that not all of a file is in memory twice. */
const GROUP_BYTES = 64 << 20;

/**
 * The storages that the pickles of one folder of an archive refer to (`data/0`, `data/1`, …).
 *
 * Pickles are read first, which makes tensors over storages without contents; `load` then reads the records and gives each
 * tensor its own. Tensors with one key share one storage, as in the program that was saved.
 */
export class StorageRecords {
  readonly #zip: ZipReader;
  readonly #folder: string;
  readonly #bigEndian: boolean;
  readonly #references = new Map<string, StorageReference>();

  /** @param folder prefix of record names, with a slash at its end. */
  constructor(zip: ZipReader, folder: string, bigEndian: boolean) {
    this.#zip = zip;
    this.#folder = folder;
    this.#bigEndian = bigEndian;
  }

  /** The storage with this key. Throws `ARCHIVE_NO_STORAGE` or `ARCHIVE_STORAGE_SIZE` where the archive has no such record. */
  reference(key: string, dtype: ScalarType | null, count: number): StorageReference {
    const id = `${dtype}:${key}`;
    const known = this.#references.get(id);
    if (known && known.count >= count) return known;
    const name = this.#folder + key;
    const entry = this.#zip.entries.get(name);
    if (!entry)
      throw new CressetError('ARCHIVE_NO_STORAGE', `the file has no record '${name}', which a tensor in it refers to`);
    const width = dtype === null ? 1 : elementSize(dtype);
    if (!(count * width <= entry.size)) {
      throw new CressetError(
        'ARCHIVE_STORAGE_SIZE',
        `record '${name}' has ${entry.size} bytes, too few for the ${count} elements of ${dtype ?? 'uint8'} that a tensor claims`,
      );
    }
    const reference = new StorageReference(key, dtype, count);
    if (known) reference.tensors.push(...known.tensors);
    this.#references.set(id, reference);
    return reference;
  }

  /** Sum of the sizes of all records referred to, bytes. */
  get byteLength(): number {
    let sum = 0;
    for (const key of this.#byKey().keys()) sum += this.#zip.entry(this.#folder + key).size;
    return sum;
  }

  /** Reads every record referred to and gives the tensors their storages. */
  async load(): Promise<void> {
    const byKey = [...this.#byKey()].map(([key, references]) => ({
      entry: this.#zip.entry(this.#folder + key),
      references,
    }));
    byKey.sort((a, b) => a.entry.headerOffset - b.entry.headerOffset);
    for (let next = 0; next < byKey.length;) {
      const group: typeof byKey = [];
      for (
        let bytes = 0;
        next < byKey.length && (group.length === 0 || bytes + byKey[next].entry.size <= GROUP_BYTES);
        next++
      ) {
        group.push(byKey[next]);
        bytes += byKey[next].entry.size;
      }
      const contents = await this.#zip.readAll(group.map(({ entry }) => entry.name));
      group.forEach(({ references }, index) => this.#adopt(contents[index], references));
    }
  }

  #byKey(): Map<string, StorageReference[]> {
    const result = new Map<string, StorageReference[]>();
    for (const reference of this.#references.values()) {
      const others = result.get(reference.key);
      if (others) others.push(reference);
      else result.set(reference.key, [reference]);
    }
    return result;
  }

  #adopt(record: Uint8Array, references: readonly StorageReference[]): void {
    const bytes = record.slice();
    if (this.#bigEndian) swapBytes(bytes, wordSize(references[0]));
    const storage = Storage.onHost(bytes.buffer);
    for (const reference of references) {
      for (const tensor of reference.tensors) tensor.storage = storage;
    }
  }
}

/** Bytes that change places together: complex numbers are two words. */
function wordSize({ dtype, tensors }: StorageReference): number {
  const type = dtype ?? tensors[0]?.dtype ?? 'uint8';
  return isComplex(type) ? elementSize(type) / 2 : elementSize(type);
}

function swapBytes(bytes: Uint8Array, width: number): void {
  if (width === 1) return;
  for (let at = 0; at + width <= bytes.length; at += width) bytes.subarray(at, at + width).reverse();
}
