import type { Node } from '@cresset/ir';
import { isDifferentiable } from '../autodiff/differentiable-ops.ts';
import { isSupported } from '../fusion/tensorexpr/supported-operators.ts';

/** Operators whose results depend on what their tensors are, rather than on what is in them. */
const QUERIES: ReadonlySet<string> = new Set([
  'prim::AutogradAdd',
  'prim::AutogradAnyNonZero',
  'prim::AutogradAllNonZero',
  'prim::AutogradAllZero',
  'prim::AutogradZero',
  'aten::dim',
  'aten::size',
  'aten::expand',
  'prim::dtype',
  'prim::device',
  'prim::is_cuda',
  'aten::is_floating_point',
  'aten::type_as',
  'aten::t',
  'aten::mm',
]);

/** Whether passes want to know the types of a node's inputs. */
export function needsProfiledInputs(node: Node): boolean {
  return isSupported(node, false) || QUERIES.has(node.kind) || isDifferentiable(node);
}

/** Whether passes want to know the types of a node's outputs. */
export function needsProfiledOutput(node: Node): boolean {
  return (
    isSupported(node, false) ||
    node.kind === 'prim::AutogradAdd' ||
    node.kind === 'prim::AutogradZero' ||
    isDifferentiable(node)
  );
}
