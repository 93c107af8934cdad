import type { DeviceWork } from '@cresset/tensorexpr';
import type { OperatorRun, ProgramRange } from './operator-recorder.ts';

/** A call that was looked at operator by operator. */
export interface ObservedCall {
  readonly begin: number;
  readonly end: number;
  readonly runs: readonly OperatorRun[];
  readonly ranges: readonly ProgramRange[];
  readonly work: DeviceWork;
}
