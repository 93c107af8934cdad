import {
  AnyType,
  BoolType,
  constantValue,
  CressetError,
  NoneType,
  NumberType,
  OptionalType,
  standardizeUnionMembers,
  subtractTypeSet,
  UnionType,
  unifyTypeList,
  unifyTypes,
  type Block,
  type SourceRange,
  type Type,
  type Value,
} from '@cresset/ir';
import { emitBuiltinCall } from './builtin-call.ts';
import { compileError, compileErrorMessage } from '../compilation-error.ts';
import type { CondValue, Emitter } from './emitter.ts';
import type { Environment } from './environment.ts';
import { NamedValue } from '../values/named-value.ts';
import { RefinementSet } from './refinement.ts';
import { SimpleValue } from '../values/simple-value.ts';
import { SpecialFormValue } from '../values/special-form-value.ts';
import type { Apply, BinOp, Expr, If, Stmt, TernaryIf } from '../parser/tree.ts';

const NO_REFINEMENTS = new RefinementSet();

function staticCondition(
  e: Emitter,
  range: SourceRange,
  value: boolean,
  refinements: RefinementSet = NO_REFINEMENTS,
): CondValue {
  return { value: e.graph.insertConstant(value, range), refinements, staticIf: value };
}

/** Emits an expression that stands where a condition is asked for. */
export function emitCondition(e: Emitter, expr: Expr): CondValue {
  if (expr.kind === 'binary') {
    if (expr.op === 'and' || expr.op === 'or') {
      return emitShortCircuit(e, expr);
    }
    if (expr.op === 'is' || expr.op === 'is not') {
      return emitIdentity(e, expr);
    }
  }
  if (expr.kind === 'unary' && expr.op === 'not') {
    const operand = e.emitCondExpr(expr.operand);
    const value = emitBuiltinCall(expr.range, e.graph, 'aten::__not__', [NamedValue.of(operand.value, expr.range)]);
    const staticIf = operand.staticIf === undefined ? undefined : !operand.staticIf;
    return { value, refinements: operand.refinements.not(), staticIf };
  }
  if (expr.kind === 'apply') {
    const special = emitSpecialCondition(e, expr);
    if (special !== undefined) {
      return special;
    }
  }
  return emitPlainCondition(e, expr);
}

function emitSpecialCondition(e: Emitter, apply: Apply): CondValue | undefined {
  const { callee } = apply;
  const name = callee.kind === 'var' ? callee.name.name : undefined;
  if (name === 'hasattr') {
    checkInputCount(apply, 2);
    return emitHasAttr(e, apply.inputs[0]!, apply.inputs[1]!);
  }
  if (name !== 'isinstance') {
    // Only names and attributes can mean isinstance; anything else would be emitted twice.
    const value = callee.kind === 'select' || callee.kind === 'var' ? e.emitSugaredExpr(callee) : undefined;
    if (!(value instanceof SpecialFormValue) || value.form !== 'prim::isinstance') {
      return undefined;
    }
  }
  checkInputCount(apply, 2);
  return emitIsInstance(e, apply.inputs[0]!, apply.inputs[1]!);
}

function emitPlainCondition(e: Emitter, expr: Expr): CondValue {
  const value = emitToBool(e, expr.range, e.emitExpr(expr));
  let staticIf: boolean | undefined;
  if (value.node.kind === 'aten::is_scripting') {
    staticIf = true;
  } else if (value.node.kind === 'aten::has_torch_function') {
    staticIf = false;
  } else {
    const constant = constantValue(value);
    staticIf = typeof constant === 'boolean' ? constant : undefined;
  }
  return { value, refinements: NO_REFINEMENTS, staticIf };
}

/** `bool(value)`; throws an ErrorReport where that is no bool. */
export function emitToBool(e: Emitter, range: SourceRange, value: Value): Value {
  let result: Value;
  try {
    result = e.environment
      .getSugaredVar('bool', range)
      .call({ range, fn: e.fn, args: [NamedValue.of(value, range)], kwargs: [] })
      .asValue(range, e.fn);
  } catch (error) {
    if (error instanceof CressetError) {
      throw compileError(range, `Could not cast value of type ${value.type.reprStr()} to bool`);
    }
    throw error;
  }
  if (!result.type.isSubtypeOf(BoolType.get())) {
    throw compileError(range, `expected a bool expression for condition but found ${result.type.reprStr()}`);
  }
  // PyTorch's cast leaves a number behind, which goes away later, but until then keeps an `if` from being merged with one right before it.
  const { kind } = value.node;
  if (kind === 'prim::Load' || kind === 'prim::If') e.graph.insertConstant(0n, range);
  return result;
}

type Noneness = 'always' | 'maybe' | 'never';

function canBeNone(value: Value): Noneness {
  if (value.node.mustBeNone()) {
    return 'always';
  }
  const { type } = value;
  return type instanceof OptionalType || (type instanceof UnionType && type.canHoldType(NoneType.get()))
    ? 'maybe'
    : 'never';
}

/** `is` and `is not`: known now where the types tell whether one is None. */
function emitIdentity(e: Emitter, expr: BinOp): CondValue {
  const lhs = e.emitExpr(expr.lhs);
  const rhs = e.emitExpr(expr.rhs);
  const isIs = expr.op === 'is';
  const nones = [canBeNone(lhs), canBeNone(rhs)];
  if (nones.every((none) => none === 'always')) {
    return staticCondition(e, expr.range, isIs);
  }
  if (nones.includes('always') && nones.includes('never')) {
    return staticCondition(e, expr.range, !isIs);
  }
  const args = [lhs, rhs].map((value) => NamedValue.of(value, expr.range));
  const value = emitBuiltinCall(expr.range, e.graph, isIs ? 'aten::__is__' : 'aten::__isnot__', args);
  return { value, refinements: isNoneRefinements(expr, lhs, rhs), staticIf: undefined };
}

/** `x is None` tells of x where it is not. That it is None where it is, is kept back, as PyTorch does for old archives' sake. */
function isNoneRefinements(expr: BinOp, lhs: Value, rhs: Value): RefinementSet {
  const [variable, value] =
    expr.rhs.kind === 'none' ? [expr.lhs, lhs] : expr.lhs.kind === 'none' ? [expr.rhs, rhs] : [undefined, lhs];
  if (variable?.kind !== 'var') {
    return NO_REFINEMENTS;
  }
  const { type } = value;
  const remaining =
    type instanceof OptionalType
      ? type.elementType
      : type instanceof UnionType
        ? subtractTypeSet(type, [NoneType.get()])
        : undefined;
  if (remaining === undefined) {
    return NO_REFINEMENTS;
  }
  const present = [{ name: variable.name.name, type: remaining }];
  return expr.op === 'is' ? new RefinementSet([], present) : new RefinementSet(present, []);
}

/** `a and b` becomes `b if a else False`, `a or b` becomes `True if a else b`. */
function emitShortCircuit(e: Emitter, expr: BinOp): CondValue {
  const isOr = expr.op === 'or';
  const lhs = e.emitCondExpr(expr.lhs);
  let rhs: CondValue | undefined;
  const shortcut = (): Value => e.graph.insertConstant(isOr, expr.range);
  const proceed = (): Value => {
    rhs = e.emitCondExpr(expr.rhs);
    return rhs.value;
  };
  const value = isOr
    ? emitIfExpr(e, expr.range, lhs, shortcut, proceed)
    : emitIfExpr(e, expr.range, lhs, proceed, shortcut);
  const statics = [lhs.staticIf, rhs!.staticIf];
  let staticIf: boolean | undefined;
  if (statics.includes(isOr)) {
    staticIf = isOr;
  } else if (!statics.includes(undefined)) {
    staticIf = !isOr;
  }
  const refinements = isOr ? lhs.refinements.or(rhs!.refinements) : lhs.refinements.and(rhs!.refinements);
  return { value, refinements, staticIf };
}

export function emitIfExpr(
  e: Emitter,
  range: SourceRange,
  cond: CondValue,
  trueExpr: () => Value,
  falseExpr: () => Value,
): Value {
  const node = e.graph.insertNode(e.graph.create('prim::If', [cond.value], 0).setSourceRange(range));
  const emitBranch = (refinements: RefinementSet, emit: () => Value): Type => {
    const block = node.addBlock();
    e.withFrame(block, () => {
      e.insertRefinements(range, refinements);
      block.registerOutput(emit());
    });
    return block.outputs[0]!.type;
  };
  const trueType = emitBranch(cond.refinements, trueExpr);
  const falseType = emitBranch(cond.refinements.not(), falseExpr);
  const unified = unifyTypes(trueType, falseType);
  if (unified === undefined) {
    throw compileError(
      range,
      `if-expression's true branch has type ${trueType.reprStr()} but false branch has type ${falseType.reprStr()}`,
    );
  }
  return node.addOutput().setType(unified);
}

export function emitTernaryIf(e: Emitter, expr: TernaryIf, typeHint: Type | undefined): Value {
  const cond = e.emitCondExpr(expr.cond);
  if (cond.staticIf !== undefined) {
    return e.emitExpr(cond.staticIf ? expr.trueExpr : expr.falseExpr, typeHint);
  }
  return emitIfExpr(
    e,
    expr.range,
    cond,
    () => e.emitExpr(expr.trueExpr, typeHint),
    () => e.emitExpr(expr.falseExpr, typeHint),
  );
}

export function emitHasAttr(e: Emitter, object: Expr, attribute: Expr): CondValue {
  const value = e.emitSugaredExpr(object);
  if (attribute.kind !== 'string') {
    throw compileError(attribute.range, "hasattr's second argument must be a string literal");
  }
  return staticCondition(e, object.range, value.hasAttr(object.range, e.fn, attribute.text));
}

/** `isinstance(x, (A, B))`: known now where the static type tells. */
export function emitIsInstance(e: Emitter, object: Expr, classInfo: Expr): CondValue {
  const value = e.emitExpr(object);
  const asked: Type[] = [];
  const gather = (expr: Expr): void => {
    if (expr.kind === 'tuple') {
      expr.inputs.forEach(gather);
    } else {
      asked.push(e.typeParser.parseTypeFromExpr(expr));
    }
  };
  gather(classInfo);
  const askedTypes = standardizeUnionMembers(asked);
  const split = splitByInstance(standardizeUnionMembers([value.type]), askedTypes);
  const name = object.kind === 'var' ? object.name.name : undefined;
  const refine = (types: readonly Type[]): { name: string; type: Type }[] => {
    const unified = types.length === 0 ? undefined : unifyTypeList(types, [], true);
    return name === undefined || unified === undefined ? [] : [{ name, type: unified }];
  };
  const refinements = new RefinementSet(refine(split.instances), refine(split.others));
  if (split.allFit) {
    return staticCondition(e, object.range, true, refinements);
  }
  if (split.instances.length === 0) {
    return staticCondition(e, object.range, false, refinements);
  }
  const node = e.graph.createIsInstance(value, askedTypes).setSourceRange(object.range);
  return { value: e.graph.insertNode(node).output(), refinements, staticIf: undefined };
}

interface InstanceSplit {
  /** What the value can be where it is an instance. */
  readonly instances: readonly Type[];
  readonly others: readonly Type[];
  readonly allFit: boolean;
}

function splitByInstance(actual: readonly Type[], asked: readonly Type[]): InstanceSplit {
  const instances: Type[] = [];
  const others: Type[] = [];
  let allFit = true;
  for (const type of actual) {
    if (type === AnyType.get()) {
      instances.push(...asked);
      others.push(type);
      if (instances.length !== 1 || instances[0] !== type) {
        allFit = false;
      }
      break;
    }
    const found = narrowestCommonType(type, asked);
    if (found === undefined) {
      others.push(type);
      allFit = false;
    } else {
      instances.push(found);
    }
  }
  return { instances, others, allFit };
}

function narrowestCommonType(type: Type, asked: readonly Type[]): Type | undefined {
  let found: Type | undefined;
  for (const candidate of asked) {
    if (type.isSubtypeOf(candidate)) {
      found = type;
    } else if (candidate.isSubtypeOf(type)) {
      found = found === undefined ? candidate : unifyTypes(found, candidate);
    }
  }
  return found;
}

export function emitIf(e: Emitter, stmt: If): void {
  emitIfElseBlocks(e, stmt.range, e.emitCondExpr(stmt.cond), stmt.trueBranch, stmt.falseBranch);
}

/** Emits both branches, or the only one that can be taken: the other need not even make sense. */
export function emitIfElseBlocks(
  e: Emitter,
  range: SourceRange,
  cond: CondValue,
  trueBranch: readonly Stmt[],
  falseBranch: readonly Stmt[],
): void {
  if (cond.staticIf !== undefined) {
    e.insertRefinements(range, cond.staticIf ? cond.refinements : cond.refinements.not());
    e.emitStatements(cond.staticIf ? trueBranch : falseBranch);
    return;
  }
  const node = e.graph.insertNode(e.graph.create('prim::If', [cond.value], 0).setSourceRange(range));
  const emitBranch = (block: Block, statements: readonly Stmt[], refinements: RefinementSet): Branch => {
    const environment = e.withFrame(block, () => {
      e.insertRefinements(range, refinements);
      e.emitStatements(statements);
    });
    return { block, environment, exits: e.exitBlocks.has(block) };
  };
  const trueBlock = node.addBlock();
  const falseBlock = node.addBlock();
  const whenTrue = emitBranch(trueBlock, trueBranch, cond.refinements);
  const whenFalse = emitBranch(falseBlock, falseBranch, cond.refinements.not());
  if (whenTrue.exits && whenFalse.exits) {
    e.exitBlocks.add(node.owningBlock);
  }
  for (const name of escapingVariables(e, range, whenTrue, whenFalse)) {
    mergeVariable(e, range, name, whenTrue, whenFalse);
  }
}

interface Branch {
  readonly block: Block;
  readonly environment: Environment;
  readonly exits: boolean;
}

/** Variables that are set in the end, whichever branch is taken. Others keep a reason for the case that they are used. */
function escapingVariables(e: Emitter, range: SourceRange, whenTrue: Branch, whenFalse: Branch): readonly string[] {
  const names = new Set<string>();
  const gather = (from: Branch, other: Branch, otherName: string): void => {
    for (const name of from.environment.definedVariables()) {
      const isDefined = e.graph.withInsertPoint(
        other.block,
        () => other.environment.findInAnyFrame(name) !== undefined || other.exits,
      );
      if (isDefined) {
        names.add(name);
      } else {
        const reason = `${name} is not defined in the ${otherName} branch`;
        e.environment.setVariableTypeError(name, compileErrorMessage(range, reason));
      }
    }
  };
  gather(whenTrue, whenFalse, 'false');
  gather(whenFalse, whenTrue, 'true');
  return [...names].sort();
}

function mergeVariable(e: Emitter, range: SourceRange, name: string, whenTrue: Branch, whenFalse: Branch): void {
  const { graph } = e;
  if (whenTrue.exits && whenFalse.exits) {
    return;
  }
  const valueIn = (branch: Branch): Value =>
    graph.withInsertPoint(branch.block, () => branch.environment.getVar(name, range));
  // A branch that is left for good may hold anything there.
  const uninitialized = (branch: Branch, type: Type): Value =>
    graph.withInsertPoint(branch.block, () => {
      const value = graph.insertNode(graph.createUninitialized(type)).output();
      graph.insertNode(graph.createStore(name, value));
      return value;
    });
  const trueType = whenTrue.exits ? undefined : valueIn(whenTrue).type;
  const falseType = whenFalse.exits ? undefined : valueIn(whenFalse).type;
  if (whenTrue.exits) {
    uninitialized(whenTrue, falseType!);
  } else if (whenFalse.exits) {
    uninitialized(whenFalse, trueType!);
  }
  const left = trueType ?? falseType!;
  const right = falseType ?? trueType!;
  const known = e.environment.findInAnyFrame(name);
  const knownType = known instanceof SimpleValue ? known.value.type : undefined;
  const defaultToUnion =
    knownType instanceof UnionType || knownType instanceof OptionalType || knownType instanceof NumberType;
  const unified = unifyTypes(left, right, defaultToUnion);
  if (unified !== undefined) {
    e.environment.setType(name, unified);
    return;
  }
  const error = compileError(
    range,
    `Type mismatch: ${name} is set to type ${left.reprStr()} in the true branch and type ${right.reprStr()} in the false branch`,
  );
  if (whenTrue.environment.findInParentFrame(name) ?? whenFalse.environment.findInParentFrame(name)) {
    throw error;
  }
  e.environment.setVariableTypeError(name, () => error.message);
}

/** Throws an ErrorReport unless a special form is called with that many arguments and no keywords. */
export function checkInputCount(apply: Apply, minimum: number, maximum = minimum): void {
  const name =
    apply.callee.kind === 'var'
      ? apply.callee.name.name
      : apply.callee.kind === 'select'
        ? apply.callee.selector.name
        : 'it';
  const found = apply.inputs.length;
  if (found < minimum || found > maximum) {
    const expected =
      minimum === maximum
        ? `expected exactly ${minimum} arguments but found ${found}`
        : `expected to have number of arguments between ${minimum} and ${maximum} but found ${found}`;
    throw compileError(apply.range, `${name} ${expected}`);
  }
  if (apply.attributes.length > 0) {
    throw compileError(apply.range, `${name} takes no keyword arguments`);
  }
}
