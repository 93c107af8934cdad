import type { JitOptions } from '@cresset/ir';
import type { GpuSchedules } from '../../../test-setup/gpu-schedules.ts';
import type { Check } from '../cases/case.ts';

/** What a worker process or page has to know to run cases; travels as JSON. */
export interface RunnerSettings {
  readonly device: DeviceSetting;
  readonly checks: readonly Check[];
  /** Small work on data that lies on the host is done there, as in real runs. */
  readonly smallHost: boolean;
  /** A device with no more than what every WebGPU adapter has: `requiredLimits: {}` and no features. */
  readonly defaultLimits: boolean;
  /** Kernels are scheduled as on another GPU; null is as on this one. */
  readonly schedules: GpuSchedules | null;
  /** Who makes plans, one after the other; `off` runs programs as they were compiled. */
  readonly executors: readonly ExecutorSetting[];
  /** Calls are made so often, then with other shapes, and have to give what they give with the JIT off; 1 makes them once. */
  readonly repeat: number;
  /** Tensors are tiled, and calls have to give what they give with the JIT off and without a device; null leaves them. */
  readonly tiled: Tiled | null;
}

export interface Tiled {
  /** So many elements the largest tensor gets at least; with 1 calls begin with tensors as they are. */
  readonly elements: number;
  /** Calls are made with so many sizes, one copy longer each; where there are several, then with the first again. */
  readonly sizes: number;
}

export const DEVICE_SETTINGS = [
  'cpu',
  'typescript',
  'webassembly',
  'webassembly-relaxed',
  'webassembly-threads',
  'webgpu',
] as const;

export type DeviceSetting = (typeof DEVICE_SETTINGS)[number];

export const EXECUTOR_SETTINGS = ['default', 'simple', 'profiling', 'bailouts', 'off'] as const;

export type ExecutorSetting = (typeof EXECUTOR_SETTINGS)[number];

/** The compiler's switches that a setting stands for. */
export function jitOptionsOf(executor: ExecutorSetting): JitOptions {
  switch (executor) {
    case 'default':
      return {};
    case 'off':
      return { enabled: false };
    case 'bailouts':
      return { executor: 'profiling', bailouts: true };
    default:
      return { executor };
  }
}

/** The settings alone, of whatever holds them. */
export function settingsOf(settings: RunnerSettings): RunnerSettings {
  const { device, checks, smallHost, defaultLimits, schedules, executors, repeat, tiled } = settings;
  return { device, checks, smallHost, defaultLimits, schedules, executors, repeat, tiled };
}
