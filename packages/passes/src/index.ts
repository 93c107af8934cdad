export { autocast } from './autocast.ts';
export { canonicalize } from './cleanup/canonicalize.ts';
export { eliminateCommonSubexpressions } from './cleanup/common-subexpression-elimination.ts';
export { poolConstants } from './cleanup/constant-pooling.ts';
export { propagateConstants } from './cleanup/constant-propagation.ts';
export { eliminateDeadCode, eliminateDeadWrites } from './cleanup/dead-code-elimination.ts';
export { inline } from './cleanup/inliner.ts';
export { replaceTensorsByNumbers } from './cleanup/number-constants.ts';
export { lowerSimpleTuples } from './cleanup/lower-tuples.ts';
export { normalizeOps } from './cleanup/normalize-ops.ts';
export {
  optimizeForInference,
  runCleanupPasses,
  type OptimizeOptions,
  type PassEnvironment,
} from './optimization-pipeline.ts';
export { foldModuleAttributes, type AttributeGuard } from './freezing/fold-module-attributes.ts';
export { eraseShapeInformation, propagateInputShapes } from './shape-analysis/propagate-input-shapes.ts';
export { followsRules } from './fusion/tensorexpr/stride-rules.ts';
export { isFunctionalized, removeMutation } from './mutation/remove-mutation.ts';
export { peepholeOptimize } from './peephole/peephole-optimize.ts';
export { differentiate } from './autodiff/differentiate.ts';
export { formulas, formulaTexts } from './autodiff/formulas/index.ts';
export { type Gradient } from './autodiff/gradient.ts';
export { decomposeOps } from './decomposition/decompose-ops.ts';
export { gradientPairOf } from './autodiff/symbolic-script.ts';
export { freezeModule } from './freezing/freeze-module.ts';
export { optimizeFrozenGraph } from './freezing/frozen-optimization.ts';
export { bailoutGraph } from './profiling/bailout-graph.ts';
export { replaceFallbackGraphs } from './profiling/fallback-functions.ts';
export { countNones, insertNoneCounts, instrumentGraph, removeProfileCounter } from './profiling/profiling-nodes.ts';
export {
  preoptimizeForObject,
  lowerForHost,
  optimizeForSpec,
  runProfilingInsensitiveOptimizations,
  runProfilingOptimizations,
  type SpecOptions,
} from './profiling/specialized-pipelines.ts';
export { namedPasses, type NamedPassEnvironment } from './named-passes.ts';
