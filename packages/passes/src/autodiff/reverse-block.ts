import { lowerTuplesInBlock } from '../cleanup/lower-tuples.ts';
import { inline } from '../cleanup/inliner.ts';
import { TensorType, type Block, type Graph, type Value } from '@cresset/ir';
import { insertGradientOf } from './gradient-of-node.ts';

/** The gradients of a graph's inputs, in a block that uses the graph's values and is in no graph yet. */
export interface Reverse {
  readonly block: Block;
  /** Gradients by the values they are of. */
  readonly gradients: Map<Value, Value>;
  /** Outputs and inputs of the graph whose gradients the block takes and gives. */
  readonly inputVjps: readonly number[];
  readonly outputVjps: readonly number[];
}

/** Writes the reverse of a graph, whose nodes become the forward graphs of their formulas (PyTorch: addReverseInline). */
export function buildReverse(graph: Graph): Reverse {
  const block = graph.create('prim::Reverse', [], 0).addBlock();
  const builder = new ReverseBuilder(graph, block);
  const vjps = graph.withInsertPoint(block, () => builder.build());
  inline(graph);
  return { block, gradients: builder.gradients, ...vjps };
}

class ReverseBuilder {
  readonly gradients = new Map<Value, Value>();

  constructor(
    private readonly graph: Graph,
    private readonly block: Block,
  ) {}

  build(): Pick<Reverse, 'inputVjps' | 'outputVjps'> {
    const inputVjps = this.#takeOutputGradients();
    for (let node = this.graph.returnNode.previous; node !== this.graph.paramNode; node = node.previous) {
      if (!node.outputs.some(requiresGrad)) continue;
      const results = insertGradientOf(
        node,
        node.outputs.map((output) => this.#gradientOf(output)),
      );
      lowerTuplesInBlock(this.block);
      results.forEach((gradient, index) => {
        const input = node.input(index);
        if (gradient && requiresGrad(input)) this.#add(input, gradient);
      });
    }
    return { inputVjps, outputVjps: this.#giveInputGradients() };
  }

  #takeOutputGradients(): readonly number[] {
    const taken: number[] = [];
    this.graph.outputs.forEach((output, index) => {
      if (!outputRequiresGrad(output)) return;
      this.#add(output, this.block.addInput().setType(output.type));
      taken.push(index);
    });
    return taken;
  }

  /** An input may require a gradient and have none: it is used where nothing is differentiated. */
  #giveInputGradients(): readonly number[] {
    const given: number[] = [];
    this.graph.inputs.forEach((input, index) => {
      const gradient = this.gradients.get(input);
      if (!gradient || !requiresGrad(input)) return;
      this.block.registerOutput(gradient);
      given.push(index);
    });
    return given;
  }

  #gradientOf(value: Value): Value {
    let gradient = this.gradients.get(value);
    if (!gradient) {
      gradient = this.graph.insertNode(this.graph.createAutogradZero()).output();
      this.gradients.set(value, gradient);
    }
    return gradient;
  }

  #add(value: Value, gradient: Value): void {
    const known = this.gradients.get(value);
    this.gradients.set(value, known ? createAutogradAdd(known, gradient) : gradient);
  }
}

/** A sum of gradients, either of which may be undefined and then is zero. */
function createAutogradAdd(a: Value, b: Value): Value {
  const graph = a.owningGraph;
  return graph.insertNode(graph.create('prim::AutogradAdd', [a, b])).output();
}

const requiresGrad = (value: Value): boolean => value.type.requiresGradMaybe();

/** Where nothing is known of a result, what was seen of it in a profiled run tells. */
function outputRequiresGrad(output: Value): boolean {
  const { type, node } = output;
  if (!(type instanceof TensorType)) return type.requiresGradMaybe();
  if (type.requiresGrad !== undefined) return type.requiresGrad;
  if (node.kind !== 'prim::profile' || !node.hasAttribute('profiled_type')) return true;
  return node.ty('profiled_type').requiresGradMaybe();
}
