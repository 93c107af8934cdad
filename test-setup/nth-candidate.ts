import {
  chunkCandidates,
  MeasuredSchedules,
  scheduleCandidates,
  type TunedCut,
  type TunedLaunch,
} from '@cresset/tensorexpr';
import type { WebGpuDevice } from '@cresset/webgpu';
import { requestWithSchedules, type GpuSchedules } from './gpu-schedules.ts';

/** A device that runs each kernel as candidate number `nth` for it, counted around, as if that had turned out to be the fastest. */
export async function requestWithCandidate(schedules: GpuSchedules, nth: number): Promise<WebGpuDevice> {
  const device = await requestWithSchedules(schedules);
  const { capabilities } = device;
  const tuner = new MeasuredSchedules(
    { capabilities, time: () => Promise.resolve(null), forgetPrepared: () => undefined },
    { read: () => Promise.resolve(null), write: () => Promise.resolve() },
  );
  tuner.choose = (kernel, rule): TunedLaunch => {
    const candidates = scheduleCandidates(kernel, rule, capabilities);
    return { launch: candidates[nth % candidates.length], wish: null };
  };
  tuner.chooseChunks = (kernel): TunedCut => {
    const numbers = chunkCandidates(kernel, capabilities);
    return { cut: { chunks: numbers[nth % numbers.length], measured: [] }, wish: null };
  };
  device.tuner = tuner;
  return device;
}
