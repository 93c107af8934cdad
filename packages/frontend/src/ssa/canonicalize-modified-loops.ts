import { constantValue, IntType, type Block, type Graph, type Node } from '@cresset/ir';
import { insertOperator } from '../emission/operator-node.ts';

const INT64_MAX = 2n ** 63n - 1n;

/**
 * Turns loops with both a trip count and a condition, `for` loops with a `break`, into `while` loops that count, so that Python text can be
 * printed of them (PyTorch: CanonicalizeModifiedLoops).
 */
export function canonicalizeModifiedLoops(graph: Graph): void {
  canonicalizeBlock(graph.block);
}

function canonicalizeBlock(block: Block): void {
  for (const node of Array.from(block.nodes())) {
    node.blocks.forEach(canonicalizeBlock);
    if (node.kind === 'prim::Loop' && isModifiedLoop(node)) {
      canonicalizeLoop(node);
    }
  }
}

/** Neither a plain `for`, whose conditions are always true, nor a plain `while`, whose trip count has no end. */
function isModifiedLoop(loop: Node): boolean {
  const body = loop.blocks[0]!;
  const isAlwaysTrue = constantValue(loop.input(1)) === true && constantValue(body.outputs[0]!) === true;
  const counts = constantValue(loop.input(0)) !== INT64_MAX || body.inputs[0]!.hasUses();
  return !isAlwaysTrue && counts;
}

function canonicalizeLoop(loop: Node): void {
  const graph = loop.owningGraph;
  const range = loop.sourceRange;
  const body = loop.blocks[0]!;
  const tripCount = loop.input(0);
  const startCondition = loop.input(1);
  const [zero, one] = graph.withInsertPoint(loop, () => {
    const constants = [graph.insertConstant(0n), graph.insertConstant(1n)] as const;
    let condition = insertOperator(graph, 'aten::gt', [tripCount, constants[0]], range);
    loop.replaceInput(0, graph.insertConstant(INT64_MAX));
    if (constantValue(startCondition) !== true) {
      condition = insertOperator(graph, 'aten::__and__', [condition, startCondition], range);
    }
    loop.replaceInput(1, condition);
    return constants;
  });
  loop.addOutput().setType(IntType.get());
  loop.addInput(zero);
  graph.withInsertPoint(body, () => {
    const iteration = body.addInput().setType(IntType.get());
    body.inputs[0]!.setDebugName('').replaceAllUsesWith(iteration);
    const next = insertOperator(graph, 'aten::add', [iteration, one], range);
    body.registerOutput(next);
    const isWithinCount = insertOperator(graph, 'aten::lt', [next, tripCount], range);
    const condition = insertOperator(graph, 'aten::__and__', [isWithinCount, body.outputs[0]!], range);
    body.replaceOutput(0, condition);
  });
}
