import { createModule, load, tensor } from 'cresset';
import { OnnxGraph } from '../onnx/onnx-model.ts';
import expected from '../programs/expected.json' with { type: 'json' };
import { tensorsOf, type Program } from '../programs/program.ts';
import { pytorchProgram } from '../programs/pytorch-program.ts';
import { programs } from '../programs/programs.ts';
import { trainingPrograms, type TrainingProgram } from '../programs/training.ts';
import type { BenchTensor, NamedTensors } from '../values.ts';
import type { BenchModel, ExpectedTensor, ModelEntry } from './bench-model.ts';

const answers: Readonly<Record<string, ExpectedTensor>> = expected.answers;

export const torchVersion: string = expected.torch;

export const programModels: readonly ModelEntry[] = programs.map((program) => ({
  name: program.name,
  about: program.about,
  open: async () => openProgram(program),
}));

export const trainingModels: readonly ModelEntry[] = trainingPrograms.map((program) => ({
  name: program.name,
  about: program.about,
  open: async () => openTraining(program),
}));

function openTraining(program: TrainingProgram): BenchModel {
  const { name, about, classes, learningRate, steps, tensorflow, jax } = program;
  const { inputs, weights } = tensorsOf({ inputs: { x: program.x }, weights: program.weights });
  const { x } = inputs;
  const [pictures] = x.shape;
  const classOf = (picture: number): number => (3 * picture) % classes;
  const labels = BigInt64Array.from({ length: pictures }, (_, picture) => BigInt(classOf(picture)));
  const oneHot = new Float32Array(pictures * classes);
  for (let picture = 0; picture < pictures; picture++) oneHot[picture * classes + classOf(picture)] = 1;
  return {
    name,
    about,
    inputs,
    training: {
      x,
      labels: { dtype: 'int64', shape: [pictures], data: labels },
      oneHot: { dtype: 'float32', shape: [pictures, classes], data: oneHot },
      weights,
      learningRate,
      tensorflow,
      jax,
    },
    expectedRun: steps,
    expected: { tensors: [answers[name]], rtol: 1e-3, atol: 0 },
    load: async (options) => load(await torchScript(program, weights, true), options),
    onnx: () => Promise.reject(new Error('is trained, which a graph of ONNX does not say')),
    tensorflow: null,
    pytorch: { program: pytorchProgram(program) },
  };
}

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
    pytorch: { program: pytorchProgram(program) },
  };
}

/** The program as a `.pt` file, its weights parameters or buffers. */
async function torchScript(
  { name, torch }: Pick<Program, 'name' | 'torch'>,
  weights: Readonly<Record<string, BenchTensor>>,
  areTrained = false,
): Promise<Uint8Array> {
  const module = await createModule(name, { worker: false, device: 'cpu' });
  for (const [weight, { data, shape }] of Object.entries(weights)) {
    const value = tensor(data as Float32Array<ArrayBuffer>, [...shape]);
    await (areTrained ? module.registerParameter(weight, value) : module.registerBuffer(weight, value));
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
