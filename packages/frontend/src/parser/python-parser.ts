import { ErrorReport, type Source } from '@cresset/ir';
import { loopElseRefusal, Parser, type Definition } from './parser.ts';
import type { ComprehensionClause, ExceptionHandler, ImportedName } from './python-tree.ts';
import { parseStringExpression } from './string-expression.ts';
import { parseFormattedString } from './formatted-string.ts';
import { TokenStream } from './token-stream.ts';
import type { Token } from './token.ts';
import type { ClassDef, Def, DictComp, Expr, For, ListComp, Param, Stmt, While } from './tree.ts';

/** A file that people wrote. */
export interface PythonFile {
  readonly statements: readonly Stmt[];
  /** Functions and classes at its top. */
  readonly definitions: readonly Definition[];
}

/** The statements of a file of Python; throws an ErrorReport for text that is none. */
export function parsePythonFile(source: Source): PythonFile {
  const statements = new PythonParser(source).parseFile();
  return { statements, definitions: statements.filter(isDefinition) };
}

function isDefinition(statement: Stmt): statement is Def | ClassDef {
  return statement.kind === 'def' || statement.kind === 'class';
}

/**
 * Parses all of Python that module files are written in. What TorchScript has not is parsed too, since Python runs some bodies that are
 * never compiled; each definition keeps PyTorch's reason why it could not be.
 */
export class PythonParser extends Parser {
  /** Of the function that is being parsed: the first thing in it that cannot be compiled. */
  #refusal: ErrorReport | undefined;
  /** How many functions the one that is being parsed stands in. */
  #functions = 0;

  constructor(source: Source, start?: number, end?: number) {
    super(source, 'python', start, end);
  }

  parseFile(): readonly Stmt[] {
    const statements: Stmt[] = [];
    while (!this.atEnd) this.parseStatement(statements);
    return statements;
  }

  override parseFunction(isMethod: boolean, decorators: readonly Expr[] = []): Def {
    const outer = this.#refusal;
    this.#refusal = undefined;
    const isOutermost = this.#functions++ === 0;
    const def = { ...super.parseFunction(isMethod, decorators), refusal: this.#refusal };
    this.#functions--;
    this.#refusal = outer;
    if (isOutermost) this.#addSection(decorators[0]?.range.start ?? def.range.start, def.range.end);
    return def;
  }

  /** From line to line. */
  #addSection(start: number, end: number): void {
    const { source } = this.stream;
    const next = source.text.indexOf('\n', end);
    source.sections.push([source.offsetOfLine(source.lineOf(start)), next === -1 ? source.text.length : next + 1]);
  }

  protected override refuse(reason: ErrorReport): void {
    this.#refusal ??= reason;
  }

  // ---- expressions

  protected override parsePythonAtom(token: Token): Expr {
    const { stream } = this;
    this.#refuseAtom(token);
    stream.next();
    if (token.kind === 'lambda') return this.#parseLambda(token);
    const keyword = token.kind === 'await' ? 'await' : stream.nextIf('from') ? 'yield from' : 'yield';
    const isAlone = ['newline', ')', ']', '=', ','].includes(stream.cur.kind);
    const value = isAlone ? undefined : this.parseExpOrExpTuple();
    return { kind: 'python', range: stream.rangeFrom(token.start), form: { kind: 'suspension', keyword, value } };
  }

  #refuseAtom(token: Token): void {
    try {
      super.parsePythonAtom(token);
    } catch (error) {
      this.refuse(error as ErrorReport);
    }
  }

  #parseLambda(token: Token): Expr {
    const { stream } = this;
    const params: Param[] = [];
    let kwargOnly = false;
    while (stream.cur.kind !== ':') {
      if (stream.cur.kind === '*' && stream.lookahead().kind === ',') {
        stream.next();
        kwargOnly = true;
      } else {
        const isVariadic = stream.cur.kind === '*' || stream.cur.kind === '**';
        const variadic = (isVariadic ? stream.next().kind : '') as Param['variadic'];
        const ident = this.parseIdent();
        const defaultValue = stream.nextIf('=') ? this.parseExp() : undefined;
        params.push({ range: ident.range, ident, type: undefined, defaultValue, kwargOnly, variadic });
        kwargOnly ||= variadic === '*';
      }
      if (!stream.nextIf(',')) break;
    }
    stream.expect(':');
    const body = this.parseExp();
    return { kind: 'python', range: stream.rangeFrom(token.start), form: { kind: 'lambda', params, body } };
  }

  protected override parseNamedExpr(target: Expr): Expr {
    const { stream } = this;
    const { start } = target.range;
    this.refuse(new ErrorReport(stream.range(start, start + 1), "NamedExpr aren't supported"));
    stream.expect(':=');
    const value = this.parseExp();
    return { kind: 'python', range: stream.rangeFrom(start), form: { kind: 'named', target, value } };
  }

  protected override parseString(): Expr {
    const { stream } = this;
    const first = stream.cur;
    const rest = new TokenStream(stream.source, stream.dialect, first.start, this.#endOfStrings());
    try {
      const parsed = parseStringExpression(rest, (start, end) => this.parseWithin(start, end));
      while (stream.cur.kind === 'string') stream.next();
      return parsed;
    } catch (error) {
      if (!(error instanceof ErrorReport)) throw error;
      this.refuse(error);
      return parseFormattedString(stream, (start, end) => this.parseWithin(start, end));
    }
  }

  /** Where the last of the literals that stand side by side ends. */
  #endOfStrings(): number {
    let end = this.stream.cur.end;
    for (let ahead = 1; this.stream.lookahead(ahead).kind === 'string'; ahead++) end = this.stream.lookahead(ahead).end;
    return end;
  }

  protected override parseWithin(start: number, end: number): Expr {
    const inner = new PythonParser(this.stream.source, start, end);
    const expr = inner.parseExpOrExpTuple();
    if (inner.#refusal !== undefined) this.refuse(inner.#refusal);
    return expr;
  }

  protected override parseMoreOfComprehension(comprehension: ListComp | DictComp): Expr {
    try {
      super.parseMoreOfComprehension(comprehension);
    } catch (error) {
      this.refuse(error as ErrorReport);
    }
    const { target, iter, range } = comprehension;
    const clauses: ComprehensionClause[] = [{ target, iter, conditions: this.#parseConditions() }];
    while (this.stream.cur.kind === 'for') clauses.push(this.#parseClause());
    const isList = comprehension.kind === 'list-comp';
    const parts = isList ? [comprehension.elt] : [comprehension.key, comprehension.value];
    return {
      kind: 'python',
      range: this.stream.rangeFrom(range.start),
      form: { kind: 'comprehension', of: isList ? 'list' : 'dict', parts, clauses },
    };
  }

  #parseClause(): ComprehensionClause {
    const [target, iter] = this.parseComprehensionClause();
    return { target, iter, conditions: this.#parseConditions() };
  }

  #parseConditions(): readonly Expr[] {
    const conditions: Expr[] = [];
    while (this.stream.nextIf('if')) conditions.push(this.parseOperation());
    return conditions;
  }

  protected override parseSet(open: Token, first: Expr): Expr {
    const { stream } = this;
    const isComprehension = stream.cur.kind === 'for';
    this.refuse(this.unsupported(open, isComprehension ? 'SetComp' : 'Set'));
    if (isComprehension) {
      const clauses: ComprehensionClause[] = [];
      while (stream.cur.kind === 'for') clauses.push(this.#parseClause());
      stream.expect('}');
      const form = { kind: 'comprehension', of: 'set', parts: [first], clauses } as const;
      return { kind: 'python', range: stream.rangeFrom(open.start), form };
    }
    const inputs = [first];
    while (stream.nextIf(',') && stream.cur.kind !== '}') inputs.push(this.parseExpOrStarred());
    stream.expect('}');
    return { kind: 'python', range: stream.rangeFrom(open.start), form: { kind: 'set', inputs } };
  }

  protected override parseExpansion(where: Token, what: string): Expr {
    const { stream } = this;
    this.refuse(new ErrorReport(stream.rangeOf(where), what));
    const { start } = stream.expect('**');
    const mapping = this.parseOperation();
    return { kind: 'python', range: stream.rangeFrom(start), form: { kind: 'expansion', mapping } };
  }

  // ---- statements

  protected override parseBases(): readonly Expr[] {
    const { stream } = this;
    if (!stream.nextIf('(')) return [];
    const bases: Expr[] = [];
    while (stream.cur.kind !== ')') {
      if (stream.cur.kind === 'ident' && stream.lookahead().kind === '=') {
        // What makes a class (`metaclass=ABCMeta`) is no base of it.
        stream.next();
        stream.next();
        this.parseExp();
      } else {
        bases.push(this.parseExpOrStarred());
      }
      if (!stream.nextIf(',')) break;
    }
    stream.expect(')');
    return bases;
  }

  protected override parseLoopElse(loop: For | While, keyword: Token): Stmt {
    const { stream } = this;
    if (stream.cur.kind !== 'else') return loop;
    this.refuse(loopElseRefusal(loop, stream.rangeOf(keyword)));
    stream.next();
    stream.expect(':');
    const orElse = this.parseBlock(false);
    return { kind: 'python', range: this.blockRange(keyword), form: { kind: 'loop-else', loop, orElse } };
  }

  protected override parsePythonStatement(refusal: ErrorReport): Stmt {
    this.refuse(refusal);
    const { stream } = this;
    const token = stream.cur;
    switch (token.kind) {
      case 'try':
        return this.#parseTry();
      case 'nonlocal': {
        stream.next();
        const names = [this.parseIdent()];
        while (stream.nextIf(',')) names.push(this.parseIdent());
        const statement: Stmt = { kind: 'python', range: stream.mark(token), form: { kind: 'nonlocal', names } };
        stream.expect('newline');
        return statement;
      }
      case 'import':
        return this.#parseImport();
      case 'from':
        return this.#parseFromImport();
      default:
        throw refusal;
    }
  }

  #parseTry(): Stmt {
    const { stream } = this;
    const token = stream.next();
    stream.expect(':');
    const body = this.parseBlock(false);
    const handlers: ExceptionHandler[] = [];
    while (stream.nextIf('except')) {
      const type = stream.cur.kind === ':' ? undefined : this.parseExpOrExpTuple();
      const name = stream.nextIf('as') ? this.parseIdent() : undefined;
      stream.expect(':');
      handlers.push({ type, name, body: this.parseBlock(false) });
    }
    const orElse = this.#parseBlockAfter('else');
    const finalBody = this.#parseBlockAfter('finally');
    const form = { kind: 'try', body, handlers, orElse, finalBody } as const;
    return { kind: 'python', range: this.blockRange(token), form };
  }

  #parseBlockAfter(keyword: string): readonly Stmt[] {
    if (!this.stream.nextIf(keyword)) return [];
    this.stream.expect(':');
    return this.parseBlock(false);
  }

  #parseImport(): Stmt {
    const { stream } = this;
    const token = stream.next();
    const names: ImportedName[] = [];
    do {
      names.push({ name: this.#parsePath(), alias: this.#parseAlias() });
    } while (stream.nextIf(','));
    return { kind: 'python', range: stream.mark(token), form: { kind: 'import', from: undefined, names } };
  }

  #parseFromImport(): Stmt {
    const { stream } = this;
    const token = stream.next();
    let from = '';
    while (stream.cur.kind === '.' || stream.cur.kind === '...') from += stream.next().kind;
    if (stream.cur.kind !== 'import') from += this.#parsePath();
    stream.expect('import');
    const inBrackets = stream.nextIf('(');
    const names: ImportedName[] = [];
    while (stream.cur.kind !== ')') {
      const name = stream.nextIf('*') ? '*' : this.parseIdent().name;
      names.push({ name, alias: this.#parseAlias() });
      if (!stream.nextIf(',')) break;
    }
    if (inBrackets) stream.expect(')');
    return { kind: 'python', range: stream.mark(token), form: { kind: 'import', from, names } };
  }

  #parsePath(): string {
    let path = this.parseIdent().name;
    while (this.stream.nextIf('.')) path += `.${this.parseIdent().name}`;
    return path;
  }

  #parseAlias(): string | undefined {
    return this.stream.nextIf('as') ? this.parseIdent().name : undefined;
  }
}
