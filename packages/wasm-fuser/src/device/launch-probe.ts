import type { Kernel, Routine } from '@cresset/tensorexpr';
import type { PreparedKernel } from './programs.ts';
import type { Work } from './turns.ts';

/** Watches what the host's device does, while kernels are profiled. */
export interface LaunchProbe {
  /** A kernel is about to be launched; it may come to several dispatches. */
  launch(kernel: Kernel | Routine): void;
  /** The work of one dispatch, with a note of how long it took. */
  measured(prepared: PreparedKernel, work: Work): Work;
}
