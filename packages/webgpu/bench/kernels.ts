// Times single kernels on the adapter that Dawn finds, see scripts/bench-kernels.mjs.
import { chooseSchedule, describeSchedule, normalise } from '@cresset/tensorexpr';
import { gpuSchedules, requestWithSchedules, type GpuSchedules } from '../../../test-setup/gpu-schedules.ts';
import { requestWebGpuDevice } from '../src/index.ts';
import { kernelCases, largeKernelCases } from './kernel-cases.ts';

/** @param schedules as another GPU would get them; null: as this one gets them */
export async function main(filter: string, schedules: string | null): Promise<void> {
  const isKnown = (name: string): name is GpuSchedules => name in gpuSchedules;
  if (schedules !== null && !isKnown(schedules)) throw new Error(`no such schedules: ${schedules}`);
  const adapter = await requestWebGpuDevice();
  const device = schedules === null ? adapter : await requestWithSchedules(schedules);
  const peak = await (await device.profiler()).peak();
  const peaks = peak && [peak.operationsPerSecond / 1e9, peak.bytesPerSecond / 1e9].map((each) => each.toFixed(1));
  console.log(
    `${adapter.description}; peak: ${peaks ? `${peaks[0]} GFLOPS, ${peaks[1]} GB/s` : 'not measured, no timestamps'}`,
  );
  for (const make of adapter.capabilities.software ? kernelCases : [...kernelCases, ...largeKernelCases]) {
    const made = make();
    if (!made.name.includes(filter)) continue;
    const { output, kernel } = made;
    const once = async (times: number): Promise<number> => {
      const start = performance.now();
      for (let time = 0; time < times; time++) device.launch(kernel);
      await device.flush();
      await device.gpuDevice.queue.onSubmittedWorkDone();
      return performance.now() - start;
    };
    await once(1);
    const estimate = await once(1);
    const times = Math.max(1, Math.min(200, Math.floor(150 / estimate)));
    let best = Infinity;
    for (let round = 0; round < 4; round++) best = Math.min(best, (await once(times)) / times);
    const perSecond = (1000 * (made.flops ?? made.bytes!)) / best;
    const rate = `${(perSecond / 1e9).toFixed(2)} ${made.flops ? 'GFLOPS' : 'GB/s'}`;
    const most = made.flops ? peak?.operationsPerSecond : peak?.bytesPerSecond;
    const share = most ? `${((100 * perSecond) / most).toFixed(0)} %` : '';
    const { schedule } = chooseSchedule(normalise(kernel), device.capabilities);
    const columns = [made.name.padEnd(36), `${best.toFixed(3)} ms`.padStart(12), rate.padStart(14), share.padStart(6)];
    console.log(`${columns.join(' ')}  ${describeSchedule(schedule)}`);
    output.dispose();
  }
  if (process.env.SHOW_WGSL) for (const { code } of device.shaders()) console.log(code);
  device.dispose();
}
