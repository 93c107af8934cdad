import { registerOperators } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';
import { binary, constant, select } from '@cresset/tensorexpr';
import type { RuntimeContext } from '../run/runtime-context.ts';

/** Gives the flag that kernels raise which note a fault (`FaultLog`), as it is once `after` was worked out. */
export const FAULT_FLAG = 'cresset::fault_flag';
/** Gives a value, or, where the flag was raised, what was there before. */
export const UNLESS_FAULTY = 'cresset::unless_faulty';

const rows: readonly OperatorRow[] = [
  {
    schema: `${FAULT_FLAG}(Tensor after) -> Tensor`,
    nondeterministic: true,
    readsNoData: true,
    host: (_args, _outputs, context) => {
      const { faults, planner } = context as RuntimeContext;
      const { flag } = faults;
      planner?.recording?.faultsGoTo(flag.storage);
      return flag;
    },
  },
  {
    schema: `${UNLESS_FAULTY}(Tensor value, Tensor before, Tensor flag) -> Tensor`,
    pointwise: {
      dtype: 'same-as-first',
      apart: ['flag'],
      body: ({ value, before, flag }) => select(binary('ne', flag, constant('i32', 0)), before, value),
    },
  },
];

export function registerFaultFlag(): void {
  registerOperators(
    rows.map((row) => {
      const { schema, nondeterministic } = row;
      return { schema, row, nondeterministic, aliasAnalysis: 'from-schema' as const };
    }),
  );
}
