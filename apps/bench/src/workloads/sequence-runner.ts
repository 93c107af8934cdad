import { tensorOfSpec, type BenchTensor } from '../values.ts';
import type { CallValue, Sequence, WorkloadCall } from './workload.ts';

/** What a call takes once its tensors are there: those of the library, and in their order what holds them. */
export type Filled<Tensor> = number | Tensor | readonly Filled<Tensor>[];

/** How a library does one call. */
export interface SequenceLibrary<Tensor extends object> {
  tensor(value: BenchTensor): Tensor;
  /** Resolves to the tensors that it gives, in order. @param carries places of those that the next call takes */
  call(method: string, inputs: readonly Filled<Tensor>[], carries: ReadonlySet<number>): Promise<readonly Tensor[]>;
  /** Nobody looks at it any more. */
  dispose(tensor: Tensor): void;
}

/** Does the calls of a sequence, one after the other, each with what the one before gave. */
export class SequenceRunner<Tensor extends object> {
  readonly #prepared: readonly { readonly method: string; readonly inputs: readonly (() => Filled<Tensor>)[] }[];
  #results: readonly Tensor[] = [];
  #next = 0;

  constructor(
    private readonly library: SequenceLibrary<Tensor>,
    private readonly sequence: Sequence,
  ) {
    this.#prepared = [...sequence.before, ...sequence.calls].map(({ method, inputs }) => ({
      method,
      inputs: inputs.map((value) => this.#ready(value)),
    }));
  }

  /** What the last call gave. */
  get results(): readonly Tensor[] {
    return this.#results;
  }

  async begin(): Promise<void> {
    while (this.#next < this.sequence.before.length) await this.#call();
  }

  /** Resolves to what each call took by the clock. */
  async go(): Promise<number[]> {
    const times: number[] = [];
    while (this.#next < this.#prepared.length) {
      const start = performance.now();
      await this.#call();
      times.push(performance.now() - start);
    }
    return times;
  }

  dispose(): void {
    for (const each of this.#results) this.library.dispose(each);
    this.#results = [];
  }

  async #call(): Promise<void> {
    const { method, inputs } = this.#prepared[this.#next++];
    const calls = [...this.sequence.before, ...this.sequence.calls];
    const given = inputs.map((fill) => fill());
    const results = await this.library.call(method, given, carriedOf(calls[this.#next]));
    this.dispose();
    this.#results = results;
  }

  #ready(value: CallValue): () => Filled<Tensor> {
    if (typeof value === 'number') return () => value;
    if ('carried' in value) return () => this.#results[value.carried];
    if ('shape' in value) {
      const tensor = this.library.tensor(tensorOfSpec(value));
      return () => tensor;
    }
    const items = ('tuple' in value ? value.tuple : value).map((each) => this.#ready(each));
    return () => items.map((fill) => fill());
  }
}

/** Places of the results that a call takes of the one before. */
export function carriedOf(call: WorkloadCall | undefined): ReadonlySet<number> {
  const places = (value: CallValue): readonly number[] => {
    if (typeof value === 'number' || 'shape' in value) return [];
    if ('carried' in value) return [value.carried];
    return ('tuple' in value ? value.tuple : value).flatMap(places);
  };
  return new Set(call?.inputs.flatMap(places));
}
