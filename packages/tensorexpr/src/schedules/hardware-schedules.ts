import type { DeviceCapabilities } from '../device.ts';
import type { LoopNest } from '../kernels/kernel.ts';
import type { NormalContraction, NormalKernel } from '../kernels/normalise.ts';
import type { TemporaryTensor } from './reduction-stages.ts';
import type { Launch } from './schedule.ts';

export { scheduleNest } from './nest-on-hardware.ts';
export { scheduleProduct } from './product-on-hardware.ts';
export { productChunks, productStages } from './product-stages.ts';

/** What devices that are none of software have more of: they carry it among their capabilities. */
export interface HardwareSchedules {
  scheduleNest(nest: LoopNest, capabilities: DeviceCapabilities): Launch;
  /** Null for a product whose right side is a sum for each element, where threads are better off by themselves. */
  scheduleProduct(kernel: NormalContraction, capabilities: DeviceCapabilities): Launch | null;
  /** In how many chunks a product's sum is cut, each of at least so many steps. */
  productChunks(kernel: NormalContraction, capabilities: DeviceCapabilities, steps?: number): number;
  /** The kernels that a product comes to, in order; in so many chunks as are said, or as the rule has them. */
  productStages(
    kernel: NormalContraction,
    capabilities: DeviceCapabilities,
    temporary: TemporaryTensor,
    chunks?: number,
  ): NormalKernel[];
}
