import { CressetError, nested } from '@cresset/ir';
import { JsonObject, type Json } from './json-object.ts';

/**
 * Reads JSON as Python's `json` writes it: ints of any size are bigints, what has a point or an exponent is a number, and `NaN` and
 * `Infinity` may stand bare. Throws `EXPORT_MALFORMED` where the text is none.
 *
 * @param name what a message calls the text
 */
export function parseJson(text: string, name: string): Json {
  const reader = new JsonReader(text, name);
  return reader.read();
}

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\]|\\.)*"/sy;
const NUMBER = /-?(?:\d+(\.\d+)?([eE][+-]?\d+)?|Infinity)|NaN|true|false|null/y;

const WORDS: Readonly<Record<string, Json>> = {
  true: true,
  false: false,
  null: null,
  NaN: NaN,
  Infinity,
  '-Infinity': -Infinity,
};

class JsonReader {
  #at = 0;

  constructor(
    private readonly text: string,
    private readonly name: string,
  ) {}

  read(): Json {
    const value = this.#value();
    this.#match(SPACE);
    if (this.#at !== this.text.length) this.#fail();
    return value;
  }

  #value(): Json {
    return nested(
      () => this.#valueHere(),
      () => new CressetError('EXPORT_MALFORMED', `${this.name} is damaged: its JSON is nested too deeply`),
    );
  }

  #valueHere(): Json {
    this.#match(SPACE);
    switch (this.text[this.#at]) {
      case '{':
        return this.#object();
      case '[':
        return this.#list();
      case '"':
        return this.#string();
      default: {
        const word = this.#match(NUMBER);
        if (word === null) this.#fail();
        if (word in WORDS) return WORDS[word];
        return /[.eE]/.test(word) ? Number(word) : BigInt(word);
      }
    }
  }

  #object(): JsonObject {
    const entries = new Map<string, Json>();
    this.#at++;
    if (this.#take('}')) return new JsonObject(entries, this.name);
    do {
      this.#match(SPACE);
      const key = this.#string();
      if (!this.#take(':')) this.#fail();
      entries.set(key, this.#value());
    } while (this.#take(','));
    if (!this.#take('}')) this.#fail();
    return new JsonObject(entries, this.name);
  }

  #list(): Json[] {
    const items: Json[] = [];
    this.#at++;
    if (this.#take(']')) return items;
    do items.push(this.#value());
    while (this.#take(','));
    if (!this.#take(']')) this.#fail();
    return items;
  }

  #string(): string {
    const literal = this.#match(STRING);
    if (literal === null) this.#fail();
    if (!literal.includes('\\')) return literal.slice(1, -1);
    try {
      return JSON.parse(literal) as string;
    } catch {
      this.#fail();
    }
  }

  #take(character: string): boolean {
    this.#match(SPACE);
    if (this.text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.text);
    if (match) this.#at = pattern.lastIndex;
    return match && match[0];
  }

  #fail(): never {
    throw new CressetError('EXPORT_MALFORMED', `${this.name} is damaged: it is no JSON at character ${this.#at}`);
  }
}
