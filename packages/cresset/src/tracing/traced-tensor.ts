/**
 * A tensor in a program that is being traced: it has the methods and properties of `torch.Tensor`, under PyTorch's names
 * (`x.add(y)`, `x.softmax(-1)`, `x.T`), and each call of one is recorded. A last argument that is a plain object holds keyword arguments
 * (`x.sum(1, { keepdim: true })`), an array is a list, a dtype is its name.
 */
export type TracedTensor = TracedTensorMembers & { readonly [operator: string]: TracedOperator };

/** An operator as a method or function. Those of several results give them as an array, which a tensor can be taken for: it is iterable. */
export type TracedOperator = (...args: readonly unknown[]) => TracedTensor;

/** What a traced tensor has besides the operators. */
export interface TracedTensorMembers extends Iterable<TracedTensor> {
  /** The sizes; each is a tensor too, so that what is computed from them is recorded. */
  readonly shape: readonly TracedTensor[];
  readonly dtype: string;
  readonly ndim: number;
  readonly T: TracedTensor;
  readonly H: TracedTensor;
  readonly mT: TracedTensor;
  readonly mH: TracedTensor;
  readonly real: TracedTensor;
  readonly imag: TracedTensor;
  size(): readonly TracedTensor[];
  size(dim: number): TracedTensor;
  numel(): TracedTensor;
  dim(): number;
  /** `x[…]`: ints, `[start, stop, step]` for slices, null for a new dimension, `'...'`, and tensors. */
  at(...indices: readonly TraceIndex[]): TracedTensor;
  /** `x[…] = value` */
  setAt(indices: readonly TraceIndex[], value: TracedTensor | number | boolean): void;
  /** The one element, as a number that the trace knows nothing of. */
  item(): number | bigint | boolean;
  /** The elements, as numbers that the trace knows nothing of. */
  tolist(): unknown;
}

/** What stands between the brackets of `x[…]`. */
export type TraceIndex = number | null | '...' | TracedTensor | readonly (number | null | TracedTensor)[];

/** The functions of the module `torch` in a program that is being traced: `torch.relu(x)`, `torch.linalg.inv(x)`; and dtypes, by name. */
export type TracedTorch = TracedModules & { readonly [name: string]: TracedOperator };

/** The modules within `torch`. */
export interface TracedModules {
  readonly linalg: TracedTorch;
  readonly special: TracedTorch;
  readonly fft: TracedTorch;
  readonly functional: TracedTorch;
}
