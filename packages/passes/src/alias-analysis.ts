import type { Graph, Node, Type, Value } from '@cresset/ir';
import { isMutableType } from './mutable-type.ts';

/** What passes ask about writes (PyTorch: AliasDb). */
export interface AliasAnalysis {
  /** Whether anything writes to memory that the node reads or returns. */
  hasWriters(node: Node): boolean;
  /** Whether the node, or one within it, writes to memory. */
  hasWrites(node: Node): boolean;
  writesToAlias(node: Node, values: ReadonlySet<Value>): boolean;
  writesToWildcard(node: Node): boolean;
  /** Whether the two sets of values may be made one. */
  safeToChangeAliasingRelationship(a: readonly Value[], b: readonly Value[]): boolean;
}

/** Assumes that a write to a value of one kind may be a write to any value of that kind. */
export function analyzeAliases(graph: Graph): AliasAnalysis {
  const written = new Set<string>();
  for (const node of graph.allNodes()) for (const kind of writtenKinds(node)) written.add(kind);
  const hasWriters = (value: Value): boolean =>
    isMutableType(value.type) && kindsOf(value.type).some((kind) => written.has(kind));
  return {
    hasWriters: (node) => [...node.inputs, ...node.outputs].some(hasWriters),
    hasWrites: (node) => writtenKinds(node).length > 0,
    writesToAlias(node, values) {
      const kinds = writtenKinds(node);
      return kinds.length > 0 && [...values].some((value) => kindsOf(value.type).some((kind) => kinds.includes(kind)));
    },
    writesToWildcard: (node) => writtenKinds(node).length > 0,
    safeToChangeAliasingRelationship: (a, b) => {
      if (![...a, ...b].some((value) => isMutableType(value.type))) return true;
      const outputs = graph.outputs;
      return ![...a, ...b].some((value) => hasWriters(value) || outputs.includes(value));
    },
  };
}

function writtenKinds(node: Node): string[] {
  if (node.kind === 'prim::SetAttr') return ['ClassType'];
  const own =
    node.kind.startsWith('prim::Call') || node.kind === 'prim::fork'
      ? ['TensorType', 'ListType', 'DictType', 'ClassType']
      : [];
  node.maybeSchema()?.arguments.forEach((argument, index) => {
    if (argument.isWrite && node.inputs[index]) own.push(...kindsOf(node.inputs[index].type));
  });
  for (const block of node.blocks) for (const inner of block.nodes()) own.push(...writtenKinds(inner));
  return own;
}

/** The kinds of mutable things that a value of this type is or holds. */
function kindsOf(type: Type): string[] {
  if (type.kind === 'ClassType' || type.kind === 'InterfaceType' || type.kind === 'AnyType') {
    return ['TensorType', 'ListType', 'DictType', 'ClassType'];
  }
  const inner = type.containedTypes().flatMap(kindsOf);
  return type.kind === 'TensorType' || type.kind === 'ListType' || type.kind === 'DictType'
    ? [type.kind, ...inner]
    : inner;
}
