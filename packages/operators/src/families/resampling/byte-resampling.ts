import type { Tap } from './resampling-weights.ts';

/**
 * Resizing images of bytes (ATen/native/cpu/UpSampleKernel.cpp: compute_index_ranges_int16_weights): weights are whole numbers of 16 bits over a
 * power of two, and what each dimension gives is rounded to bytes before the next one reads it.
 */
export interface ByteTaps {
  /** Taps of every output position, none twice, with the numerators as weights. */
  readonly taps: readonly (readonly Tap[])[];
  /** The sum over an output's taps as a byte. */
  readonly round: (sum: number) => number;
}

/** The most bits after the binary point that PyTorch tries. */
const mostBits = 22;

export function byteTaps(exact: readonly (readonly Tap[])[]): ByteTaps {
  const joined = exact.map(joinTaps);
  const largest = joined.flat().reduce((most, { weight }) => Math.max(most, weight), 0);
  let bits = 0;
  while (bits < mostBits && Math.trunc(0.5 + largest * 2 ** (bits + 1)) < 2 ** 15) bits++;
  const scaled = ({ at, weight }: Tap): Tap => ({
    at,
    weight: Math.trunc(weight * 2 ** bits + (weight < 0 ? -0.5 : 0.5)),
  });
  const half = 2 ** (bits - 1);
  return {
    taps: joined.map((taps) => taps.map(scaled)),
    round: (sum) => Math.min(Math.max((sum + half) >> bits, 0), 255),
  };
}

/** Taps that the border has moved to one place are one tap: their sum is what gets rounded. */
function joinTaps(taps: readonly Tap[]): Tap[] {
  const weights = new Map<number, number>();
  for (const { at, weight } of taps) weights.set(at, (weights.get(at) ?? 0) + weight);
  return Array.from(weights, ([at, weight]) => ({ at, weight }));
}
