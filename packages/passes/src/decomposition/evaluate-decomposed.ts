import { constantValue, Graph, type Node, tryInsertConstant, type Value } from '@cresset/ir';
import { rowOf } from '../fusion/fusable.ts';
import { type ConstantEvaluator, propagateConstants } from '../cleanup/constant-propagation.ts';
import { unrollConstantLoops } from '../cleanup/loop-unrolling.ts';
import { removeListMutation } from '../mutation/remove-mutation.ts';
import { decomposeOps, type DecompositionCompiler } from './decompose-ops.ts';

/** Runs operators on constants that are said in terms of others too: what they come to is worked out as any graph of constants is. */
export function evaluatingDecompositions(
  evaluate: ConstantEvaluator,
  compile: DecompositionCompiler,
): ConstantEvaluator {
  return (node, constants) => evaluate(node, constants) ?? evaluateDecomposed(node, constants, evaluate, compile);
}

/** What an operator comes to on constants that is said in terms of others; null where it is not, or refuses them. */
export function evaluateDecomposed(
  node: Node,
  constants: readonly unknown[],
  evaluate: ConstantEvaluator,
  compile: DecompositionCompiler,
): readonly unknown[] | null {
  const row = rowOf(node);
  if (row?.decomposition === undefined) return null;
  const graph = new Graph();
  const inputs = new Map<Value, Value>();
  for (const [index, input] of node.inputs.entries()) {
    const constant = tryInsertConstant(graph, constants[index]);
    if (!constant) return null;
    inputs.set(input, constant);
  }
  const clone = graph.insertNode(graph.createClone(node, (value) => inputs.get(value)!));
  for (const output of clone.outputs) graph.registerOutput(output);
  decomposeOps(graph, compile);
  propagateConstants(graph, evaluate);
  if (unrollConstantLoops(graph)) {
    // What the trips decide is known first: lists that some of them append to are new ones only then.
    propagateConstants(graph, evaluate);
    removeListMutation(graph);
    propagateConstants(graph, evaluate);
  }
  // It refuses these constants, in words that whoever comes there is to read.
  if ([...graph.block.nodes()].some(({ kind }) => kind === 'prim::RaiseException')) return null;
  const results = graph.outputs.map((output) => constantValue(output));
  return results.includes(undefined) ? null : results;
}
