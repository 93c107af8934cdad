import type { Block } from '../graph/block.ts';
import { directlyWritten, isNew, isOnlyRead } from './direct-writes.ts';
import type { Graph } from '../graph/graph.ts';
import { MutableTypes } from '../types/mutable-types.ts';
import type { Node } from '../graph/node.ts';
import type { Type } from '../types/type.ts';
import type { Value } from '../graph/value.ts';

/** Of two types of these kinds, a value of one is never one of the other. Of all others, it may be. */
const PLAIN_KINDS: ReadonlySet<Type['kind']> = new Set(['TensorType', 'ListType', 'DictType', 'ClassType']);

/**
 * The types of what a graph writes to, which takes one look at each node: enough for an `AliasDb` to deny for most values that anybody writes to
 * them, before it makes an element for each value.
 *
 * Holds as long as no node is put in that writes.
 */
export class WrittenTypes {
  readonly #mutableTypes = new MutableTypes();
  /** Null where a node may write to anything. */
  #written: Set<Type> | null = new Set();
  /** Values that nodes write to by name. */
  readonly #named = new Set<Value>();

  constructor(private readonly graph: Graph) {
    this.#look(graph.block);
  }

  /** Whether any node writes to the value, or to an input or output of the node; undefined where types do not tell. */
  tell(of: Value | Node): boolean | undefined {
    if (!this.mayHaveWriters(of)) return false;
    if ('inputs' in of ? of.inputs.some((input) => this.#named.has(input)) : this.#named.has(of)) return true;
    const values = 'inputs' in of ? [...of.inputs, ...of.outputs] : [of];
    return values.every((value) => !this.#isWritten(value.type) || this.#isNobodyElses(value)) ? false : undefined;
  }

  /** Whether anything is written to of the type of the value, or of an input or output of the node. */
  mayHaveWriters(of: Value | Node): boolean {
    if (this.#written?.size === 0) return false;
    return 'inputs' in of
      ? of.inputs.some(({ type }) => this.#isWritten(type)) || of.outputs.some(({ type }) => this.#isWritten(type))
      : this.#isWritten(of.type);
  }

  /** As {@link mayHaveWriters}, also of the type of what is within containers. */
  mayHaveWritersWithin({ inputs, outputs }: Node): boolean {
    if (this.#written?.size === 0) return false;
    return [...inputs, ...outputs].some(({ type }) => this.#mayBeWrittenWithin(type));
  }

  #mayBeWrittenWithin(type: Type): boolean {
    if (this.#isWritten(type)) return true;
    // What an object holds, and of which type, is told by its class alone.
    if (type.kind === 'ClassType' || type.kind === 'InterfaceType') return this.#mutableTypes.isMutable(type);
    return type.containedTypes().some((contained) => this.#mayBeWrittenWithin(contained));
  }

  /** Whether a value is new where it is made, and nothing that may write to it has it. */
  #isNobodyElses(value: Value): boolean {
    return isNew(value) && isOnlyRead(value, this.graph.returnNode);
  }

  #isWritten(type: Type): boolean {
    const types = this.#mutableTypes.aliasTypeSet(type);
    if (types === undefined || this.#written === null) return types !== undefined;
    for (const other of this.#written) if (types.some((one) => mayAlias(one, other))) return true;
    return false;
  }

  #look(block: Block): void {
    for (const node of block.nodes()) {
      const values = directlyWritten(node);
      if (values === null) this.#written = null;
      else for (const value of values) this.#note(value);
      if (this.#written === null) return;
      for (const inner of node.blocks) this.#look(inner);
    }
  }

  #note(value: Value): void {
    if (this.#mutableTypes.isMutable(value.type)) this.#named.add(value);
    this.#noteType(value.type);
  }

  /** Where a list is written to, its elements may be meant. */
  #noteType(type: Type): void {
    for (const one of this.#mutableTypes.aliasTypeSet(type) ?? []) {
      this.#written?.add(one);
      if (one.kind === 'ListType') one.containedTypes().forEach((contained) => this.#noteType(contained));
    }
  }
}

function mayAlias(left: Type, right: Type): boolean {
  if (!PLAIN_KINDS.has(left.kind) || !PLAIN_KINDS.has(right.kind)) return true;
  return left.kind === right.kind && (left.kind !== 'ClassType' || left.equals(right));
}
