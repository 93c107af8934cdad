import type { Storage } from '@cresset/tensor';
import { inlineProducer, type DeviceCapabilities, type PreparedLaunch } from '@cresset/tensorexpr';
import { pays, type Preparation } from './fused-launches.ts';
import { placesOf, type LaunchPlace } from './launch-order.ts';
import { noteOf, type LaunchNote } from '../recording/recording-notes.ts';

/**
 * Makes the longest chains of launches that wait for each other shorter: what a launch waits for it works out itself where that takes less than a launch
 * does, although others need it too. The launch that it waited for is left to those, and off the chain it can be done together with another one. Gives
 * the launches as they were where the longest chain cannot be helped.
 *
 * @param isTemporary whether nobody reads a storage after the last launch
 */
export function shortenChains(
  notes: readonly LaunchNote[],
  isTemporary: (storage: Storage) => boolean,
  capabilities: DeviceCapabilities,
  recorder: Preparation,
): readonly LaunchNote[] {
  const chains = new Chains(notes, isTemporary, capabilities, recorder);
  const before = chains.longest;
  for (let at = 0; at < notes.length; at++) while (chains.shorten(at));
  return chains.longest < before ? chains.needed() : notes;
}

class Chains {
  readonly #notes: LaunchNote[];
  readonly #writers = new Map<Storage, number[]>();
  #places: LaunchPlace[];

  constructor(
    notes: readonly LaunchNote[],
    private readonly isTemporary: (storage: Storage) => boolean,
    private readonly capabilities: DeviceCapabilities,
    private readonly recorder: Preparation,
  ) {
    this.#notes = [...notes];
    this.#places = placesOf(notes);
    notes.forEach((note, at) => {
      for (const storage of storedBy(note)) this.#writers.set(storage, [...(this.#writers.get(storage) ?? []), at]);
    });
  }

  get longest(): number {
    return Math.max(0, ...this.#places.map(({ level }) => level));
  }

  /** Has a launch of the longest chain work out what it waits for; whether it is earlier in the chain now. */
  shorten(at: number): boolean {
    const { level, depth, before } = this.#places[at];
    if (level + depth - 1 < this.longest) return false;
    let note: LaunchNote | null = this.#notes[at];
    for (const producer of before) {
      if (this.#places[producer].level === level - 1) note &&= this.#without(note, at, producer);
    }
    if (!note || note === this.#notes[at]) return false;
    this.#notes[at] = note;
    this.#places = placesOf(this.#notes);
    return this.#places[at].level < level;
  }

  /** A launch that works out what it read of another one. */
  #without(note: LaunchNote, at: number, from: number): LaunchNote | null {
    const producer = this.#notes[from];
    const { kernel } = producer.launch;
    if (kernel?.kind !== 'nest' || !this.#mayReadWith(note, at, from)) return null;
    let { kernel: merged } = note.launch;
    let launch: PreparedLaunch | null = null;
    for (const store of kernel.stores) {
      const { storage } = store.operand.tensor;
      if (!note.storages.includes(storage)) continue;
      if (!this.isTemporary(storage) || this.#writers.get(storage)!.length > 1) return null;
      const alone = { ...kernel, stores: [store] };
      const next = merged && inlineProducer(merged, alone);
      if (!next || !pays(next, merged!, alone, this.capabilities)) return null;
      merged = next;
      launch = this.recorder.prepare(merged);
    }
    return launch && noteOf(launch);
  }

  /** Whether what a launch reads is the same for another one further on, which does not change it either. */
  #mayReadWith(note: LaunchNote, at: number, from: number): boolean {
    const { launch, storages } = this.#notes[from];
    return storages.every((storage, binding) => {
      if (launch.bindings[binding].stored) return true;
      const isChanged = (this.#writers.get(storage) ?? []).some((writer) => writer > from && writer < at);
      return !isChanged && !storedBy(note).includes(storage);
    });
  }

  /** All launches but those that nobody reads from any more. */
  needed(): LaunchNote[] {
    const read = new Set<Storage>();
    const needed: LaunchNote[] = [];
    for (const note of this.#notes.toReversed()) {
      const isNeeded = storedBy(note).some((storage) => !this.isTemporary(storage) || read.has(storage));
      if (!isNeeded) continue;
      needed.unshift(note);
      for (const storage of note.storages) read.add(storage);
    }
    return needed;
  }
}

const storedBy = ({ launch, storages }: LaunchNote): Storage[] =>
  storages.filter((_, binding) => launch.bindings[binding].stored);
