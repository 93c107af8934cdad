import { ErrorReport } from './error.ts';
import { Source, SourceRange } from './source-range.ts';

/** Kinds of tokens by the names PyTorch's messages give them; any other kind is the text of the token itself. */
export type TokenKind = 'eof' | 'number' | 'ident' | 'string_literal' | (string & {});

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const KEYWORD_KINDS: Readonly<Record<string, string>> = {
  '->': 'arrow',
  '...': 'dots',
  None: 'None',
  True: 'True',
  False: 'False',
};

/** White space and comments, then one token: number, identifier, string, or a mark. */
const TOKEN =
  /(?:\s|#[^\n]*)*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?)|([A-Za-z_]\w*)|("(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*')|(->|\.\.\.|[-+*/^%<>=!?:.,;|&~@$()[\]{}])|$)/y;

/** Cuts schema and graph text into tokens, with one token of lookahead; messages are those of PyTorch's Lexer. */
export class TextLexer {
  readonly source: Source;
  #current: Token;
  #following: Token | undefined;
  #position = 0;

  constructor(text: string) {
    this.source = new Source(text);
    this.#current = this.#scan();
  }

  get current(): Token {
    return this.#current;
  }

  get lookahead(): Token {
    this.#following ??= this.#scan();
    return this.#following;
  }

  /** Returns the current token and goes on to the next. */
  next(): Token {
    const token = this.#current;
    this.#current = this.#following ?? this.#scan();
    this.#following = undefined;
    return token;
  }

  /** Whether the current token is of a kind, and if so goes past it. */
  nextIf(kind: TokenKind): boolean {
    if (this.#current.kind !== kind) {
      return false;
    }
    this.next();
    return true;
  }

  /** Whether the current token is a certain identifier. */
  isIdent(text: string): boolean {
    return this.#current.kind === 'ident' && this.#current.text === text;
  }

  /** Returns the current token, which must be of a kind; throws `ir/parse` otherwise. */
  expect(kind: TokenKind): Token {
    if (this.#current.kind !== kind) {
      this.fail(`expected ${KEYWORD_KINDS[kind] ?? kind} but found '${this.#current.kind}' here`);
    }
    return this.next();
  }

  /** Whether white space stands before the current token. */
  get spaceBefore(): boolean {
    return /\s/.test(this.source.text[this.#current.start - 1] ?? ' ');
  }

  rangeOf(token: Token): SourceRange {
    return new SourceRange(this.source, token.start, token.end);
  }

  /** Throws an {@link ErrorReport} with code `ir/parse` at a token. */
  fail(reason: string, token: Token = this.#current): never {
    throw new ErrorReport(this.rangeOf(token), reason, { code: 'ir/parse' });
  }

  /** Reads `item (separator item)*`, with brackets where given; with an end, the list may be empty. */
  list(begin: TokenKind | undefined, separator: TokenKind, end: TokenKind | undefined, item: () => void): void {
    if (begin !== undefined) {
      this.expect(begin);
    }
    if (this.#current.kind !== end) {
      do {
        item();
      } while (this.nextIf(separator));
    }
    if (end !== undefined) {
      this.expect(end);
    }
  }

  #scan(): Token {
    const { text } = this.source;
    TOKEN.lastIndex = this.#position;
    const match = TOKEN.exec(text);
    if (match === null) {
      const start = this.#position + /^(?:\s|#[^\n]*)*/.exec(text.slice(this.#position))![0].length;
      const range = new SourceRange(this.source, start, start + 1);
      throw new ErrorReport(range, `unexpected character '${text[start]}'`, { code: 'ir/parse' });
    }
    const [, number, ident, string, mark] = match;
    const tokenText = number ?? ident ?? string ?? mark ?? '';
    const end = TOKEN.lastIndex;
    this.#position = end;
    const kind =
      KEYWORD_KINDS[tokenText] ??
      (number !== undefined
        ? 'number'
        : ident !== undefined
          ? 'ident'
          : string !== undefined
            ? 'string_literal'
            : (mark ?? 'eof'));
    return { kind, text: tokenText, start: end - tokenText.length, end };
  }
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '\n': '',
};

/** The byte string that a quoted literal stands for: escapes undone, characters beyond ASCII as UTF-8 (PyTorch: parseStringLiteral). */
export function unquoteString(literal: string): string {
  const bytes = literal
    .slice(1, -1)
    .replace(/[\u0080-\u{10ffff}]/gu, (character) => String.fromCharCode(...new TextEncoder().encode(character)));
  return bytes.replace(/\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|[^])/g, (whole, escape: string) => {
    if (escape.length === 3 && escape.startsWith('x')) {
      return String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    }
    if (/^[0-7]/.test(escape)) {
      return String.fromCharCode(Number.parseInt(escape, 8) & 0xff);
    }
    return SIMPLE_ESCAPES[escape] ?? whole;
  });
}
