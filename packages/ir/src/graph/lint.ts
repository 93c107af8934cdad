import type { Block } from './block.ts';
import { CressetError } from '../error.ts';
import type { Graph } from './graph.ts';
import type { Node } from './node.ts';
import type { Value } from './value.ts';

/**
 * Verifies a graph and the subgraphs in its attributes (PyTorch: Graph::lint). Throws `IR_LINT` with what is wrong:
 * a value used where it is not defined, uses and inputs that disagree, positions out of order, names that clash, blocks
 * of `prim::If` and `prim::Loop` of the wrong form.
 */
export function lint(graph: Graph): void {
  new Linter(graph).run();
}

class Linter {
  readonly #graph: Graph;
  readonly #names = new Map<string, Value>();
  /** How many inputs of the graph's nodes each value was found to be. */
  readonly #inputCounts = new Map<Value, number>();
  readonly #defined: Set<Value>[] = [];

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  run(): void {
    this.#block(this.#graph.block);
    for (const value of this.#names.values()) {
      // Nodes that are in no block (yet) may use values too.
      const uses = value.uses.filter((use) => use.user.inBlockList).length;
      const inputs = this.#inputCounts.get(value) ?? 0;
      this.#check(uses === inputs, value.node, `%${value.debugName} is input ${inputs} times and has ${uses} uses`);
    }
  }

  #check(condition: boolean, node: Node, message: string): void {
    if (!condition) {
      throw new CressetError('IR_LINT', `${node.kind}: ${message}`);
    }
  }

  #block(block: Block): void {
    const { paramNode, returnNode } = block;
    this.#defined.push(new Set());
    this.#check(paramNode.inputs.length === 0 && paramNode.blocks.length === 0, paramNode, 'it has inputs or blocks');
    this.#check(
      returnNode.outputs.length === 0 && returnNode.blocks.length === 0,
      returnNode,
      'it has outputs or blocks',
    );
    this.#outputs(paramNode);
    let previous = paramNode;
    for (let node = paramNode.next; node !== returnNode; node = node.next) {
      this.#check(
        node.inBlockList && node.owningBlock === block,
        node,
        'it is in the list of a block that is not its own',
      );
      this.#check(node.previous === previous, node, 'the list is not linked both ways');
      this.#check(previous.isBefore(node), node, 'its position is not after that of the node before it');
      previous = node;
      this.#node(node);
    }
    this.#check(returnNode.previous === previous, returnNode, 'the list is not linked both ways');
    this.#inputs(returnNode);
    this.#defined.pop();
  }

  #node(node: Node): void {
    this.#check(node.owningGraph === this.#graph, node, 'it belongs to another graph');
    this.#check(!node.isDestroyed, node, 'it was destroyed');
    this.#inputs(node);
    for (const block of node.blocks) {
      this.#check(
        block.owningNode === node && block.owningGraph === this.#graph,
        node,
        'a block belongs to another node',
      );
      this.#block(block);
    }
    this.#form(node);
    this.#outputs(node);
    for (const name of node.attributeNames) {
      const attribute = node.attribute(name);
      if (attribute.kind === 'g') {
        lint(attribute.value);
      } else if (attribute.kind === 'gs') {
        attribute.value.forEach(lint);
      }
    }
  }

  #inputs(node: Node): void {
    for (const input of node.inputs) {
      this.#check(input.owningGraph === this.#graph, node, `input %${input.debugName} belongs to another graph`);
      this.#check(
        this.#defined.some((scope) => scope.has(input)),
        node,
        `input %${input.debugName} is not in scope`,
      );
      this.#inputCounts.set(input, (this.#inputCounts.get(input) ?? 0) + 1);
    }
  }

  #outputs(node: Node): void {
    for (const [offset, output] of node.outputs.entries()) {
      this.#check(
        output.node === node && output.offset === offset,
        node,
        `output %${output.debugName} has another place`,
      );
      this.#check(!this.#names.has(output.debugName), node, `the name %${output.debugName} is given twice`);
      this.#names.set(output.debugName, output);
      this.#defined.at(-1)!.add(output);
      for (const use of output.uses) {
        this.#check(
          use.user.inputs[use.offset] === output,
          node,
          `a use of %${output.debugName} is no input of its user`,
        );
        this.#check(!use.user.isDestroyed, node, `%${output.debugName} is used by a node that was destroyed`);
      }
    }
  }

  #form(node: Node): void {
    const [first] = node.blocks;
    switch (node.kind) {
      case 'prim::If':
        this.#check(node.inputs.length === 1, node, 'it needs one input');
        for (const block of node.blocks) {
          this.#check(block.inputs.length === 0, node, 'a branch has inputs');
          this.#check(block.outputs.length === node.outputs.length, node, 'a branch has another number of outputs');
        }
        break;
      case 'prim::Loop':
        this.#check(
          node.blocks.length === 1 && node.inputs.length === node.outputs.length + 2,
          node,
          'inputs and outputs do not correspond',
        );
        this.#check(first.inputs.length === node.outputs.length + 1, node, 'the body has another number of inputs');
        this.#check(first.outputs.length === node.outputs.length + 1, node, 'the body has another number of outputs');
        break;
      case 'prim::Constant':
        this.#check(node.inputs.length === 0 && node.outputs.length === 1, node, 'it needs no input and one output');
        break;
      case 'prim::ListConstruct':
      case 'prim::DictConstruct':
      case 'prim::TupleConstruct': {
        const [output] = node.outputs;
        const type = `${node.kind.slice('prim::'.length, -'Construct'.length)}Type`;
        this.#check(output?.type.kind === type, node, `its output is no ${type}`);
        this.#check(type !== 'DictType' || node.inputs.length % 2 === 0, node, 'a key has no value');
        break;
      }
      case 'prim::Param':
      case 'prim::Return':
        this.#check(false, node, 'it stands among the nodes of a block');
        break;
      case 'prim::DifferentiableGraph':
      case 'prim::FusionGroup':
      case 'prim::TensorExprGroup': {
        const subgraph = node.g('Subgraph');
        this.#check(subgraph.inputs.length === node.inputs.length, node, 'its subgraph has another number of inputs');
        // Differentiation gives a subgraph further outputs: the values it captures.
        const mayCapture = node.kind === 'prim::DifferentiableGraph';
        const [inner, outer] = [subgraph.outputs.length, node.outputs.length];
        this.#check(mayCapture ? inner >= outer : inner === outer, node, 'its subgraph has another number of outputs');
        break;
      }
      default:
        break;
    }
  }
}
