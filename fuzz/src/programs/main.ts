import { fork, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { vulkanEnvironment } from '../../../scripts/machine/gpu-lanes.mjs';
import type { Growth } from './growth.ts';
import { DEVICES, type DeviceName, type Lane } from './lanes.ts';
import type { Told, Work } from './worker.ts';

const { values } = parseArgs({
  args: process.argv.slice(2).filter((arg) => arg !== '--'),
  options: {
    count: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: `${Math.min(2, availableParallelism())}` },
    device: { type: 'string', default: 'host' },
    executor: { type: 'string' },
    'hardware-schedules': { type: 'boolean', default: false },
    'small-work': { type: 'string' },
    /** Saves and loads each program before it runs: with PyTorch where PYTHON names an interpreter that has it. */
    saved: { type: 'boolean', default: false },
    /** What PyTorch is asked by. */
    'pytorch-script': { type: 'string', default: '' },
    /** Differentiates what each call gives. */
    gradients: { type: 'boolean', default: false },
    /** Calls of each program, where more than eight are wanted. */
    calls: { type: 'string', default: '0' },
    /** Prints the programs of the seeds, and runs nothing. */
    show: { type: 'boolean', default: false },
  },
});

/** A program is small: one that takes so long does not end. */
const HANG_MILLISECONDS = 120_000;
/** Arguments of Node. A program of some tensors leaves garbage of that size: with the default of 16 MiB a fifth of the time goes into moving what still lives. */
const NODE_ARGUMENTS = ['--enable-source-maps', '--max-semi-space-size=64'];
/** So many different ones are enough to work on. */
const MOST_REPORTS = 20;

const executors = ['simple', 'profiling', 'bailouts'] as const;

function laneOf(): Lane {
  const device = values.device as DeviceName;
  if (!DEVICES.includes(device)) throw new Error(`--device is one of ${DEVICES.join(', ')}`);
  const executor = (values.executor ?? null) as Lane['executor'];
  if (executor !== null && !executors.includes(executor as never))
    throw new Error(`--executor is one of ${executors.join(', ')}`);
  const smallWork = values['small-work'] === undefined ? null : Number(values['small-work']);
  const { saved, 'hardware-schedules': hardwareSchedules } = values;
  const python = process.env.PYTHON;
  if (saved && values.gradients && python)
    throw new Error('PyTorch is not asked for gradients: --saved without PYTHON, or without --gradients');
  const pytorch = saved && python ? { python, script: values['pytorch-script'] } : null;
  return { device, executor, hardwareSchedules, smallWork, saved, pytorch };
}

const counts = { same: 0, 'ill-conditioned': 0, wrong: 0 };
let reports = 0;

function note(told: Told): void {
  if (told.kind === 'shown') console.log(`--- seed ${told.seed}\n${told.report}\n`);
  if (told.kind === 'begin' || told.kind === 'shown') return;
  counts[told.kind]++;
  if (told.kind === 'wrong' && reports++ < MOST_REPORTS) console.log(`--- seed ${told.seed}\n${told.report}\n`);
}

/** Takes every \`step\`th seed in a process of its own; one that hangs or falls over is a failure, and the next process goes on behind it. */
async function takeSeeds(work: Work): Promise<void> {
  const script = fileURLToPath(new URL('./worker.js', import.meta.url));
  let { first } = work;
  while (first <= work.last) {
    const child = fork(script, { execArgv: NODE_ARGUMENTS, env: { ...process.env, ...vulkanEnvironment } });
    child.send({ ...work, first } satisfies Work);
    const ended = await watch(child, (seed) => (first = seed));
    if (ended === 'done') return;
    const what = ended === 'hang' ? `it takes more than ${HANG_MILLISECONDS / 1000} s` : 'the process fell over';
    note({ seed: first, kind: 'wrong', report: `${what}: --seed ${first} --count 1 --show prints it` });
    first += work.step;
  }
}

function watch(child: ChildProcess, onBegin: (seed: number) => void): Promise<'done' | 'hang' | 'crash'> {
  return new Promise((resolve) => {
    let isHanging = false;
    const timer = (): NodeJS.Timeout =>
      setTimeout(() => {
        isHanging = true;
        child.kill('SIGKILL');
      }, HANG_MILLISECONDS);
    let limit = timer();
    child.on('message', (told: Told) => {
      clearTimeout(limit);
      limit = timer();
      if (told.kind === 'begin') onBegin(told.seed);
      note(told);
    });
    child.on('exit', (status) => {
      clearTimeout(limit);
      resolve(status === 0 ? 'done' : isHanging ? 'hang' : 'crash');
    });
  });
}

const lane = laneOf();
const growth: Growth = { isDifferentiated: values.gradients, calls: Number(values.calls) };
const [first, count, jobs] = [values.seed, values.count, values.jobs].map(Number);
const started = performance.now();
const processes = Math.min(jobs, count);
await Promise.all(
  Array.from({ length: processes }, (_, at) =>
    takeSeeds({ lane, growth, first: first + at, last: first + count - 1, step: processes, show: values.show }),
  ),
);
if (values.show) process.exit(0);
const seconds = (performance.now() - started) / 1000;
console.log(
  `${count} programs from seed ${first} on ${[lane.device, lane.executor ?? [], lane.pytorch ? 'saved by PyTorch' : lane.saved ? 'saved' : [], values.gradients ? 'with gradients' : []].flat().join(', ')}: ${counts.same} same, ` +
    `${counts['ill-conditioned']} hang on rounding or order, ${counts.wrong} wrong (${seconds.toFixed(0)} s)`,
);
process.exit(counts.wrong > 0 ? 1 : 0);
