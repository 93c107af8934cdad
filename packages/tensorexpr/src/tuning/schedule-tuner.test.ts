import { expect, test } from 'vitest';
import { plainGpu, softwareGpu } from '../../../../test-setup/plain-gpu.ts';
import { product, tensor } from '../kernels/kernel-fixture.ts';
import { normalise, type NormalForm } from '../kernels/normalise.ts';
import { chooseSchedule, scheduleKey, type Launch } from '../schedules/schedule.ts';
import { chunkCandidates, scheduleCandidates } from './schedule-candidates.ts';
import { MeasuredSchedules, type ChoiceStore, type TunedLaunch, type TuningDevice } from './schedule-tuner.ts';

/** A device that takes as long as a test says, and tells what it was asked to time. */
class FakeDevice implements TuningDevice {
  /** All candidates of a kernel, each time that these were timed; not the winner and the rule's once more. */
  readonly timed: string[][] = [];
  again = 0;
  forgotten = 0;

  constructor(
    readonly timesOf: (
      keys: readonly string[],
      signal: AbortSignal | null,
      isAgain: boolean,
    ) => readonly number[] | null,
    readonly capabilities = softwareGpu,
  ) {}

  time(candidates: readonly (readonly Launch[])[], signal: AbortSignal | null): Promise<readonly number[] | null> {
    const keys = candidates.map((launches) => launches.map(nameOf).join('+'));
    const last = this.timed.at(-1);
    const isAgain = keys.length === 2 && last !== undefined && last.length > 2 && last[0] === keys[0];
    if (isAgain) this.again++;
    else this.timed.push(keys);
    const all = this.timed.at(-1)!;
    const times = this.timesOf(all, signal, isAgain);
    return Promise.resolve(times && keys.map((key) => times[all.indexOf(key)]));
  }

  forgetPrepared(): void {
    this.forgotten++;
  }
}

class MemoryStore implements ChoiceStore {
  constructor(public text: string | null = null) {}

  read(): Promise<string | null> {
    return Promise.resolve(this.text);
  }

  write(text: string): Promise<void> {
    this.text = text;
    return Promise.resolve();
  }
}

const matmul = (m: number, n: number, k: number): NormalForm =>
  normalise(product(tensor(m, k), tensor(k, n), tensor(m, n)));

const nameOf = ({ schedule, workgroups }: Launch): string => `${scheduleKey(schedule)}*${workgroups}`;
const ruleOf = (kernel: NormalForm): Launch => chooseSchedule(kernel, softwareGpu);
const choose = (tuner: MeasuredSchedules, kernel: NormalForm): TunedLaunch => tuner.choose(kernel, ruleOf(kernel));
const keyOf = ({ launch }: TunedLaunch): string => nameOf(launch);

/** Has a kernel recorded and measured. */
async function tuned(tuner: MeasuredSchedules, kernel: NormalForm): Promise<string> {
  choose(tuner, kernel).wish?.recorded();
  await tuner.measure(tuner, null);
  return keyOf(choose(tuner, kernel));
}

/** The candidate of that number takes `part` of the time of the rule's, all others twice as long. */
const fastest =
  (nth: number, part = 0.5) =>
  (keys: readonly string[]): number[] =>
    keys.map((_, at) => (at === nth ? 1000 * part : at === 0 ? 1000 : 2000));

test('the fastest of the candidates is chosen, and told with the times of all', async () => {
  const device = new FakeDevice(fastest(2));
  const tuner = new MeasuredSchedules(device, new MemoryStore());
  const kernel = matmul(64, 64, 64);
  const key = await tuned(tuner, kernel);
  const candidates = scheduleCandidates(kernel, ruleOf(kernel), softwareGpu);
  expect(candidates.length).toBeGreaterThan(2);
  expect(device.timed).toEqual([candidates.map(nameOf)]);
  expect(key).toBe(nameOf(candidates[2]));
  expect(choose(tuner, kernel).launch.measured).toEqual(
    candidates.map(({ schedule }, at) => ({ schedule, nanoseconds: [1000, 2000, 500][at] ?? 2000 })),
  );
  expect(device.forgotten).toBe(1);
  expect(device.again).toBe(1);
});

test('who wins once and not a second time has not won', async () => {
  const device = new FakeDevice((keys, _, isAgain) => fastest(2, isAgain ? 0.95 : 0.5)(keys));
  expect(await tuned(new MeasuredSchedules(device, new MemoryStore()), matmul(64, 64, 64))).toBe(device.timed[0][0]);
  expect(device.again).toBe(1);
});

test.each([
  [0.95, 0],
  [0.9, 1],
])('a candidate that takes %f of the time of the rule’s is no chance or may be one', async (part, chosen) => {
  const device = new FakeDevice(fastest(1, part));
  const kernel = matmul(64, 64, 64);
  expect(await tuned(new MeasuredSchedules(device, new MemoryStore()), kernel)).toBe(device.timed[0][chosen]);
});

test('a candidate that cannot be run is never chosen, and where the rule’s cannot be, nothing is', async () => {
  const kernel = matmul(64, 64, 64);
  const refused = new FakeDevice((keys) => keys.map((_, at) => (at === 1 ? Infinity : 1000)));
  const tuner = new MeasuredSchedules(refused, new MemoryStore());
  expect(await tuned(tuner, kernel)).toBe(refused.timed[0][0]);
  expect(choose(tuner, kernel).launch.measured).toHaveLength(refused.timed[0].length - 1);

  const broken = new FakeDevice((keys) => keys.map((_, at) => (at === 0 ? Infinity : 1000)));
  const other = new MeasuredSchedules(broken, new MemoryStore());
  expect(await tuned(other, kernel)).toBe(nameOf(ruleOf(kernel)));
  expect(await tuned(other, kernel)).toBe(nameOf(ruleOf(kernel)));
  expect(broken.timed).toHaveLength(1);
});

test('what is launched once is not measured, what is launched in a later round or recorded is', async () => {
  const device = new FakeDevice(fastest(0));
  const tuner = new MeasuredSchedules(device, new MemoryStore());
  const kernel = matmul(64, 64, 64);
  const { wish } = choose(tuner, kernel);
  for (let launch = 0; launch < 3; launch++) wish!.launched();
  await tuner.measure(tuner, null);
  expect(device.timed).toHaveLength(0);
  wish!.launched();
  await tuner.measure(tuner, null);
  expect(device.timed).toHaveLength(1);
  await tuned(tuner, matmul(200, 200, 200));
  expect(device.timed).toHaveLength(2);
});

test('a second visit measures nothing, and shapes of about the same size share a choice', async () => {
  const store = new MemoryStore();
  const first = new FakeDevice(fastest(1));
  const key = await tuned(new MeasuredSchedules(first, store), matmul(60, 60, 60));

  const second = new FakeDevice(fastest(2));
  const tuner = new MeasuredSchedules(second, store);
  await tuner.restore();
  expect(await tuned(tuner, matmul(60, 60, 60))).toBe(key);
  expect(choose(tuner, matmul(50, 64, 60))).toMatchObject({
    wish: null,
    launch: { measured: expect.anything() as unknown },
  });
  expect(second.timed).toHaveLength(0);
  await tuned(tuner, matmul(300, 60, 60));
  expect(second.timed).toHaveLength(1);
});

test('kept choices that are damaged, or of schedules that there are no more, are measured again', async () => {
  const kernel = matmul(64, 64, 64);
  const store = new MemoryStore();
  await tuned(new MeasuredSchedules(new FakeDevice(fastest(1)), store), kernel);
  const entries = JSON.parse(store.text!) as Record<string, { chosen: string; times: Record<string, number> }>;
  const [name, { chosen, times }] = Object.entries(entries)[0];
  const damaged = [
    'no text of ours',
    store.text!.slice(0, -3),
    'null',
    JSON.stringify({ [name]: null }),
    JSON.stringify({ [name]: { chosen } }),
    JSON.stringify({ [name]: { chosen: 'elsewhere', times } }),
    JSON.stringify({ [name]: { chosen, times: { ...times, [chosen]: 'fast' } } }),
    JSON.stringify({ [name]: { chosen: 't1,1,1,1', times: { 't1,1,1,1': 1 } } }),
  ];
  for (const text of damaged) {
    const device = new FakeDevice(fastest(2));
    const tuner = new MeasuredSchedules(device, new MemoryStore(text));
    await tuner.restore();
    expect(await tuned(tuner, kernel)).toBe(device.timed[0]?.[2]);
  }
});

test('a stop ends the measuring, and the next call goes on with it', async () => {
  const abort = new AbortController();
  const device = new FakeDevice((keys, signal) => {
    if (device.timed.length === 2) abort.abort();
    return signal?.aborted ? null : fastest(1)(keys);
  });
  const store = new MemoryStore();
  const tuner = new MeasuredSchedules(device, store);
  const kernels = [matmul(64, 64, 64), matmul(100, 200, 300), matmul(500, 600, 700)];
  for (const kernel of kernels) choose(tuner, kernel).wish!.recorded();
  await tuner.measure(tuner, abort.signal);
  expect(device.timed).toHaveLength(2);
  expect(Object.keys(JSON.parse(store.text!) as object)).toHaveLength(1);
  await tuner.measure(tuner, null);
  expect(device.timed).toHaveLength(4);
  for (const kernel of kernels) expect(choose(tuner, kernel).wish).toBeNull();
});

test('each program is told once that schedules have changed since it was recorded', async () => {
  const tuner = new MeasuredSchedules(new FakeDevice(fastest(1)), new MemoryStore());
  const [one, other] = [{}, {}];
  // It may have been recorded before there was a tuner.
  expect(await tuner.measure(one, null)).toBe(true);
  expect(await tuner.measure(one, null)).toBe(false);
  choose(tuner, matmul(64, 64, 64)).wish!.recorded();
  // Both wait for the same measuring.
  expect(await Promise.all([tuner.measure(one, null), tuner.measure(other, null)])).toEqual([true, true]);
  expect(await Promise.all([tuner.measure(one, null), tuner.measure(other, null)])).toEqual([false, false]);
});

test('a long sum is cut into as many chunks as turn out to be fastest, and no product that has threads enough', async () => {
  const kernel = matmul(8, 8, 65536);
  const store = new MemoryStore();
  const device = new FakeDevice(fastest(2), plainGpu);
  const tuner = new MeasuredSchedules(device, store);
  const numbers = chunkCandidates(kernel, plainGpu);
  expect(numbers).toEqual([16, 1, 32, 8]);
  const { cut, wish } = tuner.chooseChunks(kernel);
  expect(cut).toBeUndefined();
  wish!.recorded();
  await tuner.measure(tuner, null);
  const measured = numbers.map((chunks, at) => ({ chunks, nanoseconds: [1000, 2000, 500, 2000][at] }));
  expect(tuner.chooseChunks(kernel)).toEqual({ cut: { chunks: 32, measured }, wish: null });
  // A product by itself, or of each chunk and a sum of these.
  expect(device.timed[0].map((keys) => keys.split('+').length)).toEqual([2, 1, 2, 2]);

  const second = new MeasuredSchedules(new FakeDevice(fastest(0), plainGpu), store);
  await second.restore();
  expect(second.chooseChunks(kernel).cut?.chunks).toBe(32);
  for (const whole of [matmul(1024, 1024, 1024), matmul(8, 8, 64), matmul(0, 8, 65536)])
    expect(chunkCandidates(whole, plainGpu)).toEqual([1]);
  expect(chunkCandidates(kernel, softwareGpu)).toEqual([1]);
});

test('candidates are a handful, differ, begin with the rule’s, and stay within the limits', () => {
  const limits = { ...plainGpu, maxWorkgroupSize: 64, maxWorkgroupStorage: 8192 };
  for (const capabilities of [softwareGpu, plainGpu, limits]) {
    for (const sizes of [
      [1, 1, 1],
      [1, 1000, 1000],
      [5, 97, 300],
      [12, 200, 64],
      [129, 131, 65],
      [1024, 1024, 1024],
    ]) {
      const kernel = matmul(sizes[0], sizes[1], sizes[2]);
      const rule = chooseSchedule(kernel, capabilities);
      const candidates = scheduleCandidates(kernel, rule, capabilities);
      const keys = candidates.map(({ schedule }) => scheduleKey(schedule));
      expect(candidates[0]).toBe(rule);
      expect(new Set(keys).size).toBe(keys.length);
      expect(keys.length).toBeLessThanOrEqual(6);
      for (const { schedule, workgroups } of candidates.slice(1)) {
        const threads = 'workgroupSize' in schedule ? schedule.workgroupSize : schedule.threadsM * schedule.threadsN;
        expect(threads).toBeLessThanOrEqual(capabilities.maxWorkgroupSize);
        expect(workgroups).toBeGreaterThan(0);
        if (schedule.kind !== 'shared tile') continue;
        const { threadsM, threadsN, tileM, tileN, depth } = schedule;
        const bytes = 4 * depth * (threadsM * tileM + threadsN * tileN);
        expect(bytes).toBeLessThanOrEqual(capabilities.maxWorkgroupStorage);
      }
    }
  }
});
