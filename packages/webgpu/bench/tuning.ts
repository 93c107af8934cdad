// What measured schedules bring on the adapter that Dawn finds, see scripts/bench-kernels.mjs.
import { chooseSchedule, describeSchedule, normalise } from '@cresset/tensorexpr';
import { requestWithSchedules, type GpuSchedules } from '../../../test-setup/gpu-schedules.ts';
import { requestWebGpuDevice, WebGpuDevice } from '../src/index.ts';
import { tunerOf } from '../src/tuning/webgpu-tuner.ts';
import { kernelCases, largeKernelCases, type KernelCase } from './kernel-cases.ts';

const rounds = 9;

/** Times each kernel as the rule schedules it and as the tuner does, in turn. @param schedules as another GPU would get them; null: as this one gets them */
export async function main(filter: string, schedules: GpuSchedules | null): Promise<void> {
  const byRule = schedules === null ? await requestWebGpuDevice() : await requestWithSchedules(schedules);
  const { gpuDevice, description, capabilities } = byRule;
  const tuned = new WebGpuDevice(gpuDevice, description, capabilities, false);
  const tuner = await tunerOf(tuned, { read: () => Promise.resolve(null), write: () => Promise.resolve() });
  tuned.tuner = tuner;
  console.log(
    `${gpuDevice.adapterInfo.description}: microseconds by the rule and measured, their ratio, seconds of measuring`,
  );
  const ratios: number[] = [];
  // A software adapter computes in this process, beside whatever else the machine does.
  const now = (): number => {
    const { user, system } = process.cpuUsage();
    return capabilities.software ? (user + system) / 1000 : performance.now();
  };
  const isSmall = capabilities.software || schedules !== null;
  for (const make of isSmall ? kernelCases : [...kernelCases, ...largeKernelCases]) {
    const own = make();
    if (!own.name.includes(filter)) continue;
    const other = make();
    const time = async (device: WebGpuDevice, { kernel }: KernelCase, times: number): Promise<number> => {
      const start = now();
      for (let turn = 0; turn < times; turn++) device.launch(kernel);
      await device.flush();
      await gpuDevice.queue.onSubmittedWorkDone();
      return (now() - start) / times;
    };
    // What is launched in two rounds is measured behind the second.
    let measuring = 0;
    for (let round = 0; round < 2; round++) {
      await time(tuned, other, 1);
      const start = performance.now();
      await tuner.measure(tuned, null);
      measuring += performance.now() - start;
    }
    await time(byRule, own, 1);
    await time(tuned, other, 1);
    const times = Math.max(1, Math.min(100, Math.floor(40 / (await time(byRule, own, 1)))));
    const found: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      for (const which of round % 2 === 0 ? [0, 1] : [1, 0])
        found[which].push(await time(...[[byRule, own] as const, [tuned, other] as const][which], times));
    }
    // What else the machine does only adds to it.
    const [before, after] = found.map((each) => Math.min(...each));
    ratios.push(after / before);
    const normal = normalise(other.kernel);
    const rule = chooseSchedule(normal, capabilities);
    const { launch } = tuner.choose(normal, rule);
    const columns = [
      own.name.padEnd(36),
      ...[before, after].map((milliseconds) => (1000 * milliseconds).toFixed(0).padStart(9)),
      (after / before).toFixed(2).padStart(6),
      (measuring / 1000).toFixed(1).padStart(6),
    ];
    const [ofRule, chosen] = [rule, launch].map(({ schedule }) => describeSchedule(schedule));
    console.log(`${columns.join(' ')}  ${ofRule === chosen ? ofRule : `${ofRule} → ${chosen}`}`);
    if (process.env.SHOW_TIMES) {
      for (const { schedule, nanoseconds } of launch.measured ?? [])
        console.log(`${(nanoseconds / 1000).toFixed(0).padStart(46)}  ${describeSchedule(schedule)}`);
    }
    for (const { output } of [own, other]) output.dispose();
  }
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  console.log(`geometric mean of the ratios: ${mean.toFixed(2)}`);
  tuned.dispose();
  byRule.dispose();
}
