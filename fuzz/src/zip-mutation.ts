import { zlibSync, zipSync, type Zippable } from 'fflate';
import { concat, mutateBytes } from './byte-mutation.ts';
import type { Random } from './random.ts';

const CENTRAL_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;

/** The files of an archive, by name. */
export type ArchiveFiles = ReadonlyMap<string, Uint8Array>;

/** Packs files as they are or deflated; what is in them has been mutated, the zip around them is sound. */
export function packArchive(files: ArchiveFiles, random: Random): Uint8Array {
  const level = random.chance(0.3) ? 6 : 0;
  const zippable: Zippable = {};
  for (const [name, bytes] of files) zippable[name] = [bytes, { level }];
  return zipSync(zippable);
}

/** Takes files away, doubles or renames them, or puts one's contents under another's name. */
export function shuffleFiles(files: ArchiveFiles, random: Random): Map<string, Uint8Array> {
  const result = new Map(files);
  const names = [...files.keys()];
  const name = random.pick(names);
  const bytes = files.get(name)!;
  switch (random.below(5)) {
    case 0:
      result.delete(name);
      break;
    case 1:
      result.set(random.pick(names), bytes);
      break;
    case 2:
      result.set(`${name.slice(0, random.below(name.length))}${random.pick(['/../x', '\\', '\0', 'é', ''])}`, bytes);
      break;
    case 3:
      result.set(name, new Uint8Array(0));
      break;
    default:
      // A bomb: a great deal of nothing under the name of something.
      result.set(name, new Uint8Array(random.pick([1 << 10, 1 << 20, 1 << 24])));
  }
  return result;
}

type Mutation = (zip: Uint8Array, random: Random) => Uint8Array;

const mutations: readonly Mutation[] = [
  mutateBytes,
  mutateDirectory,
  mutateDirectory,
  doubleEntry,
  moveEnd,
  embedDeflate,
];

/** Makes the zip itself lie. */
export function mutateZip(zip: Uint8Array, random: Random): Uint8Array {
  let result: Uint8Array = zip.slice();
  for (let times = 1 + random.below(3); times > 0 && result.length > 0; times--) {
    result = random.pick(mutations)(result, random);
  }
  return result;
}

function positionsOf(zip: Uint8Array, signature: number): number[] {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  const positions: number[] = [];
  for (let at = 0; at + 4 <= zip.length; at++) if (view.getUint32(at, true) === signature) positions.push(at);
  return positions;
}

/** Fields of a header of the directory: method, checksum, both sizes, lengths of name, extra field and comment, offset. */
const CENTRAL_FIELDS: readonly (readonly [offset: number, size: 2 | 4])[] = [
  [8, 2],
  [10, 2],
  [16, 4],
  [20, 4],
  [24, 4],
  [28, 2],
  [30, 2],
  [32, 2],
  [42, 4],
];
const END_FIELDS: readonly (readonly [offset: number, size: 2 | 4])[] = [
  [8, 2],
  [10, 2],
  [12, 4],
  [16, 4],
  [20, 2],
];

/** Sets a field of the directory to a number that lies, or to another entry's. */
function mutateDirectory(zip: Uint8Array, random: Random): Uint8Array {
  const isEnd = random.chance(0.2);
  const headers = positionsOf(zip, isEnd ? END_OF_DIRECTORY : CENTRAL_HEADER);
  if (headers.length === 0) return mutateBytes(zip, random);
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  const [offset, size] = random.pick(isEnd ? END_FIELDS : CENTRAL_FIELDS);
  const at = random.pick(headers) + offset;
  const from = random.pick(headers) + offset;
  if (at + size > zip.length || from + size > zip.length) return zip;
  if (size === 2) {
    const values = [0, 1, 8, 14, 0xffff, view.getUint16(from, true), view.getUint16(at, true) + 1];
    view.setUint16(at, random.pick(values), true);
  } else {
    const own = view.getUint32(at, true);
    view.setUint32(at, random.pick([0, own + 1, own * 1000, 0x7fffffff, 0xffffffff, view.getUint32(from, true)]), true);
  }
  return zip;
}

/** The directory names one entry many times over: the same bytes to be read again and again. */
function doubleEntry(zip: Uint8Array, random: Random): Uint8Array {
  const headers = positionsOf(zip, CENTRAL_HEADER);
  const [end] = positionsOf(zip, END_OF_DIRECTORY).slice(-1);
  if (headers.length === 0 || end === undefined || end + 20 > zip.length) return mutateBytes(zip, random);
  const which = random.below(headers.length);
  const header = zip.slice(headers[which], headers[which + 1] ?? end);
  const copies = Array.from({ length: random.pick([1, 10, 1000]) }, (_, index) => {
    const copy = header.slice();
    // Names of their own, so that none hides another.
    if (random.chance(0.5) && copy.length > 50) copy[copy.length - 1] = index & 0x7f;
    return copy;
  });
  const added = copies.length * header.length;
  const result = concat([zip.subarray(0, end), ...copies, zip.subarray(end)]);
  const view = new DataView(result.buffer);
  const at = end + added;
  view.setUint16(at + 8, view.getUint16(at + 8, true) + copies.length, true);
  view.setUint16(at + 10, view.getUint16(at + 10, true) + copies.length, true);
  view.setUint32(at + 12, view.getUint32(at + 12, true) + added, true);
  return result;
}

/** Bytes before the zip or after it. */
function moveEnd(zip: Uint8Array, random: Random): Uint8Array {
  const junk = Uint8Array.from({ length: random.below(3000) }, () => random.below(256));
  return random.chance(0.5) ? concat([junk, zip]) : concat([zip, junk]);
}

/** Compressed data in the middle of something else. */
function embedDeflate(zip: Uint8Array, random: Random): Uint8Array {
  const bomb = zlibSync(new Uint8Array(1 << 16)).subarray(2);
  zip.set(bomb.subarray(0, zip.length), random.below(Math.max(1, zip.length - bomb.length)));
  return zip;
}
