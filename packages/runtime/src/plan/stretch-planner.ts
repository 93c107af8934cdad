import { compilerServices, CressetError } from '@cresset/ir';
import { watchHostAccess, type IValue } from '@cresset/tensor';
import type { ComputeDevice, LaunchRecorder } from '@cresset/tensorexpr';
import type { Code } from '../interpreter/code/code.ts';
import type { Frame } from '../interpreter/frame.ts';
import type { Instruction } from '../interpreter/code/instruction.ts';
import type { CallInProgress } from '../interpreter/program-place.ts';
import type { Execution } from '../run/execution.ts';
import type { LoweredWork, Planner, RecordedStretch } from '../run/planner.ts';
import { countNames } from '../run/run-counters.ts';
import type { RuntimeContext } from '../run/runtime-context.ts';
import type { LoopRolling, RuntimeServices } from '../services.ts';
import { KnownCalls } from './calls/known-calls.ts';
import { KeptValues } from './kept-values.ts';
import { loopBodyAt, type LoopBody, type LoopInProgress } from './recording/loop-body.ts';
import { placeIn, type MovedSizes } from './recording/live-in-table.ts';
import { isSettled } from './recording/recorded-sizes.ts';
import { maxLaunches, Recording } from './recording/recording.ts';
import { refusalOf } from './recording/recordable.ts';
import { SeenVisits } from './seen-visits.ts';
import { makeProgram } from './passes/make-program.ts';
import { Stretch } from './stretch.ts';

/** Recordings of a context: the one that was not used for longest goes first. */
const maxStretches = 2048;
/** And their launches in all. */
const maxLaunchesKept = 32_768;
/** Recordings for one place. */
const maxAtPlace = 512;
/** So many attempts at a place come to nothing before there are no more. */
const maxUseless = 2;
/** After so many recordings in a row at a place that were never replayed, only visits like earlier ones are recorded there. */
const maxUnused = 3;
/** After so many recordings in a row that held for one size of a dimension alone it is no symbol any more; a single one may have met its size by chance. */
const maxSettled = 2;

/** Loops of fewer trips are gone through trip by trip. */
const minRolledTrips = 4;
/** So many attempts to roll the trips of a loop come to nothing before there are no more. */
const maxRefused = 2;
/** Numbers of trips that a loop is kept rolled for. */
const maxRolled = 8;

/** Codes of errors that there is no room for what a replay needs, found before it does anything: smaller steps may have it. */
const lacksMemory: ReadonlySet<string> = new Set(['MEMORY_LIMIT', 'DEVICE_BUFFER_TOO_LARGE']);

/** A place in a function where stretches begin. */
interface Site {
  readonly stretches: Stretch[];
  last: Stretch | null;
  useless: number;
  /** Recordings so far, and how many there were when the latest was made that was ever replayed. */
  recorded: number;
  useful: number;
  /** What visits were like that were not recorded. */
  readonly seen: SeenVisits;
  /** Registers whose numbers were others than recordings had been made for, and how many of them the latest recording knew of. */
  readonly varying: Set<number>;
  varyingKnown: number;
  /** Places of tensors' layouts whose numbers were others than recordings had been made for. */
  readonly moved: Map<string, Set<number>>;
  /** How many recordings in a row held for one size of these alone all the same, by their places. */
  readonly settled: Map<string, number>;
  /** What of a loop begins here, where its trips may be rolled. */
  loop: RolledLoop | null;
  /** Where the latest recording ended, and why. */
  end: { readonly at: number; readonly instruction: Instruction; readonly reason: string } | null;
}

/** The body of a loop whose trips may be done at once. */
interface RolledLoop {
  readonly body: LoopBody;
  /** All trips from one on. */
  readonly rolled: Stretch[];
  /** The trip that was made last. */
  trip: number;
  /** The first trip of the time before, and how many there were: they are rolled when they come again. */
  before: string;
  /** Trips from which on they cannot be rolled, in the same words. */
  readonly refused: string[];
}

/** What is known of a function. */
interface PlannedCode {
  readonly sites: (Site | undefined)[];
  /** Whether an instruction may be a part of a stretch; undefined where nobody asked. */
  readonly refusals: (string | null | undefined)[];
  /** 1 for an instruction that nothing begins at, and never will: most are, of a program that computes with numbers. */
  readonly idle: Uint8Array;
  /** Which of the times it is that places are tried at which attempts came to nothing. */
  trial: number;
}

/** Finds stretches while programs run for the first time, and replays them from then on. */
export class StretchPlanner implements Planner {
  recording: Recording | null = null;
  readonly #device: ComputeDevice;
  readonly #recorder: LaunchRecorder;
  readonly #codes = new WeakMap<Code, PlannedCode>();
  readonly #stretches = new Map<Stretch, Site>();
  /** What recordings have made of parameters; a program with a limit to its memory keeps nothing. */
  readonly #kept: KeptValues;
  readonly #calls: KnownCalls;
  readonly #rolling: LoopRolling | null = compilerServices<RuntimeServices>().loopRolling ?? null;
  #launches = 0;
  #clock = 0;
  #code: Code | null = null;
  #planned: PlannedCode | null = null;
  /** The instruction that runs. */
  #at = 0;
  /** Runs that launched what no recording had. */
  #unrecorded = 0;
  #trial = 0;
  /** Recordings that wait for what runs them to go on. */
  readonly #suspended = new Set<Recording>();
  /** Instructions of a stretch that is not worth a recording this time: nothing begins among them. */
  #passedOver: { readonly frame: Frame; readonly start: number; readonly end: number } | null = null;

  constructor(
    private readonly context: RuntimeContext,
    device: ComputeDevice,
    recorder: LaunchRecorder,
  ) {
    this.#device = device;
    this.#recorder = recorder;
    this.#kept = new KeptValues(device, recorder);
    this.#calls = new KnownCalls(recorder);
  }

  before(frame: Frame, execution: Execution, callers: () => CallInProgress[]): number {
    const at = frame.programCounter;
    const { recording } = this;
    if (!recording && frame.code === this.#code && this.#planned!.idle[at] === 1) return 0;
    this.#at = at;
    if (recording) {
      const reason = this.#refusalAt(frame.code, at) ?? this.#lengthRefusal(recording);
      const instruction = frame.code.instructions[at];
      const ended = reason ?? recording.before(instruction);
      if (ended === null) return 0;
      this.#finish(at, instruction, ended);
    }
    if (this.#refusalAt(frame.code, at) !== null) return this.#rest(at);
    const passed = this.#passedOver;
    if (passed && passed.frame === frame && at > passed.start && at < passed.end) return 0;
    const { sites } = this.#planned!;
    const site = sites[at];
    const rolled = site?.loop?.rolled.find((each) => this.#matches(each, frame, callers));
    if (rolled) return this.#replay(rolled, site!, frame, execution);
    const stretch = site ? this.#find(site, frame, callers) : null;
    const loop = site?.loop ? this.#loopToRoll(site.loop, frame) : null;
    if (stretch && loop) {
      this.#begin(frame, at, callers, loop);
      return 0;
    }
    if (stretch) return this.#replay(stretch, site!, frame, execution);
    if (site && !this.#isWorthRecording(site, frame)) {
      return site.useless >= maxUseless && site.stretches.length === 0 ? this.#rest(at) : 0;
    }
    // A stretch does not begin with a jump, which may be the end of another.
    if (frame.code.instructions[at].op === 'JUMP') return this.#rest(at);
    this.#begin(frame, at, callers);
    return 0;
  }

  #rest(at: number): number {
    this.#planned!.idle[at] = 1;
    return 0;
  }

  #lengthRefusal({ launches }: Recording): string | null {
    return launches.length >= maxLaunches ? `${maxLaunches} launches` : null;
  }

  #refusalAt(code: Code, at: number): string | null {
    if (code !== this.#code) {
      let planned = this.#codes.get(code);
      if (!planned) {
        planned = { sites: [], refusals: [], idle: new Uint8Array(code.instructions.length), trial: this.#trial };
        this.#codes.set(code, planned);
      }
      if (planned.trial < this.#trial) tryOnceMore(planned, this.#trial);
      this.#code = code;
      this.#planned = planned;
    }
    const { refusals } = this.#planned!;
    let refusal = refusals[at];
    if (refusal === undefined) {
      refusal = code.isWatched ? 'code that is watched' : refusalOf(code.instructions[at], at);
      refusals[at] = refusal;
    }
    return refusal;
  }

  // ---- replaying

  #find(site: Site, frame: Frame, callers: () => CallInProgress[]): Stretch | null {
    const { last } = site;
    const expected = last?.next;
    if (expected && this.#matches(expected, frame, callers)) return expected;
    if (last && last !== expected && this.#matches(last, frame, callers)) return last;
    for (const stretch of site.stretches) {
      if (stretch !== expected && stretch !== last && this.#matches(stretch, frame, callers)) return stretch;
    }
    last?.noteMoved(frame, this.context, site.varying, site.moved);
    return null;
  }

  #matches(stretch: Stretch, frame: Frame, callers: () => CallInProgress[]): boolean {
    return (
      stretch.place.gradEnabled === this.context.gradEnabled &&
      stretch.matches(frame, this.context, this.#device) &&
      (stretch.place.callers === null || areSameCalls(stretch.place.callers, callers()))
    );
  }

  #replay(stretch: Stretch, site: Site, frame: Frame, execution: Execution): number {
    if (!site.loop?.rolled.includes(stretch)) {
      if (site.last) site.last.next = stretch;
      site.last = stretch;
    }
    site.useful = Math.max(site.useful, stretch.number);
    stretch.lastUse = ++this.#clock;
    // Errors are told at an instruction that has begun.
    frame.programCounter++;
    if (stretch.place.callers) this.context.faults.expect();
    try {
      stretch.replay(frame, execution, this.#device, this.#recorder);
    } catch (error) {
      if (!(error instanceof CressetError) || !lacksMemory.has(error.code)) throw error;
      // Nothing was done yet: run one by one, the instructions tell which of them it is, or do without so much memory.
      frame.programCounter--;
      return 0;
    }
    const { varying } = stretch;
    for (const { object, slot } of varying) this.#kept.noteVarying(object, slot);
    if (varying.length > 0) this.#forget(stretch);
    return stretch.place.instructions;
  }

  // ---- loops

  /** The loop whose trip begins here, where it is worth it to roll what is left of it. */
  #loopToRoll(loop: RolledLoop, frame: Frame): LoopInProgress | null {
    const trip = Number(frame.getPlain(loop.body.trip));
    const isNext = trip === loop.trip + 1;
    loop.trip = trip;
    const { body, before, refused } = loop;
    if (isNext && refused.length === 0) return null;
    const trips = Number(frame.getPlain(body.maxTrips));
    const now = `${trip} of ${trips}`;
    if (!isNext) loop.before = now;
    // What the first trip finds may be of another kind than what it leaves.
    const isDue = isNext ? refused.at(-1) === `${trip - 1} of ${trips}` : before === now;
    return isDue && !refused.includes(now) && trips - trip >= minRolledTrips ? { body, trip, trips } : null;
  }

  #finishRolled(recording: Recording, loop: LoopInProgress, end: number): void {
    const { frame, start } = recording;
    const site = this.#siteAt(frame, start);
    const isWhole = end === loop.body.end && recording.launches.length > 0 && recording.isWhole;
    const tools = { context: this.context, device: this.#device, recorder: this.#recorder };
    const isRolled = isWhole && this.#rolling!.roll(recording, loop, tools);
    const stretch = isRolled ? this.#make(recording, end) : null;
    recording.close();
    const { rolled: known, refused } = site.loop!;
    if (!stretch) {
      refused.push(`${loop.trip} of ${loop.trips}`);
      if (refused.length > maxRefused) site.loop = null;
      return;
    }
    add(known, stretch);
    this.#stretches.set(stretch, site);
    if (known.length > maxRolled) this.#forget(leastUsed(known));
  }

  // ---- recording

  #isWorthRecording(site: Site, frame: Frame): boolean {
    const { recorded, useful, last, seen, varying, varyingKnown } = site;
    if (site.useless >= maxUseless) return false;
    // A recording that knows of another number that varies may serve where those before did not.
    if (!last || recorded - useful < maxUnused || varying.size > varyingKnown) return true;
    if (seen.comesAgain(last.likeness(frame, this.context))) return true;
    this.#passedOver = { frame, start: frame.programCounter, end: site.end!.at };
    return false;
  }

  #begin(frame: Frame, at: number, callers: () => CallInProgress[], loop: LoopInProgress | null = null): void {
    for (const other of this.#suspended) other.interrupt();
    this.#suspended.clear();
    const recording = new Recording(
      frame,
      at,
      this.context.gradEnabled,
      this.#planned!.sites[at]?.varying ?? new Set(),
      {
        opensOffsets: !this.context.limits.joinsHeavy,
        maxBindingBytes: this.context.device!.capabilities.maxBindingBytes,
      },
      callers,
      loop ? undefined : symbolsAt(this.#planned!.sites[at]),
    );
    if (recording.before(frame.code.instructions[at]) !== null) {
      recording.close();
      return this.#markUseless(frame, at, at);
    }
    recording.loop = loop;
    this.resume(recording);
  }

  after(instruction: Instruction): void {
    const { recording } = this;
    if (!recording) return;
    const reason = recording.after(instruction, this.context.gradEnabled);
    if (reason !== null) this.#finish(this.#at, instruction, reason);
  }

  waits(): void {
    const { recording } = this;
    if (!recording) return;
    if (recording.isPassing) return this.abandon();
    recording.rewind();
    this.#finish(this.#at, recording.frame.code.instructions[this.#at], 'a wait');
  }

  suspend(): Recording | null {
    const recording = this.#stop();
    if (recording) this.#suspended.add(recording);
    return recording;
  }

  #stop(): Recording | null {
    const { recording } = this;
    this.recording = null;
    this.#recorder.listener = null;
    watchHostAccess(null);
    return recording;
  }

  resume(recording: Recording): void {
    this.#suspended.delete(recording);
    this.recording = recording;
    this.#recorder.listener = (launch) => recording.launched(launch);
    watchHostAccess(recording);
  }

  repeat(work: LoweredWork, args: readonly IValue[], execution: Execution): readonly IValue[] | null {
    // What stands for tensors is made beside the count of a program's memory.
    return this.recording || this.context.budget ? null : this.#calls.run(work, args, execution);
  }

  /**
   * What came to nothing may have been small, and done on the host: where runs launch something now, such places are tried again, after the first of those runs, the second, the fourth and so
   * on.
   */
  launchedAnew(): void {
    const count = ++this.#unrecorded;
    if ((count & (count - 1)) !== 0) return;
    this.#trial++;
    this.#code = null;
  }

  abandon(): void {
    this.#stop()?.close();
  }

  #finish(end: number, instruction: Instruction, reason: string): void {
    const recording = this.#stop()!;
    const { frame, start, launches, loop } = recording;
    if (loop) return this.#finishRolled(recording, loop, end);
    if (launches.length === 0 || !recording.isWhole) {
      recording.close();
      return this.#markUseless(frame, start, end);
    }
    const site = this.#siteAt(frame, start);
    site.end = { at: end, instruction, reason };
    const { env, opened } = recording;
    for (const { place, symbol } of opened) {
      site.settled.set(place, isSettled(env!, symbol) ? (site.settled.get(place) ?? 0) + 1 : 0);
    }
    const stretch = this.#make(recording, end);
    recording.close();
    if (site.last) site.last.next = stretch;
    site.last = stretch;
    add(site.stretches, stretch);
    stretch.number = ++site.recorded;
    site.varyingKnown = site.varying.size;
    this.#stretches.set(stretch, site);
    if (site.stretches.length > maxAtPlace) this.#forget(leastUsed(site.stretches));
    while (this.#stretches.size > maxStretches || this.#launches > maxLaunchesKept) {
      this.#forget(leastUsed(this.#stretches.keys()));
    }
  }

  #make(recording: Recording, end: number): Stretch {
    const { instructions, labels, gradEnabled, notesFaults } = recording;
    const callers = notesFaults ? recording.callers().slice(0, -1) : null;
    const kept = this.context.budget ? null : this.#kept;
    const { joinedNodes, joinsHeavy } = this.context.limits;
    const limits = { kept, joinedNodes, joinsHeavy };
    const program = makeProgram(recording, end, this.#device, this.#recorder, limits);
    const place = { end, instructions, labels: countNames(labels), gradEnabled, callers };
    const stretch = new Stretch(place, program, this.#device, this.#recorder, kept);
    stretch.lastUse = ++this.#clock;
    this.#launches += stretch.launchCount;
    return stretch;
  }

  #siteAt(frame: Frame, at: number): Site {
    const { code } = frame;
    this.#refusalAt(code, at);
    const { sites } = this.#planned!;
    return (sites[at] ??= {
      stretches: [],
      last: null,
      useless: 0,
      recorded: 0,
      useful: 0,
      seen: new SeenVisits(),
      varying: new Set(),
      varyingKnown: 0,
      moved: new Map(),
      settled: new Map(),
      loop: this.#rolledLoopAt(frame, at),
      end: null,
    });
  }

  #rolledLoopAt(frame: Frame, at: number): RolledLoop | null {
    const body = this.#rolling && loopBodyAt(frame.code, at);
    if (!body) return null;
    const trip = Number(frame.getPlain(body.counter)) - 1;
    return { body, rolled: [], refused: [], trip, before: `${trip} of ${Number(frame.getPlain(body.maxTrips))}` };
  }

  /** What begins further on in the same instructions comes to nothing either. */
  #markUseless(frame: Frame, start: number, end: number): void {
    for (let at = start; at <= Math.max(start, end - 1); at++) {
      if (this.#refusalAt(frame.code, at) === null) this.#siteAt(frame, at).useless++;
    }
  }

  #forget(stretch: Stretch): void {
    const site = this.#stretches.get(stretch)!;
    this.#stretches.delete(stretch);
    this.#launches -= stretch.launchCount;
    for (const stretches of [site.stretches, site.loop?.rolled ?? []]) {
      const at = stretches.indexOf(stretch);
      if (at >= 0) stretches.splice(at, 1);
    }
    for (const other of site.stretches) if (other.next === stretch) other.next = null;
    if (site.last === stretch) site.last = null;
    stretch.dispose(this.#recorder, this.#kept);
  }

  clear(): void {
    this.#stretches.forEach((_, stretch) => this.#forget(stretch));
    this.#calls.clear();
  }

  report(code: Code): RecordedStretch[] {
    return (this.#codes.get(code)?.sites ?? []).flatMap((site): RecordedStretch[] => {
      if (!site) return [];
      const { end, stretches, loop } = site;
      const reports: RecordedStretch[] = [];
      if (end) {
        const { instruction } = end;
        const endsAt = instruction.op === 'OP' ? instruction.operand.name : instruction.op;
        reports.push(...reportOf(stretches, endsAt, end.reason));
      }
      return loop ? [...reports, ...reportOf(loop.rolled, 'LOOP', 'all trips of a loop')] : reports;
    });
  }
}

/** Has the places of a function that nothing begins at any more tried once more. */
function tryOnceMore(planned: PlannedCode, trial: number): void {
  planned.trial = trial;
  planned.idle.fill(0);
  for (const site of planned.sites) if (site) site.useless = Math.min(site.useless, maxUseless - 1);
}

/** Places of layouts that a recording has symbols for. */
function symbolsAt(site: Site | undefined): MovedSizes {
  const isOpen = (name: string, place: number): boolean => (site!.settled.get(placeIn(name, place)) ?? 0) < maxSettled;
  const moved = [...(site?.moved ?? [])].map(
    ([name, places]) => [name, new Set([...places].filter((place) => isOpen(name, place)))] as const,
  );
  return new Map(moved.filter(([, places]) => places.size > 0));
}

/** Adds a recording of a place: of those before, what they came to is not kept, since kernels hold on to tensors. */
function add(stretches: Stretch[], stretch: Stretch): void {
  for (const other of stretches) other.program = null;
  stretches.push(stretch);
}

/** What is said of the recordings of one place; nothing where there are none. */
function reportOf(stretches: readonly Stretch[], endsAt: string, reason: string): RecordedStretch[] {
  if (stretches.length === 0) return [];
  const longest = stretches.reduce((a, b) => (b.launchCount > a.launchCount ? b : a));
  const { place, launchCount: launches, scheduled, onHost } = longest;
  const patched = [...new Set(stretches.flatMap((stretch) => stretch.patched))].sort();
  return [
    {
      instructions: place.instructions,
      launches,
      scheduled,
      recordings: stretches.length,
      onHost,
      endsAt,
      reason,
      patched,
      program: stretches.find((stretch) => stretch.program)?.program ?? null,
    },
  ];
}

function leastUsed(stretches: Iterable<Stretch>): Stretch {
  let least: Stretch | null = null;
  for (const stretch of stretches) if (!least || stretch.lastUse < least.lastUse) least = stretch;
  return least!;
}

const areSameCalls = (a: readonly CallInProgress[], b: readonly CallInProgress[]): boolean =>
  // The innermost call is the one that the stretch is in.
  a.length === b.length - 1 && a.every(({ node }, depth) => node === b[depth].node);
