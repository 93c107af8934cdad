import type * as Jax from '@jax-js/jax';
import type { BenchTensor } from '../values.ts';
import type { Contestant } from './contestant.ts';

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

function upload({ numpy }: typeof Jax, { data, shape }: BenchTensor): Jax.Array {
  // It has no int64.
  return numpy.array(data instanceof BigInt64Array ? Int32Array.from(data, Number) : data, { shape });
}
