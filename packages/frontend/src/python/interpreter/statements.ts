import { CressetError } from '@cresset/ir';
import { Dict, List } from '@cresset/tensor';
import type { ExceptionHandler, PythonStatementForm } from '../../parser/python-tree.ts';
import type { Assign, AugAssign, Def, Expr, For, Stmt, While, With, WithItem } from '../../parser/tree.ts';
import { PythonError } from '../python-arithmetic.ts';
import type { PythonValue } from '../python-value.ts';
import { deleteItem, itemsIn } from './containers.ts';
import { createClass } from './class-creation.ts';
import { PythonClass, PythonFunction, PythonObject } from './entities.ts';
import { defaultsOf, subscriptValue } from './expressions.ts';
import { isTextToPython } from '../../modules/annotation-text.ts';
import type { Interpreter } from './interpreter.ts';
import { Unusable, type Scope } from './scope.ts';

/** How a block ended where it did not come to its end. */
export type Exit = 'break' | 'continue' | { readonly returned: PythonValue } | undefined;

/** Runs statements one after the other. Throws a PythonError where Python would raise. */
export function executeStatements(python: Interpreter, statements: readonly Stmt[], scope: Scope): Exit {
  for (const statement of statements) {
    python.step();
    const exit = python.at(statement.range, () => execute(python, statement, scope));
    if (exit !== undefined) return exit;
  }
  return undefined;
}

function execute(python: Interpreter, statement: Stmt, scope: Scope): Exit {
  switch (statement.kind) {
    case 'expr':
      python.evaluate(statement.expr, scope);
      return undefined;
    case 'assign':
      executeAssign(python, statement, scope);
      return undefined;
    case 'aug-assign':
      augAssign(python, statement, scope);
      return undefined;
    case 'if':
      return python.execute(
        python.isTruthy(python.evaluate(statement.cond, scope)) ? statement.trueBranch : statement.falseBranch,
        scope,
      );
    case 'while':
    case 'for':
      return executeLoop(python, statement, [], scope);
    case 'with':
      return executeWith(python, statement, scope);
    case 'return':
      return { returned: python.evaluate(statement.expr, scope) };
    case 'raise':
      throw raised(python, statement.expr, scope);
    case 'assert':
      if (!python.isTruthy(python.evaluate(statement.test, scope))) {
        const message = statement.message === undefined ? '' : python.text(python.evaluate(statement.message, scope));
        throw new PythonError(message, 'AssertionError');
      }
      return undefined;
    case 'delete':
      for (const target of statement.targets) executeDelete(python, target, scope);
      return undefined;
    case 'global':
      for (const { name } of statement.names) scope.declareGlobal(name);
      return undefined;
    case 'break':
    case 'continue':
      return statement.kind;
    case 'pass':
      return undefined;
    case 'def':
      defineFunction(python, statement, scope);
      return undefined;
    case 'class':
      scope.set(
        statement.name.name,
        decorated(python, statement.decorators, createClass(python, statement, scope), scope),
      );
      return undefined;
    case 'python':
      return executeForm(python, statement.form, scope);
  }
}

function executeForm(python: Interpreter, form: PythonStatementForm, scope: Scope): Exit {
  switch (form.kind) {
    case 'loop-else':
      return executeLoop(python, form.loop, form.orElse, scope);
    case 'try':
      return executeTry(python, form, scope);
    case 'nonlocal':
      for (const { name } of form.names) scope.declareNonlocal(name);
      return undefined;
    case 'import':
      python.importNames(form, scope);
      return undefined;
  }
}

// ---- assignments

function executeAssign(python: Interpreter, { lhsList, rhs, type }: Assign, scope: Scope): void {
  if (type !== undefined && scope.kind === 'class' && lhsList[0]!.kind === 'var') {
    checkAnnotation(python, type, scope);
    python.annotate(scope, lhsList[0].name.name, type);
  }
  if (rhs === undefined) return;
  const value = python.evaluate(rhs, scope);
  for (const target of lhsList) python.assign(target, value, scope);
}

/** Gives a value to a name, an attribute, a place in a container, or piece by piece to a pattern. */
export function assignTo(python: Interpreter, target: Expr, value: PythonValue, scope: Scope): void {
  switch (target.kind) {
    case 'var':
      scope.set(target.name.name, value);
      break;
    case 'select':
      python.setAttribute(python.evaluate(target.value, scope), target.selector.name, value);
      break;
    case 'subscript':
      python.setItem(python.evaluate(target.value, scope), subscriptValue(python, target, scope), value);
      break;
    case 'tuple':
    case 'list':
      unpack(python, target.inputs, [...python.iterate(value)], scope);
      break;
    default:
      throw new PythonError('cannot assign to expression', 'SyntaxError');
  }
}

function unpack(python: Interpreter, targets: readonly Expr[], values: readonly PythonValue[], scope: Scope): void {
  const star = targets.findIndex((target) => target.kind === 'starred');
  const wanted = star === -1 ? targets.length : targets.length - 1;
  if (values.length < wanted) {
    throw new PythonError(`not enough values to unpack (expected ${wanted}, got ${values.length})`, 'ValueError');
  }
  if (star === -1 && values.length > wanted) {
    throw new PythonError(`too many values to unpack (expected ${wanted})`, 'ValueError');
  }
  const more = values.length - wanted;
  targets.forEach((target, at) => {
    if (target.kind === 'starred') python.assign(target.expr, python.list(values.slice(at, at + more)), scope);
    else python.assign(target, values[star !== -1 && at > star ? at + more - 1 : at]!, scope);
  });
}

function augAssign(python: Interpreter, { lhs, op, rhs }: AugAssign, scope: Scope): void {
  const change = (current: PythonValue): PythonValue => {
    const value = python.evaluate(rhs, scope);
    // A list grows in place, for all who hold it.
    if (current instanceof List && op === '+') {
      current.items.push(...(itemsIn(python.list(python.iterate(value))) as typeof current.items));
      return current;
    }
    return python.inPlace(op, current, value);
  };
  if (lhs.kind === 'select') {
    const owner = python.evaluate(lhs.value, scope);
    python.setAttribute(owner, lhs.selector.name, change(python.getAttribute(owner, lhs.selector.name)));
  } else if (lhs.kind === 'subscript') {
    const owner = python.evaluate(lhs.value, scope);
    const key = subscriptValue(python, lhs, scope);
    python.setItem(owner, key, change(python.getItem(owner, key)));
  } else {
    python.assign(lhs, change(python.evaluate(lhs, scope)), scope);
  }
}

function executeDelete(python: Interpreter, target: Expr, scope: Scope): void {
  if (target.kind === 'var') {
    if (!scope.delete(target.name.name)) {
      throw new PythonError(`name '${target.name.name}' is not defined`, 'NameError');
    }
  } else if (target.kind === 'select') {
    python.deleteAttribute(python.evaluate(target.value, scope), target.selector.name);
  } else if (target.kind === 'subscript') {
    const owner = python.evaluate(target.value, scope);
    const key = subscriptValue(python, target, scope);
    if (owner instanceof Dict) deleteItem(owner, key);
    else python.call(python.getAttribute(owner, '__delitem__'), [key]);
  }
}

// ---- definitions

function defineFunction(python: Interpreter, def: Def, scope: Scope): void {
  const { params, positionalOnly = [], returnType } = def.decl;
  const all = [...positionalOnly, ...params];
  for (const type of [...all.map((param) => param.type), returnType]) checkAnnotation(python, type, scope);
  const fn = new PythonFunction(def.name.name, all, def, undefined, scope.enclosing, defaultsOf(python, all, scope));
  python.captureDefaults(all, fn);
  const isProperty = def.decorators.length > 0;
  const previous = isProperty ? scope.names.get(def.name.name) : undefined;
  if (previous instanceof Unusable) scope.delete(def.name.name);
  scope.set(def.name.name, decorated(python, def.decorators, fn, scope));
}

/** Python computes an annotation where it stands. Throws a PythonError for a name in it that nothing has. */
function checkAnnotation(python: Interpreter, type: Expr | undefined, scope: Scope): void {
  // PyTorch's own files have names that are there for readers.
  if (type === undefined || scope.module.startsWith('torch.') || isTextToPython(type, scope)) return;
  const left: Expr[] = [type];
  for (let each = left.pop(); each !== undefined; each = left.pop()) {
    if (each.kind === 'var') python.evaluate(each, scope);
    else if (each.kind === 'select') left.push(each.value);
    else if (each.kind === 'binary') left.push(each.rhs, each.lhs);
    else if (each.kind === 'list' || each.kind === 'tuple') left.push(...each.inputs.toReversed());
    else if (each.kind === 'subscript') left.push(...each.subscripts.toReversed(), each.value);
  }
}

/** What decorators make of a function or class, the last one first. */
function decorated(python: Interpreter, decorators: readonly Expr[], value: PythonValue, scope: Scope): PythonValue {
  return decorators.reduceRight<PythonValue>(
    (inner, decorator) => python.call(python.evaluate(decorator, scope), [inner]),
    value,
  );
}

// ---- control flow

function executeLoop(python: Interpreter, loop: For | While, orElse: readonly Stmt[], scope: Scope): Exit {
  const runs = runsOf(python, loop, scope);
  while (runs()) {
    python.step();
    const exit = python.execute(loop.body, scope);
    if (exit === 'break') return undefined;
    if (exit !== undefined && exit !== 'continue') return exit;
  }
  return python.execute(orElse, scope);
}

/** Whether a loop goes on, asked before each time; of `for`, that gives its targets the next value. */
export function runsOf(python: Interpreter, loop: For | While, scope: Scope): () => boolean {
  return loop.kind === 'for' ? forRuns(python, loop, scope) : whileRuns(python, loop, scope);
}

function whileRuns(python: Interpreter, { cond }: While, scope: Scope): () => boolean {
  return () => python.isTruthy(python.evaluate(cond, scope));
}

/** Items are taken one by one, as the body may change what it goes over. */
function forRuns(python: Interpreter, { targets, itrs }: For, scope: Scope): () => boolean {
  const values = python.iterate(python.evaluate(itrs[0]!, scope))[Symbol.iterator]();
  return () => {
    const { done, value } = values.next();
    if (done) return false;
    python.assign(targets[0]!, value, scope);
    return true;
  };
}

/**
 * Enters a context of a `with`.
 *
 * @returns leaves it with the error that ended what stands in it, or undefined; true where it takes that
 */
export function enterContext(
  python: Interpreter,
  { target, variable }: WithItem,
  scope: Scope,
): (error?: unknown) => boolean {
  const manager = python.evaluate(target, scope);
  const exit = python.getAttribute(manager, '__exit__');
  const entered = python.call(python.getAttribute(manager, '__enter__'), []);
  if (variable !== undefined) scope.set(variable.name.name, entered);
  return (error) => {
    if (error === undefined) return python.isTruthy(python.call(exit, [null, null, null]));
    const reason = python.exceptionOf(error);
    const leave = (): PythonValue => python.call(exit, [python.typeOf(reason), reason, null]);
    return python.isTruthy(python.handling(error, leave));
  };
}

/** Each context of a `with` stands in the one before. */
function executeWith(python: Interpreter, statement: With, scope: Scope, at = 0): Exit {
  const item = statement.targets[at];
  if (item === undefined) return python.execute(statement.body, scope);
  const leave = enterContext(python, item, scope);
  let exit: Exit;
  try {
    exit = executeWith(python, statement, scope, at + 1);
  } catch (error) {
    if (leave(error)) return undefined;
    throw error;
  }
  leave();
  return exit;
}

function executeTry(
  python: Interpreter,
  { body, handlers, orElse, finalBody }: Extract<PythonStatementForm, { kind: 'try' }>,
  scope: Scope,
): Exit {
  let exit: Exit;
  try {
    try {
      exit = python.execute(body, scope) ?? python.execute(orElse, scope);
    } catch (error) {
      if (!(error instanceof PythonError || error instanceof CressetError)) throw error;
      const handler = handlerOf(python, handlers, error, scope);
      if (handler === undefined) throw error;
      exit = python.handling(error, () => python.execute(handler.body, scope));
    }
  } catch (error) {
    const ended = python.execute(finalBody, scope);
    if (ended !== undefined) return ended;
    throw error;
  }
  return python.execute(finalBody, scope) ?? exit;
}

/** The handler of an error, whose name has the exception. */
export function handlerOf(
  python: Interpreter,
  handlers: readonly ExceptionHandler[],
  error: unknown,
  scope: Scope,
): ExceptionHandler | undefined {
  const exception = python.exceptionOf(error);
  const handler = handlers.find(
    ({ type }) => type === undefined || python.isInstance(exception, python.evaluate(type, scope)),
  );
  if (handler?.name !== undefined) scope.set(handler.name.name, exception);
  return handler;
}

function raised(python: Interpreter, expr: Expr, scope: Scope): unknown {
  // `raise` alone.
  if (expr.kind === 'none') return python.handled ?? new PythonError('No active exception to reraise', 'RuntimeError');
  const value = python.evaluate(expr, scope);
  const exception = value instanceof PythonClass ? python.call(value, []) : value;
  if (!(exception instanceof PythonObject)) throw new PythonError('exceptions must derive from BaseException');
  return new PythonError(python.text(exception), exception);
}
