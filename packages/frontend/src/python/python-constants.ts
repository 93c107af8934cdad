import type { Constant, ErrorReport, SourceRange, Type } from '@cresset/ir';
import { Dict, List } from '@cresset/tensor';
import { compileError } from '../compilation-error.ts';
import { PythonError } from './python-arithmetic.ts';
import { CastError, castToType, pythonRepr, pythonTypeName, TorchCode, type PythonValue } from './python-value.ts';
import type { Interpreter } from './interpreter/interpreter.ts';
import { Scope } from './interpreter/scope.ts';
import type { ConstantScope } from '../script-type-parser.ts';
import { OpaquePythonValue } from '../values/opaque-python-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import type { Expr, Param } from '../parser/tree.ts';

/**
 * The values that Python has computed when PyTorch compiles a file: default arguments, members of enums, fields of named tuples and class
 * constants. Expressions mean what they mean in Python: `2 ** 3` is an int.
 */
export class PythonConstants implements ConstantScope {
  readonly #python: Interpreter;
  readonly #scope: Scope;

  constructor(python: Interpreter, scope: Scope) {
    this.#python = python;
    this.#scope = scope;
  }

  /** Throws an ErrorReport where Python would raise. */
  #evaluate(expr: Expr, names?: ReadonlyMap<string, Constant>): PythonValue {
    const known = this.#python.defaultOf(expr);
    if (known !== undefined) return known;
    const scope = new Scope(this.#scope, 'comprehension', this.#scope.module);
    for (const [name, value] of names ?? []) scope.names.set(name, value as PythonValue);
    try {
      return this.#python.evaluate(expr, scope);
    } catch (error) {
      throw error instanceof PythonError ? compileError(expr.range, error.message) : error;
    }
  }

  evaluateAs(expr: Expr, type: Type | undefined, names?: ReadonlyMap<string, Constant>): Constant {
    const value = this.#evaluate(expr, names);
    if (type === undefined) return (value instanceof TorchCode ? value.code : value) as Constant;
    return castOr(value, type, () =>
      compileError(expr.range, `expected an expression of type ${type.reprStr()} but found ${pythonTypeName(value)}`),
    );
  }

  parameterDefault(
    { ident, type: annotation, defaultValue }: Param,
    type: Type,
    N: number | undefined,
    range: SourceRange,
  ): Constant {
    const value = this.#evaluate(defaultValue!);
    if (value instanceof List || value instanceof Dict) {
      throw compileError(
        range,
        'Mutable default parameters are not supported because Python binds them to the function and they persist across ' +
          'function calls.\n As a workaround, make the default None and instantiate the default parameter within the body of ' +
          `the function. Found <class '${pythonTypeName(value)}'> on parameter ${ident.name}`,
      );
    }
    // A number that stands for a list of fixed length is spread where the function is called.
    if (N !== undefined && (typeof value === 'bigint' || typeof value === 'number')) return value;
    return castOr(value, type, () => {
      const hint =
        annotation === undefined
          ? `Because "${ident.name}" was not annotated with an explicit type it is assumed to be type 'Tensor'.`
          : '';
      const expected = `Expected a default value of type ${type.reprStr()} on parameter "${ident.name}".`;
      return compileError(range, expected + hint);
    });
  }
}

function castOr(value: PythonValue, type: Type, error: () => ErrorReport): Constant {
  try {
    return castToType(value, type) as Constant;
  } catch (failure) {
    throw failure instanceof CastError ? error() : failure;
  }
}

/** A value of the file in a function, to which it would have to be passed (PyTorch: PythonValue). */
export class GlobalValue extends OpaquePythonValue {
  readonly value: PythonValue;

  constructor(value: PythonValue) {
    super();
    this.value = value;
  }

  protected override pythonType(): string {
    return pythonTypeName(this.value);
  }

  override call({ range }: Parameters<SugaredValue['call']>[0]): never {
    throw compileError(range, `${pythonRepr(this.value)} is not a callable object`);
  }
}
