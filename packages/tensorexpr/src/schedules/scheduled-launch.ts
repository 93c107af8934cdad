import { pointsOf } from '../expressions/index-value.ts';
import { rowLength, type Launch, type Schedule } from './schedule.ts';

/** What is told of a launch when its tensors are gone. */
export interface ScheduledLaunch {
  readonly label: string;
  readonly schedule: Schedule;
  /**
   * Points of a nest and steps of each; of products how many, rows, columns and steps; of attention how many, rows, columns and positions; of a
   * recurrence how many, points of a step and steps.
   */
  readonly extents: readonly number[];
}

export function scheduledLaunch({ kernel, schedule }: Launch): ScheduledLaunch {
  const { label } = kernel;
  if (kernel.kind === 'nest') return { label, schedule, extents: [pointsOf(kernel.axes), rowLength(kernel)] };
  const loops =
    kernel.kind === 'recurrence'
      ? [kernel.axes, kernel.innerAxes, [kernel.time]]
      : [kernel.batch, [kernel.m], [kernel.n], [kernel.k].flat()];
  return { label, schedule, extents: loops.map(pointsOf) };
}
