import { complexType, isComplex, realType, type ScalarType, type Tensor } from '@cresset/tensor';
import { kernel } from '../builders.ts';
import { check } from '../errors.ts';
import type { OperatorRow, TensorMeta } from '../row.ts';
import { dtypeName } from '../type-promotion.ts';
import { sizesText } from '../dimensions.ts';
import { fourierPlan, readComplex } from './fourier-transform.ts';
import { writeNumbers } from './numbers.ts';
import { writeComplex } from './product.ts';

/** Short-time Fourier transforms (ATen/native/SpectralOps.cpp: stft), on the host. */

export interface StftArgs {
  readonly self: Tensor;
  readonly n_fft: number;
  readonly hop_length: number | null;
  readonly win_length: number | null;
  readonly window: Tensor | null;
  readonly center?: boolean;
  readonly pad_mode?: string;
  readonly normalized: boolean;
  readonly onesided: boolean | null;
  readonly return_complex: boolean | null;
}

interface StftPlan {
  readonly hop: number;
  readonly onesided: boolean;
  readonly complexResult: boolean;
  readonly batch: number;
  /** Samples after padding, of which `margin` at either end are reflections. */
  readonly length: number;
  readonly margin: number;
  readonly bins: number;
  readonly frames: number;
}

/** The arguments as PyTorch shows them in front of a complaint. */
function callText(
  { self, n_fft: size, window, normalized, onesided, return_complex: complexResult }: StftArgs,
  hop: number,
  win: number,
): string {
  const shown = (value: boolean | null): string => (value === null ? 'None' : value ? '1' : '0');
  const windowText = window ? `torch.${dtypeName(window.dtype)}Tensor{${sizesText(window.sizes)}}` : 'None';
  return `stft(torch.${dtypeName(self.dtype)}Tensor${sizesText(self.sizes)}, n_fft=${size}, hop_length=${hop}, win_length=${win}, window=${windowText}, normalized=${shown(normalized)}, onesided=${shown(onesided)}, return_complex=${shown(complexResult)}, align_to_window=None) : `;
}

function planOf(args: StftArgs): StftPlan {
  const { self, n_fft: size, window } = args;
  const complexInput = isComplex(self.dtype) || (window !== null && isComplex(window.dtype));
  check(
    args.return_complex !== null || complexInput,
    'stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True in a future PyTorch release.',
  );
  const complexResult = args.return_complex ?? true;
  const hop = args.hop_length ?? Math.floor(size / 4);
  const win = args.win_length ?? size;
  const complain =
    (expected: string): (() => string) =>
    () =>
      callText(args, hop, win) + expected;
  check(self.dim === 1 || self.dim === 2, complain('expected a 1D or 2D tensor'));
  const samples = self.sizes[self.dim - 1];
  const margin = args.center ? Math.floor(size / 2) : 0;
  const length = samples + 2 * margin;
  check(
    margin === 0 || args.pad_mode !== 'reflect' || margin < samples,
    () =>
      `Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (${margin}, ${margin}) at dimension 2 of input ${sizesText([1, self.dim === 2 ? self.sizes[0] : 1, samples])}`,
  );
  check(size > 0 && size <= length, complain(`expected 0 < n_fft < ${length}, but got n_fft=${size}`));
  check(hop > 0, complain(`expected hop_length > 0, but got hop_length=${hop}`));
  check(win > 0 && win <= size, complain(`expected 0 < win_length <= n_fft, but got win_length=${win}`));
  check(
    window === null || (window.dim === 1 && window.sizes[0] === win),
    () =>
      callText(args, hop, win) +
      `expected a 1D window tensor of size equal to win_length=${win}, but got window with size ${sizesText(window!.sizes)}`,
  );
  const onesided = args.onesided ?? !complexInput;
  check(!(onesided && complexInput), 'Cannot have onesided output if window or input is complex');
  return {
    hop,
    onesided,
    complexResult,
    batch: self.dim === 2 ? self.sizes[0] : 1,
    length,
    margin,
    bins: onesided ? Math.floor(size / 2) + 1 : size,
    frames: 1 + Math.floor((length - size) / hop),
  };
}

/** The window in the middle of a frame, zeros around it; ones where none is given. */
export function windowOf(window: Tensor | null, size: number, win: number): { re: Float64Array; im: Float64Array } {
  const re = new Float64Array(size);
  const im = new Float64Array(size);
  const start = Math.floor((size - win) / 2);
  const values = window && readComplex(window);
  for (let i = 0; i < win; i++) {
    re[start + i] = values ? values.re[i] : 1;
    im[start + i] = values ? values.im[i] : 0;
  }
  return { re, im };
}

/** The sample that a position of the padded signal takes, or -1 for a zero. */
function paddedIndex(at: number, samples: number, mode: string | undefined): number {
  if (at >= 0 && at < samples) return at;
  if (mode === 'constant') return -1;
  if (mode === 'replicate') return at < 0 ? 0 : samples - 1;
  if (mode === 'circular') return (at + samples) % samples;
  return at < 0 ? -at : 2 * (samples - 1) - at;
}

function hostStft(args: StftArgs, out: Tensor): void {
  const { self, n_fft: size } = args;
  const { hop, batch, margin, bins, frames } = planOf(args);
  const signal = readComplex(self);
  const window = windowOf(args.window, size, args.win_length ?? size);
  const samples = self.sizes[self.dim - 1];
  const scale = args.normalized ? 1 / Math.sqrt(size) : 1;
  const plan = fourierPlan(size);
  const [re, im] = [new Float64Array(batch * bins * frames), new Float64Array(batch * bins * frames)];
  const [lineRe, lineIm] = [new Float64Array(size), new Float64Array(size)];
  for (let b = 0; b < batch; b++) {
    for (let frame = 0; frame < frames; frame++) {
      for (let i = 0; i < size; i++) {
        const from = paddedIndex(frame * hop + i - margin, samples, args.pad_mode);
        const x = from < 0 ? 0 : signal.re[b * samples + from];
        const y = from < 0 ? 0 : signal.im[b * samples + from];
        lineRe[i] = x * window.re[i] - y * window.im[i];
        lineIm[i] = x * window.im[i] + y * window.re[i];
      }
      plan.run(lineRe, lineIm, false);
      for (let bin = 0; bin < bins; bin++) {
        re[(b * bins + bin) * frames + frame] = lineRe[bin] * scale;
        im[(b * bins + bin) * frames + frame] = lineIm[bin] * scale;
      }
    }
  }
  if (isComplex(out.dtype)) writeComplex(out, re, im);
  else
    writeNumbers(
      out,
      Float64Array.from({ length: 2 * re.length }, (_, i) => (i % 2 === 0 ? re : im)[i >> 1]),
    );
}

function stftShape(args: StftArgs): TensorMeta {
  const { complexResult, bins, frames } = planOf(args);
  const batch = args.self.dim === 2 ? [args.self.sizes[0]] : [];
  const dtype: ScalarType = complexResult ? complexType(args.self.dtype) : realType(args.self.dtype);
  return { sizes: [...batch, bins, frames, ...(complexResult ? [] : [2])], dtype };
}

const stftOptions = 'bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None';
export const framing = 'int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None';

const stft = (schema: string): OperatorRow =>
  kernel<StftArgs>(schema, { shape: stftShape, host: (args, [out]) => hostStft(args, out) });

export const stftRows: readonly OperatorRow[] = [
  stft(`aten::stft(Tensor self, ${framing}, ${stftOptions}) -> Tensor`),
  stft(
    `aten::stft.center(Tensor self, ${framing}, bool center=True, str pad_mode="reflect", ${stftOptions}) -> Tensor`,
  ),
];
