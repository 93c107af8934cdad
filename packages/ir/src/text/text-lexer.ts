import { ErrorReport } from '../error.ts';
import { nested } from '../nesting.ts';
import { Source, SourceRange } from './source-range.ts';

/** Kinds of tokens by the names PyTorch's messages give them; any other kind is the text of the token itself. */
export type TokenKind = 'eof' | 'number' | 'ident' | 'string_literal' | (string & {});

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Whether it is the first of its line, outside of brackets. */
  readonly isFirstOfLine: boolean;
}

const SPELLED_KINDS: ReadonlyMap<string, string> = new Map([
  ['->', 'arrow'],
  ['...', 'dots'],
  ['**', 'pow operator'],
  ['//', 'floordiv'],
  ['==', 'eq'],
  ['!=', 'ne'],
  ['<=', 'le'],
  ['>=', 'ge'],
]);

/** Words that are tokens of their own, never identifiers. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'None NoneType True False def if else elif while return is and or not global for in raise assert break continue del pass ' +
    'class import with as Ellipsis'
  ).split(' '),
);

/** White space and comments, then one token: number, identifier, string, or a mark (a value's `%name` among them). */
const TOKEN =
  /(?:\s|#[^\n]*)*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?)|([A-Za-z_]\w*)|("(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*')|(->|\.\.\.|%[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*|(?:\*\*|<<|>>|[-+*/%&|^<>!=])=|\*\*|\/\/|<<|>>|[-+*/^%<>=!?:.,|&~@()[\]{}])|$)/y;

/** Cuts schema and graph text into tokens, with one token of lookahead; messages are those of PyTorch's Lexer. */
export class TextLexer {
  readonly source: Source;
  #current: Token;
  #following: Token | undefined;
  #position = 0;
  #nesting = 0;

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

  /** Returns the current token, which must be of a kind; throws `IR_PARSE` otherwise. */
  expect(kind: TokenKind): Token {
    if (this.#current.kind !== kind) {
      this.fail(`expected ${kind} but found '${this.#foundKind(this.#current)}' here`);
    }
    return this.next();
  }

  rangeOf(token: Token): SourceRange {
    return new SourceRange(this.source, token.start, token.end);
  }

  /** Throws an {@link ErrorReport} with code `IR_PARSE` at a token. */
  fail(reason: string, token: Token = this.#current): never {
    throw this.#error(reason, token);
  }

  #error(reason: string, token: Token = this.#current): ErrorReport {
    return new ErrorReport(this.rangeOf(token), reason, { code: 'IR_PARSE' });
  }

  /** Runs `parse` one level deeper; throws `IR_PARSE` where the text nests without end. */
  nested<T>(parse: () => T): T {
    return nested(parse, () => this.#error('the text is nested too deeply'));
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
      // PyTorch names the character where it began to look, which may be white space.
      const range = new SourceRange(this.source, this.#position, this.#position + 1);
      const found = text[this.#position];
      throw new ErrorReport(range, `expected a valid token but found '${found}' here`, { code: 'IR_PARSE' });
    }
    const [, number, ident, string, mark] = match;
    const word = number ?? ident ?? string ?? mark ?? '';
    const start = TOKEN.lastIndex - word.length;
    const isFirstOfLine = this.#nesting === 0 && text.slice(this.#position, start).includes('\n');
    this.#position = TOKEN.lastIndex;
    if (mark !== undefined) {
      this.#nesting = Math.max(0, this.#nesting + nestingOf(mark));
    }
    return { kind: kindOf(number, ident, string, mark), text: word, start, end: start + word.length, isFirstOfLine };
  }

  /** What PyTorch's Lexer would have found: where a line begins it makes a token of the line's indentation. */
  #foundKind(token: Token): TokenKind {
    if (!token.isFirstOfLine || token.kind === 'eof') {
      return token.kind === 'value' ? '%' : token.kind;
    }
    const { source } = this;
    const line = source.lineOf(token.start);
    const indentation = (index: number): number =>
      /^\s*/.exec(source.text.slice(source.offsetOfLine(index), source.offsetOfLine(index + 1)))![0].length;
    const change = indentation(line) - indentation(line - 1);
    return change > 0 ? 'indent' : change < 0 ? 'dedent' : 'newline';
  }
}

function kindOf(number?: string, ident?: string, string?: string, mark?: string): TokenKind {
  if (number !== undefined) {
    return 'number';
  }
  if (ident !== undefined) {
    return KEYWORDS.has(ident) ? ident : 'ident';
  }
  if (string !== undefined) {
    return 'string_literal';
  }
  if (mark === undefined) {
    return 'eof';
  }
  return mark.length > 1 && mark.startsWith('%') ? 'value' : (SPELLED_KINDS.get(mark) ?? mark);
}

function nestingOf(mark: string): number {
  if ('([{'.includes(mark)) {
    return 1;
  }
  return ')]}'.includes(mark) ? -1 : 0;
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
  return bytes.replace(/\\((?!000)[./0][)-0][)-0]|x[0-9a-fA-F]{2}|[0-7]{1,3}|[^])/g, (whole, escape: string) => {
    if (escape.length === 3 && escape.startsWith('x')) {
      return String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    }
    if (/^[./0][)-0]{2}$/.test(escape)) {
      return String.fromCharCode(256 + signedOctalValue(escape));
    }
    if (/^[0-7]/.test(escape)) {
      return String.fromCharCode(Number.parseInt(escape, 8) & 0xff);
    }
    return SIMPLE_ESCAPES[escape] ?? whole;
  });
}

/** The value of three digits of which some lie below '0': see {@link formatQuotedString}. */
function signedOctalValue(digits: string): number {
  return [...digits].reduce((value, digit) => value * 8 + (digit.charCodeAt(0) - 0x30), 0);
}
