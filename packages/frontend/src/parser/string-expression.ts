import { ErrorReport } from '@cresset/ir';
import { splitStringToken, unescapeString, type StringToken } from './string-literal.ts';
import type { TokenStream } from './token-stream.ts';
import type { Token } from './token.ts';
import { makeApply, makeIdent, type Expr } from './tree.ts';

/**
 * The string literals at a position, as one expression; any f-string among them makes it a call of `format`.
 *
 * @param parseExpression parses the text between two offsets of the source: what stands in braces in an f-string
 */
export function parseStringExpression(
  stream: TokenStream,
  parseExpression: (start: number, end: number) => Expr,
): Expr {
  return new StringExpressionParser(stream, parseExpression).parse();
}

class StringExpressionParser {
  readonly #stream: TokenStream;
  readonly #parseExpression: (start: number, end: number) => Expr;

  constructor(stream: TokenStream, parseExpression: (start: number, end: number) => Expr) {
    this.#stream = stream;
    this.#parseExpression = parseExpression;
  }

  /** Adjacent literals are one string; any f-string among them makes the whole a call of `format`. */
  parse(): Expr {
    const stream = this.#stream;
    const { start } = stream.cur;
    let text = '';
    let isFormat = false;
    const values: Expr[] = [];
    while (stream.cur.kind === 'string') {
      const token = stream.next();
      const parts = splitStringToken(stream.text(token));
      if (parts.isBytes) {
        throw new ErrorReport(stream.rangeOf(token), 'Unknown Constant expression type');
      }
      if (parts.isFormat) {
        isFormat = true;
        text += this.#parseFormatString(token, parts, values);
      } else {
        text += this.#unescape(token, parts, parts.body);
      }
    }
    if (!isFormat) {
      // PyTorch counts the characters that the string has and one quote.
      const range = stream.isPython ? stream.range(start, start + text.length + 1) : stream.rangeFrom(start);
      return { kind: 'string', range, text };
    }
    const range = stream.range(start, values.at(-1)?.range.end ?? start + 1);
    const callee: Expr = {
      kind: 'select',
      range,
      value: { kind: 'string', range, text },
      selector: makeIdent(range, 'format'),
    };
    return makeApply(range, callee, values);
  }

  /** The format text of an f-string; the expressions in it are added to `values`. */
  #parseFormatString(token: Token, parts: StringToken, values: Expr[]): string {
    let text = '';
    let literal = '';
    const { body } = parts;
    for (let at = 0; at < body.length;) {
      const character = body[at]!;
      if ((character === '{' || character === '}') && body[at + 1] === character) {
        literal += character;
        at += 2;
      } else if (character === '{') {
        text += `${this.#unescape(token, parts, literal)}{}`;
        literal = '';
        at = this.#parseReplacementField(token, parts, at + 1, values);
      } else if (character === '}') {
        throw new ErrorReport(this.#stream.rangeOf(token), "f-string: single '}' is not allowed");
      } else {
        literal += character;
        at++;
      }
    }
    return text + this.#unescape(token, parts, literal);
  }

  /** Parses the expression that starts at `at` in an f-string's body; returns where the text after its `}` starts. */
  #parseReplacementField(token: Token, parts: StringToken, at: number, values: Expr[]): number {
    const stream = this.#stream;
    const start = token.start + parts.bodyOffset + at;
    const bodyEnd = token.start + parts.bodyOffset + parts.body.length;
    const end = endOfReplacementField(stream.source.text, start, bodyEnd);
    // Python gives a field of an f-string no place of its own: the first character of the literal is marked.
    const range = stream.range(token.start, token.start + 1);
    const stop = stream.source.text[end];
    // `{x=}` is the text and the value's representation: a conversion, unless a format says otherwise.
    const isDocumented = stream.source.text.slice(start, end).trimEnd().endsWith('=');
    if (stop === '!' || (stop === '}' && isDocumented)) {
      throw new ErrorReport(range, "Don't support conversion in JoinedStr");
    }
    if (stop === ':') {
      throw new ErrorReport(range, "Don't support formatting in JoinedStr");
    }
    if (stop !== '}' || end >= bodyEnd) {
      throw new ErrorReport(range, "f-string: expecting '}'");
    }
    values.push(this.#parseExpression(start, end));
    return end + 1 - token.start - parts.bodyOffset;
  }

  #unescape(token: Token, parts: StringToken, body: string): string {
    try {
      // A raw string is read as one in which every backslash was doubled.
      return unescapeString(parts.isRaw ? body.replaceAll('\\', '\\\\') : body, this.#stream.dialect);
    } catch (error) {
      throw new ErrorReport(this.#stream.rangeOf(token), (error as RangeError).message);
    }
  }
}

/** Offset of the character that ends the expression of an f-string's field: `}`, `:` or `!` outside of brackets. */
export function endOfReplacementField(text: string, start: number, limit: number): number {
  let depth = 0;
  for (let at = start; at < limit; at++) {
    const character = text[at]!;
    if (character === '"' || character === "'") {
      const close = text.indexOf(character, at + 1);
      at = close === -1 ? limit : close;
    } else if ('([{'.includes(character)) {
      depth++;
    } else if (')]}'.includes(character) && depth > 0) {
      depth--;
    } else if (depth === 0 && (character === '}' || character === ':' || (character === '!' && text[at + 1] !== '='))) {
      return at;
    }
  }
  return limit;
}
