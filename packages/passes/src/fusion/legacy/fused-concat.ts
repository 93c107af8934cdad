import { type AliasDb, constantValue, type Node, type Value } from '@cresset/ir';
import { createSingletonGroup } from './fused-groups.ts';

/** Whether a concatenation can be the end of a group: along a known dimension, of a list that nothing else uses. */
export function isFusableConcat(node: Node, maxArguments: number): boolean {
  if (node.kind !== 'aten::cat' || typeof constantValue(node.input(1)) !== 'bigint') return false;
  const list = node.input(0).node;
  if (list.kind !== 'prim::ListConstruct' || list.output().uses.length > 1) return false;
  return list.inputs.length + node.outputs.length <= maxArguments;
}

/** A group of one `prim::FusedConcat` that gives what a concatenation gives, before the list of that (PyTorch: createFusedConcat). */
export function createFusedConcat(concat: Node, aliasDb: AliasDb): Node {
  const list = concat.input(0).node;
  const graph = concat.owningGraph;
  const fused = graph.create('prim::FusedConcat', list.inputs).setI('dim', constantValue(concat.input(1)) as bigint);
  fused.copyMetadata(concat).insertBefore(list);
  fused.output().copyMetadata(concat.output());
  aliasDb.copyValue(concat.output(), fused.output());
  return createSingletonGroup(fused, aliasDb);
}

/** Whether a group gives a value that it concatenates: no group reads one. */
export function isConcatOutput(value: Value): boolean {
  if (value.node.kind !== 'prim::FusionGroup') return false;
  return value.node.g('Subgraph').outputs[value.offset].node.kind === 'prim::FusedConcat';
}
