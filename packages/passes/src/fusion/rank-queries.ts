import type { Graph, Node, Value } from '@cresset/ir';
import { rowOf } from './fusable.ts';

/**
 * Asks for the number of dimensions further up where operators in between keep it: `dim(relu(conv(x)))` is `dim(x)`. A result that
 * nothing but the next operator uses can be fused with it.
 */
export function hoistRankQueries(graph: Graph): boolean {
  let changed = false;
  for (const node of graph.allNodes()) {
    if (node.kind !== 'aten::dim') continue;
    const source = sameRank(node.input());
    if (source === node.input()) continue;
    node.replaceInput(0, source);
    changed = true;
  }
  return changed;
}

const keepingRank: ReadonlySet<string> = new Set([
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

function sameRank(value: Value): Value {
  const { node } = value;
  const source = node.inputs[0];
  return keepsRank(node) && source.type.kind === 'TensorType' ? sameRank(source) : value;
}

/** Convolutions, pools and the like, and pointwise functions of one tensor. */
function keepsRank(node: Node): boolean {
  if (keepingRank.has(node.kind)) return true;
  const row = rowOf(node);
  const source = row?.derived?.from ?? row;
  return source?.pointwise !== undefined && node.inputs.filter(({ type }) => type.kind === 'TensorType').length === 1;
}
