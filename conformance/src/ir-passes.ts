import { replaceOldOperatorsWithUpgraders } from '@cresset/frontend';
import { AliasDb, type Graph } from '@cresset/ir';
import {
  canonicalizeOps,
  eliminateCommonSubexpressions,
  eliminateDeadCode,
  eraseNumberTypes,
  eraseShapeInformation,
  functionalToInplaceActivation,
  fuseAddmm,
  fuseAddRelu,
  fuseGraph,
  fuseLinear,
  inplaceToFunctionalActivation,
  lowerAllTuples,
  lowerSimpleTuples,
  normalizeOps,
  peepholeOptimize,
  refineTupleTypes,
  poolConstants,
  propagateConstants,
  removeInplaceOps,
  removeMutation,
  runCleanupPasses,
  unrollConstantLoops,
  unrollLoops,
} from '@cresset/passes';
import { evaluateConstant } from '@cresset/runtime';

/** Passes by the names of `torch._C._jit_pass_…`. */
export const irPasses: Readonly<Record<string, (graph: Graph) => unknown>> = {
  canonicalize_graph_fuser_ops: canonicalizeOps,
  constant_loop_unrolling: unrollConstantLoops,
  constant_pooling: (graph) => poolConstants(graph, new AliasDb(graph)),
  constant_propagation: (graph) => propagateConstants(graph, evaluateConstant),
  constant_propagation_immutable_types: (graph) =>
    propagateConstants(graph, evaluateConstant, { immutableTypesOnly: true }),
  cse: (graph) => eliminateCommonSubexpressions(graph),
  dce: (graph) => eliminateDeadCode(graph, { aliasDb: new AliasDb(graph) }),
  dce_allow_deleting_nodes_with_side_effects: (graph) =>
    eliminateDeadCode(graph, { aliasDb: new AliasDb(graph), allowSideEffects: true }),
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
  peephole: (graph) => peepholeOptimize(graph),
  peephole_list_idioms: (graph) => peepholeOptimize(graph),
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
