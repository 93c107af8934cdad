import { findOperator, type Value } from '@cresset/ir';
import type { GraphConverter } from './graph-converter.ts';
import { callOperator, unknownOperator, type CallArgument } from './operator-call.ts';
import { malformed, operatorOf, type SerializedArgument, type SerializedNode } from './serialized-node.ts';

/**
 * `auto_functionalized(op, **kwargs)`: an operator that writes to its arguments, called on copies. Its results, then the copies as they are
 * afterwards. The second form is given the tensors whose memory is written, each once, and says of each argument how it lies there.
 */
export function convertAutoFunctionalized(
  converter: GraphConverter,
  { inputs }: SerializedNode,
  hasBases: boolean,
): readonly Value[] {
  const [target, ...args] = inputs;
  const named = operatorOf(String(target.value));
  const operator = named && findOperator(named.name, named.overload);
  if (!named || !operator) throw unknownOperator(String(target.value));
  const { graph } = converter;
  const copy = (value: Value): Value => graph.insert('aten::clone', [value, graph.insertConstant(null)]);
  const find = (name: string): SerializedArgument | undefined => args.find((arg) => arg.name === name);
  const bases = hasBases ? converter.arguments.items(find('_all_bases') ?? malformed('a call lacks its tensors')) : [];
  const copies = bases.map(copy);
  const given = operator.schema.arguments.flatMap(({ name, isWrittenInto }): CallArgument[] => {
    const own = find(name);
    if (!isWrittenInto) return own ? [own] : [];
    const index = find(`_${name}_base_index`)?.value;
    if (typeof index === 'bigint') return [{ name, made: viewOf(converter, copies[Number(index)], name, find) }];
    if (!own) return [];
    const made = copy(converter.arguments.value(own, null));
    copies.push(made);
    return [{ name, made }];
  });
  return [...callOperator(converter, named.name, named.overload, given), ...copies];
}

/** How an argument lies in its tensor: all of it, a slice, or strides of its own. */
function viewOf(
  { graph, arguments: values }: GraphConverter,
  base: Value | undefined,
  name: string,
  find: (name: string) => SerializedArgument | undefined,
): Value {
  if (!base) malformed(`'${name}' of a call lies in no tensor`);
  const parts = (names: readonly string[]): Value[] | null => {
    const found = names.map((part) => find(`_${name}_${part}`));
    return found.every((each) => each !== undefined) ? found.map((each) => values.value(each, null)) : null;
  };
  const strided = parts(['size', 'stride', 'storage_offset']);
  if (strided) return graph.insert('aten::as_strided', [base, ...strided]);
  const sliced = parts(['slice_dim', 'slice_start', 'slice_end']);
  return sliced ? graph.insert('aten::slice', [base, ...sliced, graph.insertConstant(1n)]) : base;
}
