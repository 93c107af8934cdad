import type { Storage } from '@cresset/tensor';
import { expressionsIn, loadsIn, type Expr, type Kernel } from '@cresset/tensorexpr';
import { kernelOf, stepsOf, type LaunchProgram, type LaunchStep } from '../program/launch-program.ts';

/** What a launch does to a storage: one that is stored to may be loaded from too. */
export interface StorageUse {
  readonly loads: boolean;
  readonly stores: boolean;
}

/** What a launch does to the storages that it binds. */
export type StorageUses = ReadonlyMap<Storage, StorageUse>;

/**
 * Who does what to which storage, in the order in which the program had it done: all that decides what may become of launches without another result.
 *
 * Two launches *clash* over a storage that both use and at least one of them stores to. Launches that clash stay in their order; others may be done in any.
 * It does not matter which elements they use, and in which order: parts of a storage are told apart before (`splitStorages`). What is stored under a condition,
 * or to some elements only, is stored; what is stored over counts as loaded where the kernel loads it as well.
 *
 * - A launch may go to the place of another one where it clashes with none in between.
 * - Two launches may become one kernel at a place that one of them may go to where they clash over nothing, or where all that they clash over is replaced:
 *   what the later one loads by what the earlier one makes of it. Then all values of a point are worked out before any of them is stored. So what the earlier
 *   one loads, the later one may store where each point loads the element that it stores, and no other; kernels know that.
 * - What a launch stores may be left out where nobody loads it: another launch, or whoever has it when the stretch is over.
 *
 * Notes of faults are the exception: they may be made in any order.
 */
export class LaunchTable {
  readonly #steps: (LaunchStep | null)[];
  readonly #uses: (StorageUses | null)[];
  readonly #users = new Map<Storage, Set<number>>();

  constructor(private readonly program: LaunchProgram) {
    this.#steps = stepsOf(program, 'launch');
    this.#uses = stepsOf(program, 'launch').map(usesOf);
    this.#uses.forEach((_, at) => this.#register(at));
  }

  /** Places, the empty ones included. */
  get length(): number {
    return this.#steps.length;
  }

  get launches(): LaunchStep[] {
    return this.#steps.filter((step) => step !== null);
  }

  /** The launch at a place; null where there is none any more. */
  at(place: number): LaunchStep | null {
    return this.#steps[place] ?? null;
  }

  /** The kernel that the launch at a place is the whole of. */
  kernelAt(place: number): Kernel | null {
    const step = this.at(place);
    return step && kernelOf(step);
  }

  usesAt(place: number): StorageUses {
    return this.#uses[place] ?? nothing;
  }

  /** The places of launches that load from a storage, the first one first. */
  loadersOf(storage: Storage): number[] {
    return this.#placesOf(storage, ({ loads }) => loads);
  }

  /** The places of launches that store to a storage, the first one first. */
  storersOf(storage: Storage): number[] {
    return this.#placesOf(storage, ({ stores }) => stores);
  }

  #placesOf(storage: Storage, test: (use: StorageUse) => boolean): number[] {
    const users = this.#users.get(storage) ?? [];
    return [...users].filter((place) => test(this.usesAt(place).get(storage)!)).sort((a, b) => a - b);
  }

  /** What keeps two launches in their order. */
  clashes(uses: StorageUses, others: StorageUses): Storage[] {
    return [...uses].flatMap(([storage, use]) => {
      const other = others.get(storage);
      return other && this.#doClash(storage, use, other) ? storage : [];
    });
  }

  #doClash(storage: Storage, a: StorageUse, b: StorageUse): boolean {
    if (!a.stores && !b.stores) return false;
    // Whichever of several notes of faults is kept, the run fails with it.
    return a.loads || b.loads || this.program.storages.get(storage)?.kind !== 'faults';
  }

  /**
   * Whether what uses storages like this may be done at one place instead of another: nothing between them minds.
   *
   * @param along places of launches that go there as well
   */
  mayMove(uses: StorageUses, from: number, to: number, along: readonly number[] = []): boolean {
    const [first, last] = from < to ? [from, to] : [to, from];
    for (const [storage, use] of uses) {
      for (const place of this.#users.get(storage) ?? []) {
        if (place <= first || place >= last || along.includes(place)) continue;
        if (this.#doClash(storage, use, this.usesAt(place).get(storage)!)) return false;
      }
    }
    return true;
  }

  /** Puts one launch in the place of several, where one of them was. */
  replace(replaced: readonly number[], place: number, step: LaunchStep): void {
    for (const each of replaced) this.remove(each);
    this.#steps[place] = step;
    this.#uses[place] = usesOf(step);
    this.#register(place);
  }

  remove(place: number): void {
    for (const storage of this.usesAt(place).keys()) this.#users.get(storage)!.delete(place);
    this.#steps[place] = this.#uses[place] = null;
  }

  #register(place: number): void {
    for (const storage of this.usesAt(place).keys()) {
      const known = this.#users.get(storage);
      if (known) known.add(place);
      else this.#users.set(storage, new Set([place]));
    }
  }
}

const nothing: StorageUses = new Map();

/** What a launch does to storages: of one that is a part of several nothing is known but which of them it may store to. */
export function usesOf(step: LaunchStep): StorageUses {
  const { launch, storages } = step;
  const kernel = kernelOf(step);
  const loaded = kernel && loadsOf(expressionsIn(kernel));
  const uses = new Map<Storage, StorageUse>();
  storages.forEach((storage, binding) => {
    const { stored: stores } = launch.bindings[binding];
    const known = uses.get(storage);
    const loads = !stores || !loaded || loaded.has(storage);
    uses.set(storage, { loads: loads || known?.loads === true, stores: stores || known?.stores === true });
  });
  return uses;
}

/** Storages that are loaded from, and nothing else. */
export function loadsOf(roots: readonly Expr[]): Map<Storage, StorageUse> {
  const load: StorageUse = { loads: true, stores: false };
  return new Map(loadsIn(roots).map(({ operand }) => [operand.tensor.storage, load]));
}

/** The first and the last of some steps that use a storage. */
export interface LifetimeOf {
  readonly first: number;
  last: number;
}

/** From which to which step storages are used. @param steps the storages of each */
export function lifetimesOf(steps: readonly (readonly Storage[])[]): Map<Storage, LifetimeOf> {
  const lifetimes = new Map<Storage, LifetimeOf>();
  steps.forEach((storages, at) => {
    for (const storage of storages) {
      const known = lifetimes.get(storage);
      if (known) known.last = at;
      else lifetimes.set(storage, { first: at, last: at });
    }
  });
  return lifetimes;
}
