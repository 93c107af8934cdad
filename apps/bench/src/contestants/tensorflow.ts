import { permuted, type BenchTensor, type NamedTensors } from '../values.ts';
import type { TensorFlow, TensorFlowTensor } from './tensorflow-api.ts';
import type { TrainingModel } from '../models/bench-model.ts';
import type { Contestant, OpenedModel } from './contestant.ts';

/** TensorFlow.js, for the models that were written down for it. */
export function tensorFlow(backend: 'webgpu' | 'wasm'): Contestant {
  let tf: TensorFlow;
  return {
    id: `tfjs-${backend}`,
    library: 'TensorFlow.js',
    device: backend === 'webgpu' ? 'WebGPU' : 'host',
    async start(threads) {
      tf = await import('@tensorflow/tfjs-core');
      // What knows derivatives is not among what the package imports itself, and cannot be imported in Node.
      if (!import.meta.env.SSR) await import('@tensorflow/tfjs-core/dist/register_all_gradients.js');
      if (backend === 'webgpu') await import('@tensorflow/tfjs-backend-webgpu');
      else await startWasm(threads);
      if (!(await tf.setBackend(backend))) throw new Error(`TensorFlow.js has no ${backend} here`);
      await tf.ready();
      return tf.version_core;
    },
    async open({ inputs, training, tensorflow: twin }) {
      await tf.setBackend(backend);
      if (training) return trained(tf, backend, training);
      if (!twin) throw new Error('has not been written down for TensorFlow.js');
      const given = arranged(inputs, twin.layout);
      const upload = uploadTo(tf);
      const weights = mapped(arranged(twin.weights, twin.layout), upload);
      return {
        run: async () => {
          await tf.setBackend(backend);
          const result = tf.tidy(() => twin.run(tf, { ...mapped(given, upload), ...weights }));
          const { shape } = result;
          const data = await result.data();
          result.dispose();
          const answer: BenchTensor = { dtype: 'float32', shape, data };
          return { tensors: () => [twin.answerLayout ? permuted(answer, twin.answerLayout) : answer] };
        },
        dispose: () => Object.values(weights).forEach((weight) => weight.dispose()),
      };
    },
  };
}

/** A model whose runs are steps of training. */
function trained(
  tf: TensorFlow,
  backend: string,
  { x, oneHot, weights, learningRate, tensorflow: { layout, scores } }: TrainingModel,
): OpenedModel {
  const upload = uploadTo(tf);
  const batch = arranged({ x }, layout).x;
  const variables = mapped(arranged(weights, layout), (value) => {
    const start = upload(value);
    const variable = tf.variable(start);
    start.dispose();
    return variable;
  });
  const optimizer = tf.train.sgd(learningRate);
  return {
    run: async () => {
      await tf.setBackend(backend);
      const loss = tf.tidy(() => {
        const [pictures, labels] = [upload(batch), upload(oneHot)];
        const lossOf = (): TensorFlowTensor => tf.losses.softmaxCrossEntropy(labels, scores(tf, pictures, variables));
        return optimizer.minimize(lossOf, true, Object.values(variables));
      });
      const data = await loss.data();
      loss.dispose();
      return { tensors: () => [{ dtype: 'float32', shape: [], data }] };
    },
    dispose() {
      optimizer.dispose();
      for (const variable of Object.values(variables)) variable.dispose();
    },
  };
}

const uploadTo =
  (tf: TensorFlow) =>
  ({ data, shape }: BenchTensor): TensorFlowTensor =>
    tf.tensor(data as Float32Array, shape, 'float32');

function mapped<Value, Result>(
  values: Readonly<Record<string, Value>>,
  map: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}

function arranged(
  tensors: NamedTensors,
  layout: Readonly<Record<string, readonly number[]>> = {},
): Record<string, BenchTensor> {
  return Object.fromEntries(
    Object.entries(tensors).map(([name, value]) => [name, layout[name] ? permuted(value, layout[name]) : value]),
  );
}

async function startWasm(threads: number): Promise<void> {
  // They are started with the text of a function that a bundler has renamed things in.
  if (threads > 1) throw new Error('its threads do not start where it is bundled');
  const { setWasmPaths } = await import('@tensorflow/tfjs-backend-wasm');
  // In Node the package finds its own files.
  if (import.meta.env.SSR) return;
  const [plain, simd, threaded] = await Promise.all([
    import('@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm.wasm?url'),
    import('@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm?url'),
    import('@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-threaded-simd.wasm?url'),
  ]);
  setWasmPaths({
    'tfjs-backend-wasm.wasm': plain.default,
    'tfjs-backend-wasm-simd.wasm': simd.default,
    'tfjs-backend-wasm-threaded-simd.wasm': threaded.default,
  });
}
