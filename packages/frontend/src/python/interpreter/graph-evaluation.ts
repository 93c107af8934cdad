import {
  GraphFunction,
  type Block,
  type FunctionType,
  type Graph,
  type Node,
  type NodeEvaluator,
  type Value,
} from '@cresset/ir';
import { fromByteString, Uninitialized, type IValue } from '@cresset/tensor';
import { literal } from '../../constant-evaluation.ts';
import { PythonError } from '../python-arithmetic.ts';

/**
 * Computes the outputs of a graph of operators on tensors of the host, node by node: what Python does when it calls them. Throws a PythonError
 * where the program raises, and for an operator that cannot be run.
 */
export function evaluateGraph(graph: Graph, inputs: readonly IValue[], evaluate: NodeEvaluator): readonly IValue[] {
  return new GraphEvaluation(evaluate).run(graph, inputs);
}

class GraphEvaluation {
  readonly #evaluate: NodeEvaluator;
  readonly #known = new Map<Value, IValue>();

  constructor(evaluate: NodeEvaluator) {
    this.#evaluate = evaluate;
  }

  run(graph: Graph, inputs: readonly IValue[]): readonly IValue[] {
    return this.#block(graph.block, inputs);
  }

  #block(block: Block, inputs: readonly IValue[]): readonly IValue[] {
    block.inputs.forEach((input, index) => this.#known.set(input, inputs[index]!));
    for (const node of block.nodes()) {
      this.#results(node)?.forEach((result, index) => this.#known.set(node.outputs[index]!, result));
    }
    return block.outputs.map((output) => this.#known.get(output) ?? null);
  }

  #results(node: Node): readonly IValue[] | null {
    if (node.kind === 'prim::Constant') return literal(node);
    const inputs = node.inputs.map((input) => this.#known.get(input) ?? null);
    switch (node.kind) {
      case 'prim::If':
        return this.#block(node.blocks[inputs[0] === true ? 0 : 1]!, []);
      case 'prim::Loop':
        return this.#loop(node, inputs);
      case 'prim::CallFunction': {
        const callee = (node.inputs[0]!.type as FunctionType).function;
        if (callee instanceof GraphFunction) return evaluateGraph(callee.graph, inputs.slice(1), this.#evaluate);
        break;
      }
      case 'prim::Uninitialized':
        return node.outputs.map(() => Uninitialized.value);
      case 'prim::RaiseException':
        throw new PythonError(fromByteString(String(inputs[0])), 'RuntimeError');
    }
    const results = this.#evaluate(node, inputs) as readonly IValue[] | null;
    if (results === null) throw new PythonError(`${node.kind} cannot be run here`, 'RuntimeError');
    return results;
  }

  #loop(node: Node, [most, start, ...first]: readonly IValue[]): readonly IValue[] {
    let carried: readonly IValue[] = first;
    let goesOn = start === true;
    for (let trip = 0n; goesOn && trip < (most as bigint); trip++) {
      const [next, ...values] = this.#block(node.blocks[0]!, [trip, ...carried]);
      goesOn = next === true;
      carried = values;
    }
    return carried;
  }
}
