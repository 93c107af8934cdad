import { CressetError } from '@cresset/ir';
import {
  chooseSchedule,
  scheduleKey,
  signatureOf,
  type DeviceCapabilities,
  type Kernel,
  type Launch,
  type NormalForm,
  type PreparedLaunch,
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
}

/** Throws a CressetError where it binds more than the GPU can. */
export function prepareKernel(
  normal: NormalForm,
  whole: Kernel | null,
  capabilities: DeviceCapabilities,
  pipelines: PipelineCache,
): PreparedKernel {
  const launch = chooseSchedule(normal, capabilities);
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
  return { program, bindings: signature.bindings, params: signature.params, kernel: whole, x, y, launches: [launch] };
}
