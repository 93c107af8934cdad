import { toByteString } from '@cresset/tensor';

/**
 * Which Python a text is. The Python that archives hold is PyTorch's own printing: strings are bytes, written with octal
 * escapes. A user's source is what the Python interpreter takes: escapes name characters. PyTorch's own library is such source that Python
 * has parsed, for which `-1` is an operation on 1.
 */
export type Dialect = 'python' | 'library' | 'serialized';

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\n': '',
};

/** A string token taken apart. */
export interface StringToken {
  readonly isFormat: boolean;
  readonly isRaw: boolean;
  readonly isBytes: boolean;
  /** The text between the quotes and its offset in the token. */
  readonly body: string;
  readonly bodyOffset: number;
}

export function splitStringToken(token: string): StringToken {
  const prefix = /^[A-Za-z]*/.exec(token)![0].toLowerCase();
  const quote = token[prefix.length]!;
  const width = token.startsWith(quote.repeat(3), prefix.length) && token.length >= prefix.length + 6 ? 3 : 1;
  const bodyOffset = prefix.length + width;
  return {
    isFormat: prefix.includes('f'),
    isRaw: prefix.includes('r'),
    isBytes: prefix.includes('b'),
    body: token.slice(bodyOffset, token.length - width),
    bodyOffset,
  };
}

/** The bytes that the body of a string literal stands for. Throws a RangeError for an escape that Python refuses too. */
export function unescapeString(body: string, dialect: Dialect): string {
  let out = '';
  let at = 0;
  for (;;) {
    const backslash = body.indexOf('\\', at);
    if (backslash === -1) {
      return out + toByteString(body.slice(at));
    }
    out += toByteString(body.slice(at, backslash));
    const [piece, length] = unescapeOne(body, backslash + 1, dialect);
    out += piece;
    at = backslash + 1 + length;
  }
}

/** The bytes of the escape whose letter is at `at`, and how many characters it takes. */
function unescapeOne(body: string, at: number, dialect: Dialect): [bytes: string, length: number] {
  const letter = body[at] ?? '';
  const simple = SIMPLE_ESCAPES[letter];
  if (simple !== undefined) {
    return [simple, 1];
  }
  const octal = /^[0-7]{1,3}/.exec(body.slice(at, at + 3));
  if (octal !== null) {
    const code = parseInt(octal[0], 8);
    const character = String.fromCharCode(code);
    return [dialect === 'serialized' && code < 256 ? character : toByteString(character), octal[0].length];
  }
  const width = { x: 2, u: 4, U: 8 }[letter];
  if (width !== undefined) {
    const digits = body.slice(at + 1, at + 1 + width);
    const code = /^[0-9a-fA-F]+$/.test(digits) && digits.length === width ? parseInt(digits, 16) : Infinity;
    if (code > 0x10ffff) {
      throw new RangeError(letter === 'x' ? 'unsupported hex specifier' : 'unsupported unicode specifier');
    }
    return [toByteString(String.fromCodePoint(code)), width + 1];
  }
  // An unknown escape stands for itself, backslash and all.
  return [`\\${toByteString(letter)}`, letter.length];
}
