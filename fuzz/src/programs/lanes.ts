import type { ExecutorKind } from '@cresset/ir';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { openHostDevice } from '../../../conformance/src/runner/host-device.ts';
import { openNodeDevice } from '../../../conformance/src/runner/node-device.ts';
import type { Way } from './execution.ts';
import { PyTorch, type PyTorchPlace } from './pytorch.ts';

export const DEVICES = ['host', 'threads', 'webgpu'] as const;
export type DeviceName = (typeof DEVICES)[number];

export interface Lane {
  readonly device: DeviceName;
  readonly executor: ExecutorKind | 'bailouts' | null;
  /** Whether a software adapter passes for a GPU, whose schedules are others. */
  readonly hardwareSchedules: boolean;
  /** Up to how many elements work is left to the host; the library's own number unless given. */
  readonly smallWork: number | null;
  /** Whether programs are saved and loaded before they run. */
  readonly saved: boolean;
  /** What saves them in our place, and is compared with as well. */
  readonly pytorch: PyTorchPlace | null;
}

/** Everything switched on, as a program has it that a page loads. */
export async function openLane(lane: Lane): Promise<Way> {
  const { executor, smallWork, saved, pytorch } = lane;
  const options = {
    enabled: true,
    executor: executor === 'bailouts' ? 'profiling' : (executor ?? undefined),
    bailouts: executor === 'bailouts',
  } as const;
  return {
    options,
    context: { device: await openDevice(lane), ...(smallWork === null ? {} : { limits: { smallWork } }) },
    isSaved: saved,
    pytorch: pytorch && new PyTorch(pytorch),
  };
}

async function openDevice({ device, hardwareSchedules }: Lane): Promise<ComputeDevice> {
  if (device === 'webgpu')
    return openNodeDevice({ defaultLimits: false, schedules: hardwareSchedules ? 'hardware' : null });
  return (await openHostDevice({ device: device === 'threads' ? 'webassembly-threads' : 'cpu' }))!;
}
