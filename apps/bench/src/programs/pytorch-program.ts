import type { PatternSpec, Program } from './program.ts';
import type { TrainingProgram } from './training.ts';

interface TensorSpec {
  readonly name: string;
  readonly shape: readonly number[];
  readonly scale: number;
}

/** A program as bench_programs.py is told of it. */
export interface PyTorchProgram {
  readonly name: string;
  /** Methods, which are Python as well as TorchScript. */
  readonly torch: string;
  readonly inputs: readonly TensorSpec[];
  readonly weights: readonly TensorSpec[];
  /** Where a run is a step of training: after so many its loss is what is expected. */
  readonly steps?: number;
  readonly classes?: number;
  readonly learningRate?: number;
}

const specsOf = (tensors: Readonly<Record<string, PatternSpec>>): readonly TensorSpec[] =>
  Object.entries(tensors).map(([name, { shape, scale = 1 }]) => ({ name, shape, scale }));

/** What PyTorch has to know of a program. */
export function pytorchProgram(program: Program | TrainingProgram): PyTorchProgram {
  const { name, torch } = program;
  const weights = specsOf(program.weights);
  if ('inputs' in program) return { name, torch, inputs: specsOf(program.inputs), weights };
  const { x, steps, classes, learningRate } = program;
  return { name, torch, inputs: specsOf({ x }), weights, steps, classes, learningRate };
}
