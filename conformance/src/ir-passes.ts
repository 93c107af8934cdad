import { replaceOldOperatorsWithUpgraders } from '@cresset/frontend';
import { AliasDb, type Graph } from '@cresset/ir';
import {
  batchMm,
  canonicalizeOps,
  createAutodiffSubgraphs,
  createFunctionalGraphs,
  decomposeAddmm,
  eliminateCommonSubexpressions,
  eliminateDeadCode,
  eliminateDeadCodeInBlock,
  eraseNumberTypes,
  eraseShapeInformation,
  functionalToInplaceActivation,
  fuseAddmm,
  fuseAddRelu,
  fuseGraph,
  fuseLinear,
  inline,
  inlineForkWait,
  inlineFunctionalGraphs,
  inplaceToFunctionalActivation,
  lowerAllTuples,
  lowerSimpleTuples,
  normalizeOps,
  peepholeListIdiomsAndLengths,
  peepholeOptimize,
  refineTupleTypes,
  poolConstants,
  propagateConstants,
  preoptimizedBodies,
  propagateDevices,
  propagateDtypes,
  propagateShapes,
  refineIntegerValues,
  removeDropout,
  removeExpands,
  removeInplaceOps,
  removeMutation,
  runCleanupPasses,
  unrollConstantLoops,
  unrollLoops,
} from '@cresset/passes';
import { evaluateConstant } from '@cresset/runtime';

/** Passes by the names of `torch._C._jit_pass_…`. */
export const irPasses: Readonly<Record<string, (graph: Graph) => unknown>> = {
  batch_mm: batchMm,
  canonicalize_graph_fuser_ops: canonicalizeOps,
  create_autodiff_subgraphs: (graph) => createAutodiffSubgraphs(graph, 1),
  create_autodiff_subgraphs_threshold2: (graph) => createAutodiffSubgraphs(graph, 2),
  create_functional_graphs: createFunctionalGraphs,
  inline: (graph) => inline(graph, preoptimizedBodies(evaluateConstant)),
  inline_fork_wait: inlineForkWait,
  inline_functional_graphs: inlineFunctionalGraphs,
  propagate_device: propagateDevices,
  propagate_dtype: (graph) => propagateDtypes(graph, evaluateConstant),
  propagate_shapes_on_graph: (graph) => propagateShapes(graph, evaluateConstant),
  integer_value_refinement: refineIntegerValues,
  refine_integer_values: refineIntegerValues,
  remove_expands: removeExpands,
  constant_loop_unrolling: unrollConstantLoops,
  constant_pooling: (graph) => poolConstants(graph, new AliasDb(graph)),
  constant_propagation: (graph) => propagateConstants(graph, evaluateConstant),
  constant_propagation_immutable_types: (graph) =>
    propagateConstants(graph, evaluateConstant, { immutableTypesOnly: true }),
  cse: (graph) => eliminateCommonSubexpressions(graph),
  dce: (graph) => eliminateDeadCode(graph, { aliasDb: new AliasDb(graph) }),
  dce_allow_deleting_nodes_with_side_effects: (graph) =>
    eliminateDeadCodeInBlock(graph.block, { allowSideEffects: true }),
  decompose_ops: (graph) => decomposeAddmm(graph, evaluateConstant),
  erase_number_types: eraseNumberTypes,
  erase_shape_information: eraseShapeInformation,
  frontend_cleanup: (graph) => runCleanupPasses(graph, { evaluate: evaluateConstant }),
  functional_to_inplace_activation: functionalToInplaceActivation,
  fuse: (graph) => fuseGraph(graph, { maxTensors: Infinity }),
  fuse_add_relu: fuseAddRelu,
  fuse_addmm: fuseAddmm,
  fuse_linear: fuseLinear,
  inplace_to_functional_activation: inplaceToFunctionalActivation,
  loop_unrolling: unrollLoops,
  lower_all_tuples: lowerAllTuples,
  lower_simple_tuples: (graph) => lowerSimpleTuples(graph),
  normalize_ops: (graph) => normalizeOps(graph),
  // Graphs in text have no weights, which is what the rest of it is about.
  optimize_frozen_graph: (graph) => {
    removeDropout(graph);
    eliminateDeadCode(graph);
  },
  peephole: (graph) => peepholeOptimize(graph),
  peephole_list_idioms: peepholeListIdiomsAndLengths,
  peephole_no_shape: (graph) => peepholeOptimize(graph, { disableShapes: true }),
  run_decompositions: (graph) => {
    for (let times = 0; times < 2; times++) {
      peepholeOptimize(graph, { disableShapes: true });
      propagateConstants(graph, evaluateConstant);
    }
  },
  refine_tuple_types: refineTupleTypes,
  remove_inplace_ops: removeInplaceOps,
  remove_mutation: removeMutation,
  replace_old_ops_with_upgraders: (graph) => replaceOldOperatorsWithUpgraders(graph),
};
