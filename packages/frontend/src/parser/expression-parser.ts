import { ErrorReport, type SourceRange } from '@cresset/ir';
import { negateNumber, parseNumber } from './number-literal.ts';
import { parseStringExpression } from './string-expression.ts';
import { TokenStream } from './token-stream.ts';
import { AUGMENTED_ASSIGNMENTS, type Token } from './token.ts';
import {
  makeApply,
  makeIdent,
  makeTuple,
  type Attribute,
  type BinaryOperator,
  type BinOp,
  type DictComp,
  type Expr,
  type Ident,
  type ListComp,
  type Subscript,
  type UnaryOperator,
} from './tree.ts';

/** Which of Python's binary operators bind tighter; powers are parsed by themselves. */
export const BINARY_PRECEDENCE: Readonly<Record<string, number>> = {
  or: 2,
  and: 3,
  in: 5,
  'not in': 5,
  is: 5,
  'is not': 5,
  '<': 5,
  '>': 5,
  '<=': 5,
  '>=': 5,
  '==': 5,
  '!=': 5,
  '|': 6,
  '^': 7,
  '&': 8,
  '<<': 9,
  '>>': 9,
  '+': 10,
  '-': 10,
  '*': 11,
  '/': 11,
  '//': 11,
  '%': 11,
  '@': 11,
};
const NOT_PRECEDENCE = 4;
const COMPARISON_PRECEDENCE = 5;
const OR_PRECEDENCE = 6;

/** Kinds of tokens that end a list of expressions separated by commas. */
const ENDS_EXPRESSION_LIST: ReadonlySet<string> = new Set([
  'newline',
  'eof',
  '=',
  ')',
  ']',
  '}',
  ':',
  ';',
  'in',
  ...AUGMENTED_ASSIGNMENTS,
]);

/** Tokens that are an expression by themselves, as most are: names, numbers and constants. */
const SINGLE_TOKENS: ReadonlySet<string> = new Set(['ident', 'number', 'True', 'False', 'None']);
/** Kinds of tokens that no expression goes on with. */
const ENDS_SINGLE: ReadonlySet<string> = new Set([',', ')', ']', '}', 'newline', 'eof', '=', ':', ';']);

/** Parses expressions by precedence climbing, with Python's precedences (PyTorch: ParserImpl's expressions). */
export class ExpressionParser {
  protected readonly stream: TokenStream;

  constructor(stream: TokenStream) {
    this.stream = stream;
  }

  parseExp(): Expr {
    if (SINGLE_TOKENS.has(this.stream.cur.kind) && ENDS_SINGLE.has(this.stream.lookahead().kind))
      return this.parseAtom();
    return this.stream.nested(() => {
      const { stream } = this;
      const value = this.#parseBinary(0);
      if (stream.cur.kind !== 'if') {
        return value;
      }
      const keyword = stream.next();
      const cond = this.#parseBinary(0);
      stream.expect('else');
      const falseExpr = this.parseExp();
      return {
        kind: 'ternary',
        range: stream.mark(keyword, value.range.start, falseExpr.range.end),
        cond,
        trueExpr: value,
        falseExpr,
      };
    });
  }

  /** `exp`, or a tuple `exp,` or `exp, exp, …` without brackets. */
  parseExpOrExpTuple(): Expr {
    const { stream } = this;
    const first = this.parseExpOrStarred();
    if (stream.cur.kind !== ',') {
      return first;
    }
    const inputs = [first];
    while (stream.nextIf(',') && !ENDS_EXPRESSION_LIST.has(stream.cur.kind)) {
      inputs.push(this.parseExpOrStarred());
    }
    return makeTuple(stream.span(first, inputs.at(-1)), inputs);
  }

  /** A target of an assignment or loop: no comparison, so that `in` ends it. */
  parseTarget(): Expr {
    const { stream } = this;
    if (stream.cur.kind === '*') {
      const star = stream.next();
      const expr = this.#parseBinary(OR_PRECEDENCE);
      return { kind: 'starred', range: stream.range(star.start, expr.range.end), expr };
    }
    return this.#parseBinary(OR_PRECEDENCE);
  }

  /** The targets of a `for`, up to its `in`. */
  parseTargetList(): readonly Expr[] {
    const targets = [this.parseTarget()];
    while (this.stream.nextIf(',') && this.stream.cur.kind !== 'in') {
      targets.push(this.parseTarget());
    }
    return targets;
  }

  /** An expression without a condition: `a if b else c` has to stand in brackets. */
  protected parseOperation(): Expr {
    return this.#parseBinary(0);
  }

  parseIdent(): Ident {
    const token = this.stream.expect('ident');
    return makeIdent(this.stream.rangeOf(token), this.stream.text(token));
  }

  protected parseExpOrStarred(): Expr {
    const { stream } = this;
    if (stream.cur.kind !== '*') {
      return this.parseExp();
    }
    const star = stream.next();
    const expr = this.parseExp();
    return { kind: 'starred', range: stream.range(star.start, expr.range.end), expr };
  }

  protected parseString(): Expr {
    const { stream } = this;
    return parseStringExpression(stream, (start, end) => this.parseWithin(start, end));
  }

  /** The expression that a part of the source is. */
  protected parseWithin(start: number, end: number): Expr {
    const { source, dialect } = this.stream;
    return new ExpressionParser(new TokenStream(source, dialect, start, end)).parseExpOrExpTuple();
  }

  /** A comprehension, after its first `for … in …`. */
  protected finishComprehension(comprehension: ListComp | DictComp): Expr {
    return comprehension;
  }

  #parseBinary(minimum: number): Expr {
    let lhs = this.#parseUnary();
    for (;;) {
      const op = this.#binaryOperator();
      const precedence = op === undefined ? undefined : BINARY_PRECEDENCE[op];
      if (op === undefined || precedence === undefined || precedence < minimum) {
        return lhs;
      }
      const token = this.#nextOperator(op);
      if (precedence === COMPARISON_PRECEDENCE) {
        lhs = this.#parseComparisons(lhs, op, token);
      } else {
        lhs = this.#binary(op as BinaryOperator, lhs, this.#parseBinary(precedence + 1), token);
      }
    }
  }

  /** `a < b <= c` is `(a < b) and (b <= c)`, with `b` evaluated twice, as PyTorch's frontend has it. */
  #parseComparisons(first: Expr, firstOp: string, firstToken: Token): Expr {
    let lhs = first;
    let op: string | undefined = firstOp;
    let token = firstToken;
    let result: Expr | undefined;
    for (;;) {
      const rhs = this.#parseBinary(OR_PRECEDENCE);
      const comparison = this.#comparison(op, lhs, rhs, token);
      result = result === undefined ? comparison : this.#binary('and', result, comparison, token);
      op = this.#binaryOperator();
      if (op === undefined || BINARY_PRECEDENCE[op] !== COMPARISON_PRECEDENCE) {
        return result;
      }
      lhs = rhs;
      token = this.#nextOperator(op);
    }
  }

  #comparison(op: string, lhs: Expr, rhs: Expr, token: Token): Expr {
    if (op !== 'not in') {
      return this.#binary(op as BinaryOperator, lhs, rhs, token);
    }
    const contains = this.#binary('in', lhs, rhs, token);
    return { kind: 'unary', range: contains.range, op: 'not', operand: contains };
  }

  #binary(op: BinaryOperator, lhs: Expr, rhs: Expr, token: Token): BinOp {
    return { kind: 'binary', range: this.stream.mark(token, lhs.range.start, rhs.range.end), op, lhs, rhs };
  }

  /** The operator at the current token, two-word ones joined. */
  #binaryOperator(): string | undefined {
    const { kind } = this.stream.cur;
    if (kind === 'is' && this.stream.lookahead().kind === 'not') {
      return 'is not';
    }
    if (kind === 'not') {
      return this.stream.lookahead().kind === 'in' ? 'not in' : undefined;
    }
    return Object.hasOwn(BINARY_PRECEDENCE, kind) ? kind : undefined;
  }

  #nextOperator(op: string): Token {
    const token = this.stream.next();
    if (op === 'is not' || op === 'not in') {
      this.stream.next();
    }
    return token;
  }

  /** A sign, `~`, or `not`, or a power. `inPower`: right of a `**`. */
  #parseUnary(inPower = false): Expr {
    const { stream } = this;
    const { kind } = stream.cur;
    if (kind === '-' || kind === '~' || kind === '+' || (kind === 'not' && !inPower)) {
      return stream.nested(() => this.parseUnaryOperator(kind));
    }
    const base = this.#parseBaseExp();
    if (stream.cur.kind !== '**') {
      return base;
    }
    // `**` binds to the right, more tightly than a sign on its left and less than one on its right.
    const token = stream.next();
    return this.#binary(
      '**',
      base,
      stream.nested(() => this.#parseUnary(true)),
      token,
    );
  }

  protected parseUnaryOperator(op: UnaryOperator): Expr {
    const { stream } = this;
    const token = stream.next();
    const operand = op === 'not' ? this.#parseBinary(NOT_PRECEDENCE) : this.#parseUnary();
    // PyTorch's parser makes one number of it; what Python has parsed for PyTorch is an operation.
    if (op === '-' && operand.kind === 'const' && stream.dialect !== 'library') {
      return { kind: 'const', range: stream.range(token.start, operand.range.end), value: negateNumber(operand.value) };
    }
    return { kind: 'unary', range: stream.mark(token, token.start, operand.range.end), op, operand };
  }

  #parseBaseExp(): Expr {
    const { stream } = this;
    let expr = this.parseAtom();
    for (;;) {
      switch (stream.cur.kind) {
        case '.': {
          stream.next();
          const selector = this.#parseSelector();
          const range = stream.isPython ? this.#selectRange(expr, selector) : selector.range;
          expr = { kind: 'select', range, value: expr, selector };
          break;
        }
        case '(':
          expr = this.#parseCall(expr);
          break;
        case '[':
          expr = this.parseSubscript(expr);
          break;
        default:
          return expr;
      }
    }
  }

  /** Python tells no place of an attribute: PyTorch counts it from the end of what stands before the dot. */
  #selectRange(value: Expr, selector: Ident): SourceRange {
    const { text } = this.stream.source;
    let start = value.range.end + 1;
    while (/\s/.test(text.charAt(start))) start++;
    return this.stream.range(value.range.start, start + selector.name.length);
  }

  /** From an opening bracket to the last of what stands in it: Python does not tell where the closing one is. */
  #markBracket(open: Token, last: Expr | undefined): SourceRange {
    return this.stream.mark(open, open.start, last?.range.end ?? open.end);
  }

  /** A name after a dot: keywords too, since attributes of saved modules may be called anything. */
  #parseSelector(): Ident {
    const { stream } = this;
    const token = stream.cur;
    const text = stream.text(token);
    if (token.kind !== 'ident' && (token.kind !== text || !/^\w+$/.test(text))) {
      throw stream.expected('ident');
    }
    stream.next();
    return makeIdent(stream.rangeOf(token), text);
  }

  protected parseAtom(): Expr {
    const { stream } = this;
    const token = stream.cur;
    switch (token.kind) {
      case 'number':
        stream.next();
        return { kind: 'const', range: stream.rangeOf(token), value: this.#parseNumber(token) };
      case 'string':
        return this.parseString();
      case 'True':
      case 'False':
        stream.next();
        return { kind: 'bool', range: stream.rangeOf(token), value: token.kind === 'True' };
      case 'None':
        stream.next();
        return { kind: 'none', range: stream.rangeOf(token) };
      case '...':
        stream.next();
        return { kind: 'dots', range: stream.rangeOf(token) };
      case '(':
        return this.#parseParenthesised();
      case '[':
        return this.#parseList();
      case '{':
        return this.parseDict();
      default: {
        const name = this.parseIdent();
        const { range } = name;
        return name.name === 'Ellipsis' ? { kind: 'dots', range } : { kind: 'var', range, name };
      }
    }
  }

  #parseNumber(token: Token): ReturnType<typeof parseNumber> {
    try {
      return parseNumber(this.stream.text(token));
    } catch (error) {
      throw new ErrorReport(this.stream.rangeOf(token), (error as RangeError).message);
    }
  }

  #parseParenthesised(): Expr {
    const { stream } = this;
    const open = stream.expect('(');
    if (stream.nextIf(')')) {
      return makeTuple(stream.rangeFrom(open.start), []);
    }
    const inner = this.parseExpOrExpTuple();
    const result = stream.cur.kind === 'for' ? this.#parseComprehension(inner, open.start) : inner;
    stream.expect(')');
    return inner.kind === 'tuple' && stream.isPython && result === inner
      ? { ...inner, range: stream.range(open.start, inner.range.end) }
      : result;
  }

  #parseList(): Expr {
    const { stream } = this;
    const open = stream.expect('[');
    const inputs: Expr[] = [];
    while (stream.cur.kind !== ']') {
      const element = this.parseExpOrStarred();
      if (stream.cur.kind === 'for' && inputs.length === 0) {
        const comprehension = this.#parseComprehension(element, open.start);
        stream.expect(']');
        return comprehension;
      }
      inputs.push(element);
      if (!stream.nextIf(',')) {
        break;
      }
    }
    stream.expect(']');
    return { kind: 'list', range: this.#markBracket(open, inputs.at(-1)), inputs };
  }

  /** The `for … in …` after the element of a list comprehension or generator. */
  #parseComprehension(elt: Expr, start: number): Expr {
    const [target, iter] = this.parseComprehensionClause();
    return this.finishComprehension({
      kind: 'list-comp',
      range: this.stream.range(start, iter.range.end),
      elt,
      target,
      iter,
    });
  }

  protected parseComprehensionClause(): [target: Expr, iter: Expr] {
    const { stream } = this;
    stream.expect('for');
    const targets = this.parseTargetList();
    const target = targets.length === 1 && stream.previous.kind !== ',' ? targets[0]! : this.#tupleOf(targets);
    stream.expect('in');
    return [target, this.parseOperation()];
  }

  #tupleOf(inputs: readonly Expr[]): Expr {
    return makeTuple(this.stream.span(inputs[0]!, inputs.at(-1)), inputs);
  }

  protected parseDict(): Expr {
    const { stream } = this;
    const open = stream.expect('{');
    const keys: Expr[] = [];
    const values: Expr[] = [];
    while (stream.cur.kind !== '}') {
      const key = this.parseExp();
      stream.expect(':');
      const value = this.parseExp();
      if (stream.cur.kind === 'for' && keys.length === 0) {
        const [target, iter] = this.parseComprehensionClause();
        const range = stream.range(open.start, iter.range.end);
        const comprehension = this.finishComprehension({ kind: 'dict-comp', range, key, value, target, iter });
        stream.expect('}');
        return comprehension;
      }
      keys.push(key);
      values.push(value);
      if (!stream.nextIf(',')) {
        break;
      }
    }
    stream.expect('}');
    return { kind: 'dict', range: this.#markBracket(open, values.at(-1)), keys, values };
  }

  #parseCall(callee: Expr): Expr {
    const { stream } = this;
    const open = stream.expect('(');
    const inputs: Expr[] = [];
    const attributes: Attribute[] = [];
    while (stream.cur.kind !== ')') {
      this.#parseArgument(inputs, attributes);
      if (!stream.nextIf(',')) {
        break;
      }
    }
    stream.expect(')');
    const last = [...inputs, ...attributes.map(({ value }) => value)].reduce(
      (end, { range }) => Math.max(end, range.end),
      callee.range.end,
    );
    return makeApply(stream.mark(open, callee.range.start, last), callee, inputs, attributes);
  }

  #parseArgument(inputs: Expr[], attributes: Attribute[]): void {
    const { stream } = this;
    if (stream.cur.kind === 'ident' && stream.lookahead().kind === '=') {
      const name = this.parseIdent();
      stream.expect('=');
      attributes.push({ range: name.range, name, value: this.parseExp() });
      return;
    }
    const start = stream.cur.start;
    const input = this.parseExpOrStarred();
    inputs.push(stream.cur.kind === 'for' ? this.#parseComprehension(input, start) : input);
  }

  protected parseSubscript(value: Expr): Subscript {
    const { stream } = this;
    const open = stream.expect('[');
    const subscripts: Expr[] = [];
    let trailingComma = false;
    while (stream.cur.kind !== ']') {
      subscripts.push(this.#parseSubscriptExp());
      trailingComma = stream.nextIf(',');
      if (!trailingComma) {
        break;
      }
    }
    const subscriptsRange = stream.rangeFrom(open.start + 1);
    stream.expect(']');
    if (subscripts.length === 0) {
      throw new ErrorReport(stream.rangeFrom(open.start), 'expected an index between the brackets');
    }
    const start = stream.isPython ? value.range.start : open.start;
    return { kind: 'subscript', range: stream.rangeFrom(start), value, subscripts, subscriptsRange };
  }

  #parseSubscriptExp(): Expr {
    const { stream } = this;
    const { start } = stream.cur;
    const first = stream.cur.kind === ':' ? undefined : this.parseExpOrStarred();
    if (!stream.nextIf(':')) {
      return first!;
    }
    const end = this.#parseSliceBound();
    const step = stream.nextIf(':') ? this.#parseSliceBound() : undefined;
    return { kind: 'slice', range: stream.rangeFrom(start), start: first, end, step };
  }

  #parseSliceBound(): Expr | undefined {
    const { kind } = this.stream.cur;
    return kind === ',' || kind === ']' || kind === ':' ? undefined : this.parseExp();
  }
}
