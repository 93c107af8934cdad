import { adapterName } from './adapter-name.ts';
import { runBench } from './bench.ts';
import { contestants } from './contestants/contestants.ts';
import { GpuCounter } from './gpu-counts.ts';
import type { FromBench, ToBench } from './messages.ts';
import type { ModelEntry } from './models/bench-model.ts';
import type { FileReader, ModelFolder } from './models/case-models.ts';
import { allModels } from './models/models.ts';
import { workloadEntries } from './workloads/open-workload.ts';

const counter = new GpuCounter();
const scope = globalThis as unknown as DedicatedWorkerGlobalScope;
const say = (message: FromBench): void => scope.postMessage(message);
let answerCpu: (seconds: number | null) => void = () => undefined;

const models: Promise<readonly ModelEntry[]> = modelFolder().then(allModels);

/** Whole models, where whoever serves the page has them; see vite-plugin.mjs. */
async function modelFolder(): Promise<ModelFolder | null> {
  const response = await fetch(new URL('models/index.json', scope.location.origin));
  if (!response.headers.get('content-type')?.includes('json')) return null;
  const names = (await response.json()) as readonly string[];
  return { names, read: readerOf('models') };
}

const readerOf =
  (folder: string): FileReader =>
  async (path) => {
    const file = await fetch(new URL(`${folder}/${path}`, scope.location.origin));
    if (!file.ok) throw new Error(`${path}: ${file.status}`);
    return new Uint8Array(await file.arrayBuffer());
  };

async function run(request: ToBench & { readonly type: 'run' }): Promise<void> {
  const chosen = (await models).filter(({ name }) => request.models.includes(name));
  const moving = workloadEntries(readerOf('workloads')).filter(({ name }) => request.workloads.includes(name));
  const racing = contestants.filter(({ id }) => request.contestants.includes(id));
  const adapter = await adapterName();
  const settings = {
    rounds: request.rounds,
    turnMilliseconds: request.turnMilliseconds,
    threads: request.threads,
    address: scope.location.origin,
    cpuSeconds: () =>
      new Promise<number | null>((resolve) => {
        answerCpu = resolve;
        say({ type: 'cpu' });
      }),
    progress: (text: string) => say({ type: 'progress', text }),
  };
  await runBench(chosen, moving, racing, counter, settings, {
    started: (reports) => say({ type: 'started', adapter, contestants: reports }),
    result: (result) => say({ type: 'result', result }),
    workload: (result) => say({ type: 'workload', result }),
  });
  say({ type: 'done' });
}

async function list(): Promise<void> {
  const names = (await models).map(({ name, about }) => ({ name, about }));
  say({ type: 'listed', models: names, contestants: contestants.map(({ id }) => id) });
}

scope.onmessage = ({ data }: MessageEvent<ToBench>) => {
  if (data.type === 'cpu') return answerCpu(data.seconds);
  const work = data.type === 'list' ? list() : run(data);
  work.catch((error: unknown) =>
    say({ type: 'failed', message: error instanceof Error ? error.message : String(error) }),
  );
};
