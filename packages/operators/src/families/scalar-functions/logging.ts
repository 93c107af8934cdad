import type { OperatorRow } from '../../table/row.ts';

/** Statistics that a program keeps by name (torch::jit::logging): PyTorch hands them to a logger, which by default takes no note. */
export const loggingRows: readonly OperatorRow[] = [
  { schema: 'prim::AddStatValue(str key, int val) -> ()', hasSideEffects: true, scalar: () => null },
  {
    // Nanoseconds on a clock of its own.
    schema: 'prim::TimePoint() -> int',
    nondeterministic: true,
    scalar: () => BigInt(Math.round(performance.now() * 1e6)),
  },
];
