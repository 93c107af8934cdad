import { AliasDb, type Block, type Graph, type Node, unifyTypes } from '@cresset/ir';
import type { ConstantEvaluator } from '../../cleanup/constant-propagation.ts';
import { refineTupleType } from '../../cleanup/refine-tuple-types.ts';
import { ShapeFunctions } from './shape-functions.ts';
import { propagateShapesWithFunction } from './shape-node-analyzer.ts';

/**
 * Finds the sizes of results by operators' shape functions (PyTorch: PropagateShapesOnGraph). A size that is not known has a name, which
 * is the same wherever it is the same size. Loops are left alone.
 *
 * @param evaluate runs operators on ints.
 */
export function propagateShapes(graph: Graph, evaluate: ConstantEvaluator): void {
  new ShapePropagator(AliasDb.of(graph), evaluate).block(graph.block);
}

class ShapePropagator {
  readonly #functions: ShapeFunctions;

  constructor(
    private readonly aliasDb: AliasDb,
    private readonly evaluate: ConstantEvaluator,
  ) {
    this.#functions = new ShapeFunctions(evaluate);
  }

  block(block: Block): void {
    for (const node of block.nodes()) this.#node(node);
  }

  #node(node: Node): void {
    if (node.kind === 'prim::If') {
      this.#if(node);
    } else if (node.kind === 'prim::TupleConstruct') {
      refineTupleType(node);
    } else {
      const shapeFunction = this.#functions.graphFor(node);
      if (shapeFunction) propagateShapesWithFunction(node, shapeFunction, this.aliasDb, this.evaluate);
    }
  }

  #if(node: Node): void {
    const [then, otherwise] = node.blocks;
    this.block(then);
    this.block(otherwise);
    node.outputs.forEach((output, index) => {
      const merged = unifyTypes(then.outputs[index].type, otherwise.outputs[index].type, true);
      if (merged) output.setType(merged);
    });
  }
}
