import {
  AliasDb,
  type Block,
  constantValue,
  type Graph,
  isNew,
  logGraph,
  mayChange,
  type Node,
  operatorsFor,
  readsOnly,
  type Value,
} from '@cresset/ir';
import { rowOf } from '../fusion/fusable.ts';

/** How the log calls this file. */
const LOG = 'remove_mutation';

/**
 * Takes writes to lists and tensors out of a graph where nothing else can see them: `append` to a list that is being made becomes an
 * element of it, an in-place operator its out-of-place form (PyTorch: RemoveListMutation and RemoveTensorMutation).
 * As there only tensors count for what it answers: whether it changed anything.
 */
export function removeMutation(graph: Graph): boolean {
  removeListMutation(graph);
  return removeTensorMutation(graph);
}

/** Makes what is appended to, or set in, a list that is being made an element of it (PyTorch: RemoveListMutation). */
export function removeListMutation(graph: Graph): boolean {
  const changed =
    EXTENSIONS.some((kind) => graph.kinds.has(kind)) && new MutationRemover(graph).removeListMutation(graph.block);
  logGraph(LOG, graph);
  return changed;
}

export interface TensorMutationOptions {
  /** In-place operators that may go; all of them unless given. */
  readonly filter?: (node: Node) => boolean;
  /**
   * For graphs whose dtypes are not known: only pointwise operators go, and what takes their place is marked to give the dtype and
   * shape of its first input, as a write does ({@link isFunctionalized}). The written tensor may then have been read before.
   */
  readonly keepTypes?: boolean;
}

/** Gives in-place operators on tensors that are new at their place their out-of-place form (PyTorch: RemoveTensorMutation). */
export function removeTensorMutation(graph: Graph, options: TensorMutationOptions = {}): boolean {
  let hasInPlace = false;
  for (const kind of graph.kinds) hasInPlace ||= kind.endsWith('_');
  const changed = hasInPlace && new MutationRemover(graph, options).removeTensorMutation(graph.block);
  logGraph(LOG, graph);
  return changed;
}

const mark = 'functionalized';

/** Whether a node stands for an operator in place: its result has the dtype and the shape of its first input. */
export function isFunctionalized(node: Node): boolean {
  return node.hasAttribute(mark);
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
  /** Whether the list mutations that it knows of are fewer by now. */
  #isStale = false;

  constructor(
    private readonly graph: Graph,
    private readonly options: TensorMutationOptions = {},
  ) {}

  get #db(): AliasDb {
    return (this.#aliasDb ??= AliasDb.of(this.graph));
  }

  removeListMutation(block: Block): boolean {
    let changed = false;
    for (const node of block.nodes()) {
      for (const inner of node.blocks) changed = this.removeListMutation(inner) || changed;
      if (!extendsNewList(node) || !this.#listBecomesAtomic(node.input(0), node) || !mayChange(LOG, node)) continue;
      const list = node.input(0);
      if (node.kind === 'aten::append') list.node.addInput(node.input(1));
      else if (!changeNewList(list.node, node)) continue;
      for (const output of node.outputs) output.replaceAllUsesWith(list);
      node.destroy();
      this.#isStale = true;
      changed = true;
    }
    return changed;
  }

  removeTensorMutation(block: Block): boolean {
    let changed = false;
    for (const node of block.nodes()) {
      for (const inner of node.blocks) changed = this.removeTensorMutation(inner) || changed;
      const target = node.inputs[0];
      if (target === undefined || !this.#mayGo(node) || !this.#isNewAt(target, node) || !mayChange(LOG, node)) continue;
      const functional = outOfPlace(node, this.options.keepTypes === true);
      if (!functional) continue;
      if (this.options.keepTypes) functional.setI(mark, 1n);
      target.replaceAllUsesAfterNodeWith(node, functional.output());
      node.output().replaceAllUsesWith(functional.output());
      node.destroy();
      this.#aliasDb = null;
      changed = true;
    }
    return changed;
  }

  #mayGo(node: Node): boolean {
    if (this.options.filter && !this.options.filter(node)) return false;
    return this.options.keepTypes ? isPointwiseInPlace(node) : this.#isInPlace(node);
  }

  /** Whether nobody but who comes after `writer` can see what it writes to `value`. */
  #isNewAt(value: Value, writer: Node): boolean {
    if (this.options.keepTypes) return isOnlyReadBefore(value, writer);
    return this.#becomesAtomic(value, writer) || this.#ifBecomesAtomic(value, writer);
  }

  /** Whether nothing else has the value, and its making can be moved to where it is written. Moves it. */
  #becomesAtomic(value: Value, writer: Node): boolean {
    return !hasSideEffectOrAlias(value, this.#db) && this.#db.moveBeforeTopologicallyValid(value.node, writer);
  }

  /**
   * The same for a list that loses a write: what was known of it until then is still true, only more than needed, so it is asked for anew
   * no sooner than it says no. Otherwise every `append` of a long list would cost the analysis of the whole graph.
   */
  #listBecomesAtomic(list: Value, writer: Node): boolean {
    if (this.#becomesAtomic(list, writer)) return true;
    if (!this.#isStale) return false;
    this.#aliasDb = null;
    this.#isStale = false;
    return this.#becomesAtomic(list, writer);
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

/** @param keepsTypes the operator itself is wanted, which is pointwise: `fill` and not `full_like`. */
function outOfPlace(node: Node, keepsTypes: boolean): Node | null {
  const graph = node.owningGraph;
  const isSpecial = !keepsTypes && specialForms.get(node.kind)?.(node) === true;
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
  const derivedFrom = rowOf(node)?.derived?.from;
  if (derivedFrom ? rowOf(made) === derivedFrom : made.maybeOperator()) return made;
  made.destroy();
  return null;
}

const EXTENSIONS: readonly string[] = ['aten::append', 'aten::insert', 'aten::_set_item'];

function extendsNewList(node: Node): boolean {
  if (!EXTENSIONS.includes(node.kind) || node.input(0).node.kind !== 'prim::ListConstruct') return false;
  return node.kind === 'aten::append' || typeof constantValue(node.input(1)) === 'bigint';
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

function isPointwiseInPlace(node: Node): boolean {
  const derived = rowOf(node)?.derived;
  return derived?.form === 'in-place' && derived.from.pointwise !== undefined;
}

/** Whether a value is new in this block and what used it before cannot have kept it. */
function isOnlyReadBefore(value: Value, writer: Node): boolean {
  if (!isNew(value) || value.node.owningBlock !== writer.owningBlock) return false;
  return value.uses.every((use) => use.user.isAfter(writer) || use.user === writer || readsOnly(use));
}
