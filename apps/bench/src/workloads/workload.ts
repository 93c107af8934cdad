import type { TensorSpec } from '../values.ts';

/** What is given to a call: numbers, tensors, a result of the call before by its place among the tensors that gave, or several. */
export type CallValue =
  | number
  | TensorSpec
  | { readonly carried: number }
  | readonly CallValue[]
  | { readonly tuple: readonly CallValue[] };

export interface WorkloadCall {
  readonly method: string;
  readonly inputs: readonly CallValue[];
}

/** Calls of which each may take what the one before gave. */
export interface Sequence {
  /** What the others begin with, and no part of what is measured. */
  readonly before: readonly WorkloadCall[];
  readonly calls: readonly WorkloadCall[];
}

/** Sequences by when they come. */
export interface Sequences {
  /** With these a library is warmed. */
  readonly known: readonly Sequence[];
  /** These have sizes that none of the known ones has. */
  readonly fresh: readonly Sequence[];
}

export interface OnnxSequences extends Sequences {
  /** What the twin gives is something else, of which there is no answer to hold it against. */
  readonly isUnchecked?: boolean;
}

export type SequenceKind = keyof Sequences;

/** Many calls of one model that are not of one size, as users have them. */
export interface Workload extends Sequences {
  readonly name: string;
  /** What it is, for people. */
  readonly about: string;
  /** Its file in apps/bench/workloads, by which PyTorch makes the model. */
  readonly model: string;
  /**
   * The calls of the twin in ONNX, in the order of its inputs: the same, or those of a twin that keeps nothing itself; null where there is
   * no twin.
   */
  readonly onnx: 'same' | OnnxSequences | null;
  /** Where the calls of a sequence are one to the other side: times are of sequences then. */
  readonly isWhole?: boolean;
  /** Of a model that is trained: calls take a batch and its classes, and give the loss before the step. */
  readonly learningRate?: number;
  /** So many of the tensors that the last call of a sequence gives have to be PyTorch's. */
  readonly checked: number;
  readonly rtol: number;
  readonly atol: number;
}
