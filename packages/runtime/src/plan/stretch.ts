import {
  elementSize,
  List,
  realType,
  Storage,
  Tensor,
  Tuple,
  type DeviceBuffer,
  type IValue,
  type OpenNumber,
  type ScalarType,
} from '@cresset/tensor';
import { runWithoutData } from '@cresset/operators';
import type { CommandList, ComputeDevice, LaunchRecorder } from '@cresset/tensorexpr';
import type { Frame } from '../interpreter/frame.ts';
import { planMemory } from '../memory/memory-plan.ts';
import type { CallInProgress } from '../interpreter/program-place.ts';
import type { Execution } from '../run/execution.ts';
import { countOne } from '../run/run-counters.ts';
import type { RuntimeContext } from '../run/runtime-context.ts';
import { arrangeLaunches, type ArrangedLaunches } from './arranged-launches.ts';
import { fuseLaunches } from './fused-launches.ts';
import { KeptLaunches } from './kept-launches.ts';
import type { KeptValue, KeptValues } from './kept-values.ts';
import { RepeatedStep } from './host-step.ts';
import { SameLayout, type AttributeOrigin, type LiveIn } from './live-in.ts';
import { makeValues, type MadeValue } from './made-value.ts';
import { DerivedNumber } from './open-params.ts';
import type { ContentNote, Draw, LaunchNote, Recording, Step, StorageNote } from './recording.ts';

/** A storage that a replay works with, beside the scratch buffers of its list. */
type StorageSource =
  /** The storage of live-ins. */
  | { readonly kind: 'given' }
  | { readonly kind: 'fixed'; readonly storage: Storage }
  /** Made of parameters; `inputs` are those before it that it is made of. */
  | { readonly kind: 'kept'; readonly value: KeptValue; readonly inputs: readonly number[] }
  /** Made anew on the device for each replay: it outlives the stretch. */
  | { readonly kind: 'made'; readonly dtype: ScalarType; readonly count: number }
  /** Made anew on the host, with these elements. */
  | { readonly kind: 'copied'; readonly from: Storage };

/** A storage that launches use, and how. */
interface BoundStorage {
  readonly storage: number;
  readonly dtype: ScalarType;
  readonly stored: boolean;
  /** Of elements that nobody needs when the stretch is over. */
  readonly isPassing: boolean;
}

/** Where a number comes from that a replay writes among the params of its launches. */
type NumberSource =
  /** A scalar, or where a tensor begins. */
  | {
      readonly kind: 'live-in';
      readonly at: number;
      readonly isScalar: boolean;
      /** What is made of it. */
      readonly of?: (value: number | bigint) => number | bigint;
    }
  /** Of the stream with these draws. */
  | { readonly kind: 'draw'; readonly draw: number; readonly part: 'key' | 'first' };

/** What the labels of launches come to. */
type LabelCounts = readonly (readonly [label: string, count: number])[];

/**
 * A straight line of instructions whose work on the device was recorded: what has to be found at its beginning, the launches, and how the
 * values are made that are in registers at its end. A replay looks nothing up and allocates nothing but what outlives it.
 */
export class Stretch {
  /** When it was last replayed or made, as its planner counts. */
  lastUse = 0;
  /** What was replayed at the same place after it the last time: a loop's trips come in one order. */
  next: Stretch | null = null;
  readonly #values: IValue[] = [];
  /** Serial numbers of the live-ins' storages, each by its place. */
  readonly #serials: number[];
  readonly #storages: Storage[] = [];
  readonly #buffers: DeviceBuffer[] = [];
  /** What its steps came to, as far as they were done. */
  readonly #computed: (readonly IValue[])[] = [];
  readonly #computedOnHost: (readonly IValue[])[] = [];
  /** What its launches take along. */
  readonly #numbers: (number | bigint)[] = [];
  /** The register that held another number than it was recorded for, when it was last looked at; -1 where there was none. */
  mismatch = -1;
  readonly #registers: readonly number[];

  constructor(
    readonly end: number,
    readonly instructions: number,
    readonly launchCount: number,
    readonly labels: LabelCounts,
    readonly gradEnabled: boolean,
    /** Where the program is that calls the function, if its launches note faults: those are told with it. */
    readonly callers: readonly CallInProgress[] | null,
    private readonly liveIns: readonly LiveIn[],
    /** What is done anew each time, of live-ins alone. */
    private readonly steps: readonly Step[],
    private readonly hostSteps: readonly RepeatedStep[],
    /** Storages that the host computes and that outlive the stretch. */
    private readonly handedOut: readonly number[],
    private readonly numbers: readonly NumberSource[],
    private readonly draws: readonly Draw[],
    private readonly contents: readonly ContentNote[],
    /** Those of live-ins first. */
    private readonly sources: readonly StorageSource[],
    private readonly bound: readonly BoundStorage[],
    private readonly made: readonly MadeValue[],
    /** Registers that hold other values at the end: their number, and the number of what is made for them. */
    private readonly results: readonly { readonly register: number; readonly made: number }[],
    /** Registers that hold nothing any more. */
    private readonly cleared: readonly number[],
    private readonly list: CommandList,
    serials: number[],
    /** Copies of what the host computed, for launches to read. */
    private readonly copies: readonly Storage[],
  ) {
    this.#serials = serials;
    this.#registers = results.map(({ register }) => register);
  }

  /** Bytes of the device that it takes, replayed or not. */
  get byteLength(): number {
    return this.list.byteLength;
  }

  /** Whether everything is as it was recorded; `replay` may follow at once then. */
  matches(frame: Frame, context: RuntimeContext, device: ComputeDevice): boolean {
    const values = this.#values;
    const storages = this.#storages;
    const { liveIns } = this;
    let found = 0;
    let areOthers = false;
    this.mismatch = -1;
    this.#computed.length = this.#computedOnHost.length = 0;
    for (let at = 0; at < liveIns.length; at++) {
      const liveIn = liveIns[at];
      const value = this.#valueOf(liveIn, frame, context);
      if (value === undefined) return false;
      if (liveIn.isGuarded && !liveIn.matches(value)) {
        if ('register' in liveIn.origin && typeof value !== 'object') this.mismatch = liveIn.origin.register;
        return false;
      }
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
    for (const { storage, writes } of this.contents) if (storage.writes !== writes) return false;
    for (let at = 0; at < this.sources.length; at++) {
      const source = this.sources[at];
      if (source.kind === 'fixed') storages[at] = source.storage;
      if (source.kind !== 'kept') continue;
      if (!source.value.canReachDevice(source.inputs, storages)) return false;
      storages[at] = source.value.storage;
    }
    return this.bound.every(({ storage, dtype }) => {
      const { kind } = this.sources[storage];
      return (kind !== 'given' && kind !== 'fixed') || storages[storage].canReachDevice(device, dtype);
    });
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
        return (this.#computed[origin.step] ??= this.#compute(this.steps[origin.step], context))[origin.at];
    }
    return origin satisfies never;
  }

  #compute({ row, inputs }: Step, context: RuntimeContext): readonly IValue[] {
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
      return this.hostSteps[step].run(this.#values, context);
    } catch {
      // The instruction itself tells of it.
      return [];
    }
  }

  /** Whether no two of the first `count` storages are one. */
  #areDistinct(count: number): boolean {
    const storages = this.#storages;
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

  /** Does what the instructions did. Throws what their launches may throw. */
  replay(frame: Frame, execution: Execution, device: ComputeDevice, recorder: LaunchRecorder): void {
    const { sources, bound } = this;
    const storages = this.#storages;
    const buffers = this.#buffers;
    const { ledger } = execution;
    try {
      for (let at = 0; at < sources.length; at++) {
        const source = sources[at];
        if (source.kind === 'fixed') storages[at] = source.storage;
        else if (source.kind === 'kept') storages[at] = source.value.storageOf(source.inputs, storages);
        else if (source.kind === 'copied') storages[at] = source.from.copyOnHost();
        else if (source.kind === 'made') storages[at] = Storage.onDevice(device, source.dtype, source.count);
        else continue;
        if (source.kind === 'copied' || source.kind === 'made') ledger?.own(storages[at]);
      }
      for (const at of this.handedOut) ledger?.own(storages[at]);
      for (let at = 0; at < bound.length; at++) {
        const { storage, dtype, stored, isPassing } = bound[at];
        buffers[at] = isPassing
          ? sent(storages[storage], dtype, device)
          : stored
            ? storages[storage].deviceBufferForWriting(device, dtype)
            : storages[storage].deviceBuffer(device, dtype);
      }
      this.#fillNumbers(execution.context);
      recorder.replay(this.list, buffers, this.#numbers);
      const made = makeValues(this.made, this.#values, storages);
      const values = this.results.map(({ register, made: at }) => {
        const value = made[at];
        if (ledger && value instanceof List && !frame.code.countedLists.has(register)) ledger.pinItems(value);
        return value;
      });
      // All at once: a value may have gone from one register to another.
      frame.setAll(this.#registers, values);
      frame.clear(this.cleared);
    } catch (error) {
      sources.forEach(({ kind }, at) => (kind === 'copied' || kind === 'made') && storages[at]?.dispose());
      throw error;
    } finally {
      for (let at = 0; at < buffers.length; at++) if (bound[at].isPassing) device.release(buffers[at]);
      // What it worked with is not its own: it may be large.
      this.#values.length = storages.length = buffers.length = 0;
      this.#computed.length = this.#computedOnHost.length = 0;
    }
    const { counters } = execution.context;
    for (const [label, count] of this.labels) counters.device.set(label, (counters.device.get(label) ?? 0) + count);
    for (const { step } of this.hostSteps) countOne(counters.hostSmall, step.name);
    counters.replayed += this.launchCount;
    frame.programCounter = this.end;
  }

  #fillNumbers({ generator }: RuntimeContext): void {
    const streams = this.draws.map(({ count }) => generator.stream(count));
    this.numbers.forEach((source, at) => {
      if (source.kind === 'draw') this.#numbers[at] = streams[source.draw][source.part];
      else {
        const value = this.#values[source.at];
        const number = value instanceof Tensor ? value.handedOnOffset : (value as number | bigint);
        this.#numbers[at] = source.of ? source.of(number) : number;
      }
    });
  }

  /** What is another number with each replay, for people to read. */
  get patched(): string[] {
    return this.numbers.map((source) => {
      if (source.kind === 'draw') return 'random numbers';
      return source.isScalar ? 'a number of the program' : 'where a tensor begins';
    });
  }

  /** Attributes that other tensors come in more often than not: they are no parameters. */
  get varying(): AttributeOrigin[] {
    return this.sources.flatMap((source) => {
      if (source.kind !== 'kept' || source.value.varying < 0) return [];
      const storage = source.inputs[source.value.varying];
      return this.liveIns.flatMap((liveIn) => (liveIn.storage === storage ? (this.#attributeOf(liveIn) ?? []) : []));
    });
  }

  #attributeOf({ origin }: LiveIn): AttributeOrigin | null {
    if (origin.kind === 'item') return this.#attributeOf(this.liveIns[origin.of]);
    return origin.kind === 'attribute' ? origin : null;
  }

  dispose(recorder: LaunchRecorder, kept: KeptValues): void {
    recorder.forget(this.list);
    for (const copy of this.copies) copy.dispose();
    for (const source of this.sources) if (source.kind === 'kept') kept.release(source.value);
  }
}

/** A buffer with a storage's elements, which is none of the storage's. */
function sent(storage: Storage, dtype: ScalarType, device: ComputeDevice): DeviceBuffer {
  const buffer = device.allocate((storage.byteLength / elementSize(dtype)) * device.deviceElementSize(dtype));
  device.upload(buffer, dtype, new Uint8Array(storage.hostBytes()));
  return buffer;
}

/** What a stretch may be made of its recording. */
export interface StretchLimits {
  /** Null where it is to keep nothing. */
  readonly kept: KeptValues | null;
  /** How much is done in one launch at most (`RuntimeLimits`). */
  readonly joinedNodes: number;
}

/** Makes a stretch of what was recorded up to the instruction `end`. */
export function makeStretch(
  recording: Recording,
  end: number,
  callers: readonly CallInProgress[],
  device: ComputeDevice,
  recorder: LaunchRecorder,
  limits: StretchLimits,
): Stretch {
  return new StretchBuilder(recording, device, limits).build(end, callers, recorder);
}

class StretchBuilder {
  readonly #sources: StorageSource[] = [];
  /** Where a storage of the recording is among the sources. */
  readonly #numbers = new Map<Storage, number>();
  readonly #copies: Storage[] = [];
  /** Storages of live-ins that values lie in when the stretch is over. */
  readonly #outliving = new Set<number>();
  /** Those that the host computes for the stretch alone. */
  readonly #passing = new Set<number>();
  readonly #made: MadeValue[] = [];
  readonly #madeObjects = new Map<object, number>();

  constructor(
    private readonly recording: Recording,
    private readonly device: ComputeDevice,
    private readonly limits: StretchLimits,
  ) {}

  build(end: number, callers: readonly CallInProgress[], recorder: LaunchRecorder): Stretch {
    const { recording } = this;
    const { liveIns, liveInStorages, launches, contents, gradEnabled, instructions } = recording;
    const serials: number[] = [];
    liveIns.forEach((liveIn, at) => {
      const storage = liveInStorages[at];
      if (!storage) return;
      if (!this.#numbers.has(storage)) {
        this.#numbers.set(storage, this.#sources.push({ kind: 'given' }) - 1);
        serials.push(storage.serial);
      }
      liveIn.storage = this.#numbers.get(storage)!;
    });
    const results: { register: number; made: number }[] = [];
    const cleared: number[] = [];
    for (const [register, value] of recording.registers) {
      if (value === undefined) cleared.push(register);
      else results.push({ register, made: this.#resultOf(register, value) });
    }
    const isTemporary = (storage: Storage): boolean =>
      recording.storages.get(storage)?.kind === 'made' && !this.#numbers.has(storage);
    const fused = this.#fuse(launches, isTemporary, recorder);
    const dtypeOf = (storage: Storage): ScalarType => recording.storages.get(storage)!.dtype;
    // A kernel may give back what it was given.
    const given = new Set(liveIns.flatMap(({ origin, storage }) => (origin.kind === 'host' ? [] : storage)));
    const handedOut: number[] = [];
    const kept = new Set<number>();
    for (const { origin, storage } of liveIns) {
      if (origin.kind !== 'host' || given.has(storage)) continue;
      if (this.#outliving.has(storage)) handedOut.push(storage);
      else {
        kept.add(origin.step);
        this.#passing.add(storage);
      }
    }
    const { capabilities } = this.device;
    const { joinedNodes } = this.limits;
    const arranged = arrangeLaunches(fused, { capabilities, recorder, joinedNodes, isTemporary, dtypeOf });
    const numbers = this.#numbersOf(arranged.launches);
    const { bound, list } = this.#record(arranged, recorder);
    return new Stretch(
      end,
      instructions,
      arranged.launches.length,
      countsOf(recording.labels),
      gradEnabled,
      recording.notesFaults ? callers : null,
      liveIns,
      recording.steps,
      recording.hostSteps.map((step, at) => new RepeatedStep(step, kept.has(at))),
      handedOut,
      numbers,
      recording.draws,
      contents,
      this.#sources,
      bound,
      this.#made,
      results,
      cleared,
      list,
      serials,
      this.#copies,
    );
  }

  // ---- values

  #resultOf(register: number, value: IValue): number {
    const at = this.recording.sourceOf(register);
    return at < 0 ? this.#valueOf(value) : this.#made.push(this.#liveIn(at)) - 1;
  }

  #valueOf(value: IValue): number {
    if (typeof value !== 'object' || value === null) return this.#made.push({ kind: 'same', value }) - 1;
    let at = this.#madeObjects.get(value);
    if (at === undefined) {
      const made = this.#recipeOf(value);
      at = this.#made.push(made) - 1;
      this.#madeObjects.set(value, at);
    }
    return at;
  }

  #liveIn(at: number): MadeValue {
    this.#outliving.add(this.recording.liveIns[at].storage);
    return { kind: 'live-in', at };
  }

  #recipeOf(value: IValue & object): MadeValue {
    const liveIn = this.recording.liveInOf(value);
    if (liveIn >= 0) return this.#liveIn(liveIn);
    if (this.recording.isConstant(value)) return { kind: 'same', value };
    if (value instanceof Tensor) {
      const { dtype, sizes, strides, storageOffset: offset, requiresGrad, storage } = value;
      return { kind: 'tensor', storage: this.#outlive(storage, dtype), dtype, sizes, strides, offset, requiresGrad };
    }
    if (value instanceof List || value instanceof Tuple) {
      const items = value.items.map((item) => this.#valueOf(item));
      return value instanceof List
        ? { kind: 'list', elementType: value.elementType, items }
        : { kind: 'tuple', type: value.type, items };
    }
    return { kind: 'same', value };
  }

  /** A storage that is there when the stretch is over. */
  #outlive(storage: Storage, tensorType: ScalarType): number {
    let at = this.#numbers.get(storage);
    if (at !== undefined) {
      this.#outliving.add(at);
      return at;
    }
    const note = this.recording.storages.get(storage);
    at = this.#sources.push(this.#sourceOf(storage, note, realType(tensorType))) - 1;
    this.#numbers.set(storage, at);
    return at;
  }

  #sourceOf(storage: Storage, note: StorageNote | undefined, tensorType: ScalarType): StorageSource {
    if (storage.serial <= this.recording.firstSerial) return { kind: 'fixed', storage };
    if (storage.isOnHost) return { kind: 'copied', from: storage.copyOnHost() };
    const dtype = note?.dtype ?? tensorType;
    return { kind: 'made', dtype, count: storage.byteLength / elementSize(dtype) };
  }

  // ---- launches

  #fuse(
    launches: readonly LaunchNote[],
    isTemporary: (storage: Storage) => boolean,
    recorder: LaunchRecorder,
  ): LaunchNote[] {
    const { capabilities } = this.device;
    const { kept: values } = this.limits;
    if (!values) return fuseLaunches(launches, isTemporary, capabilities, recorder, (kernel) => kernel);
    const kept = new KeptLaunches(values, launches, (storage) => this.#isParameter(storage), recorder);
    const needed = kept.without(launches, isTemporary);
    const fused = fuseLaunches(needed, isTemporary, capabilities, recorder, (kernel) => kept.lighten(kernel));
    const storages: Storage[] = [];
    const numberOf = (storage: Storage): number => {
      const known = this.#numbers.get(storage);
      const at = known ?? this.#sources.push({ kind: 'fixed', storage }) - 1;
      this.#numbers.set(storage, at);
      storages[at] ??= storage;
      return at;
    };
    kept.take(fused, (stands, value, of) => {
      const inputs = of.map(numberOf);
      const at = this.#sources.push({ kind: 'kept', value, inputs }) - 1;
      this.#numbers.set(stands, at);
      this.recording.storages.set(stands, { kind: 'fixed', dtype: value.made.dtype, copy: null, writes: 0 });
      // Now rather than with the first replay: those are all alike.
      storages[at] = value.storageOf(inputs, storages);
    });
    return fused;
  }

  /** Whether what a storage holds is likely to be the same each time. */
  #isParameter(storage: Storage): boolean {
    const kind = this.recording.storages.get(storage)?.kind;
    const attribute = kind === 'given' ? this.recording.attributeOf(storage) : null;
    return attribute ? !this.limits.kept!.isVarying(attribute.object, attribute.slot) : kind === 'fixed';
  }

  /** Numbers what launches take along. */
  #numbersOf(launches: readonly LaunchNote[]): NumberSource[] {
    const { liveIns, draws } = this.recording;
    const known = new Map<OpenNumber, NumberSource>();
    liveIns.forEach(({ open }, at) => {
      if (open) known.set(open, { kind: 'live-in', at, isScalar: !(liveIns[at] instanceof SameLayout) });
    });
    draws.forEach(({ key, first }, draw) => {
      known.set(key, { kind: 'draw', draw, part: 'key' }).set(first, { kind: 'draw', draw, part: 'first' });
    });
    const taken = new Set(launches.flatMap(({ launch }) => launch.params.flatMap(({ open }) => open ?? [])));
    return [...taken].map((open, index) => {
      open.index = index;
      return open instanceof DerivedNumber
        ? ({ ...known.get(open.base)!, of: open.of } as NumberSource)
        : known.get(open)!;
    });
  }

  #record(
    { launches, homeOf }: ArrangedLaunches,
    recorder: LaunchRecorder,
  ): { bound: BoundStorage[]; list: CommandList } {
    const { storages } = this.recording;
    const uses = new Map<Storage, { first: number; last: number; stored: boolean }>();
    launches.forEach(({ launch: { bindings }, storages: used }, at) =>
      used.map(homeOf).forEach((storage, binding) => {
        const { stored } = bindings[binding];
        const use = uses.get(storage);
        if (use) {
          use.last = at;
          use.stored ||= stored;
        } else uses.set(storage, { first: at, last: at, stored });
      }),
    );
    const bound: BoundStorage[] = [];
    const places = new Map<Storage, number>();
    const scratch: { storage: Storage; byteLength: number; first: number; last: number }[] = [];
    for (const [storage, { first, last, stored }] of uses) {
      const { kind, dtype, copy } = storages.get(storage)!;
      const outlives = this.#numbers.has(storage) && kind !== 'computed';
      if (kind === 'made' && !outlives) {
        const elementBytes = this.device.deviceElementSize(dtype);
        scratch.push({ storage, byteLength: (storage.byteLength / elementSize(dtype)) * elementBytes, first, last });
        continue;
      }
      const number = outlives
        ? this.#numbers.get(storage)!
        : this.#sources.push({ kind: 'fixed', storage: copy ?? storage }) - 1;
      if (copy) this.#copies.push(copy);
      const isPassing = this.#passing.has(number);
      places.set(storage, bound.push({ storage: number, dtype, stored, isPassing }) - 1);
    }
    const { buffers, bufferOf } = planMemory(scratch);
    scratch.forEach(({ storage }, at) => places.set(storage, bound.length + bufferOf[at]));
    const recorded = launches.map(({ launch, storages: used }) => ({
      launch,
      places: used.map((storage) => places.get(homeOf(storage))!),
    }));
    return { bound, list: recorder.record(recorded, bound.length, buffers) };
  }
}

function countsOf(labels: readonly string[]): LabelCounts {
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts];
}
