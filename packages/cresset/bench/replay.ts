import { existsSync, readFileSync } from 'node:fs';
import { readModule } from '@cresset/archive';
import { extendServices } from '@cresset/ir';
import { registerAllParts, RuntimeContext, ScriptModule, type RuntimeServices } from '@cresset/runtime';
import { Dict, Storage, Tensor, type IValue } from '@cresset/tensor';
import { NullGpu } from '../../../test-setup/null-gpu.ts';
import { intsOf, PythonFunctions, tensorOf } from '../src/models/python-functions-fixture.ts';

/** Runs before anything is measured: by then the engine has compiled what it is going to. */
const warmRuns = 1500;
/** Processor time is that of the best of so many rounds: other work on the machine and collections of garbage only add to it. */
const rounds = 12;
const runsInRound = 150;
/** Without recordings a run takes so much longer that fewer do. */
const plainRuns = 60;

/** A program and its inputs, made anew for each run as a page makes them. */
interface Subject {
  readonly name: string;
  readonly inputs: readonly IValue[];
  open(gpu: NullGpu): Promise<{ module: ScriptModule; call(inputs: readonly IValue[]): Promise<IValue> }>;
}

const image = [tensorOf([1, 3, 224, 224])];
const sentence = (...ids: number[]): Tensor => intsOf(...ids).asStrided([2, 40], [40, 1]);
const sentences = [sentence(...Array(80).keys()), sentence(...Array<number>(80).fill(1)), null];

/** Another tensor with the same elements, as one that comes with a message. */
const received = (value: IValue): IValue =>
  value instanceof Tensor
    ? new Tensor(Storage.onHost(value.storage.hostBytes()), value.dtype, value.sizes, value.strides)
    : value;

const subjectsIn = (models: string): Subject[] =>
  [
    ofSource(
      '40 softmaxes in line',
      `def f(x: Tensor):\n${'    x = torch.softmax(x, -1)\n'.repeat(40)}    return x\n`,
      [tensorOf([64, 64])],
    ),
    ofSource(
      '40 trips of a loop',
      'def f(x: Tensor, n: int):\n    for i in range(n):\n        x = torch.softmax(x, -1)\n    return x\n',
      [tensorOf([64, 64]), 40n],
    ),
    ofFile(models, 'resnet18/resnet18.pt', image),
    ofFile(models, 'mobilenetv3_small/mobilenetv3_small.pt', image),
    ofFile(models, 'vit_tiny/vit_tiny.pt', image),
    ofFile(models, 'bert_sdpa/bert_sdpa.pt', sentences),
    ofFile(models, 'silero-vad/silero_vad.pt', [tensorOf([1, 512]), 16000n]),
  ].flatMap((subject) => subject ?? []);

/** Straight lines of products, each of two dispatches at most, over little data: what is left is launches, and the run itself. */
const line = (products: number): Subject =>
  ofSource(
    `${products} products in line`,
    `def f(x: Tensor, w: Tensor):\n${'    x = torch.softmax(x @ w, -1)\n'.repeat(products)}    return x\n`,
    [tensorOf([32, 32]), tensorOf([32, 32])],
  );

function ofSource(name: string, source: string, inputs: readonly IValue[]): Subject {
  return {
    name,
    inputs,
    async open(gpu) {
      const functions = new PythonFunctions(source, { device: gpu.open() });
      return { module: functions.module, call: (given) => functions.call('f', given) };
    },
  };
}

function ofFile(models: string, file: string, inputs: readonly IValue[]): Subject | null {
  if (!existsSync(models + file)) return null;
  return {
    name: file,
    inputs,
    async open(gpu) {
      const { module, unit } = await readModule(new Uint8Array(readFileSync(models + file)));
      const model = new ScriptModule(module, unit, new RuntimeContext({ device: gpu.open() }));
      return { module: model, call: (given) => model.call('forward', given, { resultToHost: true }) };
    },
  };
}

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
  const { module, call } = await subject.open(gpu);
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
