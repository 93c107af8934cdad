import { PythonError } from '../python-arithmetic.ts';
import type { PythonValue } from '../python-value.ts';
import { listOf, tupleOf } from './containers.ts';
import { NativeFunction, PythonIterator } from './entities.ts';
import { formatText } from './formatting.ts';
import type { Interpreter } from './interpreter.ts';
import { itemOf } from './operations.ts';

type TextMethod = (self: string, args: readonly PythonValue[], python: Interpreter) => PythonValue;

const isLetters = /^[A-Za-z]+$/;
const isDigits = /^[0-9]+$/;

const METHODS: Readonly<Record<string, TextMethod>> = {
  lower: (self) => self.replace(/[A-Z]/g, (each) => each.toLowerCase()),
  upper: (self) => self.replace(/[a-z]/g, (each) => each.toUpperCase()),
  title: (self) => self.replace(/[A-Za-z]+/g, capitalized),
  capitalize: (self) => capitalized(self),
  strip: (self, [chars]) => trimmed(self, chars, true, true),
  lstrip: (self, [chars]) => trimmed(self, chars, true, false),
  rstrip: (self, [chars]) => trimmed(self, chars, false, true),
  startswith: (self, [prefix]) => isAny(prefix, (each) => self.startsWith(each)),
  endswith: (self, [suffix]) => isAny(suffix, (each) => self.endsWith(each)),
  removeprefix: (self, [prefix]) => (self.startsWith(prefix as string) ? self.slice((prefix as string).length) : self),
  removesuffix: (self, [suffix]) =>
    self.endsWith(suffix as string) ? self.slice(0, self.length - (suffix as string).length) : self,
  replace: (self, [from, to]) => self.replaceAll(from as string, to as string),
  split: (self, [separator = null, most = -1n]) => listOf(split(self, separator, Number(most))),
  rsplit: (self, [separator = null, most = -1n]) => listOf(rsplit(self, separator, Number(most))),
  splitlines: (self) => listOf(self.split(/\r?\n/)),
  partition: (self, [separator]) => {
    const at = self.indexOf(separator as string);
    if (at === -1) return tupleOf([self, '', '']);
    return tupleOf([self.slice(0, at), separator!, self.slice(at + (separator as string).length)]);
  },
  rpartition: (self, [separator]) => {
    const at = self.lastIndexOf(separator as string);
    if (at === -1) return tupleOf(['', '', self]);
    return tupleOf([self.slice(0, at), separator!, self.slice(at + (separator as string).length)]);
  },
  join: (self, [items], python) =>
    [...python.iterate(items!)]
      .map((item, at) => {
        if (typeof item === 'string') return item;
        throw new PythonError(`sequence item ${at}: expected str instance, ${python.nameOfType(item)} found`);
      })
      .join(self),
  find: (self, [text]) => BigInt(self.indexOf(text as string)),
  rfind: (self, [text]) => BigInt(self.lastIndexOf(text as string)),
  index: (self, [text]) => {
    const at = self.indexOf(text as string);
    if (at === -1) throw new PythonError('substring not found', 'ValueError');
    return BigInt(at);
  },
  count: (self, [text]) => BigInt(self.split(text as string).length - 1),
  isdigit: (self) => isDigits.test(self),
  isnumeric: (self) => isDigits.test(self),
  isdecimal: (self) => isDigits.test(self),
  isalpha: (self) => isLetters.test(self),
  isalnum: (self) => /^[A-Za-z0-9]+$/.test(self),
  isidentifier: (self) => /^[A-Za-z_]\w*$/.test(self),
  isupper: (self) => /[A-Z]/.test(self) && !/[a-z]/.test(self),
  islower: (self) => /[a-z]/.test(self) && !/[A-Z]/.test(self),
  zfill: (self, [width]) => self.padStart(Number(width), '0'),
  ljust: (self, [width, fill = ' ']) => self.padEnd(Number(width), fill as string),
  rjust: (self, [width, fill = ' ']) => self.padStart(Number(width), fill as string),
  encode: (self) => self,
  decode: (self) => self,
  __len__: (self) => BigInt(self.length),
  __getitem__: (self, [key], python) => itemOf(python, self, key!),
  __contains__: (self, [part]) => self.includes(part as string),
  __iter__: (self) => new PythonIterator(self[Symbol.iterator]()),
};

/** A method of a str; undefined where it has none of that name. */
export function textMethod(python: Interpreter, self: string, name: string): PythonValue | undefined {
  if (name === 'format') return new NativeFunction(name, (args, kwargs) => formatText(python, self, args, kwargs));
  if (!Object.hasOwn(METHODS, name)) return undefined;
  return new NativeFunction(name, (args) => METHODS[name]!(self, args, python));
}

function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase();
}

function trimmed(text: string, chars: PythonValue | undefined, atStart: boolean, atEnd: boolean): string {
  const isTrimmed = (each: string): boolean => (typeof chars === 'string' ? chars.includes(each) : /\s/.test(each));
  let [start, end] = [0, text.length];
  while (atStart && start < end && isTrimmed(text[start]!)) start++;
  while (atEnd && end > start && isTrimmed(text[end - 1]!)) end--;
  return text.slice(start, end);
}

/** `startswith` takes one text or a tuple of some. */
function isAny(texts: PythonValue | undefined, test: (text: string) => boolean): boolean {
  if (typeof texts === 'string') return test(texts);
  return ((texts as { readonly items: readonly string[] } | undefined)?.items ?? []).some(test);
}

function split(text: string, separator: PythonValue, most: number): string[] {
  if (separator === null) {
    const words = text.split(/\s+/).filter((word) => word !== '');
    return most < 0 ? words : [...words.slice(0, most), words.slice(most).join(' ')].filter((word) => word !== '');
  }
  const parts = text.split(separator as string);
  return most < 0 || parts.length <= most
    ? parts
    : [...parts.slice(0, most), parts.slice(most).join(separator as string)];
}

function rsplit(text: string, separator: PythonValue, most: number): string[] {
  if (separator === null || most < 0) return split(text, separator, most);
  const parts = text.split(separator as string);
  const kept = Math.max(parts.length - most, 1);
  return [parts.slice(0, kept).join(separator as string), ...parts.slice(kept)];
}
