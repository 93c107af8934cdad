import { CressetError, ErrorReport, type SourceRange } from '@cresset/ir';
import { DeviceValue, Dict, fromByteString, List, toByteString, Tuple } from '@cresset/tensor';
import { compileError } from '../../compilation-error.ts';
import type { PythonStatementForm } from '../../parser/python-tree.ts';
import type { BinaryOperator, Expr, Param, Stmt, UnaryOperator } from '../../parser/tree.ts';
import { PythonError } from '../python-arithmetic.ts';
import { floatRepr, pythonRepr, pythonTypeName, PythonEntity, TorchCode, type PythonValue } from '../python-value.ts';
import { deleteAttribute, findAttribute, setAttribute } from './attributes.ts';
import { Builtins } from './builtins.ts';
import { callValue } from './calls.ts';
import { dictOf, entriesOf, itemsIn, listOf } from './containers.ts';
import {
  BoundMethod,
  NO_KEYWORDS,
  PythonClass,
  PythonFunction,
  PythonObject,
  PythonSet,
  QualifiedName,
  SuperProxy,
  TypeExpression,
  type Keywords,
  type NativeClass,
} from './entities.ts';
import { evaluateExpression } from './expressions.ts';
import {
  applyBinary,
  applyInPlace,
  applyUnary,
  isLess,
  itemOf,
  iterateOver,
  setItemOf,
  truthOf,
} from './operations.ts';
import { Unusable, type Scope } from './scope.ts';
import { SpecialClasses } from './special-classes.ts';
import { standardModule } from './standard-library.ts';
import { assignTo, executeStatements, type Exit } from './statements.ts';
import { TensorOperations } from './tensors.ts';
import { TorchNames } from './torch-names.ts';
import type { PythonHost } from './host.ts';

/** A program that goes on for longer is ended: nothing can stop it from outside. */
const MOST_STEPS = 20_000_000;

/**
 * Runs Python: what a file does when it is imported, and `__init__` of modules (PyTorch has Python for that). It knows the language, the
 * builtins, what is used of the standard library, and PyTorch's operators on tensors of the host.
 */
export class Interpreter {
  readonly host: PythonHost;
  readonly tensors: TensorOperations;
  readonly torch: TorchNames;
  /** `object` */
  readonly object = new PythonClass('object', []);
  readonly special: SpecialClasses;
  readonly #builtins: Builtins;
  readonly #standard = new Map<string, Dict | undefined>();
  readonly #annotating = new Map<Scope, PythonClass>();
  readonly #defaults = new WeakMap<Expr, PythonValue>();
  #steps = 0;
  #place: SourceRange | undefined;
  #depth = 0;
  /** The exception that is being handled. */
  handled: unknown;

  constructor(host: PythonHost) {
    this.host = host;
    this.tensors = new TensorOperations(this, host.evaluate);
    this.torch = new TorchNames(this);
    this.special = new SpecialClasses(this);
    this.#builtins = new Builtins(this);
  }

  // ---- running

  evaluate(expr: Expr, scope: Scope): PythonValue {
    return evaluateExpression(this, expr, scope);
  }

  execute(statements: readonly Stmt[], scope: Scope): Exit {
    return executeStatements(this, statements, scope);
  }

  assign(target: Expr, value: PythonValue, scope: Scope): void {
    assignTo(this, target, value, scope);
  }

  call(callee: PythonValue, args: readonly PythonValue[], kwargs: Keywords = NO_KEYWORDS): PythonValue {
    return callValue(this, callee, args, kwargs);
  }

  /** Counts a step. Throws a PythonError after too many. */
  step(): void {
    if (++this.#steps > MOST_STEPS) throw new PythonError('the program takes too many steps', 'RuntimeError');
  }

  /** Runs a call. Throws a PythonError where they are too deep in each other. */
  deeper<T>(run: () => T): T {
    if (this.#depth > 200) throw new PythonError('maximum recursion depth exceeded', 'RecursionError');
    this.#depth++;
    try {
      return run();
    } finally {
      this.#depth--;
    }
  }

  /** Runs a statement; where it raises, the innermost one is the place of the error. */
  at<T>(range: SourceRange, run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (error instanceof PythonError && !placeOf.has(error)) placeOf.set(error, range);
      throw error;
    }
  }

  /** Runs something from outside. Throws an ErrorReport, with Python's message and place, where Python would raise. */
  run<T>(range: SourceRange | undefined, what: () => T): T {
    this.#steps = 0;
    this.#place = range;
    try {
      return what();
    } catch (error) {
      throw this.reportOf(error, range);
    }
  }

  /** What a program of Python that failed tells. */
  reportOf(error: unknown, range: SourceRange | undefined = this.#place): unknown {
    if (!(error instanceof PythonError)) return error;
    return compileError(placeOf.get(error) ?? range, fromByteString(error.message));
  }

  /** Runs statements one by one; names that one would have bound are unusable where it fails. */
  executeFile(statements: readonly Stmt[], scope: Scope): void {
    this.#steps = 0;
    for (const statement of statements) {
      try {
        if (statement.kind === 'python' && statement.form.kind === 'import') this.#importLazily(statement.form, scope);
        else this.execute([statement], scope);
      } catch (error) {
        if (!(error instanceof PythonError || error instanceof CressetError)) throw error;
        for (const name of namesBoundBy(statement)) scope.set(name, new Unusable(error));
      }
    }
  }

  // ---- names

  builtin(name: string): PythonValue | undefined {
    return this.#builtins.get(name);
  }

  /** Throws a PythonError for a module or member that is not known. */
  importNames({ from, names }: ImportForm, scope: Scope): void {
    for (const { name, alias } of names) {
      if (from === undefined) {
        const bound = alias === undefined ? name.split('.')[0]! : name;
        scope.set(alias ?? bound, this.moduleNamed(bound));
      } else if (name !== '*') {
        scope.set(alias ?? name, this.#imported(from, name, `${from}.${name}`));
      }
    }
  }

  #imported(from: string, name: string, path: string): PythonValue {
    const found = this.getAttributeOrUndefined(this.moduleNamed(from), name);
    if (found !== undefined) return found;
    throw new PythonError(`cannot import name '${name}' from '${from}' (${path})`, 'ImportError');
  }

  /** What is not there is told when it is used: most of a file does without. */
  #importLazily(form: ImportForm, scope: Scope): void {
    for (const imported of form.names) {
      try {
        this.importNames({ ...form, names: [imported] }, scope);
      } catch (error) {
        const { name, alias } = imported;
        scope.set(alias ?? (form.from === undefined ? name.split('.')[0]! : name), new Unusable(error));
      }
    }
  }

  /** A module by its full name. Throws a PythonError where it is not known. */
  moduleNamed(path: string): PythonValue {
    if (/^torch(\.|$)/.test(path) || this.standardMembers(path) !== undefined) return new QualifiedName(path);
    throw new PythonError(`No module named '${path}'`, 'ModuleNotFoundError');
  }

  /** What is known of a module of Python's; undefined where it is none of those. */
  standardMembers(path: string): Dict | undefined {
    if (!this.#standard.has(path)) this.#standard.set(path, standardModule(this, path));
    return this.#standard.get(path);
  }

  superOf(scope: Scope): PythonValue {
    const frame = scope.call;
    if (frame?.owner === undefined || frame.self === undefined) {
      throw new PythonError('super(): no arguments', 'RuntimeError');
    }
    return new SuperProxy(frame.owner, frame.self);
  }

  // ---- classes

  nativeClassOf(module: string, name: string): NativeClass | undefined {
    return module === 'torch.nn.modules.module' && name === 'Module' ? MODULE : undefined;
  }

  withAnnotations<T>(body: Scope, type: PythonClass, run: () => T): T {
    this.#annotating.set(body, type);
    try {
      return run();
    } finally {
      this.#annotating.delete(body);
    }
  }

  annotate(body: Scope, name: string, type: Expr): void {
    this.#annotating.get(body)?.annotations.set(name, type);
  }

  /** Keeps the values that the defaults of a function had when it was defined. */
  captureDefaults(params: readonly Param[], fn: PythonFunction): void {
    for (const { ident, defaultValue } of params) {
      const value = fn.defaults.get(ident.name);
      if (defaultValue !== undefined && value !== undefined) this.#defaults.set(defaultValue, value);
    }
  }

  /** The value that a default had; undefined where its function was never defined. */
  defaultOf(expr: Expr): PythonValue | undefined {
    return this.#defaults.get(expr);
  }

  /** `nn.Module` */
  get moduleClass(): PythonClass {
    return this.torch.nnClass('Module')!;
  }

  isModule(value: PythonValue): value is PythonObject {
    return value instanceof PythonObject && this.isModuleClass(value.type);
  }

  isModuleClass(value: PythonValue): value is PythonClass {
    return value instanceof PythonClass && value.mro.some(({ native }) => native === MODULE);
  }

  // ---- what values can do

  getAttribute(value: PythonValue, name: string): PythonValue {
    const found = this.getAttributeOrUndefined(value, name);
    if (found !== undefined) return found;
    if (value instanceof QualifiedName) {
      throw new PythonError(`module '${value.path}' has no attribute '${name}'`, 'AttributeError');
    }
    const what = value instanceof PythonClass ? `type object '${value.name}'` : `'${pythonTypeName(value)}' object`;
    throw new PythonError(`${what} has no attribute '${name}'`, 'AttributeError');
  }

  getAttributeOrUndefined(value: PythonValue, name: string): PythonValue | undefined {
    return findAttribute(this, value, name);
  }

  setAttribute(value: PythonValue, name: string, given: PythonValue): void {
    setAttribute(this, value, name, given);
  }

  deleteAttribute(value: PythonValue, name: string): void {
    deleteAttribute(value, name);
  }

  getItem(value: PythonValue, key: PythonValue): PythonValue {
    return itemOf(this, value, key);
  }

  setItem(value: PythonValue, key: PythonValue, given: PythonValue): void {
    setItemOf(this, value, key, given);
  }

  iterate(value: PythonValue): Iterable<PythonValue> {
    return iterateOver(this, value);
  }

  list(items: Iterable<PythonValue>): List {
    return listOf(items);
  }

  /** What `**value` and `dict(value)` take: a dict, pairs, or an object with `keys` and items. */
  mapping(value: PythonValue): Dict {
    if (value instanceof Dict) return value;
    const keys = value instanceof PythonObject ? this.getAttributeOrUndefined(value, 'keys') : undefined;
    if (keys !== undefined) {
      return dictOf([...this.iterate(this.call(keys, []))].map((key) => [key, this.getItem(value, key)] as const));
    }
    return dictOf(
      [...this.iterate(value)].map((pair) => {
        const [key, item] = [...this.iterate(pair)];
        return [key!, item!] as const;
      }),
    );
  }

  isTruthy(value: PythonValue): boolean {
    return truthOf(this, value);
  }

  unary(op: UnaryOperator, value: PythonValue): PythonValue {
    return applyUnary(this, op, value);
  }

  binary(op: BinaryOperator, left: PythonValue, right: PythonValue): PythonValue {
    return applyBinary(this, op, left, right);
  }

  inPlace(op: BinaryOperator, left: PythonValue, right: PythonValue): PythonValue {
    return applyInPlace(this, op, left, right);
  }

  sorted(items: readonly PythonValue[], kwargs: Keywords): PythonValue[] {
    const key = kwargs.get('key') ?? null;
    const keyed = items.map((item) => [key === null ? item : this.call(key, [item]), item] as const);
    keyed.sort(([a], [b]) => (isLess(this, a, b) ? -1 : isLess(this, b, a) ? 1 : 0));
    const sorted = keyed.map(([, item]) => item);
    const reverse = kwargs.get('reverse');
    return reverse !== undefined && this.isTruthy(reverse) ? sorted.toReversed() : sorted;
  }

  // ---- types

  /** Whether it is something that annotations are made of. */
  isType(value: PythonValue): boolean {
    if (value instanceof TypeExpression || value instanceof PythonClass) return true;
    return (
      value instanceof QualifiedName &&
      /^typing(_extensions)?\.|^torch\.jit\.Final$|^collections\.abc\./.test(value.path)
    );
  }

  /** Whether a class has members that its subscripts name, as those of an enum do. */
  hasMembers(value: PythonValue): boolean {
    return value instanceof PythonClass && value.nativePart('getAttribute')?.('__members__') !== undefined;
  }

  typeOf(value: PythonValue): PythonValue {
    if (value instanceof PythonObject) return value.type;
    return this.#builtins.typeNamed(value) ?? new QualifiedName(`builtins.${pythonTypeName(value)}`);
  }

  nameOfType(value: PythonValue): string {
    return pythonTypeName(value);
  }

  isInstance(value: PythonValue, types: PythonValue): boolean {
    if (types instanceof Tuple || types instanceof List)
      return itemsIn(types).some((type) => this.isInstance(value, type));
    if (types instanceof PythonClass) {
      if (value instanceof PythonObject && value.type.isSubclassOf(types)) return true;
      return types === this.object || types.native.isInstance?.(value) === true;
    }
    if (types instanceof TypeExpression && types.expr.kind === 'binary') {
      const { lhs, rhs } = types.expr;
      return [lhs, rhs].some((type) => this.isInstance(value, this.evaluate(type, this.host.globals)));
    }
    if (types instanceof QualifiedName) return this.#builtins.isInstanceOfName(value, types.path);
    return false;
  }

  // ---- texts

  /** `str(value)`, as bytes. */
  text(value: PythonValue): string {
    if (typeof value === 'string') return value;
    if (value instanceof PythonObject) {
      const method = value.type.find('__str__');
      if (method !== undefined) return this.call(new BoundMethod(value, method), []) as string;
      const args = value.attributes.get('args');
      // An exception of a key shows the key.
      if (
        args instanceof Tuple &&
        args.items.length === 1 &&
        value.type.isSubclassOf(this.builtin('KeyError') as PythonClass)
      ) {
        return this.repr(args.items[0]!);
      }
      if (args instanceof Tuple)
        return args.items.length === 1 ? this.text(args.items[0]!) : args.items.length === 0 ? '' : this.repr(args);
    }
    if (value instanceof DeviceValue) return String(value);
    if (value instanceof TorchCode) return this.torch.nameOfCode(value);
    return this.repr(value);
  }

  /** `repr(value)`, as bytes. */
  repr(value: PythonValue): string {
    if (value instanceof PythonObject) {
      const method = value.type.find('__repr__');
      if (method !== undefined) return this.call(new BoundMethod(value, method), []) as string;
      return `<${value.type.name} object>`;
    }
    if (value instanceof List)
      return `[${itemsIn(value)
        .map((item) => this.repr(item))
        .join(', ')}]`;
    if (value instanceof Tuple && value.type === null) {
      const items = itemsIn(value).map((item) => this.repr(item));
      return `(${items.join(', ')}${items.length === 1 ? ',' : ''})`;
    }
    if (value instanceof Dict) {
      return `{${entriesOf(value)
        .map(([key, item]) => `${this.repr(key)}: ${this.repr(item)}`)
        .join(', ')}}`;
    }
    if (value instanceof PythonSet) {
      return value.items.length === 0 ? 'set()' : `{${value.items.map((item) => this.repr(item)).join(', ')}}`;
    }
    if (value instanceof TorchCode) return this.torch.nameOfCode(value);
    if (value instanceof PythonClass) return `<class '${value.name}'>`;
    if (value instanceof PythonFunction) return `<function ${value.name}>`;
    if (value instanceof PythonEntity) return `<${value.pythonType}>`;
    return typeof value === 'number' ? floatRepr(value) : toByteString(pythonRepr(value));
  }

  // ---- exceptions

  /** An error as the object that a handler gets. */
  exceptionOf(error: unknown): PythonValue {
    if (error instanceof PythonError && error.exception instanceof PythonEntity) return error.exception;
    if (error instanceof PythonError) return this.call(this.builtin(error.exception as string)!, error.args);
    return this.call(this.builtin('RuntimeError')!, [
      error instanceof ErrorReport ? error.reason : (error as Error).message,
    ]);
  }

  isExceptionNamed(error: unknown, name: string): boolean {
    if (!(error instanceof PythonError)) return false;
    return this.isInstance(this.exceptionOf(error), this.builtin(name)!);
  }

  /** Runs what handles an exception: `raise` alone raises that one again. */
  handling<T>(error: unknown, run: () => T): T {
    const outer = this.handled;
    this.handled = error;
    try {
      return run();
    } finally {
      this.handled = outer;
    }
  }
}

type ImportForm = Extract<PythonStatementForm, { kind: 'import' }>;

/** What `nn.Module` has that other classes have not. */
const MODULE: NativeClass = {};

/** Where exceptions were raised. */
const placeOf = new WeakMap<PythonError, SourceRange>();

/** The names that a statement at the top of a file gives values. */
function namesBoundBy(statement: Stmt): readonly string[] {
  switch (statement.kind) {
    case 'def':
    case 'class':
      return [statement.name.name];
    case 'assign':
      return statement.lhsList.flatMap(namesInTarget);
    default:
      return [];
  }
}

function namesInTarget(target: Expr): readonly string[] {
  if (target.kind === 'var') return [target.name.name];
  return target.kind === 'tuple' || target.kind === 'list' ? target.inputs.flatMap(namesInTarget) : [];
}
