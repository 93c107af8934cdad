import type { Expectation, ExpectedTensor } from '../models/bench-model.ts';
import type { FileReader } from '../models/case-models.ts';
import type { SequenceKind, Workload } from './workload.ts';
import { workloads } from './workloads.ts';

/** A name for what is known of a workload before anything of it is fetched. */
export interface WorkloadEntry {
  readonly name: string;
  readonly about: string;
  open(): Promise<OpenWorkload>;
}

/** A workload with what PyTorch made for it. */
export interface OpenWorkload {
  readonly workload: Workload;
  /** The model as a `.pt` file. */
  torchScript(): Promise<Uint8Array<ArrayBuffer>>;
  /** Its twin as an `.onnx` file; rejects where there is none. */
  onnx(): Promise<Uint8Array<ArrayBuffer>>;
  /** What the last call of a sequence has to give. */
  expected(kind: SequenceKind, at: number): Expectation;
}

/** @param read files of the folder that apps/bench/workloads/make.mjs writes */
export const workloadEntries = (read: FileReader): readonly WorkloadEntry[] =>
  workloads.map((workload) => ({
    name: workload.name,
    about: workload.about,
    open: () => openWorkload(workload, read),
  }));

async function openWorkload(workload: Workload, read: FileReader): Promise<OpenWorkload> {
  const { name, model, rtol, atol } = workload;
  const { answers } = JSON.parse(new TextDecoder().decode(await read(`${name}.json`))) as {
    readonly answers: Readonly<Record<SequenceKind, readonly (readonly ExpectedTensor[])[]>>;
  };
  return {
    workload,
    torchScript: () => read(`${model}.pt`),
    onnx: async () => {
      if (workload.onnx === null) throw new Error('no graph of ONNX says what it does');
      return read(`${model}.onnx`);
    },
    expected: (kind, at) => ({ tensors: answers[kind][at], rtol, atol }),
  };
}
