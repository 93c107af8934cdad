import type { ContestantReport } from './bench.ts';

/** How many significant digits a time is told with: more would be noise. */
const digits = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(value >= 10 ? 3 : 2));

export const milliseconds = (value: number): string => `${digits(value)} ms`;

export const ratio = (value: number): string => `${digits(value)} ×`;

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** A table of Markdown. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');

export const geometricMean = (values: readonly number[]): number =>
  Math.exp(values.reduce((sum, each) => sum + Math.log(each), 0) / values.length);

const shortName = (library: string): string =>
  library.replace('ONNX Runtime Web', 'ORT').replace('TensorFlow.js', 'tfjs');

/** A contestant at the head of a column. */
export const columnTitle = ({ library, device }: { readonly library: string; readonly device: string }): string =>
  `${shortName(library)}, ${device}`;

/** Contestants are held against Cresset on the same device, native code against Cresset on the host. */
export function baseOf(contestants: readonly ContestantReport[], id: string): string | null {
  const own = contestants.find((each) => each.id === id)?.device;
  const device = own === 'native' ? 'host' : own;
  return contestants.find((each) => each.library === 'Cresset' && each.device === device)?.id ?? null;
}
