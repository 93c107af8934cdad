import { type Block, type Graph, TensorType } from '@cresset/ir';

const outOfPlace: ReadonlyMap<string, string> = new Map([
  ['aten::add_', 'aten::add'],
  ['aten::sub_', 'aten::sub'],
  ['aten::div_', 'aten::div'],
  ['aten::mul_', 'aten::mul'],
  ['aten::masked_fill_', 'aten::masked_fill'],
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
  castOperands(graph.block);
  removeInBlock(graph.block);
}

const arithmetic: ReadonlySet<string> = new Set(['aten::add_', 'aten::sub_', 'aten::mul_', 'aten::div_']);

/** In place, the target's dtype stays; out of place, the other operand decides about it too, unless it has the same. */
function castOperands(block: Block): void {
  for (const node of block.nodes()) {
    node.blocks.forEach(castOperands);
    if (!arithmetic.has(node.kind)) continue;
    const [target, operand] = node.inputs;
    if (target === operand || !(operand.type instanceof TensorType)) continue;
    if (!(target.type instanceof TensorType) || target.type.scalarType === undefined) continue;
    const cast = block.owningGraph.create('aten::type_as', [operand, target]).insertBefore(node);
    node.replaceInput(1, cast.output());
  }
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
