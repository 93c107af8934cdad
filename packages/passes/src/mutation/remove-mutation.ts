import { AliasDb, type Block, constantValue, type Graph, type Node, operatorsFor, type Value } from '@cresset/ir';

/**
 * Takes writes to lists and tensors out of a graph where nothing else can see them: `append` to a list that is being made becomes an
 * element of it, an in-place operator its out-of-place form (PyTorch: RemoveListMutation and RemoveTensorMutation). The runtime's own
 * pass, removeTensorMutation, asks less and does less.
 */
export function removeMutation(graph: Graph): boolean {
  const remover = new MutationRemover(graph, () => true);
  const lists = remover.removeListMutation(graph.block);
  return remover.removeTensorMutation(graph.block) || lists;
}

/** As {@link removeMutation}, for lists only (PyTorch: RemoveListMutation). */
export function removeListMutation(graph: Graph): boolean {
  return new MutationRemover(graph, () => false).removeListMutation(graph.block);
}

/** As {@link removeMutation}, for in-place operators on tensors that `filter` accepts (PyTorch: RemoveTensorMutation). */
export function removeMutationOf(graph: Graph, filter: (node: Node) => boolean): boolean {
  return new MutationRemover(graph, filter).removeTensorMutation(graph.block);
}

/** Whether `value` is, or may be or hold, something that was there before its node (PyTorch: hasSideEffectOrAlias). */
export function hasSideEffectOrAlias(value: Value, aliasDb: AliasDb): boolean {
  const { node } = value;
  const isUnknown =
    node.blocks.length > 0 || node.hasAttribute('Subgraph') || node.hasSideEffects() || node.kind === 'prim::Param';
  return isUnknown || (node.kind !== 'prim::ListConstruct' && aliasDb.mayContainAlias(node.inputs, value));
}

class MutationRemover {
  #aliasDb: AliasDb | null = null;

  constructor(
    private readonly graph: Graph,
    private readonly filter: (node: Node) => boolean,
  ) {}

  get #db(): AliasDb {
    return (this.#aliasDb ??= new AliasDb(this.graph));
  }

  removeListMutation(block: Block): boolean {
    let changed = false;
    for (const node of block.nodes()) {
      for (const inner of node.blocks) changed = this.removeListMutation(inner) || changed;
      if (!extendsNewList(node) || !this.#becomesAtomic(node.input(0), node)) continue;
      const list = node.input(0);
      if (node.kind === 'aten::append') list.node.addInput(node.input(1));
      else if (!changeNewList(list.node, node)) continue;
      for (const output of node.outputs) output.replaceAllUsesWith(list);
      node.destroy();
      this.#aliasDb = null;
      changed = true;
    }
    return changed;
  }

  removeTensorMutation(block: Block): boolean {
    let changed = false;
    for (const node of block.nodes()) {
      for (const inner of node.blocks) changed = this.removeTensorMutation(inner) || changed;
      if (!this.filter(node) || !this.#isInPlace(node)) continue;
      const target = node.input(0);
      if (!this.#becomesAtomic(target, node) && !this.#ifBecomesAtomic(target, node)) continue;
      const functional = outOfPlace(node);
      if (!functional) continue;
      target.replaceAllUsesAfterNodeWith(node, functional.output());
      node.output().replaceAllUsesWith(functional.output());
      node.destroy();
      this.#aliasDb = null;
      changed = true;
    }
    return changed;
  }

  /** Whether nothing else has the value, and its making can be moved to where it is written. Moves it. */
  #becomesAtomic(value: Value, writer: Node): boolean {
    return !hasSideEffectOrAlias(value, this.#db) && this.#db.moveBeforeTopologicallyValid(value.node, writer);
  }

  /** The same for the output of an If, both of whose branches make a new value. */
  #ifBecomesAtomic(value: Value, writer: Node): boolean {
    const { node } = value;
    if (node.kind !== 'prim::If') return false;
    const isNew = node.blocks.every((branch) => !hasSideEffectOrAlias(branch.outputs[value.offset], this.#db));
    return isNew && this.#db.moveBeforeTopologicallyValid(node, writer);
  }

  #isInPlace(node: Node): boolean {
    if (!node.kind.startsWith('aten::')) return false;
    if (specialForms.has(node.kind) && specialForms.get(node.kind)!(node)) return true;
    if (!node.kind.endsWith('_') || node.maybeOperator()?.aliasAnalysis !== 'from-schema') return false;
    if (node.outputs.length !== 1 || node.inputs.length === 0) return false;
    const [target, ...others] = node.inputs;
    if (!this.#db.writesToAlias(node, [target]) || this.#db.writesToAlias(node, others)) return false;
    return operatorsFor(node.kind.slice(0, -1)).length > 0;
  }
}

/** Operators whose out-of-place form is another operator. */
const specialForms: ReadonlyMap<string, (node: Node) => boolean> = new Map([
  ['aten::zero_', () => true],
  ['aten::fill_', (node: Node) => node.maybeSchema()?.overloadName === 'Scalar'],
]);

function outOfPlace(node: Node): Node | null {
  const graph = node.owningGraph;
  const isSpecial = specialForms.get(node.kind)?.(node) === true;
  if (isSpecial) {
    const kind = node.kind === 'aten::zero_' ? 'aten::zeros_like' : 'aten::full_like';
    const made = graph.withInsertPoint(node, () => {
      const [self, value] = node.inputs;
      if (value === undefined) return graph.insert(kind, [self]);
      // Otherwise the value would decide about the dtype.
      return graph.insert(kind, [self, value], { dtype: graph.insert('prim::dtype', [self]) });
    });
    return made.setType(node.output().type).node.copyMetadata(node);
  }
  const made = graph.create(node.kind.slice(0, -1), node.inputs).insertBefore(node).copyMetadata(node);
  made.output().setType(node.output().type);
  if (made.maybeOperator()) return made;
  made.destroy();
  return null;
}

function extendsNewList(node: Node): boolean {
  const isPlaced = node.kind === 'aten::insert' || node.kind === 'aten::_set_item';
  const isExtension = node.kind === 'aten::append' || (isPlaced && typeof constantValue(node.input(1)) === 'bigint');
  return isExtension && node.input(0).node.kind === 'prim::ListConstruct';
}

/** `insert` and `_set_item` at a known place; false where the list has no such place. */
function changeNewList(list: Node, { kind, inputs: [, index, value] }: Node): boolean {
  const size = list.inputs.length;
  const given = Number(constantValue(index));
  const position = given < 0 ? given + size : given;
  if (kind === 'aten::insert') {
    list.insertInput(Math.min(Math.max(position, 0), size), value);
    return true;
  }
  if (position < 0 || position >= size) return false;
  list.replaceInput(position, value);
  return true;
}
