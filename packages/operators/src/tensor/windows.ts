import type { ScalarType } from '@cresset/tensor';
import { kernel } from '../builders.ts';
import { check } from '../errors.ts';
import { writeEach } from '../fill.ts';
import type { OperatorRow } from '../row.ts';
import { defaultDtype } from '../type-promotion.ts';
import { i0 } from './special-functions.ts';

/** Window functions for spectra (ATen/native/TensorFactories.cpp). */

interface Window {
  readonly window_length: number;
  /** A window of one sample more without its last one, absent for yes. */
  readonly periodic?: boolean;
  readonly alpha?: number;
  readonly beta?: number;
  readonly dtype: ScalarType | null;
}

/** The value at `phase`, from 0 at the first sample to 1 at the last. */
type Shape = (phase: number, args: Window) => number;

const options = '*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None';

function windowRow(name: string, form: string, extra: string, shape: Shape): OperatorRow {
  return kernel<Window>(`aten::${name}_window${form}(int window_length, ${extra}${options}) -> Tensor`, {
    shape: ({ window_length: length, dtype }) => {
      check(length >= 0, `${name}_window requires non-negative window_length, got window_length=${length}`);
      return { sizes: [length], dtype: dtype ?? defaultDtype };
    },
    host: (args, [output]) => {
      const { window_length: length, periodic = true } = args;
      const intervals = periodic ? length : length - 1;
      writeEach(output, (at) => (length === 1 ? 1 : shape(at / intervals, args)));
    },
    readsNoData: true,
  });
}

const windowRows = (name: string, shape: Shape, forms: readonly (readonly [string, string])[] = []): OperatorRow[] =>
  [['', ''] as const, ['.periodic', 'bool periodic, '] as const, ...forms].map(([form, extra]) =>
    windowRow(name, form, extra, shape),
  );

const cosine = (turns: number): number => Math.cos(2 * Math.PI * turns);
const kaiserBeta = 12;

export const windowFunctionRows: readonly OperatorRow[] = [
  ...windowRows('hann', (phase) => 0.5 - 0.5 * cosine(phase)),
  ...windowRows('hamming', (phase, { alpha = 0.54, beta = 0.46 }) => alpha - beta * cosine(phase), [
    ['.periodic_alpha', 'bool periodic, float alpha, '],
    ['.periodic_alpha_beta', 'bool periodic, float alpha, float beta, '],
  ]),
  ...windowRows('blackman', (phase) => 0.42 - 0.5 * cosine(phase) + 0.08 * cosine(2 * phase)),
  ...windowRows('bartlett', (phase) => 1 - Math.abs(2 * phase - 1)),
  ...windowRows(
    'kaiser',
    (phase, { beta = kaiserBeta }) => i0(beta * Math.sqrt(Math.max(1 - (2 * phase - 1) ** 2, 0))) / i0(beta),
    [['.beta', 'bool periodic, float beta, ']],
  ),
];
