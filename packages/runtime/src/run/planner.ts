import type { CallInProgress } from '../interpreter/program-place.ts';
import type { Code } from '../interpreter/code/code.ts';
import type { Frame } from '../interpreter/frame.ts';
import type { Instruction } from '../interpreter/code/instruction.ts';
import type {
  HostContext,
  LoweringContext,
  OpenUp,
  OperatorRow,
  PreparedCall,
  RandomGenerator,
} from '@cresset/operators';
import type { IValue, Storage } from '@cresset/tensor';
import type { Kernel, ScheduledLaunch } from '@cresset/tensorexpr';
import type { DeviceLowering } from '../dispatch/device-lowering.ts';
import type { LaunchProgram } from '../plan/program/launch-program.ts';
import type { Execution } from './execution.ts';
import type { CountedNames } from './run-counters.ts';

/** What is told of a stretch of a function. */
export interface StretchSummary {
  /** Instructions and launches of the longest recording that begins there. */
  readonly instructions: number;
  readonly launches: number;
  /** Recordings that are kept, one for each kind of arguments. */
  readonly recordings: number;
  /** The operator that the stretch ends before, and why it does. */
  readonly endsAt: string;
  readonly reason: string;
  /** Operators of the longest recording that the host does, how often each: none of their tensors has more elements than `smallWork` says. */
  readonly onHost: CountedNames;
  /** What may be another number each time, and is written into the recording's params with each replay. */
  readonly patched: readonly string[];
}

/** What a planner knows of a stretch of a function. */
export interface RecordedStretch extends StretchSummary {
  /** How its launches are run, where the device is a GPU; kernels that are one launch are told apart. */
  readonly scheduled: readonly ScheduledLaunch[];
  /** What the latest recording does with each replay; null where that is not kept. */
  readonly program: LaunchProgram | null;
}

/** What notes itself while a program runs that is recorded. */
export interface RecordingNotes {
  /** What runs now cannot be recorded. */
  refuse(reason: string): void;
  /** The generator to draw from: one that tells of every draw. */
  watched(generator: RandomGenerator): RandomGenerator;
  /** What has numbers stay open that may be others each time. @param inputs as `LoweringContext` has them */
  openUp(inputs?: readonly number[]): OpenUp;
  /** As `LoweringContext.openParam`. */
  openParam: LoweringContext['openParam'] & {};
  /**
   * The result of a call on the host that was made ready, undefined where the arguments are not like those. A replay makes the same call,
   * where it has its arguments and the call writes to none of them.
   * @param inputs as `Execution.memberInputs`
   */
  callOnHost(
    name: string,
    call: PreparedCall,
    args: readonly IValue[],
    context: HostContext,
    inputs: readonly number[] | null,
  ): IValue | undefined;
  /** An operator launches a kernel, of which a device may make several launches. */
  launching(kernel: Kernel): void;
  /** A storage that kernels note faults in. */
  faultsGoTo(storage: Storage): void;
  /** The program waits for what it will not have to wait for the next time. */
  passing(): void;
  readonly labels: string[];
}

/** Work on a device, which may be described for stand-ins: tensors that lie as arguments do and have no elements. */
export interface LoweredWork {
  /** What it does: the same for all work that is the same for equal arguments. */
  readonly structure: OperatorRow | string;
  /** What its launches are counted as. */
  readonly name: string;
  /** Whether it captures kernels, and launches them when nothing is changed about them any more. */
  readonly keepsKernels: boolean;
  /** Its results; null where it is not done on the device, or has to wait. */
  lower(args: readonly IValue[], launches: DeviceLowering): readonly IValue[] | null;
}

/** Records what the interpreter does, and does it in its stead where everything is as it was. */
export interface Planner {
  /** What is being recorded. */
  readonly recording: RecordingNotes | null;
  /** Before an instruction: how many instructions were done in its place and in that of those after it; 0 where it has to be run. */
  before(frame: Frame, execution: Execution, callers: () => CallInProgress[]): number;
  /** After an instruction, when it has not given up registers yet. */
  after(instruction: Instruction): void;
  /** The instruction that runs has to wait. */
  waits(): void;
  /** Others run for a while: what is being recorded, to be gone on with. */
  suspend(): RecordingNotes | null;
  resume(recording: RecordingNotes): void;
  /**
   * The results of work that is done again as it was for arguments like these, whichever instruction did it; null where it has to be described. Not while
   * something is recorded, whose launches have to be known.
   */
  repeat(work: LoweredWork, args: readonly IValue[], execution: Execution): readonly IValue[] | null;
  /** What is being recorded is not worth it: the run failed. */
  abandon(): void;
  /** A run launched what no recording had. */
  launchedAnew(): void;
  /** Gives up everything that was recorded. */
  clear(): void;
  report(code: Code): RecordedStretch[];
}
