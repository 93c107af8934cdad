import { IntType, type Source, type SourceRange } from '@cresset/ir';
import { List, toByteString, Tuple } from '@cresset/tensor';
import { STRING_TABLE_FORMAT } from './debug-ranges.ts';
import { Pickler } from '../pickle/pickler.ts';
import type { SourceRangeRecord } from '../python-print/tagged-text.ts';

/** Numbers for the source ranges of one file of several code files: a range has the same number wherever it occurs. */
export class SourceRangeTags {
  readonly #bySource = new Map<Source | undefined, Map<string, bigint>>();
  #next = 0n;

  tagOf(range: SourceRange | undefined): bigint {
    let tags = this.#bySource.get(range?.source);
    if (tags === undefined) this.#bySource.set(range?.source, (tags = new Map()));
    const place = `${range?.start}:${range?.end}`;
    let tag = tags.get(place);
    if (tag === undefined) tags.set(place, (tag = this.#next++));
    return tag;
  }
}

/**
 * The `.debug_pkl` of a code file: from which byte on its text came from which range of the author's Python
 * (torch::jit::SourceRangePickler). Sources stand in it line by line, and equal lines once.
 */
export function pickleSourceRanges(
  records: readonly SourceRangeRecord[],
  tags: SourceRangeTags,
): Uint8Array<ArrayBuffer> {
  const serializer = new SourceRangeSerializer();
  const rows: Tuple[] = [];
  let last: SourceRange | undefined;
  for (const { offset, range: given } of records) {
    // What a file says comes from no source is read as a range of an empty one.
    const range = given?.source.text === '' ? undefined : given;
    if (rows.length > 0 && isSame(range, last)) continue;
    rows.push(new Tuple([BigInt(offset), serializer.range(range), tags.tagOf(range)]));
    last = range;
  }
  return new Pickler().pickle(new Tuple([STRING_TABLE_FORMAT, new Tuple(serializer.texts), new Tuple(rows)]));
}

function isSame(left: SourceRange | undefined, right: SourceRange | undefined): boolean {
  return left?.source === right?.source && left?.start === right?.start && left?.end === right?.end;
}

interface SerializedSource {
  readonly value: Tuple;
  readonly isAscii: boolean;
}

class SourceRangeSerializer {
  readonly texts: string[] = [];
  readonly #indices = new Map<string, bigint>();
  readonly #sources = new Map<Source, SerializedSource>();
  readonly #noSource: Tuple;

  constructor() {
    // What comes from no source refers to the first text.
    this.#noSource = new Tuple([lineList([]), this.#indexOf(''), 0n]);
  }

  range(range: SourceRange | undefined): Tuple {
    if (range === undefined) return new Tuple([this.#noSource, 0n, 0n]);
    const { value, isAscii } = this.#source(range.source);
    // Ranges in a file count bytes.
    const [start, end] = [range.start, range.end].map((at) =>
      BigInt(isAscii ? at : toByteString(range.source.text.slice(0, at)).length),
    );
    return new Tuple([value, start, end]);
  }

  #source(source: Source): SerializedSource {
    let serialized = this.#sources.get(source);
    if (serialized === undefined) {
      const { filename, startingLine } = source;
      const text = toByteString(source.text);
      const lines = text.split(/(?<=\n)/);
      if (text.endsWith('\n')) lines.push('');
      const value = new Tuple([
        lineList(lines.map((line) => this.#indexOf(line))),
        // A source without a file has no name.
        filename === undefined ? -1n : this.#indexOf(toByteString(filename)),
        BigInt(startingLine),
      ]);
      serialized = { value, isAscii: text.length === source.text.length };
      this.#sources.set(source, serialized);
    }
    return serialized;
  }

  #indexOf(text: string): bigint {
    let index = this.#indices.get(text);
    if (index === undefined) {
      index = BigInt(this.texts.push(text) - 1);
      this.#indices.set(text, index);
    }
    return index;
  }
}

function lineList(indices: bigint[]): List {
  return new List(IntType.get(), indices);
}
