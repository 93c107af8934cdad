import { CressetError } from '@cresset/ir';
import {
  chooseSchedule,
  scheduleKey,
  signatureOf,
  type DeviceCapabilities,
  type Kernel,
  type Launch,
  type MeasuredSchedules,
  type NormalForm,
  type PreparedLaunch,
  type ScheduleWish,
} from '@cresset/tensorexpr';
import { writeShader } from '@cresset/webgpu-fuser';
import type { PipelineCache, Program } from './pipeline-cache.ts';

/** A kernel made ready: everything about a launch but its place in a batch. */
export interface PreparedKernel extends PreparedLaunch {
  readonly program: Program;
  readonly x: number;
  readonly y: number;
  /** Those whose workgroups it has, one after the other. */
  readonly launches: readonly Launch[];
  /** What has other schedules of it measured; null where nobody would, or where they were. */
  readonly wish: ScheduleWish | null;
}

/**
 * Throws a CressetError where it binds more than the GPU can.
 *
 * @param tuner what chooses schedules by what was measured; null where the rule does
 */
export function prepareKernel(
  normal: NormalForm,
  whole: Kernel | null,
  capabilities: DeviceCapabilities,
  pipelines: PipelineCache,
  tuner: MeasuredSchedules | null,
): PreparedKernel {
  const rule = chooseSchedule(normal, capabilities);
  const { launch, wish } = tuner?.choose(normal, rule) ?? { launch: rule, wish: null };
  return { ...prepareLaunch(launch, whole, capabilities, pipelines), wish };
}

/** As {@link prepareKernel}, with the schedule chosen. */
export function prepareLaunch(
  launch: Launch,
  whole: Kernel | null,
  capabilities: DeviceCapabilities,
  pipelines: PipelineCache,
): PreparedKernel {
  const { kernel, schedule, workgroups } = launch;
  const signature = signatureOf(kernel);
  const { maxStorageBuffers, maxWorkgroupsPerDimension } = capabilities;
  if (signature.bindings.length > maxStorageBuffers) {
    throw new CressetError(
      'DEVICE_BINDING_LIMIT',
      `${kernel.label} uses ${signature.bindings.length} tensors at once, but this GPU allows ${maxStorageBuffers}`,
    );
  }
  const wide = workgroups > maxWorkgroupsPerDimension;
  const y = wide ? Math.ceil(workgroups / maxWorkgroupsPerDimension) : 1;
  const x = Math.ceil(workgroups / y);
  const key = `${signature.key}${scheduleKey(schedule)}${wide ? 'w' : ''}`;
  const program = pipelines.find(key, kernel.label, [launch], signature, () =>
    writeShader(launch, signature, wide, capabilities),
  );
  const { bindings, params } = signature;
  return { program, bindings, params, kernel: whole, x, y, launches: [launch], wish: null };
}
