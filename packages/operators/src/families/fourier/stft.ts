import { filled, type Pieces } from '../../kernels/loops/pieces.ts';
import {
  complexType,
  isComplex,
  isFloatingPoint,
  realType,
  scratch,
  type ScalarType,
  type Tensor,
} from '@cresset/tensor';
import { binary, constant, param, select, unary, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { viewAsReal } from '../../kernels/copy.ts';
import { check } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { transformedParts } from './fft-lowering.ts';
import { fourierFactors, generateParts, partsOf, partsReader, storeParts } from './fourier-parts.ts';
import { fourierPlan, readComplex } from './fourier-transform.ts';
import { storeInPieces } from '../../kernels/numbers/numbers.ts';
import { writeComplex } from '../products/product.ts';

/** Short-time Fourier transforms (ATen/native/SpectralOps.cpp: stft). */

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

/** The type of a tensor by its old name, which dtypes have that are as old. */
const typeText = ({ dtype }: Tensor): string =>
  dtype === 'bool' || dtype === 'bfloat16' || isComplex(dtype)
    ? `CPU${dtypeName(dtype)}Type`
    : `torch.${dtypeName(dtype)}Tensor`;

/** The arguments as PyTorch shows them in front of a complaint. */
function callText(
  { self, n_fft: size, window, normalized, onesided, return_complex: complexResult }: StftArgs,
  hop: number,
  win: number,
): string {
  const shown = (value: boolean | null): string => (value === null ? 'None' : value ? '1' : '0');
  const windowText = window ? `${typeText(window)}{${sizesText(window.sizes)}}` : 'None';
  return `stft(${typeText(self)}${sizesText(self.sizes)}, n_fft=${size}, hop_length=${hop}, win_length=${win}, window=${windowText}, normalized=${shown(normalized)}, onesided=${shown(onesided)}, return_complex=${shown(complexResult)}, align_to_window=None) : `;
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
  check(
    isFloatingPoint(self.dtype) || isComplex(self.dtype),
    complain('expected a tensor of floating point or complex values'),
  );
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
export function* windowOf(
  window: Tensor | null,
  size: number,
  win: number,
): Pieces<{ re: Float64Array; im: Float64Array }> {
  const [re, im] = [scratch(Float64Array, size), scratch(Float64Array, size)];
  const start = Math.floor((size - win) / 2);
  const values = window && (yield* readComplex(window));
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

function* hostStft(args: StftArgs, out: Tensor): Pieces {
  const { self, n_fft: size } = args;
  const { hop, batch, margin, bins, frames } = planOf(args);
  const signal = yield* readComplex(self);
  const window = yield* windowOf(args.window, size, args.win_length ?? size);
  const samples = self.sizes[self.dim - 1];
  const scale = args.normalized ? 1 / Math.sqrt(size) : 1;
  const plan = yield* fourierPlan(size);
  const [re, im] = [scratch(Float64Array, batch * bins * frames), scratch(Float64Array, batch * bins * frames)];
  const [lineRe, lineIm] = [scratch(Float64Array, size), scratch(Float64Array, size)];
  for (let b = 0; b < batch; b++) {
    for (let frame = 0; frame < frames; frame++) {
      for (let i = 0; i < size; i++) {
        const from = paddedIndex(frame * hop + i - margin, samples, args.pad_mode);
        const x = from < 0 ? 0 : signal.re[b * samples + from];
        const y = from < 0 ? 0 : signal.im[b * samples + from];
        lineRe[i] = x * window.re[i] - y * window.im[i];
        lineIm[i] = x * window.im[i] + y * window.re[i];
      }
      yield* plan.run(lineRe, lineIm, false) ?? [];
      for (let bin = 0; bin < bins; bin++) {
        re[(b * bins + bin) * frames + frame] = lineRe[bin] * scale;
        im[(b * bins + bin) * frames + frame] = lineIm[bin] * scale;
      }
      yield;
    }
  }
  if (isComplex(out.dtype)) yield* writeComplex(out, re, im);
  else {
    const parts = scratch(Float64Array, 2 * re.length);
    yield* storeInPieces(out, yield* filled(parts, 2, (i) => (i % 2 === 0 ? re : im)[i >>> 1]));
  }
}

/** The sample that a position of the padded signal takes, as an expression that is always one of them. */
function paddedExpr(at: Expr, samples: number, mode: string | undefined): Expr {
  const [zero, last, count] = [0, samples - 1, samples].map((value) => param('i32', value));
  const isBefore = binary('lt', at, zero);
  const isAfter = binary('gt', at, last);
  if (mode === 'replicate' || mode === 'constant') return binary('min', binary('max', at, zero), last);
  if (mode === 'circular') {
    return select(isBefore, binary('add', at, count), select(isAfter, binary('sub', at, count), at));
  }
  const reflected = binary('sub', param('i32', 2 * (samples - 1)), at);
  return select(isBefore, unary('neg', at), select(isAfter, reflected, at));
}

function lowerStft(args: StftArgs, out: Tensor, context: LoweringContext): void {
  if (out.numel === 0) return;
  const label = 'aten::stft';
  const { self, n_fft: size } = args;
  const { hop, batch, margin, bins, frames, onesided } = planOf(args);
  const samples = self.sizes[self.dim - 1];
  const win = args.win_length ?? size;
  const start = Math.floor((size - win) / 2);
  const readSample = partsReader(partsOf(self));
  const readWindow = args.window && partsReader(partsOf(args.window));
  const [low, high] = [param('i32', start), param('i32', start + win)];
  const framed = generateParts(
    [batch, frames, size],
    self.dtype,
    ([b, frame, i]) => {
      const at = binary('sub', binary('add', binary('mul', frame, param('i32', hop)), i), param('i32', margin));
      const place = paddedExpr(at, samples, args.pad_mode);
      const sample = readSample(self.dim === 2 ? [b, place] : [place]);
      let isCounted = binary('and', binary('ge', i, low), binary('lt', i, high));
      if (args.pad_mode === 'constant') isCounted = binary('and', isCounted, binary('eq', place, at));
      const weight = readWindow?.([binary('max', binary('sub', i, low), constant('i32', 0))]) ?? null;
      const re = weight
        ? binary('sub', binary('mul', sample.re, weight.re), binary('mul', sample.im, weight.im))
        : sample.re;
      const im = weight
        ? binary('add', binary('mul', sample.re, weight.im), binary('mul', sample.im, weight.re))
        : sample.im;
      const none = constant('float', 0);
      return { re: select(isCounted, re, none), im: select(isCounted, im, none) };
    },
    label,
    context,
  );
  const isReal = !isComplex(self.dtype) && !(args.window && isComplex(args.window.dtype));
  const form = onesided ? 'half spectrum' : 'complex';
  const parts = isReal ? { re: framed.re, im: null } : framed;
  const read = partsReader(transformedParts(parts, { dim: 2, form, length: size, inverse: false, label }, context));
  const scale = param('float', args.normalized ? 1 / Math.sqrt(size) : 1);
  // Both parts side by side, whether the result says that they are complex numbers or not.
  const whole = isComplex(out.dtype) ? viewAsReal(out) : out;
  const shown = self.dim === 2 ? whole : whole.asStrided([1, ...whole.sizes], [0, ...whole.strides]);
  const [re, im] = [0, 1].map((part) =>
    shown.asStrided([batch, bins, frames], shown.strides.slice(0, 3), shown.storageOffset + part * shown.strides[3]),
  );
  storeParts(
    { re, im },
    ([b, bin, frame]) => {
      const value = read([b, frame, bin]);
      return { re: binary('mul', value.re, scale), im: binary('mul', value.im, scale) };
    },
    label,
    context,
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
  kernel<StftArgs>(schema, {
    shape: stftShape,
    host: (args, [out]) => hostStft(args, out),
    lower: (args, [out], context) => lowerStft(args, out, context),
    lowerable: ({ n_fft: size }) => fourierFactors(size) !== null,
  });

export const stftRows: readonly OperatorRow[] = [
  stft(`aten::stft(Tensor self, ${framing}, ${stftOptions}) -> Tensor`),
  stft(
    `aten::stft.center(Tensor self, ${framing}, bool center=True, str pad_mode="reflect", ${stftOptions}) -> Tensor`,
  ),
];
