import { extendServices } from '@cresset/ir';
import { registerAllParts, type RuntimeServices } from '@cresset/runtime';
import { Dict, Tensor } from '@cresset/tensor';
import { NullGpu } from '../../../test-setup/null-gpu.ts';
import { line, received, subjectsIn, type Subject } from './subjects.ts';

/** Runs before anything is measured: by then the engine has compiled what it is going to. */
const warmRuns = 1500;
/** Processor time is that of the best of so many rounds: other work on the machine and collections of garbage only add to it. */
const rounds = 12;
const runsInRound = 150;
/** Without recordings a run takes so much longer that fewer do. */
const plainRuns = 60;

interface Measure {
  readonly dispatches: number;
  readonly replayed: number;
  /** Of the processor, for one run. */
  readonly microseconds: number;
  /** Those that copying its answer out of mapped memory takes, whoever does it. */
  readonly copying: number;
  readonly heapGrowth: number;
  readonly calls: string;
}

/** Microseconds that the processor takes for `once`, in the best of all rounds. */
async function processorTime(once: () => Promise<void>, runs: number): Promise<number> {
  let microseconds = Infinity;
  for (let round = 0; round < rounds; round++) {
    const start = process.cpuUsage();
    for (let run = 0; run < runs; run++) await once();
    const { user, system } = process.cpuUsage(start);
    microseconds = Math.min(microseconds, (user + system) / runs);
  }
  return microseconds;
}

async function measure(subject: Subject, warm: number, runs: number): Promise<Measure> {
  const gpu = new NullGpu();
  const { module, call } = await subject.open(gpu.open());
  const once = async (): Promise<void> => {
    const inputs = subject.inputs.map(received);
    const result = await call(inputs);
    // As a host does whose answer is on its way.
    const results = result instanceof Dict ? result.entries.values() : [result];
    for (const value of [...inputs, ...results]) if (value instanceof Tensor) value.dispose();
  };
  for (let run = 0; run < warm; run++) await once();
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed;
  const { writes, submits, buffers, bindGroups } = { ...gpu.calls };
  const microseconds = await processorTime(once, runs);
  globalThis.gc?.();
  const heapGrowth = (process.memoryUsage().heapUsed - heap) / (rounds * runs);
  const { calls } = gpu;
  const since = [
    calls.writes - writes,
    calls.submits - submits,
    calls.buffers - buffers,
    calls.bindGroups - bindGroups,
  ];
  const { dispatches, replayed, readbackBytes } = module.lastRun!;
  const answer = new ArrayBuffer(readbackBytes);
  return {
    dispatches,
    replayed,
    microseconds,
    copying: await processorTime(async () => void answer.slice(0), runs),
    heapGrowth,
    calls: since.map((count) => count / (rounds * runs)).join(' '),
  };
}

const rounded = (value: number): number => Number(value.toFixed(2));

/**
 * Prints a row for each program, recorded and as it is without recordings; then what a run costs by itself, and what each dispatch adds.
 *
 * @param models the folder that model files are in
 */
export async function main(models: string, names: readonly string[]): Promise<void> {
  registerAllParts();
  const wanted = subjectsIn(models).filter(
    ({ name }) => names.length === 0 || names.some((part) => name.includes(part)),
  );
  const rows = [];
  for (const subject of wanted) {
    const recorded = await measure(subject, warmRuns, runsInRound);
    extendServices<RuntimeServices>({ planner: () => null });
    const plain = await measure(subject, 20, Math.ceil(plainRuns / rounds));
    registerAllParts();
    rows.push({
      program: subject.name,
      dispatches: recorded.dispatches,
      replayed: recorded.replayed,
      'µs a run': rounded(recorded.microseconds),
      'µs a dispatch': rounded(recorded.microseconds / recorded.dispatches),
      'copying the answer': rounded(recorded.copying),
      'without recording': rounded(plain.microseconds / plain.dispatches),
      'heap, bytes a run': Math.round(recorded.heapGrowth),
      'writes submits buffers bindGroups': recorded.calls,
    });
  }
  console.table(rows);
  const [short, long] = [
    await measure(line(1), warmRuns, runsInRound),
    await measure(line(150), warmRuns, runsInRound),
  ];
  const added = (long.microseconds - short.microseconds) / (long.dispatches - short.dispatches);
  console.log(`each dispatch: ${rounded(added)} µs (a line of ${long.dispatches} beside one of ${short.dispatches})`);
  console.log(`the run itself: ${rounded(short.microseconds - short.dispatches * added)} µs`);
}
