import type { OnnxGraph } from '../onnx/onnx-model.ts';
import { patternTensor, type BenchTensor, type NamedTensors } from '../values.ts';
import type { TensorFlow, TensorFlowTensor } from '../contestants/tensorflow-api.ts';

/** Sizes of a tensor of the bench's, with a factor for its elements, which lie in [-1/2, 1/2). */
export interface PatternSpec {
  readonly shape: readonly number[];
  readonly scale?: number;
}

/** Sizes and layout as TensorFlow.js has them: axes of each tensor in its order, where that is another. */
export interface TensorFlowTwin {
  /** Axes of inputs and weights in TensorFlow's order; they are put in that order before anything is timed. */
  readonly layout?: Readonly<Record<string, readonly number[]>>;
  /** Axes that bring the answer back to PyTorch's order. */
  readonly answerLayout?: readonly number[];
  run(tf: TensorFlow, values: Readonly<Record<string, TensorFlowTensor>>): TensorFlowTensor;
}

/** A small model that the bench makes itself, said once for each library. All take and give float32. */
export interface Program {
  readonly name: string;
  /** What it is, for people. */
  readonly about: string;
  readonly inputs: Readonly<Record<string, PatternSpec>>;
  readonly weights: Readonly<Record<string, PatternSpec>>;
  readonly output: readonly number[];
  readonly rtol: number;
  readonly atol: number;
  /** Methods in TorchScript; `forward` takes the inputs in their order, weights are attributes of `self`. */
  readonly torch: string;
  /** The same graph of ONNX operators; returns the name of the result. Inputs and weights have their names. */
  onnx(graph: OnnxGraph): string;
  readonly tensorflow?: TensorFlowTwin;
}

/** The tensors of a program: its inputs and weights in their order, each with a seed of its own. */
export function tensorsOf(program: Pick<Program, 'inputs' | 'weights'>): {
  readonly inputs: NamedTensors;
  readonly weights: NamedTensors;
} {
  let seed = 0;
  const tensors = (specs: Readonly<Record<string, PatternSpec>>): Record<string, BenchTensor> =>
    Object.fromEntries(
      Object.entries(specs).map(([name, { shape, scale }]) => [name, patternTensor(shape, seed++, scale)]),
    );
  return { inputs: tensors(program.inputs), weights: tensors(program.weights) };
}
