import { jitOptions, type Graph } from '@cresset/ir';
import type { ScriptObject } from '@cresset/tensor';
import { annotateWarns } from './cleanup/annotate-warns.ts';
import { canonicalizeOutputs } from './cleanup/canonicalize.ts';
import { eliminateCommonSubexpressions } from './cleanup/common-subexpression-elimination.ts';
import { poolConstants } from './cleanup/constant-pooling.ts';
import { propagateConstants, type ConstantEvaluator } from './cleanup/constant-propagation.ts';
import { eliminateDeadCode } from './cleanup/dead-code-elimination.ts';
import { decomposeBatchNorm } from './decomposition/decompose-batch-norm.ts';
import { decomposeOps, type DecompositionCompiler } from './decomposition/decompose-ops.ts';
import { foldModuleAttributes, type AttributeGuard } from './freezing/fold-module-attributes.ts';
import { fuseGraph, type FuseOptions } from './fusion/graph-fuser.ts';
import { inline } from './cleanup/inliner.ts';
import { lowerSimpleTuples } from './cleanup/lower-tuples.ts';
import { normalizeOps } from './cleanup/normalize-ops.ts';
import { replaceTensorsByNumbers } from './cleanup/number-constants.ts';
import { peephole } from './peephole/peephole.ts';
import { hoistRankQueries } from './fusion/rank-queries.ts';
import { removeTensorMutation } from './mutation/remove-tensor-mutation.ts';

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
  /** Is told of the graph after every step. */
  readonly onStep?: ((name: string, graph: Graph) => void) | undefined;
}

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
  let guards: readonly AttributeGuard[] = [];
  const step = (name: string, pass: () => unknown): void => {
    pass();
    options.onStep?.(name, graph);
  };
  options.onStep?.('compiled', graph);
  if (jitOptions().enabled === false) {
    // Nothing that could be done without: numbers count as such, and an operator in terms of others has no function of its own.
    step('numbers for tensors', () => replaceTensorsByNumbers(graph.block));
    step('decompose operators', () => decomposeOps(graph, options.compileDecomposition));
    return guards;
  }
  step('inline', () => inline(graph));
  step('autocast', () => options.autocast?.(graph, options.evaluate));
  step('numbers for tensors', () => replaceTensorsByNumbers(graph.block));
  const { self } = options;
  if (self) {
    step('fold attributes', () => {
      guards = foldModuleAttributes(graph, self, options.unstableAttributes);
    });
  }
  step('lower tuples', () => lowerSimpleTuples(graph));
  step('decompose operators', () => decomposeOps(graph, options.compileDecomposition, options.fuse !== null));
  step('propagate constants', () => propagateConstants(graph, options.evaluate));
  step('peephole', () => peephole(graph) && propagateConstants(graph, options.evaluate));
  step('pool constants', () => poolConstants(graph));
  step('eliminate common subexpressions', () => eliminateCommonSubexpressions(graph));
  if (options.fuse) {
    const fuse = options.fuse;
    step('remove tensor mutation', () => removeTensorMutation(graph));
    step('decompose batch norm', () => decomposeBatchNorm(graph));
    step('hoist rank queries', () => hoistRankQueries(graph));
    step('pool constants', () => poolConstants(graph));
    step('eliminate common subexpressions', () => eliminateCommonSubexpressions(graph));
    step('fuse', () => fuseGraph(graph, fuse));
  }
  step('eliminate dead code', () => eliminateDeadCode(graph));
  return guards;
}
