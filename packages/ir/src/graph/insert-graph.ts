import { invariant } from '../error.ts';
import type { Graph } from './graph.ts';
import type { Value } from './value.ts';

/**
 * Copies the nodes of `callee` to the insert point of `graph`, `inputs` standing for its inputs; returns what stands for its
 * outputs (PyTorch: insertGraph).
 *
 * @param map filled with the values that stand for the callee's
 */
export function insertGraph(
  graph: Graph,
  callee: Graph,
  inputs: readonly Value[],
  map: Map<Value, Value> = new Map(),
): Value[] {
  invariant(callee.inputs.length === inputs.length, 'insertGraph: another number of inputs than the graph has');
  callee.inputs.forEach((input, index) => map.set(input, inputs[index]));
  const translate = (value: Value): Value => {
    const copy = map.get(value);
    invariant(copy !== undefined, `insertGraph: %${value.debugName} is used before it is defined`);
    return copy;
  };
  for (const node of callee.nodes()) {
    const copy = graph.insertNode(graph.createClone(node, translate));
    node.outputs.forEach((output, index) => map.set(output, copy.output(index)));
  }
  return callee.outputs.map(translate);
}
