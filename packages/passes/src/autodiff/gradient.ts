import { type Graph } from '@cresset/ir';

/**
 * A graph and its derivative (PyTorch: Gradient). `f` computes the graph's outputs and, after them, what `df` needs of its temporaries. `df`
 * takes gradients (vector-Jacobian products, vjps) of outputs of `f` and captured values, and gives a tuple of the gradients of inputs of
 * `f`:
 *
 *     df inputs:  [gradients of outputs of f at dfInputVjps] [inputs of f at dfInputCapturedInputs] [outputs of f at dfInputCapturedOutputs]
 *     df outputs: ([gradients of inputs of f at dfOutputVjps])
 *
 * A temporary that requires a gradient is a captured output and has a gradient of its own among the inputs of `df`, so that `df` can be
 * differentiated again.
 */
export interface Gradient {
  readonly f: Graph;
  readonly df: Graph;
  /** Outputs of `f` that the graph had; those after them are captured. */
  readonly fRealOutputs: number;
  readonly dfInputVjps: readonly number[];
  readonly dfInputCapturedInputs: readonly number[];
  readonly dfInputCapturedOutputs: readonly number[];
  readonly dfOutputVjps: readonly number[];
}
