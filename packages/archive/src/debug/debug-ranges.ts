import { CressetError, Source, SourceRange, type SourceRangeFactory } from '@cresset/ir';
import { fromByteString, List, Tuple, type IValue } from '@cresset/tensor';
import { PickleGlobals } from '../pickle/pickle-globals.ts';
import { Unpickler } from '../pickle/unpickler.ts';

/** Marks tables of the newer form, at their beginning. */
export const STRING_TABLE_FORMAT = 'FORMAT_WITH_STRING_TABLE';

interface TaggedRange {
  /** Where, in the generated source, code that came from `range` begins. */
  readonly offset: number;
  readonly range: SourceRange;
}

/**
 * The `.debug_pkl` beside a code file: which stretch of the author's Python each stretch of generated source came from
 * (torch::jit::ConcreteSourceRangeUnpickler). These tables are as large as the code or larger, and only error messages and
 * printed graphs want them, so the pickle is read at the first question. A table that cannot be read answers nothing: it
 * must not take the place of the error that somebody is about to see.
 */
export class DebugRanges implements SourceRangeFactory {
  #pickle: Uint8Array | null;
  #name: string;
  #records: readonly TaggedRange[] = [];

  constructor(pickle: Uint8Array, name: string) {
    this.#pickle = pickle;
    this.#name = name;
  }

  findSourceRangeThatGenerated(range: SourceRange): SourceRange | undefined {
    const records = this.#read();
    let low = 0;
    let high = records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (records[middle].offset <= range.start) low = middle + 1;
      else high = middle;
    }
    return records[low - 1]?.range;
  }

  #read(): readonly TaggedRange[] {
    const pickle = this.#pickle;
    if (pickle) {
      this.#pickle = null;
      try {
        this.#records = readRecords(pickle, this.#name);
      } catch (error) {
        if (!(error instanceof CressetError)) throw error;
      }
    }
    return this.#records;
  }
}

function readRecords(pickle: Uint8Array, name: string): TaggedRange[] {
  const context = {
    storage(): never {
      throw new CressetError('PICKLE_MALFORMED', `${name} is damaged: it has a tensor`);
    },
  };
  const root = new Unpickler(pickle, new PickleGlobals(context, name), name).load();
  const items = itemsOf(root as IValue);
  const deserializer = items[0] === STRING_TABLE_FORMAT ? new StringTable(itemsOf(items[1])) : new StringTable(null);
  const lines = items[0] === STRING_TABLE_FORMAT ? itemsOf(items[2]) : items;
  return lines.map((line) => {
    const [offset, range] = itemsOf(line);
    return { offset: integer(offset), range: deserializer.range(range) };
  });
}

/** A table repeats lines by number, so a small one can stand for much text; no source file is as long as this. */
const MAX_SOURCE_CHARACTERS = 64 << 20;

interface OriginalSource {
  readonly source: Source;
  /** Ranges count bytes: the position in the text of a byte of it. */
  positionOf(byte: number): number;
}

/** Bytes between two known positions of a text that is not ASCII. */
const POSITION_STRIDE = 256;

/** Tells where in the text each of its bytes is, without going over the text again for every question. */
function positionsIn(bytes: string): (byte: number) => number {
  const known = [0];
  return (byte) => {
    const end = Math.max(0, Math.min(byte, bytes.length));
    for (let next = known.length; next * POSITION_STRIDE <= end; next++) {
      const from = (next - 1) * POSITION_STRIDE;
      known.push(known[next - 1] + unitsIn(bytes, from, from + POSITION_STRIDE));
    }
    const last = Math.floor(end / POSITION_STRIDE);
    return known[last] + unitsIn(bytes, last * POSITION_STRIDE, end);
  };
}

/** UTF-16 units of the characters that begin in a stretch of UTF-8. */
function unitsIn(bytes: string, start: number, end: number): number {
  let units = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes.charCodeAt(at);
    if ((byte & 0xc0) !== 0x80) units += byte >= 0xf0 ? 2 : 1;
  }
  return units;
}

/** Newer tables keep each line of source once and name it by number. */
class StringTable {
  readonly #texts: readonly IValue[] | null;
  /** The pickle repeats the description of a source at every range of it: as the same value, or written out again. */
  readonly #described = new Map<IValue, OriginalSource>();
  readonly #sources = new Map<string, OriginalSource>();
  /** Contents by what they are, and by their text or the numbers of their lines. */
  readonly #numbers = new Map<IValue, number>();
  #characters = 0;

  constructor(texts: readonly IValue[] | null) {
    this.#texts = texts;
  }

  range(value: IValue): SourceRange {
    const [description, start, end] = itemsOf(value);
    const { source, positionOf } = this.#source(description);
    return new SourceRange(source, positionOf(integer(start)), positionOf(integer(end)));
  }

  #source(description: IValue): OriginalSource {
    let source = this.#described.get(description);
    if (!source) this.#described.set(description, (source = this.#read(description)));
    return source;
  }

  #read(description: IValue): OriginalSource {
    const [content, filename, startingLine] = itemsOf(description);
    const key = `${this.#numberOf(content)}\n${String(filename)}\n${String(startingLine)}`;
    const known = this.#sources.get(key);
    if (known) return known;
    const bytes = this.#texts === null ? bytesOf(content) : this.#join(itemsOf(content));
    this.#characters += bytes.length;
    const text = fromByteString(bytes);
    // A source without a file has the number -1 in place of a name.
    const hasFile = filename !== null && filename !== -1n;
    const file = hasFile ? (this.#texts === null ? bytesOf(filename) : this.#text(filename)) : undefined;
    const source = new Source(text, file === undefined ? undefined : fromByteString(file), integer(startingLine));
    const made = { source, positionOf: text === bytes ? (byte: number) => byte : positionsIn(bytes) };
    this.#sources.set(key, made);
    return made;
  }

  /** One number for all contents that are equal. */
  #numberOf(content: IValue): number {
    const known = this.#numbers.get(content);
    if (known !== undefined) return known;
    const key = this.#texts === null ? bytesOf(content) : itemsOf(content).map(integer).join();
    const number = this.#numbers.get(key) ?? this.#numbers.size;
    this.#numbers.set(key, number).set(content, number);
    return number;
  }

  #join(indices: readonly IValue[]): string {
    const pieces: string[] = [];
    let length = this.#characters;
    for (const index of indices) {
      const piece = this.#text(index);
      length += piece.length;
      if (length > MAX_SOURCE_CHARACTERS) throw damaged();
      pieces.push(piece);
    }
    return pieces.join('');
  }

  #text(index: IValue): string {
    return bytesOf(this.#texts?.[integer(index)] ?? null);
  }
}

function itemsOf(value: IValue): readonly IValue[] {
  if (value instanceof Tuple || value instanceof List) return value.items;
  throw damaged();
}

function integer(value: IValue): number {
  if (typeof value === 'bigint') return Number(value);
  throw damaged();
}

function bytesOf(value: IValue): string {
  if (typeof value === 'string') return value;
  throw damaged();
}

function damaged(): CressetError {
  return new CressetError('PICKLE_MALFORMED', 'a table of source ranges is damaged');
}
