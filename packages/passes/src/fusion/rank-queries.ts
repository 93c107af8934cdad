import type { Graph, Node, Value } from '@cresset/ir';
import { rowOf } from './fusable.ts';

/**
 * Asks for the number of dimensions further up where operators in between keep it: `dim(relu(conv(x)))` is `dim(x)`, and so is
 * `dim(x + conv(x))`. A result that nothing but the next operator uses can be fused with it.
 */
export function hoistRankQueries(graph: Graph): boolean {
  if (!graph.kinds.has('aten::dim')) return false;
  let changed = false;
  // The first value that has as many dimensions as another.
  const sources = new Map<Value, Value>();
  for (const node of graph.allNodes()) {
    const [first, ...others] = deciding(node).map((value) => sources.get(value) ?? value);
    if (!first || node.outputs.length !== 1 || others.some((other) => other !== first)) continue;
    if (node.kind !== 'aten::dim') sources.set(node.output(), first);
    else if (first !== node.input()) {
      node.replaceInput(0, first);
      changed = true;
    }
  }
  return changed;
}

const keepingRank: ReadonlySet<string> = new Set([
  'aten::dim',
  'aten::conv1d',
  'aten::conv2d',
  'aten::conv3d',
  'aten::_convolution',
  'aten::convolution',
  'aten::batch_norm',
  'cresset::batch_norm',
  'aten::max_pool2d',
  'aten::avg_pool2d',
  'aten::adaptive_avg_pool2d',
  'aten::dropout',
]);

/**
 * The tensors that have as many dimensions as a node's result, if they all have as many: the first of convolutions, pools and the like, all of
 * pointwise functions.
 */
function deciding(node: Node): Value[] {
  const { inputs } = node;
  if (keepingRank.has(node.kind)) return inputs[0].type.kind === 'TensorType' ? [inputs[0]] : [];
  const row = rowOf(node);
  const source = row?.derived?.from ?? row;
  // One that may be there or not could have more.
  if (!source?.pointwise || inputs.some(({ type }) => type.kind === 'OptionalType')) return [];
  return inputs.filter(({ type }) => type.kind === 'TensorType');
}
