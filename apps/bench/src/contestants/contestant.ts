import type { BenchModel } from '../models/bench-model.ts';
import type { BenchTensor } from '../values.ts';
import type { OpenWorkload } from '../workloads/open-workload.ts';
import type { SequenceKind } from '../workloads/workload.ts';

/** A model in one library on one device, ready to run. */
export interface OpenedModel {
  /** One call: from inputs on the host to the answer on the host. */
  run(): Promise<Answer>;
  /** Of what runs in another process: calls until so many milliseconds have passed, as it took their times itself. */
  turn?(milliseconds: number): Promise<Turn>;
  dispose(): void | Promise<void>;
}

/** What calls took. */
export interface Turn {
  /** Each by the clock, milliseconds. */
  readonly times: readonly number[];
  /** Of the processor, in all. */
  readonly cpuSeconds: number;
}

/** What a call gave, in the library's own layout until it is looked at. */
export interface Answer {
  /** The tensors, as PyTorch lays them out; called outside of what is timed. */
  tensors(): readonly BenchTensor[];
}

/** A workload in one library on one device. */
export interface OpenedWorkload {
  /** Does what a sequence begins with; resolves to what does its calls. */
  begin(kind: SequenceKind, at: number): Promise<() => Promise<SequenceResult>>;
  /** Of a library that records what it does to do it again: how many recordings it keeps of what ran. */
  recordings?(): Promise<number>;
  dispose(): void | Promise<void>;
}

/** What the calls of a sequence took and gave. */
export interface SequenceResult {
  /** Each by the clock, milliseconds. */
  readonly times: readonly number[];
  /** Of the processor, in all, told by what runs in another process. */
  readonly cpuSeconds?: number;
  /** Of a library that tells: launches of its kernels in all, and how many of them it made as it had recorded them. */
  readonly launches?: { readonly all: number; readonly replayed: number };
  /** What the last call gave, in order, as far as it is to be checked; null where there is nothing to hold it against. */
  tensors(): Promise<readonly BenchTensor[] | null>;
}

/** A library on a device. */
export interface Contestant {
  readonly id: string;
  readonly library: string;
  /** Native code on the host is held against Cresset there. */
  readonly device: 'WebGPU' | 'host' | 'native';
  /**
   * Fetches the library and makes it ready; rejects where it cannot run here. Resolves to its version.
   *
   * @param threads how many it may take on the host
   * @param address where the bench is served
   */
  start(threads: number, address: string): Promise<string>;
  /** Rejects where the library cannot take the model. */
  open(model: BenchModel): Promise<OpenedModel>;
  /** Rejects as `open` does; not there where a library has no twins of workloads. */
  openWorkload?(workload: OpenWorkload): Promise<OpenedWorkload>;
}
