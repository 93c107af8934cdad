import type { Storage } from '@cresset/tensor';
import {
  appendConsumer,
  asNest,
  loadsIn,
  extentOf,
  inlineProducer,
  isReduced,
  joinContractions,
  joinNests,
  keepsRunningSoftmax,
  nodesOf,
  reductionsIn,
  runningSoftmaxOf,
  workOf,
  type Contraction,
  type DeviceCapabilities,
  type Expr,
  type Kernel,
  type LaunchRecorder,
  type LoopNest,
  type PreparedLaunch,
} from '@cresset/tensorexpr';
import { noteOf, type LaunchNote } from '../recording/recording-notes.ts';

/**
 * Makes fewer launches of those that were recorded: what only one other kernel reads is worked out by that one (a row's statistics before a
 * product, what masks and scales, copies). Two kernels become one where that takes less than a launch does; how much work that is
 * depends on the device.
 *
 * @param isTemporary whether nobody reads a storage after the last launch
 * @param lighten gives a kernel without what it need not work out each time
 */
export function fuseLaunches(
  launches: readonly LaunchNote[],
  isTemporary: (storage: Storage) => boolean,
  capabilities: DeviceCapabilities,
  recorder: Preparation,
  lighten: (kernel: Kernel) => Kernel,
): LaunchNote[] {
  return new LaunchFuser(launches, isTemporary, capabilities, recorder, lighten).run();
}

/** What makes kernels ready. */
export type Preparation = Pick<LaunchRecorder, 'prepare'>;

/** How much more two kernels may do as one, in steps of {@link workOf}: that is about what a launch costs. */
interface Allowance {
  readonly total: number;
  /** As a part of what they do as two. */
  readonly ratio: number;
  /** For one thread: the others wait for it. */
  readonly longest: number;
}

/** A launch costs next to nothing, but what lies between two of them is written and read again. */
const onHost: Allowance = { total: 1e4, ratio: 0.1, longest: Infinity };
const inSoftware: Allowance = { total: 1.2e7, ratio: 0.25, longest: Infinity };
const onGpu: Allowance = { total: 3e7, ratio: 1, longest: 32768 };

const allowanceOf = ({ host, software }: DeviceCapabilities): Allowance =>
  host ? onHost : software ? inSoftware : onGpu;

/** Whether a kernel may do what two did: the one reads what the other made. */
export function pays(merged: Kernel, consumer: Kernel, producer: LoopNest, capabilities: DeviceCapabilities): boolean {
  if (nodesOf(merged) > maxNodes) return false;
  const { total, ratio, longest } = allowanceOf(capabilities);
  const [one, first, second] = [merged, producer, consumer].map((kernel) => workOf(kernel, capabilities));
  const apart = first.total + second.total;
  return one.total <= apart + Math.max(total, ratio * apart) && one.longest <= first.longest + second.longest + longest;
}

/** Whether some kernels may do what others did: what several stores of one share is worked out again where they part. */
function paysInAll(before: readonly Kernel[], after: readonly Kernel[], capabilities: DeviceCapabilities): boolean {
  const { total, ratio } = allowanceOf(capabilities);
  const sum = (kernels: readonly Kernel[]): number =>
    kernels.reduce((all, kernel) => all + workOf(kernel, capabilities).total, 0);
  const work = sum(before);
  return sum(after) <= work + Math.max(total, ratio * work);
}

/** A kernel of more nodes takes long to compile: chains are cut here. */
const maxNodes = 400;
/** What more kernels read is made once. */
const maxReaders = 3;
/** From a product with probabilities back to that with scores there are no more launches than this. */
const maxAttention = 6;
/** So far behind a launch is looked for one like it. */
const maxDistance = 256;

class LaunchFuser {
  readonly #notes: (LaunchNote | null)[];
  readonly #readers = new Map<Storage, Set<number>>();
  readonly #writers = new Map<Storage, Set<number>>();

  constructor(
    launches: readonly LaunchNote[],
    private readonly isTemporary: (storage: Storage) => boolean,
    private readonly capabilities: DeviceCapabilities,
    private readonly recorder: Preparation,
    private readonly lighten: (kernel: Kernel) => Kernel,
  ) {
    this.#notes = [...launches];
    this.#notes.forEach((note, at) => this.#register(note!, at));
  }

  run(): LaunchNote[] {
    for (let at = 0; at < this.#notes.length; at++) this.#joinSiblings(at);
    for (let at = 0; at < this.#notes.length; at++) this.#joinAttention(at);
    // From the first on: what took in its producer may be taken in itself.
    for (let at = 0; at < this.#notes.length; at++) this.#inlineInReader(at);
    for (let at = 0; at < this.#notes.length; at++) this.#workOutInReaders(at);
    for (let at = 0; at < this.#notes.length; at++) this.#appendToProducer(at);
    for (let at = 0; at < this.#notes.length; at++) this.#joinAlike(at);
    return this.#notes.filter((note) => note !== null);
  }

  #register({ launch, storages }: LaunchNote, at: number): void {
    const note = (map: Map<Storage, Set<number>>, storage: Storage): void => {
      const known = map.get(storage);
      if (known) known.add(at);
      else map.set(storage, new Set([at]));
    };
    storages.forEach((storage, binding) => {
      // What is stored may be read too: both count.
      if (launch.bindings[binding].stored) note(this.#writers, storage);
      else note(this.#readers, storage);
    });
  }

  /** Products with the same left side, which depend on nothing that comes between them. */
  #joinSiblings(at: number): void {
    const note = this.#notes[at];
    const first = note?.launch.kernel;
    if (!note || first?.kind !== 'contraction') return;
    const parts: Contraction[] = [first];
    const siblings = this.#readersAfter(note, at).filter((other) => {
      const { kernel } = this.#notes[other]!.launch;
      if (kernel?.kind !== 'contraction' || !this.#mayPrecede(other, at)) return false;
      const fits = joinContractions([first, kernel]) !== null;
      if (fits) parts.push(kernel);
      return fits;
    });
    // As many as can be bound at once.
    for (; siblings.length > 0; siblings.pop(), parts.pop()) {
      const launch = this.recorder.prepare(joinContractions(parts)!);
      if (launch) return this.#replace([at, ...siblings], at, launch);
    }
  }

  /** A product with the softmax of another one: as one kernel they need no scores. */
  #joinAttention(at: number): void {
    const note = this.#notes[at];
    const kernel = note?.launch.kernel;
    if (kernel?.kind !== 'contraction') return;
    const [rows, columns, positions] = [kernel.m, kernel.n, kernel.k].map(extentOf);
    if (!keepsRunningSoftmax({ rows, columns, positions }, this.capabilities)) return;
    const taken = [at];
    let whole: Kernel = kernel;
    while (taken.length < maxAttention) {
      const step = this.#scoresBefore(whole, taken);
      if (!step) return;
      taken.push(step.from);
      whole = step.merged;
      const attention = runningSoftmaxOf(whole);
      if (!attention) continue;
      // A side that is a sum itself would be worked out again for each block of positions.
      const isDear = [attention.left, attention.right, attention.values].some(isReduced);
      const launch = isDear ? null : this.recorder.prepare(whole);
      if (launch) this.#replace(taken, at, launch);
      return;
    }
  }

  /** The launch that makes scores, or powers of them, for those that were taken, and the kernel with it. */
  #scoresBefore(whole: Kernel, taken: readonly number[]): { from: number; merged: Kernel } | null {
    for (const storage of scoresIn(whole)) {
      const [from, ...others] = this.#writers.get(storage) ?? [];
      const readers = [...(this.#readers.get(storage) ?? [])];
      if (from === undefined || others.length > 0 || !this.isTemporary(storage)) continue;
      if (!readers.every((reader) => taken.includes(reader)) || from >= Math.min(...taken)) continue;
      const note = this.#notes[from]!;
      const { kernel } = note.launch;
      const producer = kernel?.kind === 'contraction' ? asNest(kernel) : kernel;
      const mayMove = producer?.kind === 'nest' && this.#mayMove(note, from, taken[0], taken);
      const merged = mayMove ? inlineProducer(whole, producer) : null;
      if (merged && nodesOf(merged) <= maxNodes && greatestIn(merged).length > 0) return { from, merged };
    }
    return null;
  }

  #readersAfter({ launch, storages }: LaunchNote, at: number): number[] {
    const found = new Set<number>();
    storages.forEach((storage, binding) => {
      if (launch.bindings[binding].stored) return;
      for (const reader of this.#readers.get(storage)!) if (reader > at) found.add(reader);
    });
    return [...found].sort((a, b) => a - b);
  }

  /** Whether a launch may be as early as another: nothing from there on has to be done before it. */
  #mayPrecede(late: number, early: number): boolean {
    const { launch, storages } = this.#notes[late]!;
    const isBetween = (users: ReadonlySet<number> | undefined): boolean =>
      [...(users ?? [])].some((at) => at >= early && at < late);
    return storages.every((storage, binding) => {
      if (isBetween(this.#writers.get(storage))) return false;
      return !launch.bindings[binding].stored || !isBetween(this.#readers.get(storage));
    });
  }

  #inlineInReader(at: number): void {
    const producer = this.#notes[at];
    const kernel = producer?.launch.kernel;
    if (!producer || kernel?.kind !== 'nest') return;
    const written = producer.storages.filter((storage, binding) => {
      return producer.launch.bindings[binding].stored && this.isTemporary(storage);
    });
    if (written.length !== 1) return;
    const reader = this.#onlyReader(written[0], at);
    const consumer = reader === null ? null : this.#notes[reader]!.launch.kernel;
    if (reader === null || !consumer || !this.#mayMove(producer, at, reader)) return;
    const merged = this.#merge(consumer, kernel);
    const launch = merged && this.recorder.prepare(merged);
    if (launch) this.#replace([at, reader], reader, launch);
  }

  /** What several kernels read, or is one of several things that a kernel makes, is worked out by each that reads it. */
  #workOutInReaders(at: number): void {
    const producer = this.#notes[at];
    const kernel = producer?.launch.kernel;
    if (!producer || kernel?.kind !== 'nest') return;
    for (const store of kernel.stores) {
      const { storage } = store.operand.tensor;
      const readers = [...(this.#readers.get(storage) ?? [])];
      if (!this.isTemporary(storage) || this.#writers.get(storage)?.size !== 1) continue;
      if (readers.length === 0 || readers.length > maxReaders || readers.some((reader) => reader < at)) continue;
      const alone = { ...kernel, stores: [store] };
      const launches = readers.map((reader) => this.#inlined(producer, alone, at, reader));
      if (!launches.every((launch) => launch !== null)) continue;
      const others = kernel.stores.filter((each) => each !== store);
      const rest = others.length > 0 ? this.recorder.prepare({ ...kernel, stores: others }) : null;
      if (others.length > 0 && !rest) continue;
      const before = [kernel, ...readers.map((reader) => this.#notes[reader]!.launch.kernel!)];
      const after = [...launches, rest].flatMap((launch) => launch?.kernel ?? []);
      if (!paysInAll(before, after, this.capabilities)) continue;
      for (const [index, reader] of readers.entries()) this.#replace([reader], reader, launches[index]!);
      if (!rest) return this.#remove(at);
      this.#replace([at], at, rest);
      return this.#workOutInReaders(at);
    }
  }

  /** The launch of a reader that works out what it read; null where that is not possible, or does not pay. */
  #inlined(note: LaunchNote, producer: LoopNest, at: number, reader: number): PreparedLaunch | null {
    const consumer = this.#notes[reader]!.launch.kernel;
    if (!consumer || !this.#mayMove(note, at, reader)) return null;
    const merged = this.#merge(consumer, producer);
    return merged && this.recorder.prepare(merged);
  }

  /** Two kernels as one that works out what the second reads; null where that is not possible, or does not pay. */
  #merge(consumer: Kernel, producer: LoopNest): Kernel | null {
    const merged = inlineProducer(consumer, producer);
    const light = merged && this.lighten(merged);
    return light && pays(light, consumer, producer, this.capabilities) ? light : null;
  }

  /** Kernels of equally long loops that have nothing to do with each other are one. */
  #joinAlike(at: number): void {
    const note = this.#notes[at];
    const kernel = note?.launch.kernel;
    if (!note || kernel?.kind !== 'nest') return;
    for (let other = at + 1; other < Math.min(this.#notes.length, at + maxDistance); other++) {
      const later = this.#notes[other];
      if (later?.launch.kernel?.kind !== 'nest' || !areApart(note, later)) continue;
      const place = this.#mayBeAt(note, at, other) ? other : this.#mayBeAt(later, other, at) ? at : -1;
      const joined = place < 0 ? null : joinNests(kernel, later.launch.kernel);
      if (!joined || nodesOf(joined) > maxNodes) continue;
      const [one, first, second] = [joined, kernel, later.launch.kernel].map((each) => workOf(each));
      if (one.longest > Math.max(first.longest, second.longest) + allowanceOf(this.capabilities).longest) continue;
      const launch = this.recorder.prepare(this.lighten(joined));
      if (!launch) continue;
      this.#replace([at, other], place, launch);
      return place === at ? this.#joinAlike(at) : undefined;
    }
  }

  #onlyReader(storage: Storage, writer: number): number | null {
    const readers = this.#readers.get(storage);
    if (this.#writers.get(storage)!.size !== 1 || readers?.size !== 1) return null;
    const [reader] = readers;
    return reader > writer ? reader : null;
  }

  /**
   * Whether a launch may be as late as another: nothing it reads changes until then, and the other does not change it either.
   *
   * @param taken launches that come with it
   */
  #mayMove({ launch, storages }: LaunchNote, from: number, to: number, taken: readonly number[] = []): boolean {
    return storages.every((storage, binding) => {
      // Where faults are noted, what comes first counts wherever it comes from.
      const others = launch.bindings[binding].stored ? this.#readers : this.#writers;
      for (const at of others.get(storage) ?? []) if (at > from && at < to && !taken.includes(at)) return false;
      return launch.bindings[binding].stored || !this.#writers.get(storage)?.has(to);
    });
  }

  /** What goes over the elements of one other kernel's result is done by that one, as it makes them. */
  #appendToProducer(at: number): void {
    const reader = this.#notes[at];
    const consumer = reader?.launch.kernel;
    if (!reader || consumer?.kind !== 'nest') return;
    for (const [binding, storage] of reader.storages.entries()) {
      const writers = this.#writers.get(storage);
      if (reader.launch.bindings[binding].stored || writers?.size !== 1) continue;
      const [from] = writers;
      const producer = this.#notes[from]!;
      const { kernel } = producer.launch;
      if (from >= at || !kernel) continue;
      const isReadLater = (each: Storage): boolean =>
        !this.isTemporary(each) || (this.#readers.get(each)?.size ?? 0) > 1;
      const place =
        !isReadLater(storage) && this.#mayBeAt(producer, from, at) ? at : this.#mayBeAt(reader, at, from) ? from : -1;
      const merged = place < 0 ? null : appendConsumer(kernel, consumer, storage, isReadLater);
      const launch = merged && nodesOf(merged) <= maxNodes ? this.recorder.prepare(this.lighten(merged)) : null;
      if (!launch) continue;
      this.#replace([from, at], place, launch);
      // What it makes of them may be gone over in turn.
      return place === at ? this.#appendToProducer(at) : undefined;
    }
  }

  /** Whether a launch may be at the place of another one, but for what these two do to each other: no launch between them minds. */
  #mayBeAt({ launch, storages }: LaunchNote, from: number, to: number): boolean {
    const [first, last] = from < to ? [from, to] : [to, from];
    const isBetween = (users: ReadonlySet<number> | undefined): boolean =>
      [...(users ?? [])].some((at) => at > first && at < last);
    return storages.every((storage, binding) => {
      if (isBetween(this.#writers.get(storage))) return false;
      return !launch.bindings[binding].stored || !isBetween(this.#readers.get(storage));
    });
  }

  /** Puts one launch in the place of several, where one of them was. */
  #replace(replaced: readonly number[], at: number, launch: PreparedLaunch): void {
    for (const each of replaced) this.#remove(each);
    const note = noteOf(launch);
    this.#notes[at] = note;
    this.#register(note, at);
  }

  #remove(at: number): void {
    for (const storage of this.#notes[at]!.storages) {
      this.#readers.get(storage)?.delete(at);
      this.#writers.get(storage)?.delete(at);
    }
    this.#notes[at] = null;
  }
}

/** What lies where a product's probabilities may come from; once they are worked out, where their scores do. */
function scoresIn(kernel: Kernel): Set<Storage> {
  const greatest = greatestIn(kernel);
  const loads = loadsIn(greatest.length > 0 ? greatest : sidesOf(kernel));
  return new Set(loads.map(({ operand }) => operand.tensor.storage));
}

const sidesOf = (kernel: Kernel): Expr[] => (kernel.kind === 'contraction' ? [kernel.left, kernel.right] : []);

/** The greatest scores of rows, where a side of a product is worked out by them. */
const greatestIn = (kernel: Kernel): Expr[] => reductionsIn(sidesOf(kernel)).filter(({ fn }) => fn === 'max');

/** Whether neither of two launches stores what the other uses. */
function areApart(a: LaunchNote, b: LaunchNote): boolean {
  const own = new Map(a.storages.map((storage, binding) => [storage, a.launch.bindings[binding].stored]));
  return b.storages.every((storage, binding) => {
    const isStored = own.get(storage);
    return isStored === undefined || !(isStored || b.launch.bindings[binding].stored);
  });
}
