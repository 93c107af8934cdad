import type { Storage } from '@cresset/tensor';
import { expressionsOf, inlineProducer, type DeviceCapabilities, type PreparedLaunch } from '@cresset/tensorexpr';
import { pays, type Preparation, type RecordedMemory } from './fused-launches.ts';
import { placesOf, type LaunchPlace } from './launch-order.ts';
import { LaunchTable, loadsOf } from './launch-table.ts';
import { noteOf, type LaunchNote } from '../recording/recording-notes.ts';

/**
 * Makes the longest chains of launches that wait for each other shorter: what a launch waits for it works out itself where that takes less than a launch
 * does, although others need it too. The launch that it waited for is left to those, and off the chain it can be done together with another one. Gives
 * the launches as they were where the longest chain cannot be helped.
 */
export function shortenChains(
  notes: readonly LaunchNote[],
  memory: RecordedMemory,
  capabilities: DeviceCapabilities,
  recorder: Preparation,
): readonly LaunchNote[] {
  const chains = new Chains(notes, memory, capabilities, recorder);
  const before = chains.longest;
  for (let at = 0; at < notes.length; at++) while (chains.shorten(at));
  return chains.longest < before ? chains.needed() : notes;
}

class Chains {
  readonly #table: LaunchTable;
  #places: LaunchPlace[];

  constructor(
    notes: readonly LaunchNote[],
    private readonly memory: RecordedMemory,
    private readonly capabilities: DeviceCapabilities,
    private readonly recorder: Preparation,
  ) {
    this.#table = new LaunchTable(notes, (storage) => memory.isOfFaults(storage));
    this.#places = placesOf(notes);
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
    let note: LaunchNote | null = own;
    for (const producer of before) {
      if (this.#places[producer].level === level - 1) note &&= this.#without(note, at, producer);
    }
    if (!note || note === own) return false;
    table.replace([at], at, note);
    this.#places = placesOf(table.notes);
    return this.#places[at].level < level;
  }

  /** A launch that works out what it read of another one. */
  #without(note: LaunchNote, at: number, from: number): LaunchNote | null {
    const table = this.#table;
    const kernel = table.kernelAt(from);
    if (kernel?.kind !== 'nest') return null;
    let { kernel: merged } = note.launch;
    let launch: PreparedLaunch | null = null;
    for (const store of kernel.stores) {
      const { storage } = store.operand.tensor;
      if (!note.storages.includes(storage)) continue;
      if (!this.memory.isTemporary(storage) || table.storersOf(storage).length > 1) return null;
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
    return launch && noteOf(launch);
  }

  /** All launches but those that nobody reads from any more. */
  needed(): LaunchNote[] {
    const read = new Set<Storage>();
    const needed: LaunchNote[] = [];
    for (const note of this.#table.notes.toReversed()) {
      const isNeeded = storedBy(note).some((storage) => !this.memory.isTemporary(storage) || read.has(storage));
      if (!isNeeded) continue;
      needed.unshift(note);
      for (const storage of note.storages) read.add(storage);
    }
    return needed;
  }
}

const storedBy = ({ launch, storages }: LaunchNote): Storage[] =>
  storages.filter((_, binding) => launch.bindings[binding].stored);
