import { invariant } from '../error.ts';
import type { Graph } from './graph.ts';
import { Node } from './node.ts';
import type { Type } from '../types/type.ts';
import type { Value } from './value.ts';

/** Maps a value of a graph that is copied to the value that stands for it in the copy. */
export type ValueMap = (value: Value) => Value;

/** A list of nodes with inputs and outputs: a graph's own, or one within a node such as `prim::If` (PyTorch: Block). */
export class Block {
  readonly owningGraph: Graph;
  /** The node it belongs to; undefined for a graph's own block. */
  readonly owningNode: Node | undefined;
  /** The node whose outputs are the block's inputs. */
  readonly paramNode: Node;
  /** The node whose inputs are the block's outputs; last in the list. */
  readonly returnNode: Node;
  #hasPositions = true;

  /** Made by {@link Node.addBlock} and Graph only. */
  constructor(graph: Graph, owningNode: Node | undefined) {
    this.owningGraph = graph;
    this.owningNode = owningNode;
    this.paramNode = new Node(graph, 'prim::Param');
    this.returnNode = new Node(graph, 'prim::Return');
    Node.linkEnds(this.paramNode, this.returnNode, this);
  }

  get inputs(): readonly Value[] {
    return this.paramNode.outputs;
  }

  get outputs(): readonly Value[] {
    return this.returnNode.inputs;
  }

  /**
   * The nodes in order, without the two ends. The list may be changed meanwhile: a node removed while it is visited does
   * not end the iteration, one inserted after the visited node is visited next.
   */
  nodes(): IterableIterator<Node> {
    return new Node.Iterator(this, this.paramNode, this.returnNode, true);
  }

  /** The nodes from last to first; the same freedom as {@link nodes}. */
  reverseNodes(): IterableIterator<Node> {
    return new Node.Iterator(this, this.returnNode, this.paramNode, false);
  }

  addInput(name = ''): Value {
    return this.paramNode.addOutput().setDebugName(name);
  }

  insertInput(index: number, name = ''): Value {
    return this.paramNode.insertOutput(index).setDebugName(name);
  }

  eraseInput(index: number): void {
    this.paramNode.eraseOutput(index);
  }

  permuteInputs(order: readonly number[]): void {
    this.paramNode.permuteOutputs(order);
  }

  /** Appends an output; returns its index (PyTorch: registerOutput). */
  registerOutput(value: Value): number {
    this.returnNode.addInput(value);
    return this.outputs.length - 1;
  }

  insertOutput(index: number, value: Value): void {
    this.returnNode.insertInput(index, value);
  }

  replaceOutput(index: number, value: Value): void {
    this.returnNode.replaceInput(index, value);
  }

  eraseOutput(index: number): void {
    this.returnNode.removeInput(index);
  }

  removeAllOutputs(): void {
    this.returnNode.removeAllInputs();
  }

  permuteOutputs(order: readonly number[]): void {
    this.returnNode.permuteInputs(order);
  }

  appendNode(node: Node): Node {
    return node.insertBefore(this.returnNode);
  }

  prependNode(node: Node): Node {
    return node.insertAfter(this.paramNode);
  }

  /** Whether it is, or lies within, a block of `node`. */
  isWithin(node: Node): boolean {
    for (let owner = this.owningNode; owner !== undefined; owner = owner.owningBlock.owningNode) {
      if (owner === node) {
        return true;
      }
    }
    return false;
  }

  /**
   * Appends copies of another block's inputs, nodes and outputs.
   *
   * @param outer maps the values that the source uses but does not define
   */
  cloneFrom(source: Block, outer: ValueMap): void {
    const copies = new Map<Value, Value>();
    const map: ValueMap = (value) => copies.get(value) ?? outer(value);
    for (const input of source.inputs) {
      copies.set(input, this.addInput().copyMetadata(input));
    }
    const graph = this.owningGraph;
    for (const node of source.nodes()) {
      const copy = this.appendNode(graph.createClone(node, map));
      node.outputs.forEach((output, index) => copies.set(output, copy.output(index).copyMetadata(output)));
    }
    for (const output of source.outputs) {
      this.registerOutput(map(output));
    }
  }

  /** Gives every value and every type attribute in it another type. */
  remapTypes(map: (type: Type) => Type): void {
    this.inputs.forEach((input) => input.setType(map(input.type)));
    for (const node of this.nodes()) {
      node.outputs.forEach((output) => output.setType(map(output.type)));
      node.blocks.forEach((block) => block.remapTypes(map));
      for (const name of node.attributeNames) {
        const attribute = node.attribute(name);
        if (attribute.kind === 'g') {
          attribute.value.remapTypes(map);
        } else if (attribute.kind === 'gs') {
          attribute.value.forEach((graph) => graph.remapTypes(map));
        } else if (attribute.kind === 'ty') {
          node.setTy(name, map(attribute.value));
        } else if (attribute.kind === 'tys') {
          node.setTys(name, attribute.value.map(map));
        }
      }
    }
  }

  /** Takes everything out of it. Throws `IR_INVARIANT` while a value of it is used outside. */
  clear(): void {
    this.removeAllOutputs();
    for (const node of this.reverseNodes()) {
      node.destroy();
    }
    this.paramNode.removeAllOutputs();
  }

  /** Bookkeeping of Node: its owner drops it. */
  destroy(): void {
    invariant(this.owningNode !== undefined, 'a graph keeps its own block');
    this.owningGraph.moveInsertPointOff(this.returnNode);
    this.clear();
    this.paramNode.destroy();
    this.returnNode.destroy();
  }

  /** Bookkeeping of Node: whether its nodes have positions to be compared. */
  get hasPositions(): boolean {
    return this.#hasPositions;
  }

  /** Bookkeeping of Node: positions have run out of room. Many nodes may be inserted before somebody asks for one. */
  forgetPositions(): void {
    this.#hasPositions = false;
  }

  /** Bookkeeping of Node: gives its nodes positions where they have none. */
  ensurePositions(): void {
    if (!this.#hasPositions) {
      this.#hasPositions = true;
      Node.assignPositions(this.nodes());
    }
  }
}
