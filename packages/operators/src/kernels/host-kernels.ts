import type { PreparedCall } from '../dispatch/call-preparation.ts';
import type { OperatorCall } from '../dispatch/invoke.ts';
import type { LaneLoop } from './loops/lanes.ts';

/** What the part `host` brings for programs whose tensors all are on the host; nothing of it is there before. */
export interface HostKernels {
  /** Makes a call ready for arguments like its own; null where it has to be looked at each time. Throws the operator's error. */
  prepareCall(call: OperatorCall, spent: readonly number[] | null): PreparedCall | null;
  /** Loops over values of single precision alone. */
  readonly singleLoops: Readonly<Partial<Record<string, LaneLoop>>>;
}

export const hostKernels: Partial<HostKernels> = {};
