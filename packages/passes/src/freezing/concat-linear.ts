import { AliasDb, type Block, type Graph, logGraph, mayChange, type Node, TensorType, type Value } from '@cresset/ir';
import { List, type Tensor } from '@cresset/tensor';
import type { ConstantEvaluator } from '../cleanup/constant-propagation.ts';
import { arithmeticIn, type ConstantArithmetic, hasConstantParameters, tensorParameter } from './frozen-layers.ts';

/**
 * Makes linear layers that take the same input and have constant weights and biases one, and slices its result (PyTorch: FrozenConcatLinear, which
 * leaves weights alone that are not on CUDA).
 */
export function concatFrozenLinear(graph: Graph, evaluate: ConstantEvaluator): boolean {
  const changed = new LinearJoiner(graph, arithmeticIn(graph, evaluate)).block(graph.block);
  logGraph('frozen_concat_linear', graph);
  return changed;
}

/** A layer with its parameters. */
interface ConstantLinear {
  readonly node: Node;
  readonly weight: Tensor;
  readonly bias: Tensor;
}

class LinearJoiner {
  readonly #graph: Graph;
  readonly #compute: ConstantArithmetic;
  #aliasDb: AliasDb | undefined;

  constructor(graph: Graph, compute: ConstantArithmetic) {
    this.#graph = graph;
    this.#compute = compute;
  }

  block(block: Block): boolean {
    let changed = false;
    const layersOf = new Map<Value, ConstantLinear[]>();
    for (const node of block.nodes()) {
      for (const inner of node.blocks) changed = this.block(inner) || changed;
      const layer = constantLinear(node);
      if (!layer) continue;
      const [input] = node.inputs;
      layersOf.set(input, [...(layersOf.get(input) ?? []), layer]);
    }
    // From the last input to the first, so that what AliasDb knows of the nodes before stays true.
    for (const layers of [...layersOf.values()].reverse()) changed = this.#joinAmong(layers) || changed;
    return changed;
  }

  #joinAmong(layers: readonly ConstantLinear[]): boolean {
    let changed = false;
    const done = new Set<ConstantLinear>();
    for (const [index, first] of layers.entries()) {
      if (done.has(first)) continue;
      const group = [first];
      for (const layer of layers.slice(index + 1)) {
        if (done.has(layer) || !areAlike(first, layer) || !this.#canMoveBefore(layer, group)) continue;
        group.push(layer);
        done.add(layer);
      }
      if (group.length > 1 && mayChange('frozen_concat_linear', first.node)) changed = this.#join(group) || changed;
    }
    return changed;
  }

  #canMoveBefore(layer: ConstantLinear, group: readonly ConstantLinear[]): boolean {
    this.#aliasDb ??= AliasDb.of(this.#graph);
    return group.every(({ node }) => this.#aliasDb!.couldMoveBeforeTopologically(layer.node, node));
  }

  #join(group: readonly ConstantLinear[]): boolean {
    const graph = this.#graph;
    const [{ node: first }] = group;
    return graph.withInsertPoint(first, () => {
      const rows = (tensors: Tensor[]): Tensor | null =>
        this.#compute('aten::cat', new List(TensorType.get(), tensors), 0n);
      const weight = rows(group.map((layer) => layer.weight));
      const bias = rows(group.map((layer) => layer.bias));
      if (!weight || !bias) return false;
      const parameters = [graph.insertConstant(weight), graph.insertConstant(bias)];
      const joined = graph.insertNode(graph.create('aten::linear', [first.input(0), ...parameters]));
      graph.setInsertPoint(joined);
      const last = graph.insertConstant(-1n);
      const step = graph.insertConstant(1n);
      let begin = 0;
      let beginValue = graph.insertConstant(0n);
      for (const layer of group) {
        begin += layer.weight.sizes[0];
        const end = graph.insertConstant(BigInt(begin));
        const slice = graph.create('aten::slice', [joined.output(), last, beginValue, end, step]).insertAfter(joined);
        layer.node.output().replaceAllUsesWith(slice.output());
        layer.node.destroy();
        beginValue = end;
      }
      return true;
    });
  }
}

function constantLinear(node: Node): ConstantLinear | null {
  if (node.kind !== 'aten::linear' || !hasConstantParameters(node)) return null;
  const [weight, bias] = [tensorParameter(node, 'weight'), tensorParameter(node, 'bias')];
  return weight?.sizes.length === 2 && bias ? { node, weight, bias } : null;
}

/** Whether the rows of two layers can be those of one. */
function areAlike(left: ConstantLinear, right: ConstantLinear): boolean {
  return (
    left.weight.dtype === right.weight.dtype &&
    left.bias.dtype === right.bias.dtype &&
    left.bias.sizes.length === right.bias.sizes.length &&
    left.weight.sizes[1] === right.weight.sizes[1]
  );
}
