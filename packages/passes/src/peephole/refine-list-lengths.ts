import { AliasDb, type Block, type Graph, ListType, type Node, type Value } from '@cresset/ir';
import { comparisonWithConstant, type Refinements, ValueRefinements } from '../cleanup/value-refinements.ts';
import { peepholeListIdioms } from './peephole-list-idioms.ts';

/** As {@link peepholeListIdioms}, and lengths that comparisons have found (PyTorch: PeepholeOptimizeListIdioms with `refine_list_len`). */
export function peepholeListIdiomsAndLengths(graph: Graph): boolean {
  const changed = peepholeListIdioms(graph);
  return refineListLengths(graph) || changed;
}

/**
 * Puts constants in the place of lengths of lists that a comparison has found, for lists that nothing writes to (PyTorch:
 * ListLenRefiner).
 */
function refineListLengths(graph: Graph): boolean {
  const asked = new Map<Value, number>();
  for (const { kind, inputs } of graph.allNodes()) {
    const [list] = inputs;
    if (kind === 'aten::len' && list.type instanceof ListType) asked.set(list, (asked.get(list) ?? 0) + 1);
  }
  const severalTimes = [...asked].flatMap(([list, times]) => (times > 1 ? [list] : []));
  if (severalTimes.length === 0) return false;
  const aliasDb = AliasDb.of(graph);
  const fixed = severalTimes.filter((list) => !aliasDb.hasWriters(list));
  return fixed.length > 0 && new ListLengthRefiner(new Set(fixed)).run(graph);
}

class ListLengthRefiner {
  readonly #refinements = new ValueRefinements();
  #changed = false;

  constructor(private readonly lists: ReadonlySet<Value>) {}

  run(graph: Graph): boolean {
    this.#block(graph.block, new Map());
    return this.#changed;
  }

  #block(block: Block, inherited: Refinements): Refinements {
    return this.#refinements.within(inherited, (known) => {
      for (const node of block.nodes()) this.#node(node, known);
    });
  }

  #node(node: Node, known: Refinements): void {
    const comparisons = comparisonWithConstant(node);
    if (comparisons.length > 0) {
      for (const { subject, constant } of comparisons) {
        const length = subject.node;
        if (length.kind !== 'aten::len' || !this.lists.has(length.input())) continue;
        this.#refinements.noteComparison(node, length.input(), constant);
      }
    } else if (node.kind === 'aten::len') {
      const length = this.#refinements.find(node.input(0));
      if (length === undefined) return;
      const graph = node.owningGraph;
      node.output().replaceAllUsesWith(graph.withInsertPoint(node, () => graph.insertConstant(length)));
      this.#changed = true;
    } else if (node.kind === 'prim::If') {
      const [whenTrue, whenFalse] = this.#refinements.branchesOf(node);
      const ends = [this.#block(node.blocks[0], whenTrue), this.#block(node.blocks[1], whenFalse)] as const;
      this.#refinements.join(node, known, ends);
    } else {
      this.#refinements.noteNode(node);
    }
  }
}
