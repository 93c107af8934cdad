import { load } from 'cresset';
import type { BenchTensor } from '../values.ts';
import type { BenchModel, ModelEntry } from './bench-model.ts';
import { readCases, tensorsIn, type ModelFolder } from './case-models.ts';

/** How many chunks of a recording one run takes, 32 ms of sound each: the state goes from one to the next. */
const CHUNKS = 8;
const RATE = 16_000;
/** Samples of the chunk before that the twin in ONNX wants in front of each; the program keeps them itself. */
const CONTEXT = 64;
const STATE = [2, 1, 128] as const;

/** The published voice activity detector, over some chunks of a recording from a fresh state on. */
export function sileroVad(folder: ModelFolder): ModelEntry {
  const name = 'silero_vad';
  const about = `silero-vad, ${CHUNKS} chunks of 32 ms with the state carried along`;
  return { name, about, open: () => openSilero(folder, name, about) };
}

async function openSilero(folder: ModelFolder, name: string, about: string): Promise<BenchModel> {
  const read = (file: string): Promise<Uint8Array<ArrayBuffer>> => folder.read(`silero-vad/${file}`);
  const [{ calls, rtol, atol }] = await readCases(read);
  const chunkCalls = calls.slice(1, 1 + CHUNKS);
  const chunks = (await Promise.all(chunkCalls.map(({ inputs }) => tensorsIn(inputs[0], read)))).flat();
  const wanted = (await Promise.all(chunkCalls.map(({ output }) => tensorsIn(output, read)))).flat();
  return {
    name,
    about,
    inputs: {},
    calls: [
      { method: 'reset_states', inputs: [] },
      ...chunks.map((chunk) => ({ method: 'forward', inputs: [chunk, RATE] })),
    ],
    expected: {
      tensors: wanted.map(({ shape, data }) => ({ shape, step: 1, values: data as Float32Array })),
      rtol,
      atol,
    },
    load: async (options) => load(await read(`${name}.pt`), options),
    onnx: async () => ({
      bytes: await read(`${name}.onnx`),
      async chain(run) {
        const sr: BenchTensor = { dtype: 'int64', shape: [], data: BigInt64Array.of(BigInt(RATE)) };
        let state: BenchTensor = { dtype: 'float32', shape: STATE, data: new Float32Array(256) };
        let context = new Float32Array(CONTEXT);
        const probabilities: BenchTensor[] = [];
        for (const { data } of chunks) {
          const samples = Float32Array.of(...context, ...(data as Float32Array));
          const input: BenchTensor = { dtype: 'float32', shape: [1, samples.length], data: samples };
          const outputs = await run({ input, state, sr });
          probabilities.push(outputs['output']);
          state = outputs['stateN'];
          context = samples.slice(-CONTEXT);
        }
        return probabilities;
      },
    }),
    tensorflow: null,
    pytorch: { file: `silero-vad/${name}.pt` },
  };
}
