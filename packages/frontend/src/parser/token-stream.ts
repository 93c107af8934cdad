import { ErrorReport, nested, SourceRange, type Source } from '@cresset/ir';
import { lex, type LexedSource } from './lexer.ts';
import type { Dialect } from './string-literal.ts';
import type { Token, TokenKind } from './token.ts';

/** How error messages name kinds of tokens (PyTorch: kindToString). */
const KIND_NAMES: Readonly<Record<string, string>> = {
  string: 'string_literal',
  '!=': 'ne',
  '==': 'eq',
  '<=': 'le',
  '>=': 'ge',
  '//': 'floordiv',
  '**': 'pow operator',
  '->': 'arrow',
  '...': 'dots',
};

/** A part of the tree. */
interface Spanning {
  readonly range: SourceRange;
}

/** A position in the tokens of a text. */
export class TokenStream {
  readonly source: Source;
  readonly lexed: LexedSource;
  /** Whether it is Python as people write it, rather than as PyTorch prints it. */
  readonly isPython: boolean;
  readonly dialect: Dialect;
  /** The token that is looked at; only the stream moves on. */
  cur: Token;
  #index = 0;

  /** Throws an ErrorReport for text that has no tokens; `start` and `end` are those of a part of the source. */
  constructor(source: Source, dialect: Dialect, start?: number, end?: number) {
    this.source = source;
    this.lexed = lex(source, start, end);
    this.cur = this.lexed.tokens[0]!;
    this.dialect = dialect;
    this.isPython = dialect !== 'serialized';
  }

  /** The token before the current one; the current one at the start. */
  get previous(): Token {
    return this.lexed.tokens[Math.max(0, this.#index - 1)]!;
  }

  lookahead(distance = 1): Token {
    return this.lexed.tokens[Math.min(this.#index + distance, this.lexed.tokens.length - 1)]!;
  }

  /** Returns the current token and moves on; the last token, the end of the text, stays. */
  next(): Token {
    const token = this.cur;
    if (token.kind !== 'eof') this.cur = this.lexed.tokens[++this.#index]!;
    return token;
  }

  nextIf(kind: TokenKind): boolean {
    if (this.cur.kind !== kind) return false;
    if (kind !== 'eof') this.cur = this.lexed.tokens[++this.#index]!;
    return true;
  }

  expect(kind: TokenKind): Token {
    const token = this.cur;
    if (token.kind !== kind) throw this.expected(KIND_NAMES[kind] ?? kind);
    if (kind !== 'eof') this.cur = this.lexed.tokens[++this.#index]!;
    return token;
  }

  expected(what: string): ErrorReport {
    const { kind } = this.cur;
    return new ErrorReport(this.rangeOf(this.cur), `expected ${what} but found '${KIND_NAMES[kind] ?? kind}' here`);
  }

  text(token: Token): string {
    return this.source.text.slice(token.start, token.end);
  }

  range(start: number, end: number): SourceRange {
    return new SourceRange(this.source, start, end);
  }

  rangeOf(token: Token): SourceRange {
    return new SourceRange(this.source, token.start, token.end);
  }

  /** From `start` to the end of the token before the current one. */
  rangeFrom(start: number): SourceRange {
    return this.range(start, Math.max(start, this.previous.end));
  }

  /**
   * The range of something that `token` stands for: PyTorch's Python frontend marks whole operations and statements, its parser of
   * printed code only their token.
   */
  mark(token: Token, start = token.start, end = this.previous.end): SourceRange {
    return this.isPython ? this.range(start, Math.max(start, end)) : this.rangeOf(token);
  }

  /** The range of what reaches from one expression to another; printed code has that of the first. */
  span(first: Spanning, last: Spanning = first): SourceRange {
    return this.isPython ? this.range(first.range.start, last.range.end) : first.range;
  }

  /** Runs `parse` one level deeper; throws an ErrorReport where a text is nested beyond all reason. */
  nested<T>(parse: () => T): T {
    return nested(parse, () => new ErrorReport(this.rangeOf(this.cur), 'too many nested expressions or blocks'));
  }
}
