import {
  hint,
  LEAST_SYMBOL,
  List,
  MOST_SYMBOL,
  Tensor,
  Tuple,
  type IValue,
  type ScriptObject,
  type SymKind,
} from '@cresset/tensor';
import { runWithoutData } from '@cresset/operators';
import type { ComputeDevice, LaunchRecorder, ScheduledLaunch } from '@cresset/tensorexpr';
import type { Frame } from '../interpreter/frame.ts';
import type { CallInProgress } from '../interpreter/program-place.ts';
import type { Execution } from '../run/execution.ts';
import { countNames, type CountedNames } from '../run/run-counters.ts';
import type { RuntimeContext } from '../run/runtime-context.ts';
import type { KeptValues } from './kept-values.ts';
import { makeValues, type MadeValue } from './made-value.ts';
import { bindProgram, type BoundProgram } from './program/bound-program.ts';
import {
  stepsOf,
  type AppendStep,
  type ComputeStep,
  type DrawStep,
  type GuardStep,
  type LaunchProgram,
  type ResultStep,
  type SetStep,
} from './program/launch-program.ts';
import { RepeatedStep } from './recording/host-step.ts';
import { numberOfNow } from './recording/numbers-of-sizes.ts';
import {
  attributeOf,
  GrowingList,
  layoutNumber,
  originName,
  SameLayout,
  SameLength,
  type AttributeOrigin,
  type LiveIn,
} from './recording/live-in.ts';
import { RowsOfStretch } from './rows-of-stretch.ts';
import { likenessOf } from './seen-visits.ts';
import { StretchStorages } from './stretch-storages.ts';

/** Where a stretch is in its function, and what a replay stands for. */
export interface StretchPlace {
  readonly end: number;
  readonly instructions: number;
  /** What its launches are counted as. */
  readonly labels: CountedNames;
  readonly gradEnabled: boolean;
  /** Where the program is that calls the function, if its launches note faults: those are told with it. */
  readonly callers: readonly CallInProgress[] | null;
}

/**
 * A straight line of instructions whose work on the device was recorded: what has to be found at its beginning, the launches, and how the
 * values are made that are in registers at its end. A replay looks nothing up and allocates nothing but what outlives it.
 */
export class Stretch {
  /** When it was last replayed or made, as its planner counts. */
  lastUse = 0;
  /** Which recording of its place it is; 0 of rolled trips. */
  number = 0;
  /** What was replayed at the same place after it the last time: a loop's trips come in one order. */
  next: Stretch | null = null;
  /** What its live-ins are, while it is looked at or replayed. */
  readonly #values: IValue[];
  /** Serial numbers of the live-ins' storages, each by its place. */
  readonly #serials: number[];
  /** What its steps came to, as far as they were done. */
  readonly #computed: (readonly IValue[] | null)[];
  readonly #computedOnHost: (readonly IValue[] | null)[];
  /** What the host does in it. */
  readonly onHost: CountedNames;
  /** What its launches take along now. */
  readonly #numbers: (number | bigint)[] = [];
  readonly #registers: readonly number[];
  /** Live-ins that are lists: those that grow, and those whose items it goes by. */
  readonly #growing: readonly number[];
  readonly #read: readonly number[];

  readonly launchCount: number;
  readonly #liveIns: readonly LiveIn[];
  /** What is done anew each time, of live-ins alone. */
  readonly #steps: readonly ComputeStep[];
  readonly #hostSteps: readonly RepeatedStep[];
  readonly #draws: readonly DrawStep[];
  readonly #contents: readonly GuardStep[];
  readonly #made: readonly MadeValue[];
  readonly #appended: readonly AppendStep[];
  readonly #sets: readonly SetStep[];
  readonly #results: readonly ResultStep[];
  /** Registers that hold nothing any more, or nothing that is read again. */
  readonly #cleared: readonly number[];
  readonly #storages: StretchStorages;
  readonly #bound: BoundProgram;
  readonly #rows: RowsOfStretch;

  /** What it does, for people to read; null where that is not kept. */
  program: LaunchProgram | null;

  constructor(
    readonly place: StretchPlace,
    program: LaunchProgram,
    device: ComputeDevice,
    recorder: LaunchRecorder,
    kept: Pick<KeptValues, 'take'> | null,
  ) {
    this.program = program;
    this.launchCount = stepsOf(program, 'launch').length;
    this.#liveIns = stepsOf(program, 'find');
    this.#steps = stepsOf(program, 'compute');
    this.#draws = stepsOf(program, 'draw');
    this.#contents = stepsOf(program, 'guard');
    this.#made = stepsOf(program, 'make').map(({ value }) => value);
    this.#appended = stepsOf(program, 'append');
    this.#sets = stepsOf(program, 'set');
    const results = stepsOf(program, 'result');
    this.#results = results.filter(({ made }) => made >= 0);
    this.#cleared = results.flatMap(({ register, made }) => (made < 0 ? register : []));
    this.#registers = this.#results.map(({ register }) => register);
    const storages = [...program.storages];
    this.#hostSteps = stepsOf(program, 'host').map((step, at) => {
      const { storage } = this.#liveIns.find(({ origin }) => origin.kind === 'host' && origin.step === at)!;
      return new RepeatedStep(step, storages[storage]?.[1].kind === 'passing');
    });
    this.#serials = storages.map(([{ serial }]) => serial);
    this.#bound = bindProgram(program, device, recorder);
    this.#storages = new StretchStorages(program, this.#bound.bound, kept);
    this.#rows = new RowsOfStretch(program, device);
    this.#computed = this.#steps.map(() => null);
    this.#computedOnHost = this.#hostSteps.map(() => null);
    this.onHost = countNames(this.#hostSteps.map(({ step }) => step.name));
    const numbersOfKind = <Kind>(kind: abstract new (...args: never[]) => Kind): number[] =>
      this.#liveIns.flatMap((liveIn, at) => (liveIn instanceof kind ? at : []));
    this.#growing = numbersOfKind(GrowingList);
    this.#read = numbersOfKind(SameLength);
    this.#values = new Array<IValue>(this.#liveIns.length).fill(null);
  }

  /** Bytes of the device that it takes, replayed or not. */
  get byteLength(): number {
    return this.#bound.list.byteLength;
  }

  /** How its launches are run, where the device is a GPU. */
  get scheduled(): readonly ScheduledLaunch[] {
    return this.#bound.list.scheduled ?? [];
  }

  /** Whether everything is as it was recorded; `replay` may follow at once then. */
  matches(frame: Frame, context: RuntimeContext, device: ComputeDevice): boolean {
    const values = this.#values;
    const storages = this.#storages.now;
    const liveIns = this.#liveIns;
    let found = 0;
    let areOthers = false;
    this.#forgetSteps();
    for (let at = 0; at < liveIns.length; at++) {
      const liveIn = liveIns[at];
      const value = this.#valueOf(liveIn, frame, context);
      if (value === undefined) return false;
      if (liveIn.symbols.length > 0 && !this.#takeSizes(liveIn, value)) return false;
      if (liveIn.isGuarded && !liveIn.matches(value)) return false;
      values[at] = value;
      if (liveIn.storage < 0) continue;
      if (!(value instanceof Tensor)) return false;
      const { storage } = value;
      // Storages are numbered in the order in which live-ins meet them.
      if (liveIn.storage < found) {
        if (storages[liveIn.storage] !== storage) return false;
        continue;
      }
      areOthers ||= storage.serial !== this.#serials[found];
      storages[found++] = storage;
    }
    if (areOthers && !this.#areDistinct(found)) return false;
    if (this.#growing.length > 0 && !this.#growApart()) return false;
    for (const { storage, writes, liveIn } of this.#contents) {
      if (storage.writes !== writes) return false;
      if (liveIn >= 0 && (values[liveIn] as Tensor).storage !== storage) return false;
    }
    const { sizes } = this.#bound;
    if (sizes && !this.#rows.match(storages, sizes.env)) return false;
    if (sizes && !(sizes.env.holds() && sizes.fit(device))) return false;
    return this.#storages.canReachDevice(device);
  }

  /**
   * A number for what its live-ins are now, as far as it goes by them and nothing has to be computed for that: visits for which it is
   * another one need recordings of their own.
   */
  likeness(frame: Frame, context: RuntimeContext): number {
    let hash = 0;
    this.#eachFound(frame, context, ({ isGuarded, open }, value) => {
      if (isGuarded) hash = likenessOf(value, open?.isRead === false, hash);
    });
    return hash;
  }

  /** Shows what live-ins are now for which nothing has to be computed. */
  #eachFound(frame: Frame, context: RuntimeContext, visit: (liveIn: LiveIn, value: IValue | undefined) => void): void {
    const values = this.#values;
    this.#liveIns.forEach((liveIn, at) => {
      const { kind } = liveIn.origin;
      if (kind === 'computed' || kind === 'host') return;
      const value = this.#valueOf(liveIn, frame, context);
      values[at] = value ?? null;
      visit(liveIn, value);
    });
    values.fill(null);
  }

  /** Has symbols stand for the sizes of what is given, or for the number that it is. */
  #takeSizes({ symbols }: LiveIn, value: IValue): boolean {
    const { env } = this.#bound.sizes!;
    for (const { symbol, place } of symbols) {
      const { kind } = env.symbols[symbol];
      const size = place === null ? numberIn(value, kind) : numberAt(value, place);
      if (kind === 'int' ? !(size >= LEAST_SYMBOL && size <= MOST_SYMBOL) : Number.isNaN(size)) return false;
      env.set(symbol, size);
    }
    return true;
  }

  /** Adds registers with other numbers than it was recorded for, and places of layouts that are others, by the names of their origins. */
  noteMoved(frame: Frame, context: RuntimeContext, varying: Set<number>, moved: Map<string, Set<number>>): void {
    this.#eachFound(frame, context, (liveIn, value) => {
      if (value === undefined) return;
      const { origin, isGuarded } = liveIn;
      if (isGuarded && 'register' in origin && typeof value !== 'object' && !liveIn.matches(value))
        varying.add(origin.register);
      if (!(value instanceof Tensor && liveIn instanceof SameLayout)) return;
      const name = originName(liveIn.origin, this.#liveIns)!;
      for (const place of liveIn.movedPlaces(value)) moved.set(name, (moved.get(name) ?? new Set()).add(place));
    });
  }

  /** Whether no list that grows is one whose items it goes by. */
  #growApart(): boolean {
    const values = this.#values;
    return this.#growing.every((at) => this.#read.every((other) => values[at] !== values[other]));
  }

  /** What a live-in is now; undefined where there is nothing like it. */
  #valueOf({ origin }: LiveIn, frame: Frame, context: RuntimeContext): IValue | undefined {
    switch (origin.kind) {
      case 'register':
        return frame.get(origin.register);
      case 'attribute':
        return origin.object.slots[origin.slot] ?? null;
      case 'item': {
        const parent = this.#values[origin.of];
        return parent instanceof List || parent instanceof Tuple ? parent.items[origin.at] : undefined;
      }
      case 'host':
        return (this.#computedOnHost[origin.step] ??= this.#computeOnHost(origin.step, context))[0];
      case 'computed':
        return (this.#computed[origin.step] ??= this.#compute(this.#steps[origin.step], context))[origin.at];
    }
    return origin satisfies never;
  }

  #compute({ row, inputs }: ComputeStep, context: RuntimeContext): readonly IValue[] {
    const args = inputs.map((input) => ('liveIn' in input ? this.#values[input.liveIn] : input.constant));
    try {
      return runWithoutData(row, args, context) ?? [];
    } catch {
      // The instruction itself tells of it.
      return [];
    }
  }

  #computeOnHost(step: number, context: RuntimeContext): readonly IValue[] {
    try {
      return this.#hostSteps[step].run(this.#values, context);
    } catch {
      // The instruction itself tells of it.
      return [];
    }
  }

  /** Whether no two of the first `count` storages are one. */
  #areDistinct(count: number): boolean {
    const storages = this.#storages.now;
    const serials = this.#serials;
    for (let at = 0; at < count; at++) {
      if (storages[at].serial === serials[at]) continue;
      for (let other = 0; other < count; other++) {
        if (other !== at && storages[other] === storages[at]) return false;
      }
    }
    for (let at = 0; at < count; at++) serials[at] = storages[at].serial;
    return true;
  }

  #forgetSteps(): void {
    if (this.#computed.length > 0) this.#computed.fill(null);
    if (this.#computedOnHost.length > 0) this.#computedOnHost.fill(null);
  }

  /** Does what the instructions did. Throws what their launches may throw, and has done nothing then. */
  replay(frame: Frame, execution: Execution, device: ComputeDevice, recorder: LaunchRecorder): void {
    const storages = this.#storages;
    const { ledger } = execution;
    const rewind = this.#draws.length > 0 ? execution.context.generator.mark?.() : undefined;
    try {
      const buffers = this.#rows.inTheirPlace(storages.now, () => storages.open(device, ledger));
      this.#fillNumbers(execution.context);
      recorder.replay(this.#bound.list, buffers, this.#numbers);
      const made = makeValues(this.#made, this.#values, storages.now);
      for (const { list, made: at } of this.#appended) {
        (this.#values[list] as List).items.push(made[at]);
        ledger?.pin(made[at]);
      }
      for (const { object: at, slot, made: value } of this.#sets) {
        const object = this.#values[at] as ScriptObject;
        ledger?.setAttribute(object, slot, made[value]);
        object.slots[slot] = made[value];
      }
      const values = this.#results.map(({ register, made: at }) => {
        const value = made[at];
        if (ledger && !frame.code.countedLists.has(register)) ledger.pinItems(value);
        return value;
      });
      // All at once: a value may have gone from one register to another.
      frame.setAll(this.#registers, values);
      frame.clear(this.#cleared);
    } catch (error) {
      storages.undo();
      rewind?.();
      throw error;
    } finally {
      storages.close(device);
      // They may be large. An array that is emptied by its length has to grow again.
      this.#values.fill(null);
      this.#forgetSteps();
    }
    const { counters } = execution.context;
    counters.device.addAll(this.place.labels);
    counters.hostSmall.addAll(this.onHost);
    counters.replayed += this.launchCount;
    frame.programCounter = this.place.end;
  }

  #fillNumbers({ generator }: RuntimeContext): void {
    const streams = this.#draws.map(({ count }) => generator.stream(count));
    this.#bound.numbers.forEach((source, at) => {
      if (source.kind === 'draw') this.#numbers[at] = streams[source.draw][source.part];
      else {
        const number = source.kind === 'size' ? numberOfNow(source.size) : this.#numberOf(source.at);
        this.#numbers[at] = source.of ? source.of(number) : number;
      }
    });
  }

  #numberOf(liveIn: number): number | bigint {
    const value = this.#values[liveIn];
    return value instanceof Tensor ? value.handedOnOffset : (value as number | bigint);
  }

  /** What is another number with each replay, for people to read. */
  get patched(): string[] {
    return this.#bound.numbers.map((source) => {
      if (source.kind === 'draw') return 'random numbers';
      if (source.kind === 'size') return 'a number of sizes';
      return source.isScalar ? 'a number of the program' : 'where a tensor begins';
    });
  }

  /** Attributes that other tensors come in more often than not: they are no parameters. */
  get varying(): AttributeOrigin[] {
    return this.#storages.varying.flatMap((storage) =>
      this.#liveIns.flatMap((liveIn) => (liveIn.storage === storage ? (attributeOf(this.#liveIns, liveIn) ?? []) : [])),
    );
  }

  dispose(recorder: LaunchRecorder, kept: KeptValues): void {
    recorder.forget(this.#bound.list);
    this.#storages.dispose(kept);
  }
}

/** The whole number that a value is; NaN where it is none. */
const numberIn = (value: IValue, kind: SymKind): number =>
  typeof value === (kind === 'int' ? 'bigint' : 'number') ? Number(value) : NaN;

/** The size of a tensor along a dimension; NaN where there is none. */
const numberAt = (value: IValue, place: number): number =>
  value instanceof Tensor ? hint(layoutNumber(value, place) ?? NaN) : NaN;
