import {
  BINARY_PRECEDENCE,
  binaryOperation,
  isEqual,
  Parser,
  PythonError,
  pythonRepr,
  unaryOperation,
  type BinaryOperator,
  type Expr,
} from '@cresset/frontend';
import { CressetError, Source } from '@cresset/ir';
import { elementSize, Tensor, type IValue } from '@cresset/tensor';

/** A condition of Python on the inputs of a program, as torch.export writes it down: `L['x'].size()[0] == L['y'].size()[0]`. */
export interface GuardExpression {
  /** The condition as Python would write it out (ast.unparse), with the inputs by their names. */
  readonly text: string;
  /** Whether it holds for flat inputs. Throws `INPUT_GUARD` where Python raises an exception. */
  holds(inputs: readonly IValue[]): boolean;
}

/**
 * Parses a guard. Throws an ErrorReport where it is no expression.
 *
 * @param sources how guards name each flat input, `L['x'][0]`
 * @param names what a message calls each, `x[0]`
 */
export function parseGuard(code: string, sources: readonly string[], names: readonly string[]): GuardExpression {
  const replaced = (by: (index: number) => string): Expr => {
    let text = code;
    sources.forEach((source, index) => (text = text.replaceAll(source, by(index))));
    return new Parser(new Source(text.replaceAll('\n', '')), 'python').parseExp();
  };
  const shown = replaced((index) => names[index]);
  const condition = replaced(inputName);
  return {
    text: unparse(shown, 0),
    holds: (inputs) => isTrue(evaluate(condition, inputs)),
  };
}

const inputName = (index: number): string => `__input_${index}`;

type PythonNumber = bigint | number | boolean;
type GuardValue = IValue | readonly bigint[];

// ---- evaluation

function evaluate(expr: Expr, inputs: readonly IValue[]): GuardValue {
  const value = (each: Expr): GuardValue => evaluate(each, inputs);
  switch (expr.kind) {
    case 'const':
    case 'bool':
      return expr.value;
    case 'none':
      return null;
    case 'string':
      return expr.text;
    case 'var': {
      const { name } = expr.name;
      const match = /^__input_(\d+)$/.exec(name);
      if (match) return inputs[Number(match[1])];
      if (name === 'inf') return Infinity;
      return fail(`name '${name}' is not defined`);
    }
    case 'unary': {
      const operand = value(expr.operand);
      if (expr.op === 'not') return !isTrue(operand);
      return computed(() => unaryOperation(expr.op, numberOf(operand)));
    }
    case 'binary':
      return binary(expr.op, expr.lhs, expr.rhs, value);
    case 'ternary':
      return value(isTrue(value(expr.cond)) ? expr.trueExpr : expr.falseExpr);
    case 'subscript': {
      const list = value(expr.value);
      const index = Number(value(expr.subscripts[0]) as bigint);
      if (!isInts(list)) return fail(`'${expr.value.kind}' object is not subscriptable`);
      const found = list.at(index);
      if (found === undefined) throw new CressetError('INPUT_GUARD', 'list index out of range');
      return found;
    }
    case 'select':
      return attribute(expr.selector.name, value(expr.value));
    case 'apply':
      return call(expr.callee, expr.inputs, value);
    default:
      return fail(`a guard has an expression of kind '${expr.kind}'`);
  }
}

function binary(op: BinaryOperator, left: Expr, right: Expr, value: (expr: Expr) => GuardValue): GuardValue {
  if (op === 'and' || op === 'or') {
    const first = value(left);
    return isTrue(first) === (op === 'and') ? value(right) : first;
  }
  const a = value(left);
  const b = value(right);
  switch (op) {
    case '==':
      return isSame(a, b);
    case '!=':
      return !isSame(a, b);
    case 'is':
      return a === b;
    case 'is not':
      return a !== b;
    default:
      return arithmetic(op, numberOf(a), numberOf(b));
  }
}

/** Python's `==`: `True == 1 == 1.0`. */
const isSame = (a: GuardValue, b: GuardValue): boolean =>
  isPythonNumber(a) && isPythonNumber(b) ? isEqual(a, b) : a === b;

const plain = (value: PythonNumber): bigint | number => (typeof value === 'boolean' ? BigInt(value) : value);

const arithmetic = (op: BinaryOperator, left: PythonNumber, right: PythonNumber): PythonNumber =>
  computed(() => binaryOperation(op, left, right));

/** The number that Python makes of others. Throws `INPUT_GUARD` where it would raise an exception, or make something else. */
function computed(compute: () => unknown): PythonNumber {
  try {
    return numberOf(compute() as GuardValue);
  } catch (error) {
    if (error instanceof PythonError) fail(error.message);
    throw error;
  }
}

function attribute(name: string, owner: GuardValue): GuardValue {
  if (owner instanceof Tensor && name === 'shape') return owner.sizes.map(BigInt);
  // What a view is taken of: all of its memory.
  if (owner instanceof Tensor && name === '_base') {
    const count = Math.floor(owner.storage.byteLength / elementSize(owner.dtype));
    return new Tensor(owner.storage, owner.dtype, [count], [1]);
  }
  return fail(`a guard asks for '${name}'`);
}

type Call = (...args: (bigint | number)[]) => bigint | number;

const extreme =
  (isBetter: (a: bigint | number, b: bigint | number) => boolean): Call =>
  (...args) =>
    args.reduce((best, each) => (isBetter(each, best) ? each : best));
const largest = extreme((a, b) => a > b);
const smallest = extreme((a, b) => a < b);

/** What guards call by name: Python's own functions, and those of torch.utils._sympy. */
const FUNCTIONS: Readonly<Record<string, Call>> = {
  max: largest,
  Max: largest,
  min: smallest,
  Min: smallest,
  abs: (a) => (a < 0 ? -a : a),
  int: (a) => (typeof a === 'bigint' ? a : BigInt(Math.trunc(a))),
  float: Number,
  FloorDiv: (a, b) => arithmetic('//', a, b) as bigint,
  CleanDiv: (a, b) => arithmetic('//', a, b) as bigint,
  CeilDiv: (a, b) => -(arithmetic('//', -a, b) as bigint),
  Mod: (a, b) => arithmetic('%', a, b) as bigint,
  PythonMod: (a, b) => arithmetic('%', a, b) as bigint,
  PowByNatural: (a, b) => arithmetic('**', a, b) as bigint,
  FloatPow: (a, b) => Number(a) ** Number(b),
  IntTrueDiv: (a, b) => Number(a) / Number(b),
  FloatTrueDiv: (a, b) => Number(a) / Number(b),
  ToFloat: Number,
  TruncToFloat: (a) => Math.trunc(Number(a)),
  TruncToInt: (a) => BigInt(Math.trunc(Number(a))),
  'math.floor': (a) => BigInt(Math.floor(Number(a))),
  'math.ceil': (a) => BigInt(Math.ceil(Number(a))),
  'math.trunc': (a) => BigInt(Math.trunc(Number(a))),
  'math.sqrt': (a) => Math.sqrt(Number(a)),
};

function call(callee: Expr, given: readonly Expr[], value: (expr: Expr) => GuardValue): GuardValue {
  if (callee.kind === 'select' && !(callee.value.kind === 'var' && callee.value.name.name === 'math')) {
    const owner = value(callee.value);
    const method = callee.selector.name;
    if (!(owner instanceof Tensor)) return fail(`the input has no attribute '${method}'`);
    const numbers = { size: owner.sizes, stride: owner.strides }[method];
    if (numbers) return numbers.map(BigInt);
    if (method === 'storage_offset') return BigInt(owner.storageOffset);
    return fail(`a guard calls '${method}'`);
  }
  const name = unparse(callee, 0);
  const args = given.map((each) => plain(numberOf(value(each))));
  if (name === 'math.isnan') return Number.isNaN(Number(args[0]));
  return (FUNCTIONS[name] ?? fail(`a guard calls '${name}'`))(...args);
}

function isTrue(value: GuardValue): boolean {
  if (value instanceof Tensor) return Boolean(value.contiguousArray()[0]);
  return typeof value === 'bigint' ? value !== 0n : Boolean(value);
}

const isInts = (value: GuardValue): value is readonly bigint[] => Array.isArray(value);

function isPythonNumber(value: GuardValue): value is PythonNumber {
  return typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean';
}

function numberOf(value: GuardValue): PythonNumber {
  return isPythonNumber(value) ? value : fail('a guard computes with what is no number');
}

function fail(what: string): never {
  throw new CressetError('INPUT_GUARD', `the inputs cannot be checked as the program wants it: ${what}`);
}

// ---- printing

/** Python's precedences, from `if … else` to the operands of a call. */
const PRECEDENCE: Readonly<Record<string, number>> = { ...BINARY_PRECEDENCE, '**': 13 };
const TERNARY = 1;
const NOT = 4;
const SIGN = 12;
const ATOM = 15;

/** An expression as Python's `ast.unparse` writes it: brackets only where they are needed. */
function unparse(expr: Expr, outer: number): string {
  const bracketed = (precedence: number, text: string): string => (precedence < outer ? `(${text})` : text);
  switch (expr.kind) {
    case 'const':
    case 'bool':
      return pythonRepr(expr.value);
    case 'none':
      return pythonRepr(null);
    case 'string':
      return pythonRepr(expr.text);
    case 'var':
      return expr.name.name;
    case 'unary': {
      const precedence = expr.op === 'not' ? NOT : SIGN;
      const sign = expr.op === 'not' ? 'not ' : expr.op;
      return bracketed(precedence, `${sign}${unparse(expr.operand, precedence)}`);
    }
    case 'binary': {
      const precedence = PRECEDENCE[expr.op]!;
      // Comparisons chain, and so each of their operands is bracketed; the others group to the left, but for powers.
      const [left, right] =
        precedence === PRECEDENCE['<']
          ? [precedence + 1, precedence + 1]
          : expr.op === '**'
            ? [precedence + 1, SIGN]
            : [precedence, precedence + 1];
      return bracketed(precedence, `${unparse(expr.lhs, left)} ${expr.op} ${unparse(expr.rhs, right)}`);
    }
    case 'ternary': {
      const [then, otherwise] = [unparse(expr.trueExpr, TERNARY + 1), unparse(expr.falseExpr, TERNARY)];
      return bracketed(TERNARY, `${then} if ${unparse(expr.cond, TERNARY + 1)} else ${otherwise}`);
    }
    case 'subscript':
      return `${unparse(expr.value, ATOM)}[${expr.subscripts.map((each) => unparse(each, 0)).join(', ')}]`;
    case 'select':
      return `${unparse(expr.value, ATOM)}.${expr.selector.name}`;
    case 'apply':
      return `${unparse(expr.callee, ATOM)}(${expr.inputs.map((each) => unparse(each, 0)).join(', ')})`;
    default:
      return fail(`a guard has an expression of kind '${expr.kind}'`);
  }
}
