import { MeasuredSchedules, type ChoiceStore } from '@cresset/tensorexpr';
import type { WebGpuDevice } from '../webgpu-device.ts';
import { KeptChoices } from './kept-choices.ts';
import { timeLaunches } from './launch-timer.ts';

/** What chooses the schedules of a device by what was measured on its adapter, with what earlier visits have found. */
export async function tunerOf(
  device: WebGpuDevice,
  store: ChoiceStore = new KeptChoices(device.gpuDevice.adapterInfo ?? {}, device.description),
): Promise<MeasuredSchedules> {
  const tuner = new MeasuredSchedules(
    {
      capabilities: device.capabilities,
      time: (candidates, signal) =>
        timeLaunches(
          device,
          candidates.map((launches) => launches.map((launch) => device.prepareLaunch(launch))),
          signal,
        ),
      forgetPrepared: () => device.forgetPrepared(),
    },
    store,
  );
  await tuner.restore();
  return tuner;
}
