import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { complexType, isComplex, realType, scratch, type ScalarType, type Tensor } from '@cresset/tensor';
import { axis, binary, cast, reduce, select, TensorView, unary, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow } from '../../table/row.ts';
import { computedFloat, dtypeName } from '../../kernels/type-promotion.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { add, and, div, float, floatParam, index, indexParam, mul, sub, within } from '../../kernels/expressions.ts';
import { resizedParts, transformedParts } from './fft-lowering.ts';
import { fourierFactors, partsOf, partsReader, storeParts } from './fourier-parts.ts';
import { fourierPlan, readComplex } from './fourier-transform.ts';
import { storeInPieces } from '../../kernels/numbers/numbers.ts';
import { writeComplex } from '../products/product.ts';
import { framing, windowOf, type StftArgs } from './stft.ts';

/** Signals from their short-time Fourier transforms (ATen/native/SpectralOps.cpp: istft): frames overlap, divided by the squares of their windows. */

interface IstftArgs extends Omit<StftArgs, 'pad_mode'> {
  readonly center: boolean;
  readonly length: number | null;
}

interface IstftPlan {
  readonly hop: number;
  readonly win: number;
  readonly batch: number;
  readonly bins: number;
  readonly frames: number;
  /** The part of the overlapped frames that is the signal. */
  readonly start: number;
  readonly samples: number;
  /** What is said where the windows leave a sample out. */
  readonly uncovered: string;
}

/** Below this no window counts as covering a sample. */
const leastEnvelope = 1e-11;

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
  if (args.return_complex) check(!onesided, 'Cannot have onesided output if window or input is complex');
  else {
    check(
      args.window === null || !isComplex(args.window.dtype),
      'Complex windows are incompatible with return_complex=False',
    );
  }
  const total = size + hop * (frames - 1);
  const start = center ? Math.floor(size / 2) : 0;
  const end = length !== null ? start + length : center ? total - Math.floor(size / 2) : total;
  return {
    hop,
    win,
    batch: self.dim === 3 ? self.sizes[0] : 1,
    bins,
    frames,
    start,
    samples: end - start,
    uncovered: `${call()}window overlap add min: 1`,
  };
}

function* hostIstft(args: IstftArgs, out: Tensor): Pieces {
  const { self, n_fft: size } = args;
  const { hop, win, batch, bins, frames, start, samples, uncovered } = istftPlan(args);
  const spectrum = yield* readComplex(self);
  const real = !(args.return_complex ?? false);
  const window = yield* windowOf(args.window, size, win);
  const scale = (args.normalized ? Math.sqrt(size) : 1) / size;
  const plan = yield* fourierPlan(size);
  const total = size + hop * (frames - 1);
  const [envelopeRe, envelopeIm] = [scratch(Float64Array, total), scratch(Float64Array, total)];
  yield* repeat(frames, 4 * size, (frame) => {
    for (let i = 0; i < size; i++) {
      envelopeRe[frame * hop + i] += window.re[i] * window.re[i] - window.im[i] * window.im[i];
      envelopeIm[frame * hop + i] += 2 * window.re[i] * window.im[i];
    }
  });
  yield* repeat(Math.max(0, Math.min(samples, total - start)), 8, (at) => {
    check(Math.hypot(envelopeRe[start + at], envelopeIm[start + at]) >= leastEnvelope, uncovered);
  });
  const [re, im] = [scratch(Float64Array, batch * samples), scratch(Float64Array, batch * samples)];
  const [lineRe, lineIm] = [scratch(Float64Array, size), scratch(Float64Array, size)];
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
      yield* plan.run(lineRe, lineIm, true) ?? [];
      for (let i = 0; i < size; i++) {
        const to = frame * hop + i - start;
        if (to < 0 || to >= samples) continue;
        re[b * samples + to] += (lineRe[i] * window.re[i] - lineIm[i] * window.im[i]) * scale;
        im[b * samples + to] += (lineRe[i] * window.im[i] + lineIm[i] * window.re[i]) * scale;
      }
      yield;
    }
    // What is asked for beyond the last frame stays zero.
    yield* repeat(Math.max(0, Math.min(samples, total - start)), 8, (to) => {
      const at = b * samples + to;
      const [c, d] = [envelopeRe[start + to], envelopeIm[start + to]];
      const [x, y, norm] = [re[at], im[at], c * c + d * d];
      re[at] = (x * c + y * d) / norm;
      im[at] = (y * c - x * d) / norm;
    });
  }
  if (isComplex(out.dtype)) yield* writeComplex(out, re, im);
  else yield* storeInPieces(out, re);
}

/** One kernel after the transform: each sample adds up the frames that reach it, and their windows' squares. */
function lowerIstft(args: IstftArgs, out: Tensor, context: LoweringContext): void {
  if (out.numel === 0) return;
  const label = 'aten::istft';
  const { self, n_fft: size, window } = args;
  const { hop, win, batch, bins, frames, start, samples, uncovered } = istftPlan(args);
  const turned = (part: Tensor): Tensor => {
    const [across, along] = part.strides.slice(-2);
    return part.asStrided([batch, frames, bins], [part.dim === 3 ? part.strides[0] : 0, along, across]);
  };
  const { re, im } = partsOf(self);
  const given = { re: turned(re), im: turned(im!) };
  const form = args.return_complex ? 'complex' : 'real';
  const lines = form === 'real' ? given : resizedParts(given, 2, size, false, label, context);
  const read = partsReader(transformedParts(lines, { dim: 2, form, length: size, inverse: true, label }, context));
  const [low, high] = [Math.floor((size - win) / 2), Math.floor((size - win) / 2) + win].map(indexParam);
  const readWindow = window && new TensorView(window);
  const scale = floatParam((args.normalized ? Math.sqrt(size) : 1) / size);
  const shown = (part: Tensor): Tensor => (self.dim === 3 ? part : part.asStrided([1, samples], [0, part.strides[0]]));
  const target = isComplex(out.dtype) ? partsOf(out) : { re: out, im: null };
  const envelopes = context.temporary([samples], computedFloat(out.dtype));
  const [envelope, axes] = [new TensorView(envelopes), new TensorView(envelopes).axes()];
  const framesAt = (sample: Expr) => {
    const position = add(sample, indexParam(start));
    const back = axis('k', indexParam(Math.ceil(size / hop)));
    const frame = sub(binary('truncdiv', position, indexParam(hop)), back);
    const i = sub(position, mul(frame, indexParam(hop)));
    const isReached = [within(frame, indexParam(frames)), within(i, indexParam(size))].reduce(and);
    const isWindowed = and(isReached, and(binary('ge', i, low), binary('lt', i, high)));
    const place = select(isWindowed, sub(i, low), index(0));
    const weight = select(isWindowed, readWindow ? cast('float', readWindow.at([place])) : float(1), float(0));
    const [from, at] = [frame, i].map((each) => select(isReached, each, index(0)));
    return { back, from, at, weight };
  };
  const { back, weight } = framesAt(axes[0]);
  const sum = reduce('sum', [back], mul(weight, weight));
  const isCovered = binary('ge', sum, float(leastEnvelope));
  const isBeyond = binary('ge', axes[0], indexParam(size + hop * (frames - 1) - start));
  const faults = context.faults(unary('not', binary('or', isCovered, isBeyond)), axes[0], uncovered);
  // One beyond the last frame, where nothing is added up.
  const divisor = select(isBeyond, float(1), sum);
  const stores = [{ operand: envelope.operand, offset: envelope.offsetAt(axes), value: divisor }, ...faults];
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
  storeParts(
    { re: shown(target.re), im: target.im && shown(target.im) },
    ([b, sample]) => {
      const { back: k, from, at, weight: factor } = framesAt(sample);
      const value = read([b, from, at]);
      const added = (part: Expr): Expr => div(mul(reduce('sum', [k], mul(part, factor)), scale), envelope.at([sample]));
      return { re: added(value.re), im: added(value.im) };
    },
    label,
    context,
  );
}

/** The dtype of the parts: the wider one of the spectrum's and the window's. */
function partType({ self, window }: IstftArgs): ScalarType {
  const own = realType(self.dtype);
  return window && realType(window.dtype) === 'float64' ? 'float64' : own;
}

export const istftRows: readonly OperatorRow[] = [
  kernel<IstftArgs>(
    `aten::istft(Tensor self, ${framing}, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor`,
    {
      shape(args) {
        const { samples } = istftPlan(args);
        const dtype = args.return_complex ? complexType(partType(args)) : partType(args);
        return { sizes: args.self.dim === 3 ? [args.self.sizes[0], samples] : [samples], dtype };
      },
      host: (args, [out]) => hostIstft(args, out),
      lower: (args, [out], context) => lowerIstft(args, out, context),
      lowerable: ({ n_fft: size, window }) => fourierFactors(size) !== null && !(window && isComplex(window.dtype)),
    },
  ),
];
