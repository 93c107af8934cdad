import { CressetError, Source } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import {
  abortable,
  BlobSource,
  type ByteSource,
  MemorySource,
  throwIfAborted,
  type TransferOptions,
} from './sources/byte-source.ts';
import { archiveRoot, readByteOrder } from './archive-layout.ts';
import type { LoadedModule } from './loaded-module.ts';
import { ChunkedSource } from './sources/chunked-source.ts';
import { DebugTables } from './debug/debug-tables.ts';
import { readExtraFiles } from './extra-files.ts';
import { ObjectPickle } from './pickle/object-pickle.ts';
import { SourceImporter } from './source-importer.ts';
import { StorageRecords } from './storage-records.ts';
import { openUrl, WHOLE_FILE_BYTES } from './sources/url-source.ts';
import { WeightReader } from './weight-reader.ts';
import { ZipReader } from './zip/zip-reader.ts';

/** Versions of the file format that are understood (caffe2::serialize::kMaxSupportedFileFormatVersion). */
const MAX_FORMAT_VERSION = 10;

/** What only archives of `torch.export.save` have, in the layout of PyTorch 2.8 on or the one before. */
const EXPORTED_PROGRAM = /archive_format$|exported_program\.json$/;

/** What a model can be loaded from: an address, a file, or bytes. */
export type ModuleInput = string | URL | Blob | ArrayBuffer | ArrayBufferView;

/** As it is sent to a worker: chunks of bytes, all of one length but the last, are the reader's own. */
export type SentInput = Exclude<ModuleInput, URL> | ArrayBuffer[];

/** Opens what a model can be loaded from. */
export async function openSource(input: ModuleInput | SentInput, options: TransferOptions = {}): Promise<ByteSource> {
  if (typeof input === 'string' || input instanceof URL) {
    return (String(input).startsWith('file:') && (await openFile(String(input), options))) || openUrl(input, options);
  }
  if (input instanceof Blob) return new BlobSource(input, options);
  if (Array.isArray(input)) return new ChunkedSource(input);
  if (ArrayBuffer.isView(input))
    return new MemorySource(new Uint8Array(input.buffer, input.byteOffset, input.byteLength));
  if (Object.prototype.toString.call(input) === '[object ArrayBuffer]') return new MemorySource(new Uint8Array(input));
  throw new CressetError('ARGUMENT', 'a model is loaded from a URL, a File or Blob, an ArrayBuffer or a typed array');
}

/** A file of this machine, outside of browsers; null where there are none. */
async function openFile(address: string, options: TransferOptions): Promise<ByteSource | null> {
  const { FileSource } = await import('./sources/file-source.ts');
  options.onPart?.('file-source', 'a file of this machine');
  return FileSource.open(address, options);
}

/**
 * Reads a `.pt` of `torch.jit.save` (torch.jit.load), or a `.pt2` of `torch.export.save` (torch.export.load): classes and functions are compiled when they are first needed. Tensors lie on
 * the host; those of a large file are read when they are first needed. Throws a CressetError; a file of another kind gives one whose code starts with `FILE_` and says what it is.
 */
export async function readModule(
  input: ModuleInput | ByteSource,
  options: TransferOptions = {},
): Promise<LoadedModule> {
  const { signal, onProgress } = options;
  throwIfAborted(signal);
  const source = isByteSource(input) ? input : await openSource(input, options);
  const reading = new ModuleReader(source, options).read().catch(async (error: unknown) => {
    // What cannot be loaded now could not at the next visit.
    if (!signal?.aborted && !String((error as CressetError).code).startsWith('DOWNLOAD_')) await source.discard?.();
    throw error;
  });
  const result = await abortable(reading, signal);
  // What was not needed of a file that is read as a whole counts as done.
  if (!result.weights) onProgress?.({ loaded: source.size, total: source.size });
  return result;
}

function isByteSource(input: ModuleInput | ByteSource): input is ByteSource {
  return typeof input === 'object' && 'readAll' in input;
}

class ModuleReader {
  readonly #source: ByteSource;
  readonly #options: TransferOptions;

  constructor(source: ByteSource, options: TransferOptions) {
    this.#source = source;
    this.#options = options;
  }

  async read(): Promise<LoadedModule> {
    const zip = await this.#openZip();
    const root = archiveRoot(zip);
    if ([...zip.entries.keys()].some((name) => EXPORTED_PROGRAM.test(name))) {
      const { readExportedProgram } = await import('./exported-program/exported-program-reader.ts');
      return readExportedProgram(zip, this.#source, this.#options);
    }
    const readVersion = (): Promise<number> => this.#formatVersion(zip, root);
    if (!zip.has(`${root}data.pkl`) || !hasCode(zip, root)) {
      const { readOtherArchive } = await import('./other-archives.ts');
      return readOtherArchive({ zip, root, source: this.#source, formatVersion: readVersion }, this.#options);
    }
    const formatVersion = await readVersion();
    const debugTables = new DebugTables(zip, this.#options.onPart);
    const [bigEndian, code, dataPickle, constantsPickle] = await Promise.all([
      readByteOrder(zip, root).then((order) => order === 'big'),
      readCode(zip, root, debugTables),
      zip.read(`${root}data.pkl`),
      zip.has(`${root}constants.pkl`) ? zip.read(`${root}constants.pkl`) : null,
    ]);
    const texts = [...code.values()].map(({ text }) => text);
    const pickles = constantsPickle ? [dataPickle, constantsPickle] : [dataPickle];
    const prepared = this.#options.beforeCompiling?.({ code: texts, pickles });
    const readObjects = (): ReadObjects => {
      const records = ['constants', 'data'].map((folder) => new StorageRecords(zip, `${root}${folder}/`, bigEndian));
      const [inConstants, inData] = records;
      const constants: IValue[] = [];
      const importer = new SourceImporter({ sourceOf: (file) => code.get(`code/${file}`), constants, formatVersion });
      const constantObjects = new ObjectPickle('constants.pkl', importer, {
        storage: inConstants.reference.bind(inConstants),
      });
      if (constantsPickle) constants.push(...constantObjects.readItems(constantsPickle));
      const objects = new ObjectPickle('data.pkl', importer, { storage: inData.reference.bind(inData) });
      const module = objects.readModule(dataPickle);
      const pendingStates = [...constantObjects.pendingStates, ...objects.pendingStates];
      return { program: { module, unit: importer.unit, constants, pendingStates }, records };
    };
    const { program, records } = await whileComing(prepared, texts, readObjects);
    throwIfAborted(this.#options.signal);
    const weights = new WeightReader(zip);
    const isLazy = this.#source.size > WHOLE_FILE_BYTES;
    for (const each of records) {
      throwIfAborted(this.#options.signal);
      if (isLazy) each.attach(weights);
      else await each.load(weights);
    }
    if (isLazy) await records[0].loadNumbers();
    const extraFiles = await readExtraFiles(zip, root);
    if (!isLazy && (this.#source instanceof MemorySource || this.#source instanceof ChunkedSource))
      await debugTables.release();
    return {
      ...program,
      formatVersion,
      code,
      extraFiles,
      debugTables,
      weights: isLazy ? weights : null,
    };
  }

  async #openZip(): Promise<ZipReader> {
    try {
      return await ZipReader.open(this.#source);
    } catch (error) {
      if (!(error instanceof CressetError) || !error.code.startsWith('ZIP_')) throw error;
      const { foreignFileError } = await import('./foreign-file.ts');
      throw await foreignFileError(this.#source, error);
    }
  }

  async #formatVersion(zip: ZipReader, root: string): Promise<number> {
    // PyTorch moved the record when version 6 came.
    const name = [`${root}.data/version`, `${root}version`].find((each) => zip.has(each));
    if (name === undefined) throw new CressetError('ARCHIVE_VERSION', `${this.#source.name} has no version record`);
    const text = new TextDecoder().decode(await zip.read(name)).trim();
    const version = /^\d{1,6}$/.test(text) ? Number(text) : NaN;
    if (!(version >= 1 && version <= MAX_FORMAT_VERSION)) {
      throw new CressetError(
        'ARCHIVE_VERSION',
        `${this.#source.name} has format version '${text.slice(0, 20)}'; versions 1 to ${MAX_FORMAT_VERSION} can be read`,
      );
    }
    return version;
  }
}

interface ReadObjects {
  readonly program: Pick<LoadedModule, 'module' | 'unit' | 'constants' | 'pendingStates'>;
  /** Where tensors of constants are, and those of the module. */
  readonly records: readonly StorageRecords[];
}

/**
 * Reads the objects of a program while what it needs is on its way. Nothing but `__setstate__` and a rare constant is compiled for that; what cannot be
 * read yet is read once more when all is there.
 */
async function whileComing(
  prepared: Promise<void> | undefined,
  code: readonly string[],
  read: () => ReadObjects,
): Promise<ReadObjects> {
  let early: ReadObjects | undefined;
  if (prepared && !code.some((text) => text.includes('__setstate__'))) {
    try {
      early = read();
    } catch {
      // Whether it is wrong is known when all is there.
    }
  }
  await prepared;
  return early ?? read();
}

function hasCode(zip: ZipReader, root: string): boolean {
  for (const name of zip.entries.keys()) if (name.startsWith(`${root}code/`)) return true;
  return false;
}

async function readCode(zip: ZipReader, root: string, tables: DebugTables): Promise<Map<string, Source>> {
  const names = [...zip.entries.keys()].filter((name) => name.startsWith(`${root}code/`) && name.endsWith('.py'));
  const contents = await zip.readAll(names);
  const decoder = new TextDecoder();
  return new Map(
    names.map((name, index) => {
      const file = name.slice(root.length);
      return [file, new Source(decoder.decode(contents[index]), file, 0, tables.tableOf(name))];
    }),
  );
}
