import { AwaitType, DictType, FutureType, ListType, RRefType, TupleType } from './container-types.ts';
import { CressetError } from '../error.ts';
import { NoneType } from './primitive-types.ts';
import { type Type, VarType } from './type.ts';
import { OptionalType, unifyTypeList, unifyTypes } from './union-type.ts';

/** What the type variables of a schema stand for at one call. */
export type TypeEnv = Map<string, Type>;

/**
 * Binds the type variables of `formal` so that it fits `actual`; returns undefined, or the reason why it cannot
 * (PyTorch: matchTypeVariables).
 */
export function matchTypeVariables(formal: Type, actual: Type, env: TypeEnv): string | undefined {
  if (!formal.hasFreeVariables()) {
    return undefined;
  }
  if (formal instanceof VarType) {
    return bindVariable(formal, actual, env);
  }
  if (formal instanceof ListType) {
    return matchList(formal, actual, env);
  }
  if (formal instanceof TupleType) {
    if (!(actual instanceof TupleType)) {
      return `Cannot match a tuple to ${actual.reprStr()}`;
    }
    if (formal.elements.length !== actual.elements.length) {
      return 'Cannot match tuples of mismatched size';
    }
    return firstFailure(formal.elements, actual.elements, env);
  }
  if (formal instanceof FutureType || formal instanceof AwaitType || formal instanceof RRefType) {
    if (actual.kind !== formal.kind) {
      const what = formal instanceof FutureType ? 'a future' : formal instanceof AwaitType ? 'an await' : 'a rref';
      return `Cannot match ${what} to ${actual.reprStr()}`;
    }
    return firstFailure(formal.containedTypes(), actual.containedTypes(), env);
  }
  if (formal instanceof OptionalType) {
    if (actual instanceof OptionalType) {
      return matchTypeVariables(formal.elementType, actual.elementType, env);
    }
    // None binds nothing: it is an Optional of an unknown type, and whoever evaluates the variables reports the gap.
    return actual.isSubtypeOf(NoneType.get()) ? undefined : matchTypeVariables(formal.elementType, actual, env);
  }
  if (formal instanceof DictType) {
    if (!(actual instanceof DictType)) {
      return `Cannot match a dict to ${actual.reprStr()}`;
    }
    return firstFailure(formal.containedTypes(), actual.containedTypes(), env);
  }
  throw new CressetError('IR_TYPE', `Unhandled free variable container: ${formal.reprStr()}`);
}

function bindVariable(formal: VarType, actual: Type, env: TypeEnv): string | undefined {
  const bound = env.get(formal.name);
  if (bound === undefined) {
    env.set(formal.name, actual);
    return undefined;
  }
  // `actual` may be a supertype of the binding; the check of the argument against its evaluated type reports that.
  return unifyTypes(bound, actual) === undefined
    ? `Type variable '${formal.name}' previously matched to type ${bound.reprStr()} is matched to type ${actual.reprStr()}`
    : undefined;
}

function matchList(formal: ListType, actual: Type, env: TypeEnv): string | undefined {
  if (actual instanceof ListType) {
    return matchTypeVariables(formal.elementType, actual.elementType, env);
  }
  if (actual instanceof TupleType) {
    const element = unifyTypeList(actual.elements);
    if (element !== undefined) {
      return matchTypeVariables(formal.elementType, element, env);
    }
  }
  return `Cannot match ${formal.reprStr()} to ${actual.reprStr()}`;
}

function firstFailure(formals: readonly Type[], actuals: readonly Type[], env: TypeEnv): string | undefined {
  for (const [index, formal] of formals.entries()) {
    const failure = matchTypeVariables(formal, actuals[index]!, env);
    if (failure !== undefined) {
      return failure;
    }
  }
  return undefined;
}

/** `type` with its variables replaced, or undefined where one is not bound (PyTorch: tryEvalTypeVariables). */
export function evalTypeVariables(type: Type, env: TypeEnv): Type | undefined {
  if (!type.hasFreeVariables()) {
    return type;
  }
  if (type instanceof VarType) {
    return env.get(type.name);
  }
  const contained: Type[] = [];
  for (const inner of type.containedTypes()) {
    const evaluated = evalTypeVariables(inner, env);
    if (evaluated === undefined) {
      return undefined;
    }
    contained.push(evaluated);
  }
  return type.withContained(contained);
}
