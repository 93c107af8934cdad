import { CressetError } from '@cresset/ir';
import { Dict, elementSize, newHostArray, numelOf, Storage, Tensor, Tuple } from '@cresset/tensor';
import { PickleGlobals } from '../pickle/pickle-globals.ts';
import type { PickleValue } from '../pickle/pickle-value.ts';
import { MemorySource } from '../sources/byte-source.ts';
import { StorageRecords } from '../storage-records.ts';
import type { ZipReader } from '../zip/zip-reader.ts';
import type { ArchivedProgram } from './exported-archive.ts';
import { JsonObject } from './json-object.ts';
import { parseJson } from './json-text.ts';
import { scalarTypeOf } from './number-codes.ts';

/** The tensors of a program by the names of its signature. */
export interface Payloads {
  /** Parameters and buffers, then constants. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** What constants there are that are no tensors, by name: what a message calls each. */
  readonly others: ReadonlyMap<string, string>;
  /** Where the elements of those are that are read later. */
  readonly records: readonly StorageRecords[];
}

/** Reads what the file tells of weights and constants; elements follow when `records` are attached to a reader. */
export async function readPayloads(
  zip: ZipReader,
  { root, name }: ArchivedProgram,
  isBigEndian: boolean,
): Promise<Payloads> {
  const payloads = {
    tensors: new Map<string, Tensor>(),
    others: new Map<string, string>(),
    records: [] as StorageRecords[],
  };
  for (const kind of ['weights', 'constants'] as const) {
    if (root === null) {
      await readPickledTensors(
        zip,
        kind === 'weights' ? 'serialized_state_dict.pt' : 'serialized_constants.pt',
        payloads,
      );
      continue;
    }
    const folder = `${root}data/${kind}/`;
    const config = `${folder}${name}_${kind}_config.json`;
    if (!zip.has(config)) continue;
    const records = new StorageRecords(zip, folder, isBigEndian);
    payloads.records.push(records);
    const json = parseJson(new TextDecoder().decode(await zip.read(config)), config);
    if (!(json instanceof JsonObject)) throw new CressetError('EXPORT_MALFORMED', `${config} is damaged`);
    for (const [path, meta] of json.object('config').entries) {
      if (meta instanceof JsonObject) await readPayload(zip, folder, records, path, meta, payloads);
    }
  }
  return payloads;
}

interface Target {
  readonly tensors: Map<string, Tensor>;
  readonly others: Map<string, string>;
}

async function readPayload(
  zip: ZipReader,
  folder: string,
  records: StorageRecords,
  path: string,
  meta: JsonObject,
  { tensors, others }: Target,
): Promise<void> {
  const key = meta.text('path_name');
  if (!meta.flag('use_pickle')) {
    tensors.set(path, viewOf(zip, folder, records, key, meta.object('tensor_meta')));
    return;
  }
  if (/^(custom|opaque)_obj_/.test(key)) return void others.set(path, 'an object of C++');
  const value = await unpickled(await zip.read(folder + key), folder + key);
  if (value instanceof Tensor) tensors.set(path, value);
  else others.set(path, describe(value));
}

/** A tensor over the whole storage that a record is. */
function viewOf(zip: ZipReader, folder: string, records: StorageRecords, key: string, meta: JsonObject): Tensor {
  const dtype = scalarTypeOf(meta.get('dtype'));
  const numbers = (name: string): bigint[] => meta.objects(name).map((size) => size.int('as_int'));
  const [sizes, strides] = [numbers('sizes'), numbers('strides')];
  const bytes = zip.entries.get(folder + key)?.size ?? 0;
  if (bytes === 0) return zeros(dtype, sizes.map(Number), strides.map(Number));
  const reference = records.reference(key, dtype, Math.floor(bytes / elementSize(dtype)));
  // Bounds are checked as those of tensors in pickles.
  const globals = new PickleGlobals({ storage: records.reference.bind(records) }, folder + key);
  const rebuild = globals.findGlobal('torch._utils', '_rebuild_tensor_v2')!;
  const offset = meta.object('storage_offset').int('as_int');
  return rebuild.call!([reference, offset, new Tuple(sizes), new Tuple(strides), meta.flag('requires_grad')]) as Tensor;
}

/** A record without bytes is one of zeros. */
function zeros(dtype: Tensor['dtype'], sizes: readonly number[], strides: readonly number[]): Tensor {
  const reach = sizes.reduce((last, size, dim) => last + (size - 1) * (strides[dim] ?? 0), 1);
  const count = numelOf(sizes) === 0 ? 0 : reach;
  return new Tensor(Storage.onHost(newHostArray(dtype, count).buffer as ArrayBuffer), dtype, sizes, strides);
}

async function readPickledTensors(zip: ZipReader, record: string, { tensors, others }: Target): Promise<void> {
  if (!((zip.entries.get(record)?.size ?? 0) > 0)) return;
  const value = await unpickled(await zip.read(record), record);
  if (!(value instanceof Dict)) throw new CressetError('EXPORT_MALFORMED', `${record} is damaged: it is no dict`);
  for (const [path, item] of value.entries) {
    if (item instanceof Tensor) tensors.set(String(path), item);
    else others.set(String(path), describe(item));
  }
}

async function unpickled(bytes: Uint8Array, name: string): Promise<PickleValue> {
  const { readCheckpoint } = await import('../checkpoint/checkpoint-reader.ts');
  const source = new MemorySource(bytes, name);
  return (await readCheckpoint(source)).value;
}

function describe(value: PickleValue): string {
  if (value !== null && typeof value === 'object' && 'className' in value) return `an object of '${value.className}'`;
  return 'a value that is no tensor';
}
