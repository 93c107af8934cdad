import { IntType, invariant, type Block, Graph, type Node, type Value } from '@cresset/ir';
import { poolConstants } from '../cleanup/constant-pooling.ts';
import { eraseShapeInformation } from '../shape-analysis/propagate-input-shapes.ts';
import { liveValuesAt } from './liveness.ts';

/**
 * Puts a `prim::BailOut` in the place of every `prim::Guard`. Its inputs are the graph as it was (`prim::BailoutTemplate`), the guarded
 * tensor, the trip counts of the loops around, innermost first, and whatever else is needed from there to the end (PyTorch: InsertBailOuts).
 */
export function insertBailOuts(graph: Graph): void {
  const live = liveValuesAt(graph, 'prim::Guard');
  const guards = [...graph.allNodes()].filter(({ kind }) => kind === 'prim::Guard');
  const bailOuts = guards.map((guard, index) => {
    const counts = tripCountsAround(guard);
    const first = new Set([guard.input(), ...counts]);
    const others = [...live.get(guard)!].filter((value) => !first.has(value) && value.node.kind !== 'prim::Constant');
    others.sort((left, right) => left.unique - right.unique);
    return graph.create('prim::BailOut', [...first, ...others]).setI('index', index);
  });
  // What a later one carries may be the result of an earlier one.
  guards.forEach((guard, at) => {
    const bailOut = bailOuts[at].insertAfter(guard);
    bailOut.output().setType(guard.output().type);
    guard.output().replaceAllUsesWith(bailOut.output());
    guard.destroy();
  });
  if (bailOuts.length === 0) return;
  const template = graph.create('prim::BailoutTemplate').setG('Subgraph', graph.copy());
  template.output().setType(IntType.get());
  graph.prependNode(template);
  for (const bailOut of bailOuts) bailOut.insertInput(0, template.output());
}

/** The trip counts of the loops that a node stands in. */
function tripCountsAround(node: Node): Value[] {
  const counts: Value[] = [];
  for (let owner = node.owningBlock.owningNode; owner !== undefined; owner = owner.owningBlock.owningNode) {
    if (owner.kind === 'prim::Loop') counts.push(owner.blocks[0].inputs[0]);
  }
  return counts;
}

/**
 * What is left to do when the guard of a `prim::BailOut` fails, as a graph over the inputs of that node but the template: the rest of its
 * block, the trips that are left of the loops around, and what follows, without any guards (PyTorch: BuildBailOutGraphFrom).
 *
 * @param template the graph of the `prim::BailoutTemplate`
 */
export function bailoutGraph(template: Graph, index: bigint): Graph {
  for (const node of template.allNodes()) {
    if (node.kind === 'prim::BailOut' && node.i('index') === index) return new BailoutGraphBuilder(node).build();
  }
  throw new Error(`the template has no prim::BailOut ${index}`);
}

class BailoutGraphBuilder {
  readonly #graph = new Graph();
  /** What stands for the values of the template. */
  readonly #copies = new Map<Value, Value>();

  constructor(private readonly bailOut: Node) {
    for (const input of bailOut.inputs) {
      this.#copies.set(input, this.#graph.addInput().copyMetadata(input));
    }
  }

  build(): Graph {
    this.#continueFrom(this.bailOut);
    for (const output of this.bailOut.owningGraph.outputs) this.#graph.registerOutput(this.#copyOf(output));
    removeBailOuts(this.#graph.block);
    // What was seen holds under the guards, which are gone.
    eraseShapeInformation(this.#graph);
    poolConstants(this.#graph);
    return this.#graph;
  }

  #copyOf(value: Value): Value {
    const known = this.#copies.get(value);
    if (known) return known;
    invariant(value.node.kind === 'prim::Constant', `a bailout needs %${value.debugName}, which is not carried`);
    const constant = this.#graph.prependNode(this.#graph.createClone(value.node, (input) => input)).output();
    this.#copies.set(value, constant);
    return constant;
  }

  /** Everything from `first` to the end of its block, then what follows the block. */
  #continueFrom(first: Node): void {
    const block = first.owningBlock;
    for (let node = first; node !== block.returnNode; node = node.next) this.#append(node);
    const owner = block.owningNode;
    if (owner?.kind === 'prim::Loop') this.#continueLoop(owner, block);
    else if (owner) this.#continueAfterIf(owner, block);
  }

  #append(node: Node): void {
    const copy = this.#graph.appendNode(this.#graph.createClone(node, (value) => this.#copyOf(value)));
    node.outputs.forEach((output, at) => this.#copies.set(output, copy.output(at)));
  }

  #continueAfterIf(owner: Node, branch: Block): void {
    branch.outputs.forEach((output, at) => this.#copies.set(owner.output(at), this.#copyOf(output)));
    this.#continueFrom(owner.next);
  }

  /** The trips that are left begin with what this one gives; their count goes on from it. */
  #continueLoop(loop: Node, body: Block): void {
    const graph = this.#graph;
    const [maxTripCount] = loop.inputs;
    const done = graph.insertConstant(1n);
    const trip = this.#copyOf(body.inputs[0]);
    const begun = graph.insert('aten::add', [trip, done]);
    const left = graph.insert('aten::sub', [this.#copyOf(maxTripCount), begun]);
    const carried = body.outputs.map((output) => this.#copyOf(output));
    const rest = graph.create('prim::Loop', [left, ...carried], loop.outputs.length);
    const inner = rest.addBlock();
    const count = inner.addInput();
    count.setType(IntType.get());
    graph.appendNode(rest);
    const copies = new Map<Value, Value>();
    graph.withInsertPoint(inner, () => copies.set(body.inputs[0], graph.insert('aten::add', [count, begun])));
    for (const input of body.inputs.slice(1)) copies.set(input, inner.addInput().copyMetadata(input));
    const map = (value: Value): Value => copies.get(value) ?? this.#copyOf(value);
    for (const node of body.nodes()) {
      const copy = inner.appendNode(graph.createClone(node, map));
      node.outputs.forEach((output, at) => copies.set(output, copy.output(at)));
    }
    for (const output of body.outputs) inner.registerOutput(map(output));
    loop.outputs.forEach((output, at) => this.#copies.set(output, rest.output(at).copyMetadata(output)));
    this.#continueFrom(loop.next);
  }
}

function removeBailOuts(block: Block): void {
  for (const node of block.nodes()) {
    node.blocks.forEach(removeBailOuts);
    if (node.kind !== 'prim::BailOut') continue;
    node.output().replaceAllUsesWith(node.input(0));
    node.destroy();
  }
}
