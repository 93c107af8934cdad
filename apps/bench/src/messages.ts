import type { ContestantReport, ModelResult, WorkloadResult } from './bench.ts';

/** What the page asks of the worker in which everything is measured. */
export type ToBench =
  | { readonly type: 'list' }
  | {
      readonly type: 'run';
      readonly models: readonly string[];
      readonly workloads: readonly string[];
      readonly contestants: readonly string[];
      readonly rounds: number;
      readonly turnMilliseconds: number;
      /** How many threads a library may take on the host. */
      readonly threads: number;
    }
  | { readonly type: 'cpu'; readonly seconds: number | null };

export interface ModelName {
  readonly name: string;
  readonly about: string;
}

/** What the worker says. */
export type FromBench =
  | { readonly type: 'listed'; readonly models: readonly ModelName[]; readonly contestants: readonly string[] }
  | { readonly type: 'progress'; readonly text: string }
  | { readonly type: 'started'; readonly adapter: string; readonly contestants: readonly ContestantReport[] }
  | { readonly type: 'result'; readonly result: ModelResult }
  | { readonly type: 'workload'; readonly result: WorkloadResult }
  | { readonly type: 'cpu' }
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly message: string };
