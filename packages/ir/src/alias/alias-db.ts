import { type AliasAnalysisOptions, type AliasFacts, analyzeAliases } from './alias-analysis.ts';
import { dumpAliasFacts } from './alias-dump.ts';
import type { Block } from '../graph/block.ts';
import { directlyWritten, runsUnseenCode } from './direct-writes.ts';
import { CressetError } from '../error.ts';
import type { Graph } from '../graph/graph.ts';
import { jitLog, speaks } from '../jit-options.ts';
import { type MemoryElement, MemoryLocations } from './memory-dag.ts';
import { MutableTypes } from '../types/mutable-types.ts';
import type { Node } from '../graph/node.ts';
import { tryMove } from '../graph/topological-move.ts';
import type { Type } from '../types/type.ts';
import { unshapedType } from '../types/union-type.ts';
import type { Value } from '../graph/value.ts';
import { WrittenTypes } from './written-types.ts';

/** Whether somebody wants to see every analysis: then each pass makes its own, as in PyTorch. */
const isLogged = (): boolean => speaks('DEBUG', 'alias_analysis');

/**
 * Says which values of a graph may share memory and which nodes write to them, so that passes can move, merge and remove
 * nodes without changing what the program does (PyTorch: AliasDb). Answers err on the side of "may".
 *
 * It describes the graph as it was when this was made. Moving nodes keeps it valid; so does replacing values, where it is
 * told so ({@link replaceWithNewValue}, {@link copyValue}, {@link createValue}).
 */
export class AliasDb {
  readonly graph: Graph;
  readonly #options: AliasAnalysisOptions;
  readonly #isLazy: boolean;
  #known: AliasFacts | undefined;
  #writtenLocations: MemoryLocations | undefined;
  #writtenTypes: WrittenTypes | undefined;
  readonly #writersIn = new Map<Block, readonly Node[]>();

  /** @param isLazy whether the analysis waits for the first question that needs it ({@link lazily}) */
  constructor(graph: Graph, options: AliasAnalysisOptions = {}, isLazy = false) {
    this.graph = graph;
    this.#options = options;
    this.#isLazy = isLazy;
    if (!isLazy) this.#analyze();
  }

  /** That of a graph as it is: the last one that was made, where it is of this graph and nothing has changed since. */
  static of(graph: Graph): AliasDb {
    const last = lastMade?.deref();
    if (last?.graph === graph && last.#known?.isCurrent() && !isLogged()) return last;
    const made = new AliasDb(graph);
    lastMade = new WeakRef(made);
    return made;
  }

  /**
   * As {@link of}, for passes of which few graphs have anything to ask: each question is answered by what the types of what is written tell, as
   * long as they do, and the analysis is made for the first that they do not. It then describes the graph as it is at that time, and holds as
   * long as no node is put in that writes.
   */
  static lazily(graph: Graph): AliasDb {
    return new AliasDb(graph, {}, !isLogged());
  }

  #analyze(): AliasFacts {
    if (this.#isLazy) return (this.#known = AliasDb.of(this.graph).#facts);
    const facts = (this.#known = analyzeAliases(this.graph, this.#options));
    jitLog('DEBUG', 'alias_analysis', () => this.dump());
    return facts;
  }

  get #facts(): AliasFacts {
    return this.#known ?? this.#analyze();
  }

  /** All locations that any node writes to. */
  get #written(): MemoryLocations {
    if (!this.#writtenLocations) {
      const written = (this.#writtenLocations = new MemoryLocations());
      for (const writes of this.#facts.writes.values()) written.addAll(writes);
    }
    return this.#writtenLocations;
  }

  /** What types tell, which is asked first where the analysis may wait. */
  get #types(): WrittenTypes | undefined {
    return this.#isLazy ? (this.#writtenTypes ??= new WrittenTypes(this.graph)) : undefined;
  }

  /** The graph, what its values point to and hold, and what its nodes write to, as text (PyTorch: toString). */
  dump(): string {
    return dumpAliasFacts(this.graph, this.#facts);
  }

  /** Whether values of a type can be written to, or hold such values. */
  static isMutableType(type: Type): boolean {
    return new MutableTypes().isMutable(type);
  }

  #isMutable(value: Value): boolean {
    return this.#facts.mutableTypes.isMutable(value.type);
  }

  /** The element of a mutable value; throws `IR_INVARIANT` for a value that came into the graph later. */
  #elementOf(value: Value): MemoryElement {
    const element = this.#facts.elements.get(value);
    if (element === undefined) {
      throw new CressetError('IR_INVARIANT', `the AliasDb does not know of %${value.debugName}`);
    }
    return element;
  }

  #elementsOf(values: Iterable<Value>): MemoryElement[] {
    return Array.from(values)
      .filter((value) => this.#isMutable(value))
      .map((value) => this.#elementOf(value));
  }

  // ---- aliases

  /** Whether two values, or any two of two groups, may share a memory location. */
  mayAlias(left: Value | Iterable<Value>, right: Value | Iterable<Value>): boolean {
    const rights = this.#elementsOf(asGroup(right));
    return this.#elementsOf(asGroup(left)).some((element) =>
      rights.some((other) => this.#facts.dag.mayAlias(element, other)),
    );
  }

  /** As {@link mayAlias}, and also whether one may hold what the other is or holds. */
  mayContainAlias(left: Value | Iterable<Value>, right: Value | Iterable<Value>): boolean {
    const rights = this.#elementsOf(asGroup(right));
    return this.#elementsOf(asGroup(left)).some((element) =>
      rights.some((other) => this.#facts.dag.mayContainAlias(element, other)),
    );
  }

  /** Whether a value may be something of which nothing is known: an input, or what came out of a container. */
  mayAliasWildcard(value: Value): boolean {
    const wildcard = this.#facts.wildcardOf(value.type);
    return wildcard !== undefined && this.#facts.dag.mayAlias(this.#elementOf(value), wildcard);
  }

  /** Whether any of the values can be reached from outside the graph: by an input, an output or a wildcard. */
  escapesScope(values: readonly Value[]): boolean {
    return (
      this.mayContainAlias(this.graph.inputs, values) ||
      this.mayContainAlias(this.graph.outputs, values) ||
      values.some((value) => this.mayAliasWildcard(value))
    );
  }

  /** Whether nothing would notice if values of the two groups began, or ceased, to share memory. */
  safeToChangeAliasingRelationship(left: readonly Value[], right: readonly Value[]): boolean {
    if ([...left, ...right].some((value) => this.hasWriters(value))) {
      return false;
    }
    return !(this.escapesScope(left) && this.escapesScope(right));
  }

  // ---- writes

  /** Whether any node writes to the value, or to an input or output of the node. */
  hasWriters(of: Value | Node): boolean {
    const told = this.#types?.tell(of);
    if (told !== undefined) return told;
    if ('inputs' in of) {
      return this.hasInputWriters(of) || this.hasOutputWriters(of);
    }
    const element = of.mustBeNone() ? undefined : this.#facts.elements.get(of);
    return element !== undefined && this.#written.intersects(this.#facts.dag.locationsOf(element));
  }

  /** As {@link hasWriters}, as far as a look at types tells: false is certain. */
  mayHaveWriters(of: Value | Node): boolean {
    return this.#types?.mayHaveWriters(of) ?? this.hasWriters(of);
  }

  /**
   * As {@link hasWriters}, also of what is within the containers that the node is given or gives: an operator reads the tensors of its list. Of `prim`
   * kinds none does, which hand on objects and lists as they are.
   */
  hasWritersWithin(node: Node): boolean {
    if (node.kind.startsWith('prim::')) return this.hasWriters(node);
    if (this.#types?.mayHaveWritersWithin(node) === false) return false;
    return [...node.inputs, ...node.outputs].some((value) => {
      const element = value.mustBeNone() ? undefined : this.#facts.elements.get(value);
      return element !== undefined && this.#written.intersects(this.#facts.dag.allContainedLocationsOf(element));
    });
  }

  hasInputWriters(node: Node): boolean {
    return node.inputs.some((input) => this.hasWriters(input));
  }

  hasOutputWriters(node: Node): boolean {
    return node.outputs.some((output) => this.hasWriters(output));
  }

  /** Whether a node writes to one of its inputs. */
  isMutable(node: Node): boolean {
    return this.writesToAlias(node, node.inputs);
  }

  /** Whether a node, or one in its blocks, writes to an alias of one of the values. */
  writesToAlias(node: Node, values: Iterable<Value>): boolean {
    const writes = this.writesOf(node);
    if (writes.isEmpty) {
      return false;
    }
    for (const value of values) {
      const locations = this.locationsOf(value);
      if (locations !== undefined && writes.intersects(locations)) {
        return true;
      }
    }
    return false;
  }

  /** Whether a node itself writes to something that may be anything: it must be neither removed nor changed. */
  writesToWildcard(node: Node): boolean {
    const writes = this.#facts.writes.get(node);
    return writes !== undefined && this.#facts.wildcards.some(({ index }) => writes.has(index));
  }

  /** The locations that a value may stand for; undefined where it is not mutable. */
  locationsOf(value: Value): MemoryLocations | undefined {
    const element = this.#facts.elements.get(value);
    return element && this.#facts.dag.locationsOf(element);
  }

  /** As {@link locationsOf}, with those of all that the value may hold, to any depth. */
  locationsWithin(value: Value): MemoryLocations | undefined {
    const element = this.#facts.elements.get(value);
    return element && this.#facts.dag.allContainedLocationsOf(element);
  }

  /** The locations a node, or one in its blocks, writes to. */
  writesOf(node: Node): MemoryLocations {
    const own = this.#facts.writes.get(node);
    if (node.blocks.length === 0) {
      return own ?? NOWHERE;
    }
    const writes = new MemoryLocations();
    forEachWithin(node, (inner) => {
      const innerWrites = this.#facts.writes.get(inner);
      if (innerWrites !== undefined) {
        writes.addAll(innerWrites);
      }
    });
    return writes;
  }

  /** The locations a node, or one in its blocks, may read, those within containers among them. */
  readsOf(node: Node): MemoryLocations {
    const reads = new MemoryLocations();
    forEachWithin(node, (inner) => {
      for (const input of inner.inputs) {
        const element = this.#facts.elements.get(input);
        if (element !== undefined) {
          reads.addAll(this.#facts.dag.allContainedLocationsOf(element));
        }
      }
    });
    return reads;
  }

  // ---- moving nodes

  /**
   * Moves a node right after another of its block, and nodes between them as need be. Returns false, having changed nothing,
   * where that would change what the program does.
   */
  moveAfterTopologicallyValid(node: Node, point: Node): boolean {
    return tryMove(node, point, 'after', this, false);
  }

  /** As {@link moveAfterTopologicallyValid}, to the place right before another node. */
  moveBeforeTopologicallyValid(node: Node, point: Node): boolean {
    return tryMove(node, point, 'before', this, false);
  }

  couldMoveAfterTopologically(node: Node, point: Node): boolean {
    return tryMove(node, point, 'after', this, true);
  }

  couldMoveBeforeTopologically(node: Node, point: Node): boolean {
    return tryMove(node, point, 'before', this, true);
  }

  /**
   * Whether a node without side effects would do the same right before a later node of its block as where it stands: nothing between them writes to what
   * it reads, what its containers hold among it, or looks at what it writes to. Who uses its outputs is the caller's affair.
   */
  mayWaitUntil(node: Node, point: Node): boolean {
    const writesNothing = directlyWritten(node)?.length === 0 && node.blocks.length === 0;
    const between = (other: Node): boolean => other.isAfter(node) && other.isBefore(point);
    const passed = this.#writersOf(node.owningBlock).filter(between);
    if (passed.some(runsUnseenCode)) return false;
    if (writesNothing && passed.length === 0) return true;
    const reads = this.readsOf(node);
    if (passed.some((writer) => this.writesOf(writer).intersects(reads))) return false;
    if (writesNothing) return true;
    const writes = this.writesOf(node);
    return ![...node.owningBlock.nodes()].some((other) => between(other) && this.readsOf(other).intersects(writes));
  }

  /** The nodes of a block that, or a node within which, may write to something. */
  #writersOf(block: Block): readonly Node[] {
    let writers = this.#writersIn.get(block);
    if (!writers) this.#writersIn.set(block, (writers = [...block.nodes()].filter(mayWrite)));
    return writers;
  }

  // ---- keeping it valid while the graph changes

  /** Gives what is known of a value to another of the same type, which takes its place. */
  replaceWithNewValue(existing: Value, replacement: Value): void {
    requireSameType(existing, replacement);
    if (this.#isMutable(existing)) {
      const element = this.#elementOf(existing);
      this.#facts.elements.delete(existing);
      this.#facts.elements.set(replacement, element);
      element.standFor(replacement);
    }
  }

  /** Gives what is known of a value to another of the same type beside it. */
  copyValue(from: Value, to: Value): void {
    requireSameType(from, to);
    if (this.#isMutable(to)) {
      const element = this.#elementOf(from);
      this.#facts.elements.set(to, element);
      element.standForToo(to);
    }
  }

  /** Takes up a new value that aliases nothing else. */
  createValue(value: Value): void {
    if (this.#isMutable(value)) {
      this.#facts.elements.set(value, this.#facts.dag.makeFreshElement(value));
    }
  }
}

/** Where most nodes write. */
const NOWHERE = new MemoryLocations();

/** Passes that change nothing ask one after the other what the one before has asked. */
let lastMade: WeakRef<AliasDb> | undefined;

/** Whether a node, or one in its blocks, may write to something. */
const mayWrite = (node: Node): boolean =>
  runsUnseenCode(node) ||
  directlyWritten(node)?.length !== 0 ||
  node.blocks.some((block) => [...block.nodes()].some(mayWrite));

function asGroup(values: Value | Iterable<Value>): Iterable<Value> {
  return Symbol.iterator in values ? values : [values];
}

function forEachWithin(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const block of node.blocks) {
    for (const inner of block.nodes()) {
      forEachWithin(inner, visit);
    }
  }
}

function requireSameType(left: Value, right: Value): void {
  if (!unshapedType(left.type).equals(unshapedType(right.type))) {
    throw new CressetError(
      'IR_INVARIANT',
      `Types must be strictly equal if you are replacing aliasing information. Got existing: '${left.type.reprStr()}', new_value: '${right.type.reprStr()}'`,
    );
  }
}
