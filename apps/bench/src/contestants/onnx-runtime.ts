import type * as OnnxRuntime from 'onnxruntime-web';
import type { BenchTensor, NamedTensors } from '../values.ts';
import type { Contestant } from './contestant.ts';

type Library = typeof OnnxRuntime;

/** ONNX Runtime Web with what it calls its `webgpu` or its `wasm` execution provider, and no settings. */
export function onnxRuntime(provider: 'webgpu' | 'wasm'): Contestant {
  let library: Library;
  return {
    id: `ort-${provider}`,
    library: 'ONNX Runtime Web',
    device: provider === 'webgpu' ? 'WebGPU' : 'host',
    async start(threads) {
      library = await importLibrary(provider);
      library.env.logLevel = 'error';
      library.env.wasm.numThreads = threads;
      const { web, common } = library.env.versions;
      return web ?? common ?? '';
    },
    async open(model) {
      const twin = await model.onnx();
      const session = await library.InferenceSession.create(twin.bytes, { executionProviders: [provider] });
      const { chain } = twin;
      if (chain) {
        const step = async (feeds: NamedTensors): Promise<NamedTensors> => {
          const results = await session.run(tensorsOf(library, feeds));
          return Object.fromEntries(Object.entries(results).map(([name, result]) => [name, benchTensor(result)]));
        };
        return {
          run: async () => {
            const answers = await chain(step);
            return { tensors: () => answers };
          },
          dispose: () => session.release(),
        };
      }
      const values = Object.values(model.inputs);
      if (session.inputNames.length !== values.length) {
        throw new Error(`the twin takes ${session.inputNames.join(', ')}`);
      }
      const named = Object.fromEntries(values.map((value, at) => [session.inputNames[at], value]));
      const feeds = tensorsOf(library, named);
      return {
        run: async () => {
          const results = await session.run(feeds);
          return { tensors: () => session.outputNames.map((name) => benchTensor(results[name])) };
        },
        dispose: () => session.release(),
      };
    },
  };
}

function tensorsOf({ Tensor }: Library, values: NamedTensors): Record<string, OnnxRuntime.Tensor> {
  return Object.fromEntries(
    Object.entries(values).map(([name, { dtype, data, shape }]) => [name, new Tensor(dtype, data, shape)]),
  );
}

function benchTensor({ type, dims, data }: OnnxRuntime.Tensor): BenchTensor {
  return { dtype: type, shape: dims, data } as BenchTensor;
}

async function importLibrary(provider: 'webgpu' | 'wasm'): Promise<Library> {
  if (import.meta.env.SSR) {
    if (provider === 'webgpu') throw new Error('ONNX Runtime Web has no WebGPU in Node');
    return import('onnxruntime-web');
  }
  if (provider === 'wasm') {
    const library = await import('onnxruntime-web/wasm');
    const { default: wasm } = await import('onnxruntime-web/ort-wasm-simd-threaded.wasm?url');
    library.env.wasm.wasmPaths = { wasm };
    return library;
  }
  const library = await import('onnxruntime-web/webgpu');
  const { default: wasm } = await import('onnxruntime-web/ort-wasm-simd-threaded.asyncify.wasm?url');
  library.env.wasm.wasmPaths = { wasm };
  return library;
}
