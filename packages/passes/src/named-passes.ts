import { replaceOldOperatorsWithUpgraders } from '@cresset/frontend';
import { AliasDb, type Graph } from '@cresset/ir';
import { Tensor, type ScalarType } from '@cresset/tensor';
import { createAutodiffSubgraphs } from './autodiff/create-autodiff-subgraphs.ts';
import { specializeAutogradZero } from './autodiff/specialize-autograd-zero.ts';
import { autocast } from './autocast.ts';
import { canonicalizeOps } from './cleanup/canonicalize-ops.ts';
import { checkInplace } from './cleanup/check-inplace.ts';
import { eliminateCommonSubexpressions } from './cleanup/common-subexpression-elimination.ts';
import { poolConstants } from './cleanup/constant-pooling.ts';
import { propagateConstants } from './cleanup/constant-propagation.ts';
import { eliminateDeadCodeInBlock } from './cleanup/dead-code-elimination.ts';
import { eraseNumberTypes } from './cleanup/erase-number-types.ts';
import { inlineForkWait } from './cleanup/inline-fork-wait.ts';
import { inline } from './cleanup/inliner.ts';
import { unrollConstantLoops, unrollLoops } from './cleanup/loop-unrolling.ts';
import { lowerAllTuples } from './cleanup/lower-all-tuples.ts';
import { lowerSimpleTuples } from './cleanup/lower-tuples.ts';
import { normalizeOps } from './cleanup/normalize-ops.ts';
import { refineIntegerValues } from './cleanup/refine-integer-values.ts';
import { refineTupleTypes } from './cleanup/refine-tuple-types.ts';
import { removeExpands } from './cleanup/remove-expands.ts';
import { decomposeAddmm } from './decomposition/decompose-addmm.ts';
import { evaluateDecomposed, evaluatingDecompositions } from './decomposition/evaluate-decomposed.ts';
import { preoptimizedBodies } from './decomposition/preoptimize.ts';
import { concatFrozenLinear } from './freezing/concat-linear.ts';
import { foldConvBatchNorm, foldLinearBatchNorm } from './freezing/fold-batch-norm.ts';
import { foldConvAddOrSub, foldConvMulOrDiv } from './freezing/fold-conv-arithmetic.ts';
import { optimizeFrozenGraph } from './freezing/frozen-optimization.ts';
import { transposeFrozenLinear } from './freezing/transpose-linear.ts';
import { batchMm } from './fusion/batch-mm.ts';
import { fuseLinear } from './fusion/fuse-linear.ts';
import { fuseAddRelu } from './fusion/fuse-relu.ts';
import { fuseGraphLegacy } from './fusion/legacy/legacy-fuser.ts';
import { fuseTensorExprs } from './fusion/tensorexpr/tensorexpr-fuser.ts';
import { createFunctionalGraphs, inlineFunctionalGraphs } from './mutation/create-functional-graphs.ts';
import { removeInplaceOps } from './mutation/remove-inplace-ops.ts';
import { removeMutation } from './mutation/remove-mutation.ts';
import { functionalToInplaceActivation, inplaceToFunctionalActivation } from './mutation/restore-mutation.ts';
import { type PassEnvironment, runCleanupPasses } from './optimization-pipeline.ts';
import { fuseAddmm } from './peephole/fuse-addmm.ts';
import { peepholeOptimize } from './peephole/peephole-optimize.ts';
import { peepholeListIdiomsAndLengths } from './peephole/refine-list-lengths.ts';
import { propagateDevices } from './propagate-device.ts';
import { eraseShapeInformation } from './shape-analysis/propagate-input-shapes.ts';
import { propagateDtypes, type DtypeInference } from './shape-analysis/propagate-dtypes.ts';
import { propagateShapes } from './shape-analysis/symbolic/propagate-shapes.ts';

/** Those of results that all are tensors. */
const dtypesOf = (results: readonly unknown[] | null): readonly ScalarType[] | null =>
  results?.every((result) => result instanceof Tensor) ? results.map(({ dtype }) => dtype) : null;

/** What the passes need from packages below. */
export interface NamedPassEnvironment extends PassEnvironment {
  readonly inferDtypes: DtypeInference;
}

/** A pass of {@link namedPasses}. */
export type NamedPass = (graph: Graph) => unknown;

/**
 * All passes that need no more than a graph, by the names of `torch._C._jit_pass_…`. What PyTorch takes as an argument there is part of the name:
 * `peephole_no_shape`, `peephole_list_idioms` (which finds the lengths of lists too), `create_autodiff_subgraphs_threshold2`. The two of freezing
 * that PyTorch gives modules to are of graphs here (`remove_dropout` is within `optimize_frozen_graph`), and what its C++ has without a name
 * in Python is called as the file is (`check_inplace`, `frontend_cleanup`, `normalize_ops`, `lower_simple_tuples`).
 */
export function namedPasses({
  evaluate: run,
  compileDecomposition,
  inferDtypes,
}: NamedPassEnvironment): Readonly<Record<string, NamedPass>> {
  // PyTorch runs any operator on constants; which of ours have no function of their own makes no difference.
  const evaluate = evaluatingDecompositions(run, compileDecomposition);
  return {
    autocast: (graph) => autocast(graph, evaluate),
    batch_mm: batchMm,
    canonicalize_graph_fuser_ops: canonicalizeOps,
    check_inplace: checkInplace,
    concat_frozen_linear: (graph) => concatFrozenLinear(graph, evaluate),
    constant_loop_unrolling: unrollConstantLoops,
    constant_pooling: (graph) => poolConstants(graph, AliasDb.of(graph)),
    constant_propagation: (graph) => propagateConstants(graph, evaluate),
    constant_propagation_immutable_types: (graph) => propagateConstants(graph, evaluate, { immutableTypesOnly: true }),
    create_autodiff_subgraphs: (graph) => createAutodiffSubgraphs(graph, 1),
    create_autodiff_subgraphs_threshold2: (graph) => createAutodiffSubgraphs(graph, 2),
    create_functional_graphs: createFunctionalGraphs,
    cse: (graph) => eliminateCommonSubexpressions(graph),
    dce: (graph) => eliminateDeadCodeInBlock(graph.block),
    dce_allow_deleting_nodes_with_side_effects: (graph) =>
      eliminateDeadCodeInBlock(graph.block, { allowSideEffects: true }),
    decompose_ops: (graph) => decomposeAddmm(graph, evaluate),
    erase_number_types: eraseNumberTypes,
    erase_shape_information: eraseShapeInformation,
    fold_frozen_conv_add_or_sub: (graph) => foldConvAddOrSub(graph, evaluate),
    fold_frozen_conv_bn: (graph) => foldConvBatchNorm(graph, evaluate),
    fold_frozen_conv_mul_or_div: (graph) => foldConvMulOrDiv(graph, evaluate),
    fold_frozen_linear_bn: (graph) => foldLinearBatchNorm(graph, evaluate),
    frontend_cleanup: (graph) => runCleanupPasses(graph, { evaluate }),
    functional_to_inplace_activation: functionalToInplaceActivation,
    fuse: (graph) => fuseGraphLegacy(graph),
    fuse_add_relu: fuseAddRelu,
    fuse_addmm: fuseAddmm,
    fuse_linear: fuseLinear,
    fuse_tensorexprs: (graph) => fuseTensorExprs(graph, { canFuseOn: () => true }),
    inline: (graph) => inline(graph, preoptimizedBodies(evaluate)),
    inline_fork_wait: inlineForkWait,
    inline_functional_graphs: inlineFunctionalGraphs,
    inplace_to_functional_activation: inplaceToFunctionalActivation,
    integer_value_refinement: refineIntegerValues,
    loop_unrolling: unrollLoops,
    lower_all_tuples: lowerAllTuples,
    lower_simple_tuples: lowerSimpleTuples,
    normalize_ops: normalizeOps,
    optimize_frozen_graph: (graph) => optimizeFrozenGraph(graph, evaluate),
    peephole: (graph) => peepholeOptimize(graph, { unknownAreNumbers: true }),
    peephole_list_idioms: peepholeListIdiomsAndLengths,
    peephole_no_shape: (graph) => peepholeOptimize(graph, { disableShapes: true, unknownAreNumbers: true }),
    propagate_device: propagateDevices,
    propagate_dtype: (graph) =>
      propagateDtypes(
        graph,
        (node, inputs) =>
          inferDtypes(node, inputs) ?? dtypesOf(evaluateDecomposed(node, inputs, run, compileDecomposition)),
      ),
    propagate_shapes_on_graph: (graph) => propagateShapes(graph, evaluate),
    refine_integer_values: refineIntegerValues,
    refine_tuple_types: refineTupleTypes,
    remove_expands: removeExpands,
    remove_inplace_ops: removeInplaceOps,
    remove_mutation: removeMutation,
    replace_old_ops_with_upgraders: (graph) => replaceOldOperatorsWithUpgraders(graph),
    run_decompositions: (graph) => {
      for (let times = 0; times < 2; times++) {
        peepholeOptimize(graph, { disableShapes: true, unknownAreNumbers: true });
        propagateConstants(graph, evaluate);
      }
    },
    specialize_autogradzero: (graph) => specializeAutogradZero(graph),
    transpose_frozen_linear: (graph) => transposeFrozenLinear(graph, evaluate),
  };
}
