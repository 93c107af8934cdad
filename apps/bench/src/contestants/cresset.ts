import {
  init,
  optim,
  setJitOptions,
  tensor,
  Tensor,
  version,
  type Input,
  type Output,
  type ScriptModule,
} from 'cresset';
import type { TrainingModel } from '../models/bench-model.ts';
import type { BenchTensor } from '../values.ts';
import type { Contestant, OpenedModel } from './contestant.ts';

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
  };
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

function tensorsIn(output: Output): BenchTensor[] {
  if (output instanceof Tensor) {
    const { dtype, shape, data } = output;
    return [{ dtype, shape, data } as unknown as BenchTensor];
  }
  if (output instanceof Map) return [...output.values()].flatMap(tensorsIn);
  return Array.isArray(output) ? output.flatMap(tensorsIn) : [];
}
