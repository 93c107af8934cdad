import type { IValue } from '@cresset/tensor';
import { hostKernels } from '../kernels/host-kernels.ts';
import type { HostContext } from '../table/row.ts';
import type { OperatorCall } from './invoke.ts';

/**
 * A call of an operator on the host, made ready for arguments like those it was made for: tensors of the same layouts, and else the same
 * values. Their checks, promotion, sizes and loops are known then, and what is left is to compute.
 */
export interface PreparedCall {
  /** Which argument is a number that may be any other of its type; -1 where none is. */
  readonly patched: number;
  /** Whether its result is an argument that it writes to. */
  readonly overwrites: boolean;
  /**
   * The result; undefined where the arguments are not like those.
   * @param into an earlier result that nobody needs any more: this one may lie there
   */
  run(args: readonly IValue[], context: HostContext, into?: IValue): IValue | undefined;
}

/**
 * Makes a call ready for arguments like its own; null where it has to be looked at each time. Throws the operator's error.
 * @param spent which arguments are tensors whose memory this result, or another one, may take; null where results have memory of their
 * own that nobody had before
 */
export const preparedCall = (call: OperatorCall, spent: readonly number[] | null): PreparedCall | null =>
  hostKernels.prepareCall?.(call, spent) ?? null;
