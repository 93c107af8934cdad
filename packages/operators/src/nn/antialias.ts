import { pixelScale, type ResamplingDimension, type Tap } from './resampling-weights.ts';

/** Filters of resizing with antialiasing (ATen/native/cpu/UpSampleKernel.cpp): as wide as the scale asks for. */
export type AntialiasFilter = 'linear' | 'cubic' | 'lanczos';

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

const filters: Record<AntialiasFilter, { readonly support: number; readonly weight: (x: number) => number }> = {
  linear: { support: 1, weight: (x) => Math.max(1 - Math.abs(x), 0) },
  cubic: { support: 2, weight: (x) => cubic(Math.abs(x)) },
  lanczos: { support: 3, weight: (x) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) },
};

/** Catmull-Rom: with antialiasing the coefficient is -0.5, as in Pillow. */
function cubic(x: number): number {
  const a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/** Taps and normalised weights of every output position. */
export function antialiasedTaps(dimension: ResamplingDimension, filter: AntialiasFilter): Tap[][] {
  const { inputSize, outputSize } = dimension;
  const { support, weight } = filters[filter];
  const scale = pixelScale(dimension);
  const stretch = Math.max(scale, 1);
  const reach = support * stretch;
  return Array.from({ length: outputSize }, (_, o) => {
    const center = scale * (o + 0.5);
    const start = Math.max(Math.trunc(center - reach + 0.5), 0);
    const end = Math.min(Math.trunc(center + reach + 0.5), inputSize);
    const taps: { at: number; weight: number }[] = [];
    let total = 0;
    for (let at = start; at < end; at++) {
      const own = weight((at - center + 0.5) / stretch);
      taps.push({ at, weight: own });
      total += own;
    }
    return taps.map((tap) => ({ at: tap.at, weight: total === 0 ? tap.weight : tap.weight / total }));
  });
}
