import { AnyType, Complex, nested } from '@cresset/ir';
import { Dict, EnumValue, List, Tuple, type DictKey, type IValue } from '@cresset/tensor';
import { tooDeep } from '../compilation-error.ts';
import { binaryOperation, isTruthy, lookUp, PythonError, unaryOperation } from './python-arithmetic.ts';
import { PYTHON_BUILTINS } from './python-builtins.ts';
import { pythonTypeName, TorchCode, type PythonValue } from './python-value.ts';
import { dottedName } from '../script-type-parser.ts';
import {
  makeVar,
  type Apply,
  type BinOp,
  type Expr,
  type Select,
  type SliceExpr,
  type Subscript,
  type Var,
} from '../parser/tree.ts';

/** Values by name. */
export type PythonNames = ReadonlyMap<string, PythonValue>;

/** Computes expressions of constants as Python does. */
export class PythonEvaluation {
  readonly #valueOf: (name: string) => PythonValue | undefined;
  readonly #compute: (expr: Expr, temporaries: PythonNames) => PythonValue;

  /**
   * @param valueOf the value of a name; undefined where it is none of a constant
   * @param compute what calls of other functions and attributes of modules and classes give
   */
  constructor(
    valueOf: (name: string) => PythonValue | undefined,
    compute: (expr: Expr, temporaries: PythonNames) => PythonValue,
  ) {
    this.#valueOf = valueOf;
    this.#compute = compute;
  }

  /** Throws a {@link PythonError} where Python would raise, and what `compute` throws. */
  evaluate(expr: Expr): PythonValue {
    return nested(
      () => this.#evaluate(expr),
      () => tooDeep(expr.range),
    );
  }

  #evaluate(expr: Expr): PythonValue {
    switch (expr.kind) {
      case 'const':
      case 'bool':
        return expr.value;
      case 'none':
        return null;
      case 'string':
        return expr.text;
      case 'var':
        return this.#named(expr);
      case 'tuple':
        return new Tuple(this.#items(expr.inputs));
      case 'list':
        return new List(AnyType.get(), this.#items(expr.inputs));
      case 'dict':
        return this.#dict(this.#items(expr.keys), this.#items(expr.values));
      case 'unary':
        return unaryOperation(expr.op, this.evaluate(expr.operand));
      case 'binary':
        return this.#binary(expr);
      case 'ternary':
        return this.evaluate(isTruthy(this.evaluate(expr.cond)) ? expr.trueExpr : expr.falseExpr);
      case 'select':
        return this.#select(expr);
      case 'subscript':
        return this.#subscript(expr);
      case 'apply':
        return this.#call(expr);
      default:
        return this.#computed(expr);
    }
  }

  #named(expr: Var): PythonValue {
    const value = this.#valueOf(expr.name.name);
    return value === undefined ? this.#computed(expr) : value;
  }

  #computed(expr: Expr): PythonValue {
    return this.#compute(expr, new Map());
  }

  #items(exprs: readonly Expr[]): IValue[] {
    return exprs.flatMap((expr) => {
      if (expr.kind !== 'starred') return [plain(this.evaluate(expr))];
      const sequence = this.evaluate(expr.expr);
      if (sequence instanceof List || sequence instanceof Tuple) return [...sequence.items];
      throw new PythonError(`Value after * must be an iterable, not ${pythonTypeName(sequence)}`);
    });
  }

  #dict(keys: readonly IValue[], values: readonly IValue[]): Dict {
    const dict = new Dict(AnyType.get(), AnyType.get());
    keys.forEach((key, at) => {
      const known = [...dict.entries.keys()].find((each) => binaryOperation('==', each, key) === true);
      dict.entries.set(known ?? (key as DictKey), values[at]!);
    });
    return dict;
  }

  #binary(expr: BinOp): PythonValue {
    const left = this.evaluate(expr.lhs);
    if (expr.op === 'and' || expr.op === 'or') {
      return isTruthy(left) === (expr.op === 'and') ? this.evaluate(expr.rhs) : left;
    }
    // Formatting is the compiler's.
    if (expr.op === '%' && typeof left === 'string') return this.#computed(expr);
    return binaryOperation(expr.op, left, this.evaluate(expr.rhs));
  }

  #select(expr: Select): PythonValue {
    const [root] = dottedName(expr)?.split('.') ?? [];
    // Of modules and classes.
    if (root !== undefined && this.#valueOf(root) === undefined) return this.#computed(expr);
    const value = this.evaluate(expr.value);
    const found = attributeOf(value, expr.selector.name);
    if (found !== undefined) return found;
    throw new PythonError(`'${pythonTypeName(value)}' object has no attribute '${expr.selector.name}'`);
  }

  #subscript({ value: of, subscripts }: Subscript): PythonValue {
    const value = this.evaluate(of);
    const [subscript] = subscripts;
    if (value instanceof Dict) {
      const key = plain(this.evaluate(subscript!));
      const found = lookUp(value, key);
      if (found !== undefined) return found;
      throw new PythonError('a key that is not in the dict');
    }
    const items = typeof value === 'string' ? [...value] : itemsOf(value);
    if (subscript!.kind === 'slice') {
      const part = this.#slice(items, subscript);
      return typeof value === 'string' ? part.join('') : value instanceof List ? listOf(part) : new Tuple(part);
    }
    const index = this.evaluate(subscript!);
    const item = typeof index === 'bigint' || typeof index === 'boolean' ? items.at(Number(index)) : undefined;
    if (item === undefined) throw new PythonError(`${pythonTypeName(value)} index out of range`);
    return item;
  }

  #slice(items: readonly IValue[], { start, end, step }: SliceExpr): IValue[] {
    const bound = (expr: Expr | undefined): number | undefined => {
      const value = expr === undefined ? null : this.evaluate(expr);
      if (value === null) return undefined;
      if (typeof value === 'bigint' || typeof value === 'boolean') return Number(value);
      throw new PythonError('slice indices must be integers or None or have an __index__ method');
    };
    const by = bound(step) ?? 1;
    if (by === 0) throw new PythonError('slice step cannot be zero');
    const size = items.length;
    const [low, high] = by > 0 ? [0, size] : [-1, size - 1];
    const clamped = (at: number): number => Math.min(Math.max(at < 0 ? at + size : at, low), high);
    const from = bound(start);
    const to = bound(end);
    const stop = to === undefined ? (by > 0 ? size : -1) : clamped(to);
    const result: IValue[] = [];
    for (
      let at = from === undefined ? (by > 0 ? 0 : size - 1) : clamped(from);
      by > 0 ? at < stop : at > stop;
      at += by
    ) {
      result.push(items[at]!);
    }
    return result;
  }

  #call(expr: Apply): PythonValue {
    const name = expr.callee.kind === 'var' ? expr.callee.name.name : '';
    const builtin = PYTHON_BUILTINS.get(name);
    if (builtin !== undefined && this.#valueOf(name) === undefined && expr.attributes.length === 0) {
      const result = builtin(this.#items(expr.inputs));
      if (result !== undefined) return result;
    }
    return this.#computedCall(expr);
  }

  /** The arguments are Python's; what is done with them is left to the compiler. */
  #computedCall(expr: Apply): PythonValue {
    const temporaries = new Map<string, PythonValue>();
    const named = (each: Expr): Expr => {
      const name = `$${temporaries.size}`;
      temporaries.set(name, this.evaluate(each));
      return makeVar(each.range, name);
    };
    return this.#compute(
      {
        ...expr,
        inputs: expr.inputs.map((each) => (each.kind === 'starred' ? each : named(each))),
        attributes: expr.attributes.map((each) => ({ ...each, value: named(each.value) })),
      },
      temporaries,
    );
  }
}

/** A code as the int that TorchScript has for it. */
export function plain(value: PythonValue): IValue {
  return value instanceof TorchCode ? value.code : value;
}

function listOf(items: readonly IValue[]): List {
  return new List(AnyType.get(), [...items]);
}

function itemsOf(value: PythonValue): readonly IValue[] {
  if (value instanceof List || value instanceof Tuple) return value.items;
  throw new PythonError(`'${pythonTypeName(value)}' object is not subscriptable`);
}

function attributeOf(value: PythonValue, name: string): PythonValue | undefined {
  if (value instanceof EnumValue) return name === 'name' ? value.name : name === 'value' ? value.value : undefined;
  if (value instanceof Complex) return name === 'real' ? value.re : name === 'imag' ? value.im : undefined;
  if (value instanceof Tuple) return value.items[value.type?.fieldNames?.indexOf(name) ?? -1];
  return undefined;
}
