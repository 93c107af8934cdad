import { CressetError } from '@cresset/ir';
import { watchHostAccess } from '@cresset/tensor';
import type { ComputeDevice, LaunchRecorder } from '@cresset/tensorexpr';
import type { Code } from '../interpreter/code/code.ts';
import type { Frame } from '../interpreter/frame.ts';
import type { Instruction } from '../interpreter/code/instruction.ts';
import type { CallInProgress } from '../interpreter/program-place.ts';
import type { Execution } from '../run/execution.ts';
import type { Planner, RecordedStretch } from '../run/planner.ts';
import type { RuntimeContext } from '../run/runtime-context.ts';
import { KeptValues } from './kept-values.ts';
import { maxLaunches, Recording } from './recording.ts';
import { refusalOf } from './recordable.ts';
import { makeStretch } from './stretch-builder.ts';
import type { Stretch } from './stretch.ts';

/** Recordings of a context: the one that was not used for longest goes first. */
const maxStretches = 2048;
/** And their launches in all. */
const maxLaunchesKept = 32_768;
/** Recordings for one place. */
const maxAtPlace = 512;
/** So many attempts at a place come to nothing before there are no more. */
const maxUseless = 2;
/** After so many recordings at a place none of which was ever of use, it rests for as many visits. */
const maxUnused = 512;

/** Codes of errors that there is no room for what a replay needs, found before it does anything: smaller steps may have it. */
const lacksMemory: ReadonlySet<string> = new Set(['MEMORY_LIMIT', 'DEVICE_BUFFER_TOO_LARGE']);

/** A place in a function where stretches begin. */
interface Site {
  readonly stretches: Stretch[];
  last: Stretch | null;
  useless: number;
  /** Recordings since one was replayed. */
  unused: number;
  resting: number;
  /** Registers whose numbers were others than recordings had been made for. */
  readonly varying: Set<number>;
  /** Where the latest recording ended, and why. */
  end: { readonly at: number; readonly instruction: Instruction; readonly reason: string } | null;
}

/** What is known of a function. */
interface PlannedCode {
  readonly sites: (Site | undefined)[];
  /** Whether an instruction may be a part of a stretch; undefined where nobody asked. */
  readonly refusals: (string | null | undefined)[];
  /** 1 for an instruction that nothing begins at, and never will: most are, of a program that computes with numbers. */
  readonly idle: Uint8Array;
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
  #launches = 0;
  #clock = 0;
  #code: Code | null = null;
  #planned: PlannedCode | null = null;
  #callers: (() => CallInProgress[]) | null = null;
  /** The instruction that runs. */
  #at = 0;
  /** Instructions of a stretch that is not worth another recording now: nothing begins among them. */
  #passedOver: { readonly frame: Frame; readonly start: number; readonly end: number } | null = null;

  constructor(
    private readonly context: RuntimeContext,
    device: ComputeDevice,
    recorder: LaunchRecorder,
  ) {
    this.#device = device;
    this.#recorder = recorder;
    this.#kept = new KeptValues(device, recorder);
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
    const stretch = site ? this.#find(site, frame, callers) : null;
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
        planned = { sites: [], refusals: [], idle: new Uint8Array(code.instructions.length) };
        this.#codes.set(code, planned);
      }
      this.#code = code;
      this.#planned = planned;
    }
    const { refusals } = this.#planned!;
    let refusal = refusals[at];
    if (refusal === undefined) refusals[at] = refusal = refusalOf(code.instructions[at], at);
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
    if (last && last.mismatch >= 0) site.varying.add(last.mismatch);
    return null;
  }

  #matches(stretch: Stretch, frame: Frame, callers: () => CallInProgress[]): boolean {
    return (
      stretch.gradEnabled === this.context.gradEnabled &&
      stretch.matches(frame, this.context, this.#device) &&
      (stretch.callers === null || areSameCalls(stretch.callers, callers()))
    );
  }

  #replay(stretch: Stretch, site: Site, frame: Frame, execution: Execution): number {
    if (site.last) site.last.next = stretch;
    site.last = stretch;
    site.unused = 0;
    stretch.lastUse = ++this.#clock;
    // Errors are told at an instruction that has begun.
    frame.programCounter++;
    if (stretch.callers) this.context.faults.expect();
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
    return stretch.instructions;
  }

  // ---- recording

  #isWorthRecording(site: Site, frame: Frame): boolean {
    if (site.resting > 0) {
      site.resting--;
      this.#passedOver = { frame, start: frame.programCounter, end: site.end!.at };
      return false;
    }
    return site.useless < maxUseless;
  }

  #begin(frame: Frame, at: number, callers: () => CallInProgress[]): void {
    const recording = new Recording(
      frame,
      at,
      this.context.gradEnabled,
      this.#planned!.sites[at]?.varying ?? new Set(),
      this.context.limits.joinedNodes === 0,
    );
    if (recording.before(frame.code.instructions[at]) !== null) {
      recording.close();
      return this.#markUseless(frame.code, at, at);
    }
    this.#callers = callers;
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
    const { recording } = this;
    this.recording = null;
    this.#recorder.listener = null;
    watchHostAccess(null);
    return recording;
  }

  resume(recording: Recording): void {
    this.recording = recording;
    this.#recorder.listener = (launch) => recording.launched(launch);
    watchHostAccess(recording);
  }

  abandon(): void {
    this.suspend()?.close();
  }

  #finish(end: number, instruction: Instruction, reason: string): void {
    const recording = this.recording!;
    this.suspend();
    const { frame, start, launches } = recording;
    if (launches.length === 0 || !recording.isWhole) {
      recording.close();
      return this.#markUseless(frame.code, start, end);
    }
    const site = this.#siteAt(frame.code, start);
    site.end = { at: end, instruction, reason };
    const callers = this.#callers!().slice(0, -1);
    const kept = this.context.budget ? null : this.#kept;
    const { joinedNodes } = this.context.limits;
    const stretch = makeStretch(recording, end, callers, this.#device, this.#recorder, { kept, joinedNodes });
    recording.close();
    stretch.lastUse = ++this.#clock;
    if (site.last) site.last.next = stretch;
    site.last = stretch;
    site.stretches.push(stretch);
    if (++site.unused > maxUnused) site.resting = site.unused;
    this.#stretches.set(stretch, site);
    this.#launches += stretch.launchCount;
    if (site.stretches.length > maxAtPlace) this.#forget(leastUsed(site.stretches));
    while (this.#stretches.size > maxStretches || this.#launches > maxLaunchesKept) {
      this.#forget(leastUsed(this.#stretches.keys()));
    }
  }

  #siteAt(code: Code, at: number): Site {
    this.#refusalAt(code, at);
    const { sites } = this.#planned!;
    return (sites[at] ??= {
      stretches: [],
      last: null,
      useless: 0,
      unused: 0,
      resting: 0,
      varying: new Set(),
      end: null,
    });
  }

  /** What begins further on in the same instructions comes to nothing either. */
  #markUseless(code: Code, start: number, end: number): void {
    for (let at = start; at <= Math.max(start, end - 1); at++) {
      if (this.#refusalAt(code, at) === null) this.#siteAt(code, at).useless++;
    }
  }

  #forget(stretch: Stretch): void {
    const site = this.#stretches.get(stretch)!;
    this.#stretches.delete(stretch);
    this.#launches -= stretch.launchCount;
    site.stretches.splice(site.stretches.indexOf(stretch), 1);
    for (const other of site.stretches) if (other.next === stretch) other.next = null;
    if (site.last === stretch) site.last = null;
    stretch.dispose(this.#recorder, this.#kept);
  }

  clear(): void {
    this.#stretches.forEach((_, stretch) => this.#forget(stretch));
  }

  report(code: Code): RecordedStretch[] {
    return (this.#codes.get(code)?.sites ?? []).flatMap((site): RecordedStretch[] => {
      if (!site?.end || site.stretches.length === 0) return [];
      const longest = site.stretches.reduce((a, b) => (b.launchCount > a.launchCount ? b : a));
      const { instruction, reason } = site.end;
      return [
        {
          instructions: longest.instructions,
          launches: longest.launchCount,
          scheduled: longest.scheduled,
          recordings: site.stretches.length,
          onHost: longest.onHost,
          endsAt: instruction.op === 'OP' ? instruction.operand.name : instruction.op,
          reason,
          patched: [...new Set(site.stretches.flatMap(({ patched }) => patched))].sort(),
        },
      ];
    });
  }
}

function leastUsed(stretches: Iterable<Stretch>): Stretch {
  let least: Stretch | null = null;
  for (const stretch of stretches) if (!least || stretch.lastUse < least.lastUse) least = stretch;
  return least!;
}

const areSameCalls = (a: readonly CallInProgress[], b: readonly CallInProgress[]): boolean =>
  // The innermost call is the one that the stretch is in.
  a.length === b.length - 1 && a.every(({ node }, depth) => node === b[depth].node);
