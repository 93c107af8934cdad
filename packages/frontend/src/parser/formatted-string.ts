import { ErrorReport } from '@cresset/ir';
import type { FormatField } from './python-tree.ts';
import { endOfReplacementField } from './string-expression.ts';
import { splitStringToken, unescapeString } from './string-literal.ts';
import type { TokenStream } from './token-stream.ts';
import type { Token } from './token.ts';
import type { Expr } from './tree.ts';

/**
 * The string literals at a position, with conversions and formats in their fields, or bytes: what Python takes and TorchScript does not.
 * Throws an ErrorReport where Python would not take it either.
 *
 * @param parseExpression parses the text between two offsets of the source
 */
export function parseFormattedString(stream: TokenStream, parseExpression: (start: number, end: number) => Expr): Expr {
  const { start } = stream.cur;
  const parts: (string | FormatField)[] = [];
  let isBytes = false;
  while (stream.cur.kind === 'string') {
    const token = stream.next();
    const literal = splitStringToken(stream.text(token));
    isBytes ||= literal.isBytes;
    const bodyStart = token.start + literal.bodyOffset;
    const piece = new FormatParser(stream, token, literal.isRaw, parseExpression);
    if (literal.isFormat) parts.push(...piece.parse(bodyStart, bodyStart + literal.body.length));
    else parts.push(piece.unescape(literal.body));
  }
  const range = stream.rangeFrom(start);
  if (isBytes) return { kind: 'python', range, form: { kind: 'bytes', text: parts.join('') } };
  return { kind: 'python', range, form: { kind: 'formatted', parts } };
}

/** Parses the body of one f-string, and the formats in it, which are f-strings too. */
class FormatParser {
  readonly #stream: TokenStream;
  readonly #token: Token;
  readonly #isRaw: boolean;
  readonly #parseExpression: (start: number, end: number) => Expr;
  #at = 0;

  constructor(
    stream: TokenStream,
    token: Token,
    isRaw: boolean,
    parseExpression: (start: number, end: number) => Expr,
  ) {
    this.#stream = stream;
    this.#token = token;
    this.#isRaw = isRaw;
    this.#parseExpression = parseExpression;
  }

  parse(start: number, end: number): (string | FormatField)[] {
    this.#at = start;
    return this.#pieces(end, false);
  }

  unescape(body: string): string {
    try {
      return unescapeString(this.#isRaw ? body.replaceAll('\\', '\\\\') : body, this.#stream.dialect);
    } catch (error) {
      throw this.#error((error as RangeError).message);
    }
  }

  /** Up to `end`, or in a format to the bracket that ends its field. */
  #pieces(end: number, inFormat: boolean): (string | FormatField)[] {
    const { text } = this.#stream.source;
    const pieces: (string | FormatField)[] = [];
    let literal = '';
    const flush = (): void => {
      if (literal !== '') pieces.push(this.unescape(literal));
      literal = '';
    };
    while (this.#at < end) {
      const character = text[this.#at]!;
      if (inFormat && character === '}') break;
      const isDoubled = !inFormat && text[this.#at + 1] === character;
      if ((character === '{' || character === '}') && isDoubled) {
        literal += character;
        this.#at += 2;
      } else if (character === '{') {
        flush();
        this.#at++;
        pieces.push(...this.#field(end));
      } else {
        literal += character;
        this.#at++;
      }
    }
    flush();
    return pieces;
  }

  /** A field, with its own text before it where it is written `{x=}`. */
  #field(end: number): (string | FormatField)[] {
    const { text } = this.#stream.source;
    const start = this.#at;
    this.#at = endOfReplacementField(text, start, end);
    const written = text.slice(start, this.#at);
    const documented = /^(.*[^=!<>])=\s*$/s.exec(written);
    const value = this.#parseExpression(start, documented ? start + documented[1]!.length : this.#at);
    const conversion = text[this.#at] === '!' ? text[this.#at + 1]! : '';
    if (conversion !== '') this.#at += 2;
    let spec: (string | FormatField)[] = [];
    if (text[this.#at] === ':') {
      this.#at++;
      spec = this.#pieces(end, true);
    }
    if (text[this.#at] !== '}' || this.#at >= end) throw this.#error("f-string: expecting '}'");
    this.#at++;
    const isPlain = conversion === '' && spec.length === 0;
    const field = { value, conversion: documented && isPlain ? 'r' : conversion, spec };
    return documented ? [this.unescape(written), field] : [field];
  }

  #error(message: string): ErrorReport {
    return new ErrorReport(this.#stream.rangeOf(this.#token), message);
  }
}
