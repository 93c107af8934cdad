import type { CressetError } from '@cresset/ir';
import type { DeviceBuffer, DeviceMemory, Storage } from '@cresset/tensor';
import type { Kernel } from './kernels/kernel.ts';
import type { Routine } from './kernels/routine.ts';
import type { ParamExpr } from './expressions/expr.ts';
import type { Binding } from './kernels/signature.ts';
import type { HardwareSchedules } from './schedules/hardware-schedules.ts';
import type { TemporaryTensor } from './schedules/reduction-stages.ts';
import type { Schedule } from './schedules/schedule.ts';
import type { ScheduledLaunch } from './schedules/scheduled-launch.ts';

/** What a device can do, as far as a schedule or an emitter wants to know. */
export interface DeviceCapabilities {
  /** `shader-f16` is there and enabled. */
  readonly f16: boolean;
  /** Subgroup operations are there; 0 where they are not. */
  readonly subgroupSize: number;
  /** A software adapter: workgroup memory and barriers cost more than they save. */
  readonly software: boolean;
  /** Schedules for a GPU that is none of software; null where there is none. */
  readonly hardware: HardwareSchedules | null;
  /** The thread itself computes: a launch costs next to nothing. */
  readonly host?: boolean;
  /** Kernels compute in double precision where they have operands of float64. */
  readonly doubles?: boolean;
  readonly maxWorkgroupSize: number;
  readonly maxWorkgroupStorage: number;
  readonly maxStorageBuffers: number;
  readonly maxBindingBytes: number;
  /** Bytes of a buffer that kernels only read, which may be bound in several windows; as many as are bound at once where nothing is said. */
  readonly maxBufferBytes?: number;
  /** Bytes that all there is may take; nobody tells of a GPU. */
  readonly memoryBytes?: number;
  readonly maxWorkgroupsPerDimension: number;
}

/** Counts since the device was made; differences of two snapshots describe a run. Exact, so tests assert them. */
export interface DeviceCounters {
  /** Kernels that were brought to normal form, scheduled and looked up by their hash. */
  prepared: number;
  dispatches: number;
  submits: number;
  /** Transfers of elements to the device: small ones that go with one submission are one. */
  uploads: number;
  uploadedBytes: number;
  readbacks: number;
  readbackBytes: number;
  /** Distinct shaders compiled. */
  shaders: number;
  buffersAllocated: number;
  liveBytes: number;
  /** Shaders that did not compile, buffers that there was no memory for, work that was refused. */
  failures: number;
}

export const noCounts = (): DeviceCounters => ({
  prepared: 0,
  dispatches: 0,
  submits: 0,
  uploads: 0,
  uploadedBytes: 0,
  readbacks: 0,
  readbackBytes: 0,
  shaders: 0,
  buffersAllocated: 0,
  liveBytes: 0,
  failures: 0,
});

/** Memory of a device, in bytes. */
export interface DeviceMemoryUse {
  /** What storages hold. */
  readonly live: number;
  /** Kept for reuse: free buffers, those in which recorded work keeps what lies between its launches, and packed weights. */
  readonly pooled: number;
  /** The most that was held at one time. */
  readonly peak: number;
}

/** A launch that the device has made ready: what it binds, and what only the device knows of it. */
export interface PreparedLaunch {
  readonly bindings: readonly Binding[];
  readonly params: readonly ParamExpr[];
  /** The kernel that it is the whole of; null where it is one of several. */
  readonly kernel: Kernel | null;
  /** Makes it again where sizes are others, of what is no kernel: see {@link LaunchRecorder.prepareAgain}. */
  readonly again?: () => PreparedLaunch | null;
}

/** A prepared launch whose bindings are places of a {@link CommandList}. */
export interface RecordedLaunch {
  readonly launch: PreparedLaunch;
  /** For each binding: a buffer that is given with each replay, and after these the scratch buffers. */
  readonly places: readonly number[];
}

/** Launches that a device makes again without asking how: what it is inside is the device's affair. */
export interface CommandList {
  /** Bytes of the device that it takes for itself. */
  readonly byteLength: number;
  /** How its launches are spread over the threads of a GPU, in their order. */
  readonly scheduled?: readonly ScheduledLaunch[];
}

/** Notes launches down and makes them again. */
export interface LaunchRecorder {
  /** Told of every launch, before its buffers are looked up; null where nobody listens. */
  listener: ((launch: PreparedLaunch) => void) | null;
  /** Makes a kernel ready without launching it; null where the device would make several launches of it, or none at all. */
  prepare(kernel: Kernel): PreparedLaunch | null;
  /** The launches that `ComputeDevice.launch` makes of a kernel, in their order. @param temporary for what lies between them */
  prepareAll(kernel: Kernel, temporary: TemporaryTensor): readonly PreparedLaunch[];
  /** Launches what was made ready, with these storages in the place of those of its bindings: others that lie as those did. */
  launch(launch: PreparedLaunch, storages: readonly Storage[]): void;
  /**
   * Launches that have nothing to do with each other as one, whose workgroups are those of all; null where they are no less work that way, or
   * cannot be bound together.
   */
  together(launches: readonly PreparedLaunch[]): PreparedLaunch | null;
  /**
   * A list of these launches.
   *
   * Of params that are open, the value comes with each replay: at the place that they name.
   *
   * @param given how many buffers come with each replay
   * @param scratch bytes of each buffer whose contents serve one replay only: lists share them
   */
  record(launches: readonly RecordedLaunch[], given: number, scratch: readonly number[]): CommandList;
  /** Enqueues the launches of a list. Throws as `launch` does, before any of them is done: of what fails later `flush` tells. */
  replay(list: CommandList, given: readonly DeviceBuffer[], open: readonly (number | bigint)[]): void;
  /** As `prepare`, of a kernel with sizes that are others now: made ready for these. */
  prepareAgain(kernel: Kernel): PreparedLaunch | null;
  /**
   * Puts other launches in the place of some of a list, for the replays to come.
   *
   * @param changed by their places in the list
   * @param scratch as `record` was given it
   */
  change(list: CommandList, changed: ReadonlyMap<number, RecordedLaunch>, scratch: readonly number[]): void;
  /** Gives up what a list takes of the device: it is not replayed again. */
  forget(list: CommandList): void;
}

/** Measures which schedules are fast on a device; see `JitOptions.autotune`. */
export interface ScheduleTuner {
  /**
   * Measures what turned out to be run again and again, as far as it has not been; `signal` ends that, and the rest is left to the next call. Gives whether
   * schedules have changed since `program` asked the last time: what was recorded of it has those of then.
   */
  measure(program: object, signal: AbortSignal | null): Promise<boolean>;
}

/** A device that runs kernels. Work is enqueued without waiting; `flush` hands it over. */
export interface ComputeDevice extends DeviceMemory {
  /** What an error message and `explain()` call it. */
  readonly description: string;
  readonly capabilities: DeviceCapabilities;
  readonly counters: Readonly<DeviceCounters>;
  /** Null where work cannot be recorded, or not yet. */
  readonly recorder: LaunchRecorder | null;
  /** Fetches the recorder of a device that comes without one; without it where it cannot be had. */
  fetchRecorder?(): Promise<void>;
  memory(): DeviceMemoryUse;
  /** Gives back what is kept for work to come, as far as none under way uses it. */
  trim(): void;
  /** Enqueues one kernel; its shader is compiled in the background on first use. The operands' storages are read and
   * written on the device: a storage that is stored to becomes device-only. Throws where a binding limit is exceeded. */
  launch(kernel: Kernel): void;
  /** As `launch`; only devices that are the host itself have routines. */
  launchRoutine?(routine: Routine): void;
  /** Whether transforms are among the routines that are there. */
  readonly hasTransforms?: boolean;
  /** Fetches what transforms lines, where that is a routine. */
  fetchTransforms?(): Promise<void>;
  /** Fetches what multiplies integers for operators that run on the host, where that is the device: an `IntegerServices` from then on. */
  fetchIntegerProducts?(): Promise<void>;
  /**
   * Submits all work enqueued so far; resolves once it has been handed to the GPU (not when it is done). Rejects with a
   * CressetError where a shader did not compile, memory ran out or work was refused since there were `failures` of them (by
   * default, since the last flush), and where the device was lost.
   */
  flush(failures?: number): Promise<void>;
  /**
   * The first failure after there were that many, null where there was none. Programs on one device share batches of work: what
   * fails is everybody's who had work under way.
   */
  failureSince(failures: number): CressetError | null;
  /** Has schedules chosen by what was measured from now on; null where what measures them cannot be had. Without it where there are no schedules. */
  fetchTuner?(): Promise<ScheduleTuner | null>;
  /** What measures the device, where it can be measured. */
  profiler?(): Promise<DeviceProfiler>;
  /** What has to be waited for before more work is enqueued, since the GPU is far behind; null where there is room. */
  room(): Promise<void> | null;
  /** Begins work that may be taken back; not there where what was enqueued can't be stopped. */
  revocable?(): TakeBack;
  dispose(): void;
}

/**
 * Forgets work that was enqueued since and stores in one of these buffers, what else it stores along with it. Does nothing and says false where it has
 * stored in one of them already.
 */
export type TakeBack = (stored: readonly DeviceBuffer[]) => boolean;

/** Measures what a device does between `start` and `stop`. One at a time. */
export interface DeviceProfiler {
  /** @param kernels whether each dispatch is measured: it then has a pass of its own, which takes some time itself */
  start(kernels: boolean): Promise<void>;
  /** What was done since, once the GPU is through with it. */
  stop(): Promise<DeviceWork>;
  /** When each shader that there is was compiled, by its code. */
  compilations(): ReadonlyMap<string, { readonly begin: number; readonly end: number }>;
  /** Time spent handing data to the GPU since the device was made. */
  readonly uploadMilliseconds: number;
  /** What the device reaches in kernels that do nothing else; measured when it is first asked for. */
  peak(): Promise<DevicePeak | null>;
}

export interface DevicePeak {
  readonly bytesPerSecond: number;
  /** Of float32. */
  readonly operationsPerSecond: number;
}

/** Times of batches are milliseconds of `performance.now()`. */
export interface DeviceWork {
  /** Whose clock tells when dispatches began and ended: that of the device itself, or `performance.now()`. */
  readonly clock: 'device' | 'page';
  readonly batches: readonly { readonly start: number; readonly encoded: number; readonly submitted: number }[];
  /** In the order in which they were enqueued; empty unless kernels were measured. */
  readonly dispatches: readonly DispatchRecord[];
  /** The kernels that were launched, in order, each with the number of its first dispatch: it came to those up to the next one's. */
  readonly launched: readonly { readonly kernel: Kernel | Routine; readonly first: number }[];
}

export interface DispatchRecord {
  readonly label: string;
  /** The shader's text, or that of the WebAssembly module. */
  readonly code: string;
  /** Of the kernels in it; none of a kernel on the host. */
  readonly schedules: readonly Schedule[];
  readonly workgroups: readonly [x: number, y: number];
  /** Nanoseconds; null where a GPU tells no time. */
  readonly begin: number | null;
  readonly end: number | null;
}
