/** Orders of the lengths of code lengths in a block. */
const LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const END_OF_BLOCK = 256;
const NO_SYMBOL = 'there is no such symbol in a code';

/** A Huffman code: what stands at the next `bits` bits is a symbol times 16 and how many of these bits are its. */
interface Huffman {
  readonly bits: number;
  readonly table: Uint16Array;
}

/** Numbers that a symbol stands for: `bits` bits behind it tell how far from `base`. */
interface Range {
  readonly base: number;
  readonly bits: number;
}

/** Symbols for one number each, `direct` of them, then `each` for two, `each` for four and so on. */
function rangesFrom(first: number, direct: number, each: number, symbols: number): Range[] {
  let next = first;
  return Array.from({ length: symbols }, (_, symbol) => {
    const bits = symbol < direct ? 0 : Math.floor((symbol - direct) / each) + 1;
    const base = next;
    next += 1 << bits;
    return { base, bits };
  });
}

const LENGTHS = [...rangesFrom(3, 8, 4, 28), { base: 258, bits: 0 }];
const DISTANCES = rangesFrom(1, 4, 2, 30);

/** The code whose symbols have so many bits each; 0 for those that it does not have. */
function huffman(lengths: ArrayLike<number>): Huffman {
  const counts = new Uint16Array(16);
  for (let symbol = 0; symbol < lengths.length; symbol++) counts[lengths[symbol]]++;
  counts[0] = 0;
  let bits = 15;
  while (bits > 1 && counts[bits] === 0) bits--;
  const next = new Uint32Array(16);
  let code = 0;
  for (let length = 1; length <= bits; length++) next[length] = code = (code + counts[length - 1]) << 1;
  if (code + counts[bits] > 1 << bits) throw new Error('a code has more symbols than fit in it');
  const table = new Uint16Array(1 << bits);
  for (let symbol = 0; symbol < lengths.length; symbol++) {
    const length = lengths[symbol];
    if (length === 0) continue;
    // Codes stand with their first bit lowest.
    let entry = 0;
    for (let bit = 0, rest = next[length]++; bit < length; bit++, rest >>= 1) entry = (entry << 1) | (rest & 1);
    for (; entry < table.length; entry += 1 << length) table[entry] = (symbol << 4) | length;
  }
  return { bits, table };
}

let fixed: readonly [Huffman, Huffman] | null = null;

/** The codes of blocks that bring none. */
const fixedCodes = (): readonly [Huffman, Huffman] =>
  (fixed ??= [
    huffman(Array.from({ length: 288 }, (_, symbol) => (symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8))),
    huffman(new Uint8Array(30).fill(5)),
  ]);

/**
 * Inflates raw deflated data (RFC 1951) at once: what the engine's streams do as well, but each of them takes longer to begin than a record of a
 * few kilobytes takes here.
 *
 * @param contents is filled from its beginning
 * @returns how many bytes it was filled with
 * @throws Error where the data is damaged, or inflates to more than there is room for
 */
export function inflate(data: Uint8Array, contents: Uint8Array): number {
  let at = 0;
  let held = 0;
  let heldBits = 0;
  let filled = 0;

  /** The next bits; behind the end of an array is what counts as zeros. */
  const take = (count: number): number => {
    for (; heldBits < count; heldBits += 8) held |= data[at++] << heldBits;
    const value = held & ((1 << count) - 1);
    held >>>= count;
    heldBits -= count;
    return value;
  };
  const symbolOf = ({ bits, table }: Huffman): number => {
    for (; heldBits < bits; heldBits += 8) held |= data[at++] << heldBits;
    const entry = table[held & ((1 << bits) - 1)];
    if (entry === 0) throw new Error(NO_SYMBOL);
    held >>>= entry & 15;
    heldBits -= entry & 15;
    return entry >> 4;
  };

  const copyStored = (): void => {
    take(heldBits & 7);
    const length = take(16);
    if ((take(16) ^ length) !== 0xffff) throw new Error('the length of a stored block is wrong');
    // Whole bytes may have been taken ahead.
    at -= heldBits >> 3;
    held = heldBits = 0;
    contents.set(data.subarray(at, at + length), filled);
    filled += length;
    at += length;
  };

  const codesOfBlock = (): readonly [Huffman, Huffman] => {
    const symbols = take(5) + 257;
    const distances = take(5) + 1;
    const own = new Uint8Array(19);
    for (let index = 0, count = take(4) + 4; index < count; index++) own[LENGTH_ORDER[index]] = take(3);
    const code = huffman(own);
    const lengths: number[] = [];
    while (lengths.length < symbols + distances) {
      const symbol = symbolOf(code);
      const length = symbol === 16 ? (lengths.at(-1) ?? 0) : symbol < 16 ? symbol : 0;
      let times = symbol < 16 ? 1 : symbol === 18 ? 11 + take(7) : symbol === 17 ? 3 + take(3) : 3 + take(2);
      while (times-- > 0) lengths.push(length);
    }
    return [huffman(lengths.slice(0, symbols)), huffman(lengths.slice(symbols, symbols + distances))];
  };

  const inflateBlock = ([{ bits, table }, distances]: readonly [Huffman, Huffman]): void => {
    const mask = (1 << bits) - 1;
    for (;;) {
      // `symbolOf`, in its place, here and below: this is done for each byte or two, on a page that has just come and whose functions are interpreted.
      for (; heldBits < bits; heldBits += 8) held |= data[at++] << heldBits;
      const entry = table[held & mask];
      if (entry === 0) throw new Error(NO_SYMBOL);
      held >>>= entry & 15;
      heldBits -= entry & 15;
      const symbol = entry >> 4;
      if (symbol === END_OF_BLOCK) return;
      if (symbol < END_OF_BLOCK) {
        if (filled === contents.length) throw new Error('it inflates to more than it announces');
        contents[filled++] = symbol;
        continue;
      }
      const lengths = LENGTHS[symbol - END_OF_BLOCK - 1];
      if (lengths === undefined) throw new Error(NO_SYMBOL);
      const end = filled + lengths.base + (lengths.bits === 0 ? 0 : take(lengths.bits));
      for (; heldBits < distances.bits; heldBits += 8) held |= data[at++] << heldBits;
      const farEntry = distances.table[held & ((1 << distances.bits) - 1)];
      const distance = DISTANCES[farEntry >> 4];
      if (farEntry === 0 || distance === undefined) throw new Error(NO_SYMBOL);
      held >>>= farEntry & 15;
      heldBits -= farEntry & 15;
      const from = filled - distance.base - (distance.bits === 0 ? 0 : take(distance.bits));
      if (from < 0 || end > contents.length) throw new Error('a repetition reaches beyond the contents');
      const length = end - filled;
      if (length <= filled - from) {
        contents.copyWithin(filled, from, from + length);
        filled = end;
      }
      // What is repeated may reach into what it gives.
      for (let index = from; filled < end; index++) contents[filled++] = contents[index];
    }
  };

  for (let isLast = false; !isLast;) {
    isLast = take(1) === 1;
    const kind = take(2);
    if (kind === 0) copyStored();
    else if (kind === 3) throw new Error('there is no such block');
    else inflateBlock(kind === 1 ? fixedCodes() : codesOfBlock());
    if (at - (heldBits >> 3) > data.length) throw new Error('the data ends early');
  }
  return filled;
}
