import { createModule, load, tensor } from 'cresset';
import { OnnxGraph } from '../onnx/onnx-model.ts';
import expected from '../programs/expected.json' with { type: 'json' };
import { tensorsOf, type Program } from '../programs/program.ts';
import { programs } from '../programs/programs.ts';
import type { BenchTensor, NamedTensors } from '../values.ts';
import type { BenchModel, ExpectedTensor, ModelEntry } from './bench-model.ts';

const answers: Readonly<Record<string, ExpectedTensor>> = expected.answers;

export const torchVersion: string = expected.torch;

export const programModels: readonly ModelEntry[] = programs.map((program) => ({
  name: program.name,
  about: program.about,
  open: async () => openProgram(program),
}));

export function openProgram(program: Program): BenchModel {
  const { name, about, rtol, atol, tensorflow } = program;
  const { inputs, weights } = tensorsOf(program);
  return {
    name,
    about,
    inputs,
    expected: { tensors: [answers[name]], rtol, atol },
    load: async (options) => load(await torchScript(program, weights), options),
    onnx: async () => ({ bytes: onnxModel(program, inputs, weights) }),
    tensorflow: tensorflow ? { ...tensorflow, weights } : null,
  };
}

/** The program as a `.pt` file. */
async function torchScript(
  { name, torch }: Program,
  weights: Readonly<Record<string, BenchTensor>>,
): Promise<Uint8Array> {
  const module = await createModule(name, { worker: false, device: 'cpu' });
  for (const [weight, { data, shape }] of Object.entries(weights)) {
    await module.registerBuffer(weight, tensor(data as Float32Array<ArrayBuffer>, [...shape]));
  }
  await module.define(torch);
  const bytes = await module.save();
  await module.dispose();
  return bytes;
}

/** The program as an `.onnx` file. */
export function onnxModel(program: Program, inputs: NamedTensors, weights: NamedTensors): Uint8Array<ArrayBuffer> {
  const graph = new OnnxGraph(program.name);
  for (const [name, { shape }] of Object.entries(inputs)) graph.input(name, 'float32', shape);
  for (const [name, value] of Object.entries(weights)) graph.weight(name, value);
  graph.output(program.onnx(graph), 'float32', program.output);
  return graph.model();
}
