import { Tuple } from '@cresset/tensor';
import { OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { find, findOrThrow, lineEnds, listOf, mapped, searched, toLower, toUpper } from '../scalar/strings.ts';

/** Methods of `str` that models rarely call (register_string_ops.cpp). */

const isLower = (character: string): boolean => character >= 'a' && character <= 'z';
const isUpper = (character: string): boolean => character >= 'A' && character <= 'Z';
const isLetter = (character: string): boolean => isLower(character) || isUpper(character);
const isDigit = (character: string): boolean => character >= '0' && character <= '9';
const isBlank = (character: string): boolean => ' \n\t\f\v\r'.includes(character);

function splitFromRight(text: string, separator: string, max: bigint): string[] {
  if (separator === '') throw new OperatorError('ValueError: empty separator');
  const pieces = text.split(separator);
  const limit = max < 0n ? Infinity : Number(max);
  if (pieces.length - 1 <= limit) return pieces;
  const head = pieces.length - limit;
  return [pieces.slice(0, head).join(separator), ...pieces.slice(head)];
}

/** PyTorch counts `\r\n` as two ends of lines, and with `keepEnds` makes each end a piece of its own. */
function splitLines(text: string, keepEnds: boolean): string[] {
  const pieces: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (!lineEnds.includes(text[at])) continue;
    pieces.push(text.slice(start, at));
    if (keepEnds) pieces.push(text[at]);
    start = at + 1;
  }
  if (start < text.length) pieces.push(text.slice(start));
  return pieces;
}

function partition(text: string, separator: string, at: number, missing: readonly [string, string, string]): Tuple {
  if (at < 0) return new Tuple(missing);
  return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

function pad(text: string, width: bigint, fill: string, left: (missing: number, width: number) => number): string {
  if (fill.length !== 1) {
    throw new OperatorError('TypeError: The fill character must be exactly one character long');
  }
  const missing = Number(width) - text.length;
  if (missing <= 0) return text;
  const before = left(missing, Number(width));
  return fill.repeat(before) + text + fill.repeat(missing - before);
}

function titleCase(text: string): string {
  let afterLetter = false;
  return Array.from(text, (character) => {
    const cased = afterLetter ? toLower(character) : toUpper(character);
    afterLetter = isLetter(character);
    return cased;
  }).join('');
}

function isTitleCase(text: string): boolean {
  let afterLetter = false;
  let seen = false;
  for (const character of text) {
    if (isUpper(character) && afterLetter) return false;
    if (isLower(character) && !afterLetter) return false;
    afterLetter = isLetter(character);
    seen ||= afterLetter;
  }
  return seen;
}

function expandTabs(text: string, tabSize: number): string {
  let column = 0;
  return Array.from(text, (character) => {
    if (character === '\n' || character === '\r') column = 0;
    else if (character !== '\t') column++;
    else {
      const width = tabSize > 0 ? tabSize - (column % tabSize) : 0;
      column += width;
      return ' '.repeat(width);
    }
    return character;
  }).join('');
}

/** All characters pass and there is one at least. */
const every = (text: string, test: (character: string) => boolean): boolean =>
  text.length > 0 && Array.from(text).every(test);

/** No letter fails and there is one letter at least. */
const everyLetter = (text: string, test: (character: string) => boolean): boolean =>
  Array.from(text).some(isLetter) && Array.from(text).every((character) => !isLetter(character) || test(character));

function radix(value: bigint, prefix: string, base: number): string {
  return value < 0n ? `-${prefix}${(-value).toString(base)}` : prefix + value.toString(base);
}

function parseOrdinal(text: string): bigint {
  if (text.length !== 1) {
    throw new OperatorError(`String for ord() must be 1 character, found ${text.length}`);
  }
  return BigInt(text.charCodeAt(0));
}

/** The one byte that PyTorch makes of a code point. */
function characterOf(code: bigint): string {
  // The last code point is refused too: PyTorch's check is off by one.
  if (code < 0n || code >= 0x10ffffn) {
    throw new OperatorError(`chr() arg not in range(0x110000), found ${code}`);
  }
  return String.fromCharCode(Number(code & 0xffn));
}

const test = (name: string, predicate: (text: string) => boolean): OperatorRow => ({
  schema: `aten::${name}(str self) -> bool`,
  scalar: (self) => predicate(self as string),
});

const padded = (name: string, left: (missing: number, width: number) => number): OperatorRow => ({
  schema: `aten::${name}(str self, int width, str fillchar=" ") -> str`,
  scalar: (self, width, fill) => pad(self as string, width as bigint, fill as string, left),
});

export const stringMethodRows: readonly OperatorRow[] = [
  { schema: 'aten::ord(str string) -> int', scalar: (s) => parseOrdinal(s as string) },
  { schema: 'aten::chr(int i) -> str', scalar: (i) => characterOf(i as bigint) },
  { schema: 'aten::hex(int i) -> str', scalar: (i) => radix(i as bigint, '0x', 16) },
  { schema: 'aten::oct(int i) -> str', scalar: (i) => radix(i as bigint, '0o', 8) },
  { schema: 'aten::bin(int i) -> str', scalar: (i) => radix(i as bigint, '0b', 2) },
  mapped('capitalize', (text) => toUpper(text.slice(0, 1)) + toLower(text.slice(1))),
  mapped('title', titleCase),
  mapped('swapcase', (text) =>
    text.replace(/[a-zA-Z]/g, (letter) => (isLower(letter) ? toUpper(letter) : toLower(letter))),
  ),
  test('isupper', (text) => everyLetter(text, isUpper)),
  test('islower', (text) => everyLetter(text, isLower)),
  test('istitle', isTitleCase),
  test('isspace', (text) => every(text, isBlank)),
  test('isdigit', (text) => every(text, isDigit)),
  test('isdecimal', (text) => every(text, isDigit)),
  test('isnumeric', (text) => every(text, isDigit)),
  test('isalpha', (text) => every(text, isLetter)),
  test('isalnum', (text) => every(text, (character) => isLetter(character) || isDigit(character))),
  test('isidentifier', (text) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text)),
  test('isprintable', (text) => Array.from(text).every((character) => character >= ' ' && character <= '~')),
  // As in Python: of an odd number of blanks the left has one more where the width is odd.
  padded('center', (missing, width) => Math.floor(missing / 2) + (missing & width & 1)),
  padded('ljust', () => 0),
  padded('rjust', (missing) => missing),
  {
    schema: 'aten::zfill(str self, int width) -> str',
    // A sign stays where it is, unlike in Python.
    scalar: (self, width) => (self as string).padStart(Number(width), '0'),
  },
  {
    schema: 'aten::expandtabs(str self, int tabsize=8) -> str',
    scalar: (self, tabSize) => expandTabs(self as string, Number(tabSize)),
  },
  searched('rfind', 'int', (text, part, start, end) => find(text, part, start, end, true)),
  searched('rindex', 'int', (text, part, start, end) => findOrThrow(text, part, start, end, true)),
  {
    schema: 'aten::rsplit(str self, str separator=" ", int max=-1) -> str[]',
    scalar: (self, separator, max) => listOf(splitFromRight(self as string, separator as string, max as bigint)),
  },
  {
    schema: 'aten::splitlines(str self, bool keepends=False) -> str[]',
    scalar: (self, keepEnds) => listOf(splitLines(self as string, keepEnds as boolean)),
  },
  {
    schema: 'aten::partition(str self, str separator) -> (str, str, str)',
    scalar: (self, separator) => {
      const text = self as string;
      return partition(text, separator as string, text.indexOf(separator as string), [text, '', '']);
    },
  },
  {
    schema: 'aten::rpartition(str self, str separator) -> (str, str, str)',
    scalar: (self, separator) => {
      const text = self as string;
      return partition(text, separator as string, text.lastIndexOf(separator as string), ['', '', text]);
    },
  },
];
