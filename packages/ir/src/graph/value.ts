import { broken, CressetError, invariant } from '../error.ts';
import type { Graph } from './graph.ts';
import type { Node } from './node.ts';
import { NoneType } from '../types/primitive-types.ts';
import { TensorType } from '../types/tensor-type.ts';
import type { Type } from '../types/type.ts';

/** A place where a value is used: input number `offset` of `user`. A node using a value twice has two uses of it. */
export interface Use {
  readonly user: Node;
  readonly offset: number;
}

const PLAIN_NUMBER = /^\d+$/;

/** What only a value itself puts others in the place of. */
type Own = { type: Type; uses: readonly Use[] };

/** A value of a graph in SSA form: an output of one node, or an input of a block (PyTorch: Value). */
export class Value {
  readonly node: Node;
  /** Which output of its node it is. */
  offset: number;
  /** Number of this value within its graph; its name where it has no other. */
  readonly unique: number;
  // Plain fields, as a node's are.
  readonly type: Type = TensorType.get();
  readonly uses: readonly Use[] = [];
  #name = '';

  /** Made by {@link Node.addOutput} only. */
  constructor(node: Node, offset: number, unique: number) {
    this.node = node;
    this.offset = offset;
    this.unique = unique;
  }

  get owningGraph(): Graph {
    return this.node.owningGraph;
  }

  /** Returns this value, so that calls chain. */
  setType(type: Type): this {
    (this as Own).type = type;
    this.node.owningGraph.revision++;
    // A schema matched by the old type may not fit any more. Most values get their type before they are used.
    if (this.uses.length > 0) for (const { user } of this.uses) user.forgetOperator();
    return this;
  }

  hasUses(): boolean {
    return this.uses.length > 0;
  }

  /** Whether it is known to be None. */
  mustBeNone(): boolean {
    return this.type.kind === 'NoneType' || this.node.mustBeNone();
  }

  /** Whether it is known not to be None. */
  mustNotBeNone(): boolean {
    return this.node.kind !== 'prim::AutogradAdd' && !NoneType.get().isSubtypeOf(this.type);
  }

  // ---- names

  /** Whether it was given a name. */
  hasDebugName(): boolean {
    return this.#name !== '';
  }

  /** Its name, or its number where it was given none; unique within its graph. */
  get debugName(): string {
    return this.#name === '' ? String(this.unique) : this.#name;
  }

  /** The name without a trailing `.number` (PyTorch: debugNameBase). */
  get debugNameBase(): string {
    const { base, suffix } = splitNameSuffix(this.debugName);
    return suffix === undefined ? this.debugName : base;
  }

  /** Whether a name may be given to a value: anything but a plain number. */
  static isValidName(name: string): boolean {
    return !PLAIN_NUMBER.test(name);
  }

  /**
   * Names the value; '' takes its name away. Where another value has the name, that one is renamed to `name.1`,
   * `name.2`, … so that the newest keeps it. Throws `IR_INVARIANT` for a plain number.
   */
  setDebugName(name: string): this {
    // Values that have none and go, as most do, are done with one comparison.
    if (name === '' && this.#name === '') return this;
    if (PLAIN_NUMBER.test(name)) throw new CressetError('IR_INVARIANT', `Invalid name: '${name}'`);
    const names = this.node.owningGraph.valueNames;
    if (this.#name !== '') {
      names.release(this.#name);
      this.#name = '';
    }
    if (name === '') {
      return this;
    }
    const owner = names.owner(name);
    owner?.setDebugName(names.freeNameLike(name));
    names.claim(name, this);
    this.#name = name;
    return this;
  }

  /** Takes over name and type of another value. */
  copyMetadata(from: Value): this {
    this.setType(from.type);
    if (from.hasDebugName()) {
      this.setDebugName(from.debugName);
    }
    return this;
  }

  // ---- uses

  /** Makes every user of this value use `newValue` instead; `newValue` must be of the same graph. */
  replaceAllUsesWith(newValue: Value): void {
    const areOfOneGraph = this.node.owningGraph === newValue.node.owningGraph;
    if (!areOfOneGraph) broken('replaceAllUsesWith: the values belong to different graphs');
    const uses = this.uses;
    if (newValue === this || uses.length === 0) return;
    (this as Own).uses = [];
    for (const use of uses) {
      use.user.redirectInput(use.offset, newValue);
    }
  }

  replaceFirstUseWith(newValue: Value): void {
    const use = this.uses[0];
    invariant(use !== undefined, 'replaceFirstUseWith: the value has no use');
    use.user.replaceInput(use.offset, newValue);
  }

  /** As {@link replaceAllUsesWith}, for users after `node` only. Says nothing about scopes: see the next one. */
  replaceAllUsesAfterNodeWith(node: Node, newValue: Value): void {
    for (const use of this.uses.filter(({ user }) => user.isAfter(node))) {
      use.user.replaceInput(use.offset, newValue);
    }
  }

  /** Bookkeeping of Node: a use that is gone. */
  forgetUse(user: Node, offset: number): void {
    (this.uses as Use[]).splice(this.#indexOfUse(user, offset), 1);
  }

  /** Bookkeeping of Node: input `from` of `user` has become input `to`. */
  moveUse(user: Node, from: number, to: number): void {
    (this.uses as Use[])[this.#indexOfUse(user, from)] = { user, offset: to };
  }

  /** Looks from both ends at once: nodes go in order or in reverse, and a constant may have tens of thousands of uses. */
  #indexOfUse(user: Node, offset: number): number {
    const uses = this.uses;
    for (let low = 0, high = uses.length - 1; low <= high; low++, high--) {
      if (uses[low].user === user && uses[low].offset === offset) {
        return low;
      }
      if (uses[high].user === user && uses[high].offset === offset) {
        return high;
      }
    }
    throw new CressetError(
      'IR_INVARIANT',
      `no use of %${this.debugName} as input ${offset} of ${user.kind} is recorded`,
    );
  }
}

/** `base.12` → base and 12; a name without such an end has no suffix. */
export function splitNameSuffix(name: string): { base: string; suffix: number | undefined } {
  const match = /^(.*)\.(\d+)$/s.exec(name);
  return match === null ? { base: name, suffix: undefined } : { base: match[1], suffix: Number(match[2]) };
}

/** The names of a graph's values and the next free suffix of each base name. */
export class ValueNames {
  readonly #owners = new Map<string, Value>();
  readonly #nextSuffix = new Map<string, number>();

  owner(name: string): Value | undefined {
    return this.#owners.get(name);
  }

  claim(name: string, value: Value): void {
    this.#owners.set(name, value);
  }

  release(name: string): void {
    this.#owners.delete(name);
  }

  /** A name that nobody has: `name.N` with the next free N. */
  freeNameLike(name: string): string {
    const { base, suffix } = splitNameSuffix(name);
    let next = Math.max(suffix ?? 1, this.#nextSuffix.get(base) ?? 0);
    let free = `${base}.${next++}`;
    while (this.#owners.has(free)) {
      free = `${base}.${next++}`;
    }
    this.#nextSuffix.set(base, next);
    return free;
  }
}
