import { CressetError } from '@cresset/ir';
import {
  chooseSchedule,
  scheduleKey,
  type DeviceCapabilities,
  type Kernel,
  type Launch,
  type MeasuredSchedules,
  type NormalForm,
  type PreparedLaunch,
  type ScheduleWish,
  type TunedCut,
} from '@cresset/tensorexpr';
import { writeShader } from '@cresset/webgpu-fuser';
import { bindingCount, boundSignature } from './bound-signature.ts';
import type { PipelineCache, Program } from './pipeline-cache.ts';

/** A kernel made ready: everything about a launch but its place in a batch. */
export interface PreparedKernel extends PreparedLaunch {
  readonly program: Program;
  readonly x: number;
  readonly y: number;
  /** Those whose workgroups it has, one after the other. */
  readonly launches: readonly Launch[];
  /** What has other ways of running it measured, as far as somebody would and they were not. */
  readonly wishes: readonly ScheduleWish[];
}

/**
 * Throws a CressetError where it binds more than the GPU can.
 *
 * @param tuner what chooses schedules by what was measured; null where the rule does
 * @param chunks of the sum that it is a part of or the whole, where there is a tuner that chose them
 */
export function prepareKernel(
  normal: NormalForm,
  whole: Kernel | null,
  capabilities: DeviceCapabilities,
  pipelines: PipelineCache,
  tuner: MeasuredSchedules | null,
  chunks: TunedCut | null,
): PreparedKernel {
  const rule = chooseSchedule(normal, capabilities);
  if (!tuner) return prepareLaunch(rule, whole, capabilities, pipelines);
  const { launch, wish } = tuner.choose(normal, rule);
  const prepared = prepareLaunch(chunks?.cut ? { ...launch, cut: chunks.cut } : launch, whole, capabilities, pipelines);
  return { ...prepared, wishes: [wish, chunks?.wish].filter((each) => each != null) };
}

/** As {@link prepareKernel}, with the schedule chosen. */
export function prepareLaunch(
  launch: Launch,
  whole: Kernel | null,
  capabilities: DeviceCapabilities,
  pipelines: PipelineCache,
): PreparedKernel {
  const { kernel, schedule, workgroups } = launch;
  const signature = boundSignature([kernel], capabilities);
  const { maxStorageBuffers } = capabilities;
  const bound = bindingCount(signature);
  if (bound > maxStorageBuffers) {
    throw new CressetError(
      'DEVICE_BINDING_LIMIT',
      `${kernel.label} binds ${bound} tensors, or parts of them, at once, but this GPU allows ${maxStorageBuffers}`,
    );
  }
  const { x, y } = gridOf(workgroups, capabilities);
  const wide = y > 1;
  const key = `${signature.key}${scheduleKey(schedule)}${wide ? 'w' : ''}`;
  const program = pipelines.find(key, kernel.label, [launch], signature, () =>
    writeShader(launch, signature, wide, capabilities),
  );
  const { bindings, params } = signature;
  return { program, bindings, params, kernel: whole, x, y, launches: [launch], wishes: [] };
}

/** So many workgroups as a grid, in rows where they are more than fit one. */
export function gridOf(
  workgroups: number,
  { maxWorkgroupsPerDimension }: DeviceCapabilities,
): { x: number; y: number } {
  const y = Math.max(1, Math.ceil(workgroups / maxWorkgroupsPerDimension));
  return { x: Math.ceil(workgroups / y), y };
}
