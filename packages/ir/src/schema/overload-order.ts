import type { FunctionSchema } from './function-schema.ts';
import { ListType } from '../types/container-types.ts';
import type { Type } from '../types/type.ts';
import { OptionalType } from '../types/union-type.ts';

/** Overloads that PyTorch registers after others that the same call would fit. */
const LATER_OVERLOADS: ReadonlySet<string> = new Set([
  'a',
  'any',
  'center',
  'correction',
  'dims',
  'hacked_twin',
  'int_to_int',
  'padding',
  'prim_Device',
  'prim_dtype',
  'prim_other',
  'Tensor_hacked_twin',
]);

/**
 * Puts overloads in an order in which the first that fits a call is the one PyTorch takes: by what they accept, from narrow to
 * wide, and in the order they are given where that is equal. PyTorch has them in the order it happens to register them.
 */
export function sortOverloads<T extends { readonly schema: FunctionSchema }>(overloads: readonly T[]): readonly T[] {
  return overloads.length < 2
    ? overloads
    : overloads
        .map((overload) => ({ overload, rank: rankOf(overload.schema) }))
        .sort((left, right) => left.rank - right.rank)
        .map(({ overload }) => overload);
}

function rankOf(schema: FunctionSchema): number {
  const types = schema.arguments.map((argument) => innermost(argument.type).kind);
  if (types.some((kind) => kind === 'AnyType' || kind === 'AnyListType' || kind === 'AnyTupleType')) {
    return 5;
  }
  if (types.includes('NumberType') && !types.includes('TensorType')) {
    return 4;
  }
  if (LATER_OVERLOADS.has(schema.overloadName)) {
    return 3;
  }
  // The overload without a name is the plain form: `clamp` with numbers before `clamp.Tensor`, `all` before `all.dims`.
  if (schema.overloadName === '' && types[0] === 'TensorType' && schema.name !== 'aten::split') {
    return 0;
  }
  // Operators on tensors are registered before those on numbers: `x - True` subtracts a number from a tensor.
  const takesTensor = schema.arguments.some(({ type }) => type.kind === 'TensorType');
  return takesTensor && schema.overloadName !== '' && schema.returns.some(({ type }) => type.kind === 'TensorType')
    ? 1
    : 2;
}

function innermost(type: Type): Type {
  return type instanceof OptionalType || type instanceof ListType ? innermost(type.elementType) : type;
}
