import type { DeviceCounters, Kernel } from '@cresset/tensorexpr';
import type { LinearMemory } from '../linear-memory.ts';
import type { Launches } from './launches.ts';
import type { PreparedKernel } from './programs.ts';
import type { Turns } from './turns.ts';

/** What lists of launches ask of their device. */
export interface ListHost {
  readonly linear: LinearMemory;
  readonly launches: Launches;
  readonly turns: Turns;
  readonly counters: DeviceCounters;
  /** Bytes of packed weights, of all lists. */
  keptBytes: number;
  /** As `linear.take`; throws a CressetError where there is no more memory. */
  takeMemory(byteLength: number): number;
  prepare(kernel: Kernel): PreparedKernel;
}
