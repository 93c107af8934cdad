import { cpuUsage } from 'node:process';
import { adapterName } from './adapter-name.ts';
import { runBench } from './bench.ts';
import { contestants } from './contestants/contestants.ts';
import { GpuCounter } from './gpu-counts.ts';
import type { FileReader, ModelFolder } from './models/case-models.ts';
import { allModels } from './models/models.ts';
import type { BenchChoice, BenchReport } from './report.ts';
import { workloadEntries } from './workloads/open-workload.ts';

/** Runs the bench in this process. */
export async function runInNode(
  choice: { readonly [Key in keyof BenchChoice]: BenchChoice[Key] | null } & Pick<
    BenchChoice,
    'rounds' | 'turnMilliseconds' | 'threads' | 'workloads'
  >,
  folder: ModelFolder,
  readWorkload: FileReader,
  address: string,
): Promise<BenchReport> {
  const counter = new GpuCounter();
  const models = allModels(folder);
  const report = { adapter: await adapterName(), contestants: [], results: [], workloads: [] } as BenchReport;
  const settings = {
    rounds: choice.rounds,
    turnMilliseconds: choice.turnMilliseconds,
    threads: choice.threads,
    address,
    cpuSeconds: async () => {
      const { user, system } = cpuUsage();
      return (user + system) / 1e6;
    },
    progress: (text: string) => console.log(`  ${text}`),
  };
  const isChosen = (list: readonly string[] | null, name: string): boolean => list === null || list.includes(name);
  let result = report;
  await runBench(
    models.filter(({ name }) => isChosen(choice.models, name)),
    workloadEntries(readWorkload).filter(({ name }) => choice.workloads.includes(name)),
    contestants.filter(({ id }) => isChosen(choice.contestants, id)),
    counter,
    settings,
    {
      started: (reports) => (result = { ...result, contestants: reports }),
      result: (each) => (result = { ...result, results: [...result.results, each] }),
      workload: (each) => (result = { ...result, workloads: [...result.workloads, each] }),
    },
  );
  return result;
}
