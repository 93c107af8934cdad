import type { DeviceWork, DispatchRecord } from '@cresset/tensorexpr';
import type { ObservedCall } from './observed-call.ts';
import type { CallProfile, LoadPhases, TraceEvent } from './profile-report.ts';

/** Rows of the trace. */
const LOADING = 0;
const CALL = 1;
const OPERATORS = 2;
const KERNELS = 3;

/** What came before the first answer, then both calls, each from its beginning on; kernels begin when their work was submitted. */
export function chromeTrace(
  method: string,
  load: LoadPhases,
  call: Omit<ObservedCall, 'runs' | 'ranges'>,
  observed: ObservedCall,
): CallProfile['trace'] {
  const { batches } = call.work;
  const asCalled = span(`${method}, as it is called`, CALL, 0, call.end - call.begin, 'call');
  const work = batches.flatMap(({ start, encoded, submitted }) => [
    span('encode', CALL, start - call.begin, encoded - start, 'phase'),
    span('submit', CALL, encoded - call.begin, submitted - encoded, 'phase'),
  ]);
  const lastSubmit = batches.at(-1)?.submitted;
  const waiting =
    lastSubmit === undefined ? [] : [span('readback', CALL, lastSubmit - call.begin, call.end - lastSubmit, 'phase')];
  const operators = observed.runs.map(({ operators: names, begin, end, place }) =>
    span(names.join(' + '), OPERATORS, begin - observed.begin, end - begin, place ?? 'view'),
  );
  // A viewer puts operators into the ranges that they lie in.
  const ranges = observed.ranges.map(({ name, begin, end }) =>
    span(name, OPERATORS, begin - observed.begin, end - begin, 'user_annotation'),
  );
  const traceEvents: TraceEvent[] = [
    rowName(LOADING, 'before the first answer'),
    ...loadSpans(load),
    rowName(CALL, 'one call'),
    rowName(OPERATORS, 'another, operator by operator'),
    rowName(KERNELS, observed.work.clock === 'device' ? 'its kernels on the GPU' : 'its kernels in WebAssembly'),
    asCalled,
    ...work,
    ...waiting,
    span(`${method}, operator by operator`, OPERATORS, 0, observed.end - observed.begin, 'call'),
    ...ranges,
    ...operators,
    ...kernelSpans(observed.work, observed.begin),
  ];
  return { traceEvents, displayTimeUnit: 'ms' };
}

/** One after the other, though shaders are compiled and data goes up while other things are done. */
function loadSpans(load: LoadPhases): TraceEvent[] {
  let begin = 0;
  return (['download', 'read', 'compile', 'passes', 'pipelines', 'upload'] as const).map((phase) => {
    const event = span(phase, LOADING, begin, load[phase], 'load');
    begin += load[phase];
    return event;
  });
}

/** A GPU has a clock of its own: its first kernel is taken to begin when the first batch was submitted. */
function kernelSpans({ clock, batches, dispatches }: DeviceWork, begin: number): TraceEvent[] {
  const timed = dispatches.filter(
    (each): each is DispatchRecord & { begin: number; end: number } => each.begin !== null,
  );
  if (timed.length === 0 || (clock === 'device' && batches.length === 0)) return [];
  const first = Math.min(...timed.map((each) => each.begin));
  const offset = (clock === 'device' ? batches[0].submitted : first / 1e6) - begin;
  return timed.map(({ label, workgroups, begin: from, end }) =>
    span(label, KERNELS, offset + (from - first) / 1e6, (end - from) / 1e6, 'kernel', { workgroups }),
  );
}

function span(
  name: string,
  tid: number,
  begin: number,
  milliseconds: number,
  cat: string,
  args: Readonly<Record<string, unknown>> = {},
): TraceEvent {
  return { name, ph: 'X', pid: 1, tid, ts: 1000 * begin, dur: 1000 * milliseconds, cat, args };
}

function rowName(tid: number, name: string): TraceEvent {
  return { name: 'thread_name', ph: 'M', pid: 1, tid, args: { name } };
}
