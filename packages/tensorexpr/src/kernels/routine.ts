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

/** Work that no loop nest says, since what is done next depends on what was found. Only devices that are the host itself do such. */
export type Routine = Ordering;
