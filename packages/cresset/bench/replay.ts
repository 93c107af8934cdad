import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readModule } from '@cresset/archive';
import { registerAllParts, RuntimeContext, ScriptModule, usePlanner } from '@cresset/runtime';
import { Dict, Storage, Tensor, type IValue } from '@cresset/tensor';
import { NullGpu } from '../../../test-setup/null-gpu.ts';
import { intsOf, PythonFunctions, tensorOf } from '../src/models/python-functions-fixture.ts';

const models = fileURLToPath(new URL('../../../../shared/models/', import.meta.url));
const runs = 300;

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

const subjects: readonly Subject[] = [
  ofSource('40 softmaxes in line', `def f(x: Tensor):\n${'    x = torch.softmax(x, -1)\n'.repeat(40)}    return x\n`, [
    tensorOf([64, 64]),
  ]),
  ofSource(
    '40 trips of a loop',
    'def f(x: Tensor, n: int):\n    for i in range(n):\n        x = torch.softmax(x, -1)\n    return x\n',
    [tensorOf([64, 64]), 40n],
  ),
  ofFile('resnet18/resnet18.pt', image),
  ofFile('mobilenetv3_small/mobilenetv3_small.pt', image),
  ofFile('vit_tiny/vit_tiny.pt', image),
  ofFile('bert_sdpa/bert_sdpa.pt', sentences),
  ofFile('silero-vad/silero_vad.pt', [tensorOf([1, 512]), 16000n]),
].flatMap((subject) => subject ?? []);

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

function ofFile(file: string, inputs: readonly IValue[]): Subject | null {
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
  readonly heapGrowth: number;
  readonly calls: string;
}

async function measure(subject: Subject): Promise<Measure> {
  const gpu = new NullGpu();
  const { module, call } = await subject.open(gpu);
  const once = async (): Promise<void> => {
    const inputs = subject.inputs.map(received);
    const result = await call(inputs);
    // As a host does whose answer is on its way.
    const results = result instanceof Dict ? result.entries.values() : [result];
    for (const value of [...inputs, ...results]) if (value instanceof Tensor) value.dispose();
  };
  for (let run = 0; run < 20; run++) await once();
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed;
  const calls = { ...gpu.calls };
  const start = process.cpuUsage();
  for (let run = 0; run < runs; run++) await once();
  const { user, system } = process.cpuUsage(start);
  const { writes, submits, buffers, bindGroups } = gpu.calls;
  const since = [
    writes - calls.writes,
    submits - calls.submits,
    buffers - calls.buffers,
    bindGroups - calls.bindGroups,
  ];
  globalThis.gc?.();
  const { dispatches, replayed } = module.lastRun!;
  return {
    dispatches,
    replayed,
    microseconds: (user + system) / runs,
    heapGrowth: process.memoryUsage().heapUsed - heap,
    calls: since.map((count) => count / runs).join(' '),
  };
}

/** Prints a row for each program: recorded, and as it is without recordings. */
export async function main(names: readonly string[]): Promise<void> {
  registerAllParts();
  const wanted = subjects.filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)));
  const rows = [];
  for (const subject of wanted) {
    const recorded = await measure(subject);
    usePlanner(null);
    const plain = await measure(subject);
    registerAllParts();
    rows.push({
      program: subject.name,
      dispatches: recorded.dispatches,
      replayed: recorded.replayed,
      'µs a dispatch': Number((recorded.microseconds / recorded.dispatches).toFixed(2)),
      'without recording': Number((plain.microseconds / plain.dispatches).toFixed(2)),
      'heap, bytes a run': Math.round(recorded.heapGrowth / runs),
      'writes submits buffers bindGroups': recorded.calls,
    });
  }
  console.table(rows);
}
