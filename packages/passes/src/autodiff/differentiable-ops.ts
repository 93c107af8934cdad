import { constantValue, type Block, type Node } from '@cresset/ir';
import { hasGradientPair } from './symbolic-script.ts';

/** What is differentiated by graphs of its own making (`gradient-of-node.ts`), or has no gradient to speak of. */
const differentiableKinds: ReadonlySet<string> = new Set([
  'prim::Constant',
  'prim::AutogradZero',
  'prim::AutogradAdd',
  'prim::ConstantChunk',
  'prim::profile',
  'prim::profile_ivalue',
  'aten::native_batch_norm',
]);

/** Whether PyTorch's JIT differentiates a node itself instead of leaving that to autograd (PyTorch: isDifferentiable). */
export function isDifferentiable(node: Node): boolean {
  if (differentiableKinds.has(node.kind)) return true;
  if (node.kind === 'prim::GradOf') return isDifferentiableBlock(node.blocks[0]);
  const schema = node.maybeSchema();
  if (schema === undefined) return false;
  if (schema.operatorName === 'aten::dropout' && constantValue(node.namedInput('train')) === false) return false;
  if (schema.operatorName === 'aten::expand') {
    return ['size', 'implicit'].every((name) => constantValue(node.namedInput(name)) !== undefined);
  }
  return hasGradientPair(schema);
}

/** Whether each node of a block is differentiable. */
export function isDifferentiableBlock(block: Block): boolean {
  return [...block.nodes()].every(isDifferentiable);
}
