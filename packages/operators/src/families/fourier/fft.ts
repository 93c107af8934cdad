import { filled, repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import {
  complexType,
  isComplex,
  isFloatingPoint,
  realType,
  scratch,
  type ScalarType,
  type Tensor,
} from '@cresset/tensor';
import { binary, param } from '@cresset/tensorexpr';
import { decomposed, kernel } from '../../table/builders.ts';
import { wrapDim, wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName, toFloating } from '../../kernels/type-promotion.ts';
import { resizedParts, transformedParts } from './fft-lowering.ts';
import { fourierFactors, partsOf, partsReader, storeParts } from './fourier-parts.ts';
import { halfOf } from './line-transforms.ts';
import { mirrorLines, readComplex, resizeLines, transformLines } from './fourier-transform.ts';
import { storeInPieces } from '../../kernels/numbers/numbers.ts';
import { writeComplex } from '../products/product.ts';

/** The torch.fft family (ATen/native/SpectralOps.cpp). */

type Kind = 'c2c' | 'r2c' | 'c2r';

/** Which transform, over which dimensions of which lengths: all that follows from a call's arguments. */
interface Transform {
  readonly self: Tensor;
  readonly kind: Kind;
  readonly forward: boolean;
  readonly dims: readonly number[];
  /** Length of each dimension before the transform, of the last one of a `c2r` after it. */
  readonly lengths: readonly number[];
  readonly norm: string | null;
}

function scaleOf({ norm, forward, lengths }: Transform): number {
  const count = lengths.reduce((product, length) => product * length, 1);
  if (norm === 'ortho') return 1 / Math.sqrt(count);
  return (norm === 'forward') === forward ? 1 / count : 1;
}

function transformShape(transform: Transform): TensorMeta {
  const { self, kind, dims, lengths, norm } = transform;
  check(
    norm === null || ['backward', 'ortho', 'forward'].includes(norm),
    () => `Invalid normalization mode: "${norm}"`,
  );
  lengths.forEach((length) => check(length >= 1, () => `Invalid number of data points (${length}) specified`));
  const dtype = computingType(self.dtype);
  const sizes = [...self.sizes];
  dims.forEach((dim, at) => {
    const last = at === dims.length - 1;
    sizes[dim] = kind === 'r2c' && last ? Math.floor(lengths[at] / 2) + 1 : lengths[at];
  });
  // Of no lines MKL makes no plan.
  check(
    dims.length === 0 || !sizes.includes(0),
    'MKL FFT error: Intel oneMKL DFTI ERROR: Inconsistent configuration parameters',
  );
  return { sizes, dtype: kind === 'c2r' ? realType(dtype) : complexType(dtype) };
}

function computingType(dtype: ScalarType): ScalarType {
  check(dtype !== 'float16' && dtype !== 'bfloat16', () => `Unsupported dtype ${dtypeName(dtype)}`);
  return isFloatingPoint(dtype) || isComplex(dtype) ? dtype : toFloating(dtype);
}

function* runTransform(transform: Transform, out: Tensor): Pieces {
  const { self, kind, forward, dims, lengths } = transform;
  let values = yield* readComplex(self);
  const last = dims.length - 1;
  for (const [at, dim] of dims.entries()) {
    const halved = kind === 'c2r' && at === last;
    values = yield* resizeLines(values, dim, halved ? Math.floor(lengths[at] / 2) + 1 : lengths[at]);
  }
  for (const [at, dim] of dims.entries()) {
    if (kind === 'c2r' && at === last) values = yield* mirrorLines(values, dim, lengths[at]);
    values = yield* transformLines(values, dim, !forward);
    if (kind === 'r2c' && at === last) values = yield* resizeLines(values, dim, Math.floor(lengths[at] / 2) + 1);
  }
  const scale = scaleOf(transform);
  const { re, im } = values;
  if (scale !== 1)
    yield* repeat(re.length, 2, (i) => {
      re[i] *= scale;
      im[i] *= scale;
    });
  if (isComplex(out.dtype)) yield* writeComplex(out, re, im);
  else yield* storeInPieces(out, re);
}

function lowerTransform(transform: Transform, out: Tensor, context: LoweringContext): void {
  if (out.numel === 0) return;
  const label = 'aten::fft';
  const { self, kind, forward, dims, lengths } = transform;
  const last = dims.length - 1;
  let parts = partsOf(self);
  dims.forEach((dim, at) => {
    const halved = kind === 'c2r' && at === last;
    const length = halved ? halfOf(lengths[at]) : lengths[at];
    parts = resizedParts(parts, dim, length, false, label, context);
  });
  const target = { parts: partsOf(out), scale: scaleOf(transform) };
  const order = [...dims.entries()];
  // Real lines first: the other dimensions have half of a spectrum to go over.
  if (kind === 'r2c') order.reverse();
  for (const [step, [at, dim]] of order.entries()) {
    const form = at < last || kind === 'c2c' ? 'complex' : kind === 'r2c' ? 'half spectrum' : 'real';
    const line = { dim, form, length: lengths[at], inverse: !forward, label } as const;
    parts = transformedParts(parts, line, context, step === last ? target : null);
  }
  if (parts === target.parts) return;
  const read = partsReader(parts);
  const scale = param('float', target.scale);
  storeParts(
    target.parts,
    (axes) => {
      const { re, im } = read(axes);
      return { re: binary('mul', re, scale), im: binary('mul', im, scale) };
    },
    label,
    context,
  );
}

function transformRow<Args>(schema: string, rule: (args: Args) => Transform): OperatorRow {
  return kernel<Args>(schema, {
    out: true,
    shape: (args) => transformShape(rule(args)),
    host: (args, [out]) => runTransform(rule(args), out),
    lower: (args, [out], context) => lowerTransform(rule(args), out, context),
    lowerable: (args) => rule(args).lengths.every((length) => fourierFactors(length) !== null),
  });
}

interface LineArgs {
  readonly self: Tensor;
  readonly n: number | null;
  readonly dim: number;
  readonly norm: string | null;
}

interface GridArgs {
  readonly self: Tensor;
  readonly s: readonly number[] | null;
  readonly dim: readonly number[] | null;
  readonly norm: string | null;
}

/** Lengths of the dimensions before the transform, where the caller did not say: the input's own. */
function defaultLengths(self: Tensor, kind: Kind, dims: readonly number[]): number[] {
  return dims.map((dim, at) => {
    const size = self.sizes[dim];
    return kind === 'c2r' && at === dims.length - 1 ? 2 * (size - 1) : size;
  });
}

function checkReal(name: string, self: Tensor, wording: string): void {
  check(!isComplex(self.dtype), () => `${name} expects a ${wording} input tensor, but got ${dtypeName(self.dtype)}`);
}

/** Whether a spectrum is given conjugated, or wanted so: `hfft` and `ihfft` swap the directions of real transforms. */
const directions = {
  fft: ['c2c', true],
  ifft: ['c2c', false],
  rfft: ['r2c', true],
  irfft: ['c2r', false],
  hfft: ['c2r', true],
  ihfft: ['r2c', false],
} as const;

function gridDims(name: string, kind: Kind, { self, s, dim }: GridArgs): { dims: number[]; lengths: number[] } {
  check(
    s === null || dim === null || s.length === dim.length,
    'When given, dim and shape arguments must have the same length',
  );
  check(
    s === null || dim !== null || s.length <= self.dim,
    () => `Got shape with ${s!.length} values but input tensor only has ${self.dim} dimensions.`,
  );
  const count = s?.length ?? self.dim;
  const dims = dim
    ? dim.map((own) => wrapDimOfRanked(own, self.dim))
    : Array.from({ length: count }, (_, at) => self.dim - count + at);
  check(new Set(dims).size === dims.length, 'FFT dims must be unique');
  check(kind === 'c2c' || dims.length > 0, () => `${name} must transform at least one axis`);
  const own = defaultLengths(self, kind, dims);
  return { dims, lengths: own.map((length, at) => (s && s[at] !== -1 ? s[at] : length)) };
}

const families = (Object.keys(directions) as (keyof typeof directions)[]).flatMap((name) => {
  const [kind, forward] = directions[name];
  const grid = (suffix: string, schema: string, wording: string): OperatorRow =>
    transformRow<GridArgs>(schema, (args) => {
      if (kind === 'r2c') checkReal(`${name}${suffix}`, args.self, wording);
      computingType(args.self.dtype);
      return { ...args, kind, forward, ...gridDims(`${name}${suffix}`, kind, args) };
    });
  return [
    transformRow<LineArgs>(
      `aten::fft_${name}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor`,
      (args) => {
        if (kind === 'r2c') checkReal(name, args.self, 'real');
        computingType(args.self.dtype);
        const dims = [wrapDimOfRanked(args.dim, args.self.dim)];
        return {
          ...args,
          kind,
          forward,
          dims,
          lengths: args.n === null ? defaultLengths(args.self, kind, dims) : [args.n],
        };
      },
    ),
    grid(
      '2',
      `aten::fft_${name}2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor`,
      'real-valued',
    ),
    grid(
      'n',
      `aten::fft_${name}n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor`,
      'real-valued',
    ),
  ];
});

/** The primitives the others are made of in PyTorch; 0 does not scale, 1 by the root of the count, 2 by the count. */
function primitiveTransform(
  kind: Kind,
  {
    self,
    dim,
    normalization,
    forward,
  }: { self: Tensor; dim: readonly number[]; normalization: number; forward: boolean },
  lengths: (dims: readonly number[]) => number[],
): Transform {
  const dims = dim.map((own) => wrapDim(own, self.dim));
  const norm = normalization === 1 ? 'ortho' : (normalization === 2) === forward ? 'forward' : 'backward';
  return { self, kind, forward, dims, lengths: lengths(dims), norm };
}

interface PrimitiveArgs {
  readonly self: Tensor;
  readonly dim: readonly number[];
  readonly normalization: number;
}

const primitives: readonly OperatorRow[] = [
  transformRow<PrimitiveArgs & { forward: boolean }>(
    'aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor',
    (args) => primitiveTransform('c2c', args, (dims) => dims.map((dim) => args.self.sizes[dim])),
  ),
  transformRow<PrimitiveArgs & { onesided: boolean }>(
    'aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor',
    (args) =>
      primitiveTransform(args.onesided ? 'r2c' : 'c2c', { ...args, forward: true }, (dims) =>
        dims.map((dim) => args.self.sizes[dim]),
      ),
  ),
  transformRow<PrimitiveArgs & { last_dim_size: number }>(
    'aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor',
    (args) =>
      primitiveTransform('c2r', { ...args, forward: false }, (dims) =>
        dims.map((dim, at) => (at === dims.length - 1 ? args.last_dim_size : args.self.sizes[dim])),
      ),
  ),
];

const shiftText = (name: string, shift: string): string => `
def ${name}(self: Tensor, dim: Optional[List[int]] = None) -> Tensor:
    dims: List[int] = []
    if dim is None:
        for at in range(self.dim()):
            dims.append(at)
    else:
        dims = dim
    shifts: List[int] = []
    for d in dims:
        shifts.append(${shift})
    return torch.roll(self, shifts, dims)
`;

interface FrequencyArgs {
  readonly n: number;
  readonly d: number;
  readonly dtype: ScalarType | null;
}

/** Frequencies of a transform's bins for samples `d` apart; from the middle on they are negative. */
function frequencies(name: string, bins: (n: number) => number): OperatorRow {
  const options = 'ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None';
  return kernel<FrequencyArgs>(`aten::${name}(int n, float d=1., *, ${options}) -> Tensor`, {
    readsNoData: true,
    shape({ n, dtype }) {
      const type = dtype ?? 'float32';
      check(isFloatingPoint(type) || isComplex(type), () => `${name} requires a floating point or complex dtype`);
      return { sizes: [bins(n)], dtype: type };
    },
    *host({ n, d }, [out]) {
      const whole = out.numel === n;
      const at = (i: number): number => (whole && i >= Math.ceil(n / 2) ? i - n : i);
      const values = yield* filled(scratch(Float64Array, out.numel), 4, (i) => at(i) / (n * d));
      yield* storeInPieces(out, values);
    },
  });
}

export const fftRows: readonly OperatorRow[] = [
  ...families,
  ...primitives,
  frequencies('fft_fftfreq', (n) => n),
  frequencies('fft_rfftfreq', (n) => Math.floor(n / 2) + 1),
  decomposed(
    'aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor',
    shiftText('fft_fftshift', 'self.size(d) // 2'),
  ),
  decomposed(
    'aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor',
    shiftText('fft_ifftshift', '(self.size(d) + 1) // 2'),
  ),
];
