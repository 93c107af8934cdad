import {
  AliasDb,
  type Block,
  constantValue,
  type Graph,
  ListType,
  mayChange,
  type Node,
  type Value,
} from '@cresset/ir';

/** How the log calls this file. */
const LOG = 'peephole_list_idioms';

/**
 * Looks into lists that are made in the graph and never written to: their length, elements and slices are known (PyTorch:
 * PeepholeOptimizeListIdioms).
 */
export function peepholeListIdioms(graph: Graph): boolean {
  return graph.kinds.has('prim::ListConstruct') && new ListIdioms(graph).run();
}

/** What reads a list's length or elements. */
const READERS: ReadonlySet<string> = new Set([
  'aten::len',
  'aten::__getitem__',
  'prim::ListUnpack',
  'aten::add',
  'aten::slice',
]);

class ListIdioms {
  /** Lists that are written to; looked for before anything is changed, where there is something to change. */
  #written: Set<Value> | null = null;

  readonly #writers: AliasDb;

  constructor(private readonly graph: Graph) {
    this.#writers = AliasDb.lazily(graph);
  }

  run(): boolean {
    return this.#runOn(this.graph.block);
  }

  #collectWritten(block: Block, aliasDb: AliasDb, written: Set<Value>): Set<Value> {
    const note = (value: Value): void => {
      if (value.type instanceof ListType && aliasDb.hasWriters(value)) written.add(value);
    };
    block.inputs.forEach(note);
    for (const node of block.nodes()) {
      node.outputs.forEach(note);
      for (const inner of node.blocks) this.#collectWritten(inner, aliasDb, written);
    }
    return written;
  }

  #runOn(block: Block): boolean {
    let changed = false;
    for (const node of block.nodes()) {
      for (const inner of node.blocks) changed = this.#runOn(inner) || changed;
      const list = node.inputs[0];
      if (list === undefined || !READERS.has(node.kind) || !this.#isKnown(list)) continue;
      changed = this.graph.withInsertPoint(node, () => this.#simplify(node, list.node.inputs)) || changed;
    }
    return changed;
  }

  /** Whether a value is a list of known elements for good. */
  #isKnown(value: Value): boolean {
    if (!(value.type instanceof ListType) || value.node.kind !== 'prim::ListConstruct') return false;
    if (!this.#writers.mayHaveWriters(value)) return true;
    this.#written ??= this.#collectWritten(this.graph.block, AliasDb.of(this.graph), new Set());
    return !this.#written.has(value);
  }

  #simplify(node: Node, elements: readonly Value[]): boolean {
    switch (node.kind) {
      case 'aten::len':
        if (!mayChange(LOG, node)) return false;
        node.output().replaceAllUsesWith(this.graph.insertConstant(BigInt(elements.length)));
        return true;
      case 'aten::__getitem__': {
        const index = constantValue(node.input(1));
        const element = typeof index === 'bigint' ? elementAt(elements, Number(index)) : undefined;
        if (!element || !mayChange(LOG, node)) return false;
        node.output().replaceAllUsesWith(element);
        return true;
      }
      case 'prim::ListUnpack':
        // Another number of elements is an error of the run.
        if (elements.length !== node.outputs.length || !mayChange(LOG, node)) return false;
        node.outputs.forEach((output, index) => output.replaceAllUsesWith(elements[index]));
        return true;
      case 'aten::add':
        return node.inputs.length === 2 && this.#isKnown(node.input(1))
          ? this.#replaceByList(node, [...elements, ...node.input(1).node.inputs])
          : false;
      case 'aten::slice':
        return this.#slice(node, elements);
      default:
        return false;
    }
  }

  #slice(node: Node, elements: readonly Value[]): boolean {
    if (node.inputs.length !== 4) return false;
    const bounds = node.inputs.slice(1).map((input) => (input.mustBeNone() ? null : constantValue(input)));
    if (!bounds.every((bound) => bound === null || typeof bound === 'bigint')) return false;
    const [start, end, step] = bounds.map((bound) => (bound === null ? null : Number(bound)));
    if ((step ?? 1) <= 0) return false;
    const clamp = (bound: number): number =>
      Math.min(Math.max(bound < 0 ? bound + elements.length : bound, 0), elements.length);
    const [from, to] = [clamp(start ?? 0), clamp(end ?? elements.length)];
    const chosen = elements.filter((_, index) => index >= from && index < to && (index - from) % (step ?? 1) === 0);
    return this.#replaceByList(node, chosen);
  }

  #replaceByList(node: Node, elements: readonly Value[]): boolean {
    if (!mayChange(LOG, node)) return false;
    const made = this.graph.insertNode(this.graph.create('prim::ListConstruct', elements));
    made.output().setType(node.output().type);
    node.output().replaceAllUsesWith(made.output());
    if (this.#written?.has(node.output())) this.#written.add(made.output());
    return true;
  }
}

function elementAt(elements: readonly Value[], index: number): Value | undefined {
  return index >= -elements.length && index < elements.length ? elements.at(index) : undefined;
}
