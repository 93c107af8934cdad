import { Tensor, type IValue, type OpenNumber, type Storage } from '@cresset/tensor';
import { param, type ComputeDevice, type LaunchRecorder, type ParamExpr } from '@cresset/tensorexpr';
import { runWithoutData } from '@cresset/operators';
import type { RuntimeContext } from '../../run/runtime-context.ts';
import { rollLaunches, type RolledProgram } from '../passes/roll-launches.ts';
import { isImmutable, isPlainTensor, liveInOf, type LiveIn } from './live-in.ts';
import type { LoopInProgress } from './loop-body.ts';
import { laterReads } from './later-reads.ts';
import { baseOf, DerivedNumber } from './open-params.ts';
import type { Recording } from './recording.ts';
import { stepsOf, type LaunchProgram, type ProgramStorage } from '../program/launch-program.ts';
import type { StorageNote } from './recording-notes.ts';

/** What trips are rolled with. */
export interface RollingTools {
  readonly context: RuntimeContext;
  readonly device: ComputeDevice;
  readonly recorder: LaunchRecorder;
}

/**
 * Makes a recording of one trip of a loop that of this trip and all that follow: the same work with the trip's number as an axis. Does nothing and says false
 * where a trip is not like the next one in all but where tensors begin and numbers that grow evenly, where it leaves something else than tensors
 * to the next, or where its launches cannot be rolled.
 */
export function rollRecording(recording: Recording, loop: LoopInProgress, tools: RollingTools): boolean {
  return new RecordingRoller(recording, loop, tools).roll();
}

/** Operators that take storages as wholes. */
const byStorage: ReadonlySet<string> = new Set([
  'aten::as_strided',
  'aten::as_strided_',
  'aten::resize_',
  'aten::resize_as_',
  'aten::set_',
  'aten::storage_offset',
]);

/** So many trips are looked at one by one, and rolled. */
const MAX_TRIPS = 65536;

class RecordingRoller {
  readonly #trips: number;
  /** What live-ins are in the first trip. */
  readonly #values: readonly (IValue | undefined)[];
  /** Numbers of live-ins in the first trip and in the second. */
  readonly #starts: readonly (readonly [first: number, second: number])[];

  constructor(
    private readonly recording: Recording,
    private readonly loop: LoopInProgress,
    private readonly tools: RollingTools,
  ) {
    this.#trips = loop.trips - loop.trip;
    this.#values = this.#valuesIn(0);
    const next = this.#valuesIn(1);
    this.#starts = recording.liveIns.map(({ open }, at) =>
      open ? [plainNumber(this.#values[at]), plainNumber(next[at])] : [0, 0],
    );
  }

  roll(): boolean {
    const { draws, env, hostSteps, notesFaults } = this.recording;
    if (env || this.#trips > MAX_TRIPS || this.#looksAtStorages()) return false;
    if (draws.length > 0 || hostSteps.length > 0 || notesFaults || !this.#isEven()) return false;
    const results = this.#results();
    const appended = this.#appended();
    if (!results || !appended) return false;
    const carried = this.#carried(results);
    const ofAll = new Set(appended.map(({ storage }) => storage));
    const { device, recorder } = this.tools;
    const rolled =
      carried &&
      rollLaunches(
        this.#trip([...results.values(), ...appended].map(({ storage }) => storage)),
        {
          carried,
          ofAll,
          ofLast: new Set([...results.values()].flatMap(({ storage }) => (ofAll.has(storage) ? [] : storage))),
          strideOf: (param) => this.#strideOf(param),
          startOf: (number) => this.#startOf(number),
        },
        this.#trips,
        device.capabilities,
        recorder,
      );
    if (rolled) this.#become(rolled, results, ofAll);
    return rolled !== null;
  }

  /** Whether the program goes by where in its storage a tensor lies: those of several trips share one. */
  #looksAtStorages(): boolean {
    const { node } = this.recording.frame.code.instructions[this.loop.body.end];
    for (const { kind } of node.owningGraph.allNodes()) if (byStorage.has(kind)) return true;
    return false;
  }

  // ---- what differs from trip to trip

  #valuesIn(trip: number): (IValue | undefined)[] {
    const { recording, loop } = this;
    const values: (IValue | undefined)[] = [];
    for (const { origin } of recording.liveIns) {
      switch (origin.kind) {
        case 'register': {
          const { register } = origin;
          if (register === loop.body.trip) values.push(BigInt(loop.trip + trip));
          // What the trip changes is not the same in the next one.
          else values.push(recording.registers.has(register) ? undefined : recording.frame.get(register));
          break;
        }
        case 'attribute':
          values.push(origin.object.slots[origin.slot] ?? null);
          break;
        case 'computed': {
          const { row, inputs } = recording.steps[origin.step];
          const args = inputs.map((input) => ('liveIn' in input ? values[input.liveIn] : input.constant));
          values.push(args.includes(undefined) ? undefined : this.#computed(row, args as IValue[])?.[origin.at]);
          break;
        }
        default:
          values.push(undefined);
      }
    }
    return values;
  }

  #computed(row: Parameters<typeof runWithoutData>[0], args: IValue[]): readonly IValue[] | null {
    try {
      return runWithoutData(row, args, this.tools.context);
    } catch {
      // Such a trip raises its error by itself.
      return null;
    }
  }

  /** Whether what the trip went by is the same in each, but for numbers that grow evenly. */
  #isEven(): boolean {
    const { liveIns } = this.recording;
    if (liveIns.some(({ origin: { kind } }) => kind === 'item' || kind === 'host')) return false;
    for (let trip = 0; trip < this.#trips; trip++) {
      const values = this.#valuesIn(trip);
      if (!liveIns.every((liveIn, at) => this.#fits(liveIn, at, values[at], trip))) return false;
    }
    return true;
  }

  #fits(liveIn: LiveIn, at: number, value: IValue | undefined, trip: number): boolean {
    if (value === undefined) return liveIn.origin.kind === 'register';
    if (value instanceof Tensor && value.storage !== this.recording.liveInStorages[at]) return false;
    if (liveIn.isGuarded && !liveIn.matches(value)) return false;
    const number = liveIn.open ? plainNumber(value) : 0;
    const [first, second] = this.#starts[at];
    return number === first + trip * (second - first);
  }

  #strideOf({ open, type }: ParamExpr): number | null {
    const at = this.#liveInOf(open);
    if (at < 0 || type === 'bool') return null;
    const [first, second] = this.#starts[at];
    const numberIn = (trip: number): number => {
      const number = first + trip * (second - first);
      return open instanceof DerivedNumber ? Number(open.of(this.#isLong(at) ? BigInt(number) : number)) : number;
    };
    const stride = numberIn(1) - numberIn(0);
    for (let trip = 0; trip < this.#trips; trip++) {
      const number = numberIn(trip);
      if (!Number.isSafeInteger(number) || number !== numberIn(0) + trip * stride) return null;
    }
    return stride;
  }

  /** The live-in whose number stays open, or what is made of it; -1 where there is none. */
  #liveInOf(number: OpenNumber | undefined): number {
    const base = baseOf(number);
    return this.recording.liveIns.findIndex(({ open }) => open !== null && open === base);
  }

  #startOf(number: ParamExpr): ParamExpr {
    const at = this.#liveInOf(number.open);
    // Its own value would be settled for the trip that was recorded by being asked for.
    return this.#isFixed(at) ? param(number.type, number.open!.value) : number;
  }

  /** Whether where tensors begin in a trip goes by a live-in. */
  #isDecisive(at: number): boolean {
    const { liveIns, steps } = this.recording;
    const { origin } = liveIns[at];
    if (origin.kind === 'register' && origin.register === this.loop.body.trip) return true;
    return steps.some(({ inputs }) => inputs.some((input) => 'liveIn' in input && input.liveIn === at));
  }

  /** Whether a live-in is the same with each replay: it is held to be, or is worked out of such alone. */
  #isFixed(at: number): boolean {
    const { origin, open } = this.recording.liveIns[at];
    if (origin.kind !== 'computed')
      return open === null || (this.#isDecisive(at) && typeof this.#values[at] !== 'object');
    return this.recording.steps[origin.step].inputs.every(
      (input) => !('liveIn' in input) || this.#isFixed(input.liveIn),
    );
  }

  #isLong(at: number): boolean {
    return typeof this.#values[at] === 'bigint';
  }

  // ---- what the trip leaves

  #isMade(storage: Storage): boolean {
    return this.recording.storages.get(storage)?.kind === 'made' && !this.recording.liveInStorages.includes(storage);
  }

  /** Tensors that the trip makes and leaves in registers; null where it leaves something else there. */
  #results(): Map<number, Tensor> | null {
    const { registers, liveIns } = this.recording;
    const found = new Map<number, Tensor>();
    const taken = new Set<Storage>();
    if (registers.get(this.loop.body.goesOn) === false) return null;
    const needed = laterReads(this.recording.frame.code, this.loop.body.end + 1);
    for (const [register, value] of registers) {
      const before = liveIns.findIndex(({ origin }) => origin.kind === 'register' && origin.register === register);
      const isNeeded = before >= 0 || needed.has(register);
      if (value === undefined || (isImmutable(value) && !isNeeded)) continue;
      if (value instanceof Tensor && isPlainTensor(value) && this.#isMade(value.storage)) {
        if (taken.has(value.storage) || value.requiresGrad) return null;
        taken.add(value.storage);
        found.set(register, value);
      } else if (before >= 0) {
        if (this.recording.sourceOf(register) !== before) return null;
      } else if (!isImmutable(value) || this.recording.sourceOf(register) >= 0) return null;
    }
    return found;
  }

  #appended(): Tensor[] | null {
    if (this.recording.attributes.sets.length > 0) return null;
    const values = this.recording.appends.map(({ value }) => value);
    const isOwn = (value: IValue): value is Tensor =>
      value instanceof Tensor && isPlainTensor(value) && !value.requiresGrad && this.#isMade(value.storage);
    return values.every(isOwn) ? values : null;
  }

  /** The trip's launches. */
  #trip(outliving: readonly Storage[]): LaunchProgram {
    const storages = new Map<Storage, ProgramStorage>();
    for (const [storage, { dtype, layout }] of this.recording.storages) {
      const kind = !this.#isMade(storage) ? 'given' : outliving.includes(storage) ? 'new' : 'scratch';
      storages.set(storage, { kind, dtype, layout });
    }
    return { steps: this.recording.launches, storages, env: null };
  }

  /** Where the next trip finds what this one leaves; null where that is laid out otherwise. */
  #carried(results: ReadonlyMap<number, Tensor>): Map<Storage, Storage> | null {
    const { liveIns, liveInStorages } = this.recording;
    const found = new Map<Storage, Storage>();
    for (const [at, { origin, open }] of liveIns.entries()) {
      const left = origin.kind === 'register' ? results.get(origin.register) : undefined;
      if (!left) continue;
      const storage = liveInStorages[at];
      // What begins elsewhere each time would begin elsewhere in the next trip too.
      if (!storage || open || !liveIns[at].matches(left)) return null;
      if (liveInStorages.indexOf(storage) !== at || liveInStorages.lastIndexOf(storage) !== at) return null;
      found.set(storage, left.storage);
    }
    return found;
  }

  // ---- what there is of all trips

  #become(
    { program, all, last }: RolledProgram,
    results: ReadonlyMap<number, Tensor>,
    ofAll: ReadonlySet<Storage>,
  ): void {
    const { recording, loop } = this;
    const { launches, labels, appends, storages } = recording;
    for (const [storage, { dtype, layout }] of program.storages) {
      const note: StorageNote = { kind: 'made', dtype, layout, copy: null, writes: 0 };
      if (!storages.has(storage)) storages.set(storage, note);
    }
    launches.splice(0, launches.length, ...stepsOf(program, 'launch'));
    for (const [register, value] of results) {
      // What a list holds too is one with what the list holds.
      const stored = ofAll.has(value.storage) && all.get(value.storage);
      const place = stored ? ((this.#trips - 1) * stored.numel) / this.#trips : 0;
      recording.leave(register, moved(value, stored || last.get(value.storage)!, place));
    }
    recording.leave(loop.body.counter, BigInt(loop.trips));
    const [ownLabels, ownAppends] = [labels.splice(0), appends.splice(0)];
    for (let trip = 0; trip < this.#trips; trip++) {
      labels.push(...ownLabels);
      for (const { list, value } of ownAppends) {
        const tensor = value as Tensor;
        const stored = all.get(tensor.storage)!;
        const place = (trip * stored.numel) / this.#trips;
        appends.push({ list, value: moved(tensor, stored, place), source: -1 });
      }
    }
    recording.instructions *= this.#trips;
    this.#holdTrips();
  }

  /** Holds live-ins to their numbers that the kernels go by: of trips above all. */
  #holdTrips(): void {
    const { recording, loop } = this;
    const { liveIns } = recording;
    liveIns.forEach((liveIn, at) => {
      if (liveIn.origin.kind === 'computed' || !this.#isDecisive(at)) return;
      liveIn.isGuarded = true;
      if (typeof this.#values[at] !== 'object') liveIn.admits.push((number) => number === this.#values[at]);
    });
    const { trip, maxTrips } = loop.body;
    const known = liveIns.some(({ origin }) => origin.kind === 'register' && origin.register === trip);
    if (!known) liveIns.push(guarded({ kind: 'register', register: trip }, BigInt(loop.trip)));
    if (maxTrips >= 0) liveIns.push(guarded({ kind: 'register', register: maxTrips }, recording.frame.get(maxTrips)));
  }
}

/** Has to be this number. */
function guarded(origin: LiveIn['origin'], value: IValue): LiveIn {
  const liveIn = liveInOf(origin, value, { opensOffsets: false, maxBindingBytes: Infinity })!;
  liveIn.isGuarded = true;
  return liveIn;
}

/** The number that is open of a value: itself, or where a tensor begins. */
function plainNumber(value: IValue | undefined): number {
  if (value instanceof Tensor) return value.handedOnOffset;
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : NaN;
}

/** A tensor as another one lies, further on in other memory. */
function moved({ dtype, sizes, strides, storageOffset }: Tensor, { storage }: Tensor, by: number): Tensor {
  return new Tensor(storage, dtype, sizes, strides, storageOffset + by);
}
