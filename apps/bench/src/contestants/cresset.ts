import {
  init,
  load,
  optim,
  setJitOptions,
  tensor,
  Tensor,
  version,
  type DeviceTensor,
  type Input,
  type Output,
  type OutputPlace,
  type ScriptModule,
} from 'cresset';
import type { TrainingModel } from '../models/bench-model.ts';
import type { BenchTensor } from '../values.ts';
import { SequenceRunner, type Filled, type SequenceLibrary } from '../workloads/sequence-runner.ts';
import type { Workload } from '../workloads/workload.ts';
import type { Contestant, OpenedModel, OpenedWorkload } from './contestant.ts';

/** A tensor on the page, or one that stayed where the model made it. */
type Held = Tensor | DeviceTensor;

/** Cresset in this thread, where the other libraries run too. */
export function cresset(device: 'webgpu' | 'cpu'): Contestant {
  return {
    id: `cresset-${device}`,
    library: 'Cresset',
    device: device === 'webgpu' ? 'WebGPU' : 'host',
    async start(threads) {
      setJitOptions({ numThreads: threads });
      if (device === 'webgpu') {
        const found = await init();
        if (!found.available) throw new Error(found.message);
      }
      return version;
    },
    async open(model) {
      const module = await model.load({ device, worker: false });
      if (model.training) return opened(module, model.training);
      const given = model.calls ?? [{ method: 'forward', inputs: Object.values(model.inputs) }];
      const calls = given.map(({ method, inputs }) => ({ method, inputs: inputs.map(inputOf) }));
      let outputs: Output[] = [];
      return {
        run: async () => {
          outputs.forEach(dispose);
          outputs = [];
          for (const { method, inputs } of calls) outputs.push(await module.call(method, inputs));
          const answer = outputs;
          return { tensors: () => answer.flatMap(tensorsIn) };
        },
        dispose: () => module.dispose(),
      };
    },
    openWorkload: async ({ workload, torchScript }) =>
      openedWorkload(await load(await torchScript(), { device, worker: false }), workload),
  };
}

async function openedWorkload(module: ScriptModule, workload: Workload): Promise<OpenedWorkload> {
  const { known, fresh, learningRate, checked } = workload;
  let launches = { all: 0, replayed: 0 };
  const library: SequenceLibrary<Held> = {
    tensor: ({ data, shape }) => tensor(data, [...shape]),
    call: await callOf(module, learningRate),
    dispose: (each) => each.dispose(),
  };
  const counting: SequenceLibrary<Held> = {
    ...library,
    async call(...given) {
      const results = await library.call(...given);
      const { dispatches = 0, replayed = 0 } = module.lastRun ?? {};
      launches = { all: launches.all + dispatches, replayed: launches.replayed + replayed };
      return results;
    },
  };
  const methods = new Set([...known, ...fresh].flatMap(({ calls }) => calls.map(({ method }) => method)));
  return {
    async begin(kind, at) {
      const runner = new SequenceRunner(counting, workload[kind][at]);
      await runner.begin();
      launches = { all: 0, replayed: 0 };
      return async () => {
        const times = await runner.go();
        const answer = runner.results.slice(0, checked).map((each) => benchTensor(each as Tensor));
        return { times, launches, tensors: async () => answer };
      };
    },
    async recordings() {
      const explanations = await Promise.all([...methods].map((method) => module.explain(method)));
      const counts = explanations.flatMap(({ stretches }) => stretches.map(({ recordings }) => recordings));
      return counts.reduce((sum, each) => sum + each, 0);
    },
    dispose: () => module.dispose(),
  };
}

/** How a call of a workload is done: a step of training where there is a rate to learn with. */
async function callOf(module: ScriptModule, rate: number | undefined): Promise<SequenceLibrary<Held>['call']> {
  if (rate === undefined) {
    /** How many tensors each value of a method's result has. */
    const counts = new Map<string, readonly number[]>();
    return async (method, inputs, carries) => {
      const outputs = placesOf(counts.get(method), carries);
      const result = await module.call(method, inputs as readonly Filled<Held>[], outputs && { outputs });
      if (Array.isArray(result))
        counts.set(
          method,
          (result as readonly Output[]).map((each) => tensorsOf(each).length),
        );
      return tensorsOf(result);
    };
  }
  const trainer = await module.trainer({ optimizer: optim.SGD({ lr: rate }), loss: 'cross_entropy' });
  return async (_method, [batch, classes]) => {
    const { loss } = await trainer.step(batch as Tensor, classes as Tensor);
    return [tensor(Float32Array.of(loss), [])];
  };
}

/** Leaves what the next call takes where the model made it, as a page would; undefined where all comes to the page. */
function placesOf(counts: readonly number[] | undefined, carries: ReadonlySet<number>): OutputPlace[] | undefined {
  if (!counts || carries.size === 0) return undefined;
  let first = 0;
  return counts.map((count) => {
    const places = Array.from({ length: count }, (_, at) => first + at);
    first += count;
    return count > 0 && places.every((place) => carries.has(place)) ? 'device' : 'page';
  });
}

/** A module whose runs are steps of training. */
async function opened(module: ScriptModule, { x, labels, learningRate }: TrainingModel): Promise<OpenedModel> {
  const batch = tensor(x.data, [...x.shape]);
  const classes = tensor(labels.data, [...labels.shape]);
  const trainer = await module.trainer({ optimizer: optim.SGD({ lr: learningRate }), loss: 'cross_entropy' });
  return {
    run: async () => {
      const { loss } = await trainer.step(batch, classes);
      return { tensors: () => [{ dtype: 'float32', shape: [], data: Float32Array.of(loss) }] };
    },
    dispose: () => module.dispose(),
  };
}

function inputOf(value: BenchTensor | number): Input {
  return typeof value === 'number' ? value : tensor(value.data, [...value.shape]);
}

/** Gives up the tensors of an answer that nobody looks at any more. */
function dispose(output: Output): void {
  if (output instanceof Tensor) output.dispose();
  else if (output instanceof Map) for (const each of output.values()) dispose(each);
  else if (Array.isArray(output)) output.forEach(dispose);
}

const tensorsIn = (output: Output): BenchTensor[] => tensorsOf(output).map((each) => benchTensor(each as Tensor));

function benchTensor({ dtype, shape, data }: Tensor): BenchTensor {
  return { dtype, shape, data } as unknown as BenchTensor;
}

function tensorsOf(output: Output): Held[] {
  if (typeof output === 'object' && output !== null && 'dtype' in output) return [output as Held];
  if (output instanceof Map) return [...output.values()].flatMap(tensorsOf);
  return Array.isArray(output) ? output.flatMap(tensorsOf) : [];
}
