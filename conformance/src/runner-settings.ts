import type { Check } from './case.ts';

/** What a worker process or page has to know to run cases; travels as JSON. */
export interface RunnerSettings {
  readonly device: 'cpu' | 'webgpu';
  readonly checks: readonly Check[];
  /** Small work on data that lies on the host is done there, as in real runs. */
  readonly smallHost: boolean;
  /** A device with no more than what every WebGPU adapter has: `requiredLimits: {}` and no features. */
  readonly defaultLimits: boolean;
}

/** The settings alone, of whatever holds them. */
export function settingsOf({ device, checks, smallHost, defaultLimits }: RunnerSettings): RunnerSettings {
  return { device, checks, smallHost, defaultLimits };
}
