import type { Tensor } from '@cresset/tensor';
import type { PreparedCall } from '../dispatch/call-preparation.ts';
import type { OperatorCall } from '../dispatch/invoke.ts';
import type { Convolution } from '../families/convolution/convolution-geometry.ts';
import type { Addend } from '../families/products/product.ts';
import type { LaneLoop } from './loops/lanes.ts';
import type { Pieces } from './loops/pieces.ts';

/** What the part `host` brings for programs whose tensors all are on the host; nothing of it is there before. */
export interface HostKernels {
  /** Makes a call ready for arguments like its own; null where it has to be looked at each time. Throws the operator's error. */
  prepareCall(call: OperatorCall, spent: readonly number[] | null): PreparedCall | null;
  /** Loops over values of single precision alone. */
  readonly singleLoops: Readonly<Partial<Record<string, LaneLoop>>>;
  /**
   * Fills `out` (`[…batch, …rows, …columns]`) with the products of `left` (`[…batch, m, k]`) and `right` (`[…batch, k, n]`); null where the
   * kernel that every page has does as well.
   */
  multiply(left: Tensor, right: Tensor, out: Tensor, addend: Addend | undefined): Pieces | null;
  /** Fills `out` with a convolution; null as for `multiply`. */
  convolve(convolution: Convolution, out: Tensor): Pieces | null;
}

export const hostKernels: Partial<HostKernels> = {};
