import type { OperatorOutcome, OperatorRegistration, OperatorRun } from '@cresset/runtime';

/** What computes calls that programs make outside of themselves. */
export interface OutsideFunction {
  /** Runs it on arguments from the worker. Rejects with a CressetError. */
  run(call: OperatorRun): Promise<OperatorOutcome>;
  /** Of an operator, which every worker is told of. */
  readonly registration?: OperatorRegistration;
}

/** Custom operators, and functions that programs were given by name, by what their calls name. */
export const outsideFunctions = new Map<string, OutsideFunction>();
