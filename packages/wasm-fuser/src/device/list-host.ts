import type { Storage } from '@cresset/tensor';
import type { DeviceCounters, Kernel, TemporaryTensor } from '@cresset/tensorexpr';
import type { MemoryHost } from './launch-memory.ts';
import type { Launches } from './launches.ts';
import type { PreparedKernel } from './programs.ts';
import type { Turns } from './turns.ts';

/** What lists of launches ask of their device. */
export interface ListHost extends MemoryHost {
  readonly launches: Launches;
  readonly turns: Turns;
  readonly counters: DeviceCounters;
  /** Bytes of packed weights, of all lists. */
  keptBytes: number;
  prepare(kernel: Kernel): PreparedKernel;
  launchesOf(kernel: Kernel, temporary: TemporaryTensor): readonly PreparedKernel[];
  enqueue(prepared: PreparedKernel, storages: readonly Storage[]): void;
  prepareAgain(kernel: Kernel): PreparedKernel;
  /** Has `flush` tell of an error. */
  fail(error: unknown): void;
}
