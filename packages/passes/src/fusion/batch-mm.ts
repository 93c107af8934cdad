import {
  AliasDb,
  type Block,
  constantValue,
  type Graph,
  logGraph,
  mayChange,
  type Node,
  type Value,
} from '@cresset/ir';
import { eliminateDeadWrites } from '../cleanup/dead-code-elimination.ts';
import { peepholeOptimize } from '../peephole/peephole-optimize.ts';

const PRODUCT = 'aten::mm';
/** Sums of at least so many products become one product. */
const MIN_TREE_SIZE = 4;
/** So many products with one factor in common become one. */
const MIN_SIDE_COUNT = 8;

/**
 * Joins matrix products: sums of them into `prim::MMTreeReduce`, those that share a factor into `prim::MMBatchSide`. In a graph with
 * in-place operators none are joined. Whatever has a product is then swept (PyTorch: BatchMM). Both are put in terms of products by
 * `decomposeOps`.
 */
export function batchMm(graph: Graph): boolean {
  if (!graph.kinds.has(PRODUCT)) return false;
  let products = 0;
  let isMutable = false;
  for (const node of graph.allNodes()) {
    if (node.kind.startsWith('aten::') && node.maybeSchema()?.isMutable === true) isMutable = true;
    if (isProduct(node)) products++;
  }
  if (products === 0) return false;
  // Fewer than that are no tree, and have no side in common often enough.
  if (products >= MIN_TREE_SIZE && !isMutable) {
    const aliasDb = AliasDb.of(graph);
    reduceTrees(graph.block, aliasDb);
    batchSides(graph.block, aliasDb);
  }
  // What took products in leaves them unused. Where products were transposed, transpositions may have come together.
  const changed = eliminateDeadWrites(graph);
  peepholeOptimize(graph, { disableShapes: true });
  logGraph('batch_mm', graph);
  return changed;
}

/** A sum of products, or one: the node at its root, which is part of no larger tree while `isRoot` holds. */
interface Tree {
  readonly size: number;
  readonly node: Node;
  isRoot: boolean;
}

function isProduct(node: Node): boolean {
  return node.kind === PRODUCT;
}

function reduceTrees(block: Block, aliasDb: AliasDb): void {
  const trees = new Map<Node, Tree>();
  for (const node of block.nodes()) {
    const tree = aliasDb.hasWriters(node) ? undefined : treeOf(node, trees);
    if (tree) trees.set(node, tree);
    else for (const inner of node.blocks) reduceTrees(inner, aliasDb);
  }
  for (const { isRoot, size, node } of trees.values()) {
    if (!isRoot || size < MIN_TREE_SIZE || !mayChange('batch_mm', node)) continue;
    const products = gatherProducts(node);
    const graph = node.owningGraph;
    const factors = [...products.map((product) => product.input(0)), ...products.map((product) => product.input(1))];
    const reduced = graph.create('prim::MMTreeReduce', factors).insertBefore(node);
    node.output().replaceAllUsesWith(reduced.output());
  }
}

function treeOf(node: Node, trees: ReadonlyMap<Node, Tree>): Tree | undefined {
  if (isProduct(node)) return { size: 1, node, isRoot: true };
  if (node.kind === 'aten::t') {
    const inner = trees.get(node.input().node);
    if (!inner || !isProduct(inner.node)) return undefined;
    inner.isRoot = false;
    return { size: 1, node, isRoot: true };
  }
  if (node.kind !== 'aten::add' || node.maybeSchema()?.overloadName !== 'Tensor') return undefined;
  const alpha = constantValue(node.input(2));
  const [left, right] = node.inputs.map((input) => trees.get(input.node));
  if ((alpha !== 1n && alpha !== 1) || !left || !right || left === right) return undefined;
  // What something else uses too has to be computed by itself anyway.
  const areOwn = [left, right].every((tree) => tree.isRoot && tree.node.output().uses.length === 1);
  if (!areOwn) return undefined;
  left.isRoot = right.isRoot = false;
  return { size: left.size + right.size, node, isRoot: true };
}

/** The products of a tree, transposed ones as products of the transposed factors. */
function gatherProducts(root: Node): Node[] {
  const products: Node[] = [];
  const pending = [root];
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (isProduct(node)) products.push(node);
    else if (node.kind === 'aten::t') products.push(transposedProduct(node));
    else pending.push(node.input(0).node, node.input(1).node);
  }
  return products;
}

function transposedProduct(transposition: Node): Node {
  const product = transposition.input().node;
  const graph = product.owningGraph;
  return graph.withInsertPoint(product, () => {
    const [left, right] = product.inputs.map((factor) => graph.insert('aten::t', [factor]));
    const result = graph.insert('aten::mm', [right, left]);
    transposition.output().replaceAllUsesWith(result);
    return result.node;
  });
}

function batchSides(block: Block, aliasDb: AliasDb): void {
  const seen = new Set<Value>();
  for (const node of block.nodes()) {
    if (!isProduct(node) || aliasDb.hasWriters(node)) {
      for (const inner of node.blocks) batchSides(inner, aliasDb);
      continue;
    }
    for (const factor of node.inputs) {
      if (seen.has(factor)) continue;
      seen.add(factor);
      for (const side of [0, 1]) {
        const products = independentProducts(factor, side, aliasDb);
        if (products.length >= MIN_SIDE_COUNT && mayChange('batch_mm', node)) batchSide(products, side, aliasDb);
      }
    }
  }
}

/** Products that have a value on one side and can be computed together. */
function independentProducts(factor: Value, side: number, aliasDb: AliasDb): Node[] {
  const users = factor.uses
    .filter(({ user, offset }) => offset === side && isProduct(user) && user.input(1 - side) !== factor)
    .map(({ user }) => user)
    .filter((user) => user.owningBlock === factor.node.owningBlock && !aliasDb.hasWriters(user))
    .sort((a, b) => (a.isBefore(b) ? -1 : 1));
  const independent: Node[] = [];
  for (const user of users) {
    if (independent.every((earlier) => aliasDb.couldMoveBeforeTopologically(user, earlier))) independent.push(user);
  }
  return independent;
}

function batchSide(products: readonly Node[], side: number, aliasDb: AliasDb): void {
  for (let index = products.length - 2; index >= 0; index--) {
    aliasDb.moveBeforeTopologicallyValid(products[index], products[index + 1]);
  }
  const [first] = products;
  const others = products.map((product) => product.input(1 - side));
  const batch = first.owningGraph
    .create('prim::MMBatchSide', [first.input(side), ...others], products.length)
    .insertBefore(first)
    .setI('side', BigInt(side));
  products.forEach((product, index) => product.output().replaceAllUsesWith(batch.output(index)));
}
