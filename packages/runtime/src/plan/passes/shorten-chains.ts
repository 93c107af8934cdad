import type { Storage } from '@cresset/tensor';
import { expressionsOf, inlineProducer, type DeviceCapabilities, type PreparedLaunch } from '@cresset/tensorexpr';
import { isScratch, launchStep, withLaunches, type LaunchProgram, type LaunchStep } from '../program/launch-program.ts';
import { pays, type Preparation } from './fuse-launches.ts';
import { placesOf, type LaunchPlace } from './launch-order.ts';
import { LaunchTable, loadsOf } from './launch-table.ts';

/**
 * Makes the longest chains of launches that wait for each other shorter: what a launch waits for it works out itself where that takes less than a launch
 * does, although others need it too. The launch that it waited for is left to those, and off the chain it can be done together with another one. Gives
 * the program as it was where the longest chain cannot be helped.
 */
export function shortenChains(
  program: LaunchProgram,
  capabilities: DeviceCapabilities,
  recorder: Preparation,
): LaunchProgram {
  const chains = new Chains(program, capabilities, recorder);
  const before = chains.longest;
  for (let at = 0; at < chains.length; at++) while (chains.shorten(at));
  return chains.longest < before ? withLaunches(program, chains.needed()) : program;
}

class Chains {
  readonly #table: LaunchTable;
  #places: LaunchPlace[];

  constructor(
    private readonly program: LaunchProgram,
    private readonly capabilities: DeviceCapabilities,
    private readonly recorder: Preparation,
  ) {
    this.#table = new LaunchTable(program);
    this.#places = placesOf(this.#table.launches);
  }

  get length(): number {
    return this.#table.length;
  }

  get longest(): number {
    return Math.max(0, ...this.#places.map(({ level }) => level));
  }

  /** Has a launch of the longest chain work out what it waits for; whether it is earlier in the chain now. */
  shorten(at: number): boolean {
    const { level, depth, before } = this.#places[at];
    if (level + depth - 1 < this.longest) return false;
    const table = this.#table;
    const own = table.at(at)!;
    let step: LaunchStep | null = own;
    for (const producer of before) {
      if (this.#places[producer].level === level - 1) step &&= this.#without(step, at, producer);
    }
    if (!step || step === own) return false;
    table.replace([at], at, step);
    this.#places = placesOf(table.launches);
    return this.#places[at].level < level;
  }

  /** A launch that works out what it read of another one. */
  #without(step: LaunchStep, at: number, from: number): LaunchStep | null {
    const table = this.#table;
    const kernel = table.kernelAt(from);
    if (kernel?.kind !== 'nest') return null;
    let { kernel: merged } = step.launch;
    let launch: PreparedLaunch | null = null;
    for (const store of kernel.stores) {
      const { storage } = store.operand.tensor;
      if (!step.storages.includes(storage)) continue;
      if (!isScratch(this.program, storage) || table.storersOf(storage).length > 1) return null;
      const uses = loadsOf(expressionsOf(store));
      // The launch that made it stays where it is, and may store over what it read.
      const others = [table.usesAt(from), table.usesAt(at)];
      if (!table.mayMove(uses, from, at) || others.some((each) => table.clashes(uses, each).length > 0)) return null;
      const alone = { ...kernel, stores: [store] };
      const next = merged && inlineProducer(merged, alone, storage);
      if (!next || !pays(next, merged!, alone, this.capabilities)) return null;
      merged = next;
      launch = this.recorder.prepare(merged);
    }
    return launch && launchStep(launch);
  }

  /** All launches but those that nobody reads from any more. */
  needed(): LaunchStep[] {
    const read = new Set<Storage>();
    const needed: LaunchStep[] = [];
    for (const step of this.#table.launches.toReversed()) {
      const isNeeded = storedBy(step).some((storage) => !isScratch(this.program, storage) || read.has(storage));
      if (!isNeeded) continue;
      needed.unshift(step);
      for (const storage of step.storages) read.add(storage);
    }
    return needed;
  }
}

const storedBy = ({ launch, storages }: LaunchStep): Storage[] =>
  storages.filter((_, binding) => launch.bindings[binding].stored);
