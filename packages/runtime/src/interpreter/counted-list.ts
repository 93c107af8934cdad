import { ListType, type Use, type Value } from '@cresset/ir';
import { isMadeHere, keepsArguments } from './code/operator-binding.ts';

/**
 * Whether a value is a list of tensors that is made here, only looked at, and forgotten: `torch.cat([a, b])`, the result of
 * `chunk` that is unpacked. Its tensors can be counted through it and freed at its last use.
 */
export function isCountedList(value: Value): boolean {
  const { type, node } = value;
  if (!(type instanceof ListType) || !['TensorType', 'OptionalType'].includes(type.elementType.kind)) return false;
  const isFresh = node.kind === 'prim::ListConstruct' || returnsFreshList(value);
  return isFresh && value.uses.every(looksOnly);
}

function returnsFreshList(value: Value): boolean {
  const schema = value.node.maybeSchema();
  if (!schema || !value.node.kind.startsWith('aten::')) return false;
  return schema.returns[value.offset]?.type instanceof ListType && isMadeHere(schema, value.offset);
}

/** Whether a use of a list neither changes it nor hands it on. */
export function looksOnly({ user, offset }: Use): boolean {
  if (user.kind === 'prim::ListUnpack') return true;
  if (!user.kind.startsWith('aten::') || user.kind === 'aten::wait') return false;
  const schema = user.maybeSchema();
  const argument = schema?.arguments[offset];
  if (!schema || !argument || argument.isWrite || keepsArguments(schema)) return false;
  // An operator that returns lists might return this one, or one with the same tensors.
  return schema.returns.every((returned) => returned.type.kind !== 'ListType' && returned.type.kind !== 'AnyType');
}
