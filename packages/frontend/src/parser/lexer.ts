import { ErrorReport, SourceRange, type Source } from '@cresset/ir';
import { KEYWORDS, OPERATORS_BY_FIRST, type Token, type TypeComment } from './token.ts';

const IDENTIFIER = /[\p{L}_][\p{L}\p{Nd}_]*/uy;
/** Nearly every name is of these letters, and the other expression is one that takes engines long to compile. */
const ASCII_IDENTIFIER = /[a-zA-Z_][a-zA-Z0-9_]*/y;
const LAST_ASCII = '\x7f';
const NUMBER =
  /(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|(?:[0-9](?:_?[0-9])*\.?(?:[0-9](?:_?[0-9])*)?|\.[0-9](?:_?[0-9])*)(?:[eE][+-]?[0-9]+)?[jJ]?)/y;
const STRING_PREFIX = /^(?:[rRbBuUfF]|[bB][rR]|[rR][bB]|[fF][rR]|[rR][fF])$/;
const TYPE_COMMENT = '# type:';

/** The tokens of a source text, and the type comments between them. */
export interface LexedSource {
  readonly tokens: readonly Token[];
  readonly typeComments: readonly TypeComment[];
}

/**
 * Splits Python text into tokens (PyTorch: Lexer).
 *
 * Lines are joined inside brackets and after a backslash. The whole text may be indented: its first line sets the level.
 * Throws an ErrorReport for a character that starts no token, a string without an end, or indentation that fits no block.
 */
export function lex(source: Source, start = 0, end = source.text.length): LexedSource {
  return new Lexer(source, start, end).run();
}

class Lexer {
  readonly #source: Source;
  readonly #text: string;
  readonly #end: number;
  #at: number;
  #nesting = 0;
  readonly #indents: number[] = [];
  readonly #tokens: Token[] = [];
  readonly #typeComments: TypeComment[] = [];

  constructor(source: Source, start: number, end: number) {
    this.#source = source;
    this.#text = source.text;
    this.#at = start;
    this.#end = end;
  }

  run(): LexedSource {
    this.#indents.push(this.#skipToLineContent());
    const text = this.#text;
    while (this.#at < this.#end) {
      const character = text[this.#at]!;
      // Most of a text are names, blanks and operators, in a page that has just come and whose functions are interpreted: each takes one call at most.
      if ((character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') || character === '_') {
        this.#lexAsciiWord();
      } else if (character === ' ' || character === '\t' || character === '\r' || character === '\f') {
        this.#at++;
      } else if (character === '\n') {
        this.#lexNewline();
      } else if (!this.#lexOperator(character)) {
        this.#lexOther(character);
      }
    }
    this.#finish();
    return { tokens: this.#tokens, typeComments: this.#typeComments };
  }

  #lexOther(first: string): void {
    if (first === '#') {
      this.#skipComment();
    } else if (first === '\\' && /\\\r?\n/y.test(this.#text.slice(this.#at, this.#at + 3))) {
      this.#at = this.#text.indexOf('\n', this.#at) + 1;
    } else if (first === '"' || first === "'") {
      this.#lexString(this.#at);
    } else if (!this.#lexNumber() && !(first > LAST_ASCII && this.#lexWord())) {
      throw this.#error(`expected a valid token but found '${first}' here`, this.#at, this.#at + 1);
    }
  }

  /** Ends a logical line and opens or closes blocks by the indentation of the next line that holds anything. */
  #lexNewline(): void {
    if (this.#nesting > 0) {
      this.#at++;
      return;
    }
    const newlineAt = this.#at;
    const depth = this.#skipToLineContent();
    if (this.#at >= this.#end) {
      return;
    }
    const lineStart = this.#at;
    const current = this.#indents.at(-1)!;
    if (depth > current) {
      this.#indents.push(depth);
      this.#push('newline', newlineAt, newlineAt + 1);
      this.#push('indent', newlineAt + 1, lineStart);
      return;
    }
    this.#pushNewline(newlineAt);
    this.#dedentTo(depth, lineStart);
  }

  #dedentTo(depth: number, lineStart: number): void {
    while (this.#indents.at(-1)! > depth) {
      this.#indents.pop();
      if (this.#indents.length === 0 || this.#indents.at(-1)! < depth) {
        throw this.#error(`invalid indent level ${depth}`, lineStart - depth, lineStart);
      }
      this.#push('dedent', lineStart, lineStart);
    }
  }

  /** Passes blank and comment lines; returns the indentation of the line it stops at. */
  #skipToLineContent(): number {
    let lineStart = this.#text[this.#at] === '\n' ? ++this.#at : this.#at;
    for (;;) {
      while (this.#at < this.#end && ' \t\r\f'.includes(this.#text[this.#at]!)) {
        this.#at++;
      }
      if (this.#at < this.#end && this.#text[this.#at] === '\n') {
        lineStart = ++this.#at;
      } else if (this.#at < this.#end && this.#text[this.#at] === '#') {
        this.#skipComment();
      } else {
        return this.#at - lineStart;
      }
    }
  }

  #skipComment(): void {
    const newline = this.#text.indexOf('\n', this.#at);
    const end = newline === -1 ? this.#end : Math.min(newline, this.#end);
    if (this.#text.startsWith(TYPE_COMMENT, this.#at)) {
      this.#typeComments.push({ start: this.#at, contentStart: this.#at + TYPE_COMMENT.length, end });
    }
    this.#at = end;
  }

  #lexNumber(): boolean {
    const number = this.#match(NUMBER);
    if (number === undefined) return false;
    this.#push('number', this.#at, this.#at + number.length);
    return true;
  }

  #lexAsciiWord(): void {
    const text = this.#text;
    const start = this.#at;
    ASCII_IDENTIFIER.lastIndex = start;
    ASCII_IDENTIFIER.test(text);
    const end = ASCII_IDENTIFIER.lastIndex;
    const next = text[end];
    if (next > LAST_ASCII) {
      this.#lexWord();
      return;
    }
    const word = text.slice(start, end);
    if ((next === '"' || next === "'") && STRING_PREFIX.test(word)) {
      this.#lexString(end);
    } else {
      this.#tokens.push({ kind: KEYWORDS.has(word) ? word : 'ident', start, end });
      this.#at = end;
    }
  }

  /** A name that has other letters too: no keyword, and no prefix of a string. */
  #lexWord(): boolean {
    const word = this.#match(IDENTIFIER);
    if (word === undefined) return false;
    this.#push('ident', this.#at, this.#at + word.length);
    return true;
  }

  /** Lexes a string whose opening quote is at `quoteAt`; the token takes in the prefix before it. */
  #lexString(quoteAt: number): void {
    const start = this.#at;
    const quote = this.#text[quoteAt]!;
    const triple = this.#text.startsWith(quote.repeat(3), quoteAt);
    const closing = triple ? quote.repeat(3) : quote;
    let at = quoteAt + closing.length;
    while (!this.#text.startsWith(closing, at)) {
      if (at >= this.#end || (!triple && this.#text[at] === '\n')) {
        throw this.#error(`expected a valid token but found '${quote}' here`, start, start + 1);
      }
      at += this.#text[at] === '\\' ? 2 : 1;
    }
    this.#push('string', start, at + closing.length);
  }

  #lexOperator(first: string): boolean {
    const start = this.#at;
    const candidates = OPERATORS_BY_FIRST.get(first);
    if (candidates === undefined) return false;
    let operator = first;
    // The longest that stands here; a `!` by itself is a token, and no operator.
    for (const candidate of candidates[0] === first ? [] : candidates) {
      if (!this.#text.startsWith(candidate, start)) continue;
      operator = candidate;
      break;
    }
    if (operator === '.' && /[0-9]/.test(this.#text[start + 1] ?? '')) return false;
    if (operator === '(' || operator === '[' || operator === '{') this.#nesting++;
    else if (operator === ')' || operator === ']' || operator === '}') this.#nesting = Math.max(0, this.#nesting - 1);
    const end = (this.#at = start + operator.length);
    this.#tokens.push({ kind: operator, start, end });
    return true;
  }

  /** What stands here, as far as a sticky expression matches it. */
  #match(expression: RegExp): string | undefined {
    expression.lastIndex = this.#at;
    return expression.exec(this.#text)?.[0];
  }

  /** Whatever the white space at the end, the text ends with its last line finished and all blocks closed. */
  #finish(): void {
    const end = this.#end;
    this.#pushNewline(end);
    for (; this.#indents.length > 1; this.#indents.pop()) {
      this.#push('dedent', end, end);
    }
    this.#push('eof', end, end);
  }

  #pushNewline(at: number): void {
    const last = this.#tokens.at(-1)?.kind;
    if (last !== undefined && last !== 'newline' && last !== 'indent' && last !== 'dedent') {
      this.#push('newline', at, Math.min(at + 1, this.#end));
    }
  }

  #push(kind: string, start: number, end: number): void {
    this.#tokens.push({ kind, start, end });
    this.#at = Math.max(this.#at, end);
  }

  #error(reason: string, start: number, end: number): ErrorReport {
    return new ErrorReport(new SourceRange(this.#source, start, end), reason);
  }
}
