import { GraphFunction } from '@cresset/ir';
import type { DeviceProfiler, DeviceWork } from '@cresset/tensorexpr';
import type { HostedModel } from '../../worker/hosted-model.ts';
import type { ProfileRequest } from '../../worker/wire/protocol.ts';
import { chromeTrace } from './chrome-trace.ts';
import { kernelRows } from './kernel-rows.ts';
import type { ObservedCall } from './observed-call.ts';
import { OperatorRecorder, type OperatorRun } from './operator-recorder.ts';
import { timePasses } from './pass-steps.ts';
import type { CallPhases, CallProfile, LoadPhases } from './profile-report.ts';

/** The first compiles shaders, the next ones make plans of what they saw. */
const WARM_UP_CALLS = 3;

/** Browsers tell the GPU's time in steps of 100 µs, longer than many a kernel takes: the mean of some calls is near the truth. */
const MOST_OBSERVED_CALLS = 8;
const OBSERVED_MILLISECONDS = 500;

/**
 * Calls a method until everything is compiled, once as calls are made, for where the time goes, and then some times operator by
 * operator with each kernel measured by itself, for what takes it. Programs with state come out so many calls further.
 *
 * Rejects with the program's error where it fails.
 */
export async function profileCall(
  model: HostedModel,
  request: ProfileRequest,
  signal: AbortSignal,
): Promise<CallProfile> {
  await model.loadDebugTables();
  const { device } = model.runner.context;
  const profiler = (await device?.profiler?.()) ?? null;
  const peak = (await profiler?.peak()) ?? null;
  const { fn, receiver } = model.callee(request.module, request.method);
  const call = async (observer: OperatorRecorder | null): Promise<{ begin: number; end: number; work: DeviceWork }> => {
    // What a program writes to an argument is not there in the next call.
    const { args, kwargs } = structuredClone({ args: request.args, kwargs: request.kwargs });
    await profiler?.start(observer !== null);
    const begin = performance.now();
    const { error } = await model.call({ ...request, args, kwargs }, signal, undefined, observer);
    const end = performance.now();
    const work = (await profiler?.stop()) ?? NO_WORK;
    if (error !== null) throw error as Error;
    return { begin, end, work };
  };
  for (let warmUp = 0; warmUp < WARM_UP_CALLS; warmUp++) await call(null);
  const beforeGuards = performance.now();
  model.runner.optimizedGraphOf(fn, receiver);
  const guards = performance.now() - beforeGuards;
  const plain = await call(null);

  const observed: ObservedCall[] = [];
  const until = performance.now() + OBSERVED_MILLISECONDS;
  do {
    const recorder = new OperatorRecorder(() => device?.counters.dispatches ?? 0);
    observed.push({ ...(await call(recorder)), runs: recorder.runs, ranges: recorder.ranges });
  } while (observed.length < MOST_OBSERVED_CALLS && performance.now() < until);

  const passes = timePasses(model, request).reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  const { download, read } = model.timings ?? { download: 0, read: 0 };
  const load = { download, read, ...compilePhases(fn, passes, observed[0].work, profiler) };
  return {
    method: request.method,
    device: device?.description ?? 'host',
    call: callPhases(plain, guards, observed[0].runs),
    load,
    peak,
    kernels: kernelRows(observed, peak, fn.name),
    trace: chromeTrace(request.method, load, plain, observed.at(-1)!),
  };
}

const NO_WORK: DeviceWork = { clock: 'page', batches: [], dispatches: [], launched: [] };

function callPhases(
  { begin, end, work: { batches } }: Omit<ObservedCall, 'runs' | 'ranges'>,
  guards: number,
  runs: readonly OperatorRun[],
): CallPhases {
  const sum = (times: readonly number[]): number => times.reduce((total, time) => total + time, 0);
  const total = end - begin;
  const encode = sum(batches.map(({ start, encoded }) => encoded - start));
  const submit = sum(batches.map(({ encoded, submitted }) => submitted - encoded));
  const lastSubmit = batches.at(-1)?.submitted ?? end;
  const readback = end - lastSubmit;
  const enqueue = Math.max(0, total - guards - encode - submit - readback);
  const fallback = sum(runs.filter(({ place }) => place === 'fallback').map((run) => run.end - run.begin));
  return { total, guards, enqueue, encode, submit, readback, fallback };
}

function compilePhases(
  fn: unknown,
  passes: number,
  work: DeviceWork,
  profiler: DeviceProfiler | null,
): Omit<LoadPhases, 'download' | 'read'> {
  const compile = fn instanceof GraphFunction ? fn.compileMilliseconds : 0;
  const compilations = profiler?.compilations() ?? new Map<string, { begin: number; end: number }>();
  const codes = new Set(work.dispatches.map(({ code }) => code));
  const intervals = [...codes].flatMap((code) => compilations.get(code) ?? []);
  return { compile, passes, pipelines: unionOf(intervals), upload: profiler?.uploadMilliseconds ?? 0 };
}

/** How long at least one of them lasted. */
function unionOf(intervals: readonly { readonly begin: number; readonly end: number }[]): number {
  let total = 0;
  let covered = -Infinity;
  for (const { begin, end } of intervals.toSorted((a, b) => a.begin - b.begin)) {
    if (end > covered) total += end - Math.max(begin, covered);
    covered = Math.max(covered, end);
  }
  return total;
}
