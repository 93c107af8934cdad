import type { Contestant, OpenedWorkload, SequenceResult } from './contestants/contestant.ts';
import { addCounts, noCounts, type GpuCounter, type GpuCounts } from './gpu-counts.ts';
import { median, reasonOf, type MeasureSettings } from './measure.ts';
import { differenceFrom } from './models/bench-model.ts';
import type { OpenWorkload } from './workloads/open-workload.ts';
import type { SequenceKind } from './workloads/workload.ts';

/** What is measured: known sequences the first, second and third time, then those with sizes that are new, and these as often again as there are rounds. */
export const PASSES = ['first', 'second', 'third', 'new', 'again'] as const;

export type Pass = (typeof PASSES)[number];

/** What the calls of a pass took. */
export interface PassFigures {
  readonly calls: number;
  /** Median of a call by the clock. */
  readonly milliseconds: number;
  /** Processor time of a call, as `Measurement` has it. */
  readonly cpuMilliseconds: number | null;
  /** In all. */
  readonly counts: GpuCounts;
  /** In all, of a library that tells. */
  readonly launches: { readonly all: number; readonly replayed: number } | null;
}

/** What a contestant did with a workload. */
export type WorkloadMeasurement =
  | {
      readonly contestant: string;
      readonly status: 'right';
      readonly loadMilliseconds: number;
      readonly passes: Readonly<Record<Pass, PassFigures>>;
      /** How many times as long a call of a new size takes as the same one later: by the clock the median of all calls, of the processor that of the pass. */
      readonly newBesideAgain: { readonly milliseconds: number; readonly cpuMilliseconds: number | null };
      /** Recordings that were kept before sizes were new, and that came of those; null of a library that tells of none. */
      readonly recordings: { readonly known: number; readonly fresh: number } | null;
    }
  | { readonly contestant: string; readonly status: 'wrong' | 'cannot'; readonly reason: string };

interface Measured {
  /** By sequence, and in it by call. */
  readonly times: number[][];
  cpuSeconds: number | null;
  counts: GpuCounts;
  launches: { readonly all: number; readonly replayed: number } | null;
}

interface Runner {
  readonly contestant: Contestant;
  readonly opened: OpenedWorkload;
  readonly loadMilliseconds: number;
  readonly measured: Map<Pass, Measured>;
  recordings: number;
}

/** Runs a workload in every contestant, sequence by sequence in turns. Those whose answer is not PyTorch's have no time. */
export async function measureWorkload(
  open: OpenWorkload,
  contestants: readonly Contestant[],
  counter: GpuCounter,
  settings: MeasureSettings,
): Promise<WorkloadMeasurement[]> {
  const { name, known, fresh, isWhole = false } = open.workload;
  const failed = new Map<string, WorkloadMeasurement>();
  const running = new Map<string, Runner>();
  const end = async (id: string, status: 'wrong' | 'cannot', reason: string): Promise<void> => {
    failed.set(id, { contestant: id, status, reason });
    const runner = running.get(id);
    running.delete(id);
    await Promise.resolve(runner?.opened.dispose()).catch(() => undefined);
  };
  for (const contestant of contestants) {
    settings.progress(`${name}: ${contestant.id}`);
    const { id } = contestant;
    try {
      if (!contestant.openWorkload) throw new Error('has no twins of workloads');
      const start = performance.now();
      const opened = await contestant.openWorkload(open);
      const loadMilliseconds = performance.now() - start;
      running.set(id, { contestant, opened, loadMilliseconds, measured: new Map(), recordings: 0 });
    } catch (error) {
      await end(id, 'cannot', reasonOf(error));
    }
  }
  const pass = async (kind: SequenceKind, measuredAs: Pass | null): Promise<void> => {
    settings.progress(`${name}: ${measuredAs ?? 'warming'}`);
    await untilIdle(settings);
    const isChecked = measuredAs === 'first' || measuredAs === 'new';
    for (let at = 0; at < (kind === 'known' ? known : fresh).length; at++) {
      const ids = [...running.keys()];
      const first = at % Math.max(1, ids.length);
      for (const id of [...ids.slice(first), ...ids.slice(0, first)]) {
        try {
          const result = await takeTurn(running.get(id)!, kind, at, measuredAs, isWhole, counter, settings);
          const answer = isChecked ? await result.tensors() : null;
          const difference = answer && differenceFrom(open.expected(kind, at), answer);
          if (difference !== null) await end(id, 'wrong', `${kind} sequence ${at}: ${difference}`);
        } catch (error) {
          await end(id, 'cannot', reasonOf(error));
        }
      }
    }
  };
  await pass('known', 'first');
  await pass('known', 'second');
  await pass('known', 'third');
  for (const runner of running.values()) runner.recordings = (await runner.opened.recordings?.()) ?? 0;
  await pass('fresh', 'new');
  // Some record at the second call of a size, and compile for it at the third.
  await pass('fresh', null);
  await pass('fresh', null);
  for (let round = 0; round < settings.rounds; round++) await pass('fresh', 'again');
  const results = new Map<string, WorkloadMeasurement>();
  for (const [id, runner] of running) results.set(id, await resultOf(runner));
  return contestants.map(({ id }) => (results.get(id) ?? failed.get(id))!);
}

/** An engine compiles beside programs, which would be told as the time of whoever has the next turn: waits until that is done, for some seconds at most. */
async function untilIdle({ cpuSeconds }: MeasureSettings): Promise<void> {
  let before = await cpuSeconds();
  for (let waits = 0; waits < 40; waits++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = await cpuSeconds();
    // The processor's clock counts by hundredths.
    if (before === null || now === null || now - before < 0.015) return;
    before = now;
  }
}

async function takeTurn(
  { opened, measured }: Runner,
  kind: SequenceKind,
  at: number,
  measuredAs: Pass | null,
  isWhole: boolean,
  counter: GpuCounter,
  settings: MeasureSettings,
): Promise<SequenceResult> {
  const go = await opened.begin(kind, at);
  if (measuredAs === null) return go();
  const before = await settings.cpuSeconds();
  counter.take();
  const result = await go();
  const counts = counter.take();
  const after = await settings.cpuSeconds();
  const own = before === null || after === null ? null : after - before;
  const cpuSeconds = result.cpuSeconds ?? own;
  const sofar = measured.get(measuredAs) ?? {
    times: [] as number[][],
    cpuSeconds: 0,
    counts: noCounts,
    launches: null,
  };
  sofar.times.push(isWhole ? [result.times.reduce((sum, each) => sum + each, 0)] : [...result.times]);
  sofar.cpuSeconds = cpuSeconds === null || sofar.cpuSeconds === null ? null : sofar.cpuSeconds + cpuSeconds;
  sofar.counts = addCounts(sofar.counts, counts);
  const { launches } = result;
  if (launches) {
    const { all, replayed } = sofar.launches ?? { all: 0, replayed: 0 };
    sofar.launches = { all: all + launches.all, replayed: replayed + launches.replayed };
  }
  measured.set(measuredAs, sofar);
  return result;
}

async function resultOf({
  contestant,
  opened,
  loadMilliseconds,
  measured,
  recordings,
}: Runner): Promise<WorkloadMeasurement> {
  const all = await opened.recordings?.();
  await opened.dispose();
  const passes = Object.fromEntries(PASSES.map((pass) => [pass, figuresOf(measured.get(pass)!)])) as unknown as Record<
    Pass,
    PassFigures
  >;
  const [fresh, again] = [passes.new.cpuMilliseconds, passes.again.cpuMilliseconds];
  return {
    contestant: contestant.id,
    status: 'right',
    loadMilliseconds,
    passes,
    newBesideAgain: {
      milliseconds: newBesideAgain(measured.get('new')!.times, measured.get('again')!.times),
      // What takes less than the processor's clock can tell has no ratio.
      cpuMilliseconds: fresh === null || again === null || again === 0 ? null : fresh / again,
    },
    recordings: all === undefined ? null : { known: recordings, fresh: all - recordings },
  };
}

function figuresOf({ times, cpuSeconds, counts, launches }: Measured): PassFigures {
  const all = times.flat();
  return {
    calls: all.length,
    milliseconds: median(all),
    cpuMilliseconds: cpuSeconds === null ? null : (1000 * cpuSeconds) / all.length,
    counts,
    launches,
  };
}

/**
 * Median of how many times as long each call took the first time as it does later.
 *
 * @param fresh times by sequence and call
 * @param again the same sequences, some times over
 */
export function newBesideAgain(fresh: readonly (readonly number[])[], again: readonly (readonly number[])[]): number {
  const ratios = fresh.flatMap((times, sequence) =>
    times.map((time, call) => {
      const later = again.filter((_, at) => at % fresh.length === sequence).map((each) => each[call]);
      return time / median(later);
    }),
  );
  return median(ratios);
}
