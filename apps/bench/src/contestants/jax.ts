import type * as Jax from '@jax-js/jax';
import type { BenchTensor } from '../values.ts';
import type { TrainingModel } from '../models/bench-model.ts';
import type { Contestant, OpenedModel } from './contestant.ts';

/** jax-js with its own reader of ONNX files, under `jit`. */
export function jax(device: 'webgpu' | 'wasm'): Contestant {
  let library: typeof Jax;
  return {
    id: `jax-${device}`,
    library: 'jax-js',
    device: device === 'webgpu' ? 'WebGPU' : 'host',
    async start() {
      library = await import('@jax-js/jax');
      const devices = await library.init(device);
      if (!devices.includes(device)) throw new Error(`jax-js has no ${device} here`);
      return __JAX_VERSION__;
    },
    async open(model) {
      const { ONNXModel } = await import('@jax-js/onnx');
      library.defaultDevice(device);
      if (model.training) return trained(library, device, model.training);
      const { bytes, chain } = await model.onnx();
      if (chain) throw new Error('has not been written down for jax-js');
      const onnx = new ONNXModel(bytes);
      const { input, output, initializer } = onnx.model.graph!;
      const weights = new Set(initializer.map(({ name }) => name));
      const inputNames = input.map(({ name }) => name).filter((name) => !weights.has(name));
      const compiled = library.jit(onnx.run);
      return {
        run: async () => {
          library.defaultDevice(device);
          const values = Object.values(model.inputs).map((value) => upload(library, value));
          const results = compiled(Object.fromEntries(values.map((value, at) => [inputNames[at], value])));
          const answers = output.map(({ name }) => results[name]);
          const shapes = answers.map(({ shape }) => shape);
          const data = await Promise.all(answers.map((answer) => answer.data()));
          return {
            tensors: () =>
              data.map(
                (elements, at) => ({ dtype: 'float32', shape: shapes[at], data: elements }) as unknown as BenchTensor,
              ),
          };
        },
        dispose() {
          compiled.dispose();
          onnx.dispose();
        },
      };
    },
  };
}

/** A model whose runs are steps of training: gradients and the update are one jitted function. */
function trained(library: typeof Jax, device: Jax.Device, training: TrainingModel): OpenedModel {
  const { x, oneHot, learningRate } = training;
  type Weights = Record<string, Jax.Array>;
  const map = (weights: Weights, change: (value: Jax.Array, name: string) => Jax.Array): Weights =>
    Object.fromEntries(Object.entries(weights).map(([name, value]) => [name, change(value, name)]));
  const lossOf = (weights: Weights, pictures: Jax.Array, labels: Jax.Array): Jax.Array =>
    labels
      .mul(library.nn.logSoftmax(training.jax(library, pictures, weights), -1))
      .sum()
      .mul(-1 / x.shape[0]);
  const step = library.jit((weights: Weights, pictures: Jax.Array, labels: Jax.Array): [Jax.Array, Weights] => {
    const kept = map(weights, (value) => value.ref);
    const [loss, gradients] = library.valueAndGrad(lossOf)(weights, pictures, labels);
    return [loss, map(kept, (value, name) => value.sub(gradients[name].mul(learningRate)))];
  });
  let weights: Weights = Object.fromEntries(
    Object.entries(training.weights).map(([name, value]) => [name, upload(library, value)]),
  );
  return {
    run: async () => {
      library.defaultDevice(device);
      const [loss, changed] = step(weights, upload(library, x), upload(library, oneHot));
      weights = changed;
      const data = await loss.data();
      return { tensors: () => [{ dtype: 'float32', shape: [], data } as unknown as BenchTensor] };
    },
    dispose() {
      step.dispose();
      for (const value of Object.values(weights)) value.dispose();
    },
  };
}

function upload({ numpy }: typeof Jax, { data, shape }: BenchTensor): Jax.Array {
  // It has no int64.
  return numpy.array(data instanceof BigInt64Array ? Int32Array.from(data, Number) : data, { shape });
}
