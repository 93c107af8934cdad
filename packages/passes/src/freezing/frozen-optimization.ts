import type { Graph } from '@cresset/ir';
import { eliminateCommonSubexpressions } from '../cleanup/common-subexpression-elimination.ts';
import { poolConstants } from '../cleanup/constant-pooling.ts';
import { propagateConstants, type ConstantEvaluator } from '../cleanup/constant-propagation.ts';
import { eliminateDeadWrites } from '../cleanup/dead-code-elimination.ts';
import { unrollConstantLoops } from '../cleanup/loop-unrolling.ts';
import { lowerSimpleTuples } from '../cleanup/lower-tuples.ts';
import { removeListMutation } from '../mutation/remove-mutation.ts';
import { peepholeOptimize } from '../peephole/peephole-optimize.ts';
import { removeDeadForkInputs } from './dead-fork-inputs.ts';
import { eliminateNoOps } from './eliminate-no-ops.ts';
import { uniteEqualTensors } from './equal-tensors.ts';
import { foldConvAddOrSub, foldConvMulOrDiv } from './fold-conv-arithmetic.ts';
import { foldConvBatchNorm, foldLinearBatchNorm } from './fold-batch-norm.ts';
import { removeDropout } from './remove-dropout.ts';

/** What freezing does to a method whose attributes have become constants (PyTorch: freeze_module's runOptimization). */
export function simplifyFrozenGraph(
  graph: Graph,
  evaluate: ConstantEvaluator,
  autocast?: (graph: Graph, evaluate: ConstantEvaluator) => void,
): void {
  autocast?.(graph, evaluate);
  removeDeadForkInputs(graph);
  eliminateDeadWrites(graph);
  uniteEqualTensors(graph);
  eliminateCommonSubexpressions(graph);
  peepholeOptimize(graph);
  propagateConstants(graph, evaluate);
  uniteEqualTensors(graph);
  poolConstants(graph);
  if (unrollConstantLoops(graph)) {
    removeListMutation(graph);
    peepholeOptimize(graph);
    propagateConstants(graph, evaluate);
  }
  uniteEqualTensors(graph);
  eliminateCommonSubexpressions(graph);
  eliminateNoOps(graph);
  lowerSimpleTuples(graph);
}

/**
 * What is done with a frozen graph (PyTorch: OptimizeFrozenGraph): dropouts go and, with `optimizeNumerics`, what stands behind a convolution or
 * linear layer goes into its weights. Linear layers with one input are not made one: PyTorch does that for CUDA alone.
 */
export function optimizeFrozenGraph(graph: Graph, evaluate: ConstantEvaluator, optimizeNumerics = true): void {
  removeDropout(graph);
  if (optimizeNumerics) removeDeadForkInputs(graph);
  let changed = optimizeNumerics;
  while (changed) {
    changed = foldConvBatchNorm(graph, evaluate);
    changed = foldConvAddOrSub(graph, evaluate) || changed;
    changed = foldConvMulOrDiv(graph, evaluate) || changed;
    changed = foldLinearBatchNorm(graph, evaluate) || changed;
  }
}
