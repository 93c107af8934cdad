import { type ClassType, CressetError, NoneType } from '@cresset/ir';

/**
 * Whether objects of a class are saved as what their `__getstate__` gives and read by their `__setstate__`
 * (torch::jit::checkHasValidSetGetState). Throws `SAVE_STATE_METHODS` where the two do not fit each other.
 */
export function hasValidSetGetState(type: ClassType): boolean {
  const getState = type.findMethod('__getstate__')?.schema;
  if (!getState) return false;
  if (getState.arguments.length !== 1) {
    throw invalid(
      `'__getstate__' must have 'self' as its only argument, but found ${getState.arguments.length} arguments`,
    );
  }
  if (getState.returns.length !== 1) {
    throw invalid(`'__getstate__' must return 1 value, but found ${getState.returns.length}`);
  }
  const setState = type.findMethod('__setstate__')?.schema;
  if (!setState) return false;
  if (setState.arguments.length !== 2) {
    throw invalid(
      `'__setstate__' must have 'self' and the state as its only arguments, but found ${setState.arguments.length} arguments`,
    );
  }
  const [result] = setState.returns;
  if (setState.returns.length !== 1 || !result.type.isSubtypeOf(NoneType.get())) {
    throw invalid(`'__setstate__' must return None, but found value of type ${result?.type.annotationStr()}`);
  }
  const [{ type: given }] = getState.returns;
  const { type: taken } = setState.arguments[1];
  if (!given.isSubtypeOf(taken)) {
    throw invalid(
      `'__getstate__'s return type (${given.annotationStr()}) does not match '__setstate__'s argument type (${taken.annotationStr()})`,
    );
  }
  return true;
}

function invalid(message: string): CressetError {
  return new CressetError('SAVE_STATE_METHODS', message);
}
