import { jitOptions, type Graph, type Node } from '@cresset/ir';
import type { ScriptObject } from '@cresset/tensor';
import { annotateWarns } from './cleanup/annotate-warns.ts';
import { canonicalizeOps } from './cleanup/canonicalize-ops.ts';
import { canonicalizeOutputs } from './cleanup/canonicalize.ts';
import { eliminateCommonSubexpressions } from './cleanup/common-subexpression-elimination.ts';
import { poolConstants } from './cleanup/constant-pooling.ts';
import { propagateConstants, type ConstantEvaluator } from './cleanup/constant-propagation.ts';
import { eliminateDeadCode, eliminateDeadWrites } from './cleanup/dead-code-elimination.ts';
import { inline } from './cleanup/inliner.ts';
import { unrollLoops } from './cleanup/loop-unrolling.ts';
import { lowerSimpleTuples } from './cleanup/lower-tuples.ts';
import { normalizeOps } from './cleanup/normalize-ops.ts';
import { replaceTensorsByNumbers } from './cleanup/number-constants.ts';
import { removeExpands } from './cleanup/remove-expands.ts';
import { decomposeBatchNorm } from './decomposition/decompose-batch-norm.ts';
import { decomposeOps, type DecompositionCompiler } from './decomposition/decompose-ops.ts';
import { foldModuleAttributes, type AttributeGuard } from './freezing/fold-module-attributes.ts';
import { removeDropout } from './freezing/remove-dropout.ts';
import { batchMm } from './fusion/batch-mm.ts';
import { fuseGraph, type FuseOptions } from './fusion/graph-fuser.ts';
import { hoistRankQueries } from './fusion/rank-queries.ts';
import { removeListMutation, removeTensorMutation } from './mutation/remove-mutation.ts';
import { peepholeOptimize } from './peephole/peephole-optimize.ts';

/** What the passes need from packages below: running an operator, and compiling the text of a decomposition. */
export interface PassEnvironment {
  readonly evaluate: ConstantEvaluator;
  readonly compileDecomposition: DecompositionCompiler;
}

export interface OptimizeOptions extends PassEnvironment {
  /** The object the graph's first input will be, where the graph may be made for that one alone. */
  readonly self?: ScriptObject | null;
  /** Attributes, as `class.name`, that turned out to change between runs. */
  readonly unstableAttributes?: ReadonlySet<string>;
  /** Puts in the casts of `torch.autocast`; few programs have it, and it comes with those. */
  readonly autocast?: ((graph: Graph, evaluate: ConstantEvaluator) => void) | undefined;
  /** Groups operators into kernels: where there is a device to run them. */
  readonly fuse: FuseOptions | null;
  /** Whether all trips of a loop are likely to be done at once where it is run: it is not unrolled then. */
  readonly isRolled?: ((loop: Node) => boolean) | undefined;
  /** Whether the graph works out gradients, none of which are truth values. */
  readonly isBackward?: boolean;
  /** Whether what types say of tensors is used: where the graph is run with tensors of those types alone. */
  readonly useShapes?: boolean;
  /** Is told of the graph after every step. */
  readonly onStep?: ((name: string, graph: Graph) => void) | undefined;
}

/** Runs one pass under the name that the log and `explain()` know it by, and gives what it gives. */
export type Step = <T>(name: string, pass: () => T) => T;

/** Puts a freshly compiled graph into the form PyTorch's compiler gives it (NormalizeOps, runCleanupPasses). */
export function runCleanupPasses(graph: Graph, { evaluate }: Pick<PassEnvironment, 'evaluate'>): void {
  normalizeOps(graph);
  lowerSimpleTuples(graph);
  propagateConstants(graph, evaluate, { immutableTypesOnly: true });
  poolConstants(graph);
  canonicalizeOutputs(graph);
  annotateWarns(graph);
}

/** Makes a graph ready to run without gradients: calls put in place, what is known worked out, operators fused.
 * Gives what has to hold, where it was made for one object. */
export function optimizeForInference(graph: Graph, options: OptimizeOptions): readonly AttributeGuard[] {
  const step = stepsOf(graph, options);
  options.onStep?.('compiled', graph);
  if (jitOptions().enabled === false) {
    // Nothing that could be done without: numbers count as such, and an operator in terms of others has no function of its own.
    step('numbers for tensors', () => replaceTensorsByNumbers(graph.block));
    step('decompose operators', () => decomposeOps(graph, options.compileDecomposition));
    return [];
  }
  const guards = runProfilingInsensitiveOptimizations(graph, options, step);
  runOptimization(graph, options, step);
  runNondiffOptimization(graph, options, step);
  return guards;
}

/** Tells of every pass. */
export function stepsOf(graph: Graph, { onStep }: OptimizeOptions): Step {
  return (name, pass) => {
    const result = pass();
    onStep?.(name, graph);
    return result;
  };
}

/** What every graph goes through, whatever is optimised later (PyTorch: runRequiredPasses). */
export function runRequiredPasses(graph: Graph, step: Step): void {
  step('remove expands', () => removeExpands(graph));
  step('canonicalize operators', () => canonicalizeOps(graph));
  step('eliminate dead code', () => eliminateDeadWrites(graph));
}

/**
 * What needs to know nothing of the arguments (PyTorch: runProfilingInsensitiveOptimizations). Attributes of the module are known, which
 * PyTorch knows of frozen modules only, and with them the dropouts that do nothing.
 */
function runProfilingInsensitiveOptimizations(
  graph: Graph,
  options: OptimizeOptions,
  step: Step,
): readonly AttributeGuard[] {
  const { evaluate, self } = options;
  step('inline', () => inline(graph));
  step('autocast', () => options.autocast?.(graph, evaluate));
  const guards = self
    ? step('fold attributes', () => foldModuleAttributes(graph, self, options.unstableAttributes))
    : [];
  // What flags of the module decide goes first, so that what follows never sees the branches that are not taken.
  if (guards.length > 0)
    step('propagate constants', () => propagateConstants(graph, evaluate, { immutableTypesOnly: true }));
  step('remove dropout', () => removeDropout(graph));
  runRequiredPasses(graph, step);
  step('decompose operators', () => decomposeOps(graph, options.compileDecomposition, options.fuse !== null));
  step('propagate constants', () => propagateConstants(graph, evaluate));
  step('eliminate dead code', () => eliminateDeadWrites(graph));
  step('eliminate common subexpressions', () => eliminateCommonSubexpressions(graph));
  step('pool constants', () => poolConstants(graph));
  step('peephole', () => peepholeOptimize(graph, { disableShapes: true }));
  step('eliminate dead code', () => eliminateDeadWrites(graph));
  step('lower tuples', () => lowerSimpleTuples(graph));
  return guards;
}

/**
 * What pays for every plan (PyTorch: runOptimization).
 *
 * @param whereUnrolled lists that are appended to become new ones only where a loop was unrolled, as in PyTorch's legacy executor.
 */
export function runOptimization(
  graph: Graph,
  { evaluate, useShapes, isRolled, isBackward }: OptimizeOptions,
  step: Step,
  whereUnrolled = false,
): void {
  const disableShapes = !useShapes;
  step('eliminate common subexpressions', () => eliminateCommonSubexpressions(graph));
  step('peephole', () => peepholeOptimize(graph, { disableShapes, unknownAreNumbers: isBackward }));
  step('propagate constants', () => propagateConstants(graph, evaluate));
  step('pool constants', () => poolConstants(graph));
  const isUnrolled = step('unroll loops', () => unrollLoops(graph, isRolled));
  if (whereUnrolled && !isUnrolled) return;
  const hasNewLists = step('remove list mutation', () => removeListMutation(graph));
  if (!isUnrolled && !hasNewLists) return;
  step('peephole', () => peepholeOptimize(graph, { disableShapes, unknownAreNumbers: isBackward }));
  step('propagate constants', () => propagateConstants(graph, evaluate));
  step('eliminate common subexpressions', () => eliminateCommonSubexpressions(graph));
}

/** What derivatives could not be taken of any more (PyTorch: runNondiffOptimization). */
export function runNondiffOptimization(graph: Graph, options: OptimizeOptions, step: Step): void {
  step('lower tuples', () => lowerSimpleTuples(graph));
  if (step('batch matrix products', () => batchMm(graph))) {
    step('decompose operators', () => decomposeOps(graph, options.compileDecomposition));
  }
  if (options.fuse) {
    const fuse = options.fuse;
    step('remove tensor mutation', () => removeTensorMutation(graph, { keepTypes: true }));
    step('decompose batch norm', () => decomposeBatchNorm(graph));
    step('hoist rank queries', () => hoistRankQueries(graph));
    step('pool constants', () => poolConstants(graph));
    step('eliminate common subexpressions', () => eliminateCommonSubexpressions(graph));
    step('fuse', () => fuseGraph(graph, fuse));
  }
  step('eliminate dead code', () => eliminateDeadCode(graph));
}
