import type { CressetError } from '@cresset/ir';
import type { DeviceMemory } from '@cresset/tensor';
import type { Kernel } from './kernel.ts';

/** What a device can do, as far as a schedule or an emitter wants to know. */
export interface DeviceCapabilities {
  /** `shader-f16` is there and enabled. */
  readonly f16: boolean;
  /** Subgroup operations are there; 0 where they are not. */
  readonly subgroupSize: number;
  /** Scalars may travel as immediates. */
  readonly immediates: boolean;
  /** A software adapter: workgroup memory and barriers cost more than they save. */
  readonly software: boolean;
  readonly maxWorkgroupSize: number;
  readonly maxWorkgroupStorage: number;
  readonly maxStorageBuffers: number;
  readonly maxBindingBytes: number;
  readonly maxWorkgroupsPerDimension: number;
}

/** Counts since the device was made; differences of two snapshots describe a run. Exact, so tests assert them. */
export interface DeviceCounters {
  dispatches: number;
  submits: number;
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

/** A device that runs kernels. Work is enqueued without waiting; `flush` hands it over. */
export interface ComputeDevice extends DeviceMemory {
  /** What an error message and `explain()` call it. */
  readonly description: string;
  readonly capabilities: DeviceCapabilities;
  readonly counters: Readonly<DeviceCounters>;
  /** Enqueues one kernel; its shader is compiled in the background on first use. The operands' storages are read and
   * written on the device: a storage that is stored to becomes device-only. Throws where a binding limit is exceeded. */
  launch(kernel: Kernel): void;
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
  /** What has to be waited for before more work is enqueued, since the GPU is far behind; null where there is room. */
  room(): Promise<void> | null;
  dispose(): void;
}
