import { type ClassType, CressetError } from '@cresset/ir';
import { ScriptObject, type Storage, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { hasValidSetGetState } from './pickle/get-set-state.ts';
import { partsOf, Pickler } from './pickle/pickler.ts';
import { CodeFiles } from './python-print/code-files.ts';
import { pickleSourceRanges, SourceRangeTags } from './debug/source-range-pickler.ts';
import { TypeNameUniquer } from './type-name-uniquer.ts';
import { ZipWriter } from './zip/zip-writer.ts';

/** The lowest version that PyTorch writes (caffe2::serialize::kMinProducedFileFormatVersion). */
const MIN_FORMAT_VERSION = 3;
/** From this version on its record stands in another place. */
const FIRST_VERSION_IN_DATA = 6;
/** Code shorter than this is stored as it is. */
const MIN_TO_COMPRESS = 200;

export interface WriteModuleOptions {
  /** The name of the file, of which the folder in the archive is called; `archive` by default. */
  readonly name?: string;
  /** Files that are saved with the module (`_extra_files`), text as UTF-8. */
  readonly extraFiles?: ReadonlyMap<string, Uint8Array | string>;
  /** Calls a method of an object: for classes with `__getstate__`, which are refused without. */
  readonly callMethod?: (object: ScriptObject, method: '__getstate__') => Promise<IValue>;
  /** Makes the author's source known, so that the new file can name it. */
  readonly loadDebugTables?: () => Promise<void>;
}

/**
 * Writes a module as PyTorch writes it (torch.jit.save): `torch.jit.load` reads it, there and here. Functions that have not been
 * needed so far are compiled, and tensors that lie on the device only are read back.
 *
 * Throws what compiling and printing throws, and a CressetError whose code starts with `SAVE_` for what cannot be saved.
 */
export async function writeModule(
  module: ScriptObject,
  options: WriteModuleOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  await options.loadDebugTables?.();
  return new ScriptModuleSerializer(options).serialize(module);
}

/** PyTorch: torch::jit::ScriptModuleSerializer. */
class ScriptModuleSerializer {
  readonly #options: WriteModuleOptions;
  readonly #root: string;
  readonly #zip = new ZipWriter();
  readonly #names = new TypeNameUniquer();

  constructor(options: WriteModuleOptions) {
    this.#options = options;
    this.#root = archiveName(options.name ?? 'archive');
  }

  async serialize(module: ScriptObject): Promise<Uint8Array<ArrayBuffer>> {
    for (const [name, contents] of this.#options.extraFiles ?? []) this.#write(`extra/${name}`, contents);
    const objectTypes = await this.#writeArchive('data', module);
    const code = await this.#printCode(objectTypes, module.type);
    this.#writeCode(code);
    await this.#writeArchive('constants', new Tuple(code.constants));
    this.#writeEnd(code.minVersion);
    return this.#zip.finish();
  }

  // ---- values

  /** Writes a pickle and its tensors; returns the classes of the objects in it. */
  async #writeArchive(name: string, value: IValue): Promise<readonly ClassType[]> {
    const states = await this.#statesIn(value);
    const pickler = new Pickler({
      typeName: (type) => this.#names.nameOf(type),
      stateOf: (object) => states.get(object),
    });
    const pickle = pickler.pickle(value);
    await Promise.all(pickler.storages.map((storage) => storage.toHost()));
    pickler.storages.forEach((storage, key) => this.#write(`${name}/${key}`, bytesOf(storage)));
    this.#write(`${name}.pkl`, pickle);
    return pickler.classTypes;
  }

  /** What the objects that have a `__getstate__` give: asked for in the order in which they are written. */
  async #statesIn(root: IValue): Promise<ReadonlyMap<ScriptObject, IValue>> {
    const states = new Map<ScriptObject, IValue>();
    const seen = new Set<IValue>();
    const waiting: IValue[] = [root];
    while (waiting.length > 0) {
      const value = waiting.pop()!;
      if (typeof value !== 'object' || value === null || value instanceof Tensor || seen.has(value)) continue;
      seen.add(value);
      if (value instanceof ScriptObject && hasValidSetGetState(value.type)) {
        states.set(value, await this.#stateOf(value));
      }
      const parts = partsOf(value, (object) => states.get(object));
      // The first is to be on top.
      for (let at = parts.length - 1; at >= 0; at--) waiting.push(parts[at]);
    }
    return states;
  }

  #stateOf(object: ScriptObject): Promise<IValue> {
    const { callMethod } = this.#options;
    if (!callMethod) {
      throw new CressetError(
        'SAVE_GETSTATE',
        `objects of class '${object.type.qualifiedName}' are saved by their '__getstate__', which nothing here can call`,
      );
    }
    return callMethod(object, '__getstate__');
  }

  // ---- code

  async #printCode(objectTypes: readonly ClassType[], root: ClassType): Promise<CodeFiles> {
    const print = (): CodeFiles => {
      const code = new CodeFiles(this.#names);
      // Classes of objects that stand where an interface is declared are named by no code.
      for (const type of objectTypes) code.print(type);
      code.printWithDependencies(root);
      return code;
    };
    const code = print();
    // Equal constants have one name, and have to be here to be compared.
    const away = code.constants.flatMap((each) =>
      each instanceof Tensor && !each.storage.isOnHost ? each.storage : [],
    );
    await Promise.all(away.map((storage) => storage.toHost()));
    return away.length > 0 ? print() : code;
  }

  #writeCode(code: CodeFiles): void {
    const tags = new SourceRangeTags();
    for (const [path, file] of code.files) {
      this.#write(`code/${path}`, file.toString());
      this.#write(`code/${path}.debug_pkl`, pickleSourceRanges(file.ranges, tags));
    }
  }

  // ---- records

  #writeEnd(minVersion: number): void {
    const version = Math.max(MIN_FORMAT_VERSION, minVersion);
    this.#write(version >= FIRST_VERSION_IN_DATA ? '.data/version' : 'version', `${version}\n`);
    this.#write('byteorder', 'little');
    this.#write('.data/serialization_id', serializationId(this.#zip.checksums));
  }

  #write(name: string, contents: Uint8Array | string): void {
    const bytes = typeof contents === 'string' ? new TextEncoder().encode(contents) : contents;
    const compress = name.startsWith('code/') && bytes.byteLength > MIN_TO_COMPRESS;
    this.#zip.write(`${this.#root}/${name}`, bytes as Uint8Array<ArrayBuffer>, { compress });
  }
}

function bytesOf(storage: Storage): Uint8Array {
  return new Uint8Array(storage.hostBytes());
}

/** A file's name without folders and ending, as PyTorch calls the folder in it. */
function archiveName(fileName: string): string {
  const base = fileName.slice(fileName.lastIndexOf('/') + 1);
  const dot = base.lastIndexOf('.');
  return (dot > 0 ? base.slice(0, dot) : base) || 'archive';
}

/** Forty digits that stand for the names and contents of all records: the same for the same. */
function serializationId(checksums: readonly (readonly [name: string, crc: number])[]): string {
  let names = 0xcbf29ce484222325n;
  let contents = names;
  for (const [name, crc] of checksums) {
    for (const byte of new TextEncoder().encode(name)) names = fnv1a(names, byte);
    for (const byte of [24, 16, 8, 0]) contents = fnv1a(contents, (crc >>> byte) & 0xff);
  }
  return [names, contents].map((hash) => String(hash).padStart(20, '0')).join('');
}

/** One step of the FNV-1a hash of 64 bits. */
function fnv1a(hash: bigint, byte: number): bigint {
  return BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
}
