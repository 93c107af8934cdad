import { scheduleKey, withEqualWorkgroups, type DeviceCapabilities } from '@cresset/tensorexpr';
import { writeJoinedShader } from '@cresset/webgpu-fuser';
import { bindingCount, boundSignature } from './bound-signature.ts';
import type { PipelineCache } from './pipeline-cache.ts';
import type { PreparedKernel } from './prepared-kernel.ts';

/** Launches as one, with the workgroups of all of them; null where that binds too much, makes a grid of two dimensions, or one is attention. */
export function prepareTogether(
  prepared: readonly PreparedKernel[],
  capabilities: DeviceCapabilities,
  pipelines: PipelineCache,
): PreparedKernel | null {
  const { maxStorageBuffers, maxWorkgroupsPerDimension } = capabilities;
  if (prepared.some((each) => each.launches.some(({ kernel }) => kernel.kind === 'running-softmax'))) return null;
  const launches = withEqualWorkgroups(
    prepared.flatMap((each) => each.launches),
    capabilities,
  );
  const kernels = launches.map(({ kernel }) => kernel);
  const signature = boundSignature(kernels, capabilities);
  const { bindings, params } = signature;
  const x = launches.reduce((sum, { workgroups }) => sum + workgroups, 0);
  if (bindingCount(signature) > maxStorageBuffers || x > maxWorkgroupsPerDimension) return null;
  const parts = launches.map(({ schedule, workgroups }) => `${scheduleKey(schedule)}*${workgroups}`);
  const label = [...new Set(launches.map(({ kernel }) => kernel.label))].join(' and ');
  const program = pipelines.find(signature.key + parts.join('+'), label, launches, signature, () =>
    writeJoinedShader(label, launches, signature, capabilities),
  );
  return { program, bindings, params, kernel: null, x, y: 1, launches, wishes: [] };
}
