import { CressetError } from '@cresset/ir';
import {
  chooseSchedule,
  scheduleKey,
  signatureOf,
  withEqualWorkgroups,
  type DeviceCapabilities,
  type Kernel,
  type Launch,
  type NormalForm,
  type PreparedLaunch,
} from '@cresset/tensorexpr';
import { writeJoinedShader, writeShader } from '@cresset/webgpu-fuser';
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
  const program = pipelines.find(key, kernel.label, signature, () => writeShader(launch, signature, wide));
  return { program, bindings: signature.bindings, params: signature.params, kernel: whole, x, y, launches: [launch] };
}

/** Launches as one, with the workgroups of all of them; null where that binds too much, makes a grid of two dimensions, or one is attention. */
export function prepareTogether(
  prepared: readonly PreparedKernel[],
  { maxStorageBuffers, maxWorkgroupsPerDimension }: DeviceCapabilities,
  pipelines: PipelineCache,
): PreparedKernel | null {
  if (prepared.some((each) => each.launches.some(({ kernel }) => kernel.kind === 'running-softmax'))) return null;
  const launches = withEqualWorkgroups(prepared.flatMap((each) => each.launches));
  const signature = signatureOf(...launches.map(({ kernel }) => kernel));
  const { bindings, params } = signature;
  const x = launches.reduce((sum, { workgroups }) => sum + workgroups, 0);
  if (bindings.length > maxStorageBuffers || x > maxWorkgroupsPerDimension) return null;
  const parts = launches.map(({ schedule, workgroups }) => `${scheduleKey(schedule)}*${workgroups}`);
  const label = [...new Set(launches.map(({ kernel }) => kernel.label))].join(' and ');
  const program = pipelines.find(signature.key + parts.join('+'), label, signature, () =>
    writeJoinedShader(label, launches, signature),
  );
  return { program, bindings, params, kernel: null, x, y: 1, launches };
}
