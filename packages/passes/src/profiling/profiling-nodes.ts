import {
  IntType,
  OptionalType,
  StringType,
  TensorType,
  type Block,
  type Graph,
  type Node,
  type Type,
} from '@cresset/ir';
import { eraseShapeInformation } from '../shape-analysis/propagate-input-shapes.ts';
import { needsProfiledInputs, needsProfiledOutput } from './profiled-operators.ts';

/**
 * Puts a `prim::profile` node in front of every use whose tensor passes want to know the type of, and of every tensor that a block
 * gives, so that guards stand in the same block as what they protect; and one without inputs at the end, which counts runs (PyTorch:
 * ProfilingRecord::instrumentGraph). Whoever runs the graph writes what it sees into the attributes `profiled_type`, the most that is true
 * of every tensor seen, and `seen_none`.
 */
export function instrumentGraph(graph: Graph): void {
  eraseShapeInformation(graph);
  instrumentBlock(graph.block);
  graph.appendNode(graph.create('prim::profile', [], 0));
}

function instrumentBlock(block: Block): void {
  for (const node of block.nodes()) {
    const wantsInputs = needsProfiledInputs(node);
    node.inputs.forEach((input, offset) => {
      if ((wantsInputs || needsProfiledOutput(input.node)) && isProfiled(input.type)) insertProfile(node, offset);
    });
    node.blocks.forEach(instrumentBlock);
  }
  block.outputs.forEach((output, offset) => {
    if (isProfiled(output.type)) insertProfile(block.returnNode, offset);
  });
}

function isProfiled(type: Type): boolean {
  return type instanceof TensorType || (type instanceof OptionalType && type.elementType instanceof TensorType);
}

function insertProfile(user: Node, offset: number): void {
  const input = user.input(offset);
  const graph = user.owningGraph;
  const profile = graph.create('prim::profile', [input]).insertBefore(user);
  profile.setTy('profiled_type', TensorType.get()).setI('seen_none', 0);
  profile.output().setType(input.type instanceof TensorType ? TensorType.get() : OptionalType.ofTensor());
  user.replaceInput(offset, profile.output());
}

/** What a `prim::profile` node has seen; undefined for the one that counts runs, and for one that no run came by. */
export function profiledType(node: Node): TensorType | undefined {
  if (node.kind !== 'prim::profile' || !node.hasAttribute('profiled_type')) return undefined;
  const type = node.ty('profiled_type') as TensorType;
  return type === TensorType.get() ? undefined : type;
}

/** Removes the node that counts runs (PyTorch: removeProfileCounter). */
export function removeProfileCounter(graph: Graph): void {
  for (const node of graph.block.reverseNodes()) {
    if (node.kind !== 'prim::profile' || node.inputs.length > 0) continue;
    node.destroy();
    return;
  }
}

/** Removes all profiling, and keeps nothing of what it saw (PyTorch: removeProfilingNodes). */
export function removeProfilingNodes(block: Block): void {
  for (const node of block.nodes()) {
    if (node.kind === 'prim::profile' || node.kind === 'prim::profile_ivalue') {
      node.outputs.forEach((output, at) => output.replaceAllUsesWith(node.input(at)));
      node.destroy();
    } else {
      node.blocks.forEach(removeProfilingNodes);
    }
  }
}

/**
 * Removes all profiling; values get the types that were seen of them. The types of several uses are merged, uses that no run came by do not
 * count: whatever relies on a type has to check it (PyTorch: RemoveProfileNodesAndSpecializeTypes).
 */
export function specializeProfiledTypes(graph: Graph): void {
  specializeBlock(graph.block);
}

function specializeBlock(block: Block): void {
  for (const node of block.nodes()) {
    if (node.kind !== 'prim::profile') {
      node.blocks.forEach(specializeBlock);
      continue;
    }
    const seen = profiledType(node);
    for (const output of node.outputs) {
      const input = node.input();
      output.replaceAllUsesWith(input);
      if (seen === undefined || !(input.type instanceof TensorType)) continue;
      input.setType(input.type === TensorType.get() ? seen : input.type.merge(seen));
    }
    node.destroy();
  }
}

/**
 * Counts how often an optional size is None that a gradient is summed to: where nothing was broadcast nothing is summed (PyTorch:
 * InsertProfileNodesForSpecializeAutogradZero).
 */
export function insertNoneCounts(graph: Graph): void {
  for (const node of Array.from(graph.allNodes())) {
    if (node.kind !== 'aten::_grad_sum_to_size') continue;
    const size = node.input(1);
    if (!(size.type instanceof OptionalType) || size.node.kind === 'prim::profile_ivalue') continue;
    const counts = graph.create('prim::profile_ivalue', [size]).insertAfter(size.node);
    counts.output().setType(size.type);
    countNones(counts, { none: 0, present: 0 });
    size.replaceAllUsesAfterNodeWith(counts, counts.output());
  }
}

/** Notes in such a node what it has counted. */
export function countNones(node: Node, { none, present }: { readonly none: number; readonly present: number }): void {
  const entries = new Map([
    ['num_none', BigInt(none)],
    ['num_present', BigInt(present)],
  ]);
  node.setIval('none_counts', { keyType: StringType.get(), valueType: IntType.get(), entries });
}
