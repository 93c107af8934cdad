import {
  AnyType,
  ClassType,
  compilerServices,
  NoneType,
  StringType,
  TensorType,
  unifyTypes,
  type SourceRange,
  type Type,
  type Value,
} from '@cresset/ir';
import { emitBuiltinCall } from './builtin-call.ts';
import { ExceptionMessageValue, ExceptionValue } from '../values/callable-value.ts';
import type { LibraryServices } from '../functional/library.ts';
import { compileError } from '../compilation-error.ts';
import { emitIfElseBlocks } from './condition-emission.ts';
import type { Emitter } from './emitter.ts';
import { tryConvertToType } from './implicit-conversion.ts';
import { NamedValue } from '../values/named-value.ts';
import { MethodValue } from '../values/simple-value.ts';
import {
  makeApply,
  makeVar,
  type Assert,
  type Delete,
  type Expr,
  type Pass,
  type Raise,
  type Return,
  type With,
} from '../parser/tree.ts';

export function emitReturn(e: Emitter, stmt: Return): void {
  const declared = e.def.declaredReturnType;
  let value = e.emitExpr(stmt.expr, declared);
  let type: Type;
  if (declared === undefined) {
    type = mergeReturnType(e, stmt, value.type);
  } else {
    type = declared;
    // None must not become a tensor: that would hide a forgotten return.
    if (!(declared.isSubtypeOf(TensorType.get()) && value.type.isSubtypeOf(NoneType.get()))) {
      value = tryConvertToType(stmt.range, e.graph, declared, value, true);
    }
    if (!value.type.isSubtypeOf(declared)) {
      throw compileError(
        stmt.range,
        `Return value was annotated as having type ${declared.reprStr()} but is actually of type ${value.type.reprStr()}`,
      );
    }
  }
  e.def.mergedReturnType = type;
  if (type === AnyType.get() && value.type !== AnyType.get()) {
    value = e.graph.insertUncheckedCast(value, type);
  }
  e.graph.insertNode(e.graph.create('prim::ReturnStmt', [value], 0).setSourceRange(stmt.range));
  e.exitBlocks.add(e.environment.block);
}

function mergeReturnType(e: Emitter, stmt: Return, type: Type): Type {
  const previous = e.def.mergedReturnType ?? type;
  const merged = unifyTypes(previous, type);
  if (merged === undefined) {
    throw compileError(
      stmt.range,
      `Previous return statement returned a value of type ${previous.reprStr()} but this return statement returns a value of type ${type.reprStr()}`,
    );
  }
  return merged;
}

export function emitBreakOrContinue(e: Emitter, stmt: Pass): void {
  if (e.loopStatus === 'not-in-loop') {
    throw compileError(stmt.range, `SyntaxError: '${stmt.kind}' outside loop`);
  }
  if (e.loopStatus === 'in-unrolled-loop') {
    throw compileError(
      stmt.range,
      'Because we emit iteration over modulelists or tuples as unrolled loops, we do not support break or continue inside the body of these loops',
    );
  }
  const kind = stmt.kind === 'break' ? 'prim::BreakStmt' : 'prim::ContinueStmt';
  e.graph.insertNode(e.graph.create(kind, [], 0).setSourceRange(stmt.range));
}

export function emitDelete(e: Emitter, stmt: Delete): void {
  for (const target of stmt.targets) {
    if (target.kind === 'var') {
      e.environment.removeVar(target.name.name, target.name.range);
    } else if (target.kind === 'subscript') {
      const [subscript] = target.subscripts;
      if (subscript!.kind === 'slice') {
        throw compileError(
          target.range,
          'del statements only support deletion at a single index, slicing is not supported (see https://github.com/pytorch/pytorch/issues/31430)',
        );
      }
      const container = e.emitSugaredExpr(target.value);
      const index = e.emitExpr(subscript!);
      emitDeleteItem(e, stmt.range, target, container.asValue(target.value.range, e.fn), index);
    } else {
      throw compileError(
        target.range,
        'del statements are only supported for deleting list and dict items and variables',
      );
    }
  }
}

function emitDeleteItem(e: Emitter, range: SourceRange, target: Expr, container: Value, index: Value): void {
  const { type } = container;
  if (type instanceof ClassType) {
    if (type.findMethod('__delitem__') === undefined) {
      throw compileError(target.range, 'Class does not define __delitem__');
    }
    new MethodValue(container, '__delitem__').call({
      range,
      fn: e.fn,
      args: [NamedValue.of(index, range)],
      kwargs: [],
    });
    return;
  }
  const node = e.graph.create('aten::Delete', [container, index], 0).setSourceRange(target.range);
  const refusal = compilerServices<LibraryServices>().library?.undeletable(node);
  if (refusal !== undefined) throw compileError(undefined, refusal);
  e.graph.insertNode(node);
}

/** `with a as b, c:` enters each object, and leaves them in reverse order after the body. */
export function emitWith(e: Emitter, stmt: With): void {
  const { graph } = e;
  const entered: Value[] = [];
  for (const item of stmt.targets) {
    const object = e.emitExpr(item.target);
    const enter = graph.insertNode(graph.create('prim::Enter', [object]).setSourceRange(item.target.range));
    entered.push(object);
    enter.output().setType(enteredType(object, item.target.range));
    if (item.variable !== undefined) {
      e.environment.setVar(item.variable.range, item.variable.name.name, enter.output());
    }
  }
  e.emitStatements(stmt.body);
  for (const object of entered.reverse()) {
    graph.insertNode(graph.create('prim::Exit', [object]).setSourceRange(stmt.range));
  }
}

/** What `__enter__` gives; throws an ErrorReport where the object cannot stand in a `with`. */
function enteredType(object: Value, range: SourceRange): Type {
  const { type } = object;
  if (!(type instanceof ClassType)) {
    throw compileError(range, 'With item expression must return an object');
  }
  const enter = type.findMethod('__enter__');
  const exit = type.findMethod('__exit__');
  if (enter === undefined || exit === undefined) {
    throw compileError(range, 'Object returned by with item expression does not define __enter__ and __exit__ methods');
  }
  if (enter.schema.arguments.length !== 1) {
    throw compileError(range, '__enter__ must have only one argument and one return value');
  }
  if (exit.schema.arguments.length !== 4) {
    throw compileError(range, '__exit__ must have four arguments');
  }
  for (const [index, argument] of exit.schema.arguments.entries()) {
    if (index > 0 && argument.type !== AnyType.get()) {
      throw compileError(
        range,
        `argument ${index} of __exit__ must have Any type; TorchScript does not currently support passing exception type, value, or traceback to the __exit__ function.`,
      );
    }
  }
  return enter.schema.returns[0]!.type;
}

export function emitRaise(e: Emitter, stmt: Raise): void {
  const { graph } = e;
  const exception = e.emitSugaredExpr(stmt.expr);
  let message: Value;
  let qualifiedName: Value | undefined;
  if (exception instanceof ExceptionMessageValue) {
    ({ message, qualifiedName } = exception);
  } else if (exception instanceof ExceptionValue || exception.kind() === 'exception') {
    message = graph.insertConstant('', stmt.range);
  } else {
    throw compileError(stmt.range, 'exceptions must derive from BaseException');
  }
  if (!message.type.isSubtypeOf(StringType.get())) {
    message = emitBuiltinCall(stmt.range, graph, 'aten::str', [NamedValue.of(message, stmt.range)]);
  }
  const inputs = [message, qualifiedName ?? graph.insertConstant(null, stmt.range)];
  graph.insertNode(graph.create('prim::RaiseException', inputs, 0).setSourceRange(stmt.range));
  e.exitBlocks.add(e.environment.block);
}

/** An assertion is an `if` whose else branch raises. */
export function emitAssert(e: Emitter, stmt: Assert): void {
  const cond = e.emitCondExpr(stmt.test);
  const message: Expr = stmt.message ?? { kind: 'string', range: stmt.range, text: '' };
  const error = makeApply(stmt.range, makeVar(stmt.range, 'AssertionError'), [message]);
  emitIfElseBlocks(e, stmt.range, cond, [], [{ kind: 'raise', range: stmt.range, expr: error }]);
}
