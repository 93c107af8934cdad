import { isChannelsLast, roundHalfToEven, tensorQuantizerOf } from './affine.ts';
import { scratch, type Tensor } from '@cresset/tensor';
import { filled, type Pieces } from '../../kernels/loops/pieces.ts';
import { elementsInPieces } from '../../kernels/numbers/numbers.ts';
import type { Unboxed } from '../../table/row.ts';

/** Where two neighbours along a dimension lie, and their weights. */
interface Neighbours {
  readonly first: number;
  readonly second: number;
  readonly before: number;
  readonly after: number;
}

/** Channels that lie beside each other are taken in vectors of so many. */
const VECTOR = 8;

/**
 * The integers of an image resized with bilinear interpolation, in C order and before they are limited to their dtype, in the arithmetic of PyTorch's kernels
 * (QuantizedUpSampleBilinear2d.cpp, QuantizedOpKernels.cpp): float32, where channels lie beside each other with fused multiplications and additions, whose order is another one
 * in vectors than in what is left of the channels.
 */
export function* bilinearIntegers(
  source: Tensor,
  args: Readonly<Record<string, Unboxed>>,
  [, channels, height, width]: readonly number[],
): Pieces<Float64Array> {
  const { zeroPoint } = tensorQuantizerOf(source);
  const [batch, , rows, columns] = source.sizes;
  const integers = yield* elementsInPieces(source);
  const isFused = isChannelsLast(source) && !source.isContiguous();
  const inVectors = isFused ? channels - (channels % VECTOR) : 0;
  const factors = args.scale_factors as readonly number[] | null | undefined;
  const isAligned = args.align_corners === true;
  const along = (from: number, to: number, scale: Unboxed | undefined): Neighbours[] =>
    Array.from({ length: to }, neighbours(from, to, isAligned, (scale ?? null) as number | null, isFused));
  const vertical = along(rows, height, factors?.[0] ?? args.scales_h);
  const horizontal = along(columns, width, factors?.[1] ?? args.scales_w);
  return yield* filled(scratch(Float64Array, batch * channels * height * width), 64, (index) => {
    const x = horizontal[index % width];
    const y = vertical[Math.floor(index / width) % height];
    const plane = Math.floor(index / (width * height));
    const at = (row: number, column: number): number => integers[(plane * rows + row) * columns + column] as number;
    const above = [at(y.first, x.first), at(y.first, x.second)] as const;
    const below = [at(y.second, x.first), at(y.second, x.second)] as const;
    const value = isFused
      ? plane % channels < inVectors
        ? fused(y.after, fusedPair(x, below, true), y.before * fusedPair(x, above, true))
        : fused(y.before, fusedPair(x, above, false), y.after * fusedPair(x, below, false))
      : Math.fround(Math.fround(y.before * pair(x, above)) + Math.fround(y.after * pair(x, below)));
    return roundHalfToEven(Math.fround(zeroPoint + Math.fround(value - zeroPoint)));
  });
}

const pair = ({ before, after }: Neighbours, [a, b]: readonly [number, number]): number =>
  Math.fround(Math.fround(before * a) + Math.fround(after * b));

/** As `pair`, with the product of either neighbour rounded together with the sum. */
const fusedPair = ({ before, after }: Neighbours, [a, b]: readonly [number, number], isLast: boolean): number =>
  isLast ? fused(after, b, before * a) : fused(before, a, after * b);

/** `a · b + c` rounded once, as `c` is before. */
const fused = (a: number, b: number, c: number): number => Math.fround(a * b + Math.fround(c));

function neighbours(from: number, to: number, isAligned: boolean, factor: number | null, isFused: boolean) {
  const whole = to > 1 ? Math.fround((from - 1) / (to - 1)) : 0;
  const scale = isAligned ? whole : Math.fround(factor !== null && factor > 0 ? 1 / factor : from / to);
  return (_: unknown, at: number): Neighbours => {
    const centre = scale * (at + 0.5);
    const place = isAligned
      ? Math.fround(scale * at)
      : Math.max(Math.fround((isFused ? centre : Math.fround(centre)) - 0.5), 0);
    const first = Math.trunc(place);
    const after = Math.fround(place - first);
    return { first, second: first + (first < from - 1 ? 1 : 0), before: Math.fround(1 - after), after };
  };
}
