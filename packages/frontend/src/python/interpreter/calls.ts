import type { Param } from '../../parser/tree.ts';
import { PythonError } from '../python-arithmetic.ts';
import { pythonTypeName, type PythonValue } from '../python-value.ts';
import { dictOf, tupleOf } from './containers.ts';
import {
  BoundMethod,
  MethodWrapper,
  NativeFunction,
  PythonClass,
  PythonFunction,
  PythonIterator,
  PythonObject,
  QualifiedName,
  type Keywords,
} from './entities.ts';
import { generate, isGenerator } from './generators.ts';
import type { Interpreter } from './interpreter.ts';
import { Scope } from './scope.ts';

/** Calls whatever can be called. Throws a PythonError for the rest, and for arguments that do not fit. */
export function callValue(
  python: Interpreter,
  callee: PythonValue,
  args: readonly PythonValue[],
  kwargs: Keywords,
): PythonValue {
  if (callee instanceof PythonFunction) return callFunction(python, callee, args, kwargs);
  if (callee instanceof BoundMethod) return python.call(callee.fn, [callee.self, ...args], kwargs);
  if (callee instanceof NativeFunction) return callee.call(args, kwargs);
  if (callee instanceof PythonClass) return instantiate(python, callee, args, kwargs);
  if (callee instanceof QualifiedName) return python.torch.call(callee.path, args, kwargs);
  if (callee instanceof MethodWrapper && callee.kind === 'staticmethod') return python.call(callee.fn, args, kwargs);
  if (callee instanceof PythonObject) {
    const method = callee.type.find('__call__');
    if (method !== undefined) return python.call(new BoundMethod(callee, method), args, kwargs);
  }
  throw new PythonError(`'${pythonTypeName(callee)}' object is not callable`);
}

function callFunction(
  python: Interpreter,
  fn: PythonFunction,
  args: readonly PythonValue[],
  kwargs: Keywords,
): PythonValue {
  const scope = new Scope(fn.scope, 'function', fn.scope.module, { owner: fn.owner, self: args[0] });
  bind(fn, args, kwargs, scope);
  if (fn.def !== undefined && isGenerator(fn.def)) {
    return new PythonIterator(generate(python, fn.def.statements, scope) as Iterator<PythonValue>);
  }
  return python.deeper(() => {
    if (fn.lambda !== undefined) return python.evaluate(fn.lambda, scope);
    const exit = python.execute(fn.def!.statements, scope);
    return typeof exit === 'object' ? exit.returned : null;
  });
}

/** Gives parameters their arguments (Python's own rules and messages). */
function bind(fn: PythonFunction, args: readonly PythonValue[], kwargs: Keywords, scope: Scope): void {
  const positional = fn.params.filter(({ kwargOnly, variadic }) => !kwargOnly && variadic === '');
  const rest = fn.params.find(({ variadic }) => variadic === '*');
  const keywords = fn.params.find(({ variadic }) => variadic === '**');
  const name = `${fn.owner === undefined ? '' : `${fn.owner.name}.`}${fn.name}()`;
  if (args.length > positional.length && rest === undefined) {
    throw new PythonError(
      `${name} takes ${countOf(fn, positional)} but ${args.length} ${wasOrWere(args.length)} given`,
    );
  }
  const given = new Map<string, PythonValue>();
  positional.forEach(({ ident }, at) => {
    if (at < args.length) given.set(ident.name, args[at]!);
  });
  const unknown = new Map<string, PythonValue>();
  for (const [key, value] of kwargs) {
    if (given.has(key)) throw new PythonError(`${name} got multiple values for argument '${key}'`);
    const isParam = fn.params.some(({ ident, variadic }) => variadic === '' && ident.name === key);
    if (!isParam && keywords === undefined)
      throw new PythonError(`${name} got an unexpected keyword argument '${key}'`);
    (isParam ? given : unknown).set(key, value);
  }
  const missing: Param[] = [];
  for (const param of fn.params) {
    if (param.variadic !== '') continue;
    const value = given.has(param.ident.name) ? given.get(param.ident.name) : fn.defaults.get(param.ident.name);
    if (value === undefined) missing.push(param);
    else scope.names.set(param.ident.name, value);
  }
  if (missing.length > 0) throw missingArguments(name, missing);
  if (rest !== undefined) scope.names.set(rest.ident.name, tupleOf(args.slice(positional.length)));
  if (keywords !== undefined) scope.names.set(keywords.ident.name, dictOf(unknown));
}

function missingArguments(name: string, missing: readonly Param[]): PythonError {
  const kind = missing[0]!.kwargOnly ? 'keyword-only' : 'positional';
  const names = missing.map(({ ident }) => `'${ident.name}'`);
  const listed = names.length < 3 ? names.join(' and ') : `${names.slice(0, -1).join(', ')}, and ${names.at(-1)}`;
  return new PythonError(
    `${name} missing ${names.length} required ${kind} argument${names.length === 1 ? '' : 's'}: ${listed}`,
  );
}

function countOf(fn: PythonFunction, positional: readonly Param[]): string {
  const most = positional.length;
  const least = positional.filter(({ ident }) => !fn.defaults.has(ident.name)).length;
  return `${least === most ? '' : `from ${least} to `}${most} positional argument${most === 1 ? '' : 's'}`;
}

function wasOrWere(count: number): string {
  return count === 1 ? 'was' : 'were';
}

/** Throws a PythonError for a class that leaves methods of `ABC` to those derived from it. */
function checkAbstract(python: Interpreter, type: PythonClass): void {
  const base = python.standardMembers('abc')!.entries.get('ABC') as PythonValue as PythonClass;
  if (!type.isSubclassOf(base)) return;
  const names = new Set(type.mro.flatMap(({ members }) => [...members.keys()]));
  const abstract = [...names].filter((name) => isAbstract(type.find(name))).sort();
  if (abstract.length === 0) return;
  const methods = `method${abstract.length === 1 ? '' : 's'} ${abstract.join(', ')}`;
  throw new PythonError(`Can't instantiate abstract class ${type.name} with abstract ${methods}`);
}

function isAbstract(member: PythonValue | undefined): boolean {
  const fn = member instanceof MethodWrapper ? member.fn : member;
  return fn instanceof PythonFunction && fn.attributes.has('__isabstractmethod__');
}

/** Makes an object and runs its `__init__`. */
function instantiate(
  python: Interpreter,
  type: PythonClass,
  args: readonly PythonValue[],
  kwargs: Keywords,
): PythonValue {
  const { construct } = type.native;
  if (construct !== undefined) return construct(args, kwargs);
  const allocate = type.nativePart('allocate');
  const maker = type.find('__new__');
  const made = maker instanceof PythonFunction ? python.call(maker, [type, ...args], kwargs) : undefined;
  const isOwn = made === undefined || (made instanceof PythonObject && made.type.isSubclassOf(type));
  if (!isOwn) return made;
  checkAbstract(python, type);
  const object = made ?? (allocate === undefined ? new PythonObject(type) : allocate(type));
  const init = type.find('__init__');
  if (init !== undefined) python.call(init, [object, ...args], kwargs);
  else if (args.length + kwargs.size > 0) throw new PythonError(`${type.name}() takes no arguments`);
  return object;
}
