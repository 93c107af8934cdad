import type { Random } from './random.ts';

/** Bytes that decide much where they are counts, lengths or opcodes. */
const TELLING_BYTES = [0, 1, 0x7f, 0x80, 0xff, 0x28, 0x2e, 0x5d, 0x71];

type Mutation = (bytes: Uint8Array, random: Random) => Uint8Array;

const mutations: readonly Mutation[] = [flipBits, overwrite, overwriteWord, truncate, remove, double, splice];

/** Damages bytes a few times over, as transmission does and as people do. */
export function mutateBytes(bytes: Uint8Array, random: Random): Uint8Array {
  let result: Uint8Array = bytes.slice();
  for (let times = random.count(); times > 0; times--) {
    if (result.length === 0) return result;
    result = random.pick(mutations)(result, random);
  }
  return result;
}

function flipBits(bytes: Uint8Array, random: Random): Uint8Array {
  for (let times = random.count(); times > 0; times--) bytes[random.below(bytes.length)] ^= 1 << random.below(8);
  return bytes;
}

function overwrite(bytes: Uint8Array, random: Random): Uint8Array {
  bytes[random.below(bytes.length)] = random.chance(0.5) ? random.pick(TELLING_BYTES) : random.below(256);
  return bytes;
}

/** A 32-bit number where one may stand: sizes, offsets and counts that lie. */
function overwriteWord(bytes: Uint8Array, random: Random): Uint8Array {
  if (bytes.length < 4) return bytes;
  const value = random.pick([0, 1, 0xffff, 0x7fffffff, 0xffffffff, random.below(2 ** 32), random.below(bytes.length)]);
  new DataView(bytes.buffer).setUint32(random.below(bytes.length - 3), value, true);
  return bytes;
}

function truncate(bytes: Uint8Array, random: Random): Uint8Array {
  return bytes.slice(0, random.below(bytes.length));
}

function remove(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.below(bytes.length);
  return concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(64))]);
}

function double(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.below(bytes.length);
  const end = at + 1 + random.below(64);
  return concat([bytes.subarray(0, end), bytes.subarray(at)]);
}

/** Puts a stretch where another one was. */
function splice(bytes: Uint8Array, random: Random): Uint8Array {
  const from = random.below(bytes.length);
  const piece = bytes.slice(from, from + 1 + random.below(64));
  bytes.set(piece.subarray(0, bytes.length), random.below(Math.max(1, bytes.length - piece.length)));
  return bytes;
}

export function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    result.set(piece, at);
    at += piece.length;
  }
  return result;
}
