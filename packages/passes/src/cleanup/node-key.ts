import {
  ClassType,
  FunctionType,
  isDictConstant,
  isEnumConstant,
  isListConstant,
  isTensorConstant,
  isTupleConstant,
  type Node,
} from '@cresset/ir';

const identities = new WeakMap<object, number>();
let nextIdentity = 0;

function identityOf(object: object): string {
  let identity = identities.get(object);
  if (identity === undefined) identities.set(object, (identity = nextIdentity++));
  return `#${identity}`;
}

/**
 * Text that is equal for nodes that compute the same from the same: kind, inputs, attributes, output types (PyTorch:
 * HashNode and EqualNode). Null for nodes with blocks, subgraphs or a type, which are never compared.
 */
export function nodeKey(node: Node): string | null {
  if (node.blocks.length > 0) return null;
  const parts = [node.kind, node.inputs.map((input) => input.unique).join(',')];
  for (const { type } of node.outputs) {
    // Two functions may have one name, as methods of two classes have, and their types one text.
    const object = type instanceof FunctionType ? type.function : type instanceof ClassType ? type : null;
    parts.push(object ? identityOf(object) : `${type}`);
  }
  for (const name of node.attributeNames) {
    const { kind, value } = node.attribute(name);
    if (kind === 'g' || kind === 'gs' || kind === 'ty') return null;
    parts.push(`${name}:${kind}=${valueKey(value)}`);
  }
  return parts.join('|');
}

function valueKey(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return Object.is(value, -0) ? '-0f' : `${value}f`;
    case 'bigint':
    case 'boolean':
    case 'undefined':
      return String(value);
    default:
      return value === null ? 'None' : objectKey(value as object);
  }
}

function objectKey(value: object): string {
  if (Array.isArray(value)) return `[${value.map(valueKey).join(',')}]`;
  // Tensors count by identity: comparing their elements might mean reading them back.
  if (isTensorConstant(value)) return identityOf(value);
  if (isListConstant(value)) return `list<${value.elementType.str()}>[${value.items.map(valueKey).join(',')}]`;
  if (isTupleConstant(value)) return `tuple<${value.type?.str() ?? ''}>(${value.items.map(valueKey).join(',')})`;
  if (isDictConstant(value)) {
    const entries = [...value.entries].map(([key, item]) => `${valueKey(key)}:${valueKey(item)}`);
    return `dict<${value.keyType.str()},${value.valueType.str()}>{${entries.join(',')}}`;
  }
  // PyTorch compares the holders of enum members, of which every constant has its own.
  if (isEnumConstant(value)) return identityOf({});
  if ('re' in value && 'im' in value) return `(${valueKey(value.re)},${valueKey(value.im)})`;
  return identityOf(value);
}
