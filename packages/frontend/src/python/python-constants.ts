import { ErrorReport, type Constant, type SourceRange, type Type } from '@cresset/ir';
import { Dict, EnumValue, List, type IValue } from '@cresset/tensor';
import { compileError } from '../compilation-error.ts';
import { PythonError } from './python-arithmetic.ts';
import { plain, PythonEvaluation, type PythonNames } from './python-evaluation.ts';
import { CastError, castToType, pythonRepr, pythonTypeName, TorchCode, type PythonValue } from './python-value.ts';
import type { Resolver } from '../resolver.ts';
import { dottedName, type ConstantScope } from '../script-type-parser.ts';
import { OpaquePythonValue } from '../values/opaque-python-value.ts';
import { SimpleValue } from '../values/simple-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import type { Assign, AugAssign, Expr, Param } from '../parser/tree.ts';

/** Computes an expression as TorchScript does. */
export type CompiledEvaluator = (expr: Expr, resolver: Resolver) => IValue;

const NO_NAMES: PythonNames = new Map();

/**
 * The values that Python has computed when PyTorch compiles a file: assignments, and with them default arguments, members of enums,
 * fields of named tuples and class constants. Expressions mean what they mean in Python: `2 ** 3` is an int.
 */
export class PythonConstants implements ConstantScope {
  readonly #assignments: readonly (Assign | AugAssign)[];
  readonly #resolver: Resolver;
  readonly #compiled: CompiledEvaluator;

  /**
   * @param assignments those of the file, in its order
   * @param resolver knows the file's other names
   * @param compiled computes what is no operation of Python's on constants
   */
  constructor(assignments: readonly (Assign | AugAssign)[], resolver: Resolver, compiled: CompiledEvaluator) {
    this.#assignments = assignments;
    this.#resolver = resolver;
    this.#compiled = compiled;
  }

  /** The value of an expression, which sees what stands before it. Throws an ErrorReport where Python would raise. */
  evaluate(expr: Expr, names: PythonNames = NO_NAMES): PythonValue {
    try {
      return this.#evaluation(names, expr.range).evaluate(expr);
    } catch (error) {
      throw error instanceof PythonError ? compileError(expr.range, error.message) : error;
    }
  }

  evaluateAs(expr: Expr, type: Type | undefined, names?: ReadonlyMap<string, Constant>): Constant {
    const value = this.evaluate(expr, names as PythonNames | undefined);
    if (type === undefined) return plain(value) as Constant;
    return castOr(value, type, () =>
      compileError(expr.range, `expected an expression of type ${type.reprStr()} but found ${pythonTypeName(value)}`),
    );
  }

  parameterDefault({ ident, type: annotation, defaultValue }: Param, type: Type, N: number | undefined): Constant {
    const value = this.evaluate(defaultValue!);
    const { range } = defaultValue!;
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

  /** The right side of the last assignment to a name; undefined where there is none. */
  assignedTo(name: string): Expr | undefined {
    return this.#assignment(name)?.value;
  }

  /** What an assigned name stands for in a function: a function or class of another name, or a value, which few can be used there. */
  resolveValue(...[name, fn, range]: Parameters<Resolver['resolveValue']>): SugaredValue | undefined {
    const expr = this.assignedTo(name);
    if (expr === undefined) return undefined;
    const value = this.#valueIfAny(expr);
    if (value === null) return undefined;
    if (value instanceof EnumValue) return new SimpleValue(fn.graphBeingDefined.insertConstant(value, range));
    if (value !== undefined) return new GlobalValue(value);
    const [root = name, ...fields] = dottedName(expr)?.split('.') ?? [];
    const start = root === name ? undefined : this.#resolver.resolveValue(root, fn, range);
    return start && fields.reduce((found, field) => found.attr(range, fn, field), start);
  }

  /** Undefined for what is no value of TorchScript's, such as a function. */
  #valueIfAny(expr: Expr): PythonValue | undefined {
    try {
      return this.evaluate(expr);
    } catch (error) {
      if (error instanceof ErrorReport) return undefined;
      throw error;
    }
  }

  #evaluation(names: PythonNames, before: SourceRange): PythonEvaluation {
    const valueOf = (name: string): PythonValue | undefined =>
      names.has(name) ? names.get(name) : this.#valueBefore(name, before);
    return new PythonEvaluation(valueOf, (expr, temporaries) =>
      this.#compute(expr, (name) => (temporaries.has(name) ? temporaries.get(name) : valueOf(name))),
    );
  }

  #valueBefore(name: string, before: SourceRange): PythonValue | undefined {
    const found = this.#assignment(name, before);
    return found && this.#evaluation(NO_NAMES, found.at).evaluate(found.value);
  }

  /** The last one before a place, where that is in the same source. */
  #assignment(name: string, before?: SourceRange): { readonly value: Expr; readonly at: SourceRange } | undefined {
    for (const statement of this.#assignments.toReversed()) {
      const at = statement.range;
      const isLater = before !== undefined && at.source === before.source && at.start >= before.start;
      const value = isLater ? undefined : valueAssignedTo(name, statement);
      if (value !== undefined) return { value, at };
    }
    return undefined;
  }

  #compute(expr: Expr, valueOf: (name: string) => PythonValue | undefined): PythonValue {
    const value = this.#compiled(expr, {
      resolveValue: (name, fn, range) => {
        const known = valueOf(name);
        if (known === undefined) return this.#resolver.resolveValue(name, fn, range);
        return new SimpleValue(fn.graphBeingDefined.insertConstant(plain(known), range));
      },
      resolveType: (name, range) => this.#resolver.resolveType(name, range),
    });
    const path = dottedName(expr);
    return typeof value === 'bigint' && path?.startsWith('torch.') ? new TorchCode(torchTypeOf(path), value) : value;
  }
}

/** `torch.float32` is of type `torch.dtype`. */
function torchTypeOf(path: string): string {
  if (/_format$|\.channels_last/.test(path)) return 'memory_format';
  return /\.(strided|sparse_\w+)$/.test(path) ? 'layout' : /\.per_/.test(path) ? 'qscheme' : 'dtype';
}

function castOr(value: PythonValue, type: Type, error: () => ErrorReport): Constant {
  try {
    return castToType(value, type) as Constant;
  } catch (failure) {
    throw failure instanceof CastError ? error() : failure;
  }
}

/** The part of an assignment's right side that a name gets; undefined where it gets none. */
function valueAssignedTo(name: string, statement: Assign | AugAssign): Expr | undefined {
  const { range, rhs } = statement;
  if (statement.kind === 'aug-assign') {
    const { lhs, op } = statement;
    return dottedName(lhs) === name ? { kind: 'binary', range, op, lhs, rhs: statement.rhs } : undefined;
  }
  if (rhs === undefined) return undefined;
  for (const target of statement.lhsList) {
    if (dottedName(target) === name) return rhs;
    const at = target.kind === 'tuple' ? target.inputs.findIndex((each) => dottedName(each) === name) : -1;
    if (at !== -1) {
      const index: Expr = { kind: 'const', range, value: BigInt(at) };
      return { kind: 'subscript', range: rhs.range, value: rhs, subscripts: [index], subscriptsRange: range };
    }
  }
  return undefined;
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

  /** The value itself, where Python would compute with it. */
  asConstant(...[range, fn]: Parameters<SugaredValue['asValue']>): SugaredValue {
    return new SimpleValue(fn.graphBeingDefined.insertConstant(plain(this.value), range));
  }

  override call({ range }: Parameters<SugaredValue['call']>[0]): never {
    throw compileError(range, `${pythonRepr(this.value)} is not a callable object`);
  }
}
