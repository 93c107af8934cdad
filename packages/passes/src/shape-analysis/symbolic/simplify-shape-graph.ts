import type { Graph } from '@cresset/ir';
import { eliminateCommonSubexpressions } from '../../cleanup/common-subexpression-elimination.ts';
import { poolConstants } from '../../cleanup/constant-pooling.ts';
import { type ConstantEvaluator, propagateConstants } from '../../cleanup/constant-propagation.ts';
import { eliminateDeadWrites } from '../../cleanup/dead-code-elimination.ts';
import { unrollConstantLoops } from '../../cleanup/loop-unrolling.ts';
import { refineIntegerValues } from '../../cleanup/refine-integer-values.ts';
import { removeListMutation } from '../../mutation/remove-mutation.ts';
import { peepholeNonTensor } from '../../peephole/peephole-non-tensor.ts';
import { peepholeListIdiomsAndLengths } from '../../peephole/refine-list-lengths.ts';

/** One round of simplification of a graph over sizes (PyTorch: shapeGraphCleanupPasses). Returns whether more may follow. */
export function simplifyShapeGraph(graph: Graph, evaluate: ConstantEvaluator): boolean {
  const changes = [
    removeListMutation(graph),
    unrollConstantLoops(graph),
    propagateConstants(graph, evaluate),
    peepholeNonTensor(graph),
    peepholeListIdiomsAndLengths(graph),
    refineIntegerValues(graph),
    propagateConstants(graph, evaluate),
  ];
  poolConstants(graph);
  changes.push(eliminateCommonSubexpressions(graph));
  eliminateDeadWrites(graph);
  return changes.includes(true);
}
