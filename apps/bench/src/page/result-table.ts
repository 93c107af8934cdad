import type { Measurement } from '../measure.ts';
import { firstAnswerOf, meanRatio, ratioOf, type BenchReport } from '../report.ts';
import { milliseconds, ratio } from '../report-text.ts';
import { element } from './element.ts';

const counted = (count: number, noun: string, plural = 's'): string => `${count} ${noun}${count === 1 ? '' : plural}`;

/** What the cells of the table can tell. */
export const VIEWS = {
  'Warm calls': (each: Measurement) => (each.status === 'right' ? [milliseconds(each.milliseconds)] : []),
  'First answer': (each: Measurement) => {
    const first = each.status === 'right' ? firstAnswerOf(each) : null;
    return first === null ? [] : [milliseconds(first)];
  },
  'Asked of WebGPU': (each: Measurement) => {
    if (each.status !== 'right' || each.countsOfFirst.buffers === 0) return [];
    const { countsOfCall: call, countsOfFirst: first } = each;
    return [
      counted(call.dispatches, 'dispatch', 'es'),
      `${counted(call.submits, 'submit')}, ${counted(call.uploads, 'upload')}`,
      counted(first.shaderModules, 'shader'),
      `${(first.bufferBytes / 2 ** 20).toFixed(1)} MB`,
    ];
  },
} as const satisfies Readonly<Record<string, (measurement: Measurement) => readonly string[]>>;

export type View = keyof typeof VIEWS;

/** One row a model, one column a library on a device. */
export function resultTable(report: BenchReport, view: View): HTMLTableElement {
  const running = report.contestants.filter(
    ({ missing, device }) => missing === null && (view !== 'Asked of WebGPU' || device === 'WebGPU'),
  );
  const shown = new Set(running.map(({ id }) => id));
  const isOwn = (id: string): boolean => running.find((each) => each.id === id)?.library === 'Cresset';
  const head = element(
    'tr',
    {},
    element('th', { scope: 'col', textContent: 'model' }),
    ...running.map(({ library, device, version }) =>
      element('th', { scope: 'col', title: `${library} ${version}` }, library, element('small', {}, device)),
    ),
  );
  const rows = report.results.map((result) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row', textContent: result.model, title: result.about }),
      ...result.measurements
        .filter(({ contestant }) => shown.has(contestant))
        .map((each) => {
          if (each.status !== 'right') return failedCell(each);
          const times =
            view === 'Warm calls' && !isOwn(each.contestant) ? ratioOf(result, report, each.contestant) : null;
          return timeCell(VIEWS[view](each), times);
        }),
    ),
  );
  const body = element('tbody', {}, ...rows);
  if (view === 'Warm calls' && report.results.length > 1) body.append(meanRow(report, isOwn));
  return element('table', {}, element('thead', {}, head), body);
}

function failedCell({ status, reason }: Exclude<Measurement, { readonly status: 'right' }>): HTMLTableCellElement {
  return element('td', { className: status === 'wrong' ? 'wrong' : 'none', title: reason, textContent: status });
}

function timeCell([first = '', ...more]: readonly string[], times: number | null): HTMLTableCellElement {
  const cell = element('td', {}, first, ...more.map((line) => element('small', {}, line)));
  if (times !== null) {
    cell.append(element('small', { className: times > 1 ? 'slower' : 'faster', textContent: ratio(times) }));
  }
  return cell;
}

function meanRow(report: BenchReport, isOwn: (id: string) => boolean): HTMLTableRowElement {
  const running = report.contestants.filter(({ missing }) => missing === null);
  const cells = running.map(({ id }) => {
    const mean = isOwn(id) ? null : meanRatio(report, id);
    if (!mean) return element('td', { textContent: isOwn(id) ? '1' : '' });
    return element('td', {}, ratio(mean.ratio), element('small', {}, `${mean.models} models`));
  });
  return element(
    'tr',
    { className: 'mean' },
    element('th', { scope: 'row', textContent: 'geometric mean', title: 'of the models that both finished' }),
    ...cells,
  );
}
