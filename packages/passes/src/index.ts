export { autocast } from './autocast.ts';
export { canonicalize, canonicalizeOutputs } from './canonicalize.ts';
export { eliminateCommonSubexpressions } from './common-subexpression-elimination.ts';
export { poolConstants } from './constant-pooling.ts';
export { propagateConstants, type ConstantEvaluator } from './constant-propagation.ts';
export { eliminateDeadCode, eliminateDeadWrites } from './dead-code-elimination.ts';
export { decomposeOps, type DecompositionCompiler } from './decompose-ops.ts';
export { fuseGraph, type FuseOptions } from './graph-fuser.ts';
export { inline, type BodyOf } from './inliner.ts';
export { lowerSimpleTuples } from './lower-tuples.ts';
export { normalizeOps } from './normalize-ops.ts';
export {
  optimizeForInference,
  runCleanupPasses,
  type OptimizeOptions,
  type PassEnvironment,
} from './optimization-pipeline.ts';
export { isFunctionalized, removeTensorMutation } from './remove-tensor-mutation.ts';
export { foldModuleAttributes, type AttributeGuard } from './fold-module-attributes.ts';
export { decomposeBatchNorm } from './decompose-batch-norm.ts';
export { peephole } from './peephole.ts';
export { propagateDtypes } from './shape-analysis/propagate-dtypes.ts';
export { eraseShapeInformation, propagateInputShapes } from './shape-analysis/propagate-input-shapes.ts';
export { canonicalizeOps } from './canonicalize-ops.ts';
export { eraseNumberTypes } from './erase-number-types.ts';
export { fuseAddmm } from './fuse-addmm.ts';
export { fuseLinear } from './fuse-linear.ts';
export { fuseAddRelu } from './fuse-relu.ts';
export { unrollConstantLoops, unrollLoops } from './loop-unrolling.ts';
export { lowerAllTuples } from './lower-all-tuples.ts';
export { removeInplaceOps } from './remove-inplace-ops.ts';
export { removeMutation } from './remove-mutation.ts';
export { functionalToInplaceActivation, inplaceToFunctionalActivation } from './restore-mutation.ts';
export { peepholeOptimize, type PeepholeOptions } from './peephole-optimize.ts';
export { combineConcats } from './combine-concats.ts';
export { refineTupleTypes } from './refine-tuple-types.ts';
export { createFunctionalGraphs, inlineFunctionalGraphs } from './create-functional-graphs.ts';
export { eliminateDeadCodeInBlock } from './dead-code-elimination.ts';
export { decomposeAddmm } from './decompose-addmm.ts';
export { inlineForkWait } from './inline-fork-wait.ts';
export { removeExpands } from './remove-expands.ts';
export { batchMm } from './batch-mm.ts';
export { preoptimizedBodies } from './preoptimize.ts';
export { propagateDevices } from './propagate-device.ts';
export { createAutodiffSubgraphs } from './create-autodiff-subgraphs.ts';
export { isDifferentiable } from './differentiable-ops.ts';
export { peepholeListIdioms } from './peephole-list-idioms.ts';
export { removeDropout } from './remove-dropout.ts';
