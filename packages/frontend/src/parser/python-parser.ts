import { ErrorReport, type Source, type SourceRange } from '@cresset/ir';
import { Parser, type Definition } from './parser.ts';
import type { ComprehensionClause, ExceptionHandler, ImportedName } from './python-tree.ts';
import { parseStringExpression } from './string-expression.ts';
import { parseFormattedString } from './formatted-string.ts';
import { dottedName } from '../script-type-parser.ts';
import { TokenStream } from './token-stream.ts';
import type { Token } from './token.ts';
import type {
  Assign,
  AugAssign,
  ClassDef,
  Def,
  DictComp,
  Expr,
  For,
  ListComp,
  Param,
  Stmt,
  Subscript,
  UnaryOperator,
  While,
} from './tree.ts';

const VARIADIC_MESSAGE =
  "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults";

const WHILE_ELSE_MESSAGE =
  '__init__(): incompatible constructor arguments. The following argument types are supported:\n' +
  '    1. torch._C.ErrorReport(arg0: torch._C._jit_tree_views.SourceRange)\n\nInvoked with: None';

const MUTABLE_DEFAULT_MESSAGE =
  'Mutable default parameters are not supported because Python binds them to the function and they persist across ' +
  'function calls.\n As a workaround, make the default None and instantiate the default parameter within the body of the function. ';

function isMutableLiteral(expr: Expr): boolean {
  return (
    ['list', 'dict', 'list-comp', 'dict-comp'].includes(expr.kind) ||
    (expr.kind === 'tuple' && expr.inputs.some(isMutableLiteral))
  );
}

/** `@torch.autocast('cpu')`, whatever its module is called. */
function isAutocast(decorator: Expr): boolean {
  return decorator.kind === 'apply' && /(^|\.)autocast$/.test(dottedName(decorator.callee) ?? '');
}

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
  /** What speaks against a default of its. */
  #mutableDefault: string | undefined;
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
    if (decorators.some(isAutocast)) {
      this.#refuse(undefined, 'TorchScript error: @autocast() decorator is not supported in script mode');
    }
    const isOutermost = this.#functions++ === 0;
    const mutableOutside = this.#mutableDefault;
    this.#mutableDefault = undefined;
    const parsed = super.parseFunction(isMethod, decorators);
    // PyTorch looks at defaults when it has read the whole function.
    if (this.#mutableDefault !== undefined) this.#refuse(parsed.range, this.#mutableDefault);
    this.#mutableDefault = mutableOutside;
    const def = { ...parsed, refusal: this.#refusal };
    this.#functions--;
    this.#refusal = outer;
    // A method is compiled without what its class stands in.
    if (isOutermost || isMethod) this.#addSection(decorators[0]?.range.start ?? def.range.start, def.range.end);
    return def;
  }

  /** From line to line. */
  #addSection(start: number, end: number): void {
    const { source } = this.stream;
    const next = source.text.indexOf('\n', end);
    source.sections.push([source.offsetOfLine(source.lineOf(start)), next === -1 ? source.text.length : next + 1]);
  }

  /** Notes why the function cannot be compiled; what is said first counts. */
  #refuse(range: SourceRange | undefined, reason: string): void {
    this.#refusal ??= new ErrorReport(range, reason);
  }

  /** Notes something that TorchScript has not, in the words of PyTorch's Python frontend. */
  #unsupported(token: Token, what: string, length = 1): void {
    this.#refuse(this.stream.range(token.start, token.start + length), `${what} aren't supported`);
  }

  // ---- expressions

  override parseExp(): Expr {
    const { stream } = this;
    if (stream.cur.kind !== '**') return super.parseExp();
    this.#refuse(stream.rangeOf(stream.cur), 'keyword-arg expansion is not supported');
    return this.#parseExpansion();
  }

  #parseExpansion(): Expr {
    const { start } = this.stream.expect('**');
    const mapping = this.parseOperation();
    return { kind: 'python', range: this.stream.rangeFrom(start), form: { kind: 'expansion', mapping } };
  }

  protected override parseExpOrStarred(): Expr {
    const { stream } = this;
    const target = super.parseExpOrStarred();
    if (stream.cur.kind !== ':=') return target;
    const { start } = target.range;
    this.#refuse(stream.range(start, start + 1), "NamedExpr aren't supported");
    stream.expect(':=');
    const value = this.parseExp();
    return { kind: 'python', range: stream.rangeFrom(start), form: { kind: 'named', target, value } };
  }

  /** `x[(a, b)]` is `x[a, b]`, but for types: PyTorch refuses `Tuple[(int,)]` in text that it compiles. */
  protected override parseSubscript(value: Expr): Subscript {
    const parsed = super.parseSubscript(value);
    const [only, ...others] = parsed.subscripts;
    const isType = value.kind === 'var' && value.name.name === 'Tuple';
    const isPair = !isType && only?.kind === 'tuple' && only.inputs.length > 0 && others.length === 0;
    return isPair ? { ...parsed, subscripts: only.inputs } : parsed;
  }

  protected override parseUnaryOperator(op: UnaryOperator): Expr {
    const parsed = super.parseUnaryOperator(op);
    // What PyTorch's Python frontend says of it, which has no unary plus.
    if (op === '+') this.#refuse(undefined, "'UnaryOp' object has no attribute 'range'");
    return parsed;
  }

  protected override parseAtom(): Expr {
    const { stream } = this;
    const token = stream.cur;
    switch (token.kind) {
      case 'lambda':
        this.#unsupported(token, 'Lambda');
        return this.#parseLambda();
      case 'yield':
      case 'await':
        return this.#parseSuspension();
      default: {
        const atom = super.parseAtom();
        if (atom.kind === 'var' && atom.name.name.startsWith('__jit')) {
          this.#refuse(atom.range, "names of variables used in JIT-ed functions can't start with __jit");
        }
        return atom;
      }
    }
  }

  #parseSuspension(): Expr {
    const { stream } = this;
    const token = stream.next();
    const isFrom = token.kind === 'yield' && stream.nextIf('from');
    this.#unsupported(token, token.kind === 'await' ? 'Await' : isFrom ? 'YieldFrom' : 'Yield');
    const keyword = token.kind === 'await' ? 'await' : isFrom ? 'yield from' : 'yield';
    const isAlone = ['newline', ')', ']', '=', ','].includes(stream.cur.kind);
    const value = isAlone ? undefined : this.parseExpOrExpTuple();
    return { kind: 'python', range: stream.rangeFrom(token.start), form: { kind: 'suspension', keyword, value } };
  }

  #parseLambda(): Expr {
    const { stream } = this;
    const token = stream.next();
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

  protected override parseString(): Expr {
    const { stream } = this;
    const rest = new TokenStream(stream.source, stream.dialect, stream.cur.start, this.#endOfStrings());
    try {
      const parsed = parseStringExpression(rest, (start, end) => this.parseWithin(start, end));
      while (stream.cur.kind === 'string') stream.next();
      return parsed;
    } catch (error) {
      if (!(error instanceof ErrorReport)) throw error;
      this.#refuse(error.range, error.reason);
      return parseFormattedString(stream, (start, end) => this.parseWithin(start, end));
    }
  }

  /** Where the last of the literals that stand side by side ends. */
  #endOfStrings(): number {
    let { end } = this.stream.cur;
    for (let ahead = 1; this.stream.lookahead(ahead).kind === 'string'; ahead++) end = this.stream.lookahead(ahead).end;
    return end;
  }

  protected override parseWithin(start: number, end: number): Expr {
    const inner = new PythonParser(this.stream.source, start, end);
    const expr = inner.parseExpOrExpTuple();
    this.#refusal ??= inner.#refusal;
    return expr;
  }

  protected override finishComprehension(comprehension: ListComp | DictComp): Expr {
    const { stream } = this;
    const next = stream.cur.kind;
    if (next !== 'if' && next !== 'for') return comprehension;
    const { target, iter, range } = comprehension;
    this.#refuse(
      stream.range(range.start, range.start),
      next === 'if' ? 'Comprehension ifs are not supported yet' : 'Only a single generator is currently supported',
    );
    const clauses: ComprehensionClause[] = [{ target, iter, conditions: this.#parseConditions() }];
    while (stream.cur.kind === 'for') clauses.push(this.#parseClause());
    const isList = comprehension.kind === 'list-comp';
    const parts = isList ? [comprehension.elt] : [comprehension.key, comprehension.value];
    const form = { kind: 'comprehension', of: isList ? 'list' : 'dict', parts, clauses } as const;
    return { kind: 'python', range: stream.rangeFrom(range.start), form };
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

  /** A dict, or a set. */
  protected override parseDict(): Expr {
    const { stream } = this;
    const open = stream.expect('{');
    const keys: Expr[] = [];
    const values: Expr[] = [];
    while (stream.cur.kind !== '}') {
      if (stream.cur.kind === '**') {
        this.#refuse(stream.rangeOf(open), 'Dict expansion (e.g. `{**dict}`) is not supported');
        const expansion = this.#parseExpansion();
        keys.push(expansion);
        values.push(expansion);
      } else {
        const key = this.parseExpOrStarred();
        if (!stream.nextIf(':')) return this.#parseSet(open, key);
        const value = this.parseExp();
        if (stream.cur.kind === 'for' && keys.length === 0) return this.#parseDictComprehension(open, key, value);
        keys.push(key);
        values.push(value);
      }
      if (!stream.nextIf(',')) break;
    }
    stream.expect('}');
    const end = values.at(-1)?.range.end ?? open.end;
    return { kind: 'dict', range: stream.mark(open, open.start, end), keys, values };
  }

  #parseDictComprehension(open: Token, key: Expr, value: Expr): Expr {
    const [target, iter] = this.parseComprehensionClause();
    const range = this.stream.range(open.start, iter.range.end);
    const comprehension = this.finishComprehension({ kind: 'dict-comp', range, key, value, target, iter });
    this.stream.expect('}');
    return comprehension;
  }

  #parseSet(open: Token, first: Expr): Expr {
    const { stream } = this;
    const isComprehension = stream.cur.kind === 'for';
    this.#unsupported(open, isComprehension ? 'SetComp' : 'Set');
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

  // ---- definitions

  protected override parseParam(kwargOnly: boolean, variadic: Param['variadic']): Param {
    const param = super.parseParam(kwargOnly, variadic);
    const { ident, defaultValue } = param;
    if (variadic !== '') {
      this.#refuse(this.stream.range(ident.range.start - 1, ident.range.end), VARIADIC_MESSAGE);
    } else if (kwargOnly && defaultValue !== undefined) {
      this.#refuse(defaultValue.range, VARIADIC_MESSAGE);
    } else if (defaultValue !== undefined && isMutableLiteral(defaultValue)) {
      const className = defaultValue.kind.split('-')[0];
      this.#mutableDefault ??= `${MUTABLE_DEFAULT_MESSAGE}Found <class '${className}'> on parameter ${ident.name}`;
    }
    return param;
  }

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

  // ---- statements

  protected override parseStatement(into: Stmt[]): void {
    const { stream } = this;
    const token = stream.cur;
    switch (token.kind) {
      case 'try':
        this.#unsupported(token, 'try blocks', token.kind.length);
        into.push(this.#parseTry());
        return;
      case 'async':
        throw new ErrorReport(stream.rangeOf(token), "async function definitions aren't supported");
      case 'for':
      case 'while':
        super.parseStatement(into);
        if (stream.cur.kind === 'else') into.push(this.#parseLoopElse(into.pop() as For | While, token));
        return;
      case 'class':
        if (!this.inClass && this.#functions > 0) this.#unsupported(token, 'class definitions', token.kind.length);
        super.parseStatement(into);
        return;
      default:
        if (this.#startsMatch())
          throw new ErrorReport(stream.range(token.start, token.start + 1), "Match aren't supported");
        super.parseStatement(into);
    }
  }

  /** `match` is a keyword where a subject follows, which begins unlike anything that can follow a name. */
  #startsMatch(): boolean {
    const { stream } = this;
    return (
      stream.cur.kind === 'ident' &&
      stream.text(stream.cur) === 'match' &&
      ['ident', 'number', 'string'].includes(stream.lookahead().kind)
    );
  }

  #parseLoopElse(loop: For | While, keyword: Token): Stmt {
    const { stream } = this;
    // PyTorch's frontend fails while it says so of `while`.
    if (loop.kind === 'while') this.#refuse(undefined, WHILE_ELSE_MESSAGE);
    else this.#refuse(stream.rangeOf(keyword), "else branches of for loops aren't supported");
    const orElse = this.#parseBlockAfter('else');
    return { kind: 'python', range: this.blockRange(keyword), form: { kind: 'loop-else', loop, orElse } };
  }

  protected override parseSimpleStatement(): Stmt {
    const { stream } = this;
    const token = stream.cur;
    switch (token.kind) {
      case 'import':
      case 'from':
        this.#unsupported(token, 'import statements', token.kind.length);
        return token.kind === 'import' ? this.#parseImport() : this.#parseFromImport();
      case 'nonlocal':
        this.#unsupported(token, 'nonlocal variables', token.kind.length);
        return this.#parseNonlocal();
      case 'global':
        this.#unsupported(token, 'global variables', token.kind.length);
        break;
      case 'raise':
        if (stream.lookahead().kind === 'newline') {
          this.#refuse(stream.rangeOf(token), 'raise without an exception is not supported');
        }
        break;
    }
    const statement = super.parseSimpleStatement();
    if (statement.kind === 'assign') this.#checkDeclaration(statement);
    if (statement.kind === 'aug-assign') this.#checkAugmented(statement);
    return statement;
  }

  #checkDeclaration({ rhs, lhsList }: Assign): void {
    if (rhs !== undefined || this.inClass) return;
    const { start } = lhsList[0]!.range;
    this.#refuse(this.stream.range(start, start + 1), "annotated assignments without assigned value aren't supported");
  }

  #checkAugmented({ op, lhs, rhs }: AugAssign): void {
    const what = op === '//' ? 'FloorDiv' : op === '@' ? 'MatMult' : undefined;
    if (what === undefined) return;
    const end = this.stream.source.text.lastIndexOf('=', rhs.range.start) + 1;
    const place = this.stream.range(Math.max(end - 2, lhs.range.end), end);
    this.#refuse(place, `unsupported kind of augmented assignment: ${what}`);
  }

  #parseNonlocal(): Stmt {
    const { stream } = this;
    const token = stream.next();
    const names = [this.parseIdent()];
    while (stream.nextIf(',')) names.push(this.parseIdent());
    return { kind: 'python', range: stream.mark(token), form: { kind: 'nonlocal', names } };
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
