import type { Block, Graph } from '@cresset/ir';

const outOfPlace: ReadonlyMap<string, string> = new Map([
  ['aten::add_', 'aten::add'],
  ['aten::sub_', 'aten::sub'],
  ['aten::div_', 'aten::div'],
  ['aten::mul_', 'aten::mul'],
  ['aten::zero_', 'aten::zeros_like'],
  ['aten::fill_', 'aten::full_like'],
]);

/** Inputs that the out-of-place form has in addition: dtype, layout, device, pinning, memory format. */
const addedNones: ReadonlyMap<string, number> = new Map([
  ['aten::zero_', 5],
  ['aten::fill_', 5],
]);

/**
 * Makes in-place arithmetic out-of-place wherever it stands, whether or not that changes what others see: exporters have no use for
 * it otherwise (PyTorch: RemoveInplaceOps).
 */
export function removeInplaceOps(graph: Graph): void {
  removeInBlock(graph.block);
}

function removeInBlock(block: Block): void {
  const graph = block.owningGraph;
  for (const node of block.nodes()) {
    node.blocks.forEach(removeInBlock);
    const kind = outOfPlace.get(node.kind);
    if (kind === undefined) continue;
    const functional = graph.create(kind, node.inputs).insertBefore(node).copyMetadata(node);
    for (let count = addedNones.get(node.kind) ?? 0; count > 0; count--) {
      functional.addInput(graph.withInsertPoint(functional, () => graph.insertConstant(null)));
    }
    functional.output().copyMetadata(node.output());
    const [target] = node.inputs;
    node.output().replaceAllUsesWith(functional.output());
    // Whoever comes later saw the changed tensor.
    target.replaceAllUsesAfterNodeWith(node, functional.output());
    node.destroy();
  }
}
