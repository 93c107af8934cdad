import { ErrorReport, type Source } from '@cresset/ir';
import { ExpressionParser } from './expression-parser.ts';
import type { Dialect } from './string-literal.ts';
import { TokenStream } from './token-stream.ts';
import type { TypeComment } from './token.ts';
import type { Decl, Expr, Param } from './tree.ts';

interface CommentSignature {
  readonly params: readonly Expr[];
  readonly returnType: Expr | undefined;
}

/**
 * Types a function by its type comments (PyTorch: mergeTypesFromTypeComment, and get_type_line of its Python frontend): one
 * comment with the whole signature, or one for each parameter and a last one `# type: (...) -> T`.
 */
export function mergeTypeComments(
  source: Source,
  decl: Decl,
  comments: readonly TypeComment[],
  isMethod: boolean,
  dialect: Dialect,
): Decl {
  const used = comments.filter((comment) => !/^\s*ignore(\[[a-zA-Z-]+\])?\s*$/.test(contentOf(source, comment)));
  if (used.length === 0) {
    return decl;
  }
  const parse = (comment: TypeComment): CommentSignature =>
    new SignatureParser(new TokenStream(source, dialect, comment.contentStart, comment.end)).parse();
  if (used.length === 1) {
    requireOwnLine(source, used[0]!, dialect);
    return withTypes(decl, parse(used[0]!), isMethod);
  }
  const last = used.findIndex((comment) => /^\s*\(\s*\.\.\.\s*\)\s*->/.test(contentOf(source, comment)));
  if (last === -1) {
    throw new ErrorReport(decl.range, "Return type line '# type: (...) -> ...' not found on multiline type annotation");
  }
  const params = used.slice(0, last).map((comment) => parseType(source, comment, dialect));
  return withTypes(decl, { params, returnType: parse(used[last]!).returnType }, isMethod);
}

/** PyTorch's Python frontend takes the only comment for the signature, which has a line to itself. */
function requireOwnLine(source: Source, comment: TypeComment, dialect: Dialect): void {
  const lineStart = source.text.lastIndexOf('\n', comment.start) + 1;
  const stream = new TokenStream(source, dialect, lineStart, comment.start);
  if (stream.isPython && stream.cur.kind !== 'eof') {
    throw stream.expected('type comment');
  }
}

function contentOf(source: Source, comment: TypeComment): string {
  return source.text.slice(comment.contentStart, comment.end);
}

function parseType(source: Source, comment: TypeComment, dialect: Dialect): Expr {
  return new ExpressionParser(new TokenStream(source, dialect, comment.contentStart, comment.end)).parseExp();
}

function withTypes(decl: Decl, signature: CommentSignature, isMethod: boolean): Decl {
  const skipped = isMethod ? 1 : 0;
  const expected = decl.params.length - skipped;
  if (expected !== signature.params.length) {
    throw new ErrorReport(
      decl.range,
      `Number of type annotations (${signature.params.length}) did not match the number of ` +
        `${isMethod ? 'method' : 'function'} parameters (${expected})`,
    );
  }
  const params = decl.params.map((param, index): Param =>
    index < skipped ? param : { ...param, type: signature.params[index - skipped] },
  );
  return { ...decl, params, returnType: signature.returnType };
}

/** Parses `(T, U) -> V`. */
class SignatureParser extends ExpressionParser {
  parse(): CommentSignature {
    const { stream } = this;
    stream.expect('(');
    const params: Expr[] = [];
    while (stream.cur.kind !== ')') {
      params.push(this.parseExp());
      if (!stream.nextIf(',')) {
        break;
      }
    }
    stream.expect(')');
    const returnType = stream.nextIf('->') ? this.parseExp() : undefined;
    this.#expectEnd();
    return { params, returnType };
  }

  #expectEnd(): void {
    this.stream.nextIf('newline');
    if (this.stream.cur.kind !== 'eof') {
      throw this.stream.expected('newline');
    }
  }
}
