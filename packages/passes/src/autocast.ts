import {
  ClassType,
  constantValue,
  CressetError,
  logGraph,
  mayChange,
  TensorType,
  type Block,
  type Graph,
  type Node,
  type Value,
} from '@cresset/ir';
import { propagateConstants, type ConstantEvaluator } from './cleanup/constant-propagation.ts';

/** What is switched on where a node runs, and the dtypes that go with it. */
interface AutocastContext {
  readonly cuda: boolean;
  readonly cpu: boolean;
  readonly cudaType: bigint;
  readonly cpuType: bigint;
}

/** Codes of float16 and bfloat16, the defaults of the two devices. */
const outside: AutocastContext = { cuda: false, cpu: false, cudaType: 5n, cpuType: 15n };

const className = /^__torch__\.torch\.((cuda|cpu)\.)?amp\.autocast_mode\.autocast$/;

const operators = (names: string): ReadonlySet<string> => new Set(names.split(' ').map((name) => `aten::${name}`));

const reducing = operators(
  '_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d convolution cudnn_convolution cudnn_convolution_transpose prelu addmm addmv addr matmul mm mv linear addbmm baddbmm bmm chain_matmul _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell',
);
const widening = operators(
  'native_layer_norm acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus gelu layer_norm group_norm frobenius_norm nuclear_norm cosine_similarity cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp',
);
/** They widen where they are not told a dtype. */
const wideningByDefault = operators('prod log_softmax cumprod cumsum sum softmax');
/** They take the widest dtype of their operands. */
const promoting = operators('addcdiv addcmul atan2 bilinear cross dot equal index_put tensordot add sub mul div');

/**
 * Casts operands within `with torch.autocast(…)` as its lists of operators say (PyTorch: Autocast). The casts look at dtypes when they run,
 * and change nothing on a device that is not meant; what `torch.device('cpu')` stands for counts as the CPU.
 */
export function autocast(graph: Graph, evaluate: ConstantEvaluator): void {
  if (![...graph.allNodes()].some((node) => node.kind === 'prim::CreateObject' && isAutocast(node.output()))) return;
  // Whether an autocast is enabled, and its dtype, stand in arguments of its `__init__`.
  propagateConstants(graph, evaluate, { immutableTypesOnly: true });
  castBlock(graph.block, outside);
  logGraph('autocast', graph);
}

function isAutocast({ type }: Value): boolean {
  return type instanceof ClassType && className.test(type.qualifiedName);
}

function castBlock(block: Block, initial: AutocastContext): void {
  const contexts = [initial];
  for (const node of block.nodes()) {
    const context = contexts.at(-1)!;
    if (node.kind === 'prim::Enter' && isAutocast(node.input(0))) contexts.push(enteredContext(node, context));
    else if (node.kind === 'prim::Exit' && isAutocast(node.input(0))) contexts.pop();
    else if (context.cpu || context.cuda) castNode(node, context);
    for (const inner of node.blocks) castBlock(inner, contexts.at(-1)!);
  }
}

/** What holds behind a `prim::Enter`; throws where that is not known before the program runs. */
function enteredContext(enter: Node, context: AutocastContext): AutocastContext {
  const instance = enter.input(0);
  check(!enter.output().hasUses(), '`with autocast() as ...` is not supported');
  check(instance.node.kind === 'prim::CreateObject', 'Unsupported autocast syntax');
  const attribute = (name: string): unknown => {
    const setter = instance.uses.find(({ user }) => user.kind === 'prim::SetAttr' && user.s('name') === name)?.user;
    check(setter !== undefined, `Autocast missing ${name} attribute`);
    return constantValue(setter!.input(1));
  };
  const enabled = attribute('_enabled');
  const device = attribute('device');
  const dtype = attribute('fast_dtype');
  check(typeof enabled === 'boolean', 'Autocast _enabled argument must be a constant');
  check(typeof device === 'string', 'Autocast device argument must be a constant');
  const given = (usual: bigint): bigint => (typeof dtype === 'bigint' ? dtype : usual);
  if (device === 'cuda') return { ...context, cuda: enabled as boolean, cudaType: given(outside.cudaType) };
  if (device === 'cpu') return { ...context, cpu: enabled as boolean, cpuType: given(outside.cpuType) };
  return context;
}

function check(holds: boolean, message: string): void {
  if (!holds) throw new CressetError('PASS_AUTOCAST', message);
}

function castNode(node: Node, context: AutocastContext): void {
  const { kind } = node;
  if (kind === 'aten::is_autocast_enabled' || kind === 'aten::is_autocast_cpu_enabled') {
    if (kind === 'aten::is_autocast_enabled' ? context.cuda : context.cpu) replaceByTrue(node);
    return;
  }
  check(kind !== 'aten::binary_cross_entropy', 'Unsafe to autocast');
  if (node.maybeSchema()?.arguments.some(({ isWrite }) => isWrite) !== false) return;
  if (reducing.has(kind)) reduce(node, context);
  else if (widening.has(kind) || (promoting.has(kind) && mayMeetFloat32(node))) widen(node, context);
  else if (wideningByDefault.has(kind) && !hasDtype(node)) {
    // Only GPUs have softmax in full precision.
    widen(node, kind === 'aten::softmax' ? { ...context, cpu: false } : context);
  }
}

function replaceByTrue(node: Node): void {
  const graph = node.owningGraph;
  const yes = graph.withInsertPoint(node, () => graph.insertConstant(true));
  node.output().replaceAllUsesWith(yes);
}

const hasDtype = (node: Node): boolean => node.hasNamedInput('dtype') && !node.namedInput('dtype').mustBeNone();

/** Whether an operand is float32, or of a dtype that is known when the program runs. */
function mayMeetFloat32(node: Node): boolean {
  return node.inputs.some(({ type }) => type instanceof TensorType && (type.scalarType ?? 'float32') === 'float32');
}

function reduce(node: Node, { cuda, cpu, cudaType, cpuType }: AutocastContext): void {
  castTensors(node, 'aten::_autocast_to_reduced_precision', [cuda, cpu, cudaType, cpuType]);
}

function widen(node: Node, { cuda, cpu }: AutocastContext): void {
  if (cuda || cpu) castTensors(node, 'aten::_autocast_to_full_precision', [cuda, cpu]);
}

function castTensors(node: Node, kind: string, settings: readonly (boolean | bigint)[]): void {
  const tensors = new Set(
    node.inputs.filter(({ type, node: maker }) => type instanceof TensorType && maker.kind !== kind),
  );
  if (tensors.size === 0 || !mayChange('autocast', node)) return;
  const graph = node.owningGraph;
  graph.withInsertPoint(node, () => {
    for (const tensor of tensors) {
      const arguments_ = settings.map((setting) => graph.insertConstant(setting));
      const cast = graph.insertNode(graph.create(kind, [tensor, ...arguments_]).copyMetadata(node)).output();
      node.replaceInputWith(tensor, cast.setType(TensorType.get()));
    }
  });
}
