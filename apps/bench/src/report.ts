import type { ContestantReport, ModelResult, WorkloadResult } from './bench.ts';
import type { Measurement } from './measure.ts';
import { baseOf, columnTitle, geometricMean, milliseconds, ratio, table } from './report-text.ts';
import { workloadTables } from './workload-report.ts';

/** What is to be measured, and how long. */
export interface BenchChoice {
  readonly models: readonly string[];
  readonly workloads: readonly string[];
  readonly contestants: readonly string[];
  readonly rounds: number;
  readonly turnMilliseconds: number;
  /** How many threads a library may take on the host. */
  readonly threads: number;
}

export interface BenchReport {
  readonly adapter: string;
  readonly contestants: readonly ContestantReport[];
  readonly results: readonly ModelResult[];
  readonly workloads: readonly WorkloadResult[];
}

/**
 * Time by the clock, or of the processor: on a software adapter that is the GPU's too, and other work on the machine is no part of it. Until the first
 * answer: by the clock, from the bytes of the model, with all that is compiled on the way.
 */
export type Figure = 'milliseconds' | 'cpuMilliseconds' | 'firstAnswer';

/** From the bytes to the first answer, milliseconds; null of what runs in another process. */
export const firstAnswerOf = (measurement: Measurement & { readonly status: 'right' }): number | null =>
  measurement.firstMilliseconds === null ? null : measurement.loadMilliseconds + measurement.firstMilliseconds;

/** Null where there is none. */
function timeOf(measurement: Measurement | undefined, figure: Figure): number | null {
  if (measurement?.status !== 'right') return null;
  return figure === 'firstAnswer' ? firstAnswerOf(measurement) : measurement[figure];
}

/** How many times as long as Cresset on the same device a contestant took; null where one of them has no time. */
export function ratioOf(
  result: ModelResult,
  report: BenchReport,
  id: string,
  figure: Figure = 'milliseconds',
): number | null {
  const base = baseOf(report.contestants, id);
  const time = (name: string | null): number | null => {
    const found = result.measurements.find(({ contestant }) => contestant === name);
    return timeOf(found, figure);
  };
  const own = time(id);
  const other = time(base);
  return own === null || other === null ? null : own / other;
}

/** Geometric mean of the models that both finished, and how many they are; null where there is none. */
export function meanRatio(
  report: BenchReport,
  id: string,
  figure: Figure = 'milliseconds',
): { readonly ratio: number; readonly models: number } | null {
  const ratios = report.results.flatMap((result) => ratioOf(result, report, id, figure) ?? []);
  return ratios.length === 0 ? null : { ratio: geometricMean(ratios), models: ratios.length };
}

/** Cresset's time on a device as a part of that of whoever else is fastest there, model by model. */
export interface BesideBest {
  /** Geometric mean of the models that Cresset and one other at least finished. */
  readonly mean: number;
  readonly models: number;
  /** Where Cresset is least ahead, or furthest behind, and of whom. */
  readonly worst: { readonly model: string; readonly contestant: string; readonly ratio: number };
}

/** On `native` it is Cresset on the host. Null where Cresset is alone on the device. */
export function besideBest(report: BenchReport, device: string, figure: Figure = 'milliseconds'): BesideBest | null {
  const others = report.contestants.filter((each) => each.device === device && each.library !== 'Cresset');
  const best = report.results.flatMap((result) => {
    const ratios = others.flatMap(({ id }) => {
      const times = ratioOf(result, report, id, figure);
      return times === null ? [] : { model: result.model, contestant: id, ratio: 1 / times };
    });
    return ratios.length === 0 ? [] : ratios.reduce((most, each) => (each.ratio > most.ratio ? each : most));
  });
  if (best.length === 0) return null;
  const worst = best.reduce((most, each) => (each.ratio > most.ratio ? each : most));
  return { mean: geometricMean(best.map((each) => each.ratio)), models: best.length, worst };
}

/** A measurement in a word or two. */
function cellText(measurement: Measurement, times: number | null, figure: Figure): string {
  if (measurement.status !== 'right') return measurement.status;
  const time = timeOf(measurement, figure);
  if (time === null) return '';
  return times === null ? milliseconds(time) : `${milliseconds(time)} (${ratio(times)})`;
}

const LIBRARIES: Readonly<Record<string, string>> = {
  cresset: 'Cresset',
  ort: 'ONNX Runtime Web',
  tfjs: 'TensorFlow.js',
  jax: 'jax-js',
  pytorch: 'PyTorch',
};

/** What people call a contestant. */
export function contestantName(id: string): string {
  const [library, device] = id.split('-');
  return `${LIBRARIES[library]}, ${device === 'webgpu' ? 'WebGPU' : device === 'native' ? 'native' : 'host'}`;
}

/** The report as tables of Markdown: times, processor time, what was asked of WebGPU, and who could not and why. */
export function markdownReport(report: BenchReport & { readonly environment: string }): string {
  const running = report.contestants.filter(({ missing }) => missing === null);
  const versions = [...new Set(running.map(({ library, version }) => `${library} ${version}`))];
  const named = [
    ...report.results.map(({ model, measurements }) => ({ name: model, measurements })),
    ...report.workloads.map(({ workload, measurements }) => ({ name: workload, measurements })),
  ];
  const failures = named.flatMap(({ name, measurements }) =>
    measurements.flatMap((each) =>
      each.status === 'right' ? [] : [`- ${name}, ${each.contestant}: ${each.status}: ${each.reason.split('\n')[0]}`],
    ),
  );
  const missing = report.contestants.flatMap(({ id, missing: reason }) => (reason ? [`- ${id}: ${reason}`] : []));
  return [
    `${report.environment}, ${report.adapter}. ${versions.join(', ')}.`,
    ...(report.results.length > 0 ? modelTables(report, running) : []),
    ...(report.workloads.length > 0 ? workloadTables(report.workloads, running) : []),
    ...(failures.length > 0 ? ['No time:', failures.join('\n')] : []),
    ...(missing.length > 0 ? ['Not here:', missing.join('\n')] : []),
  ].join('\n\n');
}

/** @param running contestants that are here */
function modelTables(report: BenchReport, running: readonly ContestantReport[]): readonly string[] {
  const titles = running.map(columnTitle);
  const perModel = (cell: (measurement: Measurement, result: ModelResult) => string): (readonly string[])[] =>
    report.results.map((result) => [result.model, ...result.measurements.map((each) => cell(each, result))]);
  const own = (id: string): boolean => report.contestants.find((each) => each.id === id)?.library === 'Cresset';
  const timeTable = (figure: Figure): string => {
    const means = running.map(({ id }) => {
      const mean = own(id) ? null : meanRatio(report, id, figure);
      return mean ? `${ratio(mean.ratio)} (${mean.models})` : '';
    });
    const times = perModel((each, result) =>
      cellText(each, own(each.contestant) ? null : ratioOf(result, report, each.contestant, figure), figure),
    );
    return table(['model', ...titles], [...times, ['', ...means]]);
  };
  const devices = [...new Set(running.map(({ device }) => device))];
  const besideBestText = devices.flatMap((device) => {
    const found = besideBest(report, device, 'cpuMilliseconds');
    if (!found) return [];
    const { mean, models, worst } = found;
    const most = `${ratio(worst.ratio)} for ${worst.model}, of ${contestantName(worst.contestant)}`;
    return `- ${device}: ${ratio(mean)} (${models}); at most ${most}`;
  });
  const counts = perModel((each) => {
    if (each.status !== 'right' || !each.contestant.endsWith('webgpu')) return '';
    const { countsOfCall: call, countsOfFirst: first } = each;
    const warm = [call.dispatches, call.submits, call.uploads, call.bindGroups, call.buffers].join(' / ');
    return `${warm}; ${first.shaderModules}, ${(first.bufferBytes / 2 ** 20).toFixed(1)} MB`;
  });
  return [
    'Processor time of a call, and how many times that of Cresset on the same device (last row: geometric mean, of how many models):',
    timeTable('cpuMilliseconds'),
    ...(besideBestText.length > 0
      ? [
          `Cresset's processor time as a part of the best other one's, model by model (geometric mean, of how many models):`,
          besideBestText.join('\n'),
        ]
      : []),
    'Median of a call by the clock:',
    timeTable('milliseconds'),
    'From the bytes of a model to its first answer by the clock; what models before had compiled stays compiled, so the first model is the cold one:',
    timeTable('firstAnswer'),
    'Of WebGPU: dispatches / submits / uploads / bind groups / buffers of a warm call; shaders and buffer memory made until the first answer, beside what is left of models before:',
    table(
      ['model', ...titles.filter((_, at) => running[at].device === 'WebGPU')],
      counts.map((cells) => cells.filter((_, at) => at === 0 || running[at - 1].device === 'WebGPU')),
    ),
  ];
}
