import { TensorType, type Block, type Value } from '@cresset/ir';

/**
 * Says of all tensors that nodes of a block take whether they require a gradient; undefined for what is not known (PyTorch:
 * UpdateDifferentiableGraphRequiresGrad).
 */
export function setRequiresGrad(block: Block, requiresGrad: boolean | undefined): void {
  for (const node of block.nodes()) {
    for (const input of node.inputs) setOf(input, requiresGrad);
    if (node.kind === 'prim::profile') {
      const type = node.ty('profiled_type');
      if (type instanceof TensorType) node.setTy('profiled_type', type.withRequiresGrad(requiresGrad));
    }
    for (const inner of node.blocks) setRequiresGrad(inner, requiresGrad);
  }
}

function setOf(value: Value, requiresGrad: boolean | undefined): void {
  if (value.type instanceof TensorType) value.setType(value.type.withRequiresGrad(requiresGrad));
}
