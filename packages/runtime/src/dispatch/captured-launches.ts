import type { OpenUp } from '@cresset/operators';
import type { Kernel, Routine } from '@cresset/tensorexpr';
import { DeviceLaunches } from './device-launches.ts';

/** Keeps the kernels an operator describes instead of launching them: they can still be changed. */
export class CapturedLaunches extends DeviceLaunches {
  readonly kernels: Kernel[] = [];

  override launch(kernel: Kernel): void {
    this.kernels.push(kernel);
  }

  /** What comes before it is not changed any more. */
  override launchRoutine(routine: Routine): void {
    for (const kernel of this.kernels.splice(0)) this.launchNow(kernel);
    super.launchRoutine(routine);
  }

  /** What has those of the group's inputs stay open that a member takes, where they may be others each time. */
  openUp(inputs: readonly number[]): OpenUp | undefined {
    return this.execution.context.planner?.recording?.openUp(inputs);
  }

  /** The arguments of a member are not the group's. */
  override openParam(): null {
    return null;
  }

  launchNow(kernel: Kernel): void {
    super.launch(kernel);
  }
}
