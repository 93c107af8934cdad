import {
  AliasDb,
  isFromOutside,
  isNew,
  isOnlyRead,
  logGraph,
  mayChange,
  type Block,
  type Graph,
  type Node,
} from '@cresset/ir';
import { involvesMutable, isMutableType } from '../mutation/mutable-type.ts';
import { nodeKey } from './node-key.ts';

/** How the log calls this file. */
const LOG = 'common_subexpression_elimination';

/** Replaces a node that computes what an earlier one did by that one (PyTorch: EliminateCommonSubexpression). */
export function eliminateCommonSubexpressions(graph: Graph): boolean {
  logGraph(LOG, graph);
  return new CommonSubexpressionEliminator(graph).run(graph.block, () => undefined);
}

type Lookup = (key: string) => Node | undefined;

class CommonSubexpressionEliminator {
  /** Most of what is shared are constants. */
  readonly #aliasDb: AliasDb;

  constructor(private readonly graph: Graph) {
    this.#aliasDb = AliasDb.lazily(graph);
  }

  run(block: Block, inParents: Lookup): boolean {
    const known = new Map<string, Node>();
    const lookup: Lookup = (key) => known.get(key) ?? inParents(key);
    let changed = false;
    for (const node of block.nodes()) {
      if (node.kind !== 'prim::Constant' && (node.hasSideEffects() || node.isNondeterministic())) continue;
      if (node.blocks.length > 0) {
        for (const inner of node.blocks) changed = this.run(inner, lookup) || changed;
        continue;
      }
      const key = nodeKey(node);
      if (key === null) continue;
      const existing = inParents(key) ?? known.get(key);
      if (!existing) {
        known.set(key, node);
      } else if (this.#hasWriters(node)) {
        continue;
      } else if (this.#hasWriters(existing)) {
        // Of what equals it, the first that nobody writes to is the one to share.
        known.set(key, node);
      } else if (this.#mayShare(node, existing, block) && mayChange(LOG, node, existing)) {
        node.replaceAllUsesWith(existing);
        node.destroy();
        changed = true;
      }
    }
    return changed;
  }

  /** Whether anything is written to that it reads or gives, the tensors of lists among it (PyTorch looks at lists alone). */
  #hasWriters(node: Node): boolean {
    return involvesMutable(node) && this.#aliasDb.hasWritersWithin(node);
  }

  /** Two outputs of the graph are two values to whoever gets them; across blocks, so is whatever lives longer than the graph. */
  #mayShare(node: Node, existing: Node, block: Block): boolean {
    if (!node.outputs.some(({ type }) => isMutableType(type))) return true;
    // What comes out of an object or a tuple lives longer than the graph.
    if (existing.owningBlock !== block && node.outputs.every(isFromOutside)) return false;
    return existing.owningBlock === block
      ? !(this.#isInOutput(node) && this.#isInOutput(existing))
      : this.#aliasDb.safeToChangeAliasingRelationship(node.outputs, existing.outputs);
  }

  #isInOutput(node: Node): boolean {
    const { outputs, returnNode } = this.graph;
    // Most programs give what is new and theirs: then who has it can be seen.
    if (outputs.every((output) => !isMutableType(output.type) || (isNew(output) && isOnlyRead(output, returnNode)))) {
      return outputs.some((output) => output.node === node && isMutableType(output.type));
    }
    return this.#aliasDb.mayContainAlias(node.outputs, outputs);
  }
}
