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
  /** Submits all work enqueued so far; resolves once it has been handed to the GPU (not when it is done). Rejects with a
   * CressetError where a shader does not compile, memory ran out or the device was lost. */
  flush(): Promise<void>;
  dispose(): void;
}
