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
export { optimizeForInference, runCleanupPasses, type OptimizeOptions } from './optimization-pipeline.ts';
export { foldModuleAttributes, type AttributeGuard } from './freezing/fold-module-attributes.ts';
export { propagateDtypes } from './shape-analysis/propagate-dtypes.ts';
export { eraseShapeInformation, propagateInputShapes } from './shape-analysis/propagate-input-shapes.ts';
export { canonicalizeOps } from './cleanup/canonicalize-ops.ts';
export { eraseNumberTypes } from './cleanup/erase-number-types.ts';
export { fuseAddmm } from './peephole/fuse-addmm.ts';
export { fuseGraphLegacy } from './fusion/legacy/legacy-fuser.ts';
export { fuseTensorExprs } from './fusion/tensorexpr/tensorexpr-fuser.ts';
export { followsRules } from './fusion/tensorexpr/stride-rules.ts';
export { fuseLinear } from './fusion/fuse-linear.ts';
export { fuseAddRelu } from './fusion/fuse-relu.ts';
export { unrollConstantLoops, unrollLoops } from './cleanup/loop-unrolling.ts';
export { lowerAllTuples } from './cleanup/lower-all-tuples.ts';
export { removeInplaceOps } from './mutation/remove-inplace-ops.ts';
export { isFunctionalized, removeMutation } from './mutation/remove-mutation.ts';
export { functionalToInplaceActivation, inplaceToFunctionalActivation } from './mutation/restore-mutation.ts';
export { peepholeOptimize } from './peephole/peephole-optimize.ts';
export { refineTupleTypes } from './cleanup/refine-tuple-types.ts';
export { createFunctionalGraphs, inlineFunctionalGraphs } from './mutation/create-functional-graphs.ts';
export { eliminateDeadCodeInBlock } from './cleanup/dead-code-elimination.ts';
export { decomposeAddmm } from './decomposition/decompose-addmm.ts';
export { inlineForkWait } from './cleanup/inline-fork-wait.ts';
export { removeExpands } from './cleanup/remove-expands.ts';
export { batchMm } from './fusion/batch-mm.ts';
export { preoptimizedBodies } from './decomposition/preoptimize.ts';
export { propagateDevices } from './propagate-device.ts';
export { createAutodiffSubgraphs } from './autodiff/create-autodiff-subgraphs.ts';
export { differentiate } from './autodiff/differentiate.ts';
export { specializeAutogradZero } from './autodiff/specialize-autograd-zero.ts';
export { formulas } from './autodiff/formulas/index.ts';
export { type Gradient } from './autodiff/gradient.ts';
export { decomposeOps } from './decomposition/decompose-ops.ts';
export { gradientPairOf } from './autodiff/symbolic-script.ts';
export { peepholeListIdiomsAndLengths } from './peephole/refine-list-lengths.ts';
export { refineIntegerValues } from './cleanup/refine-integer-values.ts';
export { propagateShapes } from './shape-analysis/symbolic/propagate-shapes.ts';
export { freezeModule } from './freezing/freeze-module.ts';
export { optimizeFrozenGraph } from './freezing/frozen-optimization.ts';
export { removeDropout } from './freezing/remove-dropout.ts';
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
