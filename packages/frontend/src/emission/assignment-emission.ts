import {
  BoolType,
  ClassType,
  ComplexType,
  DictType,
  FloatType,
  IntType,
  ListType,
  AnyTupleType,
  NumberType,
  OptionalType,
  TensorType,
  type SourceRange,
  type Symbol,
  type Type,
  type Value,
} from '@cresset/ir';
import { emitBuiltinCall } from './builtin-call.ts';
import { MagicMethod } from '../values/callable-value.ts';
import { compileError } from '../compilation-error.ts';
import type { Emitter } from './emitter.ts';
import { NamedValue } from '../values/named-value.ts';
import { BuiltinFunction, MethodValue } from '../values/simple-value.ts';
import { emitIntAndSliceIndexing } from './subscript-emission.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import { makeVar, type Assign, type AugAssign, type Expr, type Select, type Subscript } from '../parser/tree.ts';

export function emitAssignment(e: Emitter, stmt: Assign): void {
  if (stmt.rhs === undefined) {
    throw compileError(stmt.range, 'For an assignment, expected an expression on the right-hand side');
  }
  if (stmt.lhsList.length === 1) {
    emitSingleAssignment(e, stmt, stmt.lhsList[0]!, stmt.rhs);
    return;
  }
  // `a = b = f()` calls f once, and assigns from left to right.
  const temporary = e.createTempName('$tmp_assign_');
  const { range } = stmt.rhs;
  e.environment.setSugaredVar(range, temporary, e.emitSugaredExpr(stmt.rhs));
  for (const lhs of stmt.lhsList) {
    emitSingleAssignment(e, { ...stmt, type: undefined }, lhs, makeVar(range, temporary));
  }
}

function emitSingleAssignment(e: Emitter, stmt: Assign, lhs: Expr, rhs: Expr): void {
  const type = stmt.type === undefined ? undefined : e.typeParser.parseTypeFromExpr(stmt.type);
  switch (lhs.kind) {
    case 'var':
      e.environment.setSugaredVar(lhs.range, lhs.name.name, e.emitSugaredExpr(rhs, type), type);
      break;
    case 'tuple':
      emitTupleAssign(e, lhs.inputs, lhs.range, rhs);
      break;
    case 'select': {
      checkAttributeAnnotation(e, stmt, lhs);
      const object = e.emitSugaredExpr(lhs.value);
      const value = e.emitSugaredExpr(rhs, type).asValue(rhs.range, e.fn);
      object.setAttr(stmt.range, e.fn, lhs.selector.name, value);
      break;
    }
    case 'subscript':
      emitSubscriptAssign(e, stmt.range, lhs, () => NamedValue.of(e.emitExpr(rhs), rhs.range));
      break;
    default:
      throw compileError(lhs.range, 'unexpected expression on left-hand side of assignment');
  }
}

/** `self.x: T = …` declares an attribute, which only `__init__` may do. */
function checkAttributeAnnotation(e: Emitter, stmt: Assign, lhs: Select): void {
  const isSelf = lhs.value.kind === 'var' && lhs.value.name.name === 'self';
  if (stmt.type !== undefined && isSelf && e.fn.name !== '__init__') {
    throw compileError(
      stmt.range,
      `Type annotations on instance attributes must be declared in __init__, not '${e.fn.name}'`,
    );
  }
}

/** Whether one of the targets is starred; throws an ErrorReport for targets that nothing can be assigned to. */
export function validateAssignTargets(targets: readonly Expr[], range: SourceRange): boolean {
  let normal = 0;
  let starred = 0;
  for (const target of targets) {
    if (['var', 'subscript', 'tuple', 'select'].includes(target.kind)) {
      normal++;
    } else if (target.kind === 'starred') {
      starred++;
    } else {
      throw compileError(target.range, 'lhs of assignment must be a variable, subscript, or starred expression');
    }
  }
  if (starred > 1) {
    throw compileError(range, 'Only one starred expression is allowed on the lhs');
  }
  if (starred > 0 && normal === 0) {
    throw compileError(
      range,
      'A Starred expression may only appear on the lhs within the presence of another non-starred expression',
    );
  }
  return starred > 0;
}

function emitTupleAssign(e: Emitter, targets: readonly Expr[], range: SourceRange, rhs: Expr): void {
  const isStarred = validateAssignTargets(targets, range);
  const binders = targets.length - (isStarred ? 1 : 0);
  unpackInto(e, targets, range, e.emitSugaredExpr(rhs), rhs.range, binders, isStarred);
}

function unpackInto(
  e: Emitter,
  targets: readonly Expr[],
  range: SourceRange,
  rhs: SugaredValue,
  rhsRange: SourceRange,
  binders: number,
  isStarred: boolean,
): void {
  const outputs = rhs.asTuple(rhsRange, e.fn, isStarred ? undefined : binders);
  if (outputs.length < binders) {
    throw compileError(
      range,
      `need ${isStarred ? 'at least ' : ''}${binders} values to unpack but found only ${outputs.length}`,
    );
  }
  if (outputs.length > binders && !isStarred) {
    throw compileError(range, `too many values to unpack: need ${binders} but found ${outputs.length}`);
  }
  emitExprsAssign(e, targets, outputs, rhsRange, binders);
}

/** Assigns `outputs` to targets one by one; a starred target takes what the `binders` others leave. */
export function emitExprsAssign(
  e: Emitter,
  targets: readonly Expr[],
  outputs: readonly SugaredValue[],
  range: SourceRange,
  binders: number,
): void {
  let next = 0;
  for (const target of targets) {
    if (target.kind === 'starred') {
      const count = outputs.length - binders;
      emitStarredAssign(e, target.expr, outputs.slice(next, next + count), target.range);
      next += count;
    } else {
      emitTargetAssign(e, target, outputs[next++]!, range);
    }
  }
}

function emitStarredAssign(e: Emitter, target: Expr, values: readonly SugaredValue[], range: SourceRange): void {
  if (target.kind !== 'var') {
    throw compileError(target.range, 'Cannot pack a tuple into a non-variable');
  }
  const elements = values.map((value) => value.asValue(range, e.fn));
  const tuple = e.graph.insertNode(e.graph.createTuple(elements).setSourceRange(range)).output();
  e.environment.setVar(target.range, target.name.name, tuple);
}

function emitTargetAssign(e: Emitter, target: Expr, value: SugaredValue, range: SourceRange): void {
  switch (target.kind) {
    case 'subscript':
      emitSubscriptAssign(e, range, target, () => NamedValue.of(value.asValue(range, e.fn), range));
      break;
    case 'var':
      e.environment.setSugaredVar(target.range, target.name.name, value);
      break;
    case 'tuple':
      emitNestedUnpacking(e, target.inputs, target.range, value, range);
      break;
    case 'select':
      emitSelectAssign(e, target, value, range);
      break;
    default:
      throw compileError(target.range, 'unexpected expression on the left-hand side');
  }
}

function emitNestedUnpacking(
  e: Emitter,
  targets: readonly Expr[],
  targetRange: SourceRange,
  value: SugaredValue,
  range: SourceRange,
): void {
  const isStarred = validateAssignTargets(targets, targetRange);
  unpackInto(e, targets, targetRange, value, range, targets.length - (isStarred ? 1 : 0), isStarred);
}

function emitSelectAssign(e: Emitter, target: Select, value: SugaredValue, range: SourceRange): void {
  const object = e.emitSugaredExpr(target.value);
  object.setAttr(range, e.fn, target.selector.name, value.asValue(range, e.fn));
}

/** `x[i] = v`: a copy into a view of a tensor, or an item of a list, dict or object set. */
function emitSubscriptAssign(e: Emitter, range: SourceRange, lhs: Subscript, emitRhs: () => NamedValue): void {
  const { graph } = e;
  const rhs = emitRhs();
  const container = e.emitExpr(lhs.value);
  if (!container.type.isSubtypeOf(TensorType.get())) {
    emitSetItem(e, range, lhs, container, rhs);
    return;
  }
  const { sliced, tensorIndices } = emitIntAndSliceIndexing(e, lhs.range, container, lhs.subscripts);
  const target = NamedValue.of(sliced, lhs.range);
  const value = emitValueToTensor(e, range, rhs, target);
  if (tensorIndices.length === 0) {
    emitBuiltinCall(range, graph, 'aten::copy_', [target, value]);
    return;
  }
  const indices = graph.insertNode(graph.createList(OptionalType.ofTensor(), tensorIndices)).output();
  emitBuiltinCall(range, graph, 'aten::index_put_', [target, NamedValue.of(indices, range), value]);
}

function emitSetItem(e: Emitter, range: SourceRange, lhs: Subscript, container: Value, rhs: NamedValue): void {
  const [subscript] = lhs.subscripts;
  if (lhs.subscripts.length !== 1 || subscript!.kind === 'slice') {
    throw compileError(
      lhs.subscriptsRange,
      'Sliced expression not yet supported for subscripted assignment. File a bug if you want this',
    );
  }
  if (container.type.isSubtypeOf(AnyTupleType.get())) {
    throw compileError(lhs.range, `${container.type.reprStr()} does not support subscripted assignment`);
  }
  const args = [
    NamedValue.of(container, lhs.value.range, 'self'),
    NamedValue.of(e.emitExpr(subscript!), lhs.subscriptsRange, 'idx'),
    rhs,
  ];
  new MagicMethod('__setitem__', new BuiltinFunction('aten::_set_item')).call({ range, fn: e.fn, args, kwargs: [] });
}

const NUMBERS: ReadonlySet<Type> = new Set([
  NumberType.get(),
  IntType.get(),
  BoolType.get(),
  FloatType.get(),
  ComplexType.get(),
]);

/** A number assigned into a tensor becomes a tensor of its dtype on its device. */
function emitValueToTensor(e: Emitter, range: SourceRange, value: NamedValue, like: NamedValue): NamedValue {
  const number = value.value(e.graph);
  if (!NUMBERS.has(number.type)) {
    return value;
  }
  const dtype = emitBuiltinCall(range, e.graph, 'prim::dtype', [like]);
  const device = emitBuiltinCall(range, e.graph, 'prim::device', [like]);
  const kwargs = [NamedValue.of(dtype, range, 'dtype'), NamedValue.of(device, range, 'device')];
  return NamedValue.of(emitBuiltinCall(range, e.graph, 'aten::tensor', [NamedValue.of(number, range)], kwargs), range);
}

/** Operators of augmented assignment: out of place, and in place on tensors and lists. */
const AUGMENTED_OPERATORS: Readonly<Record<string, readonly [outOfPlace: Symbol, inPlace: Symbol]>> = {
  '+': ['aten::add', 'aten::add_'],
  '-': ['aten::sub', 'aten::sub_'],
  '/': ['aten::div', 'aten::div_'],
  '*': ['aten::mul', 'aten::mul_'],
  '%': ['aten::fmod', 'aten::fmod_'],
  '|': ['aten::__or__', 'aten::bitwise_or'],
  '&': ['aten::__and__', 'aten::bitwise_and'],
  '^': ['aten::__xor__', 'aten::bitwise_xor'],
  '<<': ['aten::__lshift__', 'aten::__ilshift__'],
  '>>': ['aten::__rshift__', 'aten::__irshift__'],
  '**': ['aten::pow', 'aten::pow'],
};

function augmentedOperator(stmt: AugAssign, type: Type): Symbol {
  const operators = AUGMENTED_OPERATORS[stmt.op];
  if (operators === undefined) {
    throw compileError(stmt.range, `unsupported kind of augmented assignment: ${stmt.op}=`);
  }
  const isInPlace = type.isSubtypeOf(TensorType.get()) || type instanceof ListType;
  return operators[isInPlace ? 1 : 0];
}

/** Methods of classes for augmented assignment; the second is taken where the first is not there. */
const AUGMENTED_METHODS: Readonly<Record<string, readonly [inPlace: string, outOfPlace: string]>> = {
  '+': ['__iadd__', '__add__'],
  '-': ['__isub__', '__sub__'],
  '/': ['__itruediv__', '__truediv__'],
  '*': ['__imul__', '__mul__'],
  '%': ['__imod__', '__mod__'],
};

export function emitAugAssignment(e: Emitter, stmt: AugAssign): void {
  const { lhs } = stmt;
  switch (lhs.kind) {
    case 'var': {
      const value = emitAugmentedValue(e, stmt, e.emitExpr(lhs));
      e.environment.setVar(lhs.range, lhs.name.name, value);
      break;
    }
    case 'select': {
      const object = e.emitSugaredExpr(lhs.value);
      const old = object.attr(lhs.range, e.fn, lhs.selector.name).asValue(lhs.range, e.fn);
      object.setAttr(stmt.range, e.fn, lhs.selector.name, emitAugmentedValue(e, stmt, old));
      break;
    }
    case 'subscript':
      emitAugmentedSubscript(e, stmt, lhs);
      break;
    default:
      throw compileError(lhs.range, 'unexpected expression on left-hand side of augmented assignment');
  }
}

function emitAugmentedValue(e: Emitter, stmt: AugAssign, lhs: Value): Value {
  const { type } = lhs;
  const rhs = NamedValue.of(e.emitExpr(stmt.rhs), stmt.rhs.range);
  if (!(type instanceof ClassType)) {
    const args = [NamedValue.of(lhs, stmt.lhs.range), rhs];
    return emitBuiltinCall(stmt.range, e.graph, augmentedOperator(stmt, type), args);
  }
  const methods = AUGMENTED_METHODS[stmt.op];
  if (methods === undefined) {
    throw compileError(stmt.range, `Unknown augmented assignment: ${stmt.op}`);
  }
  const method = methods.find((name) => type.findMethod(name) !== undefined);
  if (method === undefined) {
    throw compileError(
      stmt.range,
      `Cannot emit inplace op on ${type.reprStr()} since it does not define an ${methods[0]} or ${methods[1]} method`,
    );
  }
  return new MethodValue(lhs, method)
    .call({ range: stmt.range, fn: e.fn, args: [rhs], kwargs: [] })
    .asValue(stmt.range, e.fn);
}

function emitAugmentedSubscript(e: Emitter, stmt: AugAssign, lhs: Subscript): void {
  const { graph } = e;
  const container = e.emitExpr(lhs.value);
  if (!container.type.isSubtypeOf(TensorType.get())) {
    emitAugmentedItem(e, stmt, lhs, container);
    return;
  }
  const { sliced, tensorIndices } = emitIntAndSliceIndexing(e, lhs.range, container, lhs.subscripts);
  const target = NamedValue.of(sliced, lhs.range, 'self');
  const rhs = NamedValue.of(e.emitExpr(stmt.rhs), stmt.rhs.range);
  const operator = augmentedOperator(stmt, container.type);
  if (tensorIndices.length === 0) {
    emitBuiltinCall(stmt.range, graph, operator, [rhs], [], target);
    return;
  }
  const list = graph.insertNode(graph.createList(OptionalType.ofTensor(), tensorIndices)).output();
  const indices = NamedValue.of(list, stmt.range);
  const indexed = emitBuiltinCall(stmt.range, graph, 'aten::index', [target, indices]);
  const augmented = emitBuiltinCall(stmt.range, graph, operator, [rhs], [], NamedValue.of(indexed, stmt.range));
  emitBuiltinCall(stmt.range, graph, 'aten::index_put_', [target, indices, NamedValue.of(augmented, stmt.range)]);
}

/** `list[i] += v` and `dict[k] += v` */
function emitAugmentedItem(e: Emitter, stmt: AugAssign, lhs: Subscript, container: Value): void {
  const { type } = container;
  if (lhs.subscripts.length !== 1) {
    throw compileError(
      lhs.subscriptsRange,
      `Sliced expression not yet supported for ${type.reprStr()} augmented assignment. File a bug if you want this`,
    );
  }
  const element = type instanceof ListType ? type.elementType : type instanceof DictType ? type.keyType : undefined;
  if (element === undefined) {
    throw compileError(lhs.range, `${type.reprStr()} does not support augmented assignment.`);
  }
  const target = NamedValue.of(container, lhs.value.range);
  const index = NamedValue.of(e.emitExpr(lhs.subscripts[0]!), lhs.subscriptsRange);
  const rhs = NamedValue.of(e.emitExpr(stmt.rhs), stmt.rhs.range);
  const item = emitBuiltinCall(stmt.range, e.graph, 'aten::__getitem__', [target, index]);
  const args = [NamedValue.of(item, stmt.range), rhs];
  const augmented = emitBuiltinCall(stmt.range, e.graph, augmentedOperator(stmt, element), args);
  emitBuiltinCall(stmt.range, e.graph, 'aten::_set_item', [target, index, NamedValue.of(augmented, stmt.range)]);
}
