import type { ContestantReport, WorkloadResult } from './bench.ts';
import { PASSES, type Pass, type PassFigures, type WorkloadMeasurement } from './measure-workload.ts';
import { baseOf, columnTitle, geometricMean, milliseconds, ratio, table } from './report-text.ts';

type Figure = 'milliseconds' | 'cpuMilliseconds';

/** How many times as long as Cresset on the same device a contestant took in a pass; null where one of them has no time. */
export function passRatio(
  { measurements }: WorkloadResult,
  contestants: readonly ContestantReport[],
  id: string,
  pass: Pass,
  figure: Figure,
): number | null {
  const time = (name: string | null): number | null => {
    const found = measurements.find(({ contestant }) => contestant === name);
    return found?.status === 'right' ? found.passes[pass][figure] : null;
  };
  const [own, other] = [time(id), time(baseOf(contestants, id))];
  return own === null || other === null || other === 0 ? null : own / other;
}

/** Tables of workloads: times by pass, and what was asked of WebGPU and recorded for a call. */
export function workloadTables(
  workloads: readonly WorkloadResult[],
  running: readonly ContestantReport[],
): readonly string[] {
  const titles = running.map(columnTitle);
  const isOwn = (id: string): boolean => running.find((each) => each.id === id)?.library === 'Cresset';
  const timeTable = (figure: Figure): string => {
    const cell = (each: WorkloadMeasurement, result: WorkloadResult, pass: Pass): string => {
      if (each.status !== 'right') return each.status;
      const time = each.passes[pass][figure];
      if (time === null) return '';
      const times = isOwn(each.contestant) ? null : passRatio(result, running, each.contestant, pass, figure);
      return times === null ? milliseconds(time) : `${milliseconds(time)} (${ratio(times)})`;
    };
    const rows = workloads.flatMap((result) => [
      ...PASSES.map((pass) => [result.workload, pass, ...result.measurements.map((each) => cell(each, result, pass))]),
      [
        result.workload,
        'new / again',
        ...result.measurements.map((each) => {
          const times = each.status === 'right' ? each.newBesideAgain[figure] : null;
          return times === null ? '' : ratio(times);
        }),
      ],
    ]);
    const means = PASSES.map((pass) => [
      'geometric mean',
      pass,
      ...running.map(({ id }) => {
        const found = workloads.flatMap((result) => passRatio(result, running, id, pass, figure) ?? []);
        return isOwn(id) || found.length === 0 ? '' : `${ratio(geometricMean(found))} (${found.length})`;
      }),
    ]);
    return table(['workload', 'calls', ...titles], [...rows, ...means]);
  };
  return [
    `Calls of one model that are not of one size: known sizes the first, second and third time, sizes that are new to a library that is warm, and these from the fourth time on.`,
    'Processor time of a call, and how many times that of Cresset on the same device:',
    timeTable('cpuMilliseconds'),
    'Median of a call by the clock; the last row of a workload is the median of each call beside the same one later:',
    timeTable('milliseconds'),
    ...countTables(workloads, running),
  ];
}

function countTables(workloads: readonly WorkloadResult[], running: readonly ContestantReport[]): readonly string[] {
  const onGpu = running.filter(({ device }) => device === 'WebGPU');
  const own = running.filter(({ library }) => library === 'Cresset');
  const cellsOf = (
    { measurements }: WorkloadResult,
    chosen: readonly ContestantReport[],
    text: (right: WorkloadMeasurement & { readonly status: 'right' }) => string,
  ): string[] =>
    chosen.map(({ id }) => {
      const found = measurements.find(({ contestant }) => contestant === id);
      return found?.status === 'right' ? text(found) : (found?.status ?? '');
    });
  const passRows = (
    chosen: readonly ContestantReport[],
    text: (right: WorkloadMeasurement & { readonly status: 'right' }, pass: Pass) => string,
  ): (readonly string[])[] =>
    workloads.flatMap((result) =>
      (['new', 'again'] as const).map((pass) => [
        result.workload,
        pass,
        ...cellsOf(result, chosen, (right) => text(right, pass)),
      ]),
    );
  return [
    ...(onGpu.length > 0
      ? [
          'Of WebGPU, for a call: dispatches / submits / uploads / kB uploaded / readbacks; shaders made:',
          table(
            ['workload', 'calls', ...onGpu.map(columnTitle)],
            passRows(onGpu, ({ passes }, pass) => askedOfWebGpu(passes[pass])),
          ),
        ]
      : []),
    ...(own.length > 0
      ? [
          'Of Cresset, for a call: launches, and the part of them that was replayed; then recordings kept of known sizes, and made of new ones:',
          table(
            ['workload', 'calls', ...own.map(columnTitle)],
            passRows(own, ({ passes, recordings }, pass) => recorded(passes[pass], pass, recordings)),
          ),
        ]
      : []),
  ];
}

/** A count for a call: whole where every call has as much. */
const perCall = (count: number, calls: number): string =>
  count % calls === 0 ? String(count / calls) : (count / calls).toFixed(1);

function askedOfWebGpu({ counts, calls }: PassFigures): string {
  const { dispatches, submits, uploads, uploadedBytes, readbacks, shaderModules } = counts;
  const kilobytes = (uploadedBytes / calls / 1000).toFixed(1);
  const [first, second, third, last] = [dispatches, submits, uploads, readbacks].map((each) => perCall(each, calls));
  return `${[first, second, third, kilobytes, last].join(' / ')}; ${perCall(shaderModules, calls)}`;
}

function recorded(
  { launches, calls }: PassFigures,
  pass: Pass,
  recordings: { readonly known: number; readonly fresh: number } | null,
): string {
  const { all, replayed } = launches ?? { all: 0, replayed: 0 };
  const part = all === 0 ? '0' : `${((100 * replayed) / all).toFixed(0)} %`;
  const kept = pass === 'new' && recordings ? `; ${recordings.known} + ${recordings.fresh}` : '';
  return `${perCall(all, calls)}, ${part}${kept}`;
}
