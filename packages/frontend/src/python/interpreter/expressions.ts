import { nested } from '@cresset/ir';
import { tooDeep } from '../../compilation-error.ts';
import type { ComprehensionClause, PythonForm } from '../../parser/python-tree.ts';
import type { Apply, BinOp, Expr, SliceExpr, Subscript, Var } from '../../parser/tree.ts';
import { PythonError } from '../python-arithmetic.ts';
import type { PythonValue } from '../python-value.ts';
import { dictOf, entriesOf, listOf, setItem, tupleOf } from './containers.ts';
import { ELLIPSIS, PythonFunction, PythonIterator, PythonSet, PythonSlice, TypeExpression } from './entities.ts';
import { formatFields } from './formatting.ts';
import type { Interpreter } from './interpreter.ts';
import { addToSet } from './operations.ts';
import { Scope, Unusable } from './scope.ts';

/** The value of an expression. Throws a PythonError where Python would raise. */
export function evaluateExpression(python: Interpreter, expr: Expr, scope: Scope): PythonValue {
  return nested(
    () => evaluate(python, expr, scope),
    () => tooDeep(expr.range),
  );
}

function evaluate(python: Interpreter, expr: Expr, scope: Scope): PythonValue {
  const valueOf = (each: Expr): PythonValue => python.evaluate(each, scope);
  switch (expr.kind) {
    case 'const':
    case 'bool':
      return expr.value;
    case 'none':
      return null;
    case 'string':
      return expr.text;
    case 'dots':
      return ELLIPSIS;
    case 'var':
      return named(python, expr, scope);
    case 'tuple':
      return tupleOf(items(python, expr.inputs, scope));
    case 'list':
      return listOf(items(python, expr.inputs, scope));
    case 'dict':
      return dictLiteral(python, expr.keys, expr.values, scope);
    case 'unary':
      return python.unary(expr.op, valueOf(expr.operand));
    case 'binary':
      return binary(python, expr, scope);
    case 'ternary':
      return valueOf(python.isTruthy(valueOf(expr.cond)) ? expr.trueExpr : expr.falseExpr);
    case 'select':
      return python.getAttribute(valueOf(expr.value), expr.selector.name);
    case 'subscript':
      return subscript(python, expr, scope);
    case 'slice':
      return sliceOf(python, expr, scope);
    case 'apply':
      return call(python, expr, scope);
    case 'list-comp':
      return itemsOf(python, expr, [expr.elt], [clauseOf(expr.target, expr.iter)], scope);
    case 'dict-comp':
      return dictOf(
        [...comprehension(python, [expr.key, expr.value], [clauseOf(expr.target, expr.iter)], scope)].map(
          ([key, value]) => [key!, value!] as const,
        ),
      );
    case 'starred':
      throw new PythonError("can't use starred expression here", 'SyntaxError');
    case 'python':
      return evaluateForm(python, expr.form, scope, expr);
  }
}

function evaluateForm(python: Interpreter, form: PythonForm, scope: Scope, expr: Expr): PythonValue {
  switch (form.kind) {
    case 'lambda':
      return new PythonFunction(
        '<lambda>',
        form.params,
        undefined,
        form.body,
        scope.enclosing,
        defaultsOf(python, form.params, scope),
      );
    case 'named': {
      const value = python.evaluate(form.value, scope);
      let target = scope;
      while (target.kind === 'comprehension') target = target.parent!;
      python.assign(form.target, value, target);
      return value;
    }
    case 'set':
      return new PythonSet(items(python, form.inputs, scope).reduce<PythonValue[]>(addToSet, []));
    case 'comprehension': {
      if (form.of === 'list') return itemsOf(python, expr, form.parts, form.clauses, scope);
      const found = [...comprehension(python, form.parts, form.clauses, scope)];
      if (form.of === 'dict') return dictOf(found.map(([key, value]) => [key!, value!] as const));
      return new PythonSet(found.map(([item]) => item!).reduce<PythonValue[]>(addToSet, []));
    }
    case 'formatted':
      return formatFields(python, form.parts, scope);
    case 'bytes':
      return form.text;
    case 'suspension':
      if (form.keyword === 'await') return form.value === undefined ? null : python.evaluate(form.value, scope);
      throw new PythonError(`'${form.keyword}' within an expression is not supported here`, 'SyntaxError');
    case 'expansion':
      throw new PythonError(`${expr.range.text()} stands in a call or a dict only`, 'SyntaxError');
  }
}

/** The values of parameters that are not given. */
export function defaultsOf(
  python: Interpreter,
  params: PythonFunction['params'],
  scope: Scope,
): ReadonlyMap<string, PythonValue> {
  return new Map(
    params.flatMap(({ ident, defaultValue }) =>
      defaultValue === undefined ? [] : [[ident.name, python.evaluate(defaultValue, scope)] as const],
    ),
  );
}

function named(python: Interpreter, expr: Var, scope: Scope): PythonValue {
  const { name } = expr.name;
  const own = scope.find(name);
  const found = own === undefined ? python.builtin(name) : own;
  if (found instanceof Unusable) throw found.reason;
  if (found === undefined) throw new PythonError(`name '${name}' is not defined`, 'NameError');
  return found;
}

/** What a list of arguments or items comes to: those with a star are spread. */
export function items(python: Interpreter, exprs: readonly Expr[], scope: Scope): PythonValue[] {
  return exprs.flatMap((expr) =>
    expr.kind === 'starred' ? [...python.iterate(python.evaluate(expr.expr, scope))] : [python.evaluate(expr, scope)],
  );
}

function dictLiteral(python: Interpreter, keys: readonly Expr[], values: readonly Expr[], scope: Scope): PythonValue {
  const dict = dictOf([]);
  keys.forEach((key, at) => {
    if (key.kind === 'python' && key.form.kind === 'expansion') {
      const mapping = python.mapping(python.evaluate(key.form.mapping, scope));
      for (const [name, value] of entriesOf(mapping)) setItem(dict, name, value);
    } else {
      setItem(dict, python.evaluate(key, scope), python.evaluate(values[at]!, scope));
    }
  });
  return dict;
}

function binary(python: Interpreter, expr: BinOp, scope: Scope): PythonValue {
  const left = python.evaluate(expr.lhs, scope);
  if (expr.op === 'and' || expr.op === 'or') {
    return python.isTruthy(left) === (expr.op === 'and') ? python.evaluate(expr.rhs, scope) : left;
  }
  // A union of types, as an annotation.
  if (expr.op === '|' && python.isType(left)) return new TypeExpression(expr);
  return python.binary(expr.op, left, python.evaluate(expr.rhs, scope));
}

function subscript(python: Interpreter, expr: Subscript, scope: Scope): PythonValue {
  const value = python.evaluate(expr.value, scope);
  if (python.isType(value) && !python.hasMembers(value)) return new TypeExpression(expr);
  return python.getItem(value, subscriptValue(python, expr, scope));
}

export function subscriptValue(
  python: Interpreter,
  { subscripts, subscriptsRange }: Subscript,
  scope: Scope,
): PythonValue {
  const isTuple = subscripts.length > 1 || /,\s*$/.test(subscriptsRange.text());
  return isTuple ? tupleOf(items(python, subscripts, scope)) : python.evaluate(subscripts[0]!, scope);
}

function sliceOf(python: Interpreter, { start, end, step }: SliceExpr, scope: Scope): PythonSlice {
  const bound = (expr: Expr | undefined): PythonValue => (expr === undefined ? null : python.evaluate(expr, scope));
  return new PythonSlice(bound(start), bound(end), bound(step));
}

function call(python: Interpreter, expr: Apply, scope: Scope): PythonValue {
  if (expr.callee.kind === 'var' && expr.inputs.length === 0) {
    const { name } = expr.callee.name;
    if (name === 'super' && scope.find(name) === undefined) return python.superOf(scope);
    if (name === 'locals' || name === 'vars') {
      return dictOf([...scope.enclosing.names].map(([key, value]) => [key, value as PythonValue] as const));
    }
    if (name === 'globals') {
      return dictOf([...scope.globals.names].map(([key, value]) => [key, value as PythonValue] as const));
    }
  }
  const callee = python.evaluate(expr.callee, scope);
  const isExpansion = (each: Expr): boolean => each.kind === 'python' && each.form.kind === 'expansion';
  const args = items(
    python,
    expr.inputs.filter((each) => !isExpansion(each)),
    scope,
  );
  const kwargs = new Map<string, PythonValue>();
  for (const { name, value } of expr.attributes) kwargs.set(name.name, python.evaluate(value, scope));
  for (const each of expr.inputs) {
    if (each.kind !== 'python' || each.form.kind !== 'expansion') continue;
    const mapping = python.mapping(python.evaluate(each.form.mapping, scope));
    for (const [key, value] of entriesOf(mapping)) kwargs.set(key as string, value);
  }
  return python.call(callee, args, kwargs);
}

function clauseOf(target: Expr, iter: Expr): ComprehensionClause {
  return { target, iter, conditions: [] };
}

/** A list, or a generator where the comprehension stands in no brackets of its own or in round ones. */
function itemsOf(
  python: Interpreter,
  { range }: Expr,
  parts: readonly Expr[],
  clauses: readonly ComprehensionClause[],
  scope: Scope,
): PythonValue {
  const items = comprehension(python, parts, clauses, scope);
  const first = function* (): Generator<PythonValue> {
    for (const [item] of items) yield item!;
  };
  const isGenerator = range.start === parts[0]!.range.start || range.source.text[range.start] === '(';
  return isGenerator ? new PythonIterator(first()) : listOf(first());
}

/** The values of the parts, one after the other, for all that the clauses go over. */
function* comprehension(
  python: Interpreter,
  parts: readonly Expr[],
  clauses: readonly ComprehensionClause[],
  outer: Scope,
): Generator<PythonValue[]> {
  const scope = new Scope(outer, 'comprehension', outer.module);
  function* go(at: number): Generator<PythonValue[]> {
    const clause = clauses[at];
    if (clause === undefined) {
      yield parts.map((part) => python.evaluate(part, scope));
      return;
    }
    for (const item of python.iterate(python.evaluate(clause.iter, scope))) {
      python.step();
      python.assign(clause.target, item, scope);
      if (clause.conditions.every((condition) => python.isTruthy(python.evaluate(condition, scope)))) yield* go(at + 1);
    }
  }
  yield* go(0);
}
