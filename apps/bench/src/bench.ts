import type { Contestant } from './contestants/contestant.ts';
import type { GpuCounter } from './gpu-counts.ts';
import { measure, reasonOf, type Measurement, type MeasureSettings } from './measure.ts';
import { measureWorkload, type WorkloadMeasurement } from './measure-workload.ts';
import type { ModelEntry } from './models/bench-model.ts';
import type { WorkloadEntry } from './workloads/open-workload.ts';

/** A library on a device, and the version of it that runs here; or why it does not. */
export interface ContestantReport {
  readonly id: string;
  readonly library: string;
  readonly device: string;
  readonly version: string;
  readonly missing: string | null;
}

export interface ModelResult {
  readonly model: string;
  readonly about: string;
  readonly measurements: readonly Measurement[];
}

export interface WorkloadResult {
  readonly workload: string;
  readonly about: string;
  readonly measurements: readonly WorkloadMeasurement[];
}

export interface BenchListener {
  started(contestants: readonly ContestantReport[]): void;
  result(result: ModelResult): void;
  workload(result: WorkloadResult): void;
}

/** Runs models, and then workloads, in contestants, one after the other. */
export async function runBench(
  models: readonly ModelEntry[],
  workloads: readonly WorkloadEntry[],
  contestants: readonly Contestant[],
  counter: GpuCounter,
  settings: MeasureSettings,
  listener: BenchListener,
): Promise<void> {
  const ready: Contestant[] = [];
  const reports: ContestantReport[] = [];
  for (const contestant of contestants) {
    const { id, library, device } = contestant;
    settings.progress(`fetching ${library} (${device})`);
    try {
      reports.push({
        id,
        library,
        device,
        version: await contestant.start(settings.threads, settings.address),
        missing: null,
      });
      ready.push(contestant);
    } catch (error) {
      reports.push({ id, library, device, version: '', missing: reasonOf(error) });
    }
  }
  listener.started(reports);
  const nobody = (error: unknown) =>
    ready.map(({ id }) => ({ contestant: id, status: 'cannot', reason: reasonOf(error) }) as const);
  for (const { name, about, open } of models) {
    settings.progress(name);
    const measurements = await open().then((model) => measure(model, ready, counter, settings), nobody);
    listener.result({ model: name, about, measurements });
  }
  for (const { name, about, open } of workloads) {
    settings.progress(name);
    const measurements = await open().then((opened) => measureWorkload(opened, ready, counter, settings), nobody);
    listener.workload({ workload: name, about, measurements });
  }
}
