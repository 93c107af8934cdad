import { type Storage, hint } from '@cresset/tensor';
import {
  appendConsumer,
  asNest,
  expressionsOf,
  loadsIn,
  symExtentOf,
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
import { isScratch, launchStep, withLaunches, type LaunchProgram } from '../program/launch-program.ts';
import { LaunchTable, loadsOf, type StorageUses } from './launch-table.ts';

/**
 * Makes fewer launches of those of a program: what only one other kernel reads is worked out by that one (a row's statistics before a
 * product, what masks and scales, copies). Two kernels become one where that takes less than a launch does; how much work that is
 * depends on the device.
 *
 * @param lighten gives a kernel without what it need not work out each time
 */
export function fuseLaunches(
  program: LaunchProgram,
  capabilities: DeviceCapabilities,
  recorder: Preparation,
  lighten: (kernel: Kernel) => Kernel = (kernel) => kernel,
): LaunchProgram {
  return withLaunches(program, new LaunchFuser(program, capabilities, recorder, lighten).run().launches);
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
/** Layer norms go with the products behind them in vision transformers of 197 positions. */
const inSoftware: Allowance = { total: 1.4e7, ratio: 0.25, longest: Infinity };
const onGpu: Allowance = { total: 3e7, ratio: 1, longest: 32768 };

const allowanceOf = ({ host, software }: DeviceCapabilities): Allowance =>
  host ? onHost : software ? inSoftware : onGpu;

/** About how many steps of {@link workOf} a launch costs beside its work. */
export const launchCost = (capabilities: DeviceCapabilities): number => allowanceOf(capabilities).total;

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
/** So many times the sizes that a program is made at. */
const muchLarger = 8;
/** From a product with probabilities back to that with scores there are no more launches than this. */
const maxAttention = 6;
/** So far behind a launch is looked for one like it. */
const maxDistance = 256;

class LaunchFuser {
  readonly #table: LaunchTable;

  constructor(
    private readonly program: LaunchProgram,
    private readonly capabilities: DeviceCapabilities,
    private readonly recorder: Preparation,
    private readonly lighten: (kernel: Kernel) => Kernel,
  ) {
    this.#table = new LaunchTable(program);
  }

  run(): LaunchTable {
    const table = this.#table;
    for (let at = 0; at < table.length; at++) this.#joinSiblings(at);
    for (let at = 0; at < table.length; at++) this.#joinAttention(at);
    // From the first on: what took in its producer may be taken in itself.
    for (let at = 0; at < table.length; at++) this.#inlineInReader(at);
    for (let at = 0; at < table.length; at++) this.#workOutInReader(at);
    for (let at = 0; at < table.length; at++) this.#appendToProducer(at);
    for (let at = 0; at < table.length; at++) this.#joinAlike(at);
    return table;
  }

  /** Products with the same left side, which depend on nothing that comes between them. */
  #joinSiblings(at: number): void {
    const table = this.#table;
    const first = table.kernelAt(at);
    if (first?.kind !== 'contraction') return;
    const parts: Contraction[] = [first];
    const siblings = this.#readersAfter(at).filter((other) => {
      const kernel = table.kernelAt(other);
      const uses = table.usesAt(other);
      if (kernel?.kind !== 'contraction' || !table.mayMove(uses, other, at)) return false;
      if (table.clashes(uses, table.usesAt(at)).length > 0) return false;
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

  /** Launches further on that read what this one does. */
  #readersAfter(at: number): number[] {
    const found = new Set<number>();
    for (const [storage, { stores }] of this.#table.usesAt(at)) {
      if (stores) continue;
      for (const reader of this.#table.loadersOf(storage)) if (reader > at) found.add(reader);
    }
    return [...found].sort((a, b) => a - b);
  }

  /** A product with the softmax of another one: as one kernel they need no scores. */
  #joinAttention(at: number): void {
    const kernel = this.#table.kernelAt(at);
    if (kernel?.kind !== 'contraction') return;
    // Either way is right: what pays for the sizes of now is taken.
    const [rows, columns, positions] = [kernel.m, kernel.n, kernel.k].map((axis) => hint(symExtentOf(axis)));
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
      const from = this.#onlyStorer(storage);
      if (from === null || from >= Math.min(...taken)) continue;
      if (!this.#table.loadersOf(storage).every((reader) => taken.includes(reader))) continue;
      const kernel = this.#table.kernelAt(from);
      const producer = kernel?.kind === 'contraction' ? asNest(kernel) : kernel;
      if (producer?.kind !== 'nest' || !this.#mayGoWith(this.#withoutStore(from, storage), from, taken)) continue;
      const merged = inlineProducer(whole, producer, storage);
      if (merged && nodesOf(merged) <= maxNodes && greatestIn(merged).length > 0) return { from, merged };
    }
    return null;
  }

  /** The one launch that stores to a storage which is not needed in the end; null where there are others, or it is. */
  #onlyStorer(storage: Storage): number | null {
    const storers = this.#table.storersOf(storage);
    return storers.length === 1 && this.#isScratch(storage) ? storers[0] : null;
  }

  /** What a launch uses that does not store to a storage any more. */
  #withoutStore(at: number, storage: Storage): StorageUses {
    const uses = new Map(this.#table.usesAt(at));
    uses.delete(storage);
    return uses;
  }

  /**
   * Whether what uses storages like this may be done by launches further on: at the place of the first of these, which the others go to as well.
   */
  #mayGoWith(uses: StorageUses, from: number, [to, ...along]: readonly number[]): boolean {
    const table = this.#table;
    if (!table.mayMove(uses, from, to, along)) return false;
    return [to, ...along].every((other) => table.clashes(uses, table.usesAt(other)).length === 0);
  }

  #inlineInReader(at: number): void {
    const table = this.#table;
    const kernel = table.kernelAt(at);
    if (kernel?.kind !== 'nest') return;
    const made = [...table.usesAt(at)].flatMap(([storage, { stores }]) =>
      stores && this.#isScratch(storage) ? storage : [],
    );
    const [storage] = made;
    if (made.length !== 1 || this.#onlyStorer(storage) !== at) return;
    const [reader, ...others] = table.loadersOf(storage);
    const consumer = others.length === 0 && reader > at ? table.kernelAt(reader) : null;
    if (!consumer || !this.#mayGoWith(this.#withoutStore(at, storage), at, [reader])) return;
    const merged = this.#merge(consumer, kernel, storage);
    const launch = merged && this.recorder.prepare(merged);
    if (launch) this.#replace([at, reader], reader, launch);
  }

  /** Of several things that a kernel makes, what only one other kernel reads is worked out by that one. */
  #workOutInReader(at: number): void {
    const table = this.#table;
    const kernel = table.kernelAt(at);
    if (kernel?.kind !== 'nest') return;
    for (const store of kernel.stores) {
      const { storage } = store.operand.tensor;
      const [reader, ...readers] = table.loadersOf(storage);
      if (this.#onlyStorer(storage) !== at || readers.length > 0 || !(reader > at)) continue;
      const consumer = table.kernelAt(reader);
      // What stays where it was may store over what is read later then.
      const others = kernel.stores.filter((each) => each !== store);
      const uses = loadsOf(expressionsOf(store));
      if (!consumer || others.some(({ operand }) => uses.has(operand.tensor.storage))) continue;
      if (!this.#mayGoWith(uses, at, [reader])) continue;
      const merged = this.#merge(consumer, { ...kernel, stores: [store] }, storage);
      const launch = merged && this.recorder.prepare(merged);
      if (!launch) continue;
      const rest = others.length > 0 ? this.recorder.prepare({ ...kernel, stores: others }) : null;
      if (others.length > 0 && !rest) continue;
      const after = [launch, rest].flatMap((each) => each?.kernel ?? []);
      if (!this.#paysAtSizes(() => paysInAll([kernel, consumer], after, this.capabilities))) continue;
      this.#replace([reader], reader, launch);
      if (!rest) return table.remove(at);
      this.#replace([at], at, rest);
      return this.#workOutInReader(at);
    }
  }

  /** Two kernels as one that works out what the second reads of a storage; null where that is not possible, or does not pay. */
  #merge(consumer: Kernel, producer: LoopNest, storage: Storage): Kernel | null {
    const merged = inlineProducer(consumer, producer, storage);
    const light = merged && this.lighten(merged);
    return light && this.#paysAtSizes(() => pays(light, consumer, producer, this.capabilities)) ? light : null;
  }

  /** Whether something pays at the sizes of now, and at others that are much larger: it serves for those too. */
  #paysAtSizes(isWorth: () => boolean): boolean {
    const { env } = this.program;
    if (!isWorth()) return false;
    if (!env) return true;
    const sizes = env.symbols.map(({ value }) => value);
    try {
      sizes.forEach((size, symbol) => env.set(symbol, muchLarger * size));
      return isWorth();
    } finally {
      sizes.forEach((size, symbol) => env.set(symbol, size));
    }
  }

  /** Kernels of equally long loops that have nothing to do with each other are one. */
  #joinAlike(at: number): void {
    const table = this.#table;
    const kernel = table.kernelAt(at);
    if (kernel?.kind !== 'nest') return;
    const uses = table.usesAt(at);
    for (let other = at + 1; other < Math.min(table.length, at + maxDistance); other++) {
      const later = table.kernelAt(other);
      if (later?.kind !== 'nest' || table.clashes(uses, table.usesAt(other)).length > 0) continue;
      const place = table.mayMove(uses, at, other) ? other : table.mayMove(table.usesAt(other), other, at) ? at : -1;
      const joined = place < 0 ? null : joinNests(kernel, later);
      if (!joined || nodesOf(joined) > maxNodes) continue;
      const [one, first, second] = [joined, kernel, later].map((each) => workOf(each));
      if (one.longest > Math.max(first.longest, second.longest) + allowanceOf(this.capabilities).longest) continue;
      const launch = this.recorder.prepare(this.lighten(joined));
      if (!launch) continue;
      this.#replace([at, other], place, launch);
      return place === at ? this.#joinAlike(at) : undefined;
    }
  }

  /** What goes over the elements of one other kernel's result is done by that one, as it makes them. */
  #appendToProducer(at: number): void {
    const table = this.#table;
    const consumer = table.kernelAt(at);
    if (consumer?.kind !== 'nest') return;
    const uses = table.usesAt(at);
    for (const [storage, { stores }] of uses) {
      const [from, ...others] = table.storersOf(storage);
      if (stores || others.length > 0 || from === undefined || from >= at) continue;
      const kernel = table.kernelAt(from);
      if (!kernel) continue;
      const isReadLater = (each: Storage): boolean =>
        !this.#isScratch(each) || table.loadersOf(each).some((reader) => reader !== at && reader !== from);
      const place =
        !isReadLater(storage) && table.mayMove(table.usesAt(from), from, at)
          ? at
          : table.mayMove(uses, at, from)
            ? from
            : -1;
      const merged = place < 0 ? null : appendConsumer(kernel, consumer, storage, isReadLater);
      const launch = merged && nodesOf(merged) <= maxNodes ? this.recorder.prepare(this.lighten(merged)) : null;
      if (!launch) continue;
      this.#replace([from, at], place, launch);
      // What it makes of them may be gone over in turn.
      return place === at ? this.#appendToProducer(at) : undefined;
    }
  }

  #isScratch(storage: Storage): boolean {
    return isScratch(this.program, storage);
  }

  /** Puts one launch in the place of several, where one of them was. */
  #replace(replaced: readonly number[], at: number, launch: PreparedLaunch): void {
    this.#table.replace(replaced, at, launchStep(launch));
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
