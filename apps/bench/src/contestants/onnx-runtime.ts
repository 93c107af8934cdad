import type * as OnnxRuntime from 'onnxruntime-web';
import type { BenchTensor } from '../values.ts';
import type { Contestant } from './contestant.ts';

type Library = typeof OnnxRuntime;

/** ONNX Runtime Web with what it calls its `webgpu` or its `wasm` execution provider, and no settings. */
export function onnxRuntime(provider: 'webgpu' | 'wasm'): Contestant {
  let library: Library;
  return {
    id: `ort-${provider}`,
    library: 'ONNX Runtime Web',
    device: provider === 'webgpu' ? 'WebGPU' : 'host',
    async start() {
      library = await importLibrary(provider);
      library.env.logLevel = 'error';
      const { web, common } = library.env.versions;
      return web ?? common ?? '';
    },
    async open(model) {
      const { bytes } = await model.onnx();
      const session = await library.InferenceSession.create(bytes, { executionProviders: [provider] });
      const values = Object.values(model.inputs);
      if (session.inputNames.length !== values.length) {
        throw new Error(`the twin takes ${session.inputNames.join(', ')}`);
      }
      const feeds = Object.fromEntries(
        values.map(({ dtype, data, shape }, at) => [session.inputNames[at], new library.Tensor(dtype, data, shape)]),
      );
      return {
        run: async () => {
          const results = await session.run(feeds);
          return { tensors: () => tensorsIn(session, results) };
        },
        dispose: () => session.release(),
      };
    },
  };
}

function tensorsIn(
  { outputNames }: OnnxRuntime.Session,
  results: Readonly<Record<string, OnnxRuntime.Tensor>>,
): BenchTensor[] {
  return outputNames.map((name) => {
    const { type, dims, data } = results[name];
    return { dtype: type, shape: dims, data } as BenchTensor;
  });
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
