import { peek } from '@cresset/tensor';
import { pointsOf } from '../expressions/index-value.ts';
import {
  rowLength,
  scheduleKey,
  type Launch,
  type MeasuredCut,
  type MeasuredSchedule,
  type Schedule,
} from './schedule.ts';

/** What is told of a launch when its tensors are gone. */
export interface ScheduledLaunch {
  readonly label: string;
  readonly schedule: Schedule;
  /**
   * Points of a nest and steps of each; of products how many, rows, columns and steps; of attention how many, rows, columns and positions; of a
   * recurrence how many, points of a step and steps.
   */
  readonly extents: readonly number[];
  /** Those that were measured, the rule's first; nothing where the rule alone chose. */
  readonly measured?: readonly MeasuredSchedule[];
  /** Where some were: whether it is the rule's, since nothing was clearly faster. */
  readonly isByRule?: boolean;
  /** In how many chunks its sum is, where that was measured. */
  readonly cut?: MeasuredCut;
}

export function scheduledLaunch({ kernel, schedule, measured, cut }: Launch): ScheduledLaunch {
  const { label } = kernel;
  const isByRule = measured && scheduleKey(measured[0].schedule) === scheduleKey(schedule);
  const told = { label, schedule, ...(measured && { measured, isByRule }), ...(cut && { cut }) };
  if (kernel.kind === 'nest') return { ...told, extents: peek(() => [pointsOf(kernel.axes), rowLength(kernel)]) };
  const loops =
    kernel.kind === 'recurrence'
      ? [kernel.axes, kernel.innerAxes, [kernel.time]]
      : [kernel.batch, [kernel.m], [kernel.n], [kernel.k].flat()];
  return { ...told, extents: peek(() => loops.map(pointsOf)) };
}
