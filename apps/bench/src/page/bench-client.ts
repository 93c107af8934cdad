import type { FromBench, ModelName, ToBench } from '../messages.ts';
import type { BenchChoice, BenchReport } from '../report.ts';

declare global {
  /** Processor seconds of the whole browser, where whoever drives it can tell. */
  var benchCpuSeconds: (() => Promise<number>) | undefined;
}

/** The worker in which everything is measured, seen from the page. */
export class BenchClient {
  readonly #worker = new Worker(new URL('../bench-worker.ts', import.meta.url), { type: 'module' });

  list(): Promise<{ readonly models: readonly ModelName[]; readonly contestants: readonly string[] }> {
    return this.#ask({ type: 'list' }, (message, resolve) => {
      if (message.type === 'listed') resolve(message);
    });
  }

  /** @param changed told of every model's result, and of what is being done meanwhile. */
  run(choice: BenchChoice, changed: (report: BenchReport, doing: string) => void): Promise<BenchReport> {
    let report: BenchReport = { adapter: '', contestants: [], results: [], workloads: [] };
    return this.#ask({ type: 'run', ...choice }, (message, resolve) => {
      switch (message.type) {
        case 'cpu':
          void this.#tellCpu();
          break;
        case 'progress':
          changed(report, message.text);
          break;
        case 'started':
          report = { ...report, adapter: message.adapter, contestants: message.contestants };
          changed(report, '');
          break;
        case 'result':
          report = { ...report, results: [...report.results, message.result] };
          changed(report, '');
          break;
        case 'workload':
          report = { ...report, workloads: [...report.workloads, message.result] };
          changed(report, '');
          break;
        case 'done':
          resolve(report);
      }
    });
  }

  async #tellCpu(): Promise<void> {
    this.#send({ type: 'cpu', seconds: (await globalThis.benchCpuSeconds?.()) ?? null });
  }

  #send(message: ToBench): void {
    this.#worker.postMessage(message);
  }

  #ask<Result>(
    request: ToBench,
    take: (message: FromBench, resolve: (result: Result) => void) => void,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#worker.onmessage = ({ data }: MessageEvent<FromBench>) => {
        if (data.type === 'failed') reject(new Error(data.message));
        else take(data, resolve);
      };
      this.#worker.onerror = ({ message }) => reject(new Error(message || 'the worker did not start'));
      this.#send(request);
    });
  }
}
