import { CressetError, type Graph } from '@cresset/ir';

/**
 * Throws PyTorch's error, `PASS_INPLACE`, where a function of Python is called that writes to its arguments: passes take such calls for functions of values
 * (PyTorch: CheckInplace).
 */
export function checkInplace(graph: Graph): void {
  if (!graph.kinds.has('prim::PythonOp')) return;
  for (const node of graph.allNodes()) {
    if (node.kind !== 'prim::PythonOp' || !node.hasAttribute('inplace') || node.i('inplace') === 0n) continue;
    const name = node.hasAttribute('name') ? node.s('name') : '';
    throw new CressetError('PASS_INPLACE', `inplace ${name} not supported in the JIT`);
  }
}
