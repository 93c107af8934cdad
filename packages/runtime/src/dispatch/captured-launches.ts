import type { Kernel } from '@cresset/tensorexpr';
import { DeviceLaunches } from './device-launches.ts';

/** Keeps the kernels an operator describes instead of launching them: they can still be changed. */
export class CapturedLaunches extends DeviceLaunches {
  readonly kernels: Kernel[] = [];

  override launch(kernel: Kernel): void {
    this.kernels.push(kernel);
  }

  launchNow(kernel: Kernel): void {
    super.launch(kernel);
  }
}
