import { TensorType, unmergeSubgraph, type Block, type Graph, type Node } from '@cresset/ir';
import { insertTypeGuard } from '../fusion/tensorexpr/type-guard.ts';
import { profiledType, removeProfilingNodes } from '../profiling/profiling-nodes.ts';
import { type Gradient } from './gradient.ts';
import { setRequiresGrad } from './update-requires-grad.ts';

/** Fewer nodes than that are no group that is worth differentiating (PyTorch: autodiffSubgraphNodeThreshold). */
export const NODE_THRESHOLD = 2;
/** Fewer nodes than that are left to autograd where types are known (PyTorch: autodiffSubgraphInlineThreshold). */
export const INLINE_THRESHOLD = 5;

/** Whether an argument of a graph requires a gradient, as far as is known (PyTorch: needsGradient). */
export function needsGradient(graph: Graph): boolean {
  return graph.inputs.some(({ type }) => type.requiresGradMaybe());
}

/** Whether a gradient was required of any tensor that was seen in a profiled run (PyTorch: needsGradientInProfilingMode). */
export function needsGradientInProfilingMode(block: Block): boolean {
  return [...block.nodes()].some(
    (node) => profiledType(node)?.requiresGrad === true || node.blocks.some(needsGradientInProfilingMode),
  );
}

/**
 * Puts a differentiable graph behind a check of which of its tensors require gradients, with the types that were seen of them; dissolves it
 * where one of them was never seen (PyTorch: guardDifferentiableGraph). Tells whether it is still there.
 */
export function guardDifferentiableGraph(group: Node): boolean {
  const subgraph = group.g('Subgraph');
  subgraph.inputs.forEach((formal, index) => {
    const seen = formal.type instanceof TensorType && seenOf(group, index);
    if (seen) group.input(index).setType(seen);
  });
  const isKnown = subgraph.inputs.every(
    ({ type }, index) => !(type instanceof TensorType) || group.input(index).type !== TensorType.get(),
  );
  if (!isKnown) {
    setRequiresGrad(subgraph.block, undefined);
    unmergeSubgraph(group);
    return false;
  }
  // Of a tensor that has been both, with a gradient: the fallback is for the other.
  insertTypeGuard(
    group,
    ({ requiresGrad }) => TensorType.get().withRequiresGrad(requiresGrad ?? true),
    'prim::RequiresGradCheck',
  );
  return true;
}

/** What was seen of an input, in the group or where another group gives it. */
function seenOf(group: Node, index: number): TensorType | undefined {
  const { user } = group.g('Subgraph').inputs[index].uses[0];
  if (user.kind === 'prim::profile') return user.ty('profiled_type') as TensorType;
  const input = group.input(index);
  if (input.node.kind !== group.kind) return undefined;
  const given = input.node.g('Subgraph').outputs[input.offset].node;
  return given.kind === 'prim::profile' ? (given.ty('profiled_type') as TensorType) : undefined;
}

/** Has a node compute a graph and know its derivative (PyTorch: packGradient). */
export function packGradient(gradient: Gradient, group: Node): void {
  group
    .setG('Subgraph', gradient.f)
    .setG('ReverseSubgraph', gradient.df)
    .setI('f_real_outputs', gradient.fRealOutputs)
    .setIs('df_input_vjps', gradient.dfInputVjps)
    .setIs('df_input_captured_inputs', gradient.dfInputCapturedInputs)
    .setIs('df_input_captured_outputs', gradient.dfInputCapturedOutputs)
    .setIs('df_output_vjps', gradient.dfOutputVjps);
}

/** Fallbacks are watched anew. */
export function forgetProfilesOfFallbacks(graph: Graph): void {
  for (const node of graph.allNodes()) {
    if (node.kind === 'prim::FallbackGraph') removeProfilingNodes(node.g('Subgraph').block);
  }
}
