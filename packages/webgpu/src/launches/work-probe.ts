import type { Kernel } from '@cresset/tensorexpr';
import type { DispatchCommand } from './work-batch.ts';

/** Watches what a device does, while a run is profiled. */
export interface WorkProbe {
  /** A kernel is about to be enqueued; it may come to several dispatches. */
  launch(kernel: Kernel): void;
  /** A batch of so many dispatches is about to be encoded. */
  batch(dispatches: number): BatchProbe;
}

/** Watches one batch on its way. */
export interface BatchProbe {
  /** Every dispatch gets a pass of its own. */
  readonly separatesPasses: boolean;
  /** What the pass of a dispatch writes. */
  pass(command: DispatchCommand): GPUComputePassTimestampWrites | undefined;
  /** Everything was encoded but what the probe itself wants to have done. */
  encoded(encoder: GPUCommandEncoder): void;
  submitted(): void;
}
