import type * as OnnxRuntime from 'onnxruntime-web';
import type { BenchTensor, NamedTensors } from '../values.ts';
import type { OpenWorkload } from '../workloads/open-workload.ts';
import { carriedOf, SequenceRunner, type Filled, type SequenceLibrary } from '../workloads/sequence-runner.ts';
import type { OnnxSequences } from '../workloads/workload.ts';
import type { Contestant, OpenedWorkload } from './contestant.ts';

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
    openWorkload: (open) => openedWorkload(library, provider, open),
  };
}

/** With WebGPU what the next call takes stays on the GPU, as the library lets its users ask for. */
async function openedWorkload(
  library: Library,
  provider: 'webgpu' | 'wasm',
  { workload, onnx }: OpenWorkload,
): Promise<OpenedWorkload> {
  const bytes = await onnx();
  const { checked } = workload;
  const sequences: OnnxSequences = workload.onnx === 'same' || workload.onnx === null ? workload : workload.onnx;
  const { isUnchecked = false } = sequences;
  const calls = sequences.known.flatMap((each) => each.calls);
  const staysThere = provider === 'webgpu' && calls.some((call) => carriedOf(call).size > 0);
  const session = await library.InferenceSession.create(bytes, {
    executionProviders: [provider],
    ...(staysThere ? { preferredOutputLocation: 'gpu-buffer' } : {}),
  });
  const sequenceLibrary: SequenceLibrary<OnnxRuntime.Tensor> = {
    tensor: (value) => tensorOf(library, value),
    async call(_method, inputs, carries) {
      const values = flat(inputs);
      if (session.inputNames.length !== values.length) {
        throw new Error(`the twin takes ${session.inputNames.join(', ')}`);
      }
      const results = await session.run(Object.fromEntries(values.map((value, at) => [session.inputNames[at], value])));
      const outputs = session.outputNames.map((name) => results[name]);
      if (staysThere) await Promise.all(outputs.map((each, at) => (carries.has(at) ? null : each.getData(true))));
      return outputs;
    },
    dispose: (tensor) => tensor.dispose(),
  };
  return {
    async begin(kind, at) {
      const runner = new SequenceRunner(sequenceLibrary, sequences[kind][at]);
      await runner.begin();
      return async () => {
        const times = await runner.go();
        const answer = isUnchecked ? null : runner.results.slice(0, checked).map(benchTensor);
        return { times, tensors: async () => answer };
      };
    },
    dispose: () => session.release(),
  };
}

/** Tensors in line, as a graph of ONNX takes them. */
function flat(values: readonly Filled<OnnxRuntime.Tensor>[]): OnnxRuntime.Tensor[] {
  return values.flatMap((value) => {
    if (typeof value === 'number') throw new Error('a graph of ONNX takes no numbers');
    return 'dims' in value ? [value] : flat(value);
  });
}

const tensorOf = ({ Tensor }: Library, { dtype, data, shape }: BenchTensor): OnnxRuntime.Tensor =>
  new Tensor(dtype, data, shape);

function tensorsOf(library: Library, values: NamedTensors): Record<string, OnnxRuntime.Tensor> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, tensorOf(library, value)]));
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
