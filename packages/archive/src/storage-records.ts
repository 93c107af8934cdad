import { CressetError } from '@cresset/ir';
import { elementSize, isComplex, Storage, type ScalarType, type Tensor } from '@cresset/tensor';
import { StorageReference } from './pickle/pickle-value.ts';
import type { WeightReader } from './weight-reader.ts';
import type { ZipReader } from './zip/zip-reader.ts';

/** Records that are wanted all are read in groups of about this size. */
const GROUP_BYTES = 64 << 20;

/**
 * The storages that the pickles of one folder of an archive refer to (`data/0`, `data/1`, …).
 *
 * Pickles are read first, which makes tensors over storages without contents; `attach` then gives each tensor its own, which is
 * read when it is first needed. Tensors with one key share one storage, as in the program that was saved.
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
    for (const tensor of known?.tensors ?? []) reference.tensors.push(tensor);
    this.#references.set(id, reference);
    return reference;
  }

  /** Gives the tensors their storages, which `reader` reads when they are needed. */
  attach(reader: WeightReader): void {
    for (const [key, references] of this.#byKey()) {
      const width = this.#bigEndian ? wordSize(references[0]) : 1;
      const storage = reader.storage(this.#zip.entry(this.#folder + key), (bytes) => swapBytes(bytes, width));
      for (const { tensors } of references) for (const tensor of tensors) tensor.storage = storage;
    }
  }

  /** As `attach`, and reads them all. */
  async load(reader: WeightReader): Promise<void> {
    this.attach(reader);
    const byStorage = new Map<Storage, Tensor[]>();
    for (const { tensors } of this.#references.values()) {
      for (const tensor of tensors) byStorage.set(tensor.storage, [...(byStorage.get(tensor.storage) ?? []), tensor]);
    }
    const storages = [...byStorage.keys()];
    for (let next = 0; next < storages.length;) {
      const group: Storage[] = [];
      for (let bytes = 0; next < storages.length && bytes < GROUP_BYTES; next++) {
        group.push(storages[next]);
        bytes += storages[next].byteLength;
      }
      await Promise.all(group.map((storage) => storage.toHost()));
      for (const storage of group) {
        const onHost = Storage.ofFile(storage.hostBytes());
        for (const tensor of byStorage.get(storage)!) tensor.storage = onHost;
      }
    }
  }

  /** Reads those of tensors without dimensions, after `attach`: a compiler asks for numbers before anything runs. */
  async loadNumbers(): Promise<void> {
    const tensors = [...this.#references.values()].flatMap((reference) => reference.tensors);
    await Promise.all(tensors.filter(({ dim }) => dim === 0).map(({ storage }) => storage.toHost()));
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
