import { ErrorReport, type Source, type SourceRange } from '@cresset/ir';
import { ExpressionParser } from './expression-parser.ts';
import type { Dialect } from './string-literal.ts';
import { TokenStream } from './token-stream.ts';
import { mergeTypeComments } from './type-comment.ts';
import { AUGMENTED_ASSIGNMENTS, type Token, type TypeComment } from './token.ts';
import {
  makeVar,
  type BinaryOperator,
  type ClassDef,
  type Decl,
  type Def,
  type Expr,
  type Param,
  type Stmt,
  type WithItem,
} from './tree.ts';

/** A definition at the top of a file. */
export type Definition = Def | ClassDef;

/** The definitions of a file; throws an ErrorReport for text that cannot be parsed. */
export function parseProgram(source: Source, dialect: Dialect): readonly Definition[] {
  return new Parser(source, dialect).parseDefinitions();
}

/**
 * Parses Python text to a tree: the Python that PyTorch prints into archives (`serialized`), or the TorchScript subset of
 * Python as people write it (`python`).
 *
 * Every method throws an ErrorReport, with the place, for text it cannot parse.
 */
export class Parser extends ExpressionParser {
  readonly #source: Source;
  readonly #claimedComments = new Set<TypeComment>();
  /** Whether the block that is being parsed is the body of a class. */
  protected inClass = false;

  /** `start` and `end` are those of a part of the source. */
  constructor(source: Source, dialect: Dialect = 'python', start?: number, end?: number) {
    super(new TokenStream(source, dialect, start, end));
    this.#source = source;
  }

  get atEnd(): boolean {
    this.#skipSeparators();
    return this.stream.cur.kind === 'eof';
  }

  /**
   * All definitions of a file. Imports, docstrings and assignments between them are passed over: what they bind is found by the Resolver.
   *
   * @param areMethods whether functions are methods of a class that stands elsewhere, as in the first files of TorchScript
   */
  parseDefinitions(areMethods = false): Definition[] {
    const definitions: Definition[] = [];
    while (!this.atEnd) {
      const { kind } = this.stream.cur;
      if (kind === 'import' || kind === 'from') {
        this.#skipLine();
      } else if (kind === 'class') {
        definitions.push(this.parseClass());
      } else if (kind === 'def' || kind === '@') {
        definitions.push(this.parseDecorated(areMethods));
      } else if (this.stream.text(this.stream.cur) === 'op_version_set' || kind === 'string') {
        this.#skipLine();
      } else if (this.stream.isPython && kind === 'ident') {
        this.#parseExpressionStatement();
        this.stream.expect('newline');
      } else {
        throw new ErrorReport(
          this.stream.rangeOf(this.stream.cur),
          `Unexpected token in code import: ${this.stream.cur.kind}`,
        );
      }
    }
    return definitions;
  }

  /** An expression that is the whole text. */
  parseSingleExpression(): Expr {
    const expr = this.parseExpOrExpTuple();
    this.stream.nextIf('newline');
    if (this.stream.cur.kind !== 'eof') {
      throw this.stream.expected('newline');
    }
    return expr;
  }

  parseClass(decorators: readonly Expr[] = []): ClassDef {
    const { stream } = this;
    const start = stream.expect('class').start;
    const name = this.parseIdent();
    const bases = this.parseBases();
    stream.expect(':');
    const body = this.parseBlock(true);
    const range = stream.isPython ? stream.rangeFrom(start) : name.range;
    return { kind: 'class', range, name, superclass: bases[0], bases, body, decorators };
  }

  parseFunction(isMethod: boolean, decorators: readonly Expr[] = []): Def {
    const { stream } = this;
    const start = stream.expect('def').start;
    const name = this.parseIdent();
    const decl = this.#parseDecl(start);
    const body = this.parseBlock(false);
    const comments = stream.lexed.typeComments.filter(
      (comment) => comment.start >= start && comment.start < stream.cur.start && !this.#claimedComments.has(comment),
    );
    for (const comment of comments) {
      this.#claimedComments.add(comment);
    }
    const typed = mergeTypeComments(this.#source, decl, this.#commentsBefore(comments, body), isMethod, stream.dialect);
    const range = stream.isPython ? stream.range(start, this.#lastContentEnd()) : name.range;
    return { kind: 'def', range, name, decl: typed, statements: body, decorators };
  }

  /** Printed code types a function only by a comment before its first statement; people put it anywhere. */
  #commentsBefore(comments: readonly TypeComment[], body: readonly Stmt[]): readonly TypeComment[] {
    return this.stream.isPython ? comments : comments.filter((comment) => comment.start < (body[0]?.range.start ?? 0));
  }

  protected parseDecorated(inClass: boolean): Definition {
    const { stream } = this;
    const decorators: Expr[] = [];
    while (stream.nextIf('@')) {
      decorators.push(this.parseExp());
      stream.expect('newline');
    }
    return stream.cur.kind === 'class' ? this.parseClass(decorators) : this.parseFunction(inClass, decorators);
  }

  /** Printed code has one base class at most; `(int, Enum)` is an enum. */
  protected parseBases(): readonly Expr[] {
    const { stream } = this;
    if (!stream.nextIf('(')) return [];
    const bases = stream.cur.kind === ')' ? [] : [this.parseExp()];
    if (stream.nextIf(',') && stream.cur.kind !== ')') {
      throw new ErrorReport(stream.rangeOf(stream.cur), 'Torchscript does not support class inheritance.');
    }
    stream.expect(')');
    return bases;
  }

  #parseDecl(start: number): Decl {
    const { stream } = this;
    const open = stream.expect('(');
    const params: Param[] = [];
    const positionalOnly: Param[] = [];
    let kwargOnly = false;
    while (stream.cur.kind !== ')') {
      if (stream.cur.kind === '*' && [',', ')'].includes(stream.lookahead().kind)) {
        stream.next();
        kwargOnly = true;
      } else if (stream.cur.kind === '/') {
        stream.next();
        positionalOnly.push(...params.splice(0));
      } else {
        const variadic = stream.cur.kind === '*' || stream.cur.kind === '**' ? stream.next().kind : '';
        params.push(this.parseParam(kwargOnly, variadic as Param['variadic']));
        kwargOnly ||= variadic === '*';
      }
      if (!stream.nextIf(',')) {
        break;
      }
    }
    stream.expect(')');
    const returnType = stream.nextIf('->') ? this.parseExp() : undefined;
    stream.expect(':');
    const range = stream.mark(open, start);
    return { range, params, positionalOnly, returnType };
  }

  protected parseParam(kwargOnly: boolean, variadic: Param['variadic']): Param {
    const ident = this.parseIdent();
    const type = this.stream.nextIf(':') ? this.parseExp() : undefined;
    const defaultValue = this.stream.nextIf('=') ? this.parseExp() : undefined;
    const range = this.stream.rangeFrom(ident.range.start);
    return { range, ident, type, defaultValue, kwargOnly, variadic };
  }

  /** The statements after a colon: an indented block, or simple statements on the same line. */
  protected parseBlock(inClass: boolean): Stmt[] {
    const { stream } = this;
    return stream.nested(() => {
      const outer = this.inClass;
      this.inClass = inClass;
      const statements: Stmt[] = [];
      if (!stream.nextIf('newline')) {
        this.#parseSimpleStatements(statements);
      } else {
        stream.expect('indent');
        do {
          this.parseStatement(statements);
        } while (stream.cur.kind !== 'dedent' && stream.cur.kind !== 'eof');
        stream.nextIf('dedent');
      }
      this.inClass = outer;
      return statements;
    });
  }

  /** Adds a compound statement, or the simple statements of one line. */
  protected parseStatement(into: Stmt[]): void {
    const { kind } = this.stream.cur;
    const inClass = this.inClass;
    switch (kind) {
      case 'if':
        into.push(this.#parseIf());
        break;
      case 'while':
        into.push(this.#parseWhile());
        break;
      case 'for':
        into.push(this.#parseFor());
        break;
      case 'with':
        into.push(this.#parseWith());
        break;
      case 'def':
        into.push(this.parseFunction(inClass));
        break;
      case '@':
        into.push(this.parseDecorated(inClass));
        break;
      case 'class':
        into.push(this.parseClass());
        break;
      default:
        this.#parseSimpleStatements(into);
    }
  }

  #parseSimpleStatements(into: Stmt[]): void {
    const { stream } = this;
    do {
      if (stream.cur.kind === 'newline') {
        break;
      }
      const statement = this.parseSimpleStatement();
      // A string that stands alone is a docstring, which PyTorch's Python frontend drops.
      if (!(this.stream.isPython && statement.kind === 'expr' && statement.expr.kind === 'string')) {
        into.push(statement);
      } else {
        into.push({ kind: 'pass', range: statement.range });
      }
    } while (stream.nextIf(';'));
    stream.expect('newline');
  }

  protected parseSimpleStatement(): Stmt {
    const { stream } = this;
    const token = stream.cur;
    switch (token.kind) {
      case 'return':
        return this.#parseReturn();
      case 'raise':
        return this.#parseRaise();
      case 'assert':
        return this.#parseAssert();
      case 'pass':
      case 'break':
      case 'continue':
        stream.next();
        return { kind: token.kind, range: stream.rangeOf(token) };
      case 'del': {
        stream.next();
        const target = this.parseExpOrExpTuple();
        const targets = target.kind === 'tuple' ? target.inputs : [target];
        return { kind: 'delete', range: stream.mark(token), targets };
      }
      case 'global': {
        stream.next();
        const names = [this.parseIdent()];
        while (stream.nextIf(',')) {
          names.push(this.parseIdent());
        }
        return { kind: 'global', range: stream.mark(token), names };
      }
      default:
        return this.#parseExpressionStatement();
    }
  }

  #parseReturn(): Stmt {
    const { stream } = this;
    const token = stream.next();
    const { kind } = this.stream.cur;
    const expr: Expr =
      kind === 'newline' || kind === ';'
        ? { kind: 'none', range: this.stream.rangeOf(token) }
        : this.parseExpOrExpTuple();
    return { kind: 'return', range: stream.mark(token), expr };
  }

  #parseRaise(): Stmt {
    const { stream } = this;
    const token = stream.next();
    if (this.stream.cur.kind === 'newline') {
      return { kind: 'raise', range: stream.mark(token), expr: { kind: 'none', range: stream.rangeOf(token) } };
    }
    const expr = this.parseExp();
    if (this.stream.nextIf('from')) {
      this.parseExp();
    }
    return { kind: 'raise', range: stream.mark(token), expr };
  }

  #parseAssert(): Stmt {
    const { stream } = this;
    const token = stream.next();
    const test = this.parseExp();
    const message = this.stream.nextIf(',') ? this.parseExp() : undefined;
    return { kind: 'assert', range: stream.mark(token), test, message };
  }

  /** An expression, a declaration `a: T`, or an assignment. */
  #parseExpressionStatement(): Stmt {
    const { stream } = this;
    const lhs = this.parseExpOrExpTuple();
    const range = (): SourceRange => (this.stream.isPython ? stream.rangeFrom(lhs.range.start) : lhs.range);
    const type = stream.nextIf(':') ? this.parseExp() : undefined;
    const op = stream.cur.kind;
    if (AUGMENTED_ASSIGNMENTS.has(op)) {
      return this.#parseAugAssign(lhs);
    }
    if (op !== '=') {
      return type === undefined
        ? { kind: 'expr', range: range(), expr: lhs }
        : { kind: 'assign', range: range(), lhsList: [lhs], rhs: undefined, type };
    }
    const lhsList: Expr[] = [];
    let rhs = lhs;
    while (stream.nextIf('=')) {
      lhsList.push(rhs);
      rhs = this.parseExpOrExpTuple();
    }
    if (type !== undefined && lhsList.length > 1) {
      throw new ErrorReport(type.range, 'Annotated multiple assignment is not supported in python');
    }
    return { kind: 'assign', range: range(), lhsList, rhs, type };
  }

  #parseAugAssign(lhs: Expr): Stmt {
    const { stream } = this;
    const token = stream.next();
    const rhs = this.parseExpOrExpTuple();
    if (lhs.kind === 'tuple') {
      throw new ErrorReport(lhs.range, ' augmented assignment can only have one LHS expression');
    }
    const op = token.kind.slice(0, -1) as BinaryOperator;
    const range = this.stream.isPython ? stream.rangeFrom(lhs.range.start) : lhs.range;
    return { kind: 'aug-assign', range, lhs, op, rhs };
  }

  #parseIf(): Stmt {
    const { stream } = this;
    const token = stream.next();
    const cond = this.parseExp();
    stream.expect(':');
    const trueBranch = this.parseBlock(false);
    let falseBranch: readonly Stmt[] = [];
    if (stream.nextIf('else')) {
      stream.expect(':');
      falseBranch = this.parseBlock(false);
    } else if (stream.cur.kind === 'elif') {
      falseBranch = [stream.nested(() => this.#parseIf())];
    }
    return { kind: 'if', range: this.blockRange(token), cond, trueBranch, falseBranch };
  }

  #parseWhile(): Stmt {
    const { stream } = this;
    const token = stream.next();
    const cond = this.parseExp();
    stream.expect(':');
    const body = this.parseBlock(false);
    return { kind: 'while', range: this.blockRange(token), cond, body };
  }

  #parseFor(): Stmt {
    const { stream } = this;
    const token = stream.next();
    const targets = this.parseTargetList();
    stream.expect('in');
    const iterable = this.parseExpOrExpTuple();
    stream.expect(':');
    const body = this.parseBlock(false);
    const wraps = targets.length > 1 || this.#endsWithComma(targets);
    const wrapped: readonly Expr[] = wraps
      ? [{ kind: 'tuple', range: stream.range(targets[0]!.range.start, targets.at(-1)!.range.end), inputs: targets }]
      : targets;
    const range = this.blockRange(token);
    return { kind: 'for', range, targets: wrapped, itrs: [iterable], body };
  }

  /** Whether the targets `a,` are one name to be unpacked. */
  #endsWithComma(targets: readonly Expr[]): boolean {
    const { end } = targets.at(-1)!.range;
    return /^\s*,/.test(this.#source.text.slice(end, end + 8));
  }

  #parseWith(): Stmt {
    const { stream } = this;
    const token = stream.next();
    const targets = [this.#parseWithItem()];
    while (stream.nextIf(',')) {
      targets.push(this.#parseWithItem());
    }
    stream.expect(':');
    const body = this.parseBlock(false);
    return { kind: 'with', range: this.blockRange(token), targets, body };
  }

  #parseWithItem(): WithItem {
    const target = this.parseExp();
    if (!this.stream.nextIf('as')) {
      return { range: target.range, target, variable: undefined };
    }
    const ident = this.parseIdent();
    return { range: target.range, target, variable: makeVar(ident.range, ident.name) };
  }

  /** The range of a statement with a block. */
  protected blockRange(first: Token): SourceRange {
    return this.stream.mark(first, first.start, this.#lastContentEnd());
  }

  /** Where the last token with text in it ends. */
  #lastContentEnd(): number {
    const { text } = this.#source;
    let { end } = this.stream.previous;
    while (end > 0 && /\s/.test(text[end - 1]!)) {
      end--;
    }
    return end;
  }

  #skipSeparators(): void {
    while (['newline', ';', 'indent', 'dedent'].includes(this.stream.cur.kind)) {
      this.stream.next();
    }
  }

  #skipLine(): void {
    while (this.stream.cur.kind !== 'newline' && this.stream.cur.kind !== 'eof') {
      this.stream.next();
    }
  }
}
