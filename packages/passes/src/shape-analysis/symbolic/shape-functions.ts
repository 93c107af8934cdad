import { CompilationUnit, Source, type Graph, type GraphFunction, type Node, type Value } from '@cresset/ir';
import { declareFunctions, NATIVE_RESOLVER, parseProgram, type Def } from '@cresset/frontend';
import type { ConstantEvaluator } from '../../cleanup/constant-propagation.ts';
import { propagateConstants } from '../../cleanup/constant-propagation.ts';
import { inline } from '../../cleanup/inliner.ts';
import { lowerSimpleTuples } from '../../cleanup/lower-tuples.ts';
import { peepholeOptimize } from '../../peephole/peephole-optimize.ts';
import { shapeFunctionText } from './shape-function-text.ts';

/**
 * The shape function of each operator that has one, by name and overload (PyTorch: shape_compute_graph_mapping, and the pointwise
 * operators of the TensorExpr fuser with their in-place forms).
 */
const operatorsOf: Readonly<Record<string, string>> = {
  unary: `_no_grad_embedding_renorm_ _autocast_to_full_precision _autocast_to_reduced_precision _cast_Float __and__.Scalar
    __lshift__.Scalar __or__.Scalar __rshift__.Scalar __xor__.Scalar abs abs_ acos acos_ add.Scalar add_.Scalar asin asin_ atan
    atan_ batch_norm ceil ceil_ clamp clamp_ contiguous cos cos_ cosh cosh_ dequantize.self div.Scalar div_.Scalar dropout elu elu_
    embedding_renorm_ eq.Scalar eq_.Scalar erf erf_ erfc erfc_ exp exp_ expm1 expm1_ floor floor_ fmod.Scalar fmod_.Scalar frac
    frac_ ge.Scalar ge_.Scalar gelu gelu_ gt.Scalar gt_.Scalar hardshrink hardsigmoid hardsigmoid_ hardswish hardswish_ hardtanh
    hardtanh_ isnan layer_norm le.Scalar le_.Scalar leaky_relu leaky_relu_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_
    log_ lt.Scalar lt_.Scalar mish mish_ mul.Scalar mul_.Scalar ne.Scalar ne_.Scalar neg neg_ pow.Tensor_Scalar pow_.Scalar
    quantize_per_tensor quantize_per_tensor.tensor_qparams reciprocal reciprocal_ relu relu6 relu6_ relu_ round round_ rsqrt rsqrt_
    rsub.Scalar sigmoid sigmoid_ silu silu_ sin sin_ sinh sinh_ softmax.int softplus sqrt sqrt_ sub.Scalar sub_.Scalar tan tan_
    tanh tanh_ threshold threshold_ to.device to.dtype to.dtype_layout to.prim_Device to.prim_dtype trunc trunc_ type_as
    where.Scalar zeros`,
  broadcast: `__and__.Tensor __lshift__.Tensor __or__.Tensor __rshift__.Tensor __xor__.Tensor add.Tensor atan2 div.Tensor eq.Tensor
    fmod.Tensor ge.Tensor gt.Tensor le.Tensor lerp.Scalar lt.Tensor max.other min.other mul.Tensor ne.Tensor remainder.Tensor
    sub.Tensor where.ScalarOther quantized::add`,
  broadcast_inplace: `add_.Tensor atan2_ div_.Tensor eq_.Tensor fmod_.Tensor ge_.Tensor gt_.Tensor le_.Tensor lerp_.Scalar lt_.Tensor
    mul_.Tensor ne_.Tensor remainder_.Tensor sub_.Tensor`,
  broadcast_three: 'addcmul lerp.Tensor where.self',
  broadcast_first_and_third: 'where.ScalarSelf',
  no_dimensions: 'mean sum prim::NumToTensor.Scalar prim::NumToTensor.bool',
  reduce_dims: 'mean.dim sum.dim_IntList',
  max_dim: 'max.dim',
  argmax: 'argmax',
  topk: 'topk',
  adaptive_avg_pool2d: 'adaptive_avg_pool2d',
  max_pool2d: 'max_pool2d',
  max_pool2d_with_indices: 'max_pool2d_with_indices',
  upsample_nearest2d: 'upsample_nearest2d.vec',
  conv1d: 'conv1d',
  conv2d: 'conv2d',
  conv3d: 'conv3d',
  convolution: '_convolution convolution',
  conv_transpose2d: 'conv_transpose2d.input',
  convolution_backward: 'convolution_backward',
  mm: 'mm',
  mv: 'mv',
  dot: 'dot',
  bmm: 'bmm',
  addmm: 'addmm',
  matmul: 'matmul',
  linear: 'linear',
  embedding: 'embedding',
  native_layer_norm: 'native_layer_norm',
  native_batch_norm: '_native_batch_norm_legit native_batch_norm',
  batch_norm_with_update: '_batch_norm_with_update',
  nll_loss_forward: 'nll_loss_forward',
  cross_entropy_loss: 'cross_entropy_loss',
  arange_end: 'arange',
  arange_start: 'arange.start',
  arange_step: 'arange.start_step',
  shape_as_tensor: '_shape_as_tensor',
  view: 'view',
  expand: 'expand expand_as',
  t: 't',
  transpose: 'transpose.int',
  permute: 'permute',
  movedim: 'movedim.intlist',
  flatten: 'flatten.using_ints',
  squeeze_all: 'squeeze',
  squeeze: 'squeeze.dim',
  squeeze_dims: 'squeeze.dims',
  unsqueeze: 'unsqueeze',
  select: 'select.int',
  slice: 'slice.Tensor',
  index_select: 'index_select',
  cat: 'cat',
  stack: 'stack',
};

/**
 * The shape functions of operators as graphs from sizes (`int[]` for a tensor) to sizes, each compiled once (PyTorch:
 * shapeComputeGraphForSchema).
 */
export class ShapeFunctions {
  readonly #functionOf = new Map<string, string>();
  readonly #graphs = new Map<string, Graph>();
  #functions: ReadonlyMap<string, GraphFunction> | undefined;

  /** @param evaluate runs operators on ints. */
  constructor(private readonly evaluate: ConstantEvaluator) {
    for (const [name, operators] of Object.entries(operatorsOf)) {
      for (const operator of operators.split(/\s+/)) {
        this.#functionOf.set(operator.includes('::') ? operator : `aten::${operator}`, name);
      }
    }
  }

  /**
   * The graph for a node's operator, undefined where that has none; not to be changed. It has an output for each of the operator's, and
   * may have fewer inputs.
   */
  graphFor(node: Node): Graph | undefined {
    const operator = node.maybeOperator();
    if (!operator) return undefined;
    const { name, overloadName } = operator;
    const shapeFunction = this.#functionOf.get(overloadName === '' ? name : `${name}.${overloadName}`);
    return shapeFunction === undefined ? undefined : this.#graphOf(shapeFunction);
  }

  #graphOf(name: string): Graph {
    let graph = this.#graphs.get(name);
    if (!graph) {
      this.#functions ??= compile();
      graph = this.#functions.get(name)!.graph.copy();
      inline(graph);
      lowerSimpleTuples(graph);
      spreadTuple(graph);
      for (let times = 0; times < 2; times++) {
        peepholeOptimize(graph);
        propagateConstants(graph, this.evaluate);
      }
      this.#graphs.set(name, graph);
    }
    return graph;
  }
}

function compile(): ReadonlyMap<string, GraphFunction> {
  const definitions = parseProgram(new Source(shapeFunctionText, '<shape functions>'), 'python') as readonly Def[];
  const functions = declareFunctions(new CompilationUnit(), definitions, { resolver: NATIVE_RESOLVER });
  return new Map(functions.map((fn) => [fn.name, fn]));
}

/** An operator's several results are several values, where a function has a tuple. */
function spreadTuple(graph: Graph): void {
  const [result] = graph.outputs;
  if (result.type.kind !== 'TupleType') return;
  graph.eraseOutput(0);
  for (const element of elementsOf(result)) graph.registerOutput(element);
  if (!result.hasUses() && result.node.kind === 'prim::TupleConstruct') result.node.destroy();
}

function elementsOf(tuple: Value): readonly Value[] {
  if (tuple.node.kind === 'prim::TupleConstruct') return [...tuple.node.inputs];
  const graph = tuple.owningGraph;
  return graph.withInsertPoint(graph.block, () => graph.insertNode(graph.createTupleUnpack(tuple))).outputs;
}
