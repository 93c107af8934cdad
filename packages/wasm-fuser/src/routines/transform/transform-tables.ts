import { LARGEST_FACTOR, type Transform } from '@cresset/tensorexpr';

/** What a transform looks up, made once for each length: the passes it takes, and roots of unity, worked out in double precision. */
export interface TransformTables {
  /** Passes, four words each ({@link PASS_WORDS}) and a zero behind them; then floats. */
  readonly bytes: Uint8Array;
  readonly passes: number;
  /** Factors that there are passes for, apart from those that share one. */
  readonly radices: readonly number[];
  /** Where roots lie that halves of a spectrum are made with, in bytes; 0 where none are. */
  readonly halves: number;
}

/** Words of a pass: its factor, how many lines are left behind it, elements that stay together in it, and where its roots lie. */
export const PASS_BYTES = 16;

/** Factors that have a pass of their own; all others, which are primes, share one. */
export const OWN_RADICES = [4, 2, 3, 5];

/** Factors of a length, in the order in which they are gone by. */
export function radicesOf(length: number): number[] {
  const radices: number[] = [];
  let rest = length;
  const take = (radix: number): void => {
    for (; rest % radix === 0; rest /= radix) radices.push(radix);
  };
  OWN_RADICES.forEach(take);
  for (let prime = 7; prime <= LARGEST_FACTOR && rest > 1; prime += 2) take(prime);
  return radices;
}

/** Complex numbers of a transform's real form: two real ones beside each other are one where their number is even. */
export const pointsOfForm = (form: Transform['form'], length: number): number =>
  form !== 'complex' && length % 2 === 0 ? length / 2 : length;

/** Tables of the lengths that were asked for last. */
const kept = new Map<string, TransformTables>();
/** Bytes of all tables that are kept; one alone may be larger. */
const KEPT_BYTES = 8 << 20;

export function tablesOf({ form, length }: Transform, floatBytes: 4 | 8): TransformTables {
  const isHalved = pointsOfForm(form, length) < length;
  const key = [floatBytes, length, isHalved].join();
  const tables = kept.get(key) ?? makeTables(length, isHalved, floatBytes);
  kept.delete(key);
  kept.set(key, tables);
  let bytes = keptTableBytes();
  for (const [other, { bytes: own }] of kept) {
    if (bytes <= KEPT_BYTES || other === key) break;
    kept.delete(other);
    bytes -= own.byteLength;
  }
  return tables;
}

/** What the tables take that are kept. */
export function keptTableBytes(): number {
  let total = 0;
  for (const { bytes } of kept.values()) total += bytes.byteLength;
  return total;
}

function makeTables(length: number, isHalved: boolean, floatBytes: 4 | 8): TransformTables {
  const points = isHalved ? length / 2 : length;
  const radices = radicesOf(points);
  const words: number[] = [];
  const floats: number[] = [];
  // Floats begin where vectors may.
  const header = Math.ceil((PASS_BYTES * (radices.length + 1)) / 16) * 16;
  const place = (): number => header + floatBytes * floats.length;
  const root = (number: number, count: number, factor = 1): void => {
    const angle = (-2 * Math.PI * number) / count;
    floats.push(factor * Math.cos(angle), factor * Math.sin(angle));
  };
  let together = 1;
  for (const radix of radices) {
    const whole = points / together;
    const rest = whole / radix;
    words.push(radix, rest, together, place());
    const isOwn = OWN_RADICES.includes(radix);
    if (!isOwn) for (let at = 0; at < radix; at++) root(at, radix);
    // Passes of their own go over the first elements, which are not turned, apart from the others.
    for (let line = isOwn ? 1 : 0; line < rest; line++) {
      for (let at = 1; at < radix; at++) root((line * at) % whole, whole);
    }
    together *= radix;
  }
  words.push(0, 0, 0, 0);
  const halves = isHalved ? place() : 0;
  if (isHalved) for (let at = 0; at <= points; at++) root(at, length, 0.5);
  const bytes = new Uint8Array(place());
  new Int32Array(bytes.buffer, 0, words.length).set(words);
  const Floats = floatBytes === 4 ? Float32Array : Float64Array;
  new Floats(bytes.buffer, header).set(floats);
  return { bytes, passes: radices.length, radices: [...new Set(radices)], halves };
}
