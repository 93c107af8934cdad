import { CressetError } from '@cresset/ir';
import { Dict, elementSize, fromByteString, List, Storage, Tensor, Tuple, type ScalarType } from '@cresset/tensor';
import { archiveRoot, readByteOrder } from '../archive-layout.ts';
import type { ByteSource } from '../sources/byte-source.ts';
import { PickleGlobals } from '../pickle/pickle-globals.ts';
import { OpaqueObject, StorageReference, type PickleValue } from '../pickle/pickle-value.ts';
import { StorageRecords } from '../storage-records.ts';
import { Unpickler } from '../pickle/unpickler.ts';
import { WeightReader } from '../weight-reader.ts';
import { ZipReader } from '../zip/zip-reader.ts';

/** What `torch.save` wrote: tensors by their path (`layer1.0.weight`), and no program. */
export interface Checkpoint {
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** Class of the module where a whole `nn.Module` was pickled, null where it is plain data. */
  readonly moduleClass: string | null;
  /** All that was saved, tensors and what is none. */
  readonly value: PickleValue;
}

/** First bytes of a file of the format before PyTorch 1.6: a pickle of its magic number. */
const LEGACY_MAGIC = [0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
/** Pickles stand at the front of a file of the old format; to list tensors, this much is read at most. */
const LEGACY_FRONT_BYTES = 64 << 20;
const MAX_TENSORS = 1_000_000;

export function isLegacyCheckpoint(front: Uint8Array): boolean {
  return LEGACY_MAGIC.every((byte, index) => front[index] === byte);
}

/**
 * Reads a file of `torch.save`, zip or the older format, to tensors by name. Throws a CressetError where the file is damaged or
 * names something that is no data (`PICKLE_FORBIDDEN_GLOBAL`).
 */
export async function readCheckpoint(source: ByteSource): Promise<Checkpoint> {
  const front = await source.read(0, Math.min(source.size, LEGACY_MAGIC.length));
  if (isLegacyCheckpoint(front)) {
    const bytes = await source.read(0, source.size);
    const legacy = unpickleLegacy(bytes, source.name);
    legacy.loadStorages();
    return legacy.checkpoint;
  }
  const zip = await ZipReader.open(source);
  const root = archiveRoot(zip);
  const { records, checkpoint } = await unpickleZip(zip, root, source.name);
  await records.load(new WeightReader(zip));
  return checkpoint;
}

/** As `readCheckpoint`, without the tensors' elements: names, shapes and dtypes from the pickle alone. */
export async function describeCheckpoint(source: ByteSource, zip: ZipReader | null): Promise<Checkpoint> {
  if (zip) return (await unpickleZip(zip, archiveRoot(zip), source.name)).checkpoint;
  return unpickleLegacy(await source.read(0, Math.min(source.size, LEGACY_FRONT_BYTES)), source.name).checkpoint;
}

async function unpickleZip(
  zip: ZipReader,
  root: string,
  name: string,
): Promise<{ records: StorageRecords; checkpoint: Checkpoint }> {
  const bigEndian = (await readByteOrder(zip, root)) === 'big';
  const pickle = await zip.read(`${root}data.pkl`);
  const attempt = (tolerates?: (name: string) => boolean): { records: StorageRecords; value: PickleValue } => {
    const records = new StorageRecords(zip, `${root}data/`, bigEndian);
    const context = {
      storage: (key: string, dtype: ScalarType | null, count: number) => records.reference(key, dtype, count),
      ...(tolerates ? { tolerates } : {}),
    };
    return { records, value: new Unpickler(pickle, new PickleGlobals(context, name), name).load() };
  };
  const { records, value } = strictlyOrInert(attempt, (result) => result.value);
  return { records, checkpoint: checkpointOf(value) };
}

interface LegacyCheckpoint {
  readonly checkpoint: Checkpoint;
  loadStorages(): void;
}

/** Five pickles (magic number, version, system, object, storage keys), then the storages: a count and the elements each. */
function unpickleLegacy(bytes: Uint8Array, name: string): LegacyCheckpoint {
  const attempt = (
    tolerates?: (name: string) => boolean,
  ): { references: Map<string, StorageReference>; value: PickleValue; end: number } => {
    const references = new Map<string, StorageReference>();
    const context = {
      storage(key: string, dtype: ScalarType | null, count: number): StorageReference {
        const known = references.get(key);
        if (known) return known;
        const made = new StorageReference(key, dtype, count);
        references.set(key, made);
        return made;
      },
      ...(tolerates ? { tolerates } : {}),
    };
    const globals = new PickleGlobals(context, name);
    let at = 0;
    const next = (): PickleValue => {
      const unpickler = new Unpickler(bytes, globals, name, at);
      const value = unpickler.load();
      at = unpickler.position;
      return value;
    };
    next();
    next();
    next();
    const value = next();
    return { references, value, end: at };
  };
  const { references, value, end } = strictlyOrInert(attempt, (result) => result.value);
  return {
    checkpoint: checkpointOf(value),
    loadStorages: () => loadLegacyStorages(bytes, end, references, name),
  };
}

function loadLegacyStorages(
  bytes: Uint8Array,
  start: number,
  references: ReadonlyMap<string, StorageReference>,
  name: string,
): void {
  const noStorages = {
    storage(): never {
      throw new CressetError('PICKLE_MALFORMED', `${name} is damaged: its list of storages has a storage`);
    },
  };
  const unpickler = new Unpickler(bytes, new PickleGlobals(noStorages, name), name, start);
  const keys = unpickler.load();
  if (!(keys instanceof List))
    throw new CressetError('PICKLE_MALFORMED', `${name} is damaged: it has no list of storages`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = unpickler.position;
  for (const key of keys.items) {
    const reference = typeof key === 'string' ? references.get(key) : undefined;
    if (!reference)
      throw new CressetError('PICKLE_MALFORMED', `${name} is damaged: it lists a storage that no tensor has`);
    const count = at + 8 <= bytes.byteLength ? view.getBigInt64(at, true) : 0n;
    const length = reference.count * elementSize(reference.dtype ?? 'uint8');
    at += 8;
    if (count !== BigInt(reference.count) || !(at + length <= bytes.byteLength)) {
      throw new CressetError(
        'ARCHIVE_STORAGE_SIZE',
        `${name} is damaged or incomplete: storage '${reference.key}' should have ${length} bytes at offset ${at}, and the file has ${bytes.byteLength}`,
      );
    }
    const storage = Storage.onHost(bytes.slice(at, at + length).buffer as ArrayBuffer);
    for (const tensor of reference.tensors) tensor.storage = storage;
    at += length;
  }
}

/**
 * A pickled module names the classes it was made of, and next to the weights of a training run lie its settings. That is no reason to
 * say only that a name is forbidden: when one is, the pickle is read again with inert objects in place of what it names, except for
 * names by which harm is done.
 */
function strictlyOrInert<T>(
  attempt: (tolerates?: (name: string) => boolean) => T,
  rootOf: (result: T) => PickleValue,
): T {
  try {
    return attempt();
  } catch (error) {
    if (!(error instanceof CressetError) || error.code !== 'PICKLE_FORBIDDEN_GLOBAL') throw error;
    let result: T;
    try {
      result = attempt((name) => !HARMFUL.test(name));
    } catch {
      throw error;
    }
    // With no tensor in it there is nothing that would be worth reading past the rest.
    if (checkpointOf(rootOf(result)).tensors.size === 0) throw error;
    return result;
  }
}

/** Modules of Python's own library by which a pickle does harm. */
const HARMFUL =
  /^(os|posix|nt|sys|subprocess|builtins|__builtin__|shutil|socket|pty|runpy|importlib|ctypes|code|pickle|_pickle|marshal|types|webbrowser|urllib|http|requests|asyncio|multiprocessing|threading|operator|functools|torch\.hub|torch\.utils\.cpp_extension)\./;

/** The first pickled `nn.Module` in a value: itself, or an entry of the dict it is. */
function findModule(value: PickleValue): OpaqueObject | null {
  if (value instanceof OpaqueObject)
    return value.state instanceof Dict && value.state.entries.has('_modules') ? value : null;
  if (!(value instanceof Dict)) return null;
  for (const each of value.entries.values()) {
    if ((each as PickleValue) instanceof OpaqueObject) {
      const found = findModule(each);
      if (found) return found;
    }
  }
  return null;
}

function checkpointOf(root: PickleValue): Checkpoint {
  const tensors = new Map<string, Tensor>();
  const visited = new Set<PickleValue>();
  const pending: { path: string; value: PickleValue }[] = [{ path: '', value: root }];
  while (pending.length > 0 && tensors.size < MAX_TENSORS) {
    const { path, value } = pending.pop()!;
    if (value instanceof Tensor) {
      tensors.set(path, value);
      continue;
    }
    if (value === null || typeof value !== 'object' || visited.has(value)) continue;
    visited.add(value);
    for (const child of childrenOf(value, path).reverse()) pending.push(child);
  }
  return { tensors, moduleClass: findModule(root)?.className ?? null, value: root };
}

/** A pickled module keeps its tensors in these dicts of its state, which are no part of their names. */
const MODULE_DICTS: ReadonlySet<string> = new Set(['_parameters', '_buffers', '_modules']);

function childrenOf(value: PickleValue & object, path: string): { path: string; value: PickleValue }[] {
  const below = (key: string): string => (path === '' ? key : `${path}.${key}`);
  if (value instanceof Dict) {
    return [...value.entries].map(([key, each]) => ({
      path: below(keyText(key)),
      value: each,
    }));
  }
  if (value instanceof List || value instanceof Tuple) {
    return value.items.map((each, index) => ({ path: below(String(index)), value: each }));
  }
  if (value instanceof OpaqueObject && value.state instanceof Dict) {
    return [...value.state.entries].map(([key, each]) => ({
      path: MODULE_DICTS.has(String(key)) ? path : below(String(key)),
      value: each,
    }));
  }
  return [];
}

function keyText(key: PickleValue): string {
  if (typeof key === 'string') return fromByteString(key);
  return key instanceof Tuple ? `(${key.items.map(keyText).join(', ')})` : String(key);
}

/** A tensor in a message: `float32 [64, 3, 7, 7]`. */
export function describeTensor(tensor: Tensor): string {
  return `${tensor.dtype} [${tensor.sizes.join(', ')}]`;
}
