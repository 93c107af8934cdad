import { StringType } from '@cresset/ir';
import { List, Tuple, type IValue } from '@cresset/tensor';
import { check, OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { formatBraces, formatPercent, formatValue } from './value-format.ts';

/**
 * What programs do with strings, but for the methods of `string-methods.ts` (register_string_ops.cpp). Strings are bytes here, and
 * letters, digits and blanks are ASCII's only.
 */

export const toLower = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
export const toUpper = (text: string): string => text.replace(/[a-z]/g, (letter) => letter.toUpperCase());

export const listOf = (items: readonly string[]): List => new List(StringType.get(), [...items]);

function clampIndex(index: bigint, length: number): number {
  const wrapped = index < 0n ? index + BigInt(length) : index;
  if (wrapped < 0n) return 0;
  return wrapped > BigInt(length) ? length : Number(wrapped);
}

/** The positions that `[start:end:step]` takes of a sequence, as Python has it; past either end counts as that end. */
export function slicePositions(start: IValue, end: IValue, step: bigint, length: number): number[] {
  if (step === 0n) throw new OperatorError('List slice should have non-zero step', 'ValueError');
  // It has no positive counterpart.
  if (step === -(2n ** 63n)) throw new OperatorError('List slice step is out of bounds');
  const positions: number[] = [];
  if (step > 0n) {
    const stop = end === null ? length : clampIndex(end as bigint, length);
    const from = start === null ? 0 : clampIndex(start as bigint, length);
    for (let at = from; at < stop; at += Number(step)) positions.push(at);
    return positions;
  }
  const last = length - 1;
  const clampDown = (index: bigint): number => {
    const wrapped = index < 0n ? index + BigInt(length) : index;
    if (wrapped < 0n) return -1;
    return wrapped > BigInt(last) ? last : Number(wrapped);
  };
  const stop = end === null ? -1 : clampDown(end as bigint);
  for (let at = start === null ? last : clampDown(start as bigint); at > stop; at += Number(step)) positions.push(at);
  return positions;
}

function sliceString(text: string, start: IValue, end: IValue, step: bigint): string {
  return slicePositions(start, end, step, text.length)
    .map((at) => text[at])
    .join('');
}

function characterAt(text: string, index: bigint): string {
  const at = index < 0n ? index + BigInt(text.length) : index;
  if (at < 0n || at >= BigInt(text.length)) {
    const position = BigInt.asUintN(64, at);
    throw new OperatorError(
      `basic_string::at: __n (which is ${position}) >= this->size() (which is ${text.length})`,
      'IndexError',
    );
  }
  return text[Number(at)];
}

function strip(text: string, characters: string, left: boolean, right: boolean): string {
  let from = 0;
  let to = text.length;
  while (left && from < to && characters.includes(text[from])) from++;
  while (right && to > from && characters.includes(text[to - 1])) to--;
  return text.slice(from, to);
}

/**
 * The bytes at which PyTorch ends a line: it lists U+2028 and U+2029 among the characters, and then compares bytes, so that each
 * byte of theirs is one.
 */
export const lineEnds = '\n\r\v\f\x1c\x1d\x1e\x85\xe2\x80\xa8\xa9';
const separators = `${lineEnds} \t`;

/** Without a separator `max` does not count in PyTorch. */
function splitOnBlanks(text: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (at < text.length && !separators.includes(text[at])) continue;
    if (at > start) pieces.push(text.slice(start, at));
    start = at + 1;
  }
  return pieces;
}

function split(text: string, separator: string | null, max: bigint): string[] {
  const limit = max < 0n ? Infinity : Number(max);
  if (separator === null) return splitOnBlanks(text);
  if (separator === '') throw new OperatorError('ValueError: empty separator');
  const pieces = text.split(separator);
  if (pieces.length - 1 <= limit) return pieces;
  return [...pieces.slice(0, limit), pieces.slice(limit).join(separator)];
}

/** The part of a string between optional bounds, in which `find` and the like look. */
export function window(text: string, start: bigint, end: bigint): { readonly from: number; readonly part: string } {
  const from = clampIndex(start, text.length);
  // The default of -1 stands for the end; PyTorch counts any negative end from one past the last character.
  const to = end < 0n ? Math.max(0, text.length + Number(end) + 1) : clampIndex(end, text.length);
  return { from, part: text.slice(from, Math.max(from, to)) };
}

/** As `window`, but a start past the end is an error, that of std::string. */
function substring(text: string, start: bigint, end: bigint): string {
  check(
    start <= text.length,
    () => `basic_string::substr: __pos (which is ${start}) > this->size() (which is ${text.length})`,
  );
  return window(text, start, end).part;
}

export function find(text: string, part: string, start: bigint, end: bigint, last: boolean): bigint {
  const { from, part: searched } = window(text, start, end);
  const at = last ? searched.lastIndexOf(part) : searched.indexOf(part);
  return at < 0 ? -1n : BigInt(at + from);
}

function replace(text: string, old: string, replacement: string, max: bigint): string {
  const limit = max < 0n ? Infinity : Number(max);
  if (old === '') {
    const pieces = [...text];
    return (
      pieces.map((piece, at) => (at < limit ? replacement + piece : piece)).join('') +
      (pieces.length < limit ? replacement : '')
    );
  }
  return split(text, old, max).join(replacement);
}

export const mapped = (name: string, map: (text: string) => string): OperatorRow => ({
  schema: `aten::${name}(str self) -> str`,
  scalar: (self) => map(self as string),
});

const stripped = (name: string, left: boolean, right: boolean): OperatorRow => ({
  schema: `aten::${name}(str self, str chars=" \\n\\t\\f\\v") -> str`,
  scalar: (self, characters) => strip(self as string, characters as string, left, right),
});

type Search<Result> = (text: string, part: string, start: bigint, end: bigint) => Result;

export const searched = (name: string, returns: string, search: Search<IValue>): OperatorRow => ({
  schema: `aten::${name}(str self, str substr, int start=0, int end=-1) -> ${returns}`,
  scalar: (self, part, start, end) => search(self as string, part as string, start as bigint, end as bigint),
});

export function findOrThrow(text: string, part: string, start: bigint, end: bigint, last: boolean): bigint {
  const at = find(text, part, start, end, last);
  if (at < 0n) throw new OperatorError('ValueError: substring not found');
  return at;
}

function count(text: string, part: string, start: bigint, end: bigint): bigint {
  const { part: searched } = window(text, start, end);
  if (part === '') return BigInt(searched.length + 1);
  return BigInt(searched.split(part).length - 1);
}

export const stringRows: readonly OperatorRow[] = [
  { schema: 'aten::add.str(str a, str b) -> str', scalar: (a, b) => (a as string) + (b as string) },
  { schema: 'aten::str(t elem) -> str', readsElements: true, scalar: formatValue },
  {
    schema: 'aten::format(str self, ...) -> str',
    readsElements: true,
    scalar: (self, ...values) => formatBraces(self as string, values),
  },
  {
    schema: 'aten::percentFormat(str self, ...) -> str',
    readsElements: true,
    scalar: (self, ...values) => formatPercent(self as string, unpackOne(values)),
  },
  { schema: 'aten::len.str(str s) -> int', scalar: (s) => BigInt((s as string).length) },
  { schema: 'aten::list(str t) -> str[]', scalar: (t) => listOf([...(t as string)]) },
  {
    schema: 'aten::__getitem__.str(str s, int index) -> str',
    scalar: (s, index) => characterAt(s as string, index as bigint),
  },
  {
    schema: 'prim::StringIndex(str string, int index) -> str',
    scalar: (s, index) => characterAt(s as string, index as bigint),
  },
  {
    schema: 'aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str',
    scalar: (s, start, end, step) => sliceString(s as string, start, end, step as bigint),
  },
  mapped('upper', toUpper),
  mapped('lower', toLower),
  stripped('strip', true, true),
  stripped('lstrip', true, false),
  stripped('rstrip', false, true),
  searched('find', 'int', (text, part, start, end) => find(text, part, start, end, false)),
  searched('count', 'int', count),
  {
    schema: 'aten::index.str(str self, str substr, int start=0, int end=-1) -> int',
    scalar: (self, part, start, end) =>
      findOrThrow(self as string, part as string, start as bigint, end as bigint, false),
  },
  searched('startswith', 'bool', (text, part, start, end) => substring(text, start, end).startsWith(part)),
  searched('endswith', 'bool', (text, part, start, end) => substring(text, start, end).endsWith(part)),
  {
    schema: 'aten::replace(str self, str old, str new, int max=-1) -> str',
    scalar: (self, old, replacement, max) =>
      replace(self as string, old as string, replacement as string, max as bigint),
  },
  {
    schema: 'aten::split.str(str self, str? separator=None, int max=-1) -> str[]',
    scalar: (self, separator, max) => listOf(split(self as string, separator as string | null, max as bigint)),
  },
  {
    schema: 'aten::join(str self, str[] values) -> str',
    scalar: (self, values) => (values as List).items.join(self as string),
  },
];

/** `'%s %s' % (a, b)` gives its operator one tuple, `'%s' % a` the value itself. */
function unpackOne(values: readonly IValue[]): readonly IValue[] {
  return values.length === 1 && values[0] instanceof Tuple ? values[0].items : values;
}
