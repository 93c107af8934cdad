import type { LoadOptions, ScriptModule } from 'cresset';
import type { TensorFlowTwin } from '../programs/program.ts';
import type { PyTorchProgram } from '../programs/pytorch-program.ts';
import type { TrainingProgram } from '../programs/training.ts';
import type { BenchTensor, NamedTensors } from '../values.ts';

/** An answer of PyTorch's: all elements of each tensor, or every so many. */
export interface ExpectedTensor {
  readonly shape: readonly number[];
  /** Which elements there are: those whose index in C order is a multiple of this. */
  readonly step: number;
  readonly values: ArrayLike<number>;
}

export interface Expectation {
  readonly tensors: readonly ExpectedTensor[];
  readonly rtol: number;
  readonly atol: number;
}

/** A graph of ONNX operators and what it is fed, for libraries that read such. */
export interface OnnxTwin {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of a model with state: a run is more than one call, with what one gives going into the next. */
  chain?(run: (feeds: NamedTensors) => Promise<NamedTensors>): Promise<readonly BenchTensor[]>;
}

/** What PyTorch itself runs: a program, or a TorchScript file by its path in the folder of whole models. */
export type PyTorchTwin = { readonly program: PyTorchProgram } | { readonly file: string };

/** A call of a method with tensors and numbers. */
export interface MethodCall {
  readonly method: string;
  readonly inputs: readonly (BenchTensor | number)[];
}

export interface TensorFlowModel extends TensorFlowTwin {
  readonly weights: NamedTensors;
}

/** A classifier that is trained: each run is a step on the same batch. */
export interface TrainingModel extends Pick<TrainingProgram, 'learningRate' | 'tensorflow' | 'jax'> {
  readonly x: BenchTensor;
  /** The class of each picture. */
  readonly labels: BenchTensor;
  /** The same as float32: 1 in the column of the class. */
  readonly oneHot: BenchTensor;
  readonly weights: NamedTensors;
}

/** One model with one call's inputs, as every library is given it. */
export interface BenchModel {
  readonly name: string;
  readonly about: string;
  readonly inputs: NamedTensors;
  /** Of a model with state: what a run is, in place of one call with the inputs. */
  readonly calls?: readonly MethodCall[];
  /** Where a run is a step of training; libraries that do not train have no time. */
  readonly training?: TrainingModel;
  /** The answer that is expected is that of this run, where each has another one. */
  readonly expectedRun?: number;
  readonly expected: Expectation;
  /** Loads it in Cresset, from the bytes of a `.pt`. */
  load(options: LoadOptions): Promise<ScriptModule>;
  onnx(): Promise<OnnxTwin>;
  readonly tensorflow: TensorFlowModel | null;
  readonly pytorch: PyTorchTwin;
}

/** A name for what is known of a model before it is fetched. */
export interface ModelEntry {
  readonly name: string;
  readonly about: string;
  open(): Promise<BenchModel>;
}

/** Why an answer is not PyTorch's; null where it is. */
export function differenceFrom({ tensors, rtol, atol }: Expectation, answer: readonly BenchTensor[]): string | null {
  if (answer.length < tensors.length) return `${answer.length} tensors, not ${tensors.length}`;
  for (const [at, { shape, step, values }] of tensors.entries()) {
    const got = answer[at];
    if (got.shape.join() !== shape.join()) return `shape [${got.shape.join(', ')}], not [${shape.join(', ')}]`;
    for (let index = 0; index < values.length; index++) {
      const found = Number(got.data[index * step]);
      const wanted = values[index];
      const isClose = found === wanted || Math.abs(found - wanted) <= atol + rtol * Math.abs(wanted);
      if (!isClose && !(Number.isNaN(found) && Number.isNaN(wanted))) {
        return `element ${index * step} is ${found.toPrecision(6)}, not ${wanted.toPrecision(6)}`;
      }
    }
  }
  return null;
}
