import type { Tensor } from '@cresset/tensor';

/**
 * How lines come to be in order. Elements of equal keys stay in the order they stand in where the way is `stable`; all others leave them where the C++
 * library does that PyTorch is built with (libstdc++): `heap` is its `std::partial_sort`, and the last two are its `std::nth_element`, with and without a
 * `std::sort` of what comes before that one. `quickselect` finds a single place, by PyTorch's own function.
 */
export type OrderWay = 'stable' | 'heap' | 'select and sort' | 'select' | 'quickselect';

/**
 * Puts lines of keys in order and stores where their elements were, from place number `first` of the order on. All ways but `stable` and
 * `quickselect` begin at the first.
 */
export interface Ordering {
  readonly kind: 'ordering';
  /** The operator it computes. */
  readonly label: string;
  /** Lines of float32, float64, int32 or int64 from the start of their storage, `[lines, length]`. Floats have no negative zero among them; NaN is the largest. */
  readonly keys: Tensor;
  /** int32, `[lines, count]`, from the start of its storage. */
  readonly places: Tensor;
  readonly first: number;
  readonly descending: boolean;
  readonly way: OrderWay;
}

/** Largest prime factor of a length that a {@link Transform} goes by: of a factor each result is a sum of as many terms. */
export const LARGEST_FACTOR = 128;

/**
 * Discrete Fourier transforms of lines, each by itself: of complex numbers, of real ones to the first half of their spectrum (`half spectrum`), or
 * of such a half to the real numbers (`real`).
 */
export interface Transform {
  readonly kind: 'transform';
  /** The operator it computes. */
  readonly label: string;
  readonly form: 'complex' | 'half spectrum' | 'real';
  /** Length of lines, of which no prime factor is above {@link LARGEST_FACTOR}. Half of a spectrum has `length / 2 + 1` elements. */
  readonly length: number;
  /** With a plus in the exponent. */
  readonly inverse: boolean;
  /** What results are multiplied with. */
  readonly scale: number;
  readonly source: TransformLines;
  readonly target: TransformLines;
}

/** Lines of float32 or float64, `[outer, inner, elements]`, anywhere. */
export interface TransformLines {
  /** The numbers, or real parts of such. */
  readonly numbers: Tensor;
  /** Whether imaginary parts lie behind the real ones; those that do not are zeros, and are not stored. */
  readonly isComplex: boolean;
}

/** Work that no loop nest says, or not as fast. Only devices that are the host itself do such. */
export type Routine = Ordering | Transform;
