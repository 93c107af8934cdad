import { logGraph, TensorType, unmergeSubgraph, type Graph, type Node } from '@cresset/ir';
import { createAutodiffSubgraphs } from '../autodiff/create-autodiff-subgraphs.ts';
import {
  forgetProfilesOfFallbacks,
  guardDifferentiableGraph,
  needsGradientInProfilingMode,
  INLINE_THRESHOLD,
  needsGradient,
  NODE_THRESHOLD,
  packGradient,
} from '../autodiff/differentiable-graph.ts';
import { differentiate } from '../autodiff/differentiate.ts';
import { inlineAutodiffSubgraphs } from '../autodiff/inline-autodiff-subgraphs.ts';
import { lowerAutogradOperators } from '../autodiff/lower-autograd-operators.ts';
import { lowerGradOf } from '../autodiff/lower-grad-of.ts';
import { specializeAutogradZero } from '../autodiff/specialize-autograd-zero.ts';
import { setRequiresGrad } from '../autodiff/update-requires-grad.ts';
import { checkInplace } from '../cleanup/check-inplace.ts';
import { eliminateCommonSubexpressions } from '../cleanup/common-subexpression-elimination.ts';
import { poolConstants } from '../cleanup/constant-pooling.ts';
import { propagateConstants } from '../cleanup/constant-propagation.ts';
import { eliminateDeadCode } from '../cleanup/dead-code-elimination.ts';
import { inline } from '../cleanup/inliner.ts';
import { lowerSimpleTuples } from '../cleanup/lower-tuples.ts';
import { decomposeAddmm } from '../decomposition/decompose-addmm.ts';
import { decomposeOps } from '../decomposition/decompose-ops.ts';
import { preoptimizedBodies } from '../decomposition/preoptimize.ts';
import { foldModuleAttributes, type AttributeGuard } from '../freezing/fold-module-attributes.ts';
import { removeDropout } from '../freezing/remove-dropout.ts';
import {
  runNondiffOptimization,
  runOptimization,
  runRequiredPasses,
  stepsOf,
  type OptimizeOptions,
} from '../optimization-pipeline.ts';
import { fuseGraph } from '../fusion/graph-fuser.ts';
import { fuseGraphLegacy } from '../fusion/legacy/legacy-fuser.ts';
import { lowerFusedConcats, lowerGroupSizes } from '../fusion/legacy/lower-legacy-groups.ts';
import { fuseTensorExprs } from '../fusion/tensorexpr/tensorexpr-fuser.ts';
import { batchMm } from '../fusion/batch-mm.ts';
import { sinkSizeQueries } from '../fusion/sink-size-queries.ts';
import { forgetTensorTypes, insertTypeGuard } from '../fusion/tensorexpr/type-guard.ts';
import { peepholeOptimize } from '../peephole/peephole-optimize.ts';
import { eraseShapeInformation, propagateInputShapes } from '../shape-analysis/propagate-input-shapes.ts';
import { insertBailOuts } from './bailout-graph.ts';
import { eliminateRedundantGuards } from './guard-elimination.ts';
import { insertGuards, type TypeConverter } from './insert-guards.ts';
import { removeProfilingNodes, specializeProfiledTypes } from './profiling-nodes.ts';
import { propagateRequiresGrad } from './requires-grad-analysis.ts';

export interface SpecOptions extends OptimizeOptions {
  /** Whether tensors of the host can be in groups by PyTorch's rules, which then are made for a device too. */
  readonly fuseOnCpu: boolean;
  /** Whether gradients of groups have to be those that autograd gives operator by operator, where PyTorch's JIT gives others. */
  readonly asAutograd?: boolean;
}

export interface ProfilingOptions extends SpecOptions {
  /** Guards every tensor of which something is known, with bailouts; else groups of operators alone, with fallbacks. */
  readonly bailouts: boolean;
  /** Whether guards are of exact sizes or of ranks. */
  readonly behavior: 'STATIC' | 'DYNAMIC';
}

/**
 * Calls put in place, what is plain from the text simplified (PyTorch: preoptimizeGraph), and attributes known: what any plan begins with.
 * Gives what has to hold for it.
 */
export function preoptimizeForObject(graph: Graph, options: OptimizeOptions): readonly AttributeGuard[] {
  const { evaluate, self } = options;
  const step = stepsOf(graph, options);
  step('inline', () => inline(graph, preoptimizedBodies(evaluate)));
  const guards = self
    ? step('fold attributes', () => foldModuleAttributes(graph, self, options.unstableAttributes))
    : [];
  step('peephole', () => peepholeOptimize(graph, { disableShapes: true, unknownAreNumbers: options.isBackward }));
  step('propagate constants', () => propagateConstants(graph, evaluate, { immutableTypesOnly: true }));
  step('autocast', () => options.autocast?.(graph, evaluate));
  // PyTorch knows that of frozen modules only.
  if (self) step('remove dropout', () => removeDropout(graph));
  step('pool constants', () => poolConstants(graph));
  return guards;
}

/** What is done before anything is known of tensors (PyTorch: runProfilingInsensitiveOptimizations, after Inline). */
export function runProfilingInsensitiveOptimizations(graph: Graph, options: OptimizeOptions): void {
  const step = stepsOf(graph, options);
  // What a graph was specialised to is nothing to the graph of a bailout.
  step('clear profiling information', () => eraseShapeInformation(graph));
  step('lower gradients', () => lowerGradOf(graph));
  runRequiredPasses(graph, step);
  step('decompose addmm', () => decomposeAddmm(graph, options.evaluate));
  step('propagate constants', () => propagateConstants(graph, options.evaluate));
  step('eliminate dead code', () => eliminateDeadCode(graph));
  step('eliminate common subexpressions', () => eliminateCommonSubexpressions(graph));
  checkInplace(graph);
  step('pool constants', () => poolConstants(graph));
  step('peephole', () => peepholeOptimize(graph, { unknownAreNumbers: options.isBackward }));
  step('eliminate dead code', () => eliminateDeadCode(graph));
  step('lower tuples', () => lowerSimpleTuples(graph));
}

/** What is done with a graph that has been watched (PyTorch: runProfilingOptimizations). */
export function runProfilingOptimizations(graph: Graph, options: ProfilingOptions): void {
  const step = stepsOf(graph, options);
  const convert: TypeConverter =
    options.behavior === 'STATIC'
      ? (type) => type
      : (type) => type.withDim(type.dim).withRequiresGrad(type.requiresGrad);
  const isRecorded = options.bailouts && needsGradientInProfilingMode(graph.block);
  if (options.bailouts) {
    step('insert guards', () => insertGuards(graph, convert));
    step('eliminate redundant guards', () => eliminateRedundantGuards(graph));
    step('insert bailouts', () => insertBailOuts(graph));
  } else {
    step('specialize gradients that are zero', () => specializeAutogradZero(graph));
  }
  runRequiredPasses(graph, step);
  step('peephole', () => peepholeOptimize(graph, { unknownAreNumbers: options.isBackward }));
  step('propagate constants', () => propagateConstants(graph, options.evaluate));
  runOptimization(graph, { ...options, useShapes: true }, step);
  if (!options.bailouts && needsGradientInProfilingMode(graph.block)) {
    step('differentiate', () => differentiateGroups(graph, options));
    return;
  }
  step('forget profiles of fallbacks', () => forgetProfilesOfFallbacks(graph));
  // Under guards of all tensors derivatives are those of the operators, which stay as they are.
  if (isRecorded) return;
  if (!options.bailouts) step('specialize types', () => specializeProfiledTypes(graph));
  fuse(graph, options, () => {
    // It leaves types to groups alone, and bailouts check theirs.
    if (options.bailouts) return;
    const dynamicShapes = options.behavior === 'DYNAMIC' ? options.evaluate : null;
    fuseTensorExprs(graph, { canFuseOn: () => options.fuseOnCpu, dynamicShapes });
  });
  if (!options.bailouts) {
    step('guard groups', () => guardGroups(graph, convert));
    // Types hold within what is guarded, and nowhere else.
    step('remove type specializations', () => forgetTensorTypes(graph.block));
  }
}

/** Operators to which PyTorch's JIT gives other gradients than autograd does: none where two arguments are equal, each of which has half of it there. */
const OF_OTHER_GRADIENTS: ReadonlySet<string> = new Set(['aten::max', 'aten::min']);

const keptApart = ({ asAutograd }: SpecOptions): ReadonlySet<string> => (asAutograd ? OF_OTHER_GRADIENTS : new Set());

/** Groups of operators that can be differentiated are, under guards (the half of runProfilingOptimizations that is for gradients). */
function differentiateGroups(graph: Graph, options: SpecOptions): void {
  for (const group of createAutodiffSubgraphs(graph, NODE_THRESHOLD, keptApart(options))) {
    if (!guardDifferentiableGraph(group)) continue;
    const gradient = differentiate(group.g('Subgraph'));
    forgetTensorTypes(gradient.f.block);
    removeProfilingNodes(gradient.f.block);
    // As in the forward function of an operator with a derivative of its own.
    setRequiresGrad(gradient.f.block, false);
    packGradient(gradient, group);
  }
  inlineAutodiffSubgraphs(graph, NODE_THRESHOLD);
  forgetProfilesOfFallbacks(graph);
  removeProfilingNodes(graph.block);
  eliminateDeadCode(graph);
}

/** What is done with a graph whose inputs have the types of an ArgumentSpec (PyTorch: GraphExecutorImpl::compileSpec). */
export function optimizeForSpec(graph: Graph, options: SpecOptions & { readonly gradEnabled: boolean }): void {
  const step = stepsOf(graph, options);
  step('lower gradients', () => lowerGradOf(graph));
  step('specialize gradients that are zero', () => specializeAutogradZero(graph, false));
  step('lower tuples', () => lowerSimpleTuples(graph));
  step('pool constants', () => poolConstants(graph));
  runRequiredPasses(graph, step);
  step('propagate constants', () => propagateConstants(graph, options.evaluate));
  step('propagate shapes', () => propagateInputShapes(graph, options.evaluate));
  step('propagate requires_grad', () => propagateRequiresGrad(graph));
  runOptimization(graph, { ...options, useShapes: true }, step, true);
  step('decompose addmm', () => decomposeAddmm(graph, options.evaluate));
  if (options.gradEnabled && needsGradient(graph))
    step('differentiate', () => differentiateSpecialized(graph, options));
  else fuse(graph, options, () => fuseAsLegacy(graph, options));
  logGraph('graph_executor', graph);
}

/** As {@link differentiateGroups}, where the types of inputs are known: nothing is guarded, and forward graphs are optimised at once. */
function differentiateSpecialized(graph: Graph, options: SpecOptions): void {
  for (const group of createAutodiffSubgraphs(graph, NODE_THRESHOLD, keptApart(options))) {
    const gradient = differentiate(group.g('Subgraph'));
    propagateInputShapes(gradient.f, options.evaluate);
    runOptimization(gradient.f, { ...options, useShapes: true }, (_name, pass) => pass());
    fuse(gradient.f, { ...options, onStep: undefined }, () => fuseAsLegacy(gradient.f, options));
    packGradient(gradient, group);
  }
  inlineAutodiffSubgraphs(graph, INLINE_THRESHOLD);
  eliminateDeadCode(graph);
}

/**
 * What only this library does, with a graph that is printed before: groups of PyTorch's fusers become such as a device runs, which reach no further than
 * they do, or without one their operators, and what has no function of its own is put in terms of what has one.
 *
 * @param keeps operators that stay as they are
 */
export function lowerForHost(
  graph: Graph,
  options: OptimizeOptions & Partial<SpecOptions>,
  keeps: (node: Node) => boolean,
): void {
  const groups = [...graph.allNodes()].filter(({ kind }) => isGroupOfPyTorch(kind, options));
  for (const group of groups) {
    const own = group.g('Subgraph');
    lowerFusedConcats(own);
    if (options.fuse) {
      decomposeOps(own, options.compileDecomposition);
      fuseGraph(own, options.fuse);
    }
    unmergeSubgraph(group);
  }
  lowerGroupSizes(graph, options.compileDecomposition);
  // Sizes that were computed for groups alone.
  if (groups.length > 0) eliminateDeadCode(graph);
  lowerAutogradOperators(graph);
  decomposeOps(graph, options.compileDecomposition, false, keeps);
}

function isGroupOfPyTorch(
  kind: string,
  { fuse: ownGroups, fuseOnCpu }: OptimizeOptions & Partial<SpecOptions>,
): boolean {
  return kind === 'prim::TensorExprGroup' || (kind === 'prim::FusionGroup' && (!ownGroups || fuseOnCpu === true));
}

/** Groups of PyTorch's older fuser: a tensor of which it is not known where it is may be anywhere. */
function fuseAsLegacy(graph: Graph, { fuseOnCpu }: SpecOptions): void {
  fuseGraphLegacy(graph, { canFuseOn: () => fuseOnCpu });
}

/**
 * What comes last (PyTorch: runNondiffOptimization). For a device, groups are of operators as a device has them; without one, or where they were asked for, they
 * are PyTorch's.
 *
 * @param asPyTorch makes groups by the rules of one of its fusers
 */
function fuse(graph: Graph, options: SpecOptions, asPyTorch: () => void): void {
  const step = stepsOf(graph, options);
  if (options.fuse && !options.fuseOnCpu) {
    step('sink size queries', () => sinkSizeQueries(graph));
    step('decompose operators', () => decomposeOps(graph, options.compileDecomposition));
    runNondiffOptimization(graph, options, step);
    return;
  }
  step('lower tuples', () => lowerSimpleTuples(graph));
  step('batch matrix products', () => batchMm(graph));
  step('fuse', asPyTorch);
  step('eliminate dead code', () => eliminateDeadCode(graph));
}

/** A group is guarded where something was seen of every tensor it takes. */
function guardGroups(graph: Graph, convert: TypeConverter): void {
  for (const node of [...graph.allNodes()].filter(({ kind }) => kind === 'prim::FusionGroup')) {
    const isKnown = node.inputs.every(({ type }) => !(type instanceof TensorType) || type.scalarType !== undefined);
    if (isKnown) insertTypeGuard(node, convert);
  }
}
