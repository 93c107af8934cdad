import { isComplex, realType, type Tensor } from '@cresset/tensor';
import { kernel } from '../builders.ts';
import { check } from '../errors.ts';
import type { OperatorRow } from '../row.ts';
import { dtypeName } from '../type-promotion.ts';
import { sizesText } from '../dimensions.ts';
import { fourierPlan, readComplex } from './fourier-transform.ts';
import { writeNumbers } from './numbers.ts';
import { writeComplex } from './product.ts';
import { framing, windowOf, type StftArgs } from './stft.ts';

/** Signals from their short-time Fourier transforms (ATen/native/SpectralOps.cpp: istft), on the host. */

interface IstftArgs extends Omit<StftArgs, 'pad_mode'> {
  readonly center: boolean;
  readonly length: number | null;
}

interface IstftPlan {
  readonly hop: number;
  readonly win: number;
  readonly onesided: boolean;
  readonly batch: number;
  readonly bins: number;
  readonly frames: number;
  /** The part of the overlapped frames that is the signal. */
  readonly start: number;
  readonly samples: number;
}

function istftPlan(args: IstftArgs): IstftPlan {
  const { self, n_fft: size, center, length } = args;
  check(
    isComplex(self.dtype),
    'istft requires a complex-valued input tensor matching the output from stft with return_complex=True.',
  );
  const hop = args.hop_length ?? Math.floor(size / 4);
  const win = args.win_length ?? size;
  // A spectrum with a bin for each sample is two-sided.
  const onesided = args.onesided ?? self.sizes[self.dim - 2] !== size;
  const [bins, frames] = self.sizes.slice(-2);
  const shown = (value: number | boolean | null): string => (value === null ? 'None' : String(Number(value)));
  const windowText = args.window
    ? `torch.${dtypeName(args.window.dtype)}Tensor{${sizesText(args.window.sizes)}}`
    : 'None';
  const call = (): string =>
    `istft(CPU${dtypeName(self.dtype)}Type${sizesText(self.sizes)}, n_fft=${size}, hop_length=${hop}, win_length=${win}, window=${windowText}, center=${shown(center)}, normalized=${shown(args.normalized)}, onesided=${shown(args.onesided)}, length=${shown(length)}, return_complex=${shown(args.return_complex)}) `;
  check(self.numel > 0, () => `${call()}: input tensor cannot be empty.`);
  check(
    self.dim === 2 || self.dim === 3,
    () => `${call()}: expected a tensor with 2 or 3 dimensions, but got ${self.dim}`,
  );
  const expected = onesided ? Math.floor(size / 2) + 1 : size;
  check(
    bins === expected,
    () =>
      `${call()}: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft${onesided ? ' / 2 + 1' : ''} when onesided=${onesided ? 'True' : 'False'}, but got ${bins}`,
  );
  check(hop > 0 && hop <= win, () => `${call()}: expected 0 < hop_length <= win_length`);
  check(win > 0 && win <= size, () => `${call()}: expected 0 < win_length <= n_fft`);
  const total = size + hop * (frames - 1);
  const start = center ? Math.floor(size / 2) : 0;
  const end = length !== null ? start + length : center ? total - Math.floor(size / 2) : total;
  return { hop, win, onesided, batch: self.dim === 3 ? self.sizes[0] : 1, bins, frames, start, samples: end - start };
}

function hostIstft(args: IstftArgs, out: Tensor): void {
  const { self, n_fft: size } = args;
  const { hop, win, batch, bins, frames, start, samples } = istftPlan(args);
  const spectrum = readComplex(self);
  const real = !(args.return_complex ?? false);
  const window = windowOf(args.window, size, win).re;
  const scale = (args.normalized ? Math.sqrt(size) : 1) / size;
  const plan = fourierPlan(size);
  const total = size + hop * (frames - 1);
  const envelope = new Float64Array(total);
  for (let frame = 0; frame < frames; frame++) {
    for (let i = 0; i < size; i++) envelope[frame * hop + i] += window[i] * window[i];
  }
  const inside = envelope.subarray(start, Math.min(start + samples, total));
  check(
    inside.every((value) => value > 1e-11),
    () => `istft(CPU${dtypeName(self.dtype)}Type${sizesText(self.sizes)}, n_fft=${size}) window overlap add min: 1`,
  );
  const [re, im] = [new Float64Array(batch * samples), new Float64Array(batch * samples)];
  const [lineRe, lineIm] = [new Float64Array(size), new Float64Array(size)];
  for (let b = 0; b < batch; b++) {
    for (let frame = 0; frame < frames; frame++) {
      for (let bin = 0; bin < size; bin++) {
        // A real signal follows from the first half of its spectrum.
        const mirrored = real && bin > size / 2;
        const at = (b * bins + (mirrored ? size - bin : bin)) * frames + frame;
        const unpaired = real && (bin === 0 || 2 * bin === size);
        lineRe[bin] = spectrum.re[at];
        lineIm[bin] = unpaired ? 0 : mirrored ? -spectrum.im[at] : spectrum.im[at];
      }
      plan.run(lineRe, lineIm, true);
      for (let i = 0; i < size; i++) {
        const to = frame * hop + i - start;
        if (to < 0 || to >= samples) continue;
        const weight = (window[i] * scale) / envelope[frame * hop + i];
        re[b * samples + to] += lineRe[i] * weight;
        im[b * samples + to] += lineIm[i] * weight;
      }
    }
  }
  if (isComplex(out.dtype)) writeComplex(out, re, im);
  else writeNumbers(out, re);
}

export const istftRows: readonly OperatorRow[] = [
  kernel<IstftArgs>(
    `aten::istft(Tensor self, ${framing}, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor`,
    {
      shape(args) {
        const { samples } = istftPlan(args);
        const dtype = args.return_complex ? args.self.dtype : realType(args.self.dtype);
        return { sizes: args.self.dim === 3 ? [args.self.sizes[0], samples] : [samples], dtype };
      },
      host: (args, [out]) => hostIstft(args, out),
    },
  ),
];
