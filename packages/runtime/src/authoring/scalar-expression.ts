import { Parser, type Expr as Syntax } from '@cresset/frontend';
import { CressetError, ErrorReport, Source } from '@cresset/ir';
import type { PointwiseArguments } from '@cresset/operators';
import {
  binary,
  binaryFunctions,
  cast,
  constant,
  param,
  select,
  unary,
  unaryFunctions,
  type BinaryFunction,
  type Expr,
  type ExprType,
  type UnaryFunction,
} from '@cresset/tensorexpr';

/**
 * A value of elements at one place, as data: a number, the name of an argument, or a function with its operands
 * (`['mul', 'x', ['sigmoid', 'x']]`). `where` takes a condition and two values.
 */
export type ScalarForm = number | boolean | string | ScalarCall;

/** A function's name, then its operands. */
export interface ScalarCall extends ReadonlyArray<ScalarForm> {
  readonly 0: string;
}

const BINARY: ReadonlySet<string> = new Set(binaryFunctions.filter((name) => name !== 'philox'));
const UNARY: ReadonlySet<string> = new Set(unaryFunctions);

/** Functions that are said with others, by the number of their operands. */
const DERIVED: Readonly<Record<string, (...x: Expr[]) => Expr>> = {
  sigmoid: (x) => binary('div', one(x), binary('add', one(x), unary('exp', unary('neg', x)))),
  relu: (x) => binary('max', x, constant(x.type, 0)),
  square: (x) => binary('mul', x, x),
  reciprocal: (x) => binary('div', one(x), x),
  clamp: (x, low, high) => binary('min', binary('max', x, low), high),
  where: (condition, x, y) => select(cast('bool', condition), x, y),
};

const one = (x: Expr): Expr => constant(x.type, 1);

/** Python's operators as functions of this language. */
const OPERATORS: Readonly<Record<string, BinaryFunction>> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '//': 'floordiv',
  '%': 'remainder',
  '**': 'pow',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
  '==': 'eq',
  '!=': 'ne',
  and: 'and',
  or: 'or',
  '&': 'and',
  '|': 'or',
  '^': 'xor',
};

/** The form of an expression in Python's syntax: `x * sigmoid(alpha * x) if x > 0 else 0.0`. Throws an ErrorReport. */
export function parseScalarExpression(text: string): ScalarForm {
  return formOf(new Parser(new Source(text, '<expression>')).parseSingleExpression());
}

function formOf(syntax: Syntax): ScalarForm {
  switch (syntax.kind) {
    case 'const':
      if (typeof syntax.value !== 'object') return Number(syntax.value);
      break;
    case 'bool':
      return syntax.value;
    case 'var':
      return syntax.name.name;
    case 'unary':
      if (syntax.op === '+') return formOf(syntax.operand);
      return [syntax.op === '-' ? 'neg' : 'not', formOf(syntax.operand)];
    case 'binary': {
      const fn = OPERATORS[syntax.op];
      if (fn) return [fn, formOf(syntax.lhs), formOf(syntax.rhs)];
      break;
    }
    case 'ternary':
      return ['where', formOf(syntax.cond), formOf(syntax.trueExpr), formOf(syntax.falseExpr)];
    case 'apply':
      if (syntax.attributes.length === 0) return [functionName(syntax.callee), ...syntax.inputs.map(formOf)];
      break;
    default:
      break;
  }
  throw new ErrorReport(syntax.range, 'this is no part of a scalar expression');
}

/** `exp`, `math.exp` and `torch.exp` are one. */
function functionName(callee: Syntax): string {
  if (callee.kind === 'var') return callee.name.name;
  if (callee.kind === 'select' && callee.value.kind === 'var' && /^(?:math|torch)$/.test(callee.value.name.name)) {
    return callee.selector.name;
  }
  throw new ErrorReport(callee.range, 'a scalar expression calls functions by their names');
}

/** The names of arguments in a form. Throws `OPERATOR_EXPRESSION` for what is no form, or no known function. */
export function argumentsOf(form: ScalarForm): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (each: ScalarForm): void => {
    if (typeof each === 'string') names.add(each);
    else if (typeof each === 'object' && each !== null) {
      const [fn, ...operands] = each;
      const arity = arityOf(fn);
      if (arity !== operands.length) {
        throw new CressetError(
          'OPERATOR_EXPRESSION',
          arity === undefined
            ? `there is no scalar function '${fn}'`
            : `'${fn}' takes ${arity} operands, and was given ${operands.length}`,
        );
      }
      operands.forEach(visit);
    } else if (typeof each !== 'number' && typeof each !== 'boolean') {
      throw new CressetError('OPERATOR_EXPRESSION', `a ${typeof each} is no scalar expression`);
    }
  };
  visit(form);
  return names;
}

function arityOf(fn: string): number | undefined {
  if (Object.hasOwn(DERIVED, fn)) return DERIVED[fn].length;
  return UNARY.has(fn) ? 1 : BINARY.has(fn) ? 2 : undefined;
}

/** The expression of a form, over the arguments of a pointwise row. */
export function scalarExpr(form: ScalarForm, args: PointwiseArguments, type: ExprType): Expr {
  if (typeof form === 'number') return constant(type, type === 'i64' ? BigInt(Math.trunc(form)) : form);
  if (typeof form === 'boolean') return constant('bool', form);
  if (typeof form === 'string') {
    const value = args[form] as Expr | number | boolean;
    return typeof value === 'object' ? value : param(type, type === 'i64' ? BigInt(Number(value)) : Number(value));
  }
  const [fn, ...given] = form;
  const operands = alike(
    given.map((each) => scalarExpr(each, args, type)),
    fn === 'where',
    type,
  );
  if (Object.hasOwn(DERIVED, fn)) return DERIVED[fn](...operands);
  return UNARY.has(fn)
    ? unary(fn as UnaryFunction, operands[0])
    : binary(fn as BinaryFunction, operands[0], operands[1]);
}

/** Operands of one type: a comparison is a number where it meets one. */
function alike(operands: readonly Expr[], isChoice: boolean, type: ExprType): Expr[] {
  const values = isChoice ? operands.slice(1) : operands;
  const common = values.every((each) => each.type === values[0].type) ? values[0].type : type;
  return operands.map((each, index) => (isChoice && index === 0 ? each : cast(common, each)));
}
