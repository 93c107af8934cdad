import type { Value } from '@cresset/ir';
import { append, emptyList, insertLoop, stackOf } from './control-flow.ts';
import type { GraphConverter } from './graph-converter.ts';
import { malformed, type SerializedNode } from './serialized-node.ts';

const PREFIX = 'torch._functorch.predispatch.';
const BEGIN = `${PREFIX}_vmap_increment_nesting`;
const END = `${PREFIX}_vmap_decrement_nesting`;
const ADD_DIM = `${PREFIX}_add_batch_dim`;
const REMOVE_DIM = `${PREFIX}_remove_batch_dim`;

export const beginsVmap = ({ target }: SerializedNode): boolean => target === BEGIN;

/** Where the region ends that begins at `from`. */
export function endOfVmap(nodes: readonly SerializedNode[], from: number): number {
  let depth = 0;
  for (let at = from; at < nodes.length; at++) {
    if (nodes[at].target === BEGIN) depth++;
    if (nodes[at].target === END && --depth === 0) return at;
  }
  return malformed('a vmap does not end');
}

/**
 * What `vmap` has between its two marks: `_add_batch_dim(x, dim, level)` begins to see one slice of `x`, and `_remove_batch_dim(y, level, size, dim)` puts the slices
 * together. Here it is a loop over the slices, which is what `vmap` means of any operator.
 */
export function convertVmap(converter: GraphConverter, nodes: readonly SerializedNode[]): void {
  const { graph } = converter;
  const [{ inputs }, ...body] = nodes;
  const size = converter.arguments.value(inputs[0], null);
  const level = body.find(({ target }) => target === ADD_DIM)?.inputs[2].value;
  const isOfLevel = (node: SerializedNode): boolean =>
    (node.target === ADD_DIM && node.inputs[2].value === level) ||
    (node.target === REMOVE_DIM && node.inputs[1].value === level);
  const ends = body.filter((node) => node.target === REMOVE_DIM && isOfLevel(node));
  const stacks = ends.map(() => emptyList(graph));
  insertLoop(graph, size, graph.insertConstant(true), [], (trip) => {
    const inner: SerializedNode[] = [];
    const flush = (): void => converter.convertCalls(inner.splice(0));
    for (const node of body) {
      if (!isOfLevel(node)) {
        inner.push(node);
        continue;
      }
      flush();
      const [tensor, , , dim] = node.inputs;
      const value: Value = converter.arguments.value(tensor, null);
      if (node.target === ADD_DIM) {
        const at = converter.arguments.value(node.inputs[1], null);
        converter.defineOutputs(node, [graph.insert('aten::select', [value, at, trip])]);
      } else if (dim) append(graph, stacks[ends.indexOf(node)], value);
    }
    flush();
    return { next: [], goesOn: graph.insertConstant(true) };
  });
  ends.forEach((node, index) => {
    const dim = node.inputs[3].value;
    converter.defineOutputs(node, [stackOf(graph, stacks[index], typeof dim === 'bigint' ? dim : 0n)]);
  });
}
