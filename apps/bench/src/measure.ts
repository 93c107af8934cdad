import type { Contestant, OpenedModel } from './contestants/contestant.ts';
import type { GpuCounter, GpuCounts } from './gpu-counts.ts';
import { differenceFrom, type BenchModel } from './models/bench-model.ts';

/** What a contestant did with a model. */
export type Measurement =
  | {
      readonly contestant: string;
      readonly status: 'right';
      /** Opening the model: reading it, compiling it, taking its weights. Milliseconds. */
      readonly loadMilliseconds: number;
      /** The first call, in which shaders are compiled; null of what runs in another process. */
      readonly firstMilliseconds: number | null;
      /** Median of the calls after. */
      readonly milliseconds: number;
      readonly calls: number;
      /** Processor time of a call, of all processes of the browser, or of this one in Node; null where nobody tells. */
      readonly cpuMilliseconds: number | null;
      /** Until the first answer was there. */
      readonly countsOfFirst: GpuCounts;
      /** Of one call of the later ones. */
      readonly countsOfCall: GpuCounts;
    }
  | { readonly contestant: string; readonly status: 'wrong' | 'cannot'; readonly reason: string };

export interface MeasureSettings {
  /** How often each contestant has its turn. */
  readonly rounds: number;
  /** How long a turn goes on, milliseconds; a turn is one call at least. */
  readonly turnMilliseconds: number;
  /** How many threads a library may take on the host. */
  readonly threads: number;
  /** Where the bench is served. */
  readonly address: string;
  /** Processor seconds used so far; null where that cannot be known. */
  cpuSeconds(): Promise<number | null>;
  /** Told what is being done. */
  progress(text: string): void;
}

interface Turns {
  readonly contestant: Contestant;
  readonly opened: OpenedModel;
  readonly loadMilliseconds: number;
  readonly firstMilliseconds: number | null;
  readonly countsOfFirst: GpuCounts;
  readonly times: number[];
  cpuSeconds: number | null;
}

/**
 * Runs a model in every contestant, in turns: whatever else the machine does falls on all of them. Those whose answer is not PyTorch's
 * get no turn.
 */
export async function measure(
  model: BenchModel,
  contestants: readonly Contestant[],
  counter: GpuCounter,
  settings: MeasureSettings,
): Promise<Measurement[]> {
  const failed = new Map<string, Measurement>();
  const turns: Turns[] = [];
  for (const contestant of contestants) {
    settings.progress(`${model.name}: ${contestant.id}`);
    const begun = await begin(model, contestant, counter);
    if ('opened' in begun) turns.push(begun);
    else failed.set(contestant.id, begun);
  }
  for (let round = 0; round < settings.rounds; round++) {
    settings.progress(`${model.name}: round ${round + 1} of ${settings.rounds}`);
    // Each comes first once: who follows whom makes a difference.
    const first = round % Math.max(1, turns.length);
    for (const each of [...turns.slice(first), ...turns.slice(0, first)]) await takeTurn(each, settings);
  }
  const measured = new Map<string, Measurement>();
  for (const each of turns) measured.set(each.contestant.id, await end(each, counter));
  return contestants.map(({ id }) => (measured.get(id) ?? failed.get(id))!);
}

async function begin(model: BenchModel, contestant: Contestant, counter: GpuCounter): Promise<Turns | Measurement> {
  const { id } = contestant;
  counter.take();
  let opened: OpenedModel | null = null;
  try {
    const start = performance.now();
    opened = await contestant.open(model);
    const loaded = performance.now();
    let answer = await opened.run();
    const answered = performance.now();
    const countsOfFirst = counter.take();
    for (let run = 1; run < (model.expectedRun ?? 1); run++) answer = await opened.run();
    const difference = differenceFrom(model.expected, answer.tensors());
    if (difference !== null) {
      await opened.dispose();
      return { contestant: id, status: 'wrong', reason: difference };
    }
    // Some compile once more when shapes come back, and free lists fill.
    await opened.run();
    const firstMilliseconds = opened.turn ? null : answered - loaded;
    const times: number[] = [];
    return {
      contestant,
      opened,
      loadMilliseconds: loaded - start,
      firstMilliseconds,
      countsOfFirst,
      times,
      cpuSeconds: 0,
    };
  } catch (error) {
    await Promise.resolve(opened?.dispose()).catch(() => undefined);
    return { contestant: id, status: 'cannot', reason: reasonOf(error) };
  }
}

async function takeTurn(turns: Turns, settings: MeasureSettings): Promise<void> {
  if (turns.opened.turn) {
    const { times, cpuSeconds } = await turns.opened.turn(settings.turnMilliseconds);
    turns.times.push(...times);
    turns.cpuSeconds = (turns.cpuSeconds ?? 0) + cpuSeconds;
    return;
  }
  const before = await settings.cpuSeconds();
  const end = performance.now() + settings.turnMilliseconds;
  for (;;) {
    const start = performance.now();
    await turns.opened.run();
    const now = performance.now();
    turns.times.push(now - start);
    if (now >= end) break;
  }
  const after = await settings.cpuSeconds();
  turns.cpuSeconds = before === null || after === null ? null : (turns.cpuSeconds ?? 0) + after - before;
}

async function end(turns: Turns, counter: GpuCounter): Promise<Measurement> {
  counter.take();
  await turns.opened.run();
  const countsOfCall = counter.take();
  await turns.opened.dispose();
  const { contestant, loadMilliseconds, firstMilliseconds, countsOfFirst, times, cpuSeconds } = turns;
  return {
    contestant: contestant.id,
    status: 'right',
    loadMilliseconds,
    firstMilliseconds,
    milliseconds: median(times),
    calls: times.length,
    cpuMilliseconds: cpuSeconds === null ? null : (1000 * cpuSeconds) / times.length,
    countsOfFirst,
    countsOfCall,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
