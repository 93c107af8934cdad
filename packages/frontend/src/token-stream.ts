import { ErrorReport, isStackOverflow, SourceRange, type Source } from '@cresset/ir';
import type { LexedSource } from './lexer.ts';
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

/** Nesting of brackets, blocks and operators beyond which a text is refused: the recursion behind it is bounded so. */
const MAX_NESTING = 600;

/** A position in a list of tokens. */
export class TokenStream {
  readonly source: Source;
  readonly lexed: LexedSource;
  #index = 0;
  #nesting = 0;

  constructor(source: Source, lexed: LexedSource) {
    this.source = source;
    this.lexed = lexed;
  }

  get cur(): Token {
    return this.lexed.tokens[this.#index]!;
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
    if (token.kind !== 'eof') {
      this.#index++;
    }
    return token;
  }

  nextIf(kind: TokenKind): boolean {
    if (this.cur.kind !== kind) {
      return false;
    }
    this.next();
    return true;
  }

  expect(kind: TokenKind): Token {
    if (this.cur.kind !== kind) {
      throw this.expected(KIND_NAMES[kind] ?? kind);
    }
    return this.next();
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
    return this.range(token.start, token.end);
  }

  /** From `start` to the end of the token before the current one. */
  rangeFrom(start: number): SourceRange {
    return this.range(start, Math.max(start, this.previous.end));
  }

  /** Runs `parse` one level deeper; throws an ErrorReport where a text is nested beyond all reason. */
  nested<T>(parse: () => T): T {
    if (++this.#nesting > MAX_NESTING) {
      throw this.#tooDeep();
    }
    try {
      return parse();
    } catch (error) {
      throw isStackOverflow(error) ? this.#tooDeep() : error;
    } finally {
      this.#nesting--;
    }
  }

  #tooDeep(): ErrorReport {
    return new ErrorReport(this.rangeOf(this.cur), 'too many nested expressions or blocks');
  }
}
