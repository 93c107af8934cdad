import {
  AliasDb,
  constantValue,
  ListType,
  logGraph,
  NumberType,
  TensorType,
  type Block,
  type Graph,
  type Node,
} from '@cresset/ir';

/** A guard moves as far as it can in as many rounds. */
const MAX_ROUNDS = 5;

/**
 * Leaves as few guards as there have to be: they are moved to where their tensors are defined, those of one tensor become one, and those
 * of results that follow from guarded inputs go (PyTorch: EliminateRedundantGuards).
 */
export function eliminateRedundantGuards(graph: Graph): void {
  const aliasDb = AliasDb.of(graph);
  for (let round = 0; round < MAX_ROUNDS && moveGuardsToDefinitions(graph.block, aliasDb); round++);
  coalesceGuards(graph.block);
  removeDominatedGuards(graph.block, aliasDb);
  removeGuardsOfDeterminedResults(graph.block);
  logGraph('guard_elimination', graph);
}

function moveGuardsToDefinitions(block: Block, aliasDb: AliasDb): boolean {
  let changed = false;
  // A guard that has moved back is not met again on the way.
  const nodes = [...block.nodes()];
  for (const node of nodes) {
    if (node.kind !== 'prim::Guard') {
      for (const inner of node.blocks) changed = moveGuardsToDefinitions(inner, aliasDb) || changed;
      continue;
    }
    const { node: maker } = node.input();
    // Out of a block, a guard would run where the block does not.
    const isMadeHere = maker.owningBlock === block && maker !== block.paramNode;
    const first = block.paramNode.next;
    if (isMadeHere ? isBehind(node, maker) : isBehind(node, block.paramNode)) continue;
    const moved = isMadeHere
      ? aliasDb.moveAfterTopologicallyValid(node, maker)
      : aliasDb.moveBeforeTopologicallyValid(node, first);
    changed = moved || changed;
  }
  return changed;
}

/** Whether nothing but guards and constants stands between a guard and what it could follow. */
function isBehind(guard: Node, place: Node): boolean {
  let node = guard.previous;
  while (node !== place && (node.kind === 'prim::Guard' || node.kind === 'prim::Constant')) node = node.previous;
  return node === place;
}

/** Guards that follow each other are in any order: of two for one tensor the later goes. */
function coalesceGuards(block: Block): void {
  const guards = new Map<unknown, Node>();
  for (const node of block.nodes()) {
    if (node.kind === 'prim::Guard') {
      const earlier = guards.get(node.input());
      if (!earlier) guards.set(node.input(), node);
      else if (earlier.output().type.equals(node.output().type)) {
        node.output().replaceAllUsesWith(earlier.output());
        node.destroy();
      }
    } else if (node.kind !== 'prim::Constant') {
      guards.clear();
      node.blocks.forEach(coalesceGuards);
    }
  }
}

/** A tensor that nothing writes to is guarded once for all that comes after. */
function removeDominatedGuards(block: Block, aliasDb: AliasDb): void {
  for (const node of block.nodes()) {
    if (node.kind !== 'prim::Guard') {
      node.blocks.forEach((inner) => removeDominatedGuards(inner, aliasDb));
      continue;
    }
    if (aliasDb.hasWriters(node.input())) continue;
    for (const { user } of node.input().uses.slice()) {
      const isSame = user !== node && user.kind === 'prim::Guard' && user.output().type.equals(node.output().type);
      if (!isSame || !user.isDominatedBy(node)) continue;
      user.output().replaceAllUsesWith(node.output());
      user.destroy();
    }
  }
}

function removeGuardsOfDeterminedResults(block: Block): void {
  for (const node of block.reverseNodes()) {
    node.blocks.forEach(removeGuardsOfDeterminedResults);
    if (node.kind !== 'prim::Guard' || !followsItsInput(node) || !isDetermined(node.input().node)) continue;
    const input = node.input();
    const { type } = node.output();
    node.output().replaceAllUsesWith(input);
    input.setType(type);
    node.destroy();
  }
}

/** Nothing stands between a tensor and its guard that could make it another one. */
function followsItsInput(guard: Node): boolean {
  const { node: maker } = guard.input();
  if (maker.owningBlock !== guard.owningBlock) return false;
  let node = guard;
  while (node !== maker) {
    if (node.kind !== 'prim::Guard' && node.kind !== 'prim::Constant') return false;
    if (node === guard.owningBlock.paramNode) return false;
    node = node.previous;
  }
  return true;
}

/** Operators whose result is of a type that follows from the types of their tensors, be their numbers what they may. */
const POINTWISE: ReadonlySet<string> = new Set(
  `add sub mul div t sigmoid sin cos tan sinh cosh tanh asin acos atan atan2 floor fmod ceil trunc sqrt rsqrt remainder mm min max
  type_as ge gt lt le eq ne neg size abs sign pow relu threshold rand_like erf erfc exp expm1 log log2 log10 frac lerp lgamma
  reciprocal addcmul where _cast_Float _cast_Long __and__ __or__ __xor__ __lshift__ __rshift__ bitwise_not bitwise_and bitwise_or
  bitwise_xor`
    .split(/\s+/)
    .map((name) => `aten::${name}`),
);

/** Inputs that may be anything; the others are guarded tensors or constants. */
const FREE_INPUTS: Readonly<Record<string, readonly number[]>> = {
  'aten::softmax': [1],
  'aten::multinomial': [2, 3],
  'aten::flatten': [],
  'aten::argmax': [],
  'aten::squeeze': [],
  'aten::avg_pool2d': [],
  'aten::conv1d': [2, 6],
  'aten::conv2d': [2, 6],
  'aten::conv3d': [2, 6],
  'aten::clamp': [1, 2],
};

/** Their first input is a guarded tensor, all others are constants. */
const WITH_CONSTANTS: ReadonlySet<string> = new Set([
  'aten::slice',
  'aten::max_pool1d',
  'aten::max_pool2d',
  'aten::max_pool3d',
  'aten::unsqueeze',
]);

/** Whether the types of a node's results follow from what is guarded (PyTorch: removableGuard). */
function isDetermined(node: Node): boolean {
  if (node.kind === 'prim::Guard') return true;
  if (POINTWISE.has(node.kind)) return node.outputs.length === 1 && inputsAreKnown(node, [], true);
  if (node.kind in FREE_INPUTS) return inputsAreKnown(node, FREE_INPUTS[node.kind], node.kind === 'aten::softmax');
  if (WITH_CONSTANTS.has(node.kind)) {
    const [tensor, ...numbers] = node.inputs;
    const isKnown = tensor.type instanceof TensorType && !tensor.type.isSummarized();
    return isKnown && numbers.every((input) => constantValue(input) !== undefined);
  }
  const list = node.inputs[0]?.node;
  switch (node.kind) {
    case 'aten::cat':
      return (
        constantValue(node.input(1)) !== undefined &&
        list.kind === 'prim::ListConstruct' &&
        node.previous === list &&
        inputsAreKnown(list, [], false)
      );
    case 'prim::ListUnpack':
      return list.kind === 'aten::chunk' && inputsAreKnown(list, [], false);
    case 'aten::broadcast_tensors':
      return list.kind === 'prim::ListConstruct' && inputsAreKnown(list, [], false);
    default:
      return false;
  }
}

/** Whether every input is a guarded tensor of which all is known, or a constant (PyTorch: checkInputs). */
function inputsAreKnown(node: Node, free: readonly number[], numbersToo: boolean): boolean {
  return node.inputs.every(({ type, node: maker }, at) => {
    if (free.includes(at) || maker.kind === 'prim::Constant') return true;
    if (maker.kind === 'prim::Guard') return type instanceof TensorType && !type.isSummarized();
    return numbersToo && !(type instanceof ListType) && type.isSubtypeOf(NumberType.get());
  });
}
